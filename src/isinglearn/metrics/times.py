"""Success probabilities and seconds to the time to solution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from isinglearn.errors import (
    check_count,
)
from isinglearn.metrics.reads import (
    Proportion,
    check_probability,
    check_share,
    loss_histogram,
    successes,
)
from isinglearn.solvers.run import Run
from isinglearn.solvers.session import check_seconds


@dataclass(frozen=True)
class TimeToSolution:
    """Seconds until an optimum was found with probability ``target``; infinite if none ever was.

    Attributes
    ----------
    seconds_per_read
        What a single read is charged.
    estimate, low, high
        From the estimated probability, and from the ends of its interval.
    """

    target: float
    seconds_per_read: float
    estimate: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; None for an infinite time."""
        return {name: value if math.isfinite(value) else None for name, value in vars(self).items()}


def time_to_solution(
    seconds: float, probability: float, target: float = 0.99, shortest: float | None = None
) -> float:
    """Turn a read's time and success probability into ``t ln(1 - target) / ln(1 - p)``, as in the paper.

    Parameters
    ----------
    seconds
        What a read is charged, ``t``.
    probability
        Of success in a read; 0 gives infinity.
    target
        Wanted probability that at least one read succeeds.
    shortest
        The time is never below this, one read by default: the formula falls below it where a read succeeds
        more often than ``target``.
    """
    check_share(target, "target")
    check_probability(probability, "probability")
    least = seconds if shortest is None else shortest
    if probability == 0:
        return math.inf
    if probability == 1:
        return least
    return max(least, seconds * math.log1p(-target) / math.log1p(-probability))


def _time(success: Proportion, seconds: float, shortest: float, target: float) -> TimeToSolution:
    low, high = success.interval
    # The better the probability, the shorter the time.
    times = [
        time_to_solution(seconds, p, target, shortest) for p in (float(success.estimate), high, low)
    ]
    return TimeToSolution(target, seconds, *times)


@dataclass(frozen=True)
class Outcome:
    """A probability of success and the times to solution that follow.

    Attributes
    ----------
    per_read
        On one thread, read after read.
    wall_clock
        On all threads, as it was run; never below the duration of one read.
    """

    success: Proportion
    per_read: TimeToSolution
    wall_clock: TimeToSolution

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "success": self.success.to_dict(),
            "per_read": self.per_read.to_dict(),
            "wall_clock": self.wall_clock.to_dict(),
        }


@dataclass(frozen=True)
class Measurement:
    """What one run says about a heuristic.

    Attributes
    ----------
    optimum
        The least loss of any network.
    repaired, raw
        Success counted on the true loss, and on the raw energy; see :class:`Successes`.
    losses
        Pairs of a true loss and how many reads have it, the least loss first.
    seconds, threads
        Wall time of all reads, and on how many threads they ran.
    """

    optimum: Fraction
    repaired: Outcome
    raw: Outcome | None
    losses: tuple[tuple[Fraction, int], ...]
    seconds: float
    threads: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, fractions as text."""
        return {
            "optimum": str(self.optimum),
            "repaired": self.repaired.to_dict(),
            "raw": None if self.raw is None else self.raw.to_dict(),
            "losses": [[str(loss), count] for loss, count in self.losses],
            "seconds": self.seconds,
            "threads": self.threads,
        }


def measure(
    run: Run,
    optimum: Fraction | int,
    *,
    reads: int,
    threads: int,
    seconds: float | None = None,
    target: float = 0.99,
    dropped_fail: bool = False,
    ground_energy: int | None = None,
    confidence: float = 0.95,
) -> Measurement:
    """Turn a run into success probabilities, times to solution and losses.

    Parameters
    ----------
    run
        Not stopped early: a read that was cut short is judged like a whole one.
    optimum, reads, dropped_fail, ground_energy, confidence
        See :func:`successes`.
    threads
        On how many threads the reads ran (of a machine: how many of them it makes at the same time).
    seconds
        Wall time of all reads; the run's own by default.
    target
        Wanted probability of success.
    """
    check_count(threads, "threads")
    total = run.seconds if seconds is None else check_seconds(seconds, "seconds")
    counted = successes(
        run.problem,
        run,
        optimum,
        reads=reads,
        dropped_fail=dropped_fail,
        ground_energy=ground_energy,
        confidence=confidence,
    )
    wall = total / reads
    single = wall * min(threads, reads)

    def outcome(success: Proportion) -> Outcome:
        alone = _time(success, single, single, target)
        return Outcome(success, alone, _time(success, wall, single, target))

    return Measurement(
        Fraction(optimum),
        outcome(counted.repaired),
        None if counted.raw is None else outcome(counted.raw),
        tuple(loss_histogram(run.problem, run).items()),
        total,
        threads,
    )
