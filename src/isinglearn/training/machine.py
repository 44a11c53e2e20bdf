"""Machine: any solver or sampler as a plain Ising machine, which sees a QUBO's coefficients and no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isinglearn.errors import OptionError, SolverError
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Form, Solver, solver_named
from isinglearn.solvers.dimod_sampler import DimodSampler
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
        import isinglearn.solvers  # noqa: F401 - registers the solvers

        chosen = cls._chosen("annealer" if isinstance(solver, str) and solver == "auto" else solver)
        if Form.QUBO not in chosen.accepts:
            raise OptionError(
                "this solver takes no QUBO",
                where=f"solver={chosen.name!r}",
                rule="a solver of QUBOs, or a dimod sampler",
                received="one of " + ", ".join(form.value for form in chosen.accepts),
                remedy="use 'auto', or another solver",
            )
        given: dict[str, Any] = {}
        if chosen.name == "annealer":
            # Its compound moves would not look at the penalties, which are the point here.
            asked = {"num_reads": reads, "num_sweeps": sweeps, "threads": threads}
            given = {name: value for name, value in asked.items() if value is not None}
            given["moves"] = "single"
        return cls(chosen, chosen.read_options(given))

    @staticmethod
    def _chosen(solver: Any) -> Solver:
        if isinstance(solver, str):
            return solver_named(solver)
        return solver if isinstance(solver, Solver) else DimodSampler(solver)

    def minimise(self, qubo: QUBO, seed: int, seconds: float) -> IntArray:
        """Turn a QUBO into a machine's reads (reads, spins); none if the time was over before the first."""
        if seconds <= 0:
            return np.zeros((0, qubo.num_variables), dtype=np.int64)
        timed = self.solver.traits.interruptible and seconds < LONGEST
        session = Session(qubo.scale, seed % _SEEDS, seconds if timed else None)
        # Without its source nothing is known of what follows from what.
        rows = self.solver.solve(replace(qubo, source=None), self.options, session).rows
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
