"""Expression: a symbolic array of integers, what modules compute with instead of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.rows import PolynomialRows


@dataclass(frozen=True, eq=False)
class Expression:
    """An array of integer expressions: numerators over ``scale``, with a range each.

    ``nominal`` and ``may_be_zero`` are what the paper's appendix D says of a sum's size, for the
    variables that an activation derives from it; ``is_spin`` says that all values are -1 or +1. ``cells``
    are the places in ``shape`` (samples, units) that the rows belong to, where not all of them are
    present.
    """

    rows: PolynomialRows
    shape: tuple[int, int]
    lo: IntArray
    hi: IntArray
    scale: int = 1
    nominal: int | None = None
    may_be_zero: bool = True
    is_spin: bool = False
    cells: IntArray | None = None

    def __len__(self) -> int:
        return self.rows.num_rows

    @property
    def magnitude(self) -> int:
        """Largest absolute value, nominal if the paper states one."""
        if self.nominal is not None:
            return self.nominal
        return int(max(np.abs(self.lo).max(initial=0), np.abs(self.hi).max(initial=0)))

    def __add__(self, other: Expression) -> Expression:
        rows, lo, hi = self.rows + other.rows, self.lo + other.lo, self.hi + other.hi
        return replace(self, rows=rows, lo=lo, hi=hi, nominal=None, is_spin=False)

    def __neg__(self) -> Expression:
        return self.scaled(-1)

    def __sub__(self, other: Expression) -> Expression:
        return self + -other

    def scaled(self, factor: ArrayLike) -> Expression:
        """Every value times ``factor``, one for all or one for each."""
        factors = np.asarray(factor, dtype=np.int64)
        ends = np.stack([self.lo * factors, self.hi * factors])
        return replace(
            self,
            rows=self.rows.scaled(factors),
            lo=ends.min(axis=0),
            hi=ends.max(axis=0),
            nominal=None,
            is_spin=False,
        )

    def with_scale(self, scale: int) -> Expression:
        """The same numerators over another denominator."""
        return replace(self, scale=scale)

    def clipped(self, lo: ArrayLike, hi: ArrayLike) -> Expression:
        """The same with narrower ranges, known from elsewhere."""
        return replace(self, lo=np.maximum(self.lo, lo), hi=np.minimum(self.hi, hi))

    def take(self, chosen: IntArray, shape: tuple[int, int]) -> Expression:
        """Entries ``chosen`` of the flattened array, in a new shape."""
        return replace(
            self, rows=self.rows.take(chosen), shape=shape, lo=self.lo[chosen], hi=self.hi[chosen]
        )

    def only(self, chosen: IntArray) -> Expression:
        """Entries ``chosen``, which keep their places."""
        return replace(self.take(chosen, self.shape), cells=chosen)


def pieced(shape: tuple[int, int], pieces: Iterable[Expression], scale: int) -> Expression:
    """Turn parts of an array, each with its cells, into the array; 0 where no part is."""
    parts = [part for part in pieces if len(part)]
    size = shape[0] * shape[1]
    lo, hi = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for part in parts:
        lo[part.cells], hi[part.cells] = part.lo, part.hi
    width = max((part.rows.degree for part in parts), default=0)
    none = PolynomialRows.constants(np.zeros(size, dtype=np.int64))
    if not parts:
        return Expression(none, shape, lo, hi, scale)
    cells = [part.cells if part.cells is not None else np.arange(size) for part in parts]
    rows = PolynomialRows.of(
        size,
        np.concatenate([own[part.rows.rows] for own, part in zip(cells, parts, strict=True)]),
        np.concatenate([part.rows.padded(width) for part in parts]),
        np.concatenate([part.rows.coefficients for part in parts]),
    )
    return Expression(rows, shape, lo, hi, scale)
