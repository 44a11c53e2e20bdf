"""Quantiser: real features as the whole numbers that a network takes, the same way for all data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.data import quantise
from isinglearn.errors import DataError, check_count
from isinglearn.problem.encodings import IntArray


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
        # The width of a range must be a float, too: very large numbers are made smaller first.
        large = (
            float(max(np.abs(self.low).max(), np.abs(self.high).max())) > np.finfo(float).max / 4
        )
        factor = 0.25 if large else 1.0
        clipped = np.clip(given, self.low, self.high)
        return quantise(clipped * factor, self.bits, low=self.low * factor, high=self.high * factor)
