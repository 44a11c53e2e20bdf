"""``train``: a network and data to a trained model, by any strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.data import whole_inputs
from isinglearn.errors import DataError, OptionError, check_choice, check_count
from isinglearn.model import Model
from isinglearn.nn import Parameters, Sequential
from isinglearn.nn.losses import Loss
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.session import check_seconds
from isinglearn.training.choice import choose
from isinglearn.training.chunks import Chunks, is_chunked, rows_of
from isinglearn.training.labels import as_array, kind_of, labels_for, loss_name
from isinglearn.training.loop import Data
from isinglearn.training.plan import Plan, best_restart
from isinglearn.training.strategy import STRATEGIES, Strategy, Task
from isinglearn.training.trained import OnTraining, Trained
from isinglearn.training.weights import whole_weights


def train(
    net: Sequential,
    X: ArrayLike,
    y: ArrayLike,
    *,
    strategy: str = "auto",
    solver: Any = "auto",
    loss: str | Loss | None = None,
    max_spins: int | None = None,
    sample_weight: ArrayLike | None = None,
    start: Model | Parameters | None = None,
    validation: float | tuple[ArrayLike, ArrayLike] | None = None,
    patience: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    restarts: int = 1,
    jobs: int = 1,
    on_event: OnTraining | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: float = 10.0,
    **options: Any,
) -> Trained:
    """Turn a network and data into a trained model.

    Parameters
    ----------
    net
        The network; unset domains follow the paper.
    X, y
        Integer inputs, and labels: class numbers for a network of several outputs, -1 and +1, or numbers. A
        memory-mapped array, or a list of arrays, is read batch by batch by strategies that decompose.
    strategy
        ``"direct"``, ``"lagrangian"``, ``"decomposed"``, ``"admm"``, or ``"auto"``, which picks by size.
    solver
        A solver's name, a dimod sampler, or ``"auto"``.
    loss
        ``"cross_entropy"``, ``"logistic"``, ``"squared_hinge"``; ``"square"`` or ``nn.MSE()``; ``"hinge"`` or
        ``nn.Hinge()``, which only one problem for all samples can express. By default what the labels suggest
        and the strategy can do.
    max_spins
        Largest QUBO; by default 256 for strategies that decompose, and no limit for the others.
    sample_weight
        Numbers >= 0, honoured in whole proportions: exactly where these are small, else to within one part
        in a million of their sum, or, where samples are seen in batches, one in 2000 (or twice the number of
        samples). A sample of weight 0 counts as not given.
    start
        A known network of the same shape. Strategies that move from one to the next begin there, and
        without validation data none returns one of more training loss. A model also brings the scale of its
        outputs, by which ``"cross_entropy"`` and ``"logistic"`` judge it.
    validation
        A part of the data to hold out (a share between 0 and 1), or other data ``(X, y)``: the network of
        least validation loss is kept.
    patience
        End after so many looks at the validation data (one every 25 steps) without a better one.
    time_limit, seed, on_event
        As for ``solve``; the best network so far is returned.
    restarts
        Train with so many seeds, within the same time limit, and return the best; without ``on_event``.
    jobs
        Workers for independent pieces, through joblib: threads here, or whatever
        ``joblib.parallel_config`` says, a Dask cluster for example. The result does not depend on it.
    checkpoint, checkpoint_every
        A file that holds the state, written every so many seconds; a run that finds it goes on from there.
    **options
        The strategy's own; an unknown one raises and names the nearest.
    """
    check_count(seed, "seed", 0)
    if not isinstance(start, Model | Mapping | None):
        raise OptionError(
            "this is no network to start from",
            where="start",
            rule="a model, or arrays by parameter name",
            received=repr(start),
            remedy="pass what isinglearn.train returned",
        )
    if not isinstance(net, Sequential):
        raise OptionError(
            "this is no network",
            where="net",
            rule="an nn.Sequential",
            received=repr(net),
            remedy="build one with nn.Sequential(...)",
        )
    labels = as_array(y)
    inputs = _inputs(X, net, len(labels))
    weights = None
    if sample_weight is not None:
        weights = whole_weights(sample_weight, len(labels))
        inputs, labels, weights = _rows(np.flatnonzero(weights), inputs, labels, weights)
    kind = kind_of(labels, net.out_features)
    reason = ""
    if strategy == "auto":
        strategy, reason = choose(net, inputs, kind, loss)
    chosen = STRATEGIES[check_choice(strategy, STRATEGIES, "strategy")]
    name = loss_name(loss, kind, chosen.losses)
    labels = labels_for(name, labels, net.out_features, kind)
    inputs, labels, weights, held_out = _split(
        inputs, labels, weights, validation, seed, net, name, kind
    )
    plan = Plan(
        chosen.name,
        _read_options(chosen, options, reason),
        Task(
            net,
            inputs,
            labels,
            name,
            weights,
            seed,
            solver,
            None if max_spins is None else check_count(max_spins, "max_spins"),
            start=start.parameters if isinstance(start, Model) else start,
            start_odds=start.odds if isinstance(start, Model) else None,
        ),
        held_out,
        None if patience is None else check_count(patience, "patience"),
        None if time_limit is None else check_seconds(time_limit),
        None if checkpoint is None else Path(checkpoint),
        check_seconds(checkpoint_every, "checkpoint_every"),
        reason,
    )
    if not check_count(jobs, "jobs", -1):
        raise OptionError(
            "somebody has to work",
            where="jobs",
            rule="a number of workers from 1, or -1 for all there are",
            received=0,
            remedy="leave it out for one",
        )
    if check_count(restarts, "restarts") > 1:
        if on_event is not None:
            raise OptionError(
                "several trainings at once tell nothing while they run",
                where="on_event with restarts",
                rule="restarts=1 with on_event",
                received=f"restarts={restarts}",
                remedy="leave one of them out",
            )
        return best_restart(plan, restarts, jobs)
    return plan.run(on_event, jobs)


def _inputs(X: ArrayLike, net: Sequential, count: int) -> NDArray[Any]:
    """Turn inputs into rows of whole numbers; memory-mapped and chunked ones are left where they are."""
    inputs: Any
    if is_chunked(X):
        inputs = Chunks(X)  # type: ignore[arg-type]
    elif isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind in "iub":
        inputs = X
    else:
        inputs = whole_inputs(X, net.input_shape)
    if inputs.shape[1] != net.in_features or len(inputs) != count:
        raise DataError(
            "inputs, labels and the network do not fit each other",
            where="X, y",
            rule=f"{net.in_features} features, one label per row of X",
            received=f"inputs of shape {inputs.shape}, {count} labels",
            remedy="check how they were split",
        )
    return inputs


def _split(
    X: Any,
    y: NDArray[Any],
    weights: IntArray | None,
    validation: float | tuple[ArrayLike, ArrayLike] | None,
    seed: int,
    net: Sequential,
    loss: str,
    kind: Any,
) -> tuple[NDArray[Any], NDArray[Any], IntArray | None, Data | None]:
    """Turn data into that to train on and that to look at."""
    if validation is None:
        return X, y, weights, None
    if isinstance(validation, tuple) and len(validation) == 2:
        others = labels_for(loss, as_array(validation[1]), net.out_features, kind)
        return X, y, weights, (_inputs(validation[0], net, len(others)), others)
    share = validation if isinstance(validation, int | float) else 0.0
    count = round(share * len(X))
    if not 0 < share < 1 or not 0 < count < len(X):
        raise OptionError(
            "this is no part of the data",
            where="validation",
            rule="a share between 0 and 1 that leaves samples on both sides, or (X, y)",
            received=repr(validation),
            remedy="for example validation=0.1",
        )
    sequence = np.random.SeedSequence(seed, spawn_key=(3,))
    order = np.random.default_rng(sequence).permutation(len(X))
    held, kept = np.sort(order[:count]), np.sort(order[count:])
    return *_rows(kept, X, y, weights), (np.asarray(X[held]), y[held])


def _rows(
    chosen: IntArray, X: Any, y: NDArray[Any], weights: IntArray | None
) -> tuple[NDArray[Any], NDArray[Any], IntArray | None]:
    """Turn data into some of it."""
    return rows_of(X, chosen), y[chosen], None if weights is None else weights[chosen]


def _read_options(chosen: type[Strategy], given: dict[str, Any], reason: str) -> Any:
    known = [field.name for field in fields(chosen.Options)]
    why = f", which was chosen since {reason}" if reason else ""
    for name in given:
        check_choice(name, known, f"options of strategy={chosen.name!r}{why}")
    return chosen.Options(**given)
