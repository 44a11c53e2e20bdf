"""What is benchmarked: a QUBO from a file, or an instance of the paper, with the best that is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

import isinglearn as il
from isinglearn.decode import decode_vectors
from isinglearn.errors import MemoryRefused, ProblemRefused
from isinglearn.lowering.pipeline import INFEASIBLE
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Status, solver_named
from isinglearn.solvers.plain import PlainQUBO, answer
from isinglearn.solvers.session import OnEvent, Session
from isinglearn.solvers.treewidth import FORESEEN_SPINS, FORESEEN_TERMS

if TYPE_CHECKING:
    from isinglearn.paper.instances import Instance

# A proof is worth at least so many seconds: what the figures mean depends on it.
LEAST_PATIENCE = 10.0


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, and what counts of a read.

    Attributes
    ----------
    name, figure
        For the title; what is minimised.
    qubo
        What the solvers get.
    values
        Turns reads into numbers, of which the least is best: whole ones, or the model's own energies where
        its coefficients are rounded for the solvers.
    shown
        Turns such a number into the loss or energy that it stands for.
    note
        That coefficients are rounded; empty where the QUBO is the problem. With a note nothing is proved.
    least, by
        The least number there is, and who proved it; ``None`` and empty where nobody did.
    """

    name: str
    figure: str
    qubo: QUBO
    values: Callable[[IntArray], NDArray[Any]]
    shown: Callable[[float], float]
    note: str = ""
    least: int | None = None
    by: str = ""


def case_of_file(path: Path) -> Case:
    """Turn a QUBO file into a case: energies count."""
    plain = PlainQUBO.read(path)
    if plain.exact:
        return Case(path.name, "energy", plain.qubo, plain.qubo.energy, plain.energy)
    return Case(path.name, "energy", plain.qubo, plain.energies, float, plain.note)


def case_of_instance(name: str, formulation: str) -> tuple[Case, il.Problem]:
    """Turn an instance of the paper into a case: the loss counts, all but the parameters recomputed."""
    instance = _instance(name)
    problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
    qubo, scale = problem.qubo, problem.qcbo.scale

    def losses(rows: IntArray) -> IntArray:
        scores = problem.scores(decode_vectors(problem, qubo, rows))
        # Networks that the paper's form cannot express are nothing found.
        return scores[scores != INFEASIBLE]

    title = f"{name}, {formulation}"
    return Case(title, "loss", qubo, losses, lambda value: value / scale), problem


def _instance(name: str) -> Instance:
    if name.startswith("moons"):
        return two_moons(int(name.removeprefix("moons")))
    return next(one for one in (*TASKS, MNIST) if one.name.lower() == name.lower())


def proved(case: Case, problem: il.Problem | None, seconds: float, on_event: OnEvent) -> Case:
    """The case with its least number, if that can be proved in time."""
    limit = max(seconds, LEAST_PATIENCE)
    if problem is not None:
        run = il.solve(problem, "auto", time_limit=limit, on_event=on_event)
        if run.status is not Status.OPTIMAL:
            return case
        return replace(case, least=int(run.best.loss * problem.qcbo.scale), by=run.solver)
    qubo = case.qubo
    if case.note:
        # A bound of the rounded energies is none of the file's.
        return case
    if qubo.num_variables > FORESEEN_SPINS or qubo.num_couplers > FORESEEN_TERMS:
        return case
    try:
        session = Session(1, 0, limit, on_event)
        found = answer(solver_named("treewidth"), qubo, {"max_seconds": limit}, session)
    except (ProblemRefused, MemoryRefused):
        return case
    return case if found.bound is None else replace(case, least=found.bound, by="treewidth")
