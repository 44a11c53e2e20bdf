"""Activation patterns: the exact optimum of two-layer networks whose hidden units behave in few ways.

The distinct behaviours of every unit on the data are listed (``unit_patterns``), then every way to give
one to each unit is searched (``pattern_search``), units that can be exchanged in one order only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from isinglearn.data import first_appearances, sum_by
from isinglearn.errors import ProblemRefused, check_count
from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.base import Answer, Forecast, Form, Solver, Traits
from isinglearn.solvers.session import Session
from isinglearn.solvers.tiny import tiny_problem
from isinglearn.solvers.unit_patterns import (
    HELD,
    Behaviour,
    PatternSet,
    TwoLayers,
    Unit,
    list_patterns,
)

if TYPE_CHECKING:
    from isinglearn.solvers.pattern_search import Tables

# Activations that may be computed to list patterns, about ten seconds.
MOST_ACTIVATIONS = 1 << 31
# Patterns of a single unit, whose products are not needed.
MOST_ALONE = 1 << 20
# Random choices of patterns that are improved before the search.
STARTS = 8
# Choices looked at between two looks at the clock, some hundredths of a second.
_CHUNK = 1 << 18
# Whole numbers up to this are exact as doubles.
_EXACT = 1 << 53
# For the forecast: up to how many activations patterns are counted, and measured seconds: to begin, per
# activation, per choice for all units but the last, per choice and level, and per choice where the bounds
# are weak, since the output weights cannot come near least squares.
_COUNTED = 1 << 22
_BEGIN, _PER_ACTIVATION, _PER_PREFIX, _PER_CHOICE, _PER_WEAK_CHOICE = 0.01, 8e-9, 1e-7, 2e-9, 2e-6


class Patterns(Solver):
    """Proves the optimum of Linear, Sign, Linear under MSE by a search over activation patterns."""

    name = "patterns"
    accepts: ClassVar[tuple[Form, ...]] = (Form.PROBLEM,)
    traits: ClassVar[Traits] = Traits(exact=True)

    @dataclass(frozen=True)
    class Options:
        """Limits.

        Attributes
        ----------
        max_choices
            Refuse if there are more ways than this to give every hidden unit a pattern. 10^8 take some
            seconds.
        max_patterns
            Refuse if several units have more patterns than this together; their products are a table.
        """

        max_choices: int = 1 << 36
        max_patterns: int = 1 << 13

        def __post_init__(self) -> None:
            check_count(self.max_choices, "max_choices", 1, 2**62)
            check_count(self.max_patterns, "max_patterns", 1, 2**16)

    @classmethod
    def forecast(cls, problem: Problem) -> Forecast | None:
        """Patterns counted, or bounded where that takes long; what the bounds prune is guessed."""
        try:
            network = TwoLayers.of(problem)
            inputs = _distinct_inputs(problem)[0]
            work = _check_activations(network, len(inputs))
            counts = {own: own.most_patterns(len(inputs)) for own in network.behaviours}
            if work <= _COUNTED:
                counts = {
                    own: len(list_patterns(own, network.inner, inputs, most))
                    for own, most in counts.items()
                }
            _check_counts(network, counts, cls.Options())
        except ProblemRefused:
            return None
        patterns, choices = sum(counts.values()), network.choices(counts)
        weak = all(_is_far_from_real(values) for unit in network.units for values in unit.outgoing)
        levels = len(network.units) + 2 * len(network.biases)
        seconds = (
            _BEGIN
            + _PER_ACTIVATION * work
            + _PER_PREFIX * network.choices(counts, but_last=True)
            + (_PER_WEAK_CHOICE if weak else _PER_CHOICE * levels) * choices
        )
        table = patterns * (patterns if len(network.units) > 1 else 1)
        size = 16 * table + 8 * patterns * (len(inputs) + 3 * levels) + 16 * HELD
        why = f"{patterns} activation patterns, {choices} ways to give one to each hidden unit"
        return Forecast(seconds, size, why)

    def prepare(self, form: Problem, options: Options) -> None:
        """Compile or load the search's kernels."""
        _prepare()

    def solve(self, form: Problem, options: Options, session: Session) -> Answer:
        """Turn a problem into a network of least loss, with the proof that there is no better one."""
        none = np.zeros((0, len(form.free_domains)), dtype=np.int64)
        network = TwoLayers.of(form)
        inputs, where = _distinct_inputs(form)
        _check_activations(network, len(inputs))
        most = options.max_patterns if len(network.units) > 1 else MOST_ALONE
        sets = {
            own: list_patterns(own, network.inner, inputs, most, session)
            for own in network.behaviours
        }
        if session.stopped:
            return Answer(none, note="stopped while the patterns were listed")
        counts = {own: len(patterns) for own, patterns in sets.items()}
        _check_counts(network, counts, options)
        choices = network.choices(counts)
        session.tell(message=f"{sum(counts.values())} activation patterns, {choices} choices")
        search = _Search(form, network, sets, where)
        seen = search.run(session)
        rows = none if search.energy is None else search.vector[None]
        if seen is None:
            return Answer(rows, bound=search.energy, infeasible=search.energy is None)
        return Answer(rows, note=f"stopped after {seen} of {choices} choices of patterns")


@cache
def _prepare() -> None:
    """Run everything once on the smallest network there is."""
    problem = tiny_problem()
    Patterns().solve(problem, Patterns.Options(), Session(problem.qcbo.scale))


def _is_far_from_real(values: range) -> bool:
    """Whether a weight with these values is far from a real one: a few values, or of one sign only."""
    return len(values) <= 3 or values[0] >= 0 or values[-1] <= 0


def _distinct_inputs(problem: Problem) -> tuple[IntArray, IntArray]:
    """Inputs that count, each once, and which of them each sample has (-1: it does not count)."""
    data = problem.data
    # A sample of weight 0 counts only where predictions are confined.
    counts = (data.weights > 0) | (not problem.options.repairable)
    first, inverse = first_appearances(data.X[counts])
    where = np.full(len(data), -1)
    where[counts] = inverse
    return data.X[counts][first], where


def _check_activations(network: TwoLayers, inputs: int) -> int:
    """How many activations it takes to list all patterns, if these are not too many."""
    work = network.activations(inputs)
    if work <= MOST_ACTIVATIONS:
        return work
    raise ProblemRefused(
        "the hidden units have too many settings to list their patterns",
        where="solver='patterns'",
        rule=f"at most {MOST_ACTIVATIONS} activations of settings on inputs",
        received=f"{work} activations",
        remedy="use another solver, fewer samples, or smaller domains in the first layer",
    )


def _check_counts(
    network: TwoLayers, counts: dict[Behaviour, int], options: Patterns.Options
) -> None:
    patterns, choices = sum(counts.values()), network.choices(counts)
    most = options.max_patterns if len(network.units) > 1 else MOST_ALONE
    if patterns <= most and choices <= options.max_choices:
        return
    raise ProblemRefused(
        "the hidden units have too many activation patterns",
        where="solver='patterns'",
        rule=f"at most {most} patterns and {options.max_choices} choices of one for each unit",
        received=f"at least {patterns} patterns and {choices} choices",
        remedy="use another solver, fewer samples, or raise max_patterns or max_choices",
    )


class _Search:
    """One search over all choices of patterns: from a problem to its tables and back to a network."""

    def __init__(
        self,
        problem: Problem,
        network: TwoLayers,
        sets: dict[Behaviour, PatternSet],
        where: IntArray,
    ) -> None:
        from isinglearn.solvers.pattern_search import begin

        self.problem, self.network, self.sets = problem, network, sets
        self.order = network.ordered({own: len(patterns) for own, patterns in sets.items()})
        output_scale, label_scale = problem.network.output_scale, problem.data.label_scale
        common = math.lcm(output_scale, label_scale)
        # What outputs and labels are multiplied with to be compared, and losses to be energies.
        self.left, self.right = common // output_scale, common // label_scale
        self.unit = problem.qcbo.scale // problem.loss.scale(problem.data, output_scale)
        self.tables = self._tables(where)
        self.state = begin(self.tables)

    def run(self, session: Session) -> int | None:
        """Look at all choices; returns how many that were if it was stopped before the end."""
        from isinglearn.solvers.pattern_search import descend, sweep

        # Python's generator: its stream for a seed is guaranteed.
        rng = Random(session.seed)
        ends = list(zip(self.tables.first.tolist(), self.tables.last.tolist(), strict=True))
        for _ in range(STARTS):
            if session.stopped:
                return 0
            descend(self.tables, self.state, np.array([rng.randrange(*end) for end in ends]))
            session.tell(energy=self.energy)
        fresh, seen = 1, 0
        while not session.stopped:
            fresh, count = sweep(self.tables, self.state, fresh, _CHUNK)
            seen += count
            session.tell(energy=self.energy)
            if fresh == 0:
                return None
        return seen

    @property
    def energy(self) -> int | None:
        """The least energy so far; ``None`` if there is no network yet."""
        from isinglearn.solvers.pattern_search import NO_LOSS

        loss = int(self.state.best[0])
        return None if loss == NO_LOSS else loss * self.unit

    @property
    def vector(self) -> IntArray:
        """Free parameters of the best network."""
        sets = [self.sets[self.network.units[u].behaviour] for u in self.order]
        chosen = (self.state.best_choice - self.tables.first)[1:]
        place = np.argsort(self.order)
        values = self.state.best_values // self.left
        weight_factor, bias_factor = self.network.outer
        named = {
            "layer1.weight": np.stack(
                [own.weights[i] for own, i in zip(sets, chosen, strict=True)]
            ),
            "layer1.bias": np.stack([own.biases[i] for own, i in zip(sets, chosen, strict=True)]),
        }
        named = {name: rows[place] for name, rows in named.items()}
        named["layer2.weight"] = values[:, 1:][:, place] // weight_factor
        named["layer2.bias"] = values[:, 0] // bias_factor
        return self.problem.vector({name: named[name] for name in self.problem.network.parameters})

    def _tables(self, where: IntArray) -> Tables:
        """Lay all patterns end to end behind the constant one, and multiply them with each other."""
        from isinglearn.solvers.pattern_search import Tables

        signs = np.concatenate([own.signs for own in self.sets.values()])
        signs = np.concatenate([np.ones_like(signs[:1]), signs])
        data, inputs, counted = self.problem.data, signs.shape[1], where >= 0
        labels = self.right * data.y
        weights = sum_by(where[counted], data.weights[counted], inputs)
        weighted = data.weights[counted, None] * labels[counted]
        sums = np.stack([sum_by(where[counted], own, inputs) for own in weighted.T])
        units = [self.network.units[u] for u in self.order]
        first, last, kind, low = self._levels(units)
        box, grid = self.problem.box, self._grid(units)
        ridge, slack = _tolerance(grid, float(weights.sum()), float(np.abs(labels).max()))
        return Tables(
            gram=_products(signs if len(units) > 1 else signs[:1], signs, weights),
            labels=sums @ signs.T.astype(np.int64),
            squares=(weighted * labels[counted]).sum(axis=0),
            first=first,
            last=last,
            kind=kind,
            low=low,
            grid=grid,
            signs=signs[:, : 0 if box is None else inputs],
            box=self.left * np.array(box or (0, 0)),
            ridge=ridge,
            slack=slack,
        )

    def _levels(self, units: list[Unit]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Where the patterns of each level begin and end, its kind, and the least of others behind it."""
        ends = np.cumsum([1, *map(len, self.sets.values())])
        behaviours, kinds = list(self.sets), list(dict.fromkeys(units))
        which = [behaviours.index(unit.behaviour) for unit in units]
        first, last = np.array([0, *ends[which]]), np.array([1, *ends[1:][which]])
        kind = np.array([-1, *map(kinds.index, units)])
        behind = [first[j + 1 :][kind[j + 1 :] != kind[j]] for j in range(len(kind))]
        return first, last, kind, np.array([own.min(initial=ends[-1]) for own in behind])

    def _grid(self, units: list[Unit]) -> IntArray:
        """Start, step and number of the values of every output's parameters, in units of the loss."""
        weight_factor, bias_factor = (self.left * factor for factor in self.network.outer)
        grid = [[_scaled(bias, bias_factor)] for bias in self.network.biases]
        for unit in units:
            for row, values in zip(grid, unit.outgoing, strict=True):
                row.append(_scaled(values, weight_factor))
        return np.array(grid, dtype=np.int64)


def _scaled(values: range, factor: int) -> tuple[int, int, int]:
    return factor * values.start, factor * values.step, len(values)


def _tolerance(grid: IntArray, weight: float, label: float) -> tuple[float, NDArray[np.float64]]:
    """The ridge that keeps pivots away from 0, and how far it and rounding can lift each bound.

    The factors that rounding gives are exact for a matrix that differs by about 2^-50 of its entries,
    whatever its condition (Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3), so a
    bound is off by about 2^-50 of the largest loss that such magnitudes can have: 2^-40 is conceded.
    """
    ends = np.stack([grid[..., 0], grid[..., 0] + grid[..., 1] * (grid[..., 2] - 1)])
    largest = np.abs(ends).max(axis=0).astype(np.float64)
    ridge = weight * 2.0**-30
    reach = largest.sum(axis=1) + label
    return ridge, ridge * (largest**2).sum(axis=1) + 2.0**-40 * weight * reach**2


def _products(rows: NDArray[np.int8], signs: NDArray[np.int8], weights: IntArray) -> IntArray:
    """Exact weighted inner products of patterns."""
    if int(weights.sum()) < _EXACT:
        # Every partial sum is a whole number that a double holds, and doubles have a fast product.
        product = (rows * weights.astype(np.float64)) @ signs.T.astype(np.float64)
        return product.astype(np.int64)
    return (rows * weights) @ signs.T.astype(np.int64)
