"""One training as an estimator needs it: any strategy, weights, a network to start from, what was proved."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.decode import solution
from isinglearn.errors import OptionError, check_choice
from isinglearn.estimators.weights import repeated, whole
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn import Parameters, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.base import Status
from isinglearn.solvers.session import Session, check_seconds
from isinglearn.training import STRATEGIES, Decomposition, Direct, Trained
from isinglearn.training.labels import Kind, labels_for, loss_name
from isinglearn.training.loop import Loop, OnTraining
from isinglearn.training.losses import loss_named
from isinglearn.training.strategy import Strategy, Task

# Whole numbers that stand for weights add up to at most this, for strategies that take weights.
_FINE = 1 << 20
# Rows that samples of blocks are repeated to at most, if that is more than so many times their number.
_ROWS, _TIMES = 2000, 2


@dataclass(frozen=True, eq=False)
class Data:
    """Distinct integer samples with positive weights, and labels as ``kind`` says."""

    X: IntArray
    y: NDArray[Any]
    weights: NDArray[np.float64]
    kind: Kind
    label_scale: int = 1


@dataclass(frozen=True)
class Settings:
    """What an estimator's parameters say about the training."""

    strategy: str
    solver: Any
    loss: Any
    formulation: str
    max_iter: int | None
    time_limit: float | None
    seed: int


@dataclass(frozen=True, eq=False)
class Fit:
    """A trained network, the scale of its outputs that the loss saw, and what is proved of it."""

    trained: Trained
    scale: float
    spins: int
    verdict: str
    gap: float | None


def fit(
    network: Sequential,
    data: Data,
    settings: Settings,
    start: Fit | None = None,
    on_event: OnTraining | None = None,
) -> Fit:
    """Turn a network and weighted samples into a trained one."""
    chosen = STRATEGIES[check_choice(settings.strategy, STRATEGIES, "strategy")]
    loss = loss_name(settings.loss, data.kind, chosen.losses)
    X, y, weights = _weighted(chosen, data)
    y = labels_for(loss, y, network.out_features, data.kind)
    seconds = None if settings.time_limit is None else check_seconds(settings.time_limit)
    clock = Session(1, settings.seed, seconds)
    task = Task(
        network,
        X,
        y,
        loss,
        weights,
        settings.seed,
        settings.solver,
        stopped=lambda: clock.stopped,
        left=lambda: clock.left,
    )
    strategy = chosen(task, _options(chosen, settings, data))
    if start is not None:
        _take_up(strategy, start)
    trained = Loop(strategy, None, None, clock, on_event).run("")
    trained = _best(strategy, trained, [start.trained.parameters] if start is not None else [])
    scale = 1 / trained.network.output_scale
    if isinstance(strategy, Decomposition):
        scale = float(strategy.engine.scale)
    verdict, gap = _verdict(strategy, trained)
    return Fit(trained, scale, _spins(strategy, trained), verdict, gap)


def _weighted(
    chosen: type[Strategy], data: Data
) -> tuple[IntArray, NDArray[Any], NDArray[Any] | None]:
    """Samples, labels and weights; for blocks, which take none, samples that come several times."""
    if issubclass(chosen, Decomposition):
        counts = whole(data.weights, max(_ROWS, _TIMES * len(data.X)))
        X, y = repeated(counts, data.X, data.y)
        return X, y, None
    counts = whole(data.weights, _FINE)
    some = counts > 0
    return data.X[some], data.y[some], counts[some]


def _options(chosen: type[Strategy], settings: Settings, data: Data) -> Any:
    """The strategy's options, of those that it knows; what it does not know must not be asked of it."""
    known = {field.name for field in fields(chosen.Options)}
    if "formulation" not in known and settings.formulation != "compact":
        raise OptionError(
            "this strategy has one formulation only",
            where=f"formulation with strategy={chosen.name!r}",
            rule="'compact'",
            received=repr(settings.formulation),
            remedy="use strategy='direct'",
        )
    offered = {
        "formulation": settings.formulation,
        "label_scale": data.label_scale,
        "steps": settings.max_iter,
    }
    asked = {name: value for name, value in offered.items() if value is not None}
    return chosen.Options(**{name: value for name, value in asked.items() if name in known})


def _take_up(strategy: Strategy, start: Fit) -> None:
    """Begin with a known network, where the strategy can."""
    if isinstance(strategy, Decomposition):
        engine = strategy.engine
        engine.parameters = engine.best = engine.chain.check(start.trained.parameters)
        engine.scale = start.scale


def _best(strategy: Strategy, trained: Trained, known: list[Parameters]) -> Trained:
    """The new network, or a known one that has less loss on the new data; with the loss by weights."""
    tried = [(_loss(strategy, one), one) for one in (trained.parameters, *known)]
    loss, parameters = min(tried, key=lambda pair: pair[0])
    return replace(trained, parameters=parameters, loss=loss)


def _loss(strategy: Strategy, parameters: Parameters) -> float:
    """Training loss of a network, samples by their weights."""
    task = strategy.task
    problem = getattr(strategy, "problem", None)
    if isinstance(problem, Problem):
        return float(solution(problem, problem.vector(parameters)).loss)
    if task.weights is None:
        return strategy.evaluate(task.X, task.y, parameters)[0]
    judged = loss_named(task.loss)
    outputs = strategy.network.forward(parameters, task.X) / strategy.network.output_scale
    each = judged.values(outputs, judged.targets(task.y, outputs.shape[1]))
    return float(np.average(each, weights=task.weights))


def _spins(strategy: Strategy, trained: Trained) -> int:
    """The largest QUBO; of a problem that was solved in another form, the one that it stands for."""
    if trained.max_spins or not isinstance(strategy, Direct):
        return trained.max_spins
    return int(strategy.problem.qubo.num_variables)


def _verdict(strategy: Strategy, trained: Trained) -> tuple[str, float | None]:
    """What is proved of a network, in words, and how much better another could be at most."""
    found = (
        f"training loss ({trained.loss_name}) {trained.loss:.6g}, recomputed by the forward pass"
    )
    if not isinstance(strategy, Direct) or strategy.run is None:
        return f"nothing is proved of the optimum; {found}", None
    run = strategy.run
    faults = "" if run.verdict.consistent else "; violated: " + ", ".join(run.verdict.violations)
    if run.status is Status.OPTIMAL:
        how = f"proved optimal by {run.solver}: no network of this shape has less"
        return f"{how} {found}{faults}", 0.0
    if run.bound is None:
        return f"nothing is proved of the optimum ({run.solver}); {found}{faults}", None
    # Not the run's own gap: a network from before can be better than what it found.
    gap = max(trained.loss - float(run.bound), 0.0)
    return f"at most {gap:.6g} above the optimum, by {run.solver}; {found}{faults}", gap
