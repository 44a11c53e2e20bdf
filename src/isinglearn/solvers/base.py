"""The contract of a solver, and the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, ClassVar

from isinglearn.errors import OptionError, check_choice
from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.encodings import IntArray

SOLVERS: dict[str, type[Solver]] = {}


class Status(StrEnum):
    """What a solver can say. Only an exact one may say OPTIMAL or INFEASIBLE."""

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    NONE_FOUND = "NONE_FOUND"
    INFEASIBLE = "INFEASIBLE"


@dataclass(frozen=True, eq=False)
class Result:
    """What a solver returns, one row per network or read, best first.

    Attributes
    ----------
    status
        See :class:`Status`.
    vectors
        Free parameters, shape (reads, free).
    bits, energies
        QUBO assignments and their energies, if the solver works on bits.
    """

    status: Status
    vectors: IntArray
    bits: IntArray | None = None
    energies: IntArray | None = None


class Solver(ABC):
    """Takes a problem, returns networks. Subclasses are registered by their ``name``."""

    name: ClassVar[str]
    exact: ClassVar[bool] = False

    @dataclass(frozen=True)
    class Options:
        """Options of a solver: a dataclass of its own in each subclass."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        SOLVERS[cls.name] = cls

    def prepare(self, problem: Problem) -> None:  # noqa: B027 - nothing to prepare is a fine answer
        """Lower to the form this solver takes, so that its time is its own."""

    @abstractmethod
    def solve(self, problem: Problem, options: Any, seed: int) -> Result:
        """Turn a problem into networks."""

    def read_options(self, given: dict[str, Any]) -> Any:
        """Turn keyword arguments into options; an unknown one raises and names the nearest."""
        known = [field.name for field in fields(self.Options)]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise OptionError(
                    "this solver has no such option",
                    where=f"solve(solver={self.name!r}, {name}=...)",
                    rule="one of " + (", ".join(known) or "no options at all"),
                    received=name,
                    remedy=f"did you mean {near[0]!r}?" if near else "leave it out",
                )
        return self.Options(**given)


def solver_named(name: str) -> Solver:
    """Turn a name into a solver, or into an error that names the nearest."""
    return SOLVERS[check_choice(name, SOLVERS, "solver")]()
