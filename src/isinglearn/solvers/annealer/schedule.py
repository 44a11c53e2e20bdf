"""Temperatures, derived from the problem: hot enough to move everything, cold enough to freeze it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import OptionError
from isinglearn.problem.encodings import IntArray

Temperatures = NDArray[np.float32]
# At the hottest a typical proposal costs this many temperatures, at the coldest the cheapest one does.
_HOT, _COLD = 2.0, 4.0


def range_of(reach: IntArray, steps: IntArray) -> tuple[float, float]:
    """Turn what each spin can change at most, and the distinct coefficients, into (hottest, coldest)."""
    moving = reach[reach > 0]
    if not len(moving):
        return 1.0, 1.0
    # Costs are differences of sums: a typical one is far below the largest.
    hot = float(np.median(moving)) / _HOT
    cold = float(steps[steps > 0].min(initial=int(moving.min()))) / _COLD
    return max(hot, cold), cold


def geometric(hot: float, cold: float, sweeps: int) -> Temperatures:
    """Temperatures from hot to cold in equal ratios."""
    if not (math.isfinite(hot) and math.isfinite(cold) and hot >= cold > 0):
        raise OptionError(
            "these are no temperatures to cool between",
            where="hot, cold",
            rule="finite numbers with hot >= cold > 0, in units of the energy",
            received=f"hot {hot}, cold {cold}",
            remedy="leave them out: they are derived from the problem",
        )
    return np.geomspace(hot, cold, sweeps).astype(np.float32)
