"""The contract of a solver, and the registry.

A solver takes one form of a problem and returns assignments of that form, with a bound if it has proved
one. It knows nothing of networks: decoding, repair, ranking and the status are the caller's
(``solvers.run``), so that nobody can claim an optimum without a proof.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from difflib import get_close_matches
from enum import StrEnum
from importlib.util import find_spec
from typing import Any, ClassVar

from isinglearn.errors import OptionError, SolverError, check_choice
from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.session import Session

SOLVERS: dict[str, type[Solver]] = {}


class Form(StrEnum):
    """What a solver can take: the problem with its network and data, or one of its lowered forms."""

    PROBLEM = "problem"
    QCBO = "qcbo"
    HUBO = "hubo"
    QUBO = "qubo"


class Status(StrEnum):
    """What can be said of an answer. OPTIMAL and INFEASIBLE are proved, never guessed."""

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    NONE_FOUND = "NONE_FOUND"
    INFEASIBLE = "INFEASIBLE"


@dataclass(frozen=True)
class Traits:
    """What kind of solver it is.

    Attributes
    ----------
    exact
        Proves its answers, given time; others may neither give a bound nor say infeasible.
    seeded
        The same seed gives the same answer (unless time cuts it short).
    interruptible
        Ends early, with what it has, at a deadline, on Ctrl-C or when the caller says stop.
    starts
        Makes use of a known network (``Session.start``).
    gpu
        Runs on a GPU.
    remote
        Sends the problem to a service, with the user's account.
    coefficient_bits
        Resolution of its coefficients, ``None`` where it is not limited.
    """

    exact: bool = False
    seeded: bool = True
    interruptible: bool = True
    starts: bool = False
    gpu: bool = False
    remote: bool = False
    coefficient_bits: int | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver found, in the variables of the form it took.

    Attributes
    ----------
    rows
        Assignments, one per row: free parameters of a problem, integers of a QCBO, bits of a HUBO or
        QUBO. In any order.
    bound
        No assignment has less energy than this; proved. ``None`` where nothing is proved.
    infeasible
        Proved: the form has no solution.
    note
        One sentence for the user, where there is something to say ("stopped in layer 2 of 3").
    """

    rows: IntArray
    bound: int | None = None
    infeasible: bool = False
    note: str = ""


@dataclass(frozen=True)
class Forecast:
    """What an exact solver expects of a problem before it starts.

    Attributes
    ----------
    seconds, bytes
        Time to the proof, and memory at its peak. Rough: right within a factor of a few.
    why
        What it follows from, for the user ("width 14 after fixing 2 spins").
    """

    seconds: float
    bytes: int
    why: str


class Solver(ABC):
    """Takes a form, returns assignments of it. A subclass with a ``name`` is registered by it.

    Attributes
    ----------
    accepts
        Forms it takes, the best one first.
    requires, install
        Packages it imports, and the command that brings them.
    """

    name: str
    accepts: ClassVar[tuple[Form, ...]]
    traits: ClassVar[Traits] = Traits()
    requires: ClassVar[tuple[str, ...]] = ()
    install: ClassVar[str] = "pip install isinglearn"

    @dataclass(frozen=True)
    class Options:
        """Options of a solver: a dataclass of its own in each subclass."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__:
            SOLVERS[cls.name] = cls

    @classmethod
    def available(cls) -> bool:
        """Whether its packages are installed; none of them is imported."""
        return all(_is_installed(package) for package in cls.requires)

    @classmethod
    def forecast(cls, problem: Problem) -> Forecast | None:
        """What a proof would cost; ``None`` where this solver cannot tell or cannot take the problem.

        Cheap beside solving: ``solver="auto"`` asks every exact solver.
        """
        return None

    def prepare(self, form: Any, options: Any) -> None:  # noqa: B027 - most have nothing to prepare
        """Do what is done once per process, such as compiling kernels; called before the clock starts.

        It changes no answer and costs next to nothing the second time.
        """

    @abstractmethod
    def solve(self, form: Any, options: Any, session: Session) -> Answer:
        """Turn a form into assignments of it; end soon once ``session.stopped`` is true."""

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


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        # The parent of a dotted name is missing.
        return False


def solver_named(name: str) -> Solver:
    """Turn a name into a solver that is installed, or into an error that says what to do."""
    chosen = SOLVERS[check_choice(name, SOLVERS, "solver")]
    if not chosen.available():
        raise SolverError(
            "this solver is not installed here",
            where=f"solver={name!r}",
            rule="its packages: " + ", ".join(chosen.requires),
            received="not all of them are installed",
            remedy=chosen.install,
        )
    return chosen()
