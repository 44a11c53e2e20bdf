"""Temperatures, derived from what flips cost: hot enough to move, cold enough to freeze."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import OptionError
from isinglearn.problem.encodings import IntArray

Temperatures = NDArray[np.float32]
# At the hottest a typical flip costs this many temperatures, at the coldest the cheapest one does.
_HOT, _COLD = 1.0, 4.0
# A random parameter of a random network costs far more than what the walk meets later.
_HOT_WALK = 5.0
_LEAST = 1e-30


def range_of(means: NDArray[np.float64], leasts: IntArray) -> tuple[float, float]:
    """Turn costs of flips in random states, and the least ones after descent, into (hottest, coldest)."""
    hot = float(np.mean(means)) / _HOT
    positive = leasts[leasts > 0]
    cold = float(np.median(positive)) / _COLD if len(positive) else hot or 1.0
    return max(hot, cold), cold


def range_of_walk(mean: float, least: float) -> tuple[float, float]:
    """Turn the mean and the least cost along a walk on parameters into (hottest, coldest)."""
    cold = least / _COLD if mean else 1.0
    return max(mean / _HOT_WALK, cold), cold


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
    # Not below what 32 bits can tell from 0.
    return np.maximum(np.geomspace(hot, cold, sweeps), _LEAST).astype(np.float32)
