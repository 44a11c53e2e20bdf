"""Builder and Expression: modules write symbolic integer arrays; the builder collects what they need."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.nn.module import ParameterSpec
from isinglearn.problem.coding import Definition
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO, Constraint, Energy
from isinglearn.problem.rows import PolynomialRows, Shape, multiply_rows
from isinglearn.problem.variables import Block, Positions, VariableTable, grid


@dataclass(frozen=True, eq=False)
class Expression:
    """An array of integer expressions: numerators over ``scale``, with a range each.

    ``nominal`` and ``may_be_zero`` are what the paper's appendix D says of a sum's size, for the
    variables that an activation derives from it; ``is_spin`` says that all values are -1 or +1.
    """

    rows: PolynomialRows
    shape: tuple[int, int]
    lo: IntArray
    hi: IntArray
    scale: int = 1
    nominal: int | None = None
    may_be_zero: bool = True
    is_spin: bool = False

    @property
    def magnitude(self) -> int:
        """Largest absolute value, nominal if the paper states one."""
        if self.nominal is not None:
            return self.nominal
        return int(max(np.abs(self.lo).max(initial=0), np.abs(self.hi).max(initial=0)))

    def __add__(self, other: Expression) -> Expression:
        rows, lo, hi = self.rows + other.rows, self.lo + other.lo, self.hi + other.hi
        return replace(self, rows=rows, lo=lo, hi=hi, is_spin=False)

    def scaled(self, factor: int) -> Expression:
        """Every value times ``factor``."""
        ends = np.stack([self.lo * factor, self.hi * factor])
        return replace(
            self,
            rows=self.rows.scaled(factor),
            lo=ends.min(axis=0),
            hi=ends.max(axis=0),
            is_spin=False,
        )

    def with_scale(self, scale: int) -> Expression:
        """The same numerators over another denominator."""
        return replace(self, scale=scale)

    def take(self, chosen: IntArray, shape: tuple[int, int]) -> Expression:
        """Entries ``chosen`` of the flattened array, in a new shape."""
        return replace(
            self, rows=self.rows.take(chosen), shape=shape, lo=self.lo[chosen], hi=self.hi[chosen]
        )


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
        self._blocks: list[Block] = []
        self._count = 0
        self._lo: list[IntArray] = []
        self._hi: list[IntArray] = []
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
        axes = ("unit", "input")[: len(spec.shape)]
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

    def places(self, label: str, shape: tuple[int, int]) -> Positions:
        """Names for an array of shape (samples, units)."""
        sample, unit = grid(*shape).T
        entries = np.stack([unit, self.samples[sample]], axis=1)
        return Positions(self.origin, label, ("unit", "sample"), entries)

    def _variables(
        self,
        label: str,
        role: str,
        shape: tuple[int, int],
        lo: ArrayLike,
        hi: ArrayLike,
        encoding: str | None,
    ) -> tuple[IntArray, Expression]:
        place = self.places(label, shape)
        low = np.broadcast_to(np.asarray(lo, dtype=np.int64), (len(place),)).copy()
        high = np.broadcast_to(np.asarray(hi, dtype=np.int64), (len(place),)).copy()
        indices = self._add(
            Block(self.origin, label, place.axes, place.entries, role, low, high, encoding)
        )
        return indices, Expression(PolynomialRows.variables(indices), shape, low, high)

    def spins(
        self, label: str, role: str, shape: tuple[int, int], *, value_of: Expression
    ) -> Expression:
        """New variables -1/+1 that follow the sign of ``value_of``, without a constraint saying so."""
        indices, result = self._variables(label, role, shape, -1, 1, "spin")
        self._definitions.append(Definition(indices, "sign", value_of.rows))
        return replace(result, is_spin=True)

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
        indices, result = self._variables(label, role, value.shape, lo, hi, encoding)
        self._definitions.append(Definition(indices, "value", value.rows))
        self._constraints.append(
            Constraint(self.places(f"{label}=", value.shape), "equal", value.rows, indices)
        )
        return replace(result, scale=value.scale, nominal=magnitude, may_be_zero=may_be_zero)

    def sign(self, label: str, value: Expression) -> Expression:
        """New variables -1/+1 with ``variable = sign(value)`` as a constraint."""
        indices, result = self._variables(label, "activation", value.shape, -1, 1, "spin")
        self._definitions.append(Definition(indices, "sign", value.rows))
        self._constraints.append(
            Constraint(self.places("sign", value.shape), "sign", value.rows, indices)
        )
        return replace(result, is_spin=True)

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
        size = shape[0] * shape[1]
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
        return Expression(rows, shape, lo, hi, left.scale * right.scale)

    def product(self, left: Expression, right: Expression) -> Expression:
        """Entry by entry."""
        every = np.arange(left.rows.num_rows)
        return self.bilinear(left, every, right, every, every, left.shape)

    def build(self, scale: int) -> QCBO:
        """The QCBO of all that was added."""
        return QCBO(
            VariableTable(self._blocks),
            tuple(self._objective),
            tuple(self._constraints),
            tuple(self._definitions),
            scale,
        )
