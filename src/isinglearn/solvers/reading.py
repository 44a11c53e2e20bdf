"""Assignments of any form to networks: decoded, repaired, ranked, and what is proved of the best."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from isinglearn.decode import decode_vectors
from isinglearn.errors import SolverError
from isinglearn.lowering.incumbent import candidates, descend, evaluations
from isinglearn.lowering.pipeline import INFEASIBLE, Problem
from isinglearn.problem.bits import as_bits
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import HUBO, QUBO
from isinglearn.solvers.base import Answer, Form, Status


@dataclass(frozen=True, eq=False)
class Result:
    """What was found, one row per network or read, best first.

    Attributes
    ----------
    status
        See :class:`Status`.
    vectors
        Free parameters, shape (reads, free).
    bits, energies
        QUBO assignments and their energies, if the solver works on the QUBO.
    bound
        No network has less energy (loss times the scale of the forms); ``None`` if nothing is proved.
    """

    status: Status
    vectors: IntArray
    bits: IntArray | None = None
    energies: IntArray | None = None
    bound: int | None = None


def form_of(problem: Problem, form: Form) -> Any:
    """Lower to the form that is asked for."""
    return problem if form is Form.PROBLEM else getattr(problem, form.value)


def checked_rows(form: Any, answer: Answer, solver: str) -> IntArray:
    """Turn an answer into its rows, which for a form over bits must be such, or into an error."""
    if not len(answer.rows) or not isinstance(form, HUBO | QUBO):
        return answer.rows
    return as_bits(answer.rows, form.num_variables, f"rows of solver={solver!r}")


def read(problem: Problem, form: Form, answer: Answer) -> Result:
    """Turn a solver's answer into networks, best first, with what is known of them."""
    vectors, bits = _decode(problem, form, answer.rows)
    if answer.infeasible:
        return Result(Status.INFEASIBLE, vectors, bits)
    # What every network obeys is a proof as well: a loss of 0 cannot be improved.
    bound = problem.loss.lower_bound
    return _ranked(
        problem, vectors, bits, max(bound, bound if answer.bound is None else answer.bound)
    )


def polish(problem: Problem, result: Result, count: int) -> Result:
    """Add what coordinate descent on the true loss makes of the best ``count`` networks."""
    if result.bound is None or not len(result.vectors):
        return result
    starts = list(dict.fromkeys(map(tuple, result.vectors.tolist())))[:count]
    values = [candidates(domain) for domain in problem.used_domains]
    budget = evaluations(len(problem.data), problem.network.work)
    found, _ = descend(values, problem.scores, np.array(starts), budget, Random(0))
    bits = result.bits
    if bits is not None:
        bits = np.concatenate([problem.qubo.complete(problem.complete(found)), bits])
    return _ranked(problem, np.concatenate([found, result.vectors]), bits, result.bound)


def _decode(problem: Problem, form: Form, rows: IntArray) -> tuple[IntArray, IntArray | None]:
    """Turn assignments of a form into vectors of free parameters, and the QUBO's bits if they are such."""
    count = len(problem.free_domains)
    if not len(rows):
        return np.zeros((0, count), dtype=np.int64), None
    if form in (Form.PROBLEM, Form.QCBO):
        return rows[:, :count], None
    vectors = decode_vectors(problem, form_of(problem, form), rows)
    return vectors, rows if form is Form.QUBO else None


def _ranked(problem: Problem, vectors: IntArray, bits: IntArray | None, bound: int) -> Result:
    if not len(vectors):
        return Result(Status.NONE_FOUND, vectors, bound=bound)
    scores = problem.scores(vectors)
    energies = None if bits is None else problem.qubo.energy(bits)
    # Among equal networks the read of lowest energy, the least inconsistent, comes first.
    order = np.lexsort([scores] if energies is None else [energies, scores])
    best = int(scores[order[0]])
    if best < bound:
        raise SolverError(
            "a solver's bound is false",
            where="solve",
            rule="no network has less loss than a proved bound",
            received=f"bound {bound}, a network with {best}",
            remedy="report this with the problem: it is a fault of the solver or of its adapter",
        )
    status = Status.OPTIMAL if best == bound else Status.FEASIBLE
    return Result(
        Status.NONE_FOUND if best == INFEASIBLE else status,
        vectors[order],
        None if bits is None else bits[order],
        None if energies is None else energies[order],
        bound,
    )
