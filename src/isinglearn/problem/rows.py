"""PolynomialRows: many sparse polynomials side by side, so that a million constraints cost a few arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.terms import (
    Monomials,
    as_monomials,
    canonical,
    check_overflow,
    no_terms,
    pad_terms,
    ragged_ranges,
    without_padding,
)

# What a row contributes: itself, its square, or t (t - 1) / 2, which is 0 for t in {0, 1} and else positive.
Shape = Literal["linear", "square", "pairs"]
# Cells of temporary arrays during evaluation, about 128 MB of int64.
_CHUNK = 1 << 24


@dataclass(frozen=True, eq=False)
class PolynomialRows:
    """``num_rows`` polynomials side by side; row ``r`` is the sum of the terms with ``rows == r``.

    Build with :meth:`of`; the constructor trusts its arguments to be canonical.
    """

    num_rows: int
    rows: IntArray
    monomials: Monomials
    coefficients: IntArray

    @classmethod
    def of(
        cls,
        num_rows: int,
        rows: ArrayLike,
        monomials: ArrayLike,
        coefficients: ArrayLike,
        *,
        binary: bool = False,
    ) -> PolynomialRows:
        """Turn loose terms into canonical rows; ``binary`` applies ``x^2 = x``."""
        row = np.asarray(rows, dtype=np.int64).ravel()
        value = np.asarray(coefficients, dtype=np.int64).ravel()
        term = as_monomials(monomials, len(value))
        return cls(num_rows, *canonical(row, term, value, binary))

    @classmethod
    def variables(cls, indices: ArrayLike) -> PolynomialRows:
        """Turn variable indices into rows that each are just that variable."""
        index = np.asarray(indices, dtype=np.int32).ravel()
        ones = np.ones(len(index), dtype=np.int64)
        return cls(len(index), np.arange(len(index)), index.reshape(-1, 1), ones)

    @classmethod
    def constants(cls, values: ArrayLike) -> PolynomialRows:
        """Turn integers into rows that are constant."""
        value = np.asarray(values, dtype=np.int64).ravel()
        padding = np.full((len(value), 1), -1)
        return cls.of(len(value), np.arange(len(value)), padding, value)

    @property
    def degree(self) -> int:
        """Largest number of variables in a term."""
        return self.monomials.shape[1]

    @property
    def degrees(self) -> IntArray:
        """Degree of each term."""
        return (self.monomials >= 0).sum(axis=1)

    @cached_property
    def pointers(self) -> IntArray:
        """``pointers[r]:pointers[r + 1]`` are the terms of row ``r``."""
        return np.searchsorted(self.rows, np.arange(self.num_rows + 1))

    @cached_property
    def offsets(self) -> IntArray:
        """Constant term of each row."""
        values = np.zeros(self.num_rows, dtype=np.int64)
        constant = self.degrees == 0
        values[self.rows[constant]] = self.coefficients[constant]
        return values

    @cached_property
    def magnitudes(self) -> NDArray[np.float64]:
        """Sum of absolute coefficients of each row: a bound of its value over bits."""
        sizes = np.abs(self.coefficients.astype(np.float64))
        return np.bincount(self.rows, sizes, self.num_rows).astype(np.float64)

    def padded(self, degree: int) -> Monomials:
        """The monomials widened to ``degree`` columns."""
        return pad_terms(self.monomials, degree)

    def __add__(self, other: PolynomialRows) -> PolynomialRows:
        """Row-wise sum (of rows over the same kind of variables)."""
        width = max(self.degree, other.degree)
        return PolynomialRows.of(
            self.num_rows,
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.padded(width), other.padded(width)]),
            np.concatenate([self.coefficients, other.coefficients]),
        )

    def __sub__(self, other: PolynomialRows) -> PolynomialRows:
        return self + other.scaled(-1)

    def scaled(self, factors: ArrayLike) -> PolynomialRows:
        """Turn row ``r`` into ``factors[r]`` times itself (or one factor for all)."""
        factor = np.broadcast_to(np.asarray(factors, dtype=np.int64), (self.num_rows,))
        largest = np.abs(self.coefficients).max(initial=0) * float(np.abs(factor).max(initial=0))
        check_overflow(largest, "polynomial")
        return PolynomialRows.of(
            self.num_rows, self.rows, self.monomials, self.coefficients * factor[self.rows]
        )

    def take(self, chosen: ArrayLike) -> PolynomialRows:
        """Rows ``chosen``, in that order (repeats allowed)."""
        picked = np.asarray(chosen, dtype=np.int64).ravel()
        counts = np.diff(self.pointers)[picked]
        source = ragged_ranges(self.pointers[picked], counts)
        return PolynomialRows(
            len(picked),
            np.repeat(np.arange(len(picked)), counts),
            without_padding(self.monomials[source]),
            self.coefficients[source],
        )

    def substitute(self, values: PolynomialRows) -> PolynomialRows:
        """Turn rows over variables ``v`` into rows over bits, replacing ``v`` by ``values`` row ``v``."""
        if not len(values.rows):
            # All values are 0: only constants are left.
            return PolynomialRows.constants(self.offsets)
        rows, coefficients = self.rows, self.coefficients
        built = np.zeros((len(rows), 0), dtype=np.int32)
        counts = np.diff(values.pointers)
        remaining = self.monomials
        for _ in range(self.degree):
            index, remaining = remaining[:, 0], remaining[:, 1:]
            constant = index < 0
            lengths = np.where(constant, 1, counts[index])
            source = np.repeat(np.arange(len(index)), lengths)
            picked = ragged_ranges(np.where(constant, 0, values.pointers[index]), lengths)
            widened = np.where(constant[source, None], -1, values.monomials[picked])
            multiplier = np.where(constant[source], 1, values.coefficients[picked])
            product = np.abs(coefficients[source].astype(np.float64)) * np.abs(multiplier)
            check_overflow(float(product.max(initial=0.0)), "substitution")
            built = np.concatenate([built[source], widened], axis=1)
            rows, remaining = rows[source], remaining[source]
            coefficients = coefficients[source] * multiplier
        return PolynomialRows.of(self.num_rows, rows, built, coefficients, binary=True)

    def bounds(self, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        """Turn variable ranges into a range for each row, by interval arithmetic term by term."""
        self._check_reach(np.maximum(np.abs(lo), np.abs(hi)))
        low = self.coefficients.copy()
        high = self.coefficients.copy()
        for column in self.monomials.T:
            present = column >= 0
            a, b = np.where(present, lo[column], 1), np.where(present, hi[column], 1)
            corners = np.stack([low * a, low * b, high * a, high * b])
            low, high = corners.min(axis=0), corners.max(axis=0)
        lower = np.zeros(self.num_rows, dtype=np.int64)
        upper = np.zeros(self.num_rows, dtype=np.int64)
        np.add.at(lower, self.rows, low)
        np.add.at(upper, self.rows, high)
        return lower, upper

    def _check_reach(self, largest: IntArray) -> None:
        """Raise if a row could overflow for variables of these magnitudes."""
        reach = np.abs(self.coefficients.astype(np.float64))
        for column in self.monomials.T:
            reach *= np.where(column >= 0, largest[column], 1)
        sums = np.bincount(self.rows, reach, self.num_rows)
        check_overflow(float(sums.max(initial=0.0)), "value of a polynomial")

    def evaluate(self, values: ArrayLike) -> IntArray:
        """Turn values of shape ``(reads, variables)`` into row values of shape ``(reads, num_rows)``."""
        given = np.atleast_2d(np.asarray(values, dtype=np.int64))
        if given.size:
            self._check_reach(np.abs(given).max(axis=0))
        result = np.zeros((len(given), self.num_rows), dtype=np.int64)
        filled = np.flatnonzero(np.diff(self.pointers))
        if not len(filled):
            return result
        step = max(1, _CHUNK // max(1, len(self.rows)))
        for start in range(0, len(given), step):
            part = given[start : start + step]
            terms = np.broadcast_to(self.coefficients, (len(part), len(self.rows))).copy()
            for column in self.monomials.T:
                present = column >= 0
                terms[:, present] *= part[:, column[present]]
            result[start : start + step, filled] = np.add.reduceat(
                terms, self.pointers[filled], axis=1
            )
        return result

    def expand(self, shape: Shape) -> PolynomialRows:
        """Turn each row ``t`` into ``t``, ``t^2`` or ``t (t - 1) / 2`` over bits."""
        if shape == "linear":
            return self
        from isinglearn.problem.expansion import expand_rows

        # No merged coefficient of the square exceeds the squared sum of all magnitudes.
        check_overflow(float(self.magnitudes.max(initial=0.0)) ** 2, "squared row")
        return expand_rows(self, pairs=shape == "pairs")


def stack_rows(parts: Iterable[PolynomialRows]) -> PolynomialRows:
    """Turn families of rows into one family, one below the other."""
    pieces = list(parts)
    width = max((piece.degree for piece in pieces), default=0)
    shifts = np.cumsum([0, *(piece.num_rows for piece in pieces)])
    if not pieces:
        return PolynomialRows(0, np.zeros(0, np.int64), no_terms(), np.zeros(0, np.int64))
    return PolynomialRows(
        int(shifts[-1]),
        np.concatenate([p.rows + s for p, s in zip(pieces, shifts, strict=False)]),
        np.concatenate([piece.padded(width) for piece in pieces]),
        np.concatenate([piece.coefficients for piece in pieces]),
    )


def multiply_rows(
    left: PolynomialRows,
    left_rows: IntArray,
    right: PolynomialRows,
    right_rows: IntArray,
    out_rows: IntArray,
    num_rows: int,
) -> PolynomialRows:
    """Turn two families into ``out[o] = sum of left[l] * right[r]`` over the given triples ``(l, r, o)``."""
    left_counts = np.diff(left.pointers)[left_rows]
    right_counts = np.diff(right.pointers)[right_rows]
    # Every term of the left row, then for each of those every term of the right row.
    triple = np.repeat(np.arange(len(left_rows)), left_counts)
    first = ragged_ranges(left.pointers[left_rows], left_counts)
    lengths = right_counts[triple]
    source = np.repeat(np.arange(len(triple)), lengths)
    second = ragged_ranges(right.pointers[right_rows][triple], lengths)
    product = left.coefficients[first][source].astype(np.float64) * right.coefficients[second]
    check_overflow(float(np.abs(product).max(initial=0.0)), "product of rows")
    return PolynomialRows.of(
        num_rows,
        out_rows[triple][source],
        np.concatenate([left.monomials[first][source], right.monomials[second]], axis=1),
        left.coefficients[first][source] * right.coefficients[second],
    )
