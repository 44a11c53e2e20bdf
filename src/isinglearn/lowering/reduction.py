"""Greedy order reduction (the paper's algorithm 2): the most frequent pair of variables becomes one new bit.

Counts are kept up to date incrementally: a substitution touches only the terms that contain the pair, so
the whole reduction costs about as much as listing the pairs of all terms once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.terms import Monomials


@dataclass(frozen=True, eq=False)
class Reduction:
    """Products ``first_product + k = left[k] * right[k]``, and what became of each term.

    Attributes
    ----------
    left, right
        Factors of each product; they may be earlier products.
    monomials
        The terms after all substitutions, ``target`` columns wide.
    applied
        Numbers of the products that were substituted in each term, in order, -1 padded.
    first_product
        Index of the first product's bit.
    """

    left: IntArray
    right: IntArray
    monomials: Monomials
    applied: Monomials
    first_product: int


def reduce_monomials(monomials: Monomials, num_variables: int, target: int) -> Reduction:
    """Turn distinct terms of any degree into terms of at most ``target`` variables.

    Ties between equally frequent pairs go to the newest variables (highest indices), which is what
    reproduces the paper's printed numbers of spins. A pair is also substituted where it stands in a
    term that needs no reduction, as in the paper's appendix A.
    """
    degrees = (monomials >= 0).sum(axis=1)
    steps = max(1, monomials.shape[1] - target)
    applied = np.full((len(monomials), steps), -1, dtype=np.int32)
    final = np.full((len(monomials), target), -1, dtype=np.int32)
    high = np.flatnonzero(degrees > target)
    size = monomials.shape[1]
    if len(high):
        degree = degrees[high]
        # All pairs of a term, and for every step that leaves it too long the pairs with the new bit.
        later = np.maximum(degree - 1 - target, 0) * (degree + target - 2) // 2
        nodes = int((degree * (degree - 1) // 2 + later).sum())
        left, right, terms, used = _reduce(
            monomials[high], degree.astype(np.int64), num_variables, target, nodes, steps
        )
        final[high] = np.sort(terms[:, size - target :], axis=1)
        applied[high] = used
    else:
        left = right = np.zeros(0, dtype=np.int64)
    low = np.flatnonzero(degrees <= target)
    final[low] = (
        monomials[low][:, max(0, size - target) :]
        if size >= target
        else np.pad(monomials[low], ((0, 0), (target - size, 0)), constant_values=-1)
    )
    _substitute_pairs(final, applied, low[degrees[low] == 2], left, right, num_variables)
    return Reduction(left, right, final, applied, num_variables)


def _substitute_pairs(
    final: Monomials,
    applied: Monomials,
    quadratic: IntArray,
    left: IntArray,
    right: IntArray,
    num_variables: int,
) -> None:
    """Replace a term that is just the pair of a product by that product, in place."""
    if not len(quadratic) or not len(left):
        return
    base = num_variables + len(left)
    keys = np.minimum(left, right) * base + np.maximum(left, right)
    order = np.argsort(keys)
    pairs = final[quadratic][:, -2:].astype(np.int64)
    wanted = pairs[:, 0] * base + pairs[:, 1]
    place = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    hit = keys[order][place] == wanted
    product = order[place[hit]]
    final[quadratic[hit], -2] = -1
    final[quadratic[hit], -1] = num_variables + product
    applied[quadratic[hit], 0] = product


@njit(cache=True)
def _slot(table, key):  # type: ignore[no-untyped-def]
    """Place of ``key`` in an open-addressing table of int64 keys (-1 is empty)."""
    mask = len(table) - 1
    place = (key * np.int64(-7046029254386353131) >> np.int64(20)) & mask
    while table[place] != -1 and table[place] != key:
        place = (place + 1) & mask
    return place


@njit(cache=True)
def _above(count_a, key_a, count_b, key_b):  # type: ignore[no-untyped-def]
    return count_a > count_b or (count_a == count_b and key_a > key_b)


@njit(cache=True)
def _push(counts, keys, size, count, key):  # type: ignore[no-untyped-def]
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not _above(count, key, counts[parent], keys[parent]):
            break
        counts[at], keys[at] = counts[parent], keys[parent]
        at = parent
    counts[at], keys[at] = count, key
    return size + 1


@njit(cache=True)
def _pop(counts, keys, size):  # type: ignore[no-untyped-def]
    """Drop the top of the heap."""
    size -= 1
    count, key = counts[size], keys[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _above(
            counts[child + 1], keys[child + 1], counts[child], keys[child]
        ):
            child += 1
        if not _above(counts[child], keys[child], count, key):
            break
        counts[at], keys[at] = counts[child], keys[child]
        at = child
    counts[at], keys[at] = count, key
    return size


@njit(cache=True)
def _reduce(monomials, degrees, num_variables, target, max_nodes, steps):  # type: ignore[no-untyped-def]
    num_terms, width = monomials.shape
    # Terms as lists from the right end; the first `width - degree` columns are padding.
    terms = monomials.copy()
    degree = degrees.copy()
    applied = np.full((num_terms, steps), -1, np.int32)
    max_products = int((degree - target).sum())
    base = np.int64(num_variables + max_products)
    capacity = 16
    while capacity < 2 * max_nodes:
        capacity *= 2
    table = np.full(capacity, -1, np.int64)
    pair_of_slot = np.empty(capacity, np.int32)
    counts = np.zeros(max_nodes, np.int32)
    head = np.full(max_nodes, -1, np.int32)
    pair_keys = np.empty(max_nodes, np.int64)
    node_term = np.empty(max_nodes, np.int32)
    node_next = np.empty(max_nodes, np.int32)
    num_pairs = 0
    num_nodes = 0
    for t in range(num_terms):
        first = width - degree[t]
        for p in range(first, width):
            for q in range(p + 1, width):
                low, high = min(terms[t, p], terms[t, q]), max(terms[t, p], terms[t, q])
                key = high * base + low
                place = _slot(table, key)
                if table[place] == -1:
                    table[place] = key
                    pair_of_slot[place] = num_pairs
                    pair_keys[num_pairs] = key
                    num_pairs += 1
                pair = pair_of_slot[place]
                counts[pair] += 1
                node_term[num_nodes] = t
                node_next[num_nodes] = head[pair]
                head[pair] = num_nodes
                num_nodes += 1
    heap_counts = np.empty(max_nodes, np.int32)
    heap_keys = np.empty(max_nodes, np.int64)
    heap = 0
    for pair in range(num_pairs):
        heap = _push(heap_counts, heap_keys, heap, counts[pair], pair_keys[pair])
    left = np.empty(max_products, np.int64)
    right = np.empty(max_products, np.int64)
    used = np.zeros(num_terms, np.int32)
    num_products = 0
    while heap > 0:
        count, key = heap_counts[0], heap_keys[0]
        heap = _pop(heap_counts, heap_keys, heap)
        pair = pair_of_slot[_slot(table, key)]
        if counts[pair] != count:
            # Counts only fall, so an outdated entry is put back where it now belongs.
            if counts[pair] > 0:
                heap = _push(heap_counts, heap_keys, heap, counts[pair], key)
            continue
        v, u = key // base, key % base
        new = num_variables + num_products
        left[num_products], right[num_products] = u, v
        first_new_pair = num_pairs
        node = head[pair]
        while node != -1:
            t = node_term[node]
            node = node_next[node]
            if degree[t] <= target:
                continue
            first = width - degree[t]
            at_u, at_v = -1, -1
            for p in range(first, width):
                if terms[t, p] == u:
                    at_u = p
                elif terms[t, p] == v:
                    at_v = p
            if at_u < 0 or at_v < 0:
                continue
            leaves = degree[t] - 1 <= target
            for p in range(first, width):
                for q in range(p + 1, width):
                    if leaves or p == at_u or p == at_v or q == at_u or q == at_v:
                        low = min(terms[t, p], terms[t, q])
                        high = max(terms[t, p], terms[t, q])
                        counts[pair_of_slot[_slot(table, high * base + low)]] -= 1
            # The new variable takes the place of one factor, the first entry that of the other.
            keep, drop = max(at_u, at_v), min(at_u, at_v)
            terms[t, keep] = new
            terms[t, drop] = terms[t, first]
            terms[t, first] = -1
            degree[t] -= 1
            applied[t, used[t]] = num_products
            used[t] += 1
            if not leaves:
                for p in range(first + 1, width):
                    if terms[t, p] == new:
                        continue
                    key_new = np.int64(new) * base + terms[t, p]
                    place = _slot(table, key_new)
                    if table[place] == -1:
                        table[place] = key_new
                        pair_of_slot[place] = num_pairs
                        pair_keys[num_pairs] = key_new
                        num_pairs += 1
                    fresh = pair_of_slot[place]
                    counts[fresh] += 1
                    node_term[num_nodes] = t
                    node_next[num_nodes] = head[fresh]
                    head[fresh] = num_nodes
                    num_nodes += 1
        for fresh in range(first_new_pair, num_pairs):
            heap = _push(heap_counts, heap_keys, heap, counts[fresh], pair_keys[fresh])
        num_products += 1
    return left[:num_products].copy(), right[:num_products].copy(), terms, applied
