"""Weights of samples: any numbers to whole ones in the same proportions."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import DataError
from isinglearn.problem.encodings import IntArray

# Whole numbers that stand for weights add up to at most this, or to this many times their number.
_FINE, _TIMES = 1 << 20, 16
# A weight of less than this part of the largest counts as that much, which is nothing to any sum.
_LEAST = 1e-12
# Ratios of weights with larger denominators than this count as irrational.
_DENOMINATOR = 1000
_EXACT = 1e-12


def whole_weights(given: ArrayLike, count: int) -> IntArray:
    """Turn weights of ``count`` samples into whole numbers in the same proportions, or raise.

    To within one part in a million of their sum, where they have no small common measure.
    """
    weights = np.asarray(given)
    fits = weights.shape == (count,) and weights.dtype.kind in "iufb"
    fits = fits and bool(np.isfinite(weights).all())
    if not fits or (weights < 0).any() or not (weights > 0).any():
        received = f"smallest {weights.min()}, largest {weights.max()}" if fits else repr(given)
        raise DataError(
            "the sample weights do not fit",
            where="sample_weight",
            rule=f"{count} finite numbers >= 0, at least one of them positive",
            received=received,
            remedy="a weight of 0 leaves a sample out",
        )
    numbers = np.zeros(count, dtype=np.int64)
    some = weights > 0
    # In units of the largest: sums of very large ones are no numbers, nor ratios to very small ones.
    shares = weights[some] / weights.max()
    numbers[some] = whole(np.maximum(shares, _LEAST), max(_FINE, _TIMES * count))
    return numbers


def whole(weights: NDArray[np.float64], most: int) -> IntArray:
    """Turn positive weights into whole numbers in the same proportions, of a sum of at most ``most``.

    Exactly, where that is possible; else by the nearest ones of sum ``most`` (largest remainders), where a
    sample of very little weight can come out as 0.
    """
    values, which = np.unique(weights, return_inverse=True)
    exact = _exact(values, most)
    if exact is not None and int(exact[which].sum()) <= most:
        return exact[which]
    shares = weights / weights.sum() * most
    counts = np.floor(shares).astype(np.int64)
    missing = most - int(counts.sum())
    order = np.argsort(counts - shares, kind="stable")
    counts[order[:missing]] += 1
    return counts


def _exact(values: NDArray[np.float64], most: int) -> IntArray | None:
    """Turn distinct weights into whole ones of the same ratios, if there are small ones."""
    fractions: list[Fraction] = []
    denominator = 1
    for ratio in (values / values[0]).tolist():
        fraction = Fraction(ratio).limit_denominator(_DENOMINATOR)
        fractions.append(fraction)
        denominator = lcm(denominator, fraction.denominator)
        if abs(float(fraction) - ratio) > _EXACT * ratio or denominator > most:
            return None
    numbers = [int(fraction * denominator) for fraction in fractions]
    if max(numbers) > most:
        return None
    divisor = gcd(*numbers)
    return np.array([number // divisor for number in numbers], dtype=np.int64)
