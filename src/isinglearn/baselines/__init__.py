"""Baselines: straight-through gradient (STE) training of the same quantised network, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.baselines.latents import StraightThrough
from isinglearn.errors import OptionError, check_count
from isinglearn.nn import Parameters, Sequential
from isinglearn.training.chain import Chain, check_rows, inputs_of
from isinglearn.training.losses import loss_named

# Of the data, where no validation data is given and something has to be chosen.
_HELD_OUT = 6


@dataclass(frozen=True, eq=False)
class Baseline:
    """A trained network, and how it came about.

    Attributes
    ----------
    network
        Resolved; ``network.forward(parameters, X)`` evaluates it.
    parameters
        Numerators by full name.
    scale
        Output numerators times this are what the loss saw; predictions do not depend on it.
    curve
        Mean training loss of every epoch, taken while training.
    validation_loss, validation_accuracy
        On the validation data, or the training data if none was given.
    learning_rate, window, epochs, seed
        The settings of this run.
    """

    network: Sequential
    parameters: Parameters
    scale: float
    curve: list[float]
    validation_loss: float
    validation_accuracy: float
    learning_rate: float
    window: float
    epochs: int
    seed: int


def straight_through(
    network: Sequential,
    X: ArrayLike,
    y: ArrayLike,
    *,
    loss: str = "cross_entropy",
    epochs: int = 20,
    learning_rate: float = 0.02,
    batch: int = 100,
    window: float = 0.5,
    seed: int = 0,
    validation: tuple[ArrayLike, ArrayLike] | None = None,
) -> Baseline:
    """Turn a network and data into parameters by Adam on latent weights, under a cosine schedule.

    Parameters
    ----------
    network
        Linear, Sign, ..., Linear, with any domains.
    X
        Integer inputs; may be memory-mapped.
    y
        Class numbers for ``"cross_entropy"``, -1 and +1 for ``"logistic"`` and both hinges, numbers for
        ``"square"``.
    loss : {"cross_entropy", "logistic", "hinge", "squared_hinge", "square"}
        What is minimised.
    epochs, learning_rate, batch, seed
        Of the optimiser.
    window
        A sign passes gradients where its sum is below this, in typical sums. In few dimensions it decides
        about everything: wide ones make all units learn the same.
    validation
        Inputs and labels on which the result is judged.
    """
    from threadpoolctl import threadpool_limits

    check_count(epochs, "epochs")
    check_count(batch, "batch")
    check_count(seed, "seed", 0)
    for name, value, usual in (("learning_rate", learning_rate, 0.02), ("window", window, 0.5)):
        if not value > 0:
            raise OptionError(
                "this number is out of its limits",
                where=name,
                rule="a number above 0",
                received=repr(value),
                remedy=f"try {usual}",
            )
    inputs, judged = inputs_of(X), loss_named(loss)
    chain = Chain.of(network, inputs)
    targets = judged.targets(y, chain.last.units)
    check_rows(chain, inputs, targets)
    held_X, held_t = inputs, targets
    if validation is not None:
        held_X, held_t = inputs_of(validation[0]), judged.targets(validation[1], chain.last.units)
        check_rows(chain, held_X, held_t)
    # One thread: the products of a batch are too small to share, and sums come out the same everywhere.
    with threadpool_limits(1, user_api="blas"):
        trainer = StraightThrough(chain, judged, inputs, seed, window)
        curve = trainer.run(inputs, targets, epochs, learning_rate, batch)
        parameters = trainer.parameters()
        scale = trainer.scale
        outputs = chain.forward(parameters, held_X) * scale
    return Baseline(
        chain.network,
        parameters,
        scale,
        curve,
        float(judged.values(outputs, held_t).mean(dtype=np.float64)),
        float(judged.correct(outputs, held_t).mean()),
        learning_rate,
        window,
        epochs,
        seed,
    )


def tuned_straight_through(
    network: Sequential,
    X: ArrayLike,
    y: ArrayLike,
    *,
    learning_rates: tuple[float, ...] = (0.005, 0.01, 0.02, 0.04),
    windows: tuple[float, ...] = (0.25, 0.5, 1.0),
    epochs: tuple[int, ...] = (20,),
    seeds: int = 3,
    seed: int = 0,
    loss: str = "cross_entropy",
    batch: int = 100,
    validation: tuple[ArrayLike, ArrayLike] | None = None,
) -> Baseline:
    """Turn a network and data into its best baseline: settings by validation, then the best of the seeds.

    Without validation data every sixth sample is held out while the settings are chosen; the seeds are
    then trained on everything, and the best is the one of least loss on the validation data, or on the
    training data if none was given.
    """
    check_count(seeds, "seeds")
    inputs, labels = inputs_of(X), np.asarray(y)
    options: dict[str, Any] = {"loss": loss, "batch": batch}
    fit, held = (inputs, labels), validation
    if validation is None and len(inputs) >= _HELD_OUT:
        out = np.arange(len(inputs)) % _HELD_OUT == 0
        fit, held = (inputs[~out], labels[~out]), (inputs[out], labels[out])
    settings: list[dict[str, Any]] = [
        {"learning_rate": rate, "window": window, "epochs": count}
        for rate, window, count in product(learning_rates, windows, epochs)
    ]
    chosen = settings[0]
    if len(settings) > 1:
        tried = [
            straight_through(network, fit[0], fit[1], seed=seed, validation=held, **one, **options)
            for one in settings
        ]
        ranks = [(-one.validation_accuracy, one.validation_loss) for one in tried]
        chosen = settings[ranks.index(min(ranks))]
    runs = [
        straight_through(
            network, inputs, labels, seed=seed + one, validation=validation, **chosen, **options
        )
        for one in range(seeds)
    ]
    return min(runs, key=lambda one: one.validation_loss)
