"""The inner loop of the walk on parameters: change one, recompute what follows, keep it or undo it.

``program`` is the tuple of arrays of ``follow.Program``; ``work`` holds what a walk needs besides the values:
the totals of all rows, the rows touched by the proposal at hand (in a queue per level, with their totals from
before), and a journal of the variables it changed.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int64, njit, uint64

from isinglearn.solvers.annealer.kernels import draw

# Kinds of rows, see ``follow.RULES`` and ``follow.SHAPES``.
_SIGN, _STEP, _DIVIDE, _POSITIVE, _LINEAR, _SQUARE, _PAIRS = 1, 2, 3, 4, 5, 6, 7


@njit(inline="always")
def _defined(kind, total, factor):
    """The value that a definition gives to its variable."""
    if kind == _SIGN:
        return int64(1) if total >= 0 else int64(-1)
    if kind == _STEP:
        return int64(1) if total >= 0 else int64(0)
    if kind == _POSITIVE:
        return max(total, int64(0))
    return total // factor if kind == _DIVIDE else total


@njit(inline="always")
def _shaped(kind, total):
    """What a row of the objective contributes, without its weight."""
    if kind == _SQUARE:
        return total * total
    return total * (total - 1) // 2 if kind == _PAIRS else total


@njit(nogil=True)
def _new_work(program):
    kinds, levels, constants, lo = program[0], program[3], program[4], program[9]
    rows, depth = len(kinds), levels[-1] + 1
    return (
        constants.copy(),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.bool_),
        np.zeros((depth, rows), dtype=np.uint32),
        np.zeros(depth, dtype=np.int64),
        np.zeros(len(lo), dtype=np.uint32),
        np.zeros(len(lo), dtype=np.int64),
    )


@njit(nogil=True)
def _change(program, work, values, variable, new):
    """Give a variable a new value and mark every row that it occurs in."""
    _, _, _, levels, _, pointers, rows, coefficients, partners, _, _, _, _ = program
    totals, before, marked, queue, count, _, _ = work
    old = values[variable]
    step = new - old
    for at in range(pointers[variable], pointers[variable + 1]):
        row = rows[at]
        if not marked[row]:
            marked[row] = True
            before[row] = totals[row]
            level = levels[row]
            queue[level, count[level]] = row
            count[level] += 1
        partner = partners[at]
        if partner < 0:
            totals[row] += coefficients[at] * step
        elif partner == variable:
            totals[row] += coefficients[at] * (new * new - old * old)
        else:
            totals[row] += coefficients[at] * step * values[partner]
    values[variable] = new


@njit(nogil=True)
def _follow(program, work, values, changed):
    """Recompute level by level what the marked rows define.

    ``changed`` variables are in the journal already. Returns how many are now, the change of the energy, and
    by how many more variables are outside their ranges.
    """
    kinds, targets, factors, _, _, _, _, _, _, lo, hi, _, _ = program
    totals, before, _, queue, count, journal, olds = work
    last = len(count) - 1
    outside = int64(0)
    for level in range(last):
        for place in range(count[level]):
            row = queue[level, place]
            new = _defined(kinds[row], totals[row], factors[row])
            target = targets[row]
            old = values[target]
            if new == old:
                continue
            journal[changed], olds[changed] = target, old
            changed += 1
            outside += int64(new < lo[target] or new > hi[target])
            outside -= int64(old < lo[target] or old > hi[target])
            _change(program, work, values, target, new)
    energy = int64(0)
    for place in range(count[last]):
        row = queue[last, place]
        kind = kinds[row]
        energy += factors[row] * (_shaped(kind, totals[row]) - _shaped(kind, before[row]))
    return changed, energy, outside


@njit(nogil=True)
def _keep(work):
    """Forget the proposal: its rows are as they should be."""
    _, _, marked, queue, count, _, _ = work
    for level in range(len(count)):
        for place in range(count[level]):
            marked[queue[level, place]] = False
        count[level] = 0


@njit(nogil=True)
def _undo(work, values, changed):
    """Put back what the proposal changed."""
    totals, before, marked, queue, count, journal, olds = work
    for level in range(len(count)):
        for place in range(count[level]):
            row = queue[level, place]
            totals[row] = before[row]
            marked[row] = False
        count[level] = 0
    for place in range(changed):
        values[journal[place]] = olds[place]


@njit(nogil=True)
def _settle(program, work, values, given):
    """Set the parameters and compute all that follows; returns energy and variables out of range."""
    kinds, targets, factors, levels, _, _, _, _, _, lo, hi, _, parameters = program
    totals, before, marked, queue, count, _, _ = work
    energy = int64(0)
    for row in range(len(kinds)):
        if targets[row] < 0:
            energy += factors[row] * _shaped(kinds[row], totals[row])
        marked[row] = True
        before[row] = totals[row]
        queue[levels[row], count[levels[row]]] = row
        count[levels[row]] += 1
    outside = int64(0)
    for variable in range(len(values)):
        # All begin at 0, which may be outside already.
        outside += int64(lo[variable] > 0 or hi[variable] < 0)
    for place in range(len(parameters)):
        variable = parameters[place]
        outside -= int64(lo[variable] > 0 or hi[variable] < 0)
        _change(program, work, values, variable, given[place])
    _, change, more = _follow(program, work, values, 0)
    _keep(work)
    return energy + change, outside + more


@njit(nogil=True)
def _proposed(lo, hi, step, old, random):
    """Another value: the other one of two, else as often a neighbour as any."""
    if hi - lo == step:
        return lo + hi - old
    if random & uint64(1):
        return old + (step if random & uint64(2) else -step)
    return lo + step * int64((random >> uint64(12)) % uint64((hi - lo) // step + 1))


@njit(nogil=True, cache=True)
def probe(program, given, random, proposals):
    """Mean and least cost, signs and zeros dropped, of proposals along a walk that takes all of them."""
    lo, hi, steps, parameters = program[9], program[10], program[11], program[12]
    work = _new_work(program)
    values = np.zeros(len(lo), dtype=np.int64)
    _settle(program, work, values, given)
    total, count, least = 0.0, 0, np.int64(2**62)
    for _ in range(proposals):
        random = draw(random)
        variable = parameters[(random >> uint64(33)) % uint64(len(parameters))]
        random = draw(random)
        new = _proposed(lo[variable], hi[variable], steps[variable], values[variable], random)
        if new < lo[variable] or new > hi[variable] or new == values[variable]:
            continue
        _change(program, work, values, variable, new)
        _, cost, _ = _follow(program, work, values, 0)
        _keep(work)
        if cost != 0:
            total += abs(cost)
            count += 1
            least = min(least, abs(cost))
    return total / max(count, 1), least


@njit(nogil=True, cache=True)
def walk(program, given, best, lowest, random, temperatures, fine, target, flag, logarithms):
    """Anneal every read from its parameters; stop at a read that reaches the target.

    ``fine`` is what a variable outside its range costs. ``best`` gets all variables of the best state within
    ranges, ``lowest`` its energy (2^62 if there was none). Ends early once ``flag`` is set. Returns how many
    reads were finished.
    """
    lo, hi, steps, parameters = program[9], program[10], program[11], program[12]
    _, _, _, _, _, journal, olds = work = _new_work(program)
    values = np.zeros(len(lo), dtype=np.int64)
    for read in range(len(given)):
        work[0][:] = program[4]
        values[:] = 0
        energy, outside = _settle(program, work, values, given[read])
        lowest[read] = np.int64(2**62)
        if outside == 0:
            lowest[read] = energy
            best[read] = values
        state = random[read]
        for temperature in temperatures:
            if lowest[read] <= target or flag[0]:
                break
            for _ in range(len(parameters)):
                state = draw(state)
                variable = parameters[(state >> uint64(33)) % uint64(len(parameters))]
                old = values[variable]
                state = draw(state)
                new = _proposed(lo[variable], hi[variable], steps[variable], old, state)
                if new < lo[variable] or new > hi[variable] or new == old:
                    continue
                journal[0], olds[0] = variable, old
                _change(program, work, values, variable, new)
                changed, change, more = _follow(program, work, values, 1)
                cost = change + fine * more
                state = draw(state)
                if cost > 0 and float32(cost) > temperature * logarithms[state >> uint64(52)]:
                    _undo(work, values, changed)
                    continue
                _keep(work)
                energy += change
                outside += more
                if outside == 0 and energy < lowest[read]:
                    lowest[read] = energy
                    best[read] = values
        random[read] = state
        if lowest[read] <= target or flag[0]:
            return read + 1
    return len(given)
