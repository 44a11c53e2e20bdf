"""The three forms: QCBO over integers with constraints, HUBO over bits with penalties, QUBO of degree two.

Each carries one positive ``scale``: ``energy / scale`` is the loss, so that all arithmetic is on integers.
Penalties stay apart from the objective, with a weight and a proof for every single one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.problem.bits import as_bits
from isinglearn.problem.coding import BitCode, Definition
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.polynomial import Polynomial, sum_terms
from isinglearn.problem.rows import PolynomialRows, Shape
from isinglearn.problem.terms import Terms, check_overflow
from isinglearn.problem.variables import Positions, VariableTable, bits_needed

if TYPE_CHECKING:
    import dimod
    import scipy.sparse
    from dimod.higherorder.polynomial import BinaryPolynomial

# How a weight was found: by a bound that is proved to suffice, or by the user's word alone.
PROOFS = ("incumbent", "repair", "cofactor", "user")
Proofs = NDArray[np.uint8]
Kind = Literal["equal", "at_least", "sign", "step"]


@dataclass(frozen=True, eq=False)
class Energy:
    """Energy of one kind: ``sum_r weights[r] * shape(rows[r])``, every row with its place.

    As a penalty each ``shape(rows[r])`` is 0 where its constraint holds and at least 1 where not.
    """

    positions: Positions
    rows: PolynomialRows
    shape: Shape
    weights: IntArray
    proofs: Proofs | None = None

    def values(self, assignment: ArrayLike) -> IntArray:
        """Turn assignments into unweighted values, shape ``(reads, rows)``."""
        value = self.rows.evaluate(assignment)
        if self.shape == "square":
            return value * value
        return value * (value - 1) // 2 if self.shape == "pairs" else value

    def terms(self) -> Terms:
        """Weighted terms of the expanded rows, not merged yet."""
        rows = self.rows.expand(self.shape)
        largest = float(np.abs(rows.coefficients).max(initial=0))
        check_overflow(largest * float(np.abs(self.weights).max(initial=0)), "weighted penalty")
        return rows.monomials, rows.coefficients * self.weights[rows.rows]

    def reweighted(self, weight: int) -> Energy:
        """The same rows with one weight for all, by the user's word."""
        user = np.full(len(self.weights), PROOFS.index("user"), dtype=np.uint8)
        return replace(self, weights=np.full_like(self.weights, weight), proofs=user)


@dataclass(frozen=True, eq=False)
class Constraint:
    """Constraints of one kind, one per row.

    ``equal``: ``target == row`` (``0 == row`` without a target). ``at_least``: ``row >= 0``.
    ``sign``: ``target`` is +1 where ``row >= 0`` and -1 elsewhere. ``step``: 1 there and 0 elsewhere.
    """

    positions: Positions
    kind: Kind
    rows: PolynomialRows
    target: IntArray | None = None

    @property
    def switches(self) -> bool:
        """Whether the target only says if the row is negative."""
        return self.kind in ("sign", "step")

    @property
    def off(self) -> int:
        """Value of a switch where its row is negative."""
        return -1 if self.kind == "sign" else 0

    def violated(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Turn integer assignments into a mask of violated rows, shape ``(reads, rows)``."""
        given = np.atleast_2d(np.asarray(values, dtype=np.int64))
        row = self.rows.evaluate(given)
        if self.kind == "at_least":
            return row < 0
        aim = given[:, self.target] if self.target is not None else np.zeros_like(row)
        return aim != (row if self.kind == "equal" else np.where(row >= 0, 1, self.off))


@dataclass(frozen=True, eq=False, repr=False)
class QCBO:
    """Quadratic constrained problem over integers: minimise ``objective`` subject to ``constraints``."""

    variables: VariableTable
    objective: tuple[Energy, ...]
    constraints: tuple[Constraint, ...]
    definitions: tuple[Definition, ...]
    scale: int

    def __repr__(self) -> str:
        rows = sum(constraint.rows.num_rows for constraint in self.constraints)
        return f"QCBO({len(self.variables)} integers, {rows} constraints, scale {self.scale})"

    @cached_property
    def num_bits(self) -> int:
        """Number of binary variables once every integer is written in bits, the paper's count."""
        return int(sum(bits_needed(block).sum() for block in self.variables.blocks))

    def complete(self, values: ArrayLike) -> IntArray:
        """Fill all dependent variables from the parameters, one row per read."""
        filled = np.atleast_2d(np.asarray(values, dtype=np.int64)).copy()
        for definition in self.definitions:
            definition.apply(filled)
        return filled

    def energy(self, values: ArrayLike) -> IntArray:
        """Turn integer assignments into ``scale * loss``."""
        parts = [part.values(values) @ part.weights for part in self.objective]
        return np.sum(parts, axis=0, dtype=np.int64)

    def violations(self, values: ArrayLike) -> list[str]:
        """Turn one assignment into the names of the constraints and ranges it breaks."""
        given = np.asarray(values, dtype=np.int64).ravel()
        names = [
            constraint.positions.name(int(row))
            for constraint in self.constraints
            for row in np.flatnonzero(constraint.violated(given)[0])
        ]
        outside = (given < self.variables.lo) | (given > self.variables.hi)
        return names + [f"{self.variables[int(i)]} out of range" for i in np.flatnonzero(outside)]

    def to_cqm(self) -> dimod.ConstrainedQuadraticModel:
        """Turn into a dimod constrained quadratic model over its integers."""
        from isinglearn.problem.exports.constrained import qcbo_to_cqm

        return qcbo_to_cqm(self)

    def write_lp(self, path: str | Path) -> None:
        """Write an LP file (big-M rows for the signs), as SCIP and, if all is linear, HiGHS read it."""
        from isinglearn.problem.exports.constrained import write_lp

        write_lp(self, Path(path))


@dataclass(frozen=True, eq=False, repr=False)
class _Unconstrained:
    variables: VariableTable
    objective: tuple[Energy, ...]
    penalties: tuple[Energy, ...]
    code: BitCode
    scale: int
    # What it was lowered from: solvers may use its knowledge of what follows from what.
    source: QCBO | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_variables} spins, scale {self.scale})"

    @property
    def num_variables(self) -> int:
        """Number of bits, that is spins."""
        return len(self.variables)

    @cached_property
    def polynomial(self) -> Polynomial:
        """Objective plus weighted penalties as one polynomial."""
        return sum_terms(self._terms())

    def _terms(self) -> list[Terms]:
        return [part.terms() for part in (*self.objective, *self.penalties)]

    def energy(self, bits: ArrayLike) -> IntArray:
        """Turn bits of shape ``(reads, n)`` into energies; over ``scale`` the loss if none is violated."""
        return self.polynomial.evaluate(self._checked(bits))

    def violations(self, bits: ArrayLike) -> list[str]:
        """Turn one assignment into the names of the penalties it pays."""
        given = self._checked(bits)
        return [
            part.positions.name(int(row))
            for part in self.penalties
            for row in np.flatnonzero(part.values(given)[0])
        ]

    def decode(self, bits: ArrayLike) -> IntArray:
        """Turn bits into the values of the QCBO's integer variables."""
        return self.code.decode(self._checked(bits))

    def _checked(self, bits: ArrayLike) -> IntArray:
        return as_bits(bits, self.num_variables, f"bits of a {type(self).__name__}")


@dataclass(frozen=True, eq=False, repr=False)
class HUBO(_Unconstrained):
    """Unconstrained problem over bits, of any degree, before order reduction."""

    def complete(self, values: ArrayLike) -> IntArray:
        """Turn integer assignments of the QCBO into bits, dependent ones computed."""
        return self.code.encode(values)

    def to_polynomial(self) -> BinaryPolynomial:
        """Turn into a dimod binary polynomial keyed by variable names."""
        from isinglearn.problem.exports.unconstrained import hubo_to_polynomial

        return hubo_to_polynomial(self)


@dataclass(frozen=True, eq=False)
class Products:
    """Auxiliary bits ``auxiliary = left * right``, each held by a Rosenberg penalty with its weight."""

    left: IntArray
    right: IntArray
    auxiliary: IntArray
    weights: IntArray
    proofs: Proofs

    def __len__(self) -> int:
        return len(self.left)

    def terms(self) -> Terms:
        """``sum weight * (3 v + u1 u2 - 2 u1 v - 2 u2 v)``, the paper's Rosenberg polynomial."""
        none = np.full_like(self.left, -1)
        pairs = [
            (none, self.auxiliary, 3),
            (self.left, self.right, 1),
            (self.left, self.auxiliary, -2),
            (self.right, self.auxiliary, -2),
        ]
        monomials = np.concatenate([np.stack([u, v], axis=1) for u, v, _ in pairs])
        factors = np.repeat([factor for *_, factor in pairs], len(self))
        check_overflow(3.0 * float(self.weights.max(initial=0)), "product weights")
        return monomials, np.tile(self.weights, len(pairs)) * factors

    def polynomial(self) -> Polynomial:
        """The Rosenberg penalties alone."""
        return Polynomial.of(*self.terms())

    def fill(self, bits: IntArray) -> IntArray:
        """Append the auxiliary bits to bits of shape ``(reads, n)``."""
        size = bits.shape[1]
        filled = np.concatenate([bits, np.zeros((len(bits), len(self)), dtype=np.int64)], axis=1)
        known = np.arange(size + len(self)) < size
        while not known.all():
            # A product may use earlier products: each round fills all whose factors are known.
            ready = known[self.left] & known[self.right] & ~known[self.auxiliary]
            left, right = self.left[ready], self.right[ready]
            filled[:, self.auxiliary[ready]] = filled[:, left] * filled[:, right]
            known[self.auxiliary[ready]] = True
        return filled


@dataclass(frozen=True, eq=False, repr=False)
class QUBO(_Unconstrained):
    """Quadratic unconstrained problem: what an Ising machine takes."""

    products: Products

    def _terms(self) -> list[Terms]:
        return [*super()._terms(), self.products.terms()]

    def complete(self, values: ArrayLike) -> IntArray:
        """Turn integer assignments of the QCBO into all bits, auxiliaries included."""
        return self.products.fill(self.code.encode(values))

    def violations(self, bits: ArrayLike) -> list[str]:
        """Turn one assignment into the names of the penalties and products it breaks."""
        given = self._checked(bits)[0]
        products = self.products
        broken = given[products.left] * given[products.right] != given[products.auxiliary]
        return super().violations(given) + [
            self.variables[int(i)] for i in products.auxiliary[broken]
        ]

    def with_weights(self, penalty: int | None = None, product: int | None = None) -> QUBO:
        """The same QUBO with weights set by hand, for which there is no proof."""
        penalties, products = self.penalties, self.products
        if penalty is not None:
            penalties = tuple(part.reweighted(penalty) for part in penalties)
        if product is not None:
            products = replace(
                products,
                weights=np.full_like(products.weights, product),
                proofs=np.full_like(products.proofs, PROOFS.index("user")),
            )
        return replace(self, penalties=penalties, products=products)

    @property
    def num_couplers(self) -> int:
        """Number of pairs of spins that interact."""
        return int((self.polynomial.degrees == 2).sum())

    def to_bqm(self) -> dimod.BinaryQuadraticModel:
        """Turn into a dimod binary quadratic model keyed by variable names."""
        from isinglearn.problem.exports.unconstrained import qubo_to_bqm

        return qubo_to_bqm(self)

    def to_matrix(self) -> scipy.sparse.csr_array[Any, Any]:
        """Turn into an upper triangular sparse ``Q``; the energy is ``x Q x + offset``."""
        from isinglearn.problem.exports.unconstrained import qubo_to_matrix

        return qubo_to_matrix(self)

    def to_ising(self) -> tuple[NDArray[np.float64], scipy.sparse.csr_array[Any, Any], float]:
        """Turn into fields, couplings and offset for spins ``2 x - 1``; multiples of 1/4, exact in floats."""
        from isinglearn.problem.exports.unconstrained import qubo_to_ising

        return qubo_to_ising(self)

    def write(self, path: str | Path) -> None:
        """Write as ``.qubo`` (qbsolv), ``.coo``, ``.npz`` or ``.json`` (dimod), by the file's ending."""
        from isinglearn.problem.exports.unconstrained import write_qubo

        write_qubo(self, Path(path))

    @property
    def offset(self) -> int:
        """The constant of the energy."""
        return self.polynomial.offset
