"""Labels: what the user gives, and what each loss wants."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import DataError, OptionError, check_choice
from isinglearn.nn import MSE, Hinge
from isinglearn.nn.losses import Loss
from isinglearn.problem.encodings import IntArray
from isinglearn.training.losses import LOSSES

Kind = Literal["classes", "signs", "numbers"]
# Losses whose outputs, by a scale that is learned with them, are logarithms of odds.
ODDS = ("cross_entropy", "logistic")
# What a strategy that can minimise anything takes where no loss is named.
DEFAULTS: dict[Kind, str] = {"classes": "cross_entropy", "signs": "logistic", "numbers": "square"}


def kind_of(y: NDArray[Any], outputs: int) -> Kind:
    """Turn labels into what they are: class numbers, -1 and +1, or numbers."""
    values = np.unique(y)
    flat = y.ndim == 1 or y.shape[1] == 1
    if outputs > 1 and flat:
        whole = np.issubdtype(y.dtype, np.number) and np.array_equal(values, np.rint(values))
        if not whole or values[0] < 0 or values[-1] >= outputs:
            raise DataError(
                "these are no classes of the network",
                where="y",
                rule=f"whole numbers from 0 to {outputs - 1}, one for each output, or {outputs} columns",
                received=values[:5].tolist(),
                remedy="number the classes, or change the network's last layer",
            )
        return "classes"
    return "signs" if np.isin(values, (-1, 1)).all() else "numbers"


def loss_name(loss: str | Loss | None, kind: Kind, allowed: tuple[str, ...]) -> str:
    """Turn what the user named (or nothing) into the name of a loss that a strategy can minimise."""
    if loss is None:
        return DEFAULTS[kind] if DEFAULTS[kind] in allowed else "square"
    name = loss
    for known, same in ((MSE, "square"), (Hinge, "hinge")):
        name = same if isinstance(loss, known) else name
    if not isinstance(name, str):
        raise OptionError(
            "this is no loss",
            where="loss",
            rule="nn.MSE(), nn.Hinge() or one of " + ", ".join(map(repr, LOSSES)),
            received=repr(loss),
            remedy="leave it out for the usual one",
        )
    check_choice(name, LOSSES, "loss")
    return check_choice(name, allowed, "loss of this strategy")


def labels_for(loss: str, y: NDArray[Any], outputs: int, kind: Kind) -> NDArray[Any]:
    """Turn labels into those of a loss: classes become one column of -1 and +1 for each where needed."""
    if kind == "classes" and loss != "cross_entropy":
        return np.where(np.ravel(y)[:, None] == np.arange(outputs), 1, -1)
    return y


def class_targets(number: IntArray, count: int) -> tuple[IntArray, int, Kind]:
    """Turn numbers of ``count`` classes into labels, how many outputs they need, and what they are."""
    return (2 * number - 1, 1, "signs") if count == 2 else (number, count, "classes")


def on_grid(y: NDArray[np.float64], low: float, high: float, steps: int) -> IntArray:
    """Turn numbers in ``[low, high]`` into multiples of ``1 / steps`` in [-1, 1], as whole numbers."""
    # Halved first: the difference of two floats need not be one.
    middle, radius = low / 2 + high / 2, high / 2 - low / 2
    unit = (y - middle) / (radius or 1.0)
    return np.rint(np.clip(unit, -1, 1) * steps).astype(np.int64)


def as_array(y: ArrayLike) -> NDArray[Any]:
    """Turn labels into an array of one or two dimensions, or raise."""
    array = np.asarray(y)
    if array.ndim not in (1, 2) or not array.size or array.dtype.kind not in "iufb":
        raise DataError(
            "these are no labels",
            where="y",
            rule="numbers, one or more for each sample",
            received=f"{array.dtype} of shape {array.shape}",
            remedy="number the classes",
        )
    return array
