"""Quantiser: real features as the whole numbers that a network takes, the same way for all data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.data import quantise
from isinglearn.errors import DataError, check_count
from isinglearn.problem.encodings import IntArray


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


@dataclass(frozen=True, eq=False)
class Quantiser:
    """Each feature from its range ``[low, high]`` to whole numbers in ``[-2^B, 2^B]``, rounded and clipped.

    Attributes
    ----------
    low, high
        Ends of every feature's range.
    bits
        The ``B``.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    bits: int

    def __post_init__(self) -> None:
        check_count(self.bits, "Quantiser(bits)", 0, 30, DataError)
        for name in ("low", "high"):
            try:
                edge = np.array(getattr(self, name), dtype=np.float64)
            except (TypeError, ValueError):
                edge = np.zeros(0)
            edge.setflags(write=False)
            object.__setattr__(self, name, edge)
        ends = (self.low, self.high)
        flat = self.low.ndim == 1 and self.low.size and self.low.shape == self.high.shape
        if not flat or not np.isfinite(ends).all() or (self.low > self.high).any():
            raise DataError(
                "these are no ranges of features",
                where="Quantiser(low, high)",
                rule="as many finite numbers in each, one per feature, low <= high",
                received=f"{self.low} and {self.high}",
                remedy="Quantiser.of(X, bits) takes them from data",
            )

    @classmethod
    def of(cls, X: NDArray[np.float64], bits: int) -> Quantiser:
        """Turn data (samples, features) into the quantiser of its ranges."""
        return cls(X.min(axis=0), X.max(axis=0), bits)

    def __call__(self, X: ArrayLike) -> IntArray:
        """Turn real features (samples, features) into whole numbers."""
        given = np.asarray(X, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != self.low.size:
            raise DataError(
                "this is not the number of features",
                where="X",
                rule=f"rows of {self.low.size} features, those of the training data",
                received=f"shape {given.shape}",
                remedy="leave other columns out",
            )
        steps = self.steps
        clipped = np.clip(given, self.low, self.high)
        high = self.high * steps.factor
        return quantise(clipped * steps.factor, self.bits, low=steps.start, high=high)

    @property
    def steps(self) -> Steps:
        """What is computed with, one of each for every feature: exports take these numbers along."""
        low, high = self.low, self.high
        # The width of a range must be a float, too: very large numbers are made smaller first.
        large = max(np.abs(low).max(), np.abs(high).max()) > np.finfo(np.float64).max / 4
        factor = np.full(low.shape, 0.25 if large else 1.0)
        start, end = low * factor, high * factor
        return Steps(low, high, factor, start, np.where(end > start, end - start, 1.0))
