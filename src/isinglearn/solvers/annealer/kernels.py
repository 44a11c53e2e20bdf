"""The inner loops, on integers: a sweep over all spins, sweeps of many reads, parallel tempering.

State of a read: ``signs`` (+1 for x = 0, -1 for x = 1, so that ``signs[i] * fields[i]`` is what flipping spin
``i`` costs), ``fields`` (the derivative of the energy by each bit), ``zeros`` (for terms of higher degree:
how many of a term's bits are 0), its energy, its random numbers, and the best state so far.

A proposal is accepted if ``cost <= T * -ln(u)`` (Metropolis); one that costs nothing only every second time:
accepting it always makes a sweep in fixed order run in circles on a plateau.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int64, njit, uint64
from numba.extending import overload

# -ln(u) from a table: 12 bits of randomness, the largest value is 9.0.
LOGARITHMS = -np.log((np.arange(4096) + 0.5) / 4096).astype(np.float32)
# Beyond this many temperatures a proposal is refused without drawing a number.
_NEVER = float32(9.1)
# A temperature at which nothing that costs is taken, and sweeps at it that end every descent.
_FROZEN = float32(1e-6)
_DESCENTS = 100
# Largest value that a temperature turned into an integer may have.
_HUGE = float32(2.0**62)


@njit(inline="always")
def draw(random):
    """One step of a 64-bit xorshift generator."""
    random ^= random << uint64(13)
    random ^= random >> uint64(7)
    random ^= random << uint64(17)
    return random


@njit(inline="always")
def _accepts(cost, temperature, random, logarithms):
    if cost == 0:
        return random & uint64(1) == uint64(0)
    return float32(cost) <= temperature * logarithms[random >> uint64(52)]


@njit(inline="always")
def _cutoff(temperature):
    return int64(min(temperature * _NEVER, _HUGE))


# -- pairs, dense ----------------------------------------------------------------------------------


@njit(nogil=True)
def _prepare_dense(linear, pairs, signs, fields):
    energy = int64(0)
    fields[:] = linear
    for i in range(len(linear)):
        if signs[i] < 0:
            energy += fields[i]
            for j in range(len(linear)):
                fields[j] += pairs[i, j]
    return energy


@njit(nogil=True)
def _sweep_dense(pairs, signs, fields, temperature, random, logarithms):
    size, change, never = len(signs), int64(0), _cutoff(temperature)
    for i in range(size):
        sign = signs[i]
        cost = int64(fields[i]) * sign
        if cost > never:
            continue
        random = draw(random)
        if not _accepts(cost, temperature, random, logarithms):
            continue
        change += cost
        row = pairs[i]
        # A product, not a branch on the sign: that would be mispredicted half of the time.
        for j in range(size):
            fields[j] += sign * row[j]
        signs[i] = -sign
    return change, random


# -- pairs, sparse ---------------------------------------------------------------------------------


@njit(nogil=True)
def _prepare_sparse(linear, pointers, neighbours, values, signs, fields):
    energy = int64(0)
    fields[:] = linear
    for i in range(len(linear)):
        if signs[i] < 0:
            energy += fields[i]
            for at in range(pointers[i], pointers[i + 1]):
                fields[neighbours[at]] += values[at]
    return energy


@njit(nogil=True)
def _sweep_sparse(pointers, neighbours, values, signs, fields, temperature, random, logarithms):
    change, never = int64(0), _cutoff(temperature)
    for i in range(len(signs)):
        sign = signs[i]
        cost = int64(fields[i]) * sign
        if cost > never:
            continue
        random = draw(random)
        if not _accepts(cost, temperature, random, logarithms):
            continue
        change += cost
        for at in range(pointers[i], pointers[i + 1]):
            fields[neighbours[at]] += sign * values[at]
        signs[i] = -sign
    return change, random


# -- terms of any degree ---------------------------------------------------------------------------


@njit(nogil=True)
def _prepare_higher(ends, members, coefficients, signs, fields, zeros):
    energy = int64(0)
    fields[:] = 0
    for term in range(len(coefficients)):
        missing = 0
        for at in range(ends[term], ends[term + 1]):
            missing += signs[members[at]] > 0
        zeros[term] = missing
        if missing == 0:
            energy += coefficients[term]
        for at in range(ends[term], ends[term + 1]):
            i = members[at]
            # The term counts for a bit if all its other bits are 1.
            if missing - (signs[i] > 0) == 0:
                fields[i] += coefficients[term]
    return energy


@njit(nogil=True)
def _flip_higher(i, ends, members, coefficients, pointers, terms, signs, fields, zeros):
    sign = signs[i]
    for place in range(pointers[i], pointers[i + 1]):
        term = terms[place]
        # Zeros among the other bits: with two or more the term is 0 for everybody, before and after.
        others = zeros[term] - (sign > 0)
        zeros[term] -= sign
        if others > 1:
            continue
        value = coefficients[term] * sign
        for at in range(ends[term], ends[term + 1]):
            j = members[at]
            if j != i and others - (signs[j] > 0) == 0:
                fields[j] += value
    signs[i] = -sign


@njit(nogil=True)
def _sweep_higher(
    ends,
    members,
    coefficients,
    pointers,
    terms,
    signs,
    fields,
    zeros,
    temperature,
    random,
    logarithms,
):
    change, never = int64(0), _cutoff(temperature)
    for i in range(len(signs)):
        cost = fields[i] * signs[i]
        if cost > never:
            continue
        random = draw(random)
        if not _accepts(cost, temperature, random, logarithms):
            continue
        change += cost
        _flip_higher(i, ends, members, coefficients, pointers, terms, signs, fields, zeros)
    return change, random


# -- one name for all three: the model is a tuple of arrays, told apart by its length --------------

# The plain functions are names for Numba, which compiles the overload that fits; Python never runs them.

_DENSE, _SPARSE = 2, 4


def _prepare(model, signs, fields, zeros):
    """Set fields and zeros from the signs and return the energy."""
    raise NotImplementedError


@overload(_prepare)
def _overload_prepare(model, signs, fields, zeros):
    if len(model) == _DENSE:
        return lambda model, signs, fields, zeros: _prepare_dense(model[0], model[1], signs, fields)
    if len(model) == _SPARSE:
        return lambda model, signs, fields, zeros: _prepare_sparse(
            model[0], model[1], model[2], model[3], signs, fields
        )
    return lambda model, signs, fields, zeros: _prepare_higher(
        model[0], model[1], model[2], signs, fields, zeros
    )


def _sweep(model, signs, fields, zeros, temperature, random, logarithms):
    """Propose every spin once; return the change of energy and the random state."""
    raise NotImplementedError


@overload(_sweep)
def _overload_sweep(model, signs, fields, zeros, temperature, random, logarithms):
    if len(model) == _DENSE:
        return lambda model, signs, fields, zeros, temperature, random, logarithms: _sweep_dense(
            model[1], signs, fields, temperature, random, logarithms
        )
    if len(model) == _SPARSE:
        return lambda model, signs, fields, zeros, temperature, random, logarithms: _sweep_sparse(
            model[1], model[2], model[3], signs, fields, temperature, random, logarithms
        )
    return lambda model, signs, fields, zeros, temperature, random, logarithms: _sweep_higher(
        model[0],
        model[1],
        model[2],
        model[3],
        model[4],
        signs,
        fields,
        zeros,
        temperature,
        random,
        logarithms,
    )


@njit(nogil=True, cache=True)
def scatter(signs, random):
    """Random signs for every read, from its own random numbers."""
    for read in range(len(signs)):
        state = random[read]
        for i in range(signs.shape[1]):
            state = draw(state)
            signs[read, i] = 1 - 2 * int64(state >> uint64(63))
        random[read] = state


@njit(nogil=True, cache=True)
def begin(model, signs, fields, zeros, energies, best, lowest):
    """Turn signs (reads, spins) into whole states; every state is its own best so far."""
    for read in range(len(signs)):
        energies[read] = _prepare(model, signs[read], fields[read], zeros[read])
        lowest[read] = energies[read]
        best[read] = signs[read]


@njit(nogil=True, cache=True)
def survey(model, signs, fields, zeros, random, logarithms):
    """Costs of flips, of every read: the mean at its state, and the least above 0 where descent ends."""
    means = np.zeros(len(signs))
    leasts = np.zeros(len(signs), dtype=np.int64)
    for read in range(len(signs)):
        _prepare(model, signs[read], fields[read], zeros[read])
        total = 0.0
        for i in range(signs.shape[1]):
            total += abs(float(fields[read, i]))
        means[read] = total / signs.shape[1]
        for _ in range(_DESCENTS):
            change, random[read] = _sweep(
                model, signs[read], fields[read], zeros[read], _FROZEN, random[read], logarithms
            )
            if change == 0:
                break
        for i in range(signs.shape[1]):
            cost = int64(fields[read, i]) * signs[read, i]
            if cost > 0 and (leasts[read] == 0 or cost < leasts[read]):
                leasts[read] = cost
    return means, leasts


@njit(nogil=True, cache=True)
def anneal(
    model, signs, fields, zeros, energies, best, lowest, random, temperatures, target, logarithms
):
    """Sweep every read through all temperatures; stop at a read that reaches the target.

    Returns how many reads were finished.
    """
    for read in range(len(signs)):
        energy, state = energies[read], random[read]
        for temperature in temperatures:
            change, state = _sweep(
                model, signs[read], fields[read], zeros[read], temperature, state, logarithms
            )
            energy += change
            if energy < lowest[read]:
                lowest[read] = energy
                best[read] = signs[read]
                if energy <= target:
                    break
        energies[read], random[read] = energy, state
        if lowest[read] <= target:
            return read + 1
    return len(signs)


@njit(nogil=True, cache=True)
def temper(
    model,
    signs,
    fields,
    zeros,
    energies,
    best,
    lowest,
    random,
    temperatures,
    holders,
    begun,
    ended,
    target,
    logarithms,
):
    """Sweep replicas, each at its own temperature, and exchange neighbours after every sweep.

    Rounds ``begun`` to ``ended``; ``holders[k]`` is the replica that has the k-th temperature. ``random[0]``
    decides the exchanges. Returns True once a replica has reached the target.
    """
    replicas = len(signs)
    for replica in range(replicas):
        if lowest[replica] <= target:
            return True
    for turn in range(begun, ended):
        for k in range(replicas):
            replica = holders[k]
            change, random[replica] = _sweep(
                model,
                signs[replica],
                fields[replica],
                zeros[replica],
                temperatures[k],
                random[replica],
                logarithms,
            )
            energies[replica] += change
            if energies[replica] < lowest[replica]:
                lowest[replica] = energies[replica]
                best[replica] = signs[replica]
                if lowest[replica] <= target:
                    return True
        for k in range(turn & 1, replicas - 1, 2):
            hot, cold = holders[k], holders[k + 1]
            rate = float32(1.0) / temperatures[k + 1] - float32(1.0) / temperatures[k]
            random[0] = draw(random[0])
            # Exchange with probability exp(rate * (E_cold - E_hot)), always if that is above 1.
            cost = -rate * float32(energies[cold] - energies[hot])
            if cost <= logarithms[random[0] >> uint64(52)]:
                holders[k], holders[k + 1] = cold, hot
    return False
