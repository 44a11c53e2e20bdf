"""Reads over threads: independent, reproducible from one seed, stopped by deadline, target or caller.

The kernels release the interpreter's lock, so plain threads are enough; which thread does a read never
matters, since every read has its own random numbers. Work is done in blocks of a few milliseconds, so that a
request to stop is heard soon even within one long read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray

from isinglearn.solvers.session import Session

# Proposals in one call of a kernel, a few milliseconds.
BLOCK = 1 << 19


def seeds(seed: int, stream: int, size: int) -> NDArray[np.uint64]:
    """Turn a seed into ``size`` random numbers, none of them 0; a longer list begins with the same ones."""
    sequence = np.random.SeedSequence(seed, spawn_key=(stream,))
    return np.maximum(sequence.generate_state(size, np.uint64), np.uint64(1))


def thread_count(given: int | None) -> int:
    """As many threads as given, or as there are cores for this process."""
    if given is not None:
        return given
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Best:
    """The lowest energy that any thread has found so far, told by the caller's thread."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.energy: int | None = None
        self._lock = threading.Lock()

    def offer(self, energy: int) -> None:
        """Take note of an energy."""
        with self._lock:
            self.energy = energy if self.energy is None else min(energy, self.energy)

    def tell(self) -> None:
        """Pass it on."""
        self.session.tell(energy=self.energy)


class Stop:
    """Whether to end: asked in Python by calling it, by a kernel through ``flag``."""

    def __init__(self, session: Session) -> None:
        self.flag = np.zeros(1, dtype=np.uint8)
        self._session = session

    def __call__(self) -> bool:
        """Whether a target was reached, the time is over, or the caller wants it."""
        return bool(self.flag[0]) or self._session.stopped

    def now(self) -> None:
        """End everything that is under way."""
        self.flag[0] = 1


def in_parallel(
    work: Callable[[int, Stop], bool],
    groups: int,
    threads: int,
    session: Session,
    news: Callable[[], None],
) -> None:
    """Call ``work(group, stop)`` for every group, over threads, until all are done.

    A group that returns True has reached the target: no further one is begun, and those under way are
    stopped, as after a deadline or the caller's stop. The first group is begun in any case, so that there
    is an answer even where setting up the reads took all the time.
    """
    stop = Stop(session)
    numbers = count()
    errors: list[BaseException] = []

    def labour() -> None:
        try:
            while (group := next(numbers)) < groups and (group == 0 or not stop()):
                if work(group, stop):
                    stop.now()
        except BaseException as error:
            errors.append(error)
            stop.now()

    def everything() -> None:
        others = [
            threading.Thread(target=labour, daemon=True) for _ in range(min(threads, groups) - 1)
        ]
        for thread in others:
            thread.start()
        labour()
        for thread in others:
            thread.join()

    session.run_in_background(everything, stop.now, news)
    if errors:
        raise errors[0]
