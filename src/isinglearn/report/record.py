"""A run or a training to a record: plain JSON values, all that a report is drawn from.

Samples are not kept, only their number and a fingerprint, and of networks of two features what they
predict on a grid.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.data import Dataset
from isinglearn.errors import DataError
from isinglearn.lowering.pipeline import Problem
from isinglearn.model import Model
from isinglearn.nn import Linear, Sequential
from isinglearn.report.measures import (
    Judge,
    data_record,
    network_record,
    number,
    regions_record,
)
from isinglearn.report.progress import (
    curve_of_events,
    curves_of_training,
    reads_record,
    solver_record,
)
from isinglearn.report.repeat import calls_of_run, calls_of_training, repeat_record
from isinglearn.report.spins import problem_record
from isinglearn.report.stored import FORMAT, VERSION, Record, load_record, save_record
from isinglearn.report.yardstick import (
    Proof,
    baseline_of_problem,
    baseline_of_training,
    compared,
    proved,
)
from isinglearn.solvers.base import Status
from isinglearn.solvers.run import Run
from isinglearn.training.trained import Trained

__all__ = ["Record", "load_record", "record_of_run", "record_of_training", "save_record"]


# What ``report`` of a run or a training takes besides data and names.
CHOICES = ("command", "yardstick", "prove_seconds", "show_data")


def record_of_run(
    run: Run,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    *,
    title: str = "",
    feature_names: list[str] | None = None,
    command: str = "",
    yardstick: bool = True,
    prove_seconds: float | None = None,
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
    command
        How to repeat it; by default the calls.
    yardstick
        Train the gradient baseline as well.
    prove_seconds
        How long an exact solver may try to prove more than the run did; 0 for no such try. By default some
        seconds at most, and only where a solver foresees that it will do.
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
    test = _test_data(X_test, y_test)
    _check_names(feature_names, X)
    loss_name = type(problem.loss).__name__
    record: Record = {
        "format": FORMAT,
        "version": VERSION,
        "kind": "run",
        "title": title or _title(problem.network, run.solver),
        "data": data_record(judge, X, y, feature_names),
        "network": network_record(problem.network, parameters),
        **problem_record(problem),
        "solver": solver_record(run),
        "progress": {"curve": curve_of_events(run.events), "reads": reads_record(run)},
        "result": None,
        "regions": None,
        "yardstick": None,
        "repeat": repeat_record(run.seed, command or calls_of_run(run)),
    }
    if parameters is None:
        none = run.status is Status.INFEASIBLE
        why = "it is proved that none fits the form" if none else run.note or "the solver gave none"
        record["verdict"] = _verdict(f"No network was found: {why}.")
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
    other = baseline_of_problem(problem) if yardstick else "not asked for"
    record["yardstick"] = compared(
        shape, other, judge, (X, y), test, loss, proved(run, prove_seconds)
    )
    text = record["yardstick"]["words"]
    if problem.box is not None:
        text += (
            " Networks whose predictions leave the range that the form can express do not count."
        )
    record["verdict"] = _verdict(text, run.verdict.consistent, run.verdict.violations)
    return record


def record_of_training(
    trained: Trained,
    X: ArrayLike,
    y: ArrayLike,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    *,
    title: str = "",
    feature_names: list[str] | None = None,
    command: str = "",
    yardstick: bool = True,
    prove_seconds: float | None = None,
    show_data: bool = False,
) -> Record:
    """Turn a training into its record.

    Parameters
    ----------
    trained
        What ``isinglearn.train`` returned, or an estimator's ``model_``.
    X, y
        The data it was trained on, as ``trained`` takes it: real features where it has a quantiser.
    X_test, y_test
        Data of the same kind that was not trained on.
    title, feature_names
        For readers; names are those of the model by default.
    command
        How to repeat it; by default the calls.
    yardstick, prove_seconds, show_data
        As for :func:`record_of_run`; where the training was not one problem nothing more can be proved.
    """
    judge = Judge.of(trained, y)
    test = _test_data(X_test, y_test)
    _check_names(feature_names, X)
    run, names = trained.run, feature_names or list(trained.features or ()) or None
    # Every loss of a training is at least 0.
    proof = Proof(0.0, trained.loss <= 0, "no loss is below 0")
    if run is not None:
        proof = proved(run, prove_seconds)
    other: tuple[dict[str, Any], Model] | str = "not asked for"
    if yardstick:
        # The baseline is trained without weights, so that its loss is another one where there are such.
        other = baseline_of_training(
            trained, judge, X, y, trained.loss_name, same_loss=not trained.weighted
        )
    measured = compared(trained, other, judge, (X, y), test, trained.loss, proof)
    compiled = problem_record(None if run is None else run.problem)
    if run is None:
        compiled["spins"] = {"largest": trained.max_spins, "qubos": trained.qubos}
    # What happened within the one step of one problem says more than the step.
    within = (
        {} if run is None else {"curve": curve_of_events(run.events), "reads": reads_record(run)}
    )
    solver = {"name": trained.solver} if run is None else solver_record(run)
    reasons = (trained.reason, "" if run is None else run.reason)
    broken = () if run is None else run.verdict.violations
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "training",
        "title": title or _title(trained.network, trained.strategy),
        "data": data_record(judge, X, y, names),
        "network": network_record(trained.network, trained.parameters),
        **compiled,
        "solver": {
            **solver,
            "strategy": trained.strategy,
            "reason": "; ".join(filter(None, reasons)),
            "steps": trained.steps,
            "qubos": trained.qubos,
            "largest": trained.max_spins,
            "seconds": trained.seconds,
            "finished": trained.finished,
        },
        "progress": {**curves_of_training(trained), **within},
        "result": {
            "loss_name": trained.loss_name,
            "loss": number(trained.loss),
            "train": judge.result(trained, X, y),
            "test": None if test is None else judge.result(trained, *test),
        },
        "regions": regions_record(trained, judge, X, y, show_data=show_data),
        "yardstick": measured,
        "verdict": _verdict(
            measured["words"], None if run is None else run.verdict.consistent, broken
        ),
        "repeat": repeat_record(trained.seed, command or calls_of_training(trained)),
    }


def _test_data(X: ArrayLike | None, y: ArrayLike | None) -> tuple[ArrayLike, ArrayLike] | None:
    """Inputs with their labels, or neither."""
    if X is None and y is None:
        return None
    if X is None or y is None:
        missing, given = ("X_test", "y_test") if X is None else ("y_test", "X_test")
        raise DataError(
            "test data needs inputs and labels",
            where=missing,
            rule="X_test and y_test, or neither",
            received=f"{given} alone",
            remedy=f"pass {missing} as well, or leave {given} out",
        )
    return X, y


def _check_names(names: list[str] | None, X: ArrayLike) -> None:
    features = math.prod(np.shape(X)[1:])
    if names is not None and len(names) != features:
        raise DataError(
            "the names do not fit the features",
            where="feature_names",
            rule=f"{features} names, one for each feature",
            received=f"{len(names)} names",
            remedy="name every feature once",
        )


def _title(network: Sequential, how: str) -> str:
    """Turn a network into its widths, inputs first, and how it was trained."""
    widths = [network.in_features]
    widths += [module.out_features for module in network.modules if isinstance(module, Linear)]
    return f"A {'-'.join(map(str, widths))} network trained with {how}"


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
