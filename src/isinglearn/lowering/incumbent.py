"""A good feasible network, found quickly: its loss is the upper bound that penalty weights rest on.

Coordinate descent from random starts. Any feasible network gives a valid bound; a better one only gives
smaller weights. The work is bounded by a count of evaluations, not by a clock, so that compiling the
same data gives the same bytes on any machine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isinglearn.problem.encodings import IntArray

# Starts, and how many (sample, network) evaluations all of them may take together: about a second.
STARTS = 40
EVALUATIONS = 1 << 23

Score = Callable[[IntArray], IntArray]


def find_incumbent(
    domains: list[IntArray], score: Score, samples: int, start: IntArray
) -> IntArray:
    """Turn the parameters' value sets and a score (batch of vectors to losses) into a good vector."""
    rng = np.random.default_rng(0)
    descent = _Descent(domains, score, samples)
    best, best_loss = descent.run(start, rng)
    for _ in range(STARTS - 1):
        if best_loss == 0 or descent.left <= 0:
            break
        random = np.array([rng.choice(values) for values in domains])
        vector, loss = descent.run(random, rng)
        if loss < best_loss:
            best, best_loss = vector, loss
    return best


class _Descent:
    """Best value of one parameter after the other until none improves, within a common budget."""

    def __init__(self, domains: list[IntArray], score: Score, samples: int) -> None:
        self.domains = domains
        self.score = score
        self.samples = samples
        self.left = EVALUATIONS

    def run(self, vector: IntArray, rng: np.random.Generator) -> tuple[IntArray, int]:
        """Turn a start into a local optimum and its loss."""
        loss = int(self.score(vector[None])[0])
        improved = True
        while improved and self.left > 0 and loss > 0:
            improved = False
            for place in rng.permutation(len(self.domains)):
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
