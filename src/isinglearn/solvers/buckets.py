"""The tables of a tree decomposition: sum what meets in a bucket, minimise over its bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray

# Binary digits of a table's index that the kernel's inner loops run over: their sums stay in the cache.
BLOCK = 12


@njit(cache=True, nogil=True)
def eliminate(
    tables: NDArray[Any],
    choices: NDArray[np.uint8],
    starts: IntArray,
    strides: IntArray,
    couplings: NDArray[Any],
    field: Any,
    target: int,
    choices_at: int,
    first: int,
    last: int,
) -> None:
    """Turn a bit's couplings and the tables it is in into blocks ``first`` to ``last`` of its own table.

    That is ``min over x of x (field + couplings . y) + sum of the tables at (x, y)`` for all ``y``.
    """
    count, low = len(couplings), min(len(couplings), BLOCK)
    size = 1 << low
    # Unsigned: an index that could be negative costs a test.
    offsets = np.zeros((len(starts), size), np.uint32)
    local = np.zeros(size, tables.dtype)
    for digit in range(low):
        half = 1 << digit
        for i in range(half):
            local[half + i] = local[i] + couplings[digit]
            for source in range(len(starts)):
                offsets[source, half + i] = offsets[source, i] + strides[source, digit]
    zero, one = np.empty(size, tables.dtype), np.empty(size, tables.dtype)
    for block in range(first, last):
        above = field
        for digit in range(low, count):
            if block >> (digit - low) & 1:
                above += couplings[digit]
        for i in range(size):
            zero[i] = 0
            one[i] = above + local[i]
        for source in range(len(starts)):
            at = starts[source]
            for digit in range(low, count):
                if block >> (digit - low) & 1:
                    at += strides[source, digit]
            _add(zero, one, tables[at:], offsets[source])
        begin = target + block * size
        _choose(zero, one, tables[begin : begin + size], choices[choices_at + block * size // 8 :])


@njit(cache=True, nogil=True)
def _add(
    zero: NDArray[Any], one: NDArray[Any], table: NDArray[Any], offsets: NDArray[np.uint32]
) -> None:
    """Add a table's entries where the bit is 0 and, next to them, where it is 1."""
    size = len(zero)
    if offsets[size - 1] == 2 * size - 2:
        # It has all of the block's digits: no need to look the offsets up.
        for i in range(size):
            zero[i] += table[2 * i]
            one[i] += table[2 * i + 1]
    else:
        odd = table[1:]
        for i in range(size):
            zero[i] += table[offsets[i]]
            one[i] += odd[offsets[i]]


@njit(cache=True, nogil=True)
def _choose(
    zero: NDArray[Any], one: NDArray[Any], best: NDArray[Any], choices: NDArray[np.uint8]
) -> None:
    """Write the lesser of both, and as one binary digit each which of them it is."""
    size = len(zero)
    for i in range(size):
        best[i] = min(zero[i], one[i])
    for i in range(max(1, size // 8)):
        byte = 0
        for digit in range(min(size, 8)):
            byte |= (one[8 * i + digit] < zero[8 * i + digit]) << digit
        choices[i] = byte
