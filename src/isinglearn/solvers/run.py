"""``solve``: one door to every solver; what comes back is decoded, repaired, ranked and verified."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

import isinglearn.solvers  # noqa: F401 - registers the solvers
from isinglearn.decode import Solution, accuracy, solution
from isinglearn.errors import NetworkError, OptionError, SolverError, check_choice, check_count
from isinglearn.lowering.fixing import ReducedQUBO, fix_variables
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.auto import choose
from isinglearn.solvers.base import Answer, Form, Solver, Status, solver_named
from isinglearn.solvers.dimod_sampler import DimodSampler
from isinglearn.solvers.reading import Result, form_of, read
from isinglearn.solvers.reading import polish as improve
from isinglearn.solvers.session import OnEvent, Session, check_seconds
from isinglearn.verify import Verdict, verify


@dataclass(frozen=True, eq=False)
class Run:
    """An answered problem.

    Attributes
    ----------
    problem, solver, seed
        What was asked; the solver that was chosen, if that was left open.
    seconds
        The solver's wall time (compiling excluded).
    result
        All networks found, best first.
    reason
        Why this solver, if the choice was left open.
    note
        What the solver has to say about its answer.
    """

    problem: Problem
    solver: str
    seed: int
    seconds: float
    result: Result
    reason: str = ""
    note: str = ""

    @property
    def status(self) -> Status:
        """What is known of the answer."""
        return self.result.status

    @property
    def bound(self) -> Fraction | None:
        """No network of this problem has less loss; proved. ``None`` if nothing is."""
        bound = self.result.bound
        return None if bound is None else Fraction(bound, self.problem.qcbo.scale)

    @property
    def gap(self) -> Fraction | None:
        """How much better than ``best`` a network could be at most; ``None`` without a network."""
        return self.best.loss - self.bound if self._found and self.bound is not None else None

    @property
    def _found(self) -> bool:
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)

    @cached_property
    def best(self) -> Solution:
        """The network of least loss."""
        if not self._found:
            outside = "all that were read leave the form's box" if len(self.result.vectors) else ""
            why = self.note or outside
            raise SolverError(
                "no network was found" + (f": {why}" if why else ""),
                where=f"solver={self.solver!r}",
                rule="at least one network that the form can express",
                received=self.status.value,
                remedy="give it more time, more reads or another solver",
            )
        bits = None if self.result.bits is None else self.result.bits[0]
        return solution(self.problem, self.result.vectors[0], bits)

    @cached_property
    def verdict(self) -> Verdict:
        """An independent recheck of ``best``."""
        energies = self.result.energies
        claimed = None if energies is None else int(energies[0])
        return verify(self.problem, self.best.parameters, self.best.bits, claimed)

    @property
    def accuracy(self) -> Fraction:
        """Share of training samples with the right sign."""
        return accuracy(self.problem, self.best.parameters)

    def polished(self, count: int) -> Run:
        """The same run with the best ``count`` networks improved by coordinate descent on their loss."""
        started = time.perf_counter()
        result = improve(self.problem, self.result, count)
        return replace(self, result=result, seconds=self.seconds + time.perf_counter() - started)

    def record(self) -> dict[str, Any]:
        """Everything worth keeping, as plain JSON values; without a network only how it ended."""
        record: dict[str, Any] = {
            "format": "isinglearn-run",
            "version": 1,
            "solver": self.solver,
            "reason": self.reason,
            "note": self.note,
            "seed": self.seed,
            "status": self.status.value,
            "bound": None if self.bound is None else float(self.bound),
            "seconds": self.seconds,
            "formulation": self.problem.options.formulation,
        }
        if not self._found:
            return record
        return record | {
            "loss": float(self.best.loss),
            "loss_fraction": str(self.best.loss),
            "accuracy": float(self.accuracy),
            "parameters": {name: v.tolist() for name, v in self.best.parameters.items()},
            "consistent": self.verdict.consistent,
            "violations": list(self.verdict.violations),
        }

    def save(self, path: str | Path) -> None:
        """Write the record as JSON."""
        Path(path).write_text(json.dumps(self.record(), indent=2) + "\n")


def solve(
    problem: Problem,
    solver: Any = "auto",
    *,
    time_limit: float | None = None,
    seed: int = 0,
    on_event: OnEvent | None = None,
    start: Parameters | Literal["incumbent"] | None = "incumbent",
    polish: int = 0,
    form: str | None = None,
    bits: int | None = None,
    fix: bool = False,
    **options: Any,
) -> Run:
    """Turn a compiled problem into a run: networks, best first, decoded, repaired and verified.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    solver
        A name (``isinglearn solvers`` lists them), ``"auto"``, a ``Solver``, or any dimod sampler (its
        ``sample`` gets the QUBO and ``options``).
    time_limit
        Seconds for the solver; what it has by then is returned. Without one it may take for ever, but
        for ``"auto"``, which sets a limit where it picks a solver that might.
    seed
        Same seed, same answer, for the named solvers.
    on_event
        Called with news (seconds, loss, bound); returning False ends the run with what there is.
    start
        A known network to start from, for solvers that can. By default exact solvers start from the one
        that the compiler found for its penalty weights, heuristics (and all with ``None``) from nothing.
    polish
        Improve this many of the best networks by coordinate descent on their true loss.
    form
        Which form to solve (``"qubo"``, ``"hubo"``, ...), for solvers that take several.
    bits
        Round the QUBO's coefficients to what a machine of so many bits resolves (see ``problem.rounded``).
    fix
        Leave out the bits of the QUBO that roof duality decides (see ``problem.fixed``).
    **options
        The solver's own; an unknown one raises and names the nearest.
    """
    _check_types(problem, start)
    check_count(seed, "seed", 0)
    check_count(polish, "polish", 0)
    limit = None if time_limit is None else check_seconds(time_limit)
    reason = ""
    if solver == "auto":
        choice = choose(problem, limit)
        solver, limit, reason = choice.solver, choice.time_limit, choice.reason
    chosen = _solver(solver)
    given = chosen.read_options(options)
    taken = Form(check_choice(form, chosen.accepts, "form")) if form else chosen.accepts[0]
    known = _start(problem, chosen, taken, start)
    lowered, fitted_back = _fitted(problem, taken, bits, fix)
    if known is not None and isinstance(lowered, ReducedQUBO):
        known = lowered.fixing.restrict(known[None])[0]
    session = Session(problem.qcbo.scale, seed, limit, on_event, known)
    if reason:
        session.tell(message=f"{chosen.name}: {reason}")
    if isinstance(lowered, ReducedQUBO) and not lowered.num_variables:
        # Everything was decided beforehand.
        answer = Answer(np.zeros((1, 0), dtype=np.int64))
    elif chosen.traits.interruptible:
        with session.catching_interrupts():
            answer = chosen.solve(lowered, given, session)
    else:
        answer = chosen.solve(lowered, given, session)
    _check(chosen, answer)
    result = read(problem, taken, fitted_back(answer))
    run = Run(problem, chosen.name, seed, session.elapsed, result, reason, answer.note)
    return run.polished(polish) if polish else run


def _check_types(problem: object, start: object) -> None:
    for where, value, fits, rule in (
        ("problem", problem, isinstance(problem, Problem), "what isinglearn.compile returned"),
        (
            "start",
            start,
            start is None or isinstance(start, str | Mapping),
            "arrays by parameter name, 'incumbent' or None",
        ),
    ):
        if not fits:
            raise OptionError(
                "this is of the wrong kind",
                where=f"solve({where})",
                rule=rule,
                received=type(value).__name__,
                remedy="compile a network and data first" if where == "problem" else "leave it out",
            )


def _solver(given: Any) -> Solver:
    if isinstance(given, str):
        return solver_named(given)
    return given if isinstance(given, Solver) else DimodSampler(given)


def _fitted(
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


def _start(
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


def _check(solver: Solver, answer: Answer) -> None:
    """A solver that proves nothing may not claim to."""
    if not solver.traits.exact and (answer.infeasible or answer.bound is not None):
        raise SolverError(
            "a heuristic claims a proof",
            where=f"solver={solver.name!r}",
            rule="only exact solvers give bounds or say infeasible",
            received=f"bound {answer.bound}, infeasible {answer.infeasible}",
            remedy="correct the solver's traits or its answer",
        )
