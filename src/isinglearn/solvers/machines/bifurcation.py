"""Simulated bifurcation (the package of that name, on torch) on the QUBO's Ising form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isinglearn.errors import check_choice, check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.solvers.machines.rounds import collect, no_rows
from isinglearn.solvers.session import Session

MODES = ("discrete", "ballistic")
# Agents of one round: together they are much cheaper than apart, but a stop waits for the round. As many
# as make this many multiplications, within limits.
_WORK_PER_ROUND = 1e10
_LEAST_AGENTS, _MOST_AGENTS = 8, 128
# With fewer spins torch's threads wait for each other longer than they work, at worst ten times as long.
_SPINS_WORTH_THREADS = 500


class SimulatedBifurcation(Solver):
    """Simulated bifurcation on the QUBO: oscillators that settle into spins, many agents at once."""

    name = "simulated-bifurcation"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("simulated_bifurcation", "torch")
    install: ClassVar[str] = "pip install 'isinglearn[bifurcation]'"

    @dataclass(frozen=True)
    class Options:
        """Variant and effort.

        Attributes
        ----------
        mode
            ``"discrete"`` couples the signs of the oscillators, ``"ballistic"`` their positions; the
            first found more optima on small networks.
        agents
            Independent runs.
        max_steps
            Steps of each run. The pressure that makes oscillators settle is full after 1000.
        """

        mode: str = "discrete"
        agents: int = 128
        max_steps: int = 3000

        def __post_init__(self) -> None:
            check_choice(self.mode, MODES, "mode")
            check_count(self.agents, "agents")
            check_count(self.max_steps, "max_steps")

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Run agents round after round until all are done or it is stopped."""
        if session.stopped:
            return Answer(no_rows(form))
        import simulated_bifurcation
        import torch
        from threadpoolctl import threadpool_limits

        fields, couplings, _ = form.to_ising()
        # The package minimises h s - s J s / 2. In float32, its default, large integers are rounded.
        model = simulated_bifurcation.Ising(
            torch.from_numpy(-2.0 * couplings.toarray()),
            torch.from_numpy(fields),
            dtype=torch.float64,
            device="cpu",
        )

        def draw(seed: int, agents: int) -> IntArray:
            # Only the generator of the CPU is used; the caller gets it back as it was.
            with torch.random.fork_rng(devices=[]):
                torch.random.default_generator.manual_seed(seed)
                # Early stopping compares in float32: with float64 it fails inside, and the package
                # returns what it has after 50 steps without a word.
                spins = model.minimize(
                    agents=agents,
                    max_steps=options.max_steps,
                    mode=options.mode,
                    early_stopping=False,
                    timeout=None if session.seconds is None else session.left,
                    verbose=False,
                )
            return (spins.numpy().T > 0).astype(np.int64)

        fitting = int(_WORK_PER_ROUND / (options.max_steps * max(1, form.num_variables) ** 2))
        per_round = min(max(fitting, _LEAST_AGENTS), _MOST_AGENTS)
        with threadpool_limits(1 if form.num_variables < _SPINS_WORTH_THREADS else None):
            return Answer(collect(form, session, options.agents, per_round, draw))
