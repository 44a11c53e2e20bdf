"""Which strategy suits a network and data, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.nn import Hinge, Linear, Sequential, Sign
from isinglearn.nn.losses import Loss
from isinglearn.training.labels import Kind

# Values of units over all distinct samples, and parameters, up to which one problem is solved well.
MOST_VALUES = 4000
MOST_PARAMETERS = 200


def choose(
    net: Sequential, X: NDArray[Any], kind: Kind, loss: str | Loss | None
) -> tuple[str, str]:
    """Turn a task into the name of a strategy and the reason in one sentence."""
    units = sum(m.out_features for m in net.modules if isinstance(m, Linear)) or net.out_features
    blocks = _decomposes(net)
    if loss in ("cross_entropy", "logistic", "squared_hinge"):
        return "decomposed", f"the loss {loss!r} has no exact form"
    if loss == "hinge" or isinstance(loss, Hinge):
        return "direct", "blocks need a loss with curvature, which the hinge has not"
    if not blocks:
        return "direct", "only networks of Linear and Sign can be trained block by block"
    if kind == "classes":
        return "decomposed", "classes are trained by cross entropy, block by block"
    # Few rows are counted exactly, many cannot have fewer distinct ones than matter here.
    distinct = len(np.unique(X, axis=0)) if len(X) <= 10 * MOST_VALUES else len(X)
    weights = sum(m.fan_in * m.out_features for m in net.modules if isinstance(m, Linear))
    size = f"{distinct} distinct samples, {units} units and {weights} weights"
    if distinct * units <= MOST_VALUES and weights <= MOST_PARAMETERS:
        return "direct", f"{size} fit one problem"
    return "decomposed", f"{size} are more than one problem should have"


def _decomposes(net: Sequential) -> bool:
    """Whether the network is Linear, Sign, ..., Linear."""
    kinds = [type(module) for module in net.modules]
    linear, between = kinds[::2], kinds[1::2]
    return all(k is Linear for k in linear) and all(k is Sign for k in between)
