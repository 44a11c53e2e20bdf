"""Exact pseudo-Boolean polynomials in arrays: one ``Polynomial``, or many side by side as ``PolynomialRows``.

A term is a row of variable indices, ascending and padded on the left with -1, and an int64 coefficient.
Canonical form: terms sorted, equal terms merged, no zero coefficients, and for bits ``x^2 = x``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import OverflowRefused
from isinglearn.problem.encodings import IntArray

Monomials = NDArray[np.int32]
# Loose terms: monomials and their coefficients, not merged.
Terms = tuple[NDArray[np.integer], IntArray]
# What a row contributes: itself, its square, or t (t - 1) / 2, which is 0 for t in {0, 1} and else positive.
Shape = Literal["linear", "square", "pairs"]
# Exactness holds while sums of absolute values stay below this; beyond it int64 could wrap silently.
LIMIT = float(2**62)
# Cells of temporary arrays during evaluation, about 128 MB of int64.
_CHUNK = 1 << 24


def check_overflow(largest: float, where: str) -> None:
    """Raise if an integer of magnitude ``largest`` could leave int64."""
    if largest >= LIMIT:
        raise OverflowRefused(
            "an exact coefficient would not fit into 64 bits",
            where=where,
            rule="magnitudes below 2^62",
            received=f"about {largest:.3g}",
            remedy="use smaller inputs, a coarser label grid, simpler sample weights, or fewer levels",
        )


def pad_terms(monomials: NDArray[np.integer], width: int) -> Monomials:
    """Widen monomials with padding on the left."""
    missing = width - monomials.shape[1]
    padded = np.pad(monomials, ((0, 0), (missing, 0)), constant_values=-1) if missing else monomials
    return padded.astype(np.int32, copy=False)


def no_terms(degree: int = 0) -> Monomials:
    """An empty monomial array of the given width."""
    return np.zeros((0, degree), dtype=np.int32)


def _as_monomials(monomials: ArrayLike, count: int) -> Monomials:
    return np.asarray(monomials, dtype=np.int32).reshape(count, -1) if count else no_terms()


def _sorted_monomials(monomials: NDArray[np.integer], binary: bool) -> Monomials:
    """Sort the indices of each term; for bits drop repeated ones (``x^2 = x``)."""
    ordered = np.sort(np.asarray(monomials, dtype=np.int32), axis=1)
    if binary and ordered.shape[1] > 1:
        repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if repeated.any():
            ordered[:, 1:][repeated] = -1
            ordered.sort(axis=1)
    return _without_padding(ordered)


def _without_padding(ordered: Monomials) -> Monomials:
    """Drop the columns that only pad."""
    used = (ordered >= 0).any(axis=0)
    return ordered if used.all() else np.ascontiguousarray(ordered[:, used])


def _packed_keys(columns: Sequence[NDArray[np.integer]]) -> list[IntArray]:
    """Turn index columns (most significant first) into few int64 keys with the same order."""
    keys: list[IntArray] = []
    room = 1
    for column in columns:
        base = int(column.max(initial=-1)) + 2
        if keys and room * base < 2**62:
            keys[-1] = keys[-1] * base + (column + 1)
            room *= base
        else:
            keys.append(column.astype(np.int64) + 1)
            room = base
    return keys


def term_order(rows: IntArray, monomials: Monomials) -> tuple[IntArray, NDArray[np.bool_]]:
    """Turn terms into (sorting order, mask of first occurrences in that order)."""
    columns: list[NDArray[np.integer]] = [rows, *monomials.T]
    keys = _packed_keys(columns)
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    first = np.zeros(len(order), dtype=bool)
    first[:1] = True
    for key in keys:
        ordered = key[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    return order, first


def _canonical(
    rows: IntArray, monomials: NDArray[np.integer], coefficients: IntArray, binary: bool
) -> tuple[IntArray, Monomials, IntArray]:
    ordered = _sorted_monomials(monomials, binary)
    if not len(ordered):
        return np.zeros(0, dtype=np.int64), no_terms(), np.zeros(0, dtype=np.int64)
    order, first = term_order(rows, ordered)
    starts = np.flatnonzero(first)
    sums = coefficients[order]
    if len(starts) < len(order):
        longest = int(np.diff(starts, append=len(order)).max())
        if longest * float(np.abs(sums).max()) >= LIMIT:
            magnitudes = np.add.reduceat(np.abs(sums.astype(np.float64)), starts)
            check_overflow(float(magnitudes.max()), "polynomial")
        sums = np.add.reduceat(sums, starts)
    kept = sums != 0
    chosen = order[starts[kept]]
    return rows[chosen], _without_padding(ordered[chosen]), sums[kept]


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
        term = _as_monomials(monomials, len(value))
        return cls(num_rows, *_canonical(row, term, value, binary))

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
            _without_padding(self.monomials[source]),
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

    def combine(self, weights: ArrayLike) -> Polynomial:
        """Turn the rows into one polynomial ``sum_r weights[r] * row_r`` over bits."""
        weighted = self.scaled(weights)
        return Polynomial.of(weighted.monomials, weighted.coefficients)


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


def ragged_ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Turn starts and lengths into the concatenation of ``arange(start, start + count)``."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts, counts) + np.repeat(starts, counts)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """One polynomial over bits, exact integer coefficients; build with :meth:`of` or :meth:`from_terms`."""

    monomials: Monomials
    coefficients: IntArray

    @classmethod
    def of(cls, monomials: ArrayLike, coefficients: ArrayLike) -> Polynomial:
        """Turn loose terms (rows of indices, -1 for padding) into canonical form."""
        value = np.asarray(coefficients, dtype=np.int64).ravel()
        term = _as_monomials(monomials, len(value))
        _, final, sums = _canonical(np.zeros(len(value), dtype=np.int64), term, value, binary=True)
        return cls(final, sums)

    @classmethod
    def from_terms(cls, terms: Mapping[tuple[int, ...], int]) -> Polynomial:
        """Turn ``{(i, j, ...): coefficient}`` into a polynomial; ``()`` is the constant."""
        check_overflow(_largest(terms.values()), "polynomial")
        width = max((len(term) for term in terms), default=0)
        padded = [(-1,) * (width - len(term)) + tuple(term) for term in terms]
        return cls.of(padded, list(terms.values()))

    def to_terms(self) -> dict[tuple[int, ...], int]:
        """Turn the polynomial into ``{(i, j, ...): coefficient}``; for reading, not for computing."""
        return {
            tuple(int(i) for i in term if i >= 0): int(value)
            for term, value in zip(self.monomials, self.coefficients, strict=True)
        }

    @property
    def degree(self) -> int:
        """Largest number of variables in a term."""
        return self.monomials.shape[1]

    @property
    def degrees(self) -> IntArray:
        """Degree of each term."""
        return (self.monomials >= 0).sum(axis=1)

    @property
    def num_terms(self) -> int:
        """Number of terms, the constant included."""
        return len(self.coefficients)

    @property
    def offset(self) -> int:
        """The constant term."""
        return int(self.coefficients[self.degrees == 0].sum())

    def as_rows(self) -> PolynomialRows:
        """The polynomial as a family of one row."""
        return PolynomialRows(
            1, np.zeros(self.num_terms, np.int64), self.monomials, self.coefficients
        )

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Polynomial)
            and np.array_equal(self.monomials, other.monomials)
            and np.array_equal(self.coefficients, other.coefficients)
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Polynomial | int) -> Polynomial:
        if isinstance(other, int):
            other = Polynomial.from_terms({(): other})
        return sum_polynomials([self, other])

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + (-other)

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        if isinstance(other, int):
            other = Polynomial.from_terms({(): other})
        left, right = self.num_terms, other.num_terms
        largest = float(np.abs(self.coefficients).max(initial=0)) * float(
            np.abs(other.coefficients).max(initial=0)
        )
        check_overflow(largest, "polynomial product")
        pairs = np.concatenate(
            [np.repeat(self.monomials, right, axis=0), np.tile(other.monomials, (left, 1))], axis=1
        )
        return Polynomial.of(pairs, np.outer(self.coefficients, other.coefficients).ravel())

    __rmul__ = __mul__

    def square(self) -> Polynomial:
        """The product with itself."""
        return self * self

    def evaluate(self, bits: ArrayLike) -> IntArray:
        """Turn bits of shape ``(reads, variables)`` into values of shape ``(reads,)``."""
        return self.as_rows().evaluate(bits)[:, 0]

    def bounds(self) -> tuple[int, int]:
        """Lower and upper bound over all bits: the sums of negative and of positive coefficients."""
        check_overflow(float(self.as_rows().magnitudes.max(initial=0.0)), "bounds of a polynomial")
        varying = self.coefficients[self.degrees > 0]
        return (
            self.offset + int(varying[varying < 0].sum()),
            self.offset + int(varying[varying > 0].sum()),
        )


def _largest(values: Iterable[int]) -> float:
    """Largest magnitude of any Python integers, as a float that may be infinite."""
    largest = max((abs(value) for value in values), default=0)
    return float(largest) if largest < LIMIT else float("inf")


def sum_polynomials(parts: Iterable[Polynomial]) -> Polynomial:
    """Turn polynomials over the same bits into their sum."""
    return sum_terms((part.monomials, part.coefficients) for part in parts)


def sum_terms(parts: Iterable[Terms]) -> Polynomial:
    """Turn loose terms of any widths into one polynomial, merging them all at once."""
    pieces = [(monomials, values) for monomials, values in parts if len(values)]
    if not pieces:
        return Polynomial(no_terms(), np.zeros(0, dtype=np.int64))
    width = max(monomials.shape[1] for monomials, _ in pieces)
    return Polynomial.of(
        np.concatenate([pad_terms(monomials, width) for monomials, _ in pieces]),
        np.concatenate([values for _, values in pieces]),
    )
