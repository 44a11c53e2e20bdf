"""Many reads of one model: single flips by annealing or tempering, or the walk on parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.annealer.follow import Program
from isinglearn.solvers.annealer.models import Dense, Model, Sparse
from isinglearn.solvers.annealer.reads import BLOCK, Best, Stop, in_parallel, seeds
from isinglearn.solvers.annealer.schedule import Temperatures, geometric, range_of, range_of_walk
from isinglearn.solvers.session import Session

# No energy is below this: a target that is never reached.
_NO_TARGET = -(2**62)
_NOT_FOUND = 2**62
# Streams of random numbers: starts, moves, the probe.
_STARTS, _MOVES, _PROBE = 0, 1, 2
_PROBED = 2000
# Random states that the range of temperatures is derived from.
_SURVEYED = 8


@dataclass(frozen=True)
class Effort:
    """How much is done, and how.

    Attributes
    ----------
    reads, sweeps, threads
        Independent reads, proposals per spin or parameter in each, threads to share them.
    hot, cold
        Ends of the range of temperatures, in units of energy; ``None`` derives them from the problem.
    target
        Stop as soon as an energy is at most this.
    replicas
        With two or more: parallel tempering of so many replicas per read; ``sweeps`` are rounds then.
    """

    reads: int
    sweeps: int
    threads: int
    hot: float | None = None
    cold: float | None = None
    target: int | None = None
    replicas: int = 0

    def temperatures(self, hot: float, cold: float, count: int) -> Temperatures:
        """The schedule, ends not given taken from the problem."""
        return geometric(self.hot or hot, self.cold or cold, count)


@dataclass(frozen=True, eq=False)
class Found:
    """Best assignment of every read that was begun, with its energy."""

    rows: IntArray
    energies: IntArray


def flip_spins(model: Model, effort: Effort, session: Session, start: IntArray | None) -> Found:
    """Turn a model into bits by single flips, from random starts or from one that is given."""
    kernels = _module("kernels")
    arrays, terms = _arrays(model)
    levels = effort.replicas or effort.sweeps
    per_read = max(1, effort.replicas)
    moves = seeds(session.seed, _MOVES, effort.reads * per_read).reshape(effort.reads, per_read)
    target = (_NO_TARGET if effort.target is None else effort.target) - model.offset
    found = _Collected(effort.reads, model.size, session, model.offset, np.int8)
    kind = model.linear.dtype if isinstance(model, Dense | Sparse) else np.dtype(np.int64)
    temperatures = effort.temperatures(*_survey(arrays, terms, model.size, kind, session), levels)

    def states(random: NDArray[np.uint64]) -> tuple[Any, ...]:
        size = len(random)
        signs = np.zeros((size, model.size), dtype=kind)
        if start is None:
            kernels.scatter(signs, random)
        else:
            signs[:] = 1 - 2 * start
        whole = (
            signs,
            np.zeros((size, model.size), dtype=kind),
            np.zeros((size, terms), dtype=np.int32),
            np.zeros(size, dtype=np.int64),
            np.zeros_like(signs),
            np.zeros(size, dtype=np.int64),
        )
        kernels.begin(arrays, *whole)
        return whole

    def cool(read: int, count: int, stop: Stop) -> bool:
        random = moves[read : read + count, 0].copy()
        whole = states(random)
        for block in _blocks(temperatures, count * model.size):
            kernels.anneal(arrays, *whole, random, block, target, kernels.LOGARITHMS)
            if stop() or (whole[5] <= target).any():
                break
        return found.take(np.arange(read, read + count), (1 - whole[4]) // 2, whole[5]) <= target

    def temper(read: int, count: int, stop: Stop) -> bool:
        reached = False
        for one in range(read, read + count):
            random = moves[one].copy()
            whole = states(random)
            rounds = max(1, BLOCK // (per_read * model.size))
            # Which replica has which temperature; kept from block to block.
            holders = np.arange(per_read)
            for done in range(0, effort.sweeps, rounds):
                last = min(done + rounds, effort.sweeps)
                reached = kernels.temper(
                    arrays,
                    *whole,
                    random,
                    temperatures,
                    holders,
                    done,
                    last,
                    target,
                    kernels.LOGARITHMS,
                )
                if reached or stop():
                    break
            best = whole[5].argmin(keepdims=True)
            found.take(np.array([one]), (1 - whole[4][best]) // 2, whole[5][best])
            if reached or stop():
                break
        return reached

    _run(temper if effort.replicas > 1 else cool, effort, model.size * per_read, session, found)
    return found.all()


def follow_parameters(
    program: Program, effort: Effort, session: Session, start: IntArray | None
) -> Found:
    """Turn a program into assignments of all its variables by the walk on its parameters."""
    kernels = _module("follow_kernels")
    size = len(program.parameters)
    arrays = program.arrays
    given = program.random_parameters(
        seeds(session.seed, _STARTS, effort.reads * size).reshape(effort.reads, size)
    )
    (random,) = seeds(session.seed, _PROBE, 1)
    mean, least = kernels.probe(arrays, given[0], random, _PROBED)
    temperatures = effort.temperatures(*range_of_walk(mean, least), effort.sweeps)
    if start is not None:
        given[:] = start[program.parameters]
    moves = seeds(session.seed, _MOVES, effort.reads)
    target = _NO_TARGET if effort.target is None else effort.target
    # Leaving a range costs about what the largest changes of the loss do: a wall that can be climbed.
    fine = np.int64(max(1, 4 * mean))
    found = _Collected(effort.reads, len(program.lo), session, 0, np.int64)

    def walk(read: int, count: int, stop: Stop) -> bool:
        best = np.zeros((count, len(program.lo)), dtype=np.int64)
        lowest = np.full(count, _NOT_FOUND)
        kernels.walk(
            arrays,
            given[read : read + count],
            best,
            lowest,
            moves[read : read + count].copy(),
            temperatures,
            fine,
            target,
            stop.flag,
            _module("kernels").LOGARITHMS,
        )
        within = lowest < _NOT_FOUND
        return found.take(read + np.flatnonzero(within), best[within], lowest[within]) <= target

    # A proposal touches many rows.
    _run(walk, effort, size * max(1, len(program.rows) // size), session, found)
    return found.all()


def _module(name: str) -> Any:
    """The kernels, loaded on first use: importing Numba takes a while."""
    return import_module(f"isinglearn.solvers.annealer.{name}")


class _Collected:
    """Where reads put what they found."""

    def __init__(
        self, reads: int, size: int, session: Session, offset: int, kind: type[Any]
    ) -> None:
        self.rows = np.zeros((reads, size), dtype=kind)
        self.energies = np.full(reads, _NOT_FOUND)
        self.offset = offset
        self.best = Best(session)

    def take(self, places: IntArray, rows: NDArray[Any], energies: IntArray) -> int:
        """Keep rows and their energies; returns the lowest of them, without the offset."""
        if not len(energies):
            return _NOT_FOUND
        self.rows[places] = rows
        self.energies[places] = energies + self.offset
        self.best.offer(int(energies.min()) + self.offset)
        return int(energies.min())

    def all(self) -> Found:
        """Everything found so far."""
        begun = self.energies < _NOT_FOUND
        return Found(self.rows[begun].astype(np.int64), self.energies[begun])


def _run(
    work: Callable[[int, int, Stop], bool],
    effort: Effort,
    size: int,
    session: Session,
    found: _Collected,
) -> None:
    """Share the reads: several short ones at once, so that calling a kernel costs next to nothing."""
    together = max(1, min(BLOCK // (size * effort.sweeps), -(-effort.reads // effort.threads)))

    def group(number: int, stop: Stop) -> bool:
        first = number * together
        return work(first, min(together, effort.reads - first), stop)

    in_parallel(group, -(-effort.reads // together), effort.threads, session, found.best.tell)


def _blocks(temperatures: Temperatures, size: int) -> list[Temperatures]:
    step = max(1, BLOCK // size)
    return [temperatures[at : at + step] for at in range(0, len(temperatures), step)]


def _arrays(model: Model) -> tuple[tuple[Any, ...], int]:
    """The model as the kernels take it, and how many terms need a count of zeros."""
    if isinstance(model, Dense):
        return (model.linear, model.pairs), 1
    if isinstance(model, Sparse):
        return (model.linear, model.pointers, model.neighbours, model.values), 1
    arrays = model.ends, model.members, model.coefficients, model.pointers, model.terms
    return arrays, len(model.coefficients)


def _survey(
    arrays: tuple[Any, ...], terms: int, size: int, kind: np.dtype[Any], session: Session
) -> tuple[float, float]:
    """The range of temperatures, from a few random states."""
    kernels = _module("kernels")
    random = seeds(session.seed, _PROBE, _SURVEYED)
    signs = np.zeros((_SURVEYED, size), dtype=kind)
    kernels.scatter(signs, random)
    zeros = np.zeros((_SURVEYED, terms), dtype=np.int32)
    return range_of(
        *kernels.survey(arrays, signs, np.zeros_like(signs), zeros, random, kernels.LOGARITHMS)
    )
