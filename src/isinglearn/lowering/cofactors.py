"""Bounds of cofactors: what a wrong auxiliary could gain, which is what its penalty must exceed."""

from __future__ import annotations

import numpy as np
from numba import njit

from isinglearn.lowering.reduction import Reduction
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.polynomial import Monomials, PolynomialRows, check_overflow, stack_rows

# Components of at most this many bits are enumerated; larger ones are bounded term by term.
ENUMERATED_BITS = 10


def cofactor_bounds(
    reduction: Reduction, terms: Monomials, coefficients: IntArray
) -> tuple[IntArray, IntArray]:
    """Turn a reduction of ``sum coefficients * terms`` into bounds (lo, hi) of each product's cofactor.

    The cofactor of product ``k`` is what it is multiplied with at the moment it is introduced, over all
    values of the other bits, earlier auxiliaries included.
    """
    rows = cofactors(reduction, terms, coefficients)
    magnitude = np.bincount(rows.rows, np.abs(rows.coefficients).astype(float), rows.num_rows)
    check_overflow(4 * float(magnitude.max(initial=0.0)), "product weights")
    if not len(rows.rows):
        zeros = np.zeros(rows.num_rows, dtype=np.int64)
        return zeros, zeros
    return _bounds(rows.pointers, rows.padded(max(1, rows.degree)), rows.coefficients)  # type: ignore[no-any-return]


def cofactors(reduction: Reduction, terms: Monomials, coefficients: IntArray) -> PolynomialRows:
    """Turn a reduction into the polynomial that each product was introduced into."""
    if not len(reduction.left):
        return stack_rows([])
    current = terms.copy()
    first = reduction.first_product
    rows, monomials, values = [], [], []
    for applied in reduction.applied.T:
        hit = np.flatnonzero(applied >= 0)
        product = applied[hit]
        left, right = reduction.left[product, None], reduction.right[product, None]
        rest = current[hit]
        rest[(rest == left) | (rest == right)] = -1
        rows.append(product)
        monomials.append(rest.copy())
        values.append(coefficients[hit])
        # The product takes the first free place, of which the pair has just left two.
        place = np.argmax(rest < 0, axis=1)
        rest[np.arange(len(hit)), place] = first + product
        current[hit] = rest
    return PolynomialRows.of(
        len(reduction.left),
        np.concatenate(rows),
        np.concatenate(monomials),
        np.concatenate(values),
        binary=True,
    )


@njit(cache=True)
def _find(parent, i):  # type: ignore[no-untyped-def]
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True)
def _bounds(pointers, monomials, coefficients):  # type: ignore[no-untyped-def]
    """Exact bounds component by component: terms that share no bit vary independently."""
    num_rows, width = len(pointers) - 1, monomials.shape[1]
    lows = np.zeros(num_rows, np.int64)
    highs = np.zeros(num_rows, np.int64)
    for row in range(num_rows):
        start, stop = pointers[row], pointers[row + 1]
        flat = np.sort(monomials[start:stop].copy().reshape((stop - start) * width))
        local = np.unique(flat[flat >= 0])
        parent = np.arange(len(local))
        ids = np.full((stop - start, width), -1, np.int64)
        for t in range(stop - start):
            root = -1
            for c in range(width):
                value = monomials[start + t, c]
                if value >= 0:
                    ids[t, c] = np.searchsorted(local, value)
                    other = _find(parent, ids[t, c])
                    if root >= 0:
                        parent[other] = root
                    else:
                        root = other
        # Group terms by component; the constant belongs to none.
        component = np.full(stop - start, -1, np.int64)
        for t in range(stop - start):
            if ids[t, width - 1] >= 0:
                component[t] = _find(parent, ids[t, width - 1])
            else:
                lows[row] += coefficients[start + t]
                highs[row] += coefficients[start + t]
        order = np.argsort(component)
        at = 0
        while at < len(order):
            end = at
            while end < len(order) and component[order[end]] == component[order[at]]:
                end += 1
            if component[order[at]] >= 0:
                low, high = _component(ids, coefficients, start, order[at:end])
                lows[row] += low
                highs[row] += high
            at = end
    return lows, highs


@njit(cache=True)
def _component(ids, coefficients, start, members):  # type: ignore[no-untyped-def]
    width = ids.shape[1]
    flat = np.sort(ids[members].copy().reshape(len(members) * width))
    bits = np.unique(flat[flat >= 0])
    low, high = np.int64(0), np.int64(0)
    if len(bits) > ENUMERATED_BITS or len(members) == 1:
        for t in members:
            value = coefficients[start + t]
            low += min(value, 0)
            high += max(value, 0)
        return low, high
    masks = np.zeros(len(members), np.int64)
    for m in range(len(members)):
        for c in range(width):
            if ids[members[m], c] >= 0:
                masks[m] |= 1 << np.searchsorted(bits, ids[members[m], c])
    for state in range(1 << len(bits)):
        value = np.int64(0)
        for m in range(len(members)):
            if masks[m] & state == masks[m]:
                value += coefficients[start + members[m]]
        low, high = min(low, value), max(high, value)
    return low, high
