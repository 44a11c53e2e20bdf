"""Machine: any solver or sampler as a plain Ising machine, which sees a QUBO's coefficients and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isinglearn.errors import SolverError
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Solver
from isinglearn.solvers.plain import taker
from isinglearn.solvers.reading import checked_rows
from isinglearn.solvers.session import LONGEST, Session

# Samplers take seeds of 31 bits.
_SEEDS = 2**31


@dataclass(frozen=True, eq=False)
class Machine:
    """A solver with its options, ready to take QUBOs."""

    solver: Solver
    options: Any

    @classmethod
    def of(
        cls,
        solver: Any,
        reads: int | None = None,
        sweeps: int | None = None,
        threads: int | None = None,
    ) -> Machine:
        """Turn what a user gives as ``solver`` into a machine.

        Parameters
        ----------
        solver
            ``"auto"`` for our annealer, a name, a ``Solver`` or a dimod sampler.
        reads, sweeps
            Of our annealer; others work as they do by default.
        threads
            Of our annealer: one where several machines run beside each other.
        """
        chosen = taker("annealer" if isinstance(solver, str) and solver == "auto" else solver)
        given: dict[str, Any] = {}
        if chosen.name == "annealer":
            # Its compound moves would not look at the penalties, which are the point here.
            asked = {"num_reads": reads, "num_sweeps": sweeps, "threads": threads}
            given = {name: value for name, value in asked.items() if value is not None}
            given["moves"] = "single"
        return cls(chosen, chosen.read_options(given))

    def minimise(self, qubo: QUBO, seed: int, seconds: float) -> IntArray:
        """Turn a QUBO into a machine's reads (reads, spins); none if the time was over before the first."""
        if seconds <= 0:
            return np.zeros((0, qubo.num_variables), dtype=np.int64)
        # Without its source nothing is known of what follows from what.
        plain = replace(qubo, source=None)
        self.solver.prepare(plain, self.options)
        timed = self.solver.traits.interruptible and seconds < LONGEST
        session = Session(qubo.scale, seed % _SEEDS, seconds if timed else None)
        answer = self.solver.solve(plain, self.options, session)
        rows = checked_rows(plain, answer, self.solver.name)
        if not len(rows) and not session.stopped:
            raise SolverError(
                "a solver returned nothing",
                where=f"solver={self.solver.name!r}",
                rule="at least one assignment of the QUBO",
                received="no reads",
                remedy="check its account or options, or use another solver",
            )
        return rows


def seed_of(seed: int, *place: int) -> int:
    """Turn a run's seed and a place in it into a seed of its own."""
    return int(np.random.SeedSequence(seed, spawn_key=place).generate_state(1)[0] >> 1)
