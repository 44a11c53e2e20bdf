"""``solver="auto"``: the cheapest proof that can be foreseen, else CP-SAT, else annealing; and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isinglearn.lowering.memory import available_memory
from isinglearn.lowering.pipeline import Problem
from isinglearn.solvers.base import SOLVERS, Forecast, Form

# Seconds given to a proof where the user sets no limit.
PATIENCE = 60.0
# Constraint rows of a QCBO up to which CP-SAT is worth its time; beyond, its presolve alone takes it.
MOST_ROWS = 20_000


@dataclass(frozen=True)
class Choice:
    """A solver with its time limit, and the reason in one sentence."""

    solver: str
    reason: str
    time_limit: float | None


def choose(
    problem: Problem, time_limit: float | None, *, fix: bool = False, rounded: bool = False
) -> Choice:
    """Turn a problem into the solver that suits it.

    Parameters
    ----------
    problem, time_limit
        As for ``solve``.
    fix, rounded
        Whether what is solved is the QUBO without the bits that roof duality decides, or with rounded
        coefficients, of which nothing follows for the network. Both leave the solvers that take a QUBO.
    """
    patience = PATIENCE if time_limit is None else time_limit
    memory = available_memory() or math.inf
    as_qubo = fix or rounded
    within = {
        name: forecast
        for name, forecast in foresee(problem).items()
        if forecast.seconds <= patience
        and forecast.bytes <= memory
        and (not as_qubo or Form.QUBO in SOLVERS[name].accepts)
    }
    if within:
        name = min(within, key=lambda name: within[name].seconds)
        forecast = within[name]
        what = "the least energy of the rounded QUBO" if rounded else "a proof"
        return Choice(name, f"{what} in about {forecast.seconds:.1g} s: {forecast.why}", time_limit)
    if as_qubo:
        reason = f"no elimination of the QUBO is cheap enough: annealing for {patience:g} s at most"
        return Choice("annealer", reason, patience)
    rows = sum(constraint.rows.num_rows for constraint in problem.qcbo.constraints)
    if rows <= MOST_ROWS:
        reason = (
            f"no enumeration is cheap enough, and {rows} constraints are few enough for a search with "
            f"proof, given {patience:g} s"
        )
        return Choice("cpsat", reason, patience)
    reason = (
        f"{rows} constraints are too many for a search with proof (up to {MOST_ROWS}): annealing for "
        f"{patience:g} s at most"
    )
    return Choice("annealer", reason, patience)


def foresee(problem: Problem) -> dict[str, Forecast]:
    """What a proof would cost with each installed solver that can tell."""
    told = {name: s.forecast(problem) for name, s in SOLVERS.items() if s.available()}
    return {name: forecast for name, forecast in told.items() if forecast is not None}
