"""A problem to the form that a solver takes: fitted to a machine if asked, with a network to start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from isinglearn.errors import NetworkError, OptionError, check_choice
from isinglearn.lowering.fixing import fix_variables
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.solvers.reading import form_of


def fitted(
    problem: Problem, form: Form, bits: int | None, fix: bool
) -> tuple[Any, Callable[[Answer], Answer]]:
    """Lower to a form, fit it to a machine if asked, and say how answers become those of the form."""
    lowered = form_of(problem, form)
    if form is not Form.QUBO:
        if bits is not None or fix:
            raise OptionError(
                "only a QUBO can be fitted to a machine",
                where="bits, fix",
                rule="a solver that takes the QUBO",
                received=f"the form {form.value!r}",
                remedy="choose another solver, or leave bits and fix out",
            )
        return lowered, lambda answer: answer
    if bits is not None:
        lowered = problem.rounded(bits).form
    if not fix:
        return lowered, lambda answer: answer if bits is None else _unproved(answer)
    reduced, fixing = fix_variables(lowered)

    def back(answer: Answer) -> Answer:
        restored = replace(answer, rows=fixing.restore(answer.rows))
        return restored if bits is None else _unproved(restored)

    return reduced, back


def _unproved(answer: Answer) -> Answer:
    """What is proved of the rounded QUBO says nothing about the network."""
    return replace(answer, bound=None, infeasible=False)


def start_of(
    problem: Problem,
    solver: Solver,
    form: Form,
    given: Parameters | Literal["incumbent"] | None,
) -> IntArray | None:
    """Turn a network, or the compiler's own incumbent, into an assignment of the solver's form."""
    if given is None or not solver.traits.starts:
        return None
    if isinstance(given, str):
        check_choice(given, ["incumbent"], "start")
        if not solver.traits.exact:
            # A heuristic is judged by what it finds itself.
            return None
        try:
            vector = problem.incumbent[0]
        except NetworkError:
            # The compiler found none that this form can express; the solver may.
            return None
    else:
        vector = problem.vector(given)
    if form is Form.PROBLEM:
        return vector
    table, count = problem.qcbo.variables, len(vector)
    # A bias beyond the range that matters behaves like the end of that range.
    values = problem.complete(np.clip(vector, table.lo[:count], table.hi[:count]))[0]
    violations = problem.qcbo.violations(values)
    if violations and isinstance(given, str):
        return None
    if violations:
        raise NetworkError(
            "the form cannot express this network",
            where="start",
            rule="a network that breaks no constraint and no range",
            received=violations[0],
            remedy="start from another one, or leave the box out",
        )
    return values if form is Form.QCBO else form_of(problem, form).complete(values)[0]
