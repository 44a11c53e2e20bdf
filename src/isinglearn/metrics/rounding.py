"""What rounding a QUBO to a machine's resolution does to its optimum, by exact solves."""

from __future__ import annotations

from fractions import Fraction

from isinglearn.errors import (
    MemoryRefused,
    ProblemRefused,
    SolverError,
)
from isinglearn.lowering.pipeline import Problem
from isinglearn.lowering.rounding import RoundingEffect, effect_of_rounding
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Status
from isinglearn.solvers.run import solve
from isinglearn.solvers.session import Session
from isinglearn.solvers.treewidth import Treewidth


def rounding_effect(
    problem: Problem,
    bits: int,
    convention: str = "qubo",
    *,
    optimum: Fraction | None = None,
    max_seconds: float = 60.0,
) -> RoundingEffect:
    """Turn a problem and a machine's resolution into what rounding leaves of the optimum.

    Exact where the treewidth solver takes the rounded QUBO, by a bound on the errors elsewhere.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    bits, convention
        Bits per coefficient, sign included, of a machine that takes a ``"qubo"`` or an ``"ising"`` model.
    optimum
        The least loss of any network, proved; computed if not given.
    max_seconds
        For each of the two exact solves; what is expected to take longer is not begun.
    """
    known = _proved_optimum(problem) if optimum is None else optimum
    options = Treewidth.Options(max_seconds=max_seconds)

    def minimise(form: QUBO) -> IntArray | None:
        try:
            return Treewidth().solve(form, options, Session(form.scale)).rows[0]
        except (ProblemRefused, MemoryRefused):
            return None

    return effect_of_rounding(problem, bits, convention, known, minimise)


def _proved_optimum(problem: Problem) -> Fraction:
    run = solve(problem, "auto")
    if run.status is Status.OPTIMAL:
        return run.best.loss
    raise SolverError(
        "the optimum is not proved, so nothing can be compared with it",
        where="rounding_effect",
        rule="a proof by solver='auto'",
        received=run.status.value,
        remedy="pass optimum=, the proved loss",
    )
