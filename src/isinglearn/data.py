"""Data: validation, exact integers, and inputs that occur more than once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import DataError, check_count
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.terms import check_overflow


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
        Shape (samples,), non-negative integers in the ratio of the sample weights.
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
        shape: tuple[int, ...] | None = None,
    ) -> Dataset:
        """Turn arrays into a checked dataset; every broken rule is an error naming the argument.

        ``shape`` is that of a sample, if the data must have one.
        """
        inputs = whole_inputs(X, shape)
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

    def weighted(self) -> Dataset:
        """Without samples of weight 0: they are as if they had not been given."""
        kept = self.weights > 0
        return Dataset(self.X[kept], self.y[kept], self.weights[kept], self.label_scale)

    def merged(self) -> Dataset:
        """Equal samples once, their weights added; in order of appearance."""
        rows = np.concatenate([self.X, self.y], axis=1)
        first, inverse = first_appearances(rows)
        weights = sum_by(inverse, self.weights, len(first))
        return Dataset(self.X[first], self.y[first], weights, self.label_scale)


def sum_by(group: IntArray, values: IntArray, count: int) -> IntArray:
    """Turn values into exact sums over their groups ``0..count - 1``."""
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums


def first_appearances(rows: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Turn rows into (index of each distinct row's first appearance, which of these each row equals)."""
    _, index, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(index)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return index[order], rank[inverse.ravel()]


def whole_inputs(X: ArrayLike, shape: tuple[int, ...] | None = None) -> IntArray:
    """Turn inputs into checked integers of shape (samples, features).

    ``shape`` is that of a sample, ``(features,)`` or ``(channels, rows, columns)``: such images are laid out
    flat, and one channel need not be written. Without it anything of two dimensions will do.
    """
    try:
        size = np.shape(X)
    except ValueError:
        size = ()
    # What has no such dimensions at all is refused as a matrix.
    if shape is None or len(size) < 2 or 0 in size:
        return _integers(_matrix(X, "X"), "X")
    grey = [shape[1:]] if len(shape) == 3 and shape[0] == 1 else []
    fitting = list(dict.fromkeys([(prod(shape),), shape, *grey]))
    if size[1:] not in fitting:
        raise DataError(
            "the data does not fit the network",
            where="X",
            rule="a sample of shape " + " or ".join(map(str, fitting)),
            received=f"{size[1]} columns" if len(size) == 2 else f"shape {size[1:]}",
            remedy="change the network's first layer or the data; images have their channels first",
        )
    return _integers(_matrix(np.reshape(np.asarray(X), (size[0], -1)), "X"), "X")


def _matrix(values: ArrayLike, name: str) -> NDArray[Any]:
    """Turn values into a finite two-dimensional array: int64 where they are integers, else float64."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iu":
            array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
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
    _refuse(~np.isfinite(array), array, name, "is not finite", "finite numbers only", _FILL)
    return array


_FILL = "drop or fill the missing values"


def _refuse(
    bad: NDArray[np.bool_], array: NDArray[Any], name: str, what: str, rule: str, remedy: str
) -> None:
    """Raise for the first bad value, naming its place."""
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"a value {what}",
            where=f"{name}[{row}, {column}]",
            rule=rule,
            received=array[row, column],
            remedy=remedy,
        )


def _integers(array: NDArray[Any], name: str) -> IntArray:
    if array.dtype.kind == "f":
        remedy = "quantise the features first: isinglearn.quantise"
        _refuse(array != np.rint(array), array, name, "is not an integer", "integers only", remedy)
        # Floats beyond this have already lost their last digits.
        large, rule = np.abs(array) > 2.0**53, "floats up to 2^53, or an integer array"
        _refuse(large, array, name, "is too large to be exact", rule, "pass integers")
    check_overflow(float(np.abs(array.astype(np.float64)).max(initial=0.0)), name)
    return array.astype(np.int64)


def _labels(array: NDArray[Any], label_scale: int) -> IntArray:
    check_count(label_scale, "label_scale", error=DataError)
    rule = "-1 <= y <= 1, as the paper scales them"
    remedy = "map classes to -1 and +1, or divide by the largest label"
    _refuse(np.abs(array) > 1, array, "y", "lies outside [-1, 1]", rule, remedy)
    numerators = np.rint(array * float(label_scale))
    # On the grid means: the closest float to a multiple, so that 0.07 is 7/100.
    _refuse(
        numerators / label_scale != array,
        array,
        "y",
        "is not on the label grid",
        f"multiples of 1/label_scale = 1/{label_scale}",
        "round the labels or raise label_scale",
    )
    return numerators.astype(np.int64)


def _weights(sample_weight: ArrayLike | None, count: int) -> IntArray:
    if sample_weight is None:
        return np.ones(count, dtype=np.int64)
    given = list(np.asarray(sample_weight, dtype=object).ravel())
    fractions = [_fraction(value) for value in given]
    if len(given) != count or min(fractions) < 0 or not any(fractions):
        raise DataError(
            "the sample weights do not fit",
            where="sample_weight",
            rule=f"{count} numbers >= 0, at least one of them positive",
            received=f"{len(given)} numbers, smallest {min(given, default=None)}",
            remedy="give one weight per row of X",
        )
    # Exact: all are brought to one denominator and divided by the gcd.
    denominator = lcm(*(value.denominator for value in fractions))
    whole = [int(value * denominator) for value in fractions]
    divisor = gcd(*whole)
    check_overflow(_as_float(sum(whole) // divisor), "sample_weight")
    return np.array([value // divisor for value in whole], dtype=np.int64)


def _fraction(value: Any) -> Fraction:
    """A weight as a fraction; a float counts as the decimal it prints as, so 0.1 is 1/10."""
    try:
        if isinstance(value, float | np.floating):
            return Fraction(repr(float(value)))
        return Fraction(int(value) if isinstance(value, np.integer) else value)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            "a sample weight is not a finite number",
            where="sample_weight",
            rule="finite numbers",
            received=repr(value),
            remedy="replace missing weights",
        ) from error


def _as_float(value: int) -> float:
    """A float of any integer, infinity where it does not fit."""
    return float(value) if value.bit_length() < 1000 else float("inf")


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
    array = _matrix(X, "X").astype(np.float64)
    check_count(input_bits, "input_bits", 0, 30, DataError)
    lowest = _edge(low, array.min(axis=0), "low")
    highest = _edge(high, array.max(axis=0), "high")
    if (lowest > highest).any():
        raise DataError(
            "a feature's range is empty",
            where="low, high",
            rule="low <= high for every feature",
            received=f"low {lowest}, high {highest}",
            remedy="swap them",
        )
    span = np.where(highest > lowest, highest - lowest, 1.0)
    unit = np.clip((array - lowest) / span, 0.0, 1.0)
    return np.rint((2.0 * unit - 1.0) * 2**input_bits).astype(np.int64)


def _edge(given: ArrayLike | None, default: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """One end of the features' ranges: as given, or as the data has it."""
    if given is None:
        return default
    edge = np.asarray(given, dtype=np.float64)
    if edge.shape not in ((), default.shape) or not np.isfinite(edge).all():
        raise DataError(
            "the ends of the features' ranges do not fit",
            where=name,
            rule=f"one finite number, or {len(default)}, one per feature",
            received=given,
            remedy="pass the minimum and maximum of the training data",
        )
    return np.broadcast_to(edge, default.shape)
