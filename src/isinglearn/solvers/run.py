"""``solve``: one door to every solver; what comes back is decoded, repaired, ranked and verified."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

import isinglearn.solvers  # noqa: F401 - registers the solvers
from isinglearn.decode import Solution, accuracy, solution
from isinglearn.errors import OptionError, SolverError, check_choice, check_count
from isinglearn.lowering.fixing import ReducedQUBO
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.problem.exports.files import replacing
from isinglearn.solvers.auto import choose
from isinglearn.solvers.base import Answer, Form, Solver, Status, solver_named
from isinglearn.solvers.dimod_sampler import DimodSampler
from isinglearn.solvers.fitting import fitted, start_of
from isinglearn.solvers.reading import Result, checked_rows, read
from isinglearn.solvers.reading import polish as improve
from isinglearn.solvers.session import Event, OnEvent, Session, check_listener, check_seconds
from isinglearn.verify import Verdict, verify


@dataclass(frozen=True, eq=False)
class Run:
    """An answered problem.

    Attributes
    ----------
    problem, solver, seed
        What was asked; the solver that was chosen, if that was left open. No seed (``None``) where the reads
        were made elsewhere.
    seconds
        The solver's wall time; compiling, of the problem and of the solver's kernels, is not part of it.
    result
        All networks found, best first.
    reason
        Why this solver, if the choice was left open.
    note
        What the solver has to say about its answer.
    events
        Better losses and bounds as they came. While a solver runs, a loss is the energy of its bits; the last
        event is the answer itself, decoded.
    arguments
        What ``solve`` was given besides, where it is not the default: time limit, options, ...
    """

    problem: Problem
    solver: str
    seed: int | None
    seconds: float
    result: Result
    reason: str = ""
    note: str = ""
    events: tuple[Event, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)

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
    def bound_is_trivial(self) -> bool:
        """Whether the bound says no more than that no loss is below 0."""
        bound = self.result.bound
        return bound is not None and bound <= self.problem.loss.lower_bound

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
        seconds = self.seconds + time.perf_counter() - started
        arguments = {**self.arguments, "polish": count}
        run = replace(self, result=result, seconds=seconds, arguments=arguments)
        return replace(run, events=(*self.events, run.outcome))

    @property
    def outcome(self) -> Event:
        """What the answer is worth, decoded: the last of the events."""
        return Event(self.seconds, self.best.loss if self._found else None, self.bound)

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
        with replacing(Path(path)) as file:
            file.write((json.dumps(self.record(), indent=2) + "\n").encode())

    def report(
        self,
        path: str | os.PathLike[str],
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        *,
        title: str = "",
        feature_names: list[str] | None = None,
        **choices: Any,
    ) -> None:
        """Write the run as one self-contained HTML page: how good it is, pictures, how to repeat it.

        Parameters
        ----------
        path
            Where to write the page.
        X_test, y_test
            Data of the same kind that was not trained on.
        title, feature_names
            For readers.
        **choices
            Further ones of ``isinglearn.report.record.record_of_run``: ``prove_seconds=0`` and
            ``yardstick=False`` spend no time on proving more and on a baseline, ``show_data=True`` draws
            where the samples lie.
        """
        from isinglearn.report.html import write_report
        from isinglearn.report.record import CHOICES, record_of_run

        for name in choices:
            check_choice(name, CHOICES, "report")
        record = record_of_run(
            self, X_test, y_test, title=title, feature_names=feature_names, **choices
        )
        write_report(record, path)


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
        Seconds for the solver; what it has by then is returned. What it compiles on first use is not counted.
        Without one it may take for ever, but
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
    check_listener(on_event)
    if isinstance(solver, str) and solver == "auto":
        choice = choose(problem, limit, fix=fix, rounded=bits is not None)
        solver, limit, reason = choice.solver, choice.time_limit, choice.reason
    chosen = _solver(solver)
    given = chosen.read_options(options)
    taken = Form(check_choice(form, chosen.accepts, "form")) if form else chosen.accepts[0]
    known = start_of(problem, chosen, taken, start)
    lowered, fitted_back = fitted(problem, taken, bits, fix)
    if known is not None and isinstance(lowered, ReducedQUBO):
        known = lowered.fixing.restrict(known[None])[0]
    scale = problem.qcbo.scale if taken is Form.PROBLEM else lowered.scale
    if not _is_decided(lowered):
        chosen.prepare(lowered, given)
    session = Session(scale, seed, limit, on_event, known)
    if reason:
        session.tell(message=f"{chosen.name}: {reason}")
    asked = {"time_limit": limit, "start": start, "form": form, "bits": bits, "fix": fix}
    usual = {"start": "incumbent", "fix": False}
    arguments = {k: value for k, value in asked.items() if value != usual.get(k)} | options
    with session.catching_interrupts() if chosen.traits.interruptible else nullcontext():
        answer = _ask(chosen, lowered, given, session)
    result = read(problem, taken, fitted_back(answer))
    run = Run(problem, chosen.name, seed, session.elapsed, result, reason, answer.note)
    # Energies and bounds of a rounded QUBO are not those of the network.
    told = session.events if bits is None else ()
    run = replace(run, arguments=arguments, events=(*told, run.outcome))
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


def _is_decided(form: Any) -> bool:
    """Whether roof duality left nothing to solve."""
    return isinstance(form, ReducedQUBO) and not form.num_variables


def _ask(solver: Solver, form: Any, options: Any, session: Session) -> Answer:
    """Turn a form into a solver's answer; one that proves nothing may not claim to."""
    if _is_decided(form):
        return Answer(np.zeros((1, 0), dtype=np.int64))
    answer = solver.solve(form, options, session)
    answer = replace(answer, rows=checked_rows(form, answer, solver.name))
    if not solver.traits.exact and (answer.infeasible or answer.bound is not None):
        raise SolverError(
            "a heuristic claims a proof",
            where=f"solver={solver.name!r}",
            rule="only exact solvers give bounds or say infeasible",
            received=f"bound {answer.bound}, infeasible {answer.infeasible}",
            remedy="correct the solver's traits or its answer",
        )
    return answer
