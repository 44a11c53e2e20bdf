"""``all_optimal``: not one optimal network but every one, so that "identical" has a meaning."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from isinglearn.errors import SolverError, check_count
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.nn.symmetry import canonical
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.base import Status
from isinglearn.solvers.brute import Brute
from isinglearn.solvers.cpsat import enumerate_solutions
from isinglearn.solvers.run import solve
from isinglearn.solvers.session import OnEvent, Session, check_seconds


@dataclass(frozen=True, eq=False)
class OptimalSet:
    """The networks of least loss among all that a problem's network can be.

    Attributes
    ----------
    problem
        Whose optima these are.
    vectors
        Free parameters, one network per row.
    complete
        Proved: there are no others. False where a limit ended the listing.
    solver
        Which one listed them.
    """

    problem: Problem
    vectors: IntArray
    loss: Fraction
    complete: bool
    solver: str

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def networks(self) -> list[Parameters]:
        """Parameters by name, one dictionary per network."""
        return [self.problem.parameters(vector) for vector in self.vectors]

    @cached_property
    def classes(self) -> list[Parameters]:
        """One canonical network for each set that neuron exchange turns into each other."""
        found = {self._key(parameters): parameters for parameters in self.networks}
        return [canonical(self.problem.network, parameters) for parameters in found.values()]

    def __contains__(self, parameters: Parameters) -> bool:
        """Whether a network is optimal, up to neuron exchange."""
        return self._key(parameters) in self._keys

    @cached_property
    def _keys(self) -> set[bytes]:
        return {self._key(parameters) for parameters in self.networks}

    def _key(self, parameters: Parameters) -> bytes:
        ordered = canonical(self.problem.network, parameters)
        return b"".join(np.ascontiguousarray(ordered[name]).tobytes() for name in sorted(ordered))


def all_optimal(
    problem: Problem,
    *,
    limit: int = 10_000,
    time_limit: float | None = None,
    on_event: OnEvent | None = None,
) -> OptimalSet:
    """Turn a problem into all its optimal networks: by brute force where that is cheap, else CP-SAT.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    limit
        How many networks to list at most; ``complete`` says whether that was enough.
    time_limit, on_event
        As for ``isinglearn.solve``, for the proof and for the listing each.
    """
    check_count(limit, "limit")
    seconds = None if time_limit is None else check_seconds(time_limit)
    if Brute.forecast(problem) is not None:
        vectors, complete = _by_brute_force(problem, limit + 1, seconds, on_event)
        solver = "brute"
    else:
        vectors, complete = _by_search(problem, limit + 1, seconds, on_event)
        solver = "cpsat"
    loss = Fraction(int(problem.scores(vectors[:1])[0]), problem.qcbo.scale)
    return OptimalSet(problem, vectors[:limit], loss, complete and len(vectors) <= limit, solver)


def _by_brute_force(
    problem: Problem, limit: int, seconds: float | None, on_event: OnEvent | None
) -> tuple[IntArray, bool]:
    session = Session(problem.qcbo.scale, seconds=seconds, on_event=on_event)
    with session.catching_interrupts():
        answer = Brute().solve(problem, Brute.Options(max_networks=limit), session)
    # Its bound says that it came to the end, and so has seen them all.
    _check_proof(answer.bound is not None)
    return answer.rows, True


def _by_search(
    problem: Problem, limit: int, seconds: float | None, on_event: OnEvent | None
) -> tuple[IntArray, bool]:
    run = solve(problem, "auto", time_limit=seconds, on_event=on_event)
    _check_proof(run.status is Status.OPTIMAL)
    # Ranges cut to values that matter would lose networks that are equal in all but name.
    form = problem.training.qcbo
    session = Session(form.scale, seconds=seconds, on_event=on_event)
    energy = int(run.best.loss * form.scale)
    with session.catching_interrupts():
        rows, complete = enumerate_solutions(form, energy, limit, session)
    known = problem.vector(run.best.parameters)[None]
    return (rows[:, : len(problem.free_domains)] if len(rows) else known), complete


def _check_proof(proved: bool) -> None:
    if not proved:
        raise SolverError(
            "the optimum is not proved, so its networks cannot be listed",
            where="all_optimal",
            rule="a proof within the time limit, and a network that the form can express",
            received="no proof",
            remedy="give it more time or a smaller problem",
        )
