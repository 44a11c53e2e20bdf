"""The search of ``patterns``: which behaviour for each hidden unit, which output parameters.

Let ``a_1..a_H`` be the patterns of the hidden units on the data (+1 and -1), ``a_0 = 1`` and ``G`` their
weighted Gram matrix. An output ``t_0 a_0 + .. + t_H a_H`` has the integer loss

    f(t) = t' G t - 2 b' t + q,        b_j = sum_i w_i y_i a_j(i),        q = sum_i w_i y_i^2,

so a loss needs no sample, only inner products of patterns, tabulated once. Two prunings:

* Without the grid of ``t``, least squares gives the least loss of a choice of patterns. Patterns are
  projected out one after the other (Gram-Schmidt on the table), which costs a few operations per choice;
  only where this bound is below the best known loss the output parameters are searched.
* There the same projections write ``f(t) = rest + sum_j D_j (t_j + sum_(i>j) L_ij t_i - z_j)^2``, which
  confines ``t_H``, then ``t_(H-1)``, ..; ``t_0`` has a closed form. Losses are exact integers.

The bounds are doubles. What makes them proofs: a ridge ``r |t|^2`` is added to ``f``, so that no pivot
``D_j`` is near 0 whatever the patterns, and ``r |t|^2`` at its largest plus many times all rounding errors
is conceded in every comparison (``Tables.slack``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray

FloatArray = NDArray[np.float64]
# No loss yet: above every loss.
NO_LOSS = 1 << 62
# Combinations of activations are listed once each up to this many units.
_MOST_CODED = 12


class Tables(NamedTuple):
    """A training problem of two layers, as far as a search over patterns needs it.

    Level ``j`` is what ``t_j`` multiplies: level 0 the bias of the outputs, level ``j`` hidden unit ``j``.
    Pattern 0 is constant +1.

    Attributes
    ----------
    gram
        ``gram[p, q] = sum_i w_i a_p(i) a_q(i)``; only row 0 where there is one unit.
    labels, squares
        ``labels[k, p] = sum_i w_i y_ik a_p(i)`` and ``squares[k] = sum_i w_i y_ik^2`` for output ``k``.
    first, last
        Level ``j`` has the patterns ``first[j]..last[j] - 1``.
    kind
        Units of equal kind can be exchanged; they are neighbours.
    low
        Units behind level ``j`` that are of another kind have no pattern before ``low[j]``.
    grid
        ``(start, step, count)`` of the values of ``t_j`` in output ``k``, shape (outputs, levels, 3).
    signs
        Patterns on the inputs whose outputs must lie in ``box``, shape (patterns, inputs).
    box
        Least and greatest output.
    ridge
        What is added to the diagonal of ``gram``.
    slack
        How much the bound in doubles of an output's loss can exceed that loss.
    """

    gram: IntArray
    labels: IntArray
    squares: IntArray
    first: IntArray
    last: IntArray
    kind: IntArray
    low: IntArray
    grid: IntArray
    signs: NDArray[np.int8]
    box: IntArray
    ridge: float
    slack: FloatArray


class State(NamedTuple):
    """Where a search is: the best so far, the present choice, and its projections.

    Attributes
    ----------
    best
        The least loss so far, and the number of steps taken in searches of output parameters.
    best_choice, best_values
        Patterns by level and ``t`` by output and level of that loss.
    choice
        The pattern at each level.
    pivots
        Squared norm of each chosen pattern after the projection of those before it.
    cross, norm, slope
        After the projection of levels ``0..j``: inner product of the ``j``-th with every pattern, squared
        norm of what is left of every pattern, and inner product of that with the labels.
    rest
        What is left of every output's loss then.
    """

    best: IntArray
    best_choice: IntArray
    best_values: IntArray
    choice: IntArray
    pivots: FloatArray
    cross: FloatArray
    norm: FloatArray
    slope: FloatArray
    rest: FloatArray


def begin(tables: Tables) -> State:
    """Turn tables into the state before the first choice: all but the bias at its first pattern."""
    outputs, patterns = tables.labels.shape
    levels = len(tables.first)
    state = State(
        best=np.array([NO_LOSS, 0]),
        best_choice=np.zeros(levels, dtype=np.int64),
        best_values=np.zeros((outputs, levels), dtype=np.int64),
        choice=tables.first.copy(),
        pivots=np.zeros(levels),
        cross=np.zeros((levels, patterns)),
        norm=np.zeros((levels, patterns)),
        slope=np.zeros((levels, outputs, patterns)),
        rest=np.zeros((levels, outputs)),
    )
    pivot = float(tables.gram[0, 0]) + tables.ridge
    state.pivots[0] = pivot
    state.cross[0] = tables.gram[0]
    state.norm[0] = pivot - state.cross[0] ** 2 / pivot
    own = tables.labels[:, :1].astype(np.float64)
    state.slope[0] = tables.labels - own / pivot * state.cross[0]
    state.rest[0] = tables.squares - own[:, 0] ** 2 / pivot
    return state


def descend(tables: Tables, state: State, choice: IntArray) -> None:
    """Improve a choice of patterns unit by unit by its least squares; keep the best network met."""
    units = len(tables.first) - 1
    choice, order = choice.copy(), np.arange(units + 1)
    lowest, unchanged = float(tables.squares.sum()), 0
    while unchanged < units:
        # The next unit comes last, where all its patterns are looked at in one go.
        order[1:] = np.roll(order[1:], -1)
        before, state.choice[:] = state.best[0], choice[order]
        sweep(_reordered(tables, order), state, 1, 1)
        if state.best[0] < before:
            place = np.argsort(order)
            state.best_choice[:] = state.best_choice[place]
            state.best_values[:] = state.best_values[:, place]
        unit = order[-1]
        low, high = tables.first[unit], tables.last[unit]
        gains = (state.slope[units - 1, :, low:high] ** 2).sum(axis=0)
        gains /= state.norm[units - 1, low:high]
        choice[unit] = low + np.argmax(gains)
        # Losses are whole numbers: less than one is no progress, nor is what rounding makes of ties.
        reached = float(state.rest[units - 1].sum() - gains.max())
        unchanged = 0 if reached < (1 - 2.0**-30) * lowest - 1 else unchanged + 1
        lowest = min(lowest, reached)
    state.choice[:] = tables.first


def _reordered(tables: Tables, order: IntArray) -> Tables:
    """The same problem with its levels in another order, each a kind of its own."""
    return tables._replace(
        first=tables.first[order],
        last=tables.last[order],
        kind=order,
        low=np.zeros_like(order),
        grid=np.ascontiguousarray(tables.grid[:, order]),
    )


# -- kernels ---------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy")
def sweep(tables, state, fresh, limit):  # type: ignore[no-untyped-def]
    """Go on from ``state.choice`` until about ``limit`` choices have been looked at.

    ``fresh`` is the first level whose projection is out of date. Returns the next such level, 0 at the
    end, and the number of choices looked at.
    """
    gram, first, last, kind = tables.gram, tables.first, tables.last, tables.kind
    choice, pivots, cross = state.choice, state.pivots, state.cross
    norm, slope, rest = state.norm, state.slope, state.rest
    top = len(first) - 1
    seen = 0
    steps = state.best[1]
    while seen + state.best[1] - steps < limit:
        for level in range(fresh, top):
            low = tables.low[level]
            if kind[level + 1] == kind[level]:
                low = min(low, choice[level])
            _project(gram, choice, pivots, cross, norm, slope, rest, level, low)
        at = choice[top - 1] if kind[top] == kind[top - 1] else first[top]
        seen += last[top] - at
        while at < last[top]:
            best, slack = state.best[0], tables.slack
            at = _next(norm[top - 1], slope[top - 1], rest[top - 1], slack, best, at, last[top])
            if at < last[top]:
                choice[top] = at
                _search_outputs(tables, state)
                at += 1
        fresh = top - 1
        while fresh > 0:
            choice[fresh] += 1
            if choice[fresh] < last[fresh]:
                break
            fresh -= 1
        if fresh == 0:
            break
        for level in range(fresh + 1, top):
            choice[level] = choice[level - 1] if kind[level] == kind[level - 1] else first[level]
    return fresh, seen


@njit(cache=True, error_model="numpy")
def _project(gram, choice, pivots, cross, norm, slope, rest, level, low):  # type: ignore[no-untyped-def]
    """Project the pattern of a level out of the patterns from ``low`` on and of the labels."""
    pattern = choice[level]
    # Rows cut to what is needed: loops over them become vector instructions.
    inner, products = cross[level, low:], gram[pattern, low:]
    size = len(inner)
    for q in range(size):
        inner[q] = products[q]
    for i in range(level):
        factor = cross[i, pattern] / pivots[i]
        earlier = cross[i, low:]
        for q in range(size):
            inner[q] -= factor * earlier[q]
    pivots[level] = norm[level - 1, pattern]
    scale = 1.0 / pivots[level]
    before, after = norm[level - 1, low:], norm[level, low:]
    for q in range(size):
        after[q] = before[q] - inner[q] * inner[q] * scale
    for k in range(slope.shape[1]):
        own = slope[level - 1, k, pattern]
        factor = own * scale
        rest[level, k] = rest[level - 1, k] - own * factor
        before, after = slope[level - 1, k, low:], slope[level, k, low:]
        for q in range(size):
            after[q] = before[q] - factor * inner[q]


@njit(cache=True, error_model="numpy")
def _next(norm, slope, rest, slack, best, low, high):  # type: ignore[no-untyped-def]
    """The first of the patterns ``low..high - 1`` whose bound allows a better loss, else ``high``."""
    # Least squares less the best loss, which a pattern has to make up for; all rounding conceded.
    needed = np.float64(1 - best)
    for k in range(len(rest)):
        needed += rest[k] - slack[k]
    for q in range(low, high):
        gain = slope[0, q] * slope[0, q]
        for k in range(1, len(slope)):
            gain += slope[k, q] * slope[k, q]
        if gain >= needed * norm[q]:
            return q
    return high


@njit(cache=True, error_model="numpy")
def _search_outputs(tables, state):  # type: ignore[no-untyped-def]
    """Find the best output parameters of the present choice, if they are better than the best."""
    choice, pivots = state.choice, state.pivots
    outputs, levels = tables.grid.shape[0], len(choice)
    top = levels - 1
    pivots[top] = state.norm[top - 1, choice[top]]
    # Everything of the choice in small arrays: the search of a row knows nothing of patterns.
    gram = np.empty((levels, levels), np.int64)
    factors = np.zeros((levels, levels))
    tied = np.zeros(levels, np.bool_)
    for j in range(levels):
        gram[j, j] = tables.gram[0, 0]
        for i in range(j):
            gram[i, j] = gram[j, i] = tables.gram[choice[i], choice[j]]
            factors[j, i] = state.cross[i, choice[j]] / pivots[i]
        if 0 < j < top and choice[j] == choice[j + 1]:
            tied[j] = tables.kind[j] == tables.kind[j + 1]
    cells = _cells(tables.signs, choice)
    labels = np.empty((outputs, levels), np.int64)
    centres = np.empty((outputs, levels))
    rests = np.empty(outputs)
    least = np.empty(outputs, np.int64)
    known = np.int64(0)
    for k in range(outputs):
        for j in range(levels):
            labels[k, j] = tables.labels[k, choice[j]]
            slope = state.slope[j - 1, k, choice[j]] if j > 0 else np.float64(labels[k, 0])
            centres[k, j] = slope / pivots[j]
        rests[k] = state.rest[top - 1, k] - centres[k, top] * centres[k, top] * pivots[top]
        least[k] = max(0.0, math.ceil(rests[k] - tables.slack[k]))
        known += least[k]
    values = np.empty((outputs, levels), np.int64)
    for k in range(outputs):
        # Less than what the other outputs leave of the best loss: exact for those before, a bound after.
        known -= least[k]
        limit = state.best[0] - known
        lattice = (gram, labels[k], tables.squares[k], tables.grid[k], cells, tables.box)
        shape = (factors, pivots, centres[k], rests[k] - tables.slack[k])
        loss, steps = _search_row(lattice, shape, tied, limit, values[k])
        state.best[1] += steps
        if loss < 0:
            return
        known += loss
    state.best[0] = known
    for j in range(levels):
        state.best_choice[j] = choice[j]
        for k in range(outputs):
            state.best_values[k, j] = values[k, j]


@njit(cache=True, error_model="numpy")
def _cells(signs, choice):  # type: ignore[no-untyped-def]
    """Every combination of hidden activations that occurs, shape (combinations, levels)."""
    levels, inputs = len(choice), signs.shape[1]
    coded = levels - 1 <= _MOST_CODED
    seen = np.zeros(1 << (levels - 1) if coded else 1, np.bool_)
    cells = np.empty((min(inputs, len(seen)) if coded else inputs, levels), np.int64)
    size = 0
    for i in range(inputs):
        code = 0
        for j in range(1, levels):
            code = 2 * code + (signs[choice[j], i] > 0)
        if coded and seen[code]:
            continue
        if coded:
            seen[code] = True
        for j in range(levels):
            cells[size, j] = signs[choice[j], i]
        size += 1
    return cells[:size]


@njit(cache=True, error_model="numpy")
def _search_row(lattice, shape, tied, limit, found):  # type: ignore[no-untyped-def]
    """Find the ``t`` of least loss below ``limit``; returns that loss, or -1, and the number of steps.

    ``t`` is written to ``found``. Values are fixed from the last level down, at each level those first
    that cost least (Schnorr and Euchner's order), so that one too many ends the level; ``t_0`` comes
    last, by its formula.
    """
    grid = lattice[3]
    factors, pivots, centres, rest = shape
    levels = len(pivots)
    t = np.zeros(levels, np.int64)
    spent = np.zeros(levels)
    # Of each level: where the real optimum lies on the grid, the grid's ends, the next values to take
    # below and above, and the value taken.
    aim = np.zeros(levels)
    place = np.zeros((5, levels), np.int64)
    low, high, down, up, at = place
    loss, steps = np.int64(-1), 0
    j = levels - 1
    spent[j] = rest
    entering = True
    while j < levels:
        start, step = grid[j, 0], grid[j, 1]
        if entering:
            entering = False
            aim[j] = centres[j]
            for i in range(j + 1, levels):
                aim[j] -= factors[i, j] * t[i]
            aim[j] = (aim[j] - start) / step
            low[j], high[j] = 0, grid[j, 2] - 1
            if tied[j]:
                # Only the sum of the two counts: near equal parts reach every sum there is.
                low[j], high[j] = max(low[j], at[j + 1] - 1), at[j + 1]
            down[j] = math.floor(min(max(aim[j], 1.0 * low[j]), 1.0 * high[j]))
            up[j] = down[j] + 1
        if up[j] > high[j] or (down[j] >= low[j] and aim[j] - down[j] <= up[j] - aim[j]):
            at[j] = down[j]
            down[j] -= 1
        else:
            at[j] = up[j]
            up[j] += 1
        steps += 1
        t[j] = start + step * at[j]
        total = spent[j] + pivots[j] * ((at[j] - aim[j]) * step) ** 2
        if at[j] < low[j] or total > limit - 1:
            j += 1
        elif j > 1:
            j -= 1
            spent[j] = total
            entering = True
        else:
            reached = _finish(lattice, t, limit)
            if reached >= 0:
                loss = limit = reached
                for i in range(levels):
                    found[i] = t[i]
    return loss, steps


@njit(cache=True, error_model="numpy")
def _finish(lattice, t, limit):  # type: ignore[no-untyped-def]
    """Set ``t[0]`` to its best value; returns the exact loss if it is below ``limit``, else -1."""
    gram, labels, square, grid, cells, box = lattice
    weight, slope, base = gram[0, 0], labels[0], square
    for j in range(1, len(t)):
        inner = t[j] * weight - 2 * labels[j]
        for i in range(1, j):
            inner += 2 * t[i] * gram[i, j]
        base += t[j] * inner
        slope -= t[j] * gram[0, j]
    start, step = grid[0, 0], grid[0, 1]
    low, high = np.int64(0), grid[0, 2] - 1
    # Twice: in most cases the free optimum is too bad already, and the box need not be looked at.
    for boxed in range(2):
        if boxed:
            for cell in cells:
                value = start
                for j in range(1, len(t)):
                    value += t[j] * cell[j]
                low = max(low, -((value - box[0]) // step))
                high = min(high, (box[1] - value) // step)
        if low > high:
            return -1
        place = (slope - weight * start) // (weight * step)
        here = start + step * min(max(place, low), high)
        there = start + step * min(max(place + 1, low), high)
        loss = here * (weight * here - 2 * slope) + base
        other = there * (weight * there - 2 * slope) + base
        t[0] = here if loss <= other else there
        loss = min(loss, other)
        if loss >= limit:
            return -1
        if len(cells) == 0:
            break
    return loss
