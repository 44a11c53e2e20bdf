"""A good feasible network, found quickly: its loss is the upper bound that penalty weights rest on.

Coordinate descent from random starts. Any feasible network gives a valid bound; a better one only gives
smaller weights. The work is bounded by a count of evaluations, not by a clock, so that compiling the
same data gives the same bytes on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from isinglearn.problem.encodings import IntArray

# Starts, and how many (sample, network) evaluations all of them may take together: about a second.
STARTS = 40
EVALUATIONS = 1 << 23
# Values of one parameter that are tried in one step.
MOST_VALUES = 1 << 10

Score = Callable[[IntArray], IntArray]


def find_incumbent(domains: list[range], score: Score, samples: int, start: IntArray) -> IntArray:
    """Turn the parameters' value sets and a score (batch of vectors to losses) into a good vector."""
    # Python's generator: its stream for a seed is guaranteed, so compiled bytes never depend on versions.
    rng = Random(0)
    descent = Descent(domains, score, samples)
    best, best_loss = descent.run(start, rng)
    for _ in range(STARTS - 1):
        if best_loss == 0 or descent.left <= 0:
            break
        random = np.array([values[int(rng.random() * len(values))] for values in domains])
        vector, loss = descent.run(random, rng)
        if loss < best_loss:
            best, best_loss = vector, loss
    return best


def candidates(values: range) -> IntArray:
    """The values to try: all, or evenly spaced ones with both ends where there are very many."""
    if len(values) <= MOST_VALUES:
        return np.array(values, dtype=np.int64)
    places = [i * (len(values) - 1) // (MOST_VALUES - 1) for i in range(MOST_VALUES)]
    return np.array([values[place] for place in places], dtype=np.int64)


class Descent:
    """Best value of one parameter after the other until none improves, within a common budget."""

    def __init__(self, domains: list[range], score: Score, samples: int) -> None:
        self.domains = [candidates(values) for values in domains]
        self.score = score
        self.samples = samples
        self.left = EVALUATIONS

    def run(self, vector: IntArray, rng: Random) -> tuple[IntArray, int]:
        """Turn a start into a local optimum and its loss."""
        loss = int(self.score(vector[None])[0])
        improved = True
        while improved and self.left > 0 and loss > 0:
            improved = False
            for place in np.argsort([rng.random() for _ in self.domains]):
                values = self.domains[place]
                trials = np.repeat(vector[None], len(values), axis=0)
                trials[:, place] = values
                losses = self.score(trials)
                self.left -= len(values) * self.samples
                winner = int(np.argmin(losses))
                if losses[winner] < loss:
                    vector, loss, improved = trials[winner], int(losses[winner]), True
                if self.left <= 0:
                    break
        return vector, loss
