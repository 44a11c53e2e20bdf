"""CP-SAT (OR-Tools) on the QCBO's own integers: the default with a proof for the constrained form.

What makes the proof fast, each measured on two moons: losses as tangents (a linear model; tables and
products for the squares took twice as long or more), linearisation level 2 (level 1 proves nothing in a
minute) with one worker or a portfolio led by it, an order between interchangeable units (a factor 3 to
4), and residuals cut to what a better network than the incumbent can have (a factor 2).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isinglearn.errors import SolverError, check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO, Constraint, Energy
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.exchange import Row, Swap, interchangeable, is_spin, row_terms, sort_units
from isinglearn.solvers.session import Session

# A residual with more values than this is squared by an equality: tangents would be too many rows.
MOST_TANGENTS = 512
# A unit's code stays below this, far from the solver's limit of 2^62 for a sum.
_MOST_CODE = 1 << 40
# Strategies in the order in which more workers are used; the first one is what proves.
_PORTFOLIO = ("max_lp", "reduced_costs", "quick_restart", "pseudo_costs", "lb_tree_search", "no_lp")


class CPSAT(Solver):
    """Proves the optimum of the QCBO, or returns the best network and bound when its time is over."""

    name = "cpsat"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QCBO,)
    traits: ClassVar[Traits] = Traits(exact=True, starts=True)
    requires: ClassVar[tuple[str, ...]] = ("ortools",)

    @dataclass(frozen=True)
    class Options:
        """Effort.

        Attributes
        ----------
        workers
            Threads. One is reproducible by its seed, and the fastest on two cores.
        linearization_level
            How much of the model enters the linear relaxation: 0, 1 or 2.
        """

        workers: int = 1
        linearization_level: int = 2

        def __post_init__(self) -> None:
            check_count(self.workers, "workers", 1, 1024)
            check_count(self.linearization_level, "linearization_level", 0, 2)

    def solve(self, form: QCBO, options: Options, session: Session) -> Answer:
        """Turn a QCBO into its best assignment, with a proof if the time suffices."""
        known = session.start
        energy = None if known is None else int(form.energy(known)[0])
        session.tell(energy=energy)
        built = _Model(form, energy)
        swaps = interchangeable(form)
        for swap in swaps:
            built.order(swap)
        if known is not None:
            built.hint(sort_units(known, swaps))
        return _Search(built, options, session, known, energy).run()


# -- the model -------------------------------------------------------------------------------------


class _Model:
    """A QCBO as a CP-SAT model.

    Parameters
    ----------
    qcbo
        The problem.
    known
        Energy of a known feasible assignment; only better ones are searched then.
    """

    def __init__(self, qcbo: QCBO, known: int | None) -> None:
        from ortools.sat.python import cp_model

        self.model = cp_model.CpModel()
        self.qcbo = qcbo
        self.spin = is_spin(qcbo)
        self.lo, self.hi = qcbo.variables.lo.tolist(), qcbo.variables.hi.tolist()
        # What the solver decides on: a Boolean x for a spin 2 x - 1, an integer for the rest.
        self.used = _used(qcbo)
        self.decided = [self._decided(index) for index in range(len(self.lo))]
        self.values = [2 * x - 1 if s else x for x, s in zip(self.decided, self.spin, strict=True)]
        self._products: dict[tuple[int, int], Any] = {}
        for constraint in qcbo.constraints:
            self._add_constraint(constraint)
        # With weights of both signs one residual alone says nothing about the sum.
        monotone = all(_never_negative(part) for part in qcbo.objective)
        self._budget = known - 1 if known is not None and monotone else None
        self.energy = sum(term for part in qcbo.objective for term in self._costs(part))
        if known is not None:
            self.model.add(self.energy <= known - 1)
        self.model.minimize(self.energy)

    def _decided(self, index: int) -> Any:
        if not self.used[index]:
            # Nothing depends on it: one value is as good as any, and is listed once.
            return self.model.new_constant(self.lo[index])
        if self.spin[index] or (self.lo[index], self.hi[index]) == (0, 1):
            return self.model.new_bool_var("")
        return self.model.new_int_var(self.lo[index], self.hi[index], "")

    def _expression(self, row: Row) -> Any:
        """Turn a row of degree two or less into a linear expression, products as variables."""
        return sum((self._monomial(term) * factor for term, factor in row), start=0)

    def _monomial(self, term: tuple[int, ...]) -> Any:
        if len(term) < 2:
            return self.values[term[0]] if term else 1
        left, right = term
        if left == right and self.spin[left]:
            return 1
        if (left, right) not in self._products:
            self._products[left, right] = self._product(left, right)
        return self._products[left, right]

    def _product(self, left: int, right: int) -> Any:
        if self.spin[left] and self.spin[right]:
            same = self.model.new_bool_var("")
            # An odd number of the three is true: both spins and "same", or one spin alone without.
            self.model.add_bool_xor([self.decided[left], self.decided[right], same])
            return 2 * same - 1
        ends = [a * b for a in self._ends(left) for b in self._ends(right)]
        least = 0 if left == right and self.lo[left] <= 0 <= self.hi[left] else min(ends)
        product = self.model.new_int_var(least, max(ends), "")
        # Twice as fast as two enforced equalities for a spin: it brings its own linear relaxation.
        self.model.add_multiplication_equality(product, [self.values[left], self.values[right]])
        return product

    def _ends(self, index: int) -> tuple[int, int]:
        return self.lo[index], self.hi[index]

    def _add_constraint(self, constraint: Constraint) -> None:
        rows = list(row_terms(constraint.rows))
        target = [-1] * len(rows) if constraint.target is None else constraint.target.tolist()
        for row, aim in zip(rows, target, strict=True):
            if constraint.kind == "equal" and aim < 0 and self._one_is_zero(row):
                continue
            value = self._expression(row)
            if constraint.kind == "at_least":
                self._require(value >= 0)
            elif constraint.kind == "equal":
                self._require(value == (self.values[aim] if aim >= 0 else 0))
            else:
                self._require(value >= 0, self.decided[aim])
                self._require(value <= -1, self.decided[aim].negated())

    def _one_is_zero(self, row: Row) -> bool:
        """Write ``x y == 0`` as "x is 0 or y is 0", if that is what the row says."""
        if len(row) != 1 or len(row[0][0]) != 2:
            return False
        first, second = row[0][0]
        if self.spin[first] or self.spin[second]:
            return False
        choice = self.model.new_bool_var("")
        self._require(self.values[first] == 0, choice)
        self._require(self.values[second] == 0, choice.negated())
        return True

    def _require(self, relation: Any, condition: Any = None) -> None:
        """Add a relation, enforced by a literal if one is given."""
        if isinstance(relation, bool | np.bool_):
            # A row without variables: its relation is decided already.
            if not relation:
                self.model.add_bool_or([] if condition is None else [condition.negated()])
            return
        added = self.model.add(relation)
        if condition is not None:
            added.only_enforce_if(condition)

    def _costs(self, part: Energy) -> Iterator[Any]:
        """Turn a part of the objective into the terms of its sum; equal rows are one term."""
        low, high = (ends.tolist() for ends in part.rows.bounds(*self._ranges()))
        weights: Counter[Row] = Counter()
        ends: dict[Row, tuple[int, int]] = {}
        for number, row in enumerate(row_terms(part.rows)):
            weights[row] += int(part.weights[number])
            ends[row] = low[number], high[number]
        for row, weight in weights.items():
            value = self._expression(row)
            if part.shape == "linear":
                yield weight * value
            elif weight:
                yield weight * self._cost(value, *ends[row], weight, pairs=part.shape == "pairs")

    def _ranges(self) -> tuple[IntArray, IntArray]:
        return self.qcbo.variables.lo, self.qcbo.variables.hi

    def _cost(self, value: Any, low: int, high: int, weight: int, *, pairs: bool) -> Any:
        """Turn a value ``t`` into a variable for ``t^2`` (or ``t (t - 1) / 2``)."""
        if self._budget is not None:
            low, high = self._cut(value, low, high, self._budget // weight, pairs=pairs)
        if low >= high:
            return _shape(low, pairs=pairs) if low == high else 0
        largest = max(_shape(low, pairs=pairs), _shape(high, pairs=pairs))
        cost = self.model.new_int_var(0, largest, "")
        if weight < 0 or high - low > MOST_TANGENTS:
            self._square(cost, value, low, high, pairs=pairs)
            return cost
        # Lines through neighbouring points of a convex function; minimising makes the cost exact.
        for at in range(low, high):
            here, there = _shape(at, pairs=pairs), _shape(at + 1, pairs=pairs)
            self.model.add(cost >= (there - here) * (value - at) + here)
        return cost

    def _cut(self, value: Any, low: int, high: int, most: int, *, pairs: bool) -> tuple[int, int]:
        """Confine a value to where its own cost is at most ``most``; an empty range has no solution."""
        if most < 0:
            self.model.add_bool_or([])
            return 0, 0
        # t (t - 1) / 2 <= m means (2 t - 1)^2 <= 8 m + 1.
        reach = (1 + math.isqrt(8 * most + 1)) // 2 if pairs else math.isqrt(most)
        least = 1 - reach if pairs else -reach
        if low < least:
            self._require(value >= least)
        if high > reach:
            self._require(value <= reach)
        return max(low, least), min(high, reach)

    def _square(self, cost: Any, value: Any, low: int, high: int, *, pairs: bool) -> None:
        base = self.model.new_int_var(low, high, "")
        self.model.add(base == value)
        if not pairs:
            self.model.add_multiplication_equality(cost, [base, base])
            return
        square = self.model.new_int_var(0, max(low * low, high * high), "")
        self.model.add_multiplication_equality(square, [base, base])
        self.model.add(2 * cost == square - base)

    def order(self, swap: Swap) -> None:
        """Keep only one of two assignments that a swap turns into each other."""
        first, second, factor = 0, 0, 1
        for a, b in reversed(_leading(swap, self.lo, self.hi)):
            first = first + factor * (self.values[a] - self.lo[a])
            second = second + factor * (self.values[b] - self.lo[b])
            factor *= self.hi[a] - self.lo[a] + 1
        self._require(first <= second)

    def hint(self, values: IntArray) -> None:
        """Start the search near an assignment."""
        for index, value in enumerate(values.tolist()):
            if self.used[index]:
                hinted = value > 0 if self.spin[index] else value
                self.model.add_hint(self.decided[index], hinted)


def _used(qcbo: QCBO) -> list[bool]:
    """Which variables are free, or occur in a constraint or in the objective."""
    used = np.ones(len(qcbo.variables), dtype=bool)
    for definition in qcbo.definitions:
        used[definition.target] = False
    for rows in (part.rows for parts in (qcbo.constraints, qcbo.objective) for part in parts):
        used[rows.monomials[rows.monomials >= 0]] = True
    for constraint in qcbo.constraints:
        if constraint.target is not None:
            used[constraint.target] = True
    return list(map(bool, used))


def _never_negative(part: Energy) -> bool:
    return part.shape != "linear" and bool((part.weights >= 0).all())


def _shape(value: int, *, pairs: bool) -> int:
    return value * (value - 1) // 2 if pairs else value * value


def _leading(swap: Swap, lo: list[int], hi: list[int]) -> list[tuple[int, int]]:
    """The first parameters of two units, as many as one whole number can hold."""
    pairs, room = [], 1
    for a, b in zip(swap.first, swap.second, strict=True):
        room *= hi[a] - lo[a] + 1
        if room > _MOST_CODE:
            break
        pairs.append((a, b))
    return pairs


# -- the search ------------------------------------------------------------------------------------


class _Search:
    """One run of CP-SAT, asked only for assignments better than what is known."""

    def __init__(
        self,
        built: _Model,
        options: CPSAT.Options,
        session: Session,
        known: IntArray | None,
        energy: int | None,
    ) -> None:
        from ortools.sat.python import cp_model

        self.built, self.session = built, session
        self.known, self.energy = known, energy
        self.solver = cp_model.CpSolver()
        given = self.solver.parameters
        given.max_time_in_seconds = session.left
        given.random_seed = session.seed
        given.num_workers = options.workers
        given.linearization_level = options.linearization_level
        # Ctrl-C is the session's.
        given.catch_sigint_signal = False
        if 1 < options.workers <= len(_PORTFOLIO):
            given.subsolvers.extend(_PORTFOLIO[: options.workers])
        self.status = cp_model.UNKNOWN
        # Written by the search's thread, read by the caller's.
        self._found: int | None = None
        self._proved: float = -math.inf

    def run(self) -> Answer:
        """Search in the background, pass on what is found, turn the end into an answer."""
        from ortools.sat.python import cp_model

        search = self

        class Listener(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                search._found = round(self.objective_value)

        def listen(bound: float) -> None:
            search._proved = bound

        def work() -> None:
            search.status = search.solver.solve(search.built.model, Listener())

        self.solver.best_bound_callback = listen
        self.session.run_in_background(work, self.solver.stop_search, self._tell)
        if self.status == cp_model.MODEL_INVALID:
            raise SolverError(
                "CP-SAT cannot hold this problem's numbers",
                where="solver='cpsat'",
                rule="every sum within 2^62",
                received=self.built.model.validate().splitlines()[0],
                remedy="use a coarser label grid, smaller inputs or simpler sample weights",
            )
        # Without its argument status_name fails in OR-Tools 9.15.
        return self._answer(self.solver.status_name(self.status))

    def _tell(self) -> None:
        self.session.tell(self._found, self._bound(self._proved))

    def _answer(self, status: str) -> Answer:
        if status == "INFEASIBLE":
            if self.known is not None:
                return Answer(self.known[None], bound=self.energy)
            return Answer(self._no_rows(), infeasible=True)
        bound = self._bound(self.solver.best_objective_bound)
        if status in ("OPTIMAL", "FEASIBLE"):
            values = [int(self.solver.value(value)) for value in self.built.values]
            rows = np.array([values], dtype=np.int64)
            if status == "OPTIMAL":
                bound = int(self.built.qcbo.energy(rows)[0])
            return Answer(rows, bound=bound)
        if self.known is not None:
            return Answer(self.known[None], bound=bound)
        return Answer(self._no_rows(), bound=bound, note="the time was over before a first network")

    def _no_rows(self) -> IntArray:
        return np.zeros((0, len(self.built.values)), dtype=np.int64)

    def _bound(self, proved: float) -> int | None:
        """A bound as a whole number, rounded up since energies are whole."""
        if not math.isfinite(proved):
            return None
        # The objective is whole; as a float it is so up to 2^53.
        bound = math.ceil(proved - 1e-3)
        return bound if self.energy is None else min(bound, self.energy)


# -- all solutions -----------------------------------------------------------------------------------


def enumerate_solutions(
    qcbo: QCBO, energy: int, limit: int, session: Session
) -> tuple[IntArray, bool]:
    """Turn a QCBO into its assignments of at most this energy, and whether these are all of them."""
    from ortools.sat.python import cp_model

    built = _Model(qcbo, energy + 1)
    # Enumeration has no objective; the bound on the energy is a constraint already.
    built.model.clear_objective()
    solver = cp_model.CpSolver()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = session.left
    solver.parameters.catch_sigint_signal = False
    found: dict[tuple[int, ...], None] = {}

    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            found[tuple(int(self.value(value)) for value in built.values)] = None
            if len(found) >= limit:
                self.stop_search()

    status = cp_model.UNKNOWN

    def work() -> None:
        nonlocal status
        status = solver.solve(built.model, Listener())

    def news() -> None:
        session.tell(energy=energy if found else None)

    session.run_in_background(work, solver.stop_search, news)
    rows = np.array(list(found), dtype=np.int64).reshape(-1, len(built.values))
    return rows, status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
