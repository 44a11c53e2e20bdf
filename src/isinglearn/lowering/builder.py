"""Builder: collects the variables and constraints that modules need while they are lowered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.nn.expression import Expression
from isinglearn.nn.module import ParameterSpec
from isinglearn.problem.coding import Definition, Rule
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO, Constraint, Energy, Kind
from isinglearn.problem.rows import PolynomialRows, Shape, multiply_rows
from isinglearn.problem.variables import Block, Positions, VariableTable, grid


class Builder:
    """Collects variables, constraints and the objective while the modules are lowered.

    Parameters
    ----------
    paper
        Whether modules follow the paper to the letter.
    samples
        Number of the sample behind each row of the data, for names.
    """

    def __init__(self, *, paper: bool, samples: IntArray) -> None:
        self.paper = paper
        self.samples = samples
        self.origin = ""
        self._row_axis = False
        self._labels: Counter[tuple[str, str, str]] = Counter()
        self._blocks: list[Block] = []
        self._count = 0
        self._constraints: list[Constraint] = []
        self._definitions: list[Definition] = []
        self._objective: list[Energy] = []

    # -- variables ---------------------------------------------------------------------------------

    def _add(self, block: Block) -> IntArray:
        indices = np.arange(self._count, self._count + len(block))
        self._blocks.append(block)
        self._count += len(block)
        return indices

    def parameter(self, spec: ParameterSpec) -> Expression:
        """Turn a parameter into an array: a variable where it is free, a constant where it is frozen."""
        free = spec.free.ravel()
        domain = spec.domain
        entries = grid(*spec.shape)[free]
        axes = ("unit", "input", "row", "column")[: len(spec.shape)]
        ends = np.ones(len(entries), dtype=np.int64)
        block = Block(
            self.origin,
            spec.name,
            axes,
            entries,
            spec.role,
            ends * domain.lo,
            ends * domain.hi,
            domain.encoding,
        )
        frozen = spec.frozen.ravel()
        index = np.full(free.size, -1)
        index[free] = self._add(block)
        rows = PolynomialRows.of(
            free.size, np.arange(free.size), index[:, None], np.where(free, 1, frozen)
        )
        shape = (1, free.size)
        lo, hi = np.where(free, domain.lo, frozen), np.where(free, domain.hi, frozen)
        return Expression(rows, shape, lo, hi, domain.denominator)

    @contextmanager
    def rows_of(self, samples: IntArray) -> Iterator[None]:
        """Take these as the sample numbers of the rows that follow, which may repeat."""
        before, self.samples = self.samples, samples
        self._row_axis = True
        try:
            yield
        finally:
            self.samples, self._row_axis = before, False

    def places(self, label: str, value: Expression) -> Positions:
        """Names for the cells of an array of shape (samples, units)."""
        cells = np.arange(len(value)) if value.cells is None else value.cells
        sample, unit = np.divmod(cells, value.shape[1])
        if self._row_axis:
            entries = np.stack([unit, sample, self.samples[sample]], axis=1)
            return Positions(self.origin, label, ("output", "row", "sample"), entries)
        entries = np.stack([unit, self.samples[sample]], axis=1)
        return Positions(self.origin, label, ("unit", "sample"), entries)

    def _variables(
        self,
        label: str,
        role: str,
        like: Expression,
        lo: ArrayLike,
        hi: ArrayLike,
        encoding: str | None,
    ) -> tuple[IntArray, Expression]:
        """New variables, one for each entry of an array."""
        place = self.places(self._unused("variable", label), like)
        low = np.broadcast_to(np.asarray(lo, dtype=np.int64), (len(place),)).copy()
        high = np.broadcast_to(np.asarray(hi, dtype=np.int64), (len(place),)).copy()
        indices = self._add(
            Block(self.origin, place.label, place.axes, place.entries, role, low, high, encoding)
        )
        rows = PolynomialRows.variables(indices)
        return indices, Expression(rows, like.shape, low, high, like.scale, cells=like.cells)

    def follow(
        self,
        label: str,
        role: str,
        lo: ArrayLike,
        hi: ArrayLike,
        rule: Rule,
        value: Expression,
        *,
        divisor: int | None = None,
    ) -> Expression:
        """New variables that follow from ``value`` by a rule, without a constraint saying so."""
        encoding = "binary" if self.paper else "bounded"
        return self._follow(label, role, value, lo, hi, encoding, rule, divisor)

    def spins(self, label: str, role: str, value: Expression) -> Expression:
        """New variables -1/+1 that follow the sign of ``value``, without a constraint saying so."""
        return replace(
            self._follow(label, role, value, -1, 1, "spin", "sign"), scale=1, is_spin=True
        )

    def scratch(
        self, label: str, rule: Rule, value: Expression, *, divisor: int | None = None
    ) -> Expression:
        """New variables for definitions only: they have no bits and occur in no constraint."""
        lo, hi = (self._ruled(rule, end, divisor) for end in (value.lo, value.hi))
        return self._follow(label, "scratch", value, lo, hi, None, rule, divisor)

    def _ruled(self, rule: Rule, ends: IntArray, divisor: int | None) -> IntArray:
        column = np.arange(len(ends))
        defined = Definition(column, rule, PolynomialRows.variables(column), _each(divisor, column))
        values = ends[None].copy()
        defined.apply(values)
        return values[0]

    def _follow(
        self,
        label: str,
        role: str,
        value: Expression,
        lo: ArrayLike,
        hi: ArrayLike,
        encoding: str | None,
        rule: Rule,
        divisor: int | None = None,
    ) -> Expression:
        indices, result = self._variables(label, role, value, lo, hi, encoding)
        self._definitions.append(Definition(indices, rule, value.rows, _each(divisor, indices)))
        return result

    # -- constraints -------------------------------------------------------------------------------

    def equal(
        self,
        label: str,
        role: str,
        value: Expression,
        lo: ArrayLike,
        hi: ArrayLike,
        *,
        encoding: str | None,
        scale: int | None = None,
        magnitude: int | None = None,
        may_be_zero: bool = True,
    ) -> Expression:
        """New variables equal to ``value``; without an encoding they are only a name for it."""
        if scale is not None and scale != value.scale:
            assert scale % value.scale == 0, "a finer grid must contain the coarser one"
            value = value.scaled(scale // value.scale).with_scale(scale)
        indices, result = self._variables(label, role, value, lo, hi, encoding)
        self._definitions.append(Definition(indices, "value", value.rows))
        self._constrain(f"{label}=", "equal", value, indices)
        return replace(result, nominal=magnitude, may_be_zero=may_be_zero)

    def named(self, label: str, value: Expression) -> Expression:
        """The same values, as variables without bits where products would make the degree too high."""
        if value.rows.degree < 2:
            return value
        name = self.equal(label, "name", value, value.lo, value.hi, encoding=None)
        return replace(name, is_spin=value.is_spin)

    def written(self, label: str, role: str, value: Expression) -> Expression:
        """The same values as variables with bits, one range for all, as the paper writes them."""
        lo, hi = int(value.lo.min()), int(value.hi.max())
        return self.equal(label, role, value, lo, hi, encoding="binary")

    def sign(self, label: str, value: Expression) -> Expression:
        """New variables -1/+1 with ``variable = sign(value)`` as a constraint."""
        result = self._switch(label, value, "sign", "spin", -1)
        return replace(result, scale=1, is_spin=True)

    def step(self, label: str, value: Expression) -> Expression:
        """New variables, 1 where ``value >= 0`` and else 0, by a constraint."""
        return self._switch(label, value, "step", "bounded", 0).with_scale(1)

    def _switch(
        self, label: str, value: Expression, kind: Literal["sign", "step"], encoding: str, off: int
    ) -> Expression:
        indices, result = self._variables(label, "activation", value, off, 1, encoding)
        self._definitions.append(Definition(indices, kind, value.rows))
        name = "sign" if label == "a" else f"{label}?"
        self._constrain(name, kind, value, indices)
        return result

    def zero(self, label: str, value: Expression) -> None:
        """Demand ``value == 0``."""
        self._constrain(label, "equal", value)

    def at_least(self, label: str, value: Expression) -> None:
        """Demand ``value >= 0``."""
        self._constrain(label, "at_least", value)

    def _constrain(
        self, label: str, kind: Kind, value: Expression, target: IntArray | None = None
    ) -> None:
        places = self.places(self._unused("constraint", label), value)
        self._constraints.append(Constraint(places, kind, value.rows, target))

    def _unused(self, what: str, label: str) -> str:
        """The label, with a number where the modules of this layer have used it already."""
        self._labels[what, self.origin, label] += 1
        count = self._labels[what, self.origin, label]
        return label if count == 1 else f"{label}.{count}"

    def minimise(self, label: str, value: Expression, weights: IntArray, *, shape: Shape) -> None:
        """Add ``sum weights * shape(value)`` to the objective."""
        entries = grid(*value.shape)
        place = Positions("", label, ("row", "output"), entries)
        self._objective.append(Energy(place, value.rows, shape, weights))

    # -- arithmetic --------------------------------------------------------------------------------

    def constants(self, values: IntArray) -> Expression:
        """Turn an integer array (samples, units) into constant expressions."""
        flat = np.asarray(values, dtype=np.int64).ravel()
        return Expression(PolynomialRows.constants(flat), values.shape, flat, flat)

    def constant(self, value: int, shape: tuple[int, int]) -> Expression:
        """One number everywhere."""
        return self.constants(np.full(shape, value, dtype=np.int64))

    def bilinear(
        self,
        left: Expression,
        left_entries: IntArray,
        right: Expression,
        right_entries: IntArray,
        out: IntArray,
        shape: tuple[int, int],
    ) -> Expression:
        """``out[o] += left[l] * right[r]`` over the triples given; ranges add up product by product."""
        return _multiplied(
            left, left_entries, right, right_entries, out, shape[0] * shape[1], shape, None
        )

    def product(self, left: Expression, right: Expression) -> Expression:
        """Entry by entry."""
        every = np.arange(len(left))
        return _multiplied(left, every, right, every, every, len(left), left.shape, left.cells)

    def build(self, scale: int) -> QCBO:
        """The QCBO of all that was added."""
        return QCBO(
            VariableTable(self._blocks),
            tuple(self._objective),
            tuple(self._constraints),
            tuple(self._definitions),
            scale,
        )


def _multiplied(
    left: Expression,
    left_entries: IntArray,
    right: Expression,
    right_entries: IntArray,
    out: IntArray,
    size: int,
    shape: tuple[int, int],
    cells: IntArray | None,
) -> Expression:
    rows = multiply_rows(left.rows, left_entries, right.rows, right_entries, out, size)
    corners = np.stack(
        [
            a[left_entries] * b[right_entries]
            for a in (left.lo, left.hi)
            for b in (right.lo, right.hi)
        ]
    )
    lo, hi = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.add.at(lo, out, corners.min(axis=0))
    np.add.at(hi, out, corners.max(axis=0))
    return Expression(rows, shape, lo, hi, left.scale * right.scale, cells=cells)


def _each(divisor: int | None, like: IntArray) -> IntArray | None:
    return None if divisor is None else np.full(len(like), divisor, dtype=np.int64)
