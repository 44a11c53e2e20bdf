"""Simulated annealing of dwave-samplers on the QUBO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from isinglearn.errors import check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.solvers.dimod_sampler import bits_of_samples
from isinglearn.solvers.machines.rounds import collect
from isinglearn.solvers.session import Session

# Spins of all reads of a round: to set them up, which nothing can stop, takes some tenths of a second.
_SPINS = 1 << 22
# The sampler takes seeds of 31 bits.
_SEEDS = 2**31


class DWaveAnnealing(Solver):
    """Simulated annealing of dwave-samplers on the QUBO."""

    name = "dwave-sa"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("dwave.samplers",)

    @dataclass(frozen=True)
    class Options:
        """Reads and sweeps per read."""

        num_reads: int = 100
        num_sweeps: int = 1000

        def __post_init__(self) -> None:
            check_count(self.num_reads, "num_reads")
            check_count(self.num_sweeps, "num_sweeps")

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Anneal read after read until all are done or it is stopped; reads that are done are kept."""
        from dwave.samplers import SimulatedAnnealingSampler

        model = form.to_bqm()

        def draw(seed: int, reads: int) -> IntArray:
            samples = SimulatedAnnealingSampler().sample(
                model,
                num_reads=reads,
                num_sweeps=options.num_sweeps,
                seed=seed % _SEEDS,
                # Asked after every read.
                interrupt_function=lambda: session.stopped,
            )
            return bits_of_samples(samples, form, f"answer of {self.name}")

        per_round = max(1, _SPINS // max(1, form.num_variables))
        reads = options.num_reads
        return Answer(collect(form, session, reads, per_round, draw, plain_first=True))
