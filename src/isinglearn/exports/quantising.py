"""What a quantiser computes with, as plain numbers that a graph or a torch module takes along."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isinglearn.model.quantiser import Quantiser


class Steps(NamedTuple):
    """The constants of ``rint((2 clip((factor clip(x, low, high) - start) / span, 0, 1) - 1) 2^B)``.

    Every operation of it rounds to float64, as in ``Quantiser`` and ``isinglearn.quantise``; in this order
    on these numbers the results are the same, half-way points and all.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    factor: NDArray[np.float64]
    start: NDArray[np.float64]
    span: NDArray[np.float64]


def steps_of(quantiser: Quantiser) -> Steps:
    """Turn a quantiser into its constants, one of each for every feature."""
    low, high = quantiser.low, quantiser.high
    # The width of a range must be a float, too: very large numbers are made smaller first.
    large = max(np.abs(low).max(), np.abs(high).max()) > np.finfo(np.float64).max / 4
    factor = np.full(low.shape, 0.25 if large else 1.0)
    start, end = low * factor, high * factor
    span = np.where(end > start, end - start, 1.0)
    return Steps(low, high, factor, start, span)
