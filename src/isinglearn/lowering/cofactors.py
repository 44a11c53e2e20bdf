"""Bounds of cofactors: what a wrong auxiliary could gain, which is what its penalty must exceed."""

from __future__ import annotations

import numpy as np
from numba import njit

from isinglearn.lowering.reduction import Reduction
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.rows import PolynomialRows, stack_rows
from isinglearn.problem.terms import Monomials, check_overflow

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
    monomials = rows.padded(max(1, rows.degree))
    return _bounds(rows.pointers, monomials, rows.coefficients, int(monomials.max()) + 1)


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
def _root(parent, bit):  # type: ignore[no-untyped-def]
    while parent[bit] != bit:
        parent[bit] = parent[parent[bit]]
        bit = parent[bit]
    return bit


@njit(cache=True)
def _bounds(pointers, monomials, coefficients, num_bits):  # type: ignore[no-untyped-def]
    """Bounds of each row, component by component: terms that share no bit vary independently."""
    num_rows, width = len(pointers) - 1, monomials.shape[1]
    lows = np.zeros(num_rows, np.int64)
    highs = np.zeros(num_rows, np.int64)
    # Union-find over bits, begun anew in each row; the terms of a component are a linked list.
    last_row = np.full(num_bits, -1, np.int64)
    parent = np.empty(num_bits, np.int64)
    head = np.empty(num_bits, np.int64)
    following = np.empty(len(coefficients), np.int64)
    number = np.full(num_bits, -1, np.int64)
    for row in range(num_rows):
        start, stop = pointers[row], pointers[row + 1]
        for t in range(start, stop):
            root = np.int64(-1)
            for c in range(width):
                bit = np.int64(monomials[t, c])
                if bit < 0:
                    continue
                if last_row[bit] != row:
                    last_row[bit], parent[bit], head[bit] = row, bit, -1
                other = _root(parent, bit)
                if root < 0:
                    root = other
                elif other != root:
                    parent[other] = root
        for t in range(start, stop):
            bit = np.int64(monomials[t, width - 1])
            if bit < 0:
                lows[row] += coefficients[t]
                highs[row] += coefficients[t]
            else:
                root = _root(parent, bit)
                following[t] = head[root]
                head[root] = t
        for t in range(start, stop):
            bit = np.int64(monomials[t, width - 1])
            # Each component once, at the head of its list.
            if bit >= 0 and head[_root(parent, bit)] == t:
                low, high = _component(monomials, coefficients, following, t, number)
                lows[row] += low
                highs[row] += high
    return lows, highs


@njit(cache=True)
def _component(monomials, coefficients, following, first, number):  # type: ignore[no-untyped-def]
    """Exact bounds by enumeration if the component is small, else the sums of its signs."""
    width = monomials.shape[1]
    bits = np.empty(ENUMERATED_BITS, np.int64)
    size, terms = 0, 0
    fits = following[first] >= 0
    low, high = np.int64(0), np.int64(0)
    t = first
    while t >= 0:
        low += min(coefficients[t], 0)
        high += max(coefficients[t], 0)
        terms += 1
        for c in range(width):
            bit = monomials[t, c]
            if fits and bit >= 0 and number[bit] < 0:
                if size == ENUMERATED_BITS:
                    fits = False
                else:
                    number[bit] = size
                    bits[size] = bit
                    size += 1
        t = following[t]
    if fits:
        low, high = np.int64(0), np.int64(0)
        masks = np.zeros(terms, np.int64)
        values = np.empty(terms, np.int64)
        t, k = first, 0
        while t >= 0:
            for c in range(width):
                if monomials[t, c] >= 0:
                    masks[k] |= np.int64(1) << number[monomials[t, c]]
            values[k] = coefficients[t]
            k += 1
            t = following[t]
        for state in range(1 << size):
            value = np.int64(0)
            for k in range(terms):
                if masks[k] & state == masks[k]:
                    value += values[k]
            low, high = min(low, value), max(high, value)
    for k in range(size):
        number[bits[k]] = -1
    return low, high
