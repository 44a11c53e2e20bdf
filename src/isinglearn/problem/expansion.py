"""The kernel that squares many sparse polynomials at once; apart, so that Numba loads only when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from isinglearn.errors import OverflowRefused

if TYPE_CHECKING:
    from isinglearn.problem.rows import PolynomialRows


# A product of terms must fit one int64 key.
KEY_BITS = 62.0


def expand_rows(family: PolynomialRows, *, pairs: bool) -> PolynomialRows:
    """Turn each row ``t`` into ``t^2``, or with ``pairs`` into ``t (t - 1) / 2``, canonical over bits."""
    from isinglearn.problem.rows import PolynomialRows

    if family.degree == 0:
        values = family.offsets
        return PolynomialRows.constants(values * (values - 1) // 2 if pairs else values * values)
    counts = np.diff(family.pointers)
    if family.degree == 1:
        # At most one constant and no variable twice: nothing to look up or to sort.
        sizes = (counts * (counts + 1) // 2).astype(np.int64)
        rows, monomials, coefficients, used = _expand_linear(
            family.pointers, family.monomials[:, 0], family.coefficients, pairs, int(sizes.sum())
        )
        terms = monomials[:used]
        columns = (terms >= 0).any(axis=0)
        return PolynomialRows(family.num_rows, rows[:used], terms[:, columns], coefficients[:used])
    capacity = int((counts * (counts + 1) // 2).sum())
    rows, monomials, coefficients, used = _expand(
        family.pointers, family.monomials, family.coefficients, pairs, capacity
    )
    if used < 0:
        raise OverflowRefused(
            "a row has too many variables to be squared",
            where="expansion",
            rule="(variables in a row + 1)^(2 * degree) below 2^62",
            received=f"degree {family.degree}",
            remedy="reduce products first: order='product'",
        )
    # Columns that only pad are dropped; the copies let go of the much larger scratch arrays.
    terms = monomials[:used]
    columns = (terms >= 0).any(axis=0)
    return PolynomialRows(
        family.num_rows, rows[:used].copy(), terms[:, columns], coefficients[:used].copy()
    )


@njit(cache=True)
def _expand_linear(pointers, variables, coefficients, pairs, capacity):  # type: ignore[no-untyped-def]
    out_rows = np.empty(capacity, np.int64)
    out_monomials = np.full((capacity, 2), -1, np.int32)
    out_coefficients = np.empty(capacity, np.int64)
    used = 0
    for row in range(len(pointers) - 1):
        start, stop = pointers[row], pointers[row + 1]
        constant = np.int64(0)
        if start < stop and variables[start] < 0:
            constant = coefficients[start]
            start += 1
            value = (constant * constant - constant) // 2 if pairs else constant * constant
            if value != 0:
                out_rows[used], out_coefficients[used] = row, value
                used += 1
        for i in range(start, stop):
            x = coefficients[i]
            value = (x * x - x) // 2 + constant * x if pairs else x * x + 2 * constant * x
            if value != 0:
                out_rows[used], out_coefficients[used] = row, value
                out_monomials[used, 1] = variables[i]
                used += 1
        factor = 1 if pairs else 2
        for i in range(start, stop):
            x = factor * coefficients[i]
            for j in range(i + 1, stop):
                out_rows[used], out_coefficients[used] = row, x * coefficients[j]
                out_monomials[used, 0], out_monomials[used, 1] = variables[i], variables[j]
                used += 1
    return out_rows, out_monomials, out_coefficients, used


@njit(cache=True)
def _expand(pointers, monomials, coefficients, pairs, capacity):  # type: ignore[no-untyped-def]
    width = monomials.shape[1]
    out_rows = np.empty(capacity, np.int64)
    out_monomials = np.full((capacity, 2 * width), -1, np.int32)
    out_coefficients = np.empty(capacity, np.int64)
    used = 0
    for row in range(len(pointers) - 1):
        start, stop = pointers[row], pointers[row + 1]
        size = stop - start
        if size == 0:
            continue
        # Number the row's own variables 1..K: a product of terms is then one small integer key.
        flat = np.sort(monomials[start:stop].copy().reshape(size * width))
        local = np.empty(size * width, np.int32)
        distinct = 0
        for value in flat:
            if value >= 0 and (distinct == 0 or local[distinct - 1] != value):
                local[distinct] = value
                distinct += 1
        base = np.int64(distinct + 1)
        if 2 * width * np.log2(float(base)) >= KEY_BITS:
            return out_rows, out_monomials, out_coefficients, -1
        digits = np.zeros((size, width), np.int64)
        for t in range(size):
            for c in range(width):
                value = monomials[start + t, c]
                if value >= 0:
                    digits[t, c] = np.searchsorted(local[:distinct], value) + 1
        count = size * (size + 1) // 2
        keys = np.empty(count, np.int64)
        values = np.empty(count, np.int64)
        at = 0
        for i in range(size):
            for j in range(i, size):
                # Merge two ascending digit lists from the right, dropping repeats (x^2 = x).
                key, place = np.int64(0), np.int64(1)
                p, q = width - 1, width - 1
                while True:
                    a = digits[i, p] if p >= 0 else np.int64(0)
                    b = digits[j, q] if q >= 0 else np.int64(0)
                    top = max(a, b)
                    if top == 0:
                        break
                    key += top * place
                    place *= base
                    if a == top:
                        p -= 1
                    if b == top:
                        q -= 1
                x, y = coefficients[start + i], coefficients[start + j]
                keys[at] = key
                if pairs:
                    values[at] = x * y if i != j else (x * x - x) // 2
                else:
                    values[at] = 2 * x * y if i != j else x * x
                at += 1
        order = np.argsort(keys)
        at = 0
        while at < count:
            key, total = keys[order[at]], np.int64(0)
            while at < count and keys[order[at]] == key:
                total += values[order[at]]
                at += 1
            if total != 0:
                out_rows[used] = row
                out_coefficients[used] = total
                column = 2 * width - 1
                while key > 0:
                    out_monomials[used, column] = local[key % base - 1]
                    key //= base
                    column -= 1
                used += 1
    return out_rows, out_monomials, out_coefficients, used
