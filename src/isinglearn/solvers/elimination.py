"""Elimination of a QUBO's bits: which ones to fix, in which order the rest goes, what it costs; the kernels.

Eliminating a bit turns everything it takes part in into one table over its neighbours: the energy of its
better value, for each of their settings. A table doubles with every neighbour, so that the order decides.
It is the cheapest of many min-fill orders with random biases, on the paper's tasks up to five times
cheaper than plain min-fill. Bits are fixed (the cut) where the tables would not fit into memory; what
does not depend on a change in the cut is not computed again, so that a small cut costs little time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isinglearn.errors import ProblemRefused
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.checks import index_pairs
from isinglearn.problem.forms import QUBO
from isinglearn.problem.polynomial import Polynomial
from isinglearn.problem.terms import check_overflow

Mask = NDArray[np.bool_]

# Bits up to which a plan is made: it holds some matrices of all pairs, 25 MB each.
MOST_BITS = 5000
# All tables together have less than two to this many entries; an hour.
MOST_WIDTH = 40
# Orders tried. On the paper's tasks the best one is among the first 40.
_TRIES = 64
# Orders tried before a problem is given up; none of them was below the limit of all tables.
_HOPELESS_TRIES = 8
# Random biases: the fill-in of a bit counts up to this many times more.
_BIAS = 8.0
# Seconds for the search of an order, and of one more for each bit that is fixed.
_SEARCH_SECONDS, _SEARCH_AGAIN_SECONDS = 0.5, 0.1
# Seconds per step of that search, per setting of the cut, per table, per entry, and per entry of each
# table that is taken in: as measured on an ARM Neoverse core.
_STEP, _SETTING, _TABLE, _ENTRY, _INPUT = 5e-9, 5e-5, 3e-5, 1.5e-9, 1.6e-9


@dataclass(frozen=True, eq=False)
class Bucket:
    """One bit's elimination: what it takes part in turns into one table over its neighbours.

    Attributes
    ----------
    bit
        The bit that goes.
    neighbours
        Bits that the table depends on, the next one to go first: it is the lowest binary digit of the
        table's index.
    inputs
        Buckets whose tables are taken in: those that this bit is the first neighbour of.
    depth
        How many bits of the cut, from its first one, have to be set before this can be computed.
    table, choices
        Where the table starts, in entries, and the better values of the bit, in bytes.
    """

    bit: int
    neighbours: IntArray
    inputs: tuple[int, ...]
    depth: int
    table: int
    choices: int

    @property
    def seconds(self) -> float:
        """Expected time for all settings of the cut."""
        entry = _ENTRY + _INPUT * len(self.inputs)
        return 2.0**self.depth * (_TABLE + entry * 2.0 ** len(self.neighbours))


@dataclass(frozen=True, eq=False)
class Plan:
    """What an exact solve will do and cost.

    Attributes
    ----------
    cut
        Bits that are fixed, to all of their settings in turn; the last one changes most often.
    buckets
        The other bits in the order of their elimination.
    entries, dtype
        Size of the memory that the tables share, in integers of this type.
    choice_bytes
        Size of the memory for the better values, one binary digit per entry of every table.
    seconds
        Expected time; right within a factor of a few.
    """

    cut: IntArray
    buckets: tuple[Bucket, ...]
    entries: int
    dtype: np.dtype[Any]
    choice_bytes: int
    seconds: float

    @property
    def order(self) -> IntArray:
        """Bits in the order of their elimination."""
        return np.array([bucket.bit for bucket in self.buckets], dtype=np.int64)

    @property
    def width(self) -> int:
        """Most neighbours of a bit when it goes: the largest table has two to this many entries."""
        return max((len(bucket.neighbours) for bucket in self.buckets), default=0)

    @property
    def bytes(self) -> int:
        """Memory for the tables and the better values."""
        return self.entries * self.dtype.itemsize + self.choice_bytes

    def __str__(self) -> str:
        count = len(self.cut)
        return f"width {self.width}" + (f", {count} of the spins fixed" if count else "")


def plan(qubo: QUBO, max_bytes: int = 2 << 30, max_seconds: float = math.inf) -> Plan:
    """Turn a QUBO into the plan of its exact solve; bits are fixed until it fits into ``max_bytes``.

    A plan that takes longer than ``max_seconds`` is returned as it is, perhaps not fitting yet: fixing
    more bits would make it slower still.
    """
    polynomial = qubo.polynomial
    graph = _coupled(polynomial, qubo.num_variables)
    dtype = table_integers(polynomial)
    cut: list[int] = []
    order = _search(graph, cut, _SEARCH_SECONDS)
    found = _lay_out(graph, order, cut, dtype)
    while found.bytes > max_bytes and found.seconds <= max_seconds and len(cut) < len(graph):
        cut.append(_costliest(order))
        order = _search(graph, cut, _SEARCH_AGAIN_SECONDS)
        found = _lay_out(graph, order, cut, dtype)
    return found


def table_integers(polynomial: Polynomial) -> np.dtype[Any]:
    """Turn a polynomial into the integers that its tables are kept in."""
    # No sum of terms is larger, so that the smaller integers may do.
    largest = float(polynomial.as_rows().magnitudes.sum())
    check_overflow(largest, "sum of all terms")
    return np.dtype(np.int32 if largest < 2**31 else np.int64)


def _coupled(polynomial: Polynomial, count: int) -> Mask:
    """Which pairs of bits share a term."""
    if count > MOST_BITS:
        raise _hopeless(f"at most {MOST_BITS} spins", f"{count} spins")
    pairs = index_pairs(polynomial)
    left, right = pairs[pairs[:, 0] >= 0].T
    graph = np.zeros((count, count), dtype=np.bool_)
    graph[left, right] = graph[right, left] = True
    return graph


def _hopeless(rule: str, received: str) -> ProblemRefused:
    return ProblemRefused(
        "this QUBO is too large or too entangled for elimination",
        where="solver='treewidth'",
        rule=rule,
        received=received,
        remedy="use solver='cpsat', fewer samples or a smaller network",
    )


# -- the order -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Order:
    """An elimination order, which bits are neighbours of each when it goes, and all tables' entries."""

    bits: IntArray
    neighbours: Mask
    cost: float


def _search(graph: Mask, cut: list[int], seconds: float) -> _Order:
    """The cheapest of several min-fill orders of the bits that are not cut."""
    left = graph.copy()
    left[cut, :] = left[:, cut] = False
    alive = np.ones(len(graph), dtype=np.bool_)
    alive[cut] = False
    fill = _missing_pairs(left)
    random = np.random.default_rng(0)
    best: _Order | None = None
    spent = 0.0
    for number in range(_TRIES):
        # The first order is plain min-fill.
        bias = 1 + _BIAS * random.random(len(graph)) * (number > 0)
        limit = 2.0**MOST_WIDTH if best is None else best.cost
        bits, neighbours, cost, steps = _min_fill(left, fill, alive, bias, limit)
        if cost < limit:
            best = _Order(bits, neighbours, cost)
        # Counted, not measured: the same plan on every machine.
        spent += steps * _STEP
        # No longer than the solve itself.
        if spent > (seconds if best is None else min(seconds, best.cost * (_ENTRY + _INPUT))):
            break
        if best is None and number + 1 == _HOPELESS_TRIES:
            break
    if best is None:
        raise _hopeless(f"tables of less than 2^{MOST_WIDTH} entries", "no order with so few")
    return best


def _costliest(order: _Order) -> int:
    """The bit that is in the tables of most entries, which would be halved without it."""
    neighbours = order.neighbours[order.bits]
    sizes = 2.0 ** neighbours.sum(axis=1)
    halved = sizes @ neighbours
    halved[order.bits] += sizes
    return int(np.argmax(halved))


@njit(cache=True)
def _missing_pairs(graph: Mask) -> IntArray:
    """For each bit the pairs of its neighbours that are not coupled: what its elimination adds."""
    fill = np.zeros(len(graph), np.int64)
    for bit in range(len(graph)):
        around = np.flatnonzero(graph[bit])
        for i in range(len(around)):
            for j in range(i):
                fill[bit] += not graph[around[i], around[j]]
    return fill


@njit(cache=True)
def _min_fill(
    graph: Mask, fill: IntArray, alive: Mask, bias: NDArray[np.float64], limit: float
) -> tuple[IntArray, Mask, float, int]:
    """Eliminate the bit of least ``fill * bias`` until none is left, or the tables reach the limit.

    ``fill`` is kept up to date pair by pair, ten times as fast as counting it anew.
    """
    graph, fill, alive = graph.copy(), fill.copy(), alive.copy()
    count = len(graph)
    degree = np.zeros(count, np.int64)
    for bit in range(count):
        degree[bit] = graph[bit].sum()
    order = np.empty(alive.sum(), np.int64)
    cost, steps = 0.0, count * count
    for place in range(len(order)):
        bit, least = -1, np.inf
        for other in range(count):
            if alive[other] and fill[other] * bias[other] < least:
                bit, least = other, fill[other] * bias[other]
        order[place], alive[bit] = bit, False
        cost += 2.0 ** degree[bit]
        if cost >= limit:
            break
        around = np.flatnonzero(graph[bit])
        for i in range(len(around)):
            for j in range(i):
                a, b = around[i], around[j]
                if graph[a, b]:
                    continue
                common = 0
                for other in range(count):
                    both = graph[a, other] & graph[b, other]
                    fill[other] -= both
                    common += both
                fill[a] += degree[a] - common
                fill[b] += degree[b] - common
                graph[a, b] = graph[b, a] = True
                degree[a] += 1
                degree[b] += 1
                steps += count
        for neighbour in around:
            # They are a clique now: what is missing no more are pairs with the bit itself.
            fill[neighbour] -= degree[neighbour] - len(around)
            degree[neighbour] -= 1
            graph[neighbour, bit] = False
    return order, graph, cost, steps


# -- memory and time -------------------------------------------------------------------------------


def _lay_out(graph: Mask, order: _Order, cut: list[int], dtype: np.dtype[Any]) -> Plan:
    """Turn an order into a plan: who takes in whose table, how often, and where the tables lie."""
    around, parents = _tree(order.bits, order.neighbours)
    sizes = np.array([1 << len(bits) for bits in around], dtype=np.int64)
    # Also through the tables that it takes in.
    depends = graph[order.bits][:, cut]
    for number, parent in enumerate(parents):
        if parent >= 0:
            depends[parent] |= depends[number]
    nested = _nested(depends, sizes)
    # Bits of the cut are set one after the other: the last one that matters decides.
    depth = (depends[:, nested] * np.arange(1, len(cut) + 1)).max(axis=1, initial=0)
    sequence = _sequence(parents, sizes, depth)
    bits, sizes, depth = order.bits[sequence], sizes[sequence], depth[sequence]
    # The tree stays the same, its buckets have other numbers.
    around, parents = _tree(bits, order.neighbours)
    inputs: list[list[int]] = [[] for _ in parents]
    for number, parent in enumerate(parents):
        if parent >= 0:
            inputs[parent].append(number)
    tables, entries = _places(parents, inputs, sizes, depth)
    choices = np.concatenate([[0], np.cumsum((sizes + 7) // 8)]).tolist()
    buckets = tuple(
        Bucket(*bucket)
        for bucket in zip(
            bits.tolist(),
            around,
            map(tuple, inputs),
            depth.tolist(),
            tables,
            choices[:-1],
            strict=True,
        )
    )
    fixed = np.array(cut, dtype=np.int64)[nested]
    seconds = _SETTING * 2.0 ** len(cut) + sum(bucket.seconds for bucket in buckets)
    return Plan(fixed, buckets, entries, dtype, choices[-1], seconds)


def _tree(bits: IntArray, neighbours: Mask) -> tuple[list[IntArray], list[int]]:
    """Each bit's neighbours, the next one to go first, and its place, -1 where there is none."""
    place = np.zeros(len(neighbours), dtype=np.int64)
    place[bits] = np.arange(len(bits))
    around = [np.flatnonzero(neighbours[bit]) for bit in bits]
    around = [found[np.argsort(place[found])] for found in around]
    return around, [int(place[found[0]]) if len(found) else -1 for found in around]


def _nested(depends: Mask, sizes: IntArray) -> list[int]:
    """Order of the cut's bits: the least depends on the last one, which changes most often."""
    nested: list[int] = []
    left = list(range(depends.shape[1]))
    weights = sizes.astype(np.float64)
    while left:
        last = left.pop(int(np.argmin(weights @ depends[:, left])))
        nested.insert(0, last)
        weights[depends[:, last]] = 0
    return nested


def _sequence(parents: list[int], sizes: IntArray, depth: IntArray) -> list[int]:
    """Buckets in the order they are computed: by depth, then a subtree at a time, the largest first.

    So few tables wait at a time for the bucket that takes them in.
    """
    peak = sizes.tolist()
    children: list[list[int]] = [[] for _ in parents]
    stack: list[int] = []
    for number, parent in enumerate(parents):
        (children[parent] if parent >= 0 else stack).append(number)
        if parent >= 0:
            peak[parent] = max(peak[parent], peak[number])
    backwards: list[int] = []
    while stack:
        backwards.append(stack.pop())
        stack.extend(sorted(children[backwards[-1]], key=lambda child: -peak[child]))
    backwards.reverse()
    return sorted(backwards, key=lambda number: int(depth[number]))


def _places(
    parents: list[int], inputs: list[list[int]], sizes: IntArray, depth: IntArray
) -> tuple[list[int], int]:
    """Where each table lies in the memory they share, the first gap that is large enough; and its size.

    Single numbers, what is left of each connected part, lie at the start. A table that is taken in deeper
    down is needed again for every setting there, and stays.
    """
    ends = parents.count(-1)
    places: list[int] = []
    live: list[tuple[int, int, int]] = []
    total, single = ends, 0
    for number, taken in enumerate(inputs):
        if parents[number] < 0:
            places.append(single)
            single += 1
        else:
            size, at, gap = int(sizes[number]), ends, len(live)
            for i, (start, end, _) in enumerate(live):
                if start - at >= size:
                    gap = i
                    break
                at = end
            live.insert(gap, (at, at + size, number))
            places.append(at)
            total = max(total, at + size)
        done = {child for child in taken if depth[child] == depth[number]}
        live = [table for table in live if table[2] not in done]
    return places, total
