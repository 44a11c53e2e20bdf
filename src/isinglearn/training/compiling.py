"""Compiling a task's samples, for strategies whose QUBOs come from the compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import OptionError, check_choice
from isinglearn.lowering.pipeline import Problem, compile
from isinglearn.nn import Loss, Sequential
from isinglearn.training.direct import LOSSES
from isinglearn.training.strategy import Task

# No option is as large as this.
_MOST = 1e9


def compiled(net: Sequential, loss: str, X: ArrayLike, y: ArrayLike, **options: Any) -> Problem:
    """Turn samples into a problem; the loss, by its name, must be one that a QUBO can express."""
    return compile(net, X, y, loss_of(loss), **options)


def loss_of(name: str) -> Loss:
    """Turn a loss's name into what is compiled."""
    return LOSSES[check_choice(name, LOSSES, "loss")]()


def all_rows(task: Task) -> NDArray[Any]:
    """Turn a task's inputs, which may come in chunks, into one array."""
    X = task.X
    return X if isinstance(X, np.ndarray) else np.asarray(X[np.arange(len(X))])


def check_number(value: object, where: str, least: float) -> None:
    """Raise if a value is no number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < _MOST:
        raise OptionError(
            "this number is out of its limits",
            where=where,
            rule=f"a number from {least:g} to below {_MOST:g}",
            received=repr(value),
            remedy="leave it out for the default",
        )
