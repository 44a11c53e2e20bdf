"""``solver="auto"``: the cheapest proof that can be foreseen, else CP-SAT, else annealing; and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

from isinglearn.lowering.memory import available_memory
from isinglearn.lowering.pipeline import Problem
from isinglearn.solvers.base import SOLVERS, Forecast

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


def choose(problem: Problem, time_limit: float | None) -> Choice:
    """Turn a problem into the solver that suits it."""
    patience = PATIENCE if time_limit is None else time_limit
    memory = available_memory() or math.inf
    within = {
        name: forecast
        for name, forecast in foresee(problem).items()
        if forecast.seconds <= patience and forecast.bytes <= memory
    }
    if within:
        name = min(within, key=lambda name: within[name].seconds)
        about = f"a proof in about {within[name].seconds:.1g} s: {within[name].why}"
        return Choice(name, about, time_limit)
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
