"""Reads to success probabilities, with exact intervals, and to the histogram of their losses."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.decode import decode_vectors
from isinglearn.errors import (
    OptionError,
    SolverError,
    check_count,
)
from isinglearn.lowering.pipeline import INFEASIBLE, Problem
from isinglearn.problem.bits import as_bits
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.reading import Result
from isinglearn.solvers.run import Run

# What reads can be given as: a run, its result, or plain bits of the QUBO, one row per read.
Reads = Run | Result | ArrayLike


@dataclass(frozen=True)
class Proportion:
    """Successes among reads, with a Clopper-Pearson interval at this confidence."""

    successes: int
    reads: int
    confidence: float = 0.95

    def __post_init__(self) -> None:
        check_count(self.reads, "reads")
        check_count(self.successes, "successes", 0, self.reads)
        check_share(self.confidence, "confidence")

    @property
    def estimate(self) -> Fraction:
        """Share of the reads that succeeded."""
        return Fraction(self.successes, self.reads)

    @property
    def interval(self) -> tuple[float, float]:
        """All probabilities that do not make these counts a surprise, from either side.

        At the lower end so many successes or more, at the upper end so many or fewer, have the probability
        ``(1 - confidence) / 2``.
        """
        from scipy.special import betaincinv

        tail = (1 - self.confidence) / 2
        hits, misses = self.successes, self.reads - self.successes
        low = float(betaincinv(hits, misses + 1, tail)) if hits else 0.0
        high = float(betaincinv(hits + 1, misses, 1 - tail)) if misses else 1.0
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        low, high = self.interval
        return {
            "successes": self.successes,
            "reads": self.reads,
            "confidence": self.confidence,
            "estimate": float(self.estimate),
            "low": low,
            "high": high,
        }


@dataclass(frozen=True)
class Successes:
    """How many reads found an optimum.

    Attributes
    ----------
    repaired
        Counted on the true loss: the parameters of the read, everything else by a forward pass.
    raw
        Counted on the energy of the bits as they are, which is the least possible. None where there are no
        bits of a QUBO, or its least energy is not known.
    """

    repaired: Proportion
    raw: Proportion | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        raw = None if self.raw is None else self.raw.to_dict()
        return {"repaired": self.repaired.to_dict(), "raw": raw}


def successes(
    problem: Problem,
    found: Reads,
    optimum: Fraction | int,
    *,
    reads: int | None = None,
    dropped_fail: bool = False,
    ground_energy: int | None = None,
    confidence: float = 0.95,
) -> Successes:
    """Turn reads into how many of them are optimal, on the true loss and on the raw energy.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    found
        A run, its result, or bits of the QUBO, one row per read.
    optimum
        The least loss of any network, proved.
    reads
        How many reads were made; has to be said for a run or a result. Rows that repeat others or found
        nothing may be missing there, and polishing adds some: no count without this is honest.
    dropped_fail
        Count reads without a row as failures, for a solver that returns one row per read but drops reads
        that found nothing.
    ground_energy
        Least energy of the QUBO; follows from ``optimum`` unless penalty weights were set by hand.
    confidence
        Of the intervals.
    """
    scores, energies = _outcomes(problem, found)
    asked = _count_reads(found, len(scores), reads, dropped_fail)
    least = _energy(problem, optimum)
    good = _count(scores, least, "loss times scale")
    certified = problem.options.penalty is None and problem.options.product_weight is None
    ground = least if ground_energy is None and certified else ground_energy
    raw = None
    if energies is not None and ground is not None:
        raw = Proportion(_count(energies, ground, "energy"), asked, confidence)
    return Successes(Proportion(good, asked, confidence), raw)


def loss_histogram(problem: Problem, found: Reads) -> dict[Fraction, int]:
    """Turn reads into how many rows have which true loss, the least first.

    Networks that the form cannot express (predictions outside the paper's box) are left out.
    """
    scores, _ = _outcomes(problem, found)
    values, counts = np.unique(scores[scores != INFEASIBLE], return_counts=True)
    scale = problem.qcbo.scale
    pairs = zip(values.tolist(), counts.tolist(), strict=True)
    return {Fraction(value, scale): count for value, count in pairs}


def _outcomes(problem: Problem, found: Reads) -> tuple[IntArray, IntArray | None]:
    """Turn reads into integer losses after repair, and raw energies where there are bits."""
    if isinstance(found, Run | Result):
        result = found.result if isinstance(found, Run) else found
        vectors, bits = result.vectors, result.bits
    else:
        bits = as_bits(found, problem.qubo.num_variables, "found")
        vectors = decode_vectors(problem, problem.qubo, bits)
    none = np.zeros(0, dtype=np.int64)
    scores = problem.scores(vectors) if len(vectors) else none
    return scores, None if bits is None else problem.qubo.energy(bits)


def _count_reads(found: Reads, rows: int, reads: int | None, dropped_fail: bool) -> int:
    if reads is None and not isinstance(found, Run | Result):
        reads = rows
    if reads is None:
        raise OptionError(
            "how many reads were made is not known",
            where="reads",
            rule="the number of reads, for a run or a result",
            received="nothing",
            remedy="pass reads=, as many as the solver was asked for",
        )
    check_count(reads, "reads")
    if rows == reads or (rows < reads and dropped_fail):
        return reads
    raise SolverError(
        "the rows are not the reads",
        where="successes(reads=...)",
        rule="one row per read, no more (polish adds some) and no less (a solver may drop some)",
        received=f"{rows} rows for {reads} reads",
        remedy="pass the bits of every read; if only reads that found nothing are missing, dropped_fail=True",
    )


def _energy(problem: Problem, loss: Fraction | int) -> int:
    energy = Fraction(loss) * problem.qcbo.scale
    if energy.denominator == 1:
        return int(energy)
    raise OptionError(
        "no network of this problem has this loss",
        where="optimum",
        rule=f"a multiple of 1/{problem.qcbo.scale}",
        received=loss,
        remedy="pass the exact fraction, such as run.best.loss",
    )


def _count(values: IntArray, least: int, what: str) -> int:
    if len(values) and int(values.min()) < least:
        raise SolverError(
            "a read is better than the optimum given",
            where="optimum",
            rule=f"no {what} below {least}",
            received=int(values.min()),
            remedy="pass the proved optimum; the QUBO has lower energies only if its weights are too small",
        )
    return int((values == least).sum())


def check_probability(value: object, where: str) -> None:
    """Raise unless the value lies between 0 and 1, both allowed."""
    if not isinstance(value, bool) and isinstance(value, Real) and 0 <= float(value) <= 1:
        return
    raise OptionError(
        "this is no probability",
        where=where,
        rule="a number from 0 to 1",
        received=repr(value),
        remedy="0.95 means 95 %",
    )


def check_share(value: float, where: str) -> None:
    """Raise unless the value lies between 0 and 1, both left out."""
    if not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < 1:
        return
    raise OptionError(
        "this is no share",
        where=where,
        rule="a number between 0 and 1",
        received=repr(value),
        remedy="0.95 means 95 %",
    )
