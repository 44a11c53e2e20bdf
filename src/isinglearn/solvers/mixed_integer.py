"""A QCBO as a mixed-integer program: what the branch-and-bound solvers, SCIP and Gurobi, have in common.

What makes the proof fast, each measured with SCIP on two moons: products with a bit as linear rows (five
times as fast as quadratic ones), products and costs that need not be whole by force (a factor 3 and
more), losses as lines through the points that residuals can have (squares: up to three times as long), an
order between interchangeable units and residuals cut to what a network as good as the known one can have.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.constrained import Sense, as_relations, simplified, spins_as_bits
from isinglearn.problem.forms import QCBO, Constraint, Energy
from isinglearn.problem.rows import Shape
from isinglearn.solvers.base import Answer
from isinglearn.solvers.exchange import Row, Swap, interchangeable, is_spin, row_terms, sort_units
from isinglearn.solvers.session import Session

# How a solver is given products with a bit or spin.
PRODUCTS = ("linear", "quadratic")
# A residual with more values than this is squared by a quadratic row: lines would be too many.
MOST_POINTS = 512
# A unit's code stays below this: with larger factors a solver's tolerances would blur its order.
_MOST_CODE = 1 << 12
# Energies are whole: once a bound is this close to the best one, no other lies between them.
GAP = 0.5
# What a solver's bound may be wrong by: an absolute and a relative part.
_SLACK = 0.01
_RELATIVE_SLACK = 1e-6


@dataclass(frozen=True)
class Relation:
    """A row over the columns that must be 0 (``==``) or at least 0 (``>=``)."""

    row: Row
    sense: Sense


@dataclass(frozen=True)
class Cost:
    """A convex part of the energy: ``weight`` times what belongs to the value of a linear row.

    ``points`` are all whole values that the row can have, ascending, each with its cost. Lines through
    neighbouring points are exact at every one of them.
    """

    weight: int
    row: Row
    points: tuple[tuple[int, int], ...]


class Program:
    """Columns, relations and an energy that together are a QCBO.

    A spin is a bit, a sign constraint two big-M rows, a product with a bit a column with the four rows
    that make it exact, a squared residual a convex cost. Products of two integers remain quadratic.
    Interchangeable units are kept in order, which loses no energy.

    Parameters
    ----------
    qcbo
        The problem.
    known
        Energy of a known assignment; only such and better ones are sought then.
    linear_products
        Whether products with a bit become linear rows; if not, all products stay quadratic.

    Attributes
    ----------
    lo, hi
        Range of each column. The QCBO's variables come first, in their order.
    whole
        Number of those; they must be whole, and the other columns then are so by themselves.
    relations
        What must hold.
    costs, factors, constant
        The energy: convex costs, a factor for each of some columns, and a constant.
    impossible
        There is no solution, as a row without columns shows.
    """

    def __init__(
        self, qcbo: QCBO, known: int | None = None, *, linear_products: bool = True
    ) -> None:
        table = qcbo.variables
        self.qcbo = qcbo
        self._spin = np.array(is_spin(qcbo), dtype=bool)
        self.lo: list[int] = np.where(self._spin, (table.lo + 1) // 2, table.lo).tolist()
        self.hi: list[int] = np.where(self._spin, (table.hi + 1) // 2, table.hi).tolist()
        self.whole = len(table)
        self.relations: list[Relation] = []
        self.costs: list[Cost] = []
        self.factors: Counter[int] = Counter()
        self.constant = 0
        self.impossible = False
        self._linear_products = linear_products
        self._products: dict[tuple[int, ...], int] = {}
        # How each column beyond the QCBO's follows from those before it.
        self._filled: list[tuple[Row, Shape]] = []
        for constraint in qcbo.constraints:
            self._add_constraint(constraint)
        self._swaps = interchangeable(qcbo)
        for swap in self._swaps:
            self._order(swap)
        # With weights of both signs one residual alone says nothing about the sum.
        monotone = all(_never_negative(part) for part in qcbo.objective)
        self._budget = known if monotone else None
        for part in qcbo.objective:
            for row, (weight, low, high) in self._weighted_rows(part).items():
                self._add_energy(row, weight, low, high, part.shape)

    def columns(self, values: IntArray) -> list[int]:
        """Turn an assignment of the QCBO into all columns, units in the order that is kept."""
        in_order = sort_units(values, self._swaps)
        columns: list[int] = np.where(self._spin, (in_order + 1) // 2, in_order).tolist()
        for row, shape in self._filled:
            columns.append(shaped(evaluated(row, columns), shape))
        return columns

    def values(self, columns: Sequence[float]) -> IntArray:
        """Turn a solution, good to a tolerance, into the nearest assignment of the QCBO."""
        nearest = np.rint(np.array(columns[: self.whole])).astype(np.int64)
        return np.where(self._spin, 2 * nearest - 1, nearest)

    # -- rows --------------------------------------------------------------------------------------

    def _add_constraint(self, constraint: Constraint) -> None:
        for _, rows, sense in as_relations(constraint, self.qcbo.variables):
            for row in row_terms(spins_as_bits(rows, self._spin)):
                self._require(row, sense)

    def _require(self, row: Row, sense: Sense) -> None:
        simple = self._simple(row)
        if any(term for term, _ in simple):
            self.relations.append(Relation(simple, sense))
            return
        constant = _constant(simple)
        self.impossible |= constant < 0 or (sense == "==" and constant > 0)

    def _simple(self, row: Row) -> Row:
        """Turn products with a bit into columns."""
        if not self._linear_products:
            return row
        return tuple((self._simple_term(term), factor) for term, factor in row)

    def _simple_term(self, term: tuple[int, ...]) -> tuple[int, ...]:
        bit = next((index for index in term if (self.lo[index], self.hi[index]) == (0, 1)), None)
        if len(term) < 2 or bit is None:
            return term
        if term not in self._products:
            (other,) = (index for index in term if index != bit)
            self._products[term] = self._product(bit, other)
        return (self._products[term],)

    def _product(self, bit: int, other: int) -> int:
        """A column that is 0 where the bit is, and else the other one."""
        low, high = self.lo[other], self.hi[other]
        column = self._column(min(low, 0), max(high, 0), (((bit, other), 1),))
        rows: Iterable[Row] = (
            (((column,), 1), ((bit,), -low)),
            (((column,), -1), ((bit,), high)),
            (((column,), -1), ((other,), 1), ((bit,), low), ((), -low)),
            (((column,), 1), ((other,), -1), ((bit,), -high), ((), high)),
        )
        for row in rows:
            terms = tuple(entry for entry in row if entry[1])
            # What is left without a bit is the column's own range.
            if len(terms) > 1:
                self.relations.append(Relation(terms, ">="))
        return column

    def _column(self, low: int, high: int, row: Row, shape: Shape = "linear") -> int:
        """A further column, which the relations tie to a row or to its square."""
        self.lo.append(low)
        self.hi.append(high)
        self._filled.append((row, shape))
        return len(self.lo) - 1

    def _order(self, swap: Swap) -> None:
        """Keep only one of two assignments that a swap turns into each other."""
        pairs, room = [], 1
        for first, second in zip(swap.first, swap.second, strict=True):
            room *= self.hi[first] - self.lo[first] + 1
            if room > _MOST_CODE:
                break
            pairs.append((first, second))
        row: Row = ()
        factor = 1
        for first, second in reversed(pairs):
            row = (*row, ((second,), factor), ((first,), -factor))
            factor *= self.hi[first] - self.lo[first] + 1
        self._require(row, ">=")

    # -- energy ------------------------------------------------------------------------------------

    def _weighted_rows(self, part: Energy) -> dict[Row, tuple[int, int, int]]:
        """Turn a part of the energy into its distinct rows, each with weight and range."""
        table = self.qcbo.variables
        rows = simplified(part.rows, table)
        low, high = (ends.tolist() for ends in rows.bounds(table.lo, table.hi))
        weights: Counter[Row] = Counter()
        ends: dict[Row, tuple[int, int]] = {}
        for number, row in enumerate(row_terms(spins_as_bits(rows, self._spin))):
            weights[row] += int(part.weights[number])
            ends[row] = low[number], high[number]
        return {row: (weight, *ends[row]) for row, weight in weights.items() if weight}

    def _add_energy(self, row: Row, weight: int, low: int, high: int, shape: Shape) -> None:
        linear = self._linear(self._simple(row), low, high)
        if shape == "linear":
            self._add_linear(linear, weight)
            return
        least, most = self._reach(low, high, weight, shape)
        if least > low:
            self._require((*linear, ((), -least)), ">=")
        if most < high:
            self._require((*_negative(linear), ((), most)), ">=")
        if least == most:
            self.constant += weight * shaped(least, shape)
        elif weight > 0 and most - least < MOST_POINTS:
            points = tuple((at, shaped(at, shape)) for at in range(least, most + 1))
            self.costs.append(Cost(weight, linear, points))
        else:
            self.factors[self._squared(linear, least, most, weight, shape)] += weight

    def _linear(self, row: Row, low: int, high: int) -> Row:
        """Turn a row with products into a column that equals it."""
        if all(len(term) < 2 for term, _ in row):
            return row
        column = self._column(low, high, row)
        self._require((*row, ((column,), -1)), "==")
        return (((column,), 1),)

    def _add_linear(self, row: Row, weight: int) -> None:
        self.constant += weight * _constant(row)
        for term, factor in row:
            if term:
                self.factors[term[0]] += weight * factor

    def _reach(self, low: int, high: int, weight: int, shape: Shape) -> tuple[int, int]:
        """Cut the range of a residual to where its own cost is within what is sought."""
        if self._budget is None:
            return low, high
        most = self._budget // weight
        # t (t - 1) / 2 <= m means (2 t - 1)^2 <= 8 m + 1.
        reach = math.isqrt(most) if shape == "square" else (1 + math.isqrt(8 * most + 1)) // 2
        return max(low, -reach if shape == "square" else 1 - reach), min(high, reach)

    def _squared(self, row: Row, low: int, high: int, weight: int, shape: Shape) -> int:
        """A column for the cost of a residual, by a quadratic row; at least the cost where it is paid."""
        base = self._column(low, high, row)
        self._require((*row, ((base,), -1)), "==")
        largest = max(shaped(low, shape), shaped(high, shape))
        cost = self._column(0, largest, (((base,), 1),), shape)
        square: Row = ((cost,), 1), ((base, base), -1)
        pairs: Row = ((cost,), 2), ((base, base), -1), ((base,), 1)
        sense: Sense = ">=" if weight > 0 else "=="
        self._require(square if shape == "square" else pairs, sense)
        return cost


def _never_negative(part: Energy) -> bool:
    return part.shape != "linear" and bool((part.weights >= 0).all())


def _constant(row: Row) -> int:
    return sum(factor for term, factor in row if not term)


def _negative(row: Row) -> Row:
    return tuple((term, -factor) for term, factor in row)


def shaped(value: int, shape: Shape) -> int:
    """Turn the value of a row into what it contributes."""
    if shape == "linear":
        return value
    return value * value if shape == "square" else value * (value - 1) // 2


def evaluated(row: Row, columns: Sequence[int]) -> int:
    """Turn columns into the value of a row."""
    return sum(factor * math.prod(columns[index] for index in term) for term, factor in row)


class Findings:
    """What a search has found and proved: reported by its thread, read and checked by the caller's.

    Parameters
    ----------
    qcbo, session
        What is solved; the session's start is what is found first.
    linear_products
        See :class:`Program`.
    """

    def __init__(self, qcbo: QCBO, session: Session, *, linear_products: bool) -> None:
        self.qcbo, self.session = qcbo, session
        self.best: IntArray | None = None
        self.energy: int | None = None
        self.inexact = False
        self._solutions: deque[Sequence[float]] = deque()
        self._proved = -math.inf
        if session.start is not None:
            self._consider(session.start)
        self.program = Program(qcbo, self.energy, linear_products=linear_products)

    def found(self, columns: Sequence[float]) -> None:
        """Report a solution, as the solver sees it."""
        self._solutions.append(columns)

    def proved(self, bound: float) -> None:
        """Report a lower bound of the energy, as the solver sees it."""
        if math.isfinite(bound):
            self._proved = max(self._proved, bound)

    def tell(self) -> None:
        """Check what was reported since the last call and pass it on to the caller."""
        while self._solutions:
            values = self.program.values(self._solutions.popleft())
            self.inexact |= not self._consider(values)
        self.session.tell(self.energy, self.bound)

    def _consider(self, values: IntArray) -> bool:
        """Keep an assignment if it is the best so far; whether it is feasible, exactly."""
        if self.qcbo.violations(values):
            return False
        energy = int(self.qcbo.energy(values)[0])
        if self.energy is None or energy < self.energy:
            self.best, self.energy = values, energy
        return True

    @property
    def bound(self) -> int | None:
        """What is proved, rounded up to the next whole number, since energies are whole.

        A solver in floating point proves its bound up to the errors of its linear programs, which are far
        below the slack that is taken off first. At the end the bound is itself an energy, to which the
        rounding returns; on the way it costs at most 1.
        """
        if not math.isfinite(self._proved):
            return None
        slack = _SLACK + _RELATIVE_SLACK * abs(self._proved)
        return math.ceil(self._proved - slack)

    def answer(self, *, infeasible: bool = False) -> Answer:
        """Turn all that was reported into an answer."""
        self.tell()
        if self.best is not None:
            return Answer(self.best[None], bound=None if infeasible else self.bound)
        none = np.zeros((0, len(self.qcbo.variables)), dtype=np.int64)
        if self.inexact:
            note = (
                "no solution was exact once rounded: the numbers are too large for its tolerances"
            )
            return Answer(none, bound=self.bound, note=note)
        if infeasible:
            return Answer(none, infeasible=True)
        return Answer(none, bound=self.bound, note="the time was over before a first network")
