"""Reads in rounds: deadline, news and stop for machines that have none of them within a call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.session import Session

# Turns a seed and a number of reads into bits, one row per read, in the order of the QUBO's variables.
Draw = Callable[[int, int], IntArray]


def no_rows(qubo: QUBO) -> IntArray:
    """Turn a QUBO into an answer without any assignment of it."""
    return np.zeros((0, qubo.num_variables), dtype=np.int64)


def collect(
    qubo: QUBO,
    session: Session,
    reads: int,
    per_round: int,
    draw: Draw,
    *,
    plain_first: bool = False,
) -> IntArray:
    """Turn rounds of reads into rows, one per read; each better energy is told, a stop ends it.

    Every round has a seed of its own, which follows from the session's seed and the number of the round
    alone: what a round gives does not depend on how many there are or how long they take. With
    ``plain_first`` the first one has the session's seed itself, so that a single round is what the machine
    gives for that seed.
    """
    found = [no_rows(qubo)]
    for number, done in enumerate(range(0, reads, per_round)):
        if session.stopped:
            break
        seed = session.seed if plain_first and not number else _seed(session.seed, number)
        rows = draw(seed, min(per_round, reads - done))
        found.append(rows)
        session.tell(energy=int(qubo.energy(rows).min()))
    return np.concatenate(found)


def _seed(seed: int, number: int) -> int:
    """A 32-bit seed, independent for every round."""
    return int(np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(1)[0])
