"""Solvers on a case: reads until the time is over, and what they are worth.

Fair: every solver gets the same wall clock, loading and compiling its kernels not counted, and the same
number of sweeps per read where it has sweeps. Only whole reads count for success and time to solution; what
other reads found only counts as the best that was seen, and the row says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from isinglearn.cli.bench.cases import Case
from isinglearn.cli.parameters import typed
from isinglearn.errors import MemoryRefused, OptionError, SolverError
from isinglearn.metrics import Proportion, time_to_solution
from isinglearn.paper.solvability import effort
from isinglearn.solvers.annealer.reads import thread_count
from isinglearn.solvers.base import SOLVERS, Solver
from isinglearn.solvers.plain import answer, taker, takers
from isinglearn.solvers.session import Session

# Parts of a solver's time that one call fills.
_PARTS = 4
_MOST_READS = 100_000
# Energies that are no whole numbers are alike up to this share of them.
_ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Entry:
    """A solver with options of its own, as "annealer:moves=single" names it."""

    label: str
    solver: Solver
    options: dict[str, Any]

    @classmethod
    def of(cls, label: str) -> Entry:
        """Turn a label into a solver that is installed and takes a QUBO."""
        name, *texts = label.split(":")
        options: dict[str, Any] = {}
        for text in texts:
            option, sign, value = text.partition("=")
            if not sign:
                raise OptionError(
                    "this is no option",
                    where=f"--solvers {label}",
                    rule="name:option=value:...",
                    received=text,
                    remedy="for example annealer:moves=single",
                )
            options[option.replace("-", "_")] = typed(value)
        solver = taker(name)
        solver.read_options(options)
        if not solver.traits.exact:
            # Raises where success in many reads cannot be counted.
            effort(solver, 1, 1)
        return cls(label, solver, options)


def default_labels(*, network: bool) -> tuple[str, ...]:
    """The installed solvers of this machine that take a QUBO; on a network both moves of our annealer."""
    local = [
        name
        for name in takers()
        if SOLVERS[name].available() and not SOLVERS[name].traits.remote and _is_counted(name)
    ]
    return ("annealer:moves=single", *local) if network else tuple(local)


def _is_counted(name: str) -> bool:
    """Whether a solver proves, or makes reads that can be counted."""
    try:
        Entry.of(name)
    except OptionError:
        return False
    return True


@dataclass(eq=False)
class Tally:
    """What a solver's reads were worth.

    Attributes
    ----------
    reads, hits, seconds
        Whole reads, how many of them have each number, and the time they took.
    best
        The least number that was seen at all.
    proof
        Seconds of an exact solver's proof.
    note
        What cannot be said in figures.
    """

    threads: int = 1
    reads: int = 0
    seconds: float = 0.0
    hits: dict[float, int] = field(default_factory=dict)
    best: float | None = None
    proof: float | None = None
    note: str = ""

    def see(self, values: Any) -> None:
        """Take note of what was found, whole reads or not."""
        if len(values):
            least = values.min().item()
            self.best = least if self.best is None else min(self.best, least)

    def count(self, values: Any, reads: int, seconds: float) -> None:
        """Count whole reads; those without a value found nothing."""
        self.reads += reads
        self.seconds += seconds
        for value in values.tolist():
            self.hits[value] = self.hits.get(value, 0) + 1

    @property
    def remarks(self) -> str:
        """The note, and whose the best is where no read that counts has it."""
        apart = (
            self.reads and self.best is not None and self.best < min(self.hits, default=math.inf)
        )
        uncounted = "its best is of reads that do not count: cut short, or made to measure the time"
        return "; ".join(part for part in (self.note, uncounted if apart else "") if part)

    def successes(self, least: float) -> int:
        """How many whole reads reached the least number that is known."""
        return sum(
            count
            for value, count in self.hits.items()
            if value <= least
            or (isinstance(value, float) and math.isclose(value, least, rel_tol=_ALIKE))
        )

    def figures(self, case: Case, least: float | None, target: float) -> dict[str, Any]:
        """Turn counts into a row, given the least number that is known."""
        row: dict[str, Any] = {
            "best": None if self.best is None else case.shown(self.best),
            "above_best_known": (
                None
                if self.best is None or least is None
                else case.shown(self.best) - case.shown(least)
            ),
            "reads": self.reads,
            "seconds": self.seconds,
            "proof_seconds": self.proof,
            "note": self.remarks,
        }
        if not self.reads or least is None:
            return row
        success = Proportion(self.successes(least), self.reads)
        each = self.seconds / self.reads
        low, high = success.interval
        times = [
            time_to_solution(each, share, target, each * self.threads)
            for share in (float(success.estimate), high, low)
        ]
        return row | {
            "successes": success.successes,
            "success": float(success.estimate),
            "success_interval": [low, high],
            "seconds_per_read": each,
            "tts": times[0],
            "tts_interval": times[1:],
        }


def measure(
    tally: Tally,
    entry: Entry,
    case: Case,
    *,
    sweeps: int,
    seconds: float,
    seed: int,
    stopped: Callable[[], bool],
) -> None:
    """Let a solver work on a case and count what it finds."""
    try:
        if entry.solver.traits.exact:
            _prove(tally, entry, case, seconds, seed, stopped)
        else:
            _read(tally, entry, case, sweeps, seconds, seed, stopped)
    except (SolverError, MemoryRefused) as error:
        tally.note = error.what


def _prove(
    tally: Tally,
    entry: Entry,
    case: Case,
    seconds: float,
    seed: int,
    stopped: Callable[[], bool],
) -> None:
    session = Session(1, seed, seconds)
    found = answer(entry.solver, case.qubo, entry.options, session)
    tally.see(case.values(found.rows) if len(found.rows) else found.rows)
    if found.bound is None:
        tally.note = "stopped before the proof" if stopped() else f"no proof in {seconds:g} s"
    elif case.note:
        tally.note = "its proof is one of the rounded coefficients only"
    else:
        tally.proof = session.elapsed


def _read(
    tally: Tally,
    entry: Entry,
    case: Case,
    sweeps: int,
    seconds: float,
    seed: int,
    stopped: Callable[[], bool],
) -> None:
    if entry.solver.name == "annealer":
        tally.threads = thread_count(entry.options.get("threads"))

    def call(reads: int, length: int, limit: float, number: int) -> tuple[bool, float, Any]:
        """Make reads: whether they are whole, how long they took, and their values."""
        # Every call its own random numbers.
        session = Session(1, (seed + number) % 2**31, limit)
        options = effort(entry.solver, reads, length) | entry.options
        rows = answer(entry.solver, case.qubo, options, session).rows
        took = session.elapsed
        return not session.stopped, took, case.values(rows) if len(rows) else rows

    # Loads and compiles what is used, not counted.
    call(1, 1, seconds, 0)
    whole, took, values = call(2, sweeps, seconds, 1)
    tally.see(values)
    reads = max(1, min(_MOST_READS, math.ceil(2 * seconds / _PARTS / max(took, 1e-6))))
    if whole and took > seconds / _PARTS:
        # So long that it counts.
        tally.count(values, 2, took)
    number = 2
    while whole and tally.seconds < seconds and not stopped():
        whole, took, values = call(reads, sweeps, 2 * seconds, number)
        tally.see(values)
        if whole:
            tally.count(values, reads, took)
        number += 1
    if not tally.reads:
        late = f"no read was done in {seconds:g} s"
        tally.note = "stopped before a read was done" if stopped() else late
