"""Relaxation: a compiled QUBO whose constraints are priced anew in every iteration, and never rebuilt.

The energy is ``objective + sum_k (multiplier_k c_k(x) + rho_k p_k(x))`` with two kinds of constraint:

ties
    ``c_k(x) = 0`` can be broken both ways: rows that the compiler squares (``p = c^2``), and products
    (``c = v - u1 u2``, ``p`` Rosenberg's polynomial, which is at least ``c^2``). They get a signed
    multiplier. For a product it adds only to terms that Rosenberg's polynomial has anyway.
gadgets
    Penalties that are 0 where their constraint holds and positive elsewhere (``t (t - 1) / 2``, sums of
    non-negative terms). The constraint is ``p(x) = 0`` and its multiplier is the weight itself, so
    ``c = 0`` in the formula: dual ascent can only raise it.

On networks (no constraint broken) the energy is the true loss, whatever the multipliers are. So the least
energy is never above the least loss, and if the state that has it breaks nothing it is an optimal network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO, Energy, Products
from isinglearn.problem.rows import PolynomialRows, stack_rows
from isinglearn.problem.variables import Positions


@dataclass(frozen=True, eq=False)
class Prices:
    """Weights of all constraints, in the order of the penalties and then the products.

    Attributes
    ----------
    rho
        Weights of the penalties.
    multiplier
        Signed multipliers; 0 for gadgets.
    """

    rho: IntArray
    multiplier: IntArray


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The parts of a compiled QUBO, each constraint with its row.

    Attributes
    ----------
    qubo
        As compiled, with weights that are proved to suffice.
    rows
        ``c_k`` over the QUBO's bits; empty for gadgets.
    signed
        Which constraints are ties.
    certified
        The compiler's weights.
    """

    qubo: QUBO
    rows: PolynomialRows
    signed: IntArray
    certified: IntArray

    @classmethod
    def of(cls, problem: Problem) -> Relaxation:
        """Turn a compiled problem into its relaxation."""
        qubo = problem.qubo
        parts, signed = [], []
        for part in problem.hubo.penalties:
            count = part.rows.num_rows
            # A row of a higher degree would need further products: it stays a gadget.
            tie = part.shape == "square" and part.rows.degree <= 2
            parts.append(part.rows if tie else PolynomialRows.constants(np.zeros(count)))
            signed.append(np.full(count, tie))
        parts.append(_product_rows(qubo.products))
        signed.append(np.ones(len(qubo.products), dtype=bool))
        weights = [part.weights for part in qubo.penalties]
        return cls(
            qubo,
            stack_rows(parts),
            np.concatenate(signed),
            np.concatenate([*weights, qubo.products.weights]),
        )

    def __len__(self) -> int:
        return len(self.certified)

    def weighted(self, prices: Prices) -> QUBO:
        """Turn prices into the QUBO that a machine is given: the same rows, other weights."""
        ends = np.cumsum([part.rows.num_rows for part in self.qubo.penalties])
        *penalties, products = np.split(prices.rho, ends)
        places = Positions("", "multiplier", ("",), np.arange(len(self))[:, None])
        linear = Energy(places, self.rows, "linear", prices.multiplier)
        return replace(
            self.qubo,
            objective=(*self.qubo.objective, linear),
            penalties=tuple(
                replace(part, weights=weights, proofs=None)
                for part, weights in zip(self.qubo.penalties, penalties, strict=True)
            ),
            products=replace(self.qubo.products, weights=products),
        )

    def violations(self, bits: IntArray) -> IntArray:
        """Turn one assignment into ``c_k`` of the ties and ``p_k`` of the gadgets."""
        values = self.rows.evaluate(bits[None])[0]
        paid = [part.values(bits[None])[0] for part in self.qubo.penalties]
        none = np.zeros(len(self.qubo.products), dtype=np.int64)
        # Reduced squares can fall below 0 where products are broken; such a gadget is not in want of more.
        gadgets = np.maximum(np.concatenate([*paid, none]), 0)
        return np.where(self.signed, values, gadgets)


def _product_rows(products: Products) -> PolynomialRows:
    """``v - u1 u2`` of every product."""
    count = len(products)
    pairs = np.stack([products.left, products.right], axis=1)
    single = np.stack([np.full(count, -1), products.auxiliary], axis=1)
    return PolynomialRows.of(
        count,
        np.tile(np.arange(count), 2),
        np.concatenate([pairs, single]),
        np.repeat([-1, 1], count),
    )


def coefficient_range(qubo: QUBO) -> tuple[int, float]:
    """Turn a QUBO into its largest coefficient, and in how many bits the largest exceeds the least."""
    polynomial = qubo.polynomial
    sizes = np.abs(polynomial.coefficients[polynomial.degrees > 0])
    if not len(sizes):
        return 0, 0.0
    return int(sizes.max()), float(np.log2(sizes.max() / sizes.min()))
