"""Weights: samples of any weight as distinct samples, each so many times."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.problem.encodings import IntArray

# Ratios of weights with larger denominators than this count as irrational.
_DENOMINATOR = 1000
_EXACT = 1e-12


def check_weights(weights: NDArray[np.float64]) -> None:
    """Raise unless all are at least 0 and one is more."""
    if (weights < 0).any() or not (weights > 0).any():
        raise DataError(
            "the sample weights do not fit",
            where="sample_weight",
            rule="numbers >= 0, at least one of them positive",
            received=f"smallest {weights.min()}, largest {weights.max()}",
            remedy="a weight of 0 leaves a sample out",
        )


def merged(
    X: IntArray, y: IntArray, weights: NDArray[np.float64]
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Turn samples into distinct ones in a fixed order, with the sums of their weights.

    So neither the order of samples nor writing one twice instead of giving it twice the weight matters.
    """
    rows = np.column_stack([X, y])
    order = np.argsort(weights, kind="stable")
    found, group = np.unique(rows[order], axis=0, return_inverse=True)
    sums = np.bincount(group.ravel(), weights=weights[order], minlength=len(found))
    return found[:, :-1], found[:, -1], np.asarray(sums, dtype=np.float64)


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
    ratios = values / values[0]
    fractions = [Fraction(float(ratio)).limit_denominator(_DENOMINATOR) for ratio in ratios]
    denominator = 1
    for fraction, ratio in zip(fractions, ratios, strict=True):
        denominator = lcm(denominator, fraction.denominator)
        if abs(float(fraction) - ratio) > _EXACT * ratio or denominator > most:
            return None
    numbers = [int(fraction * denominator) for fraction in fractions]
    if max(numbers) > most:
        return None
    divisor = gcd(*numbers)
    return np.array([number // divisor for number in numbers], dtype=np.int64)


def repeated(counts: IntArray, *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Turn arrays into ones where each row comes as often as it counts."""
    return tuple(np.repeat(array, counts, axis=0) for array in arrays)
