"""A good feasible network, found quickly: its loss is the upper bound that penalty weights rest on.

Coordinate descent from many starts at once, then from the best of them with small changes. Any feasible
network gives a valid bound; a better one only gives smaller weights. The work is bounded by a count of
evaluations, not by a clock, so that compiling the same data gives the same bytes on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from random import Random

import numpy as np

from isinglearn.problem.encodings import IntArray

# Vectors that descend together, rounds of descent, and how many (sample, network) evaluations all may
# take: about a tenth of a second for small problems, never more than a few seconds.
VECTORS = 24
ROUNDS = 3
EVALUATIONS = 1 << 23
# Numbers that the forward passes may touch; less than EVALUATIONS allow only in wide networks.
NUMBERS = 1 << 30
# Values of one parameter that are tried in one step.
MOST_VALUES = 1 << 10

Score = Callable[[IntArray], IntArray]


def find_incumbent(
    domains: list[range], score: Score, work: tuple[int, int], start: IntArray
) -> IntArray:
    """Turn the parameters' values and a score (batch of vectors to losses) into a good vector.

    ``work`` is the number of samples, and of numbers that a forward pass of one of them touches.
    """
    # Python's generator: its stream for a seed is guaranteed, so compiled bytes never depend on versions.
    rng = Random(0)
    values = [candidates(domain) for domain in domains]
    budget = evaluations(*work)
    count = max(1, min(VECTORS, budget // (4 * sum(map(len, values)))))
    others = [[_pick(own, rng) for own in values] for _ in range(count - 1)]
    vectors = np.array([start, *others], dtype=np.int64)
    pool, losses = descend(values, score, vectors, budget, rng)
    for _ in range(ROUNDS - 1):
        # The better half, each with two parameters changed at random, descends again.
        best = np.argsort(losses, kind="stable")[: max(1, count // 2)]
        moved = pool[np.resize(best, count)]
        for vector in moved:
            for place in (int(rng.random() * len(values)) for _ in range(2)):
                vector[place] = _pick(values[place], rng)
        found, scores = descend(values, score, moved, budget, rng)
        pool = np.concatenate([pool[best], found])
        losses = np.concatenate([losses[best], scores])
        if losses.min() == 0:
            break
    return pool[np.argmin(losses)]


def evaluations(samples: int, work: int) -> int:
    """How many networks may be evaluated, by samples and numbers per sample."""
    return max(1, min(EVALUATIONS // samples, NUMBERS // (samples * work)))


def _pick(values: IntArray, rng: Random) -> int:
    return int(values[int(rng.random() * len(values))])


def descend(
    values: list[IntArray], score: Score, vectors: IntArray, budget: int, rng: Random
) -> tuple[IntArray, IntArray]:
    """Turn vectors into local optima and their losses: the best value of one parameter after the other.

    All vectors move in lockstep, so that one call scores every value for every vector. ``budget`` is the
    number of networks that may be scored.
    """
    vectors = vectors.copy()
    losses = score(vectors)
    order = cycle(np.argsort([rng.random() for _ in values]).tolist())
    # A vector is done once no parameter in a whole round improves it.
    idle = np.zeros(len(vectors), dtype=np.int64)
    while budget > 0 and losses.min() > 0 and (idle < len(values)).any():
        place = next(order)
        own, moving = values[place], np.flatnonzero(idle < len(values))
        if len(own) < 2:
            idle[moving] += 1
            continue
        # Every value but the present one.
        present = np.searchsorted(own, vectors[moving, place])
        others = own[(present[:, None] + np.arange(1, len(own))) % len(own)]
        trials = np.repeat(vectors[moving], len(own) - 1, axis=0)
        trials[:, place] = others.ravel()
        scores = score(trials).reshape(others.shape)
        budget -= scores.size
        every, winner = np.arange(len(moving)), scores.argmin(axis=1)
        best = scores[every, winner]
        better = best < losses[moving]
        gained = moving[better]
        vectors[gained, place] = others[every, winner][better]
        losses[gained] = best[better]
        idle[moving] += 1
        idle[gained] = 1
    return vectors, losses


def candidates(values: range) -> IntArray:
    """The values to try: all, or evenly spaced ones with both ends where there are very many."""
    if len(values) <= MOST_VALUES:
        return np.array(values, dtype=np.int64)
    places = [i * (len(values) - 1) // (MOST_VALUES - 1) for i in range(MOST_VALUES)]
    return np.array([values[place] for place in places], dtype=np.int64)
