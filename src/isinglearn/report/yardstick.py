"""How good a result is: beside a gradient baseline on the same network, and beside what is proved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.baselines import Baseline, straight_through
from isinglearn.errors import IsingLearnError
from isinglearn.lowering.pipeline import INFEASIBLE, Problem
from isinglearn.model import Model
from isinglearn.nn import Hinge
from isinglearn.report.measures import Judge, number
from isinglearn.solvers.auto import choose
from isinglearn.solvers.base import SOLVERS, Status
from isinglearn.solvers.run import Run, solve
from isinglearn.solvers.session import check_seconds
from isinglearn.training.labels import class_targets, labels_for, on_grid

# Seconds for a proof that nobody asked for, where one is foreseen to take no longer.
PATIENCE = 10.0
# Enough steps for small data to settle, few enough for large data not to keep a report waiting.
_STEPS, _BATCH = 1000, 100
# A wide range, and batches well below all data: on small data both decide how far a gradient gets.
_RATES, _SEEDS, _BATCHES = (0.02, 0.1, 0.3), (0, 1, 2), 5
# Samples beyond which a baseline is a study of its own.
_MOST_SAMPLES = 20_000
# Losses no further apart than this are called equal: a gradient's are floats.
_EQUAL = 1e-9
# Targets of regressions are taken in so many steps: practically as they are.
_FINE = 1 << 30
# A gap worth telling even where it is to the trivial bound.
_SMALL = 1e-3


def _baselines(network: Any, X: ArrayLike, y: ArrayLike, loss: str) -> list[Baseline]:
    count = len(np.asarray(X))
    batch = max(1, min(_BATCH, count // _BATCHES))
    epochs = max(1, -(-_STEPS // -(-count // batch)))
    return [
        straight_through(
            network, X, y, loss=loss, epochs=epochs, learning_rate=rate, batch=batch, seed=seed
        )
        for rate in _RATES
        for seed in _SEEDS
    ]


def _described(best: Baseline, loss: float | None) -> dict[str, Any]:
    return {
        "name": "straight-through gradient (STE)",
        "loss": number(loss),
        "runs": len(_RATES) * len(_SEEDS),
        "epochs": best.epochs,
        "learning_rate": best.learning_rate,
        "seed": best.seed,
    }


def baseline_of_problem(problem: Problem) -> tuple[dict[str, Any], Model] | str:
    """Turn a problem into the best of several STE trainings by its own loss, or why there is none."""
    data = problem.data
    if int(data.weights.sum()) > _MOST_SAMPLES:
        return f"none; more than {_MOST_SAMPLES} samples, weights counted"
    # The trainer takes no weights; repeated samples are the same.
    X, y = (np.repeat(part, data.weights, axis=0) for part in (data.X, data.y))
    loss = "hinge" if isinstance(problem.loss, Hinge) else "square"
    try:
        runs = _baselines(problem.network, X, y / data.label_scale, loss)
        scores = problem.scores([problem.vector(one.parameters) for one in runs])
    except IsingLearnError as error:
        return f"none; {error.what}"
    at = int(scores.argmin())
    if scores[at] == INFEASIBLE:
        # Such a network is no rival: what is proved holds inside the box only.
        return "none; the form's box confines predictions, and all that it found leave it"
    loss_found = float(Fraction(int(scores[at]), problem.qcbo.scale))
    return _described(runs[at], loss_found), Model(problem.network, runs[at].parameters)


def baseline_of_training(
    model: Model, judge: Judge, X: ArrayLike, y: ArrayLike, loss: str, *, same_loss: bool
) -> tuple[dict[str, Any], Model] | str:
    """Turn a model and its training data into the best of several STE trainings, or why there is none.

    ``same_loss`` says whether the model minimised what the trainer calls by that name.
    """
    if len(np.asarray(X)) > _MOST_SAMPLES:
        return f"none; more than {_MOST_SAMPLES} samples"
    inputs = np.asarray(X) if model.quantiser is None else model.quantiser(X)
    truth, outputs = judge.truth(y), model.network.out_features
    if judge.rule == "numbers":
        labels = truth
        if model.target_range is not None:
            labels = on_grid(truth, *model.target_range, _FINE) / _FINE
    elif judge.rule == "signs":
        labels = np.asarray(y)
    else:
        targets, _, kind = class_targets(truth, max(outputs, 2))
        labels = labels_for(loss, targets, outputs, kind)
    try:
        runs = _baselines(model.network, inputs, labels, loss)
        best = min(runs, key=lambda one: one.validation_loss)
        twin = replace(Model(model.network, best.parameters), **_faces(model))
    except IsingLearnError as error:
        return f"none; {error.what}"
    return _described(best, best.validation_loss if same_loss else None), twin


def _faces(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in ("quantiser", "classes", "target_range")}


@dataclass(frozen=True)
class Proof:
    """What is proved of all networks of a shape.

    Attributes
    ----------
    bound
        None has less loss than this; ``None`` if nothing is proved.
    tight
        Whether one has exactly that loss: the bound is the optimum.
    by
        Who proved it.
    """

    bound: float | None
    tight: bool
    by: str


def proved(run: Run, seconds: float | None) -> Proof:
    """Turn a run into what is proved: by itself, or by an exact solver that is asked for more.

    It may try for ``seconds``; ``None`` is ``PATIENCE``, and only where a solver foresees that this will do;
    0 is not at all.
    """
    own = Proof(number(run.bound), run.status is Status.OPTIMAL, run.solver)
    own = replace(own, by="no loss is below 0") if run.bound_is_trivial else own
    if not run.gap or seconds == 0:
        return own
    patience = PATIENCE if seconds is None else check_seconds(seconds, "prove_seconds")
    try:
        choice = choose(run.problem, patience)
        solver = SOLVERS[choice.solver]
        # One that cannot tell how long it takes might take all the time for nothing.
        hopeful = seconds is not None or solver.forecast(run.problem) is not None
        if not (solver.traits.exact and hopeful):
            return own
        other = solve(run.problem, choice.solver, time_limit=choice.time_limit)
    except IsingLearnError:
        # A problem that the exact solver refuses is one of which nothing more is known.
        return own
    optimal = other.status is Status.OPTIMAL
    better = other.bound is not None and (run.bound is None or other.bound > run.bound)
    return Proof(number(other.bound), optimal, other.solver) if optimal or better else own


def in_words(loss: float, loss_of_baseline: float | None, proof: Proof) -> str:
    """Turn a loss and what it is measured by into sentences."""
    bound = proof.bound
    if bound is not None and loss <= bound:
        words = "This is the best network of its shape: none has a smaller training loss, which is proved."
    elif bound is not None and proof.tight:
        words = (
            f"The best network of this shape has a training loss of {bound:.4g}, which is proved; this "
            f"one is {_apart(loss, bound)} above it."
        )
    elif bound is not None and (bound > 0 or loss - bound <= _SMALL):
        words = (
            f"It is proved that no network of this shape has a training loss below {bound:.4g}, "
            f"so at most {_apart(loss, bound)} could still be gained."
        )
    else:
        words = "How far it is from the best network of this shape is not known."
    if loss_of_baseline is None:
        return words
    same = "Gradient training of the same network (straight-through, STE)"
    if abs(loss - loss_of_baseline) <= _EQUAL:
        return f"{words} {same} reaches the same loss."
    side = "larger" if loss < loss_of_baseline else "smaller"
    return f"{words} {same} ends at a {side} loss, {loss_of_baseline:.4g}."


def _apart(loss: float, bound: float) -> str:
    """Turn two losses into their difference, in percent too where that says something."""
    text = f"{loss - bound:.4g}"
    return f"{text} ({(loss - bound) / bound:.0%})" if bound > 0 else text


def _on_test_data(own: dict[str, Any], other: dict[str, Any]) -> str:
    """Turn two results into a sentence: less training loss need not mean better predictions."""
    score = "accuracy" if "accuracy" in own else "r2"
    mine, its = own[score], other[score]
    if mine is None or its is None:
        return ""
    if mine == its:
        return " On the test data both predict equally well."
    better = "this network" if mine > its else "the one trained by gradient"
    return f" On the test data {better} predicts better."


def compared(
    own: Model,
    other: tuple[dict[str, Any], Model] | str,
    judge: Judge,
    train: tuple[ArrayLike, ArrayLike],
    test: tuple[ArrayLike, ArrayLike] | None,
    loss: float,
    proof: Proof,
) -> dict[str, Any]:
    """Turn a baseline, or why there is none, and a proof into what a result is measured by."""
    baseline, note = (None, other) if isinstance(other, str) else (other[0], "")
    if baseline is not None and not isinstance(other, str):
        baseline["train"] = judge.result(other[1], *train)
        baseline["test"] = None if test is None else judge.result(other[1], *test)
    bound = proof.bound
    words = in_words(loss, baseline["loss"] if baseline else None, proof)
    if baseline is not None and baseline["test"] is not None and test is not None:
        words += _on_test_data(judge.result(own, *test), baseline["test"])
    return {
        "baseline": baseline,
        "baseline_note": note,
        "bound": bound,
        "bound_by": proof.by if bound is not None else "",
        "tight": proof.tight,
        "optimal": bound is not None and loss <= bound,
        "gap": None if bound is None else number(max(loss - bound, 0.0)),
        "words": words,
    }
