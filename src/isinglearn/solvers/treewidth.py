"""Exact solve of a QUBO by elimination, bit after bit: dynamic programming over a tree decomposition.

Why not dwave-samplers' TreeDecompositionSolver: on the paper's tasks it takes 50 to 70 ns per entry of
its tables (floats), ``elimination`` 2 to 4 (integers), and beyond its limit of width 25 everything would
have to be solved again for each setting of some fixed bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import IsingLearnError, MemoryRefused, ProblemRefused, check_count
from isinglearn.lowering.memory import available_memory, estimate_terms
from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.problem.plain import qubo_of_matrix
from isinglearn.solvers.base import Answer, Forecast, Form, Solver, Traits
from isinglearn.solvers.session import Session, check_seconds

if TYPE_CHECKING:
    from isinglearn.solvers.elimination import Bucket, Plan

# Size of a problem for which lowering and planning take about a second at most: bits of the QCBO, terms
# of its rows, bits of the QUBO.
FORESEEN_BITS, FORESEEN_TERMS, FORESEEN_SPINS = 2000, 150_000, 3000
# Blocks of a table between two looks at the clock, some hundredths of a second.
_PIECE = 1 << 10


class Treewidth(Solver):
    """Proves the minimum of a QUBO whose bits are coupled loosely, given memory for its tables."""

    name = "treewidth"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    traits: ClassVar[Traits] = Traits(exact=True, starts=True)

    @dataclass(frozen=True)
    class Options:
        """Limits: what a solve will need is known before it starts.

        Attributes
        ----------
        max_bytes
            Memory for tables. Bits are fixed to keep to it, which costs little time for the first ones.
        max_seconds
            Refuse what is expected to take longer.
        """

        max_bytes: int = 2 << 30
        max_seconds: float = 600.0

        def __post_init__(self) -> None:
            check_count(self.max_bytes, "max_bytes", 1, 2**62)
            check_seconds(self.max_seconds, "max_seconds")

    @classmethod
    def forecast(cls, problem: Problem) -> Forecast | None:
        """The plan's time and memory; ``None`` where it would take long to make, or be refused."""
        try:
            terms = estimate_terms(problem.network, problem.data, problem.options)
            if terms > FORESEEN_TERMS or problem.qcbo.num_bits > FORESEEN_BITS:
                return None
            if problem.qubo.num_variables > FORESEEN_SPINS:
                return None
            made = _plan(problem.qubo, cls.Options())
        except IsingLearnError:
            return None
        return Forecast(made.seconds, made.bytes, str(made))

    def prepare(self, form: QUBO, options: Options) -> None:
        """Compile or load the kernels for tables of such integers."""
        from isinglearn.solvers.elimination import table_integers

        _prepare(table_integers(form.polynomial))

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Turn a QUBO into an assignment of least energy, proved; refuse what takes too much."""
        best = np.zeros((0, form.num_variables), dtype=np.int64)
        least: int | None = None
        if session.start is not None:
            best = session.start[None]
            least = int(form.energy(best)[0])
            session.tell(energy=least)
        if session.stopped:
            return Answer(best, note="stopped before it began")
        made = _plan(form, options)
        session.tell(message=f"{made}, about {made.seconds:.1g} s and {_readable(made.bytes)}")
        tables = _Tables(form, made)
        settings, told = 1 << len(made.cut), session.elapsed
        for setting in range(settings):
            if not tables.compute(setting, session):
                return Answer(best, note=f"stopped in setting {setting + 1} of {settings}")
            energy = tables.energy
            if least is None or energy < least:
                least, best = energy, tables.assignment()[None]
                session.tell(energy=energy)
            if session.elapsed > told + 1:
                told = session.elapsed
                session.tell(message=f"{setting + 1} of {settings} settings")
        session.tell(bound=least)
        return Answer(best, bound=least)


@cache
def _prepare(integers: np.dtype[Any]) -> None:
    """Run everything once on two bits whose energies need integers of this size."""
    large = 1.0 if integers == np.int32 else 2.0**40
    qubo, _ = qubo_of_matrix(np.array([[large, -large], [-large, large]]))
    Treewidth().solve(qubo, Treewidth.Options(), Session(1))


def _plan(qubo: QUBO, options: Treewidth.Options) -> Plan:
    """The plan of a solve within the limits, or a refusal."""
    # Numba is slow to import, and not needed to list the solvers.
    from isinglearn.solvers.elimination import plan

    room = min(options.max_bytes, available_memory() or options.max_bytes)
    made = plan(qubo, room, options.max_seconds)
    limits = f"at most {_readable(room)} and {options.max_seconds:g} s"
    needs = f"{made}: {_readable(made.bytes)} and about {made.seconds:.2g} s"
    if made.bytes > room:
        raise MemoryRefused(
            "the tables would need more memory than allowed, or more spins fixed than there is time for",
            where="solver='treewidth'",
            rule=limits,
            received=needs,
            remedy="raise max_bytes or max_seconds, or use solver='cpsat'",
        )
    if made.seconds > options.max_seconds:
        raise ProblemRefused(
            "this would take longer than allowed",
            where="solver='treewidth'",
            rule=limits,
            received=needs,
            remedy="raise max_seconds, or use solver='cpsat'",
        )
    return made


def _readable(count: int) -> str:
    """Bytes in the largest unit that they make at least one of."""
    units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    power = min((count.bit_length() - 1) // 10, len(units) - 1)
    return f"{count / 1024**power:.3g} {units[power]}"


class _Tables:
    """The tables of all buckets for one setting of the cut; the next one reuses what it leaves as it is."""

    def __init__(self, qubo: QUBO, made: Plan) -> None:
        import scipy.sparse

        self.plan = made
        self.offset = qubo.offset
        matrix = qubo.to_matrix()
        self.linear = matrix.diagonal()
        upper = scipy.sparse.triu(matrix, 1, format="csr")
        # Both triangles, so that a row holds all couplings of its bit.
        self._couplings = scipy.sparse.csr_array(upper + upper.T)
        self._cut_couplings = self._couplings[made.cut].toarray()
        self.fixed = np.zeros(len(made.cut), dtype=np.int64)
        self.fields = self.linear
        self.tables = np.empty(made.entries, dtype=made.dtype)
        self.choices = np.empty(made.choice_bytes, dtype=np.uint8)
        self._ready = [self._prepared(bucket) for bucket in made.buckets]
        self._ends = [bucket.table for bucket in made.buckets if not len(bucket.neighbours)]

    def _prepared(self, bucket: Bucket) -> tuple[IntArray, IntArray, NDArray[Any]]:
        """Where the tables that a bucket takes in start, what each neighbour adds, and its couplings."""
        place = {bit: i for i, bit in enumerate(bucket.neighbours.tolist())}
        taken = [self.plan.buckets[number] for number in bucket.inputs]
        strides = np.zeros((len(taken), len(place)), dtype=np.int64)
        for row, source in zip(strides, taken, strict=True):
            # The bucket's own bit is their lowest digit.
            others = [place[bit] for bit in source.neighbours[1:].tolist()]
            row[others] = 2 << np.arange(len(others))
        couplings = np.zeros(len(place), dtype=self.plan.dtype)
        begin, end = self._couplings.indptr[bucket.bit : bucket.bit + 2]
        coupled = self._couplings.indices[begin:end].tolist()
        for bit, value in zip(coupled, self._couplings.data[begin:end], strict=True):
            # Other bits are fixed, or went before and left a table.
            if bit in place:
                couplings[place[bit]] = value
        starts = np.array([source.table for source in taken], dtype=np.int64)
        return starts, strides, couplings

    def compute(self, setting: int, session: Session) -> bool:
        """Set the cut's bits, the settings in turn, and compute what that changes; False if stopped."""
        from isinglearn.solvers.buckets import BLOCK, eliminate

        size = len(self.plan.cut)
        # The first bit is the highest digit. Counting up changes some low digits, that is last bits.
        unchanged = size - (setting ^ (setting - 1)).bit_length() if setting else -1
        self.fixed = setting >> np.arange(size)[::-1] & 1
        self.fields = self.linear + self.fixed @ self._cut_couplings
        for bucket, ready in zip(self.plan.buckets, self._ready, strict=True):
            if bucket.depth <= unchanged:
                continue
            field = self.plan.dtype.type(self.fields[bucket.bit])
            blocks = 1 << max(0, len(bucket.neighbours) - BLOCK)
            for first in range(0, blocks, _PIECE):
                if session.stopped:
                    return False
                piece = first, min(first + _PIECE, blocks)
                places = bucket.table, bucket.choices
                eliminate(self.tables, self.choices, *ready, field, *places, *piece)
        return True

    @property
    def energy(self) -> int:
        """Least energy for this setting of the cut."""
        # A coupling within the cut is in the fields of both of its bits.
        fields = (self.linear + self.fields)[self.plan.cut]
        ends = self.tables[self._ends].sum(dtype=np.int64)
        return self.offset + int(self.fixed @ fields) // 2 + int(ends)

    def assignment(self) -> IntArray:
        """All bits of least energy for this setting of the cut, from the last bucket to the first."""
        bits = np.zeros(len(self.linear), dtype=np.int64)
        bits[self.plan.cut] = self.fixed
        for bucket in reversed(self.plan.buckets):
            digits = bits[bucket.neighbours]
            entry = int(digits @ (1 << np.arange(len(digits))))
            bits[bucket.bit] = self.choices[bucket.choices + (entry >> 3)] >> (entry & 7) & 1
        return bits
