"""Data: validation, exact integers, and inputs that occur more than once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import DataError
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.polynomial import check_overflow


@dataclass(frozen=True, eq=False)
class Dataset:
    """Integer inputs, label numerators over ``label_scale``, integer weights.

    Attributes
    ----------
    X
        Shape (samples, features).
    y
        Shape (samples, outputs); the label is ``y / label_scale``.
    weights
        Shape (samples,), positive integers in the ratio of the sample weights.
    label_scale
        Denominator of the labels' grid.
    """

    X: IntArray
    y: IntArray
    weights: IntArray
    label_scale: int

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        label_scale: int = 1,
    ) -> Dataset:
        """Turn arrays into a checked dataset; every broken rule is an error naming the argument."""
        inputs = _integers(_matrix(X, "X"), "X", "quantise the features first: isinglearn.quantise")
        labels = _labels(_matrix(y, "y"), label_scale)
        if len(inputs) != len(labels):
            raise DataError(
                "inputs and labels differ in number",
                where="X, y",
                rule="one label per row of X",
                received=f"{len(inputs)} rows and {len(labels)} labels",
                remedy="check how they were split",
            )
        return cls(inputs, labels, _weights(sample_weight, len(inputs)), label_scale)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def input_bits(self) -> int:
        """Smallest ``B`` with all inputs in ``[-2^B, 2^B]``."""
        largest = int(np.abs(self.X).max(initial=0))
        return bit_count(largest - 1) if largest > 1 else 0

    def merged(self) -> Dataset:
        """Equal samples (input and label) once, with their weights added; order of first appearance."""
        rows = np.concatenate([self.X, self.y], axis=1)
        first, inverse = first_appearances(rows)
        weights = np.bincount(inverse, self.weights.astype(np.float64), len(first))
        return Dataset(self.X[first], self.y[first], weights.astype(np.int64), self.label_scale)


def first_appearances(rows: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Turn rows into (index of each distinct row's first appearance, which of these each row equals)."""
    _, index, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(index)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return index[order], rank[inverse.ravel()]


def _matrix(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            "the values are not numbers",
            where=name,
            rule="a rectangular array of numbers",
            received=str(error),
            remedy="encode categories as numbers first",
        ) from error
    if name == "y" and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.size:
        raise DataError(
            "the array has the wrong shape or is empty",
            where=name,
            rule="two dimensions (samples, values) with at least one of each",
            received=f"shape {array.shape}",
            remedy="reshape(-1, 1) turns one feature into a column",
        )
    bad = ~np.isfinite(array)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            "a value is not finite",
            where=f"{name}[{row}, {column}]",
            rule="finite numbers only",
            received=array[row, column],
            remedy="drop or fill the missing values",
        )
    return array


def _integers(array: NDArray[np.float64], name: str, remedy: str) -> IntArray:
    off = array != np.rint(array)
    if off.any():
        row, column = np.argwhere(off)[0]
        raise DataError(
            "a value is not an integer",
            where=f"{name}[{row}, {column}]",
            rule="integers only",
            received=array[row, column],
            remedy=remedy,
        )
    check_overflow(float(np.abs(array).max(initial=0.0)), name)
    return array.astype(np.int64)


def _labels(array: NDArray[np.float64], label_scale: int) -> IntArray:
    if not isinstance(label_scale, int | np.integer) or label_scale < 1:
        raise DataError(
            "the label grid is not valid",
            where="label_scale",
            rule="a whole number of at least 1",
            received=label_scale,
            remedy="use 1 for labels -1, 0 and +1",
        )
    outside = np.abs(array) > 1
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise DataError(
            "a label lies outside [-1, 1]",
            where=f"y[{row}, {column}]",
            rule="-1 <= y <= 1, as the paper scales them",
            received=array[row, column],
            remedy="map classes to -1 and +1, or divide by the largest label",
        )
    return _integers(
        array * label_scale,
        "y",
        f"labels must be multiples of 1/label_scale = 1/{label_scale}: round them or raise label_scale",
    )


def _weights(sample_weight: ArrayLike | None, count: int) -> IntArray:
    if sample_weight is None:
        return np.ones(count, dtype=np.int64)
    given = list(np.asarray(sample_weight, dtype=object).ravel())
    try:
        fractions = [Fraction(value) for value in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            "a sample weight is not a finite number",
            where="sample_weight",
            rule="finite numbers",
            received=str(error),
            remedy="replace missing weights",
        ) from error
    if len(given) != count or min(fractions) < 0 or not any(fractions):
        raise DataError(
            "the sample weights do not fit",
            where="sample_weight",
            rule=f"{count} numbers >= 0, at least one of them positive",
            received=f"{len(given)} numbers, smallest {min(given, default=None)}",
            remedy="give one weight per row of X",
        )
    # Exact: floats are fractions too; all are brought to one denominator and divided by the gcd.
    denominator = lcm(*(value.denominator for value in fractions))
    whole = [int(value * denominator) for value in fractions]
    divisor = gcd(*whole)
    check_overflow(float(sum(whole) // divisor), "sample_weight")
    return np.array([value // divisor for value in whole], dtype=np.int64)


def quantise(
    X: ArrayLike,
    input_bits: int,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
) -> IntArray:
    """Turn real features into integers in ``[-2^B, 2^B]``: each column from its range, rounded.

    Pass ``low`` and ``high`` of the training data to quantise new data alike; values outside are clipped.
    """
    array = _matrix(X, "X")
    if not isinstance(input_bits, int | np.integer) or not 0 <= input_bits <= 30:
        raise DataError(
            "the bit width is not valid",
            where="input_bits",
            rule="a whole number from 0 to 30",
            received=input_bits,
            remedy="4 gives the integers -16 to 16",
        )
    lowest = array.min(axis=0) if low is None else np.asarray(low, dtype=np.float64)
    highest = array.max(axis=0) if high is None else np.asarray(high, dtype=np.float64)
    span = np.where(highest > lowest, highest - lowest, 1.0)
    unit = np.clip((array - lowest) / span, 0.0, 1.0)
    return np.rint((2.0 * unit - 1.0) * 2**input_bits).astype(np.int64)
