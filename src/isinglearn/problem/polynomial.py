"""Polynomial: one pseudo-Boolean polynomial with exact integer coefficients, in arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.terms import (
    LIMIT,
    Monomials,
    Terms,
    as_monomials,
    canonical,
    check_overflow,
    no_terms,
    pad_terms,
)


@dataclass(frozen=True, eq=False)
class Polynomial:
    """One polynomial over bits, exact integer coefficients; build with :meth:`of` or :meth:`from_terms`."""

    monomials: Monomials
    coefficients: IntArray

    @classmethod
    def of(cls, monomials: ArrayLike, coefficients: ArrayLike) -> Polynomial:
        """Turn loose terms (rows of indices, -1 for padding) into canonical form."""
        value = np.asarray(coefficients, dtype=np.int64).ravel()
        term = as_monomials(monomials, len(value))
        _, final, sums = canonical(np.zeros(len(value), dtype=np.int64), term, value, binary=True)
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
