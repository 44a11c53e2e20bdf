"""Terms in arrays: a row of variable indices, ascending and padded on the left with -1, and a coefficient.

Canonical form: terms sorted, equal terms merged, no zero coefficients, and for bits ``x^2 = x``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import OverflowRefused
from isinglearn.problem.encodings import IntArray

Monomials = NDArray[np.int32]
# Loose terms: monomials and their coefficients, not merged.
Terms = tuple[NDArray[np.integer], IntArray]
# Exactness holds while sums of absolute values stay below this; beyond it int64 could wrap silently.
LIMIT = float(2**62)


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


def as_monomials(monomials: ArrayLike, count: int) -> Monomials:
    """Turn anything array-like into ``count`` rows of indices."""
    return np.asarray(monomials, dtype=np.int32).reshape(count, -1) if count else no_terms()


def sorted_monomials(monomials: NDArray[np.integer], binary: bool) -> Monomials:
    """Sort the indices of each term; for bits drop repeated ones (``x^2 = x``)."""
    ordered = np.sort(np.asarray(monomials, dtype=np.int32), axis=1)
    if binary and ordered.shape[1] > 1:
        repeated = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if repeated.any():
            ordered[:, 1:][repeated] = -1
            ordered.sort(axis=1)
    return without_padding(ordered)


def without_padding(ordered: Monomials) -> Monomials:
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


def canonical(
    rows: IntArray, monomials: NDArray[np.integer], coefficients: IntArray, binary: bool
) -> tuple[IntArray, Monomials, IntArray]:
    """Turn loose terms of several rows into sorted, merged ones without zeros."""
    ordered = sorted_monomials(monomials, binary)
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
    return rows[chosen], without_padding(ordered[chosen]), sums[kept]


def ragged_ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """Turn starts and lengths into the concatenation of ``arange(start, start + count)``."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) - np.repeat(ends - counts, counts) + np.repeat(starts, counts)
