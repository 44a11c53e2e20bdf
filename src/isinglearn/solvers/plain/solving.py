"""Any solver on a plain QUBO, and what is proved of its answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import isinglearn.solvers  # noqa: F401 - registers the solvers
from isinglearn.errors import MemoryRefused, OptionError, ProblemRefused, SolverError
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.auto import PATIENCE
from isinglearn.solvers.base import SOLVERS, Answer, Form, Solver, Status, solver_named
from isinglearn.solvers.dimod_sampler import DimodSampler
from isinglearn.solvers.plain.qubo import PlainQUBO
from isinglearn.solvers.session import Event, OnEvent, Session
from isinglearn.solvers.treewidth import FORESEEN_SPINS, FORESEEN_TERMS

_IN_WORDS = {
    Form.PROBLEM: "a network with its data",
    Form.QCBO: "a constrained problem",
    Form.HUBO: "a HUBO",
    Form.QUBO: "a QUBO",
}


@dataclass(frozen=True, eq=False)
class Solved:
    """The best assignment of a problem from a file, and what is proved of it.

    Attributes
    ----------
    size
        How large the problem is, by what is counted.
    solver, reason
        Who solved it, and why, where that was left open.
    sample, energy
        Values by name, and their energy.
    bound, status
        No assignment has less energy than this; whether that is a proof.
    reads, alike
        Assignments that were read, and how many have the same energy.
    seconds, note
        Of the solver.
    """

    size: dict[str, int]
    solver: str
    reason: str
    sample: dict[str, int]
    energy: float
    bound: float | None
    status: Status
    reads: int
    alike: int
    seconds: float
    note: str


def takers() -> list[str]:
    """Names of the solvers that take a QUBO."""
    return [name for name, solver in SOLVERS.items() if Form.QUBO in solver.accepts]


def taker(given: Any) -> Solver:
    """Turn a solver's name, a solver or a dimod sampler into a solver that takes a QUBO."""
    if isinstance(given, str):
        chosen = solver_named(given)
    else:
        chosen = given if isinstance(given, Solver) else DimodSampler(given)
    if Form.QUBO in chosen.accepts:
        return chosen
    raise OptionError(
        "this solver takes no QUBO",
        where=f"solver={chosen.name!r}",
        rule="a dimod sampler, or one of " + ", ".join(takers()),
        received=f"{chosen.name}, which takes " + " or ".join(_IN_WORDS[f] for f in chosen.accepts),
        remedy="use 'auto', or another solver",
    )


def answer(solver: Solver, qubo: QUBO, options: dict[str, Any], session: Session) -> Answer:
    """Turn a QUBO into a solver's answer; the first Ctrl-C ends it with what it has, where it can."""
    given = solver.read_options(options)
    with session.paused():
        solver.prepare(qubo, given)
    if not solver.traits.interruptible:
        return solver.solve(qubo, given, session)
    with session.catching_interrupts():
        return solver.solve(qubo, given, session)


def solve(
    plain: PlainQUBO,
    solver: str,
    options: dict[str, Any],
    *,
    seed: int,
    time_limit: float | None,
    on_event: OnEvent,
) -> Solved:
    """Turn a QUBO into the best assignment of a named solver, or of one that suits it."""

    def tell(event: Event) -> bool | None:
        figures = (event.loss, event.bound)
        energy, bound = (None if v is None else Fraction(plain.energy(v)) for v in figures)
        return on_event(replace(event, loss=energy, bound=bound))

    session = Session(1, seed, time_limit, tell)
    reason = ""
    if solver == "auto":
        name, found, reason = _automatic(plain, options, session)
    else:
        name, found = solver, answer(taker(solver), plain.qubo, options, session)
    if not len(found.rows):
        raise SolverError(
            "the solver returned nothing",
            where=f"solver={name!r}",
            rule="at least one assignment",
            received=found.note or "none",
            remedy="give it more time, or use another solver",
        )
    energies, whole = plain.energies(found.rows), plain.qubo.energy(found.rows)
    best = int(energies.argmin())
    proved = plain.exact and found.bound is not None and found.bound >= whole[best]
    return Solved(
        {"spins": plain.qubo.num_variables, "couplers": plain.qubo.num_couplers},
        name,
        reason,
        plain.sample(found.rows[best]),
        float(energies[best]),
        None if found.bound is None else plain.energy(found.bound) - plain.below,
        Status.OPTIMAL if proved else Status.FEASIBLE,
        len(found.rows),
        int((whole == whole[best]).sum()),
        session.elapsed,
        "; ".join(part for part in (found.note, plain.note) if part),
    )


def _automatic(
    plain: PlainQUBO, options: dict[str, Any], session: Session
) -> tuple[str, Answer, str]:
    """A proof by elimination where the spins are coupled loosely enough, else annealing; and why."""
    if options:
        raise OptionError(
            "options belong to a solver",
            where="--option",
            rule="the name of a solver with them",
            received=", ".join(options),
            remedy="name it: --solver annealer",
        )
    qubo = plain.qubo
    why = f"more than {FORESEEN_SPINS} spins or {FORESEEN_TERMS} couplers"
    if qubo.num_variables <= FORESEEN_SPINS and qubo.num_couplers <= FORESEEN_TERMS:
        try:
            limits = {"max_seconds": min(session.left, PATIENCE)}
            found = answer(solver_named("treewidth"), qubo, limits, session)
        except (ProblemRefused, MemoryRefused) as refusal:
            why = refusal.what
        else:
            if len(found.rows):
                return "treewidth", found, "coupled loosely enough for a proof"
            why = found.note
    return "annealer", answer(solver_named("annealer"), qubo, {}, session), f"no proof: {why}"
