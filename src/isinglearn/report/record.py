"""A run or a training to a record: plain JSON values, all that a report is drawn from.

Samples are not kept, only their number and a fingerprint, and of networks of two features what they
predict on a grid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import ArrayLike

from isinglearn.data import Dataset
from isinglearn.lowering.pipeline import Problem
from isinglearn.model import Model
from isinglearn.report.measures import (
    Judge,
    data_record,
    network_record,
    number,
    regions_record,
)
from isinglearn.report.progress import curve_of_events, curves_of_training, reads_record
from isinglearn.report.repeat import calls_of_run, calls_of_training, repeat_record
from isinglearn.report.spins import problem_record
from isinglearn.report.stored import FORMAT, VERSION, Record, load_record, save_record
from isinglearn.report.yardstick import (
    baseline_of_problem,
    baseline_of_training,
    compared,
    proved,
)
from isinglearn.solvers.base import Status
from isinglearn.solvers.run import Run
from isinglearn.solvers.session import Event
from isinglearn.training.loop import Trained

__all__ = ["Record", "load_record", "record_of_run", "record_of_training", "save_record"]


def record_of_run(
    run: Run,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    *,
    title: str = "",
    events: Iterable[Event] = (),
    feature_names: list[str] | None = None,
    command: str = "",
    yardstick: bool = True,
    prove_seconds: float = 0.0,
    show_data: bool = False,
) -> Record:
    """Turn a run into its record.

    Parameters
    ----------
    run
        What ``isinglearn.solve`` returned, with a network or without.
    X_test, y_test
        Data of the same kind that was not trained on.
    title, feature_names
        For readers.
    events
        What ``on_event`` was given, for the curve over time.
    command
        How to repeat it; by default the calls.
    yardstick
        Train the gradient baseline as well.
    prove_seconds
        How long an exact solver may try to prove more than the run did.
    show_data
        Count the samples of two features in coarse cells, to be drawn over the regions.
    """
    problem = run.problem
    found = run.status in (Status.OPTIMAL, Status.FEASIBLE)
    parameters = run.best.parameters if found else None
    X, y = problem.data.X, problem.data.y / problem.data.label_scale
    # Any network tells how labels are to be read.
    shape = Model(problem.network, parameters or problem.parameters(_smallest(problem)))
    judge = Judge.of(shape, y)
    test = None if X_test is None or y_test is None else (X_test, y_test)
    loss_name = type(problem.loss).__name__
    record: Record = {
        "format": FORMAT,
        "version": VERSION,
        "kind": "run",
        "title": title or f"{problem.network} by {run.solver}",
        "data": data_record(judge, X, y, feature_names),
        "network": network_record(problem.network, parameters),
        **problem_record(problem),
        "solver": {
            "name": run.solver,
            "reason": run.reason,
            "note": run.note,
            "status": run.status.value,
            "seconds": run.seconds,
        },
        "progress": {"curve": curve_of_events(events), "reads": reads_record(run)},
        "result": None,
        "regions": None,
        "yardstick": None,
        "repeat": repeat_record(run.seed, command or calls_of_run(run)),
    }
    if parameters is None:
        why = f" {run.note}" if run.note else ""
        record["verdict"] = _verdict(f"No network was found ({run.status.value}).{why}")
        return record
    loss = float(run.best.loss)
    record["result"] = {
        "loss_name": loss_name,
        "loss": loss,
        "loss_fraction": str(run.best.loss),
        "train": judge.result(shape, X, y),
        "test": None
        if test is None
        else judge.result(shape, *test) | {"loss": _loss(problem, shape, *test)},
    }
    record["regions"] = regions_record(shape, judge, X, y, show_data=show_data)
    bound, by = proved(run, prove_seconds)
    other = baseline_of_problem(problem) if yardstick else "not asked for"
    record["yardstick"] = compared(shape, other, judge, (X, y), test, loss, bound, by)
    record["verdict"] = _verdict(
        record["yardstick"]["words"], run.verdict.consistent, run.verdict.violations
    )
    return record


def record_of_training(
    trained: Trained,
    X: ArrayLike,
    y: ArrayLike,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    model: Model | None = None,
    problem: Problem | None = None,
    title: str = "",
    feature_names: list[str] | None = None,
    verdict: str = "",
    gap: float | None = None,
    solver: str = "",
    seed: int | None = None,
    command: str = "",
    yardstick: bool = True,
    show_data: bool = False,
) -> Record:
    """Turn a training into its record.

    Parameters
    ----------
    trained
        What ``isinglearn.train`` returned.
    X, y
        The data it was trained on, as ``model`` takes it.
    X_test, y_test
        Data of the same kind that was not trained on.
    model
        The model with its quantiser and classes, where there are such; by default ``trained``.
    problem
        What was compiled, where it was one problem: its spins and proofs are then part of the record.
    title, feature_names
        For readers.
    verdict, gap
        What is known of the optimum, in words, and how much better another network could be at most.
    solver, seed, command
        How it was asked for.
    yardstick, show_data
        As for :func:`record_of_run`.
    """
    shape: Model = trained if model is None else model
    judge = Judge.of(shape, y)
    test = None if X_test is None or y_test is None else (X_test, y_test)
    # Every loss of a training is at least 0.
    bound, by = (
        (0.0, "no loss is below 0") if gap is None else (trained.loss - gap, "this training")
    )
    other: tuple[dict[str, Any], Model] | str = "not asked for"
    if yardstick:
        # One problem has the hinge of ``nn``, trainers by derivatives have its square.
        same = not (trained.strategy == "direct" and trained.loss_name == "hinge")
        other = baseline_of_training(shape, judge, X, y, trained.loss_name, same_loss=same)
    measured = compared(shape, other, judge, (X, y), test, trained.loss, bound, by)
    compiled = problem_record(problem) if problem is not None else problem_record(None)
    if problem is None:
        compiled["spins"] = {"largest": trained.max_spins, "qubos": trained.qubos}
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "training",
        "title": title or f"{trained.network}, {trained.strategy}",
        "data": data_record(judge, X, y, feature_names),
        "network": network_record(trained.network, trained.parameters),
        **compiled,
        "solver": {
            "name": solver,
            "strategy": trained.strategy,
            "reason": trained.reason,
            "steps": trained.steps,
            "qubos": trained.qubos,
            "largest": trained.max_spins,
            "seconds": trained.seconds,
            "finished": trained.finished,
        },
        "progress": curves_of_training(trained),
        "result": {
            "loss_name": trained.loss_name,
            "loss": number(trained.loss),
            "train": judge.result(shape, X, y),
            "test": None if test is None else judge.result(shape, *test),
        },
        "regions": regions_record(shape, judge, X, y, show_data=show_data),
        "yardstick": measured,
        "verdict": _verdict(measured["words"])
        # A loss of 0 is the least there is, also where the training proved nothing.
        | {"told": "" if measured["optimal"] and gap is None else _sentence(verdict)},
        "repeat": repeat_record(seed, command or calls_of_training(trained, solver, seed)),
    }


def _smallest(problem: Problem) -> list[int]:
    return [domain[0] for domain in problem.free_domains]


def _loss(problem: Problem, model: Model, X: ArrayLike, y: ArrayLike) -> float:
    """The problem's loss on other data, unweighted."""
    network, scale = problem.network, problem.data.label_scale
    data = Dataset.of(X, y, label_scale=scale, shape=network.input_shape)
    outputs = network.forward(model.parameters, data.X)
    total = int(problem.loss.evaluate(data, outputs, network.output_scale))
    return total / problem.loss.scale(data, network.output_scale)


def _verdict(
    text: str, consistent: bool | None = None, violations: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "text": text,
        "consistent": consistent,
        # A broken read of a large problem breaks thousands; the first ones say which kind.
        "violations": list(violations[:20]),
        "violations_count": len(violations),
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "." if text else ""
