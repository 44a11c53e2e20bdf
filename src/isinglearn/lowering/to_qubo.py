"""HUBO to QUBO: products of bits become bits until the degree is two, each held by a Rosenberg penalty.

Two stages, of which an order uses one or both:

products in rows
    Products inside rows that will be squared get their bits first. Every such row is then linear, its
    square is never negative whatever the auxiliaries do, and a small weight suffices for them.
reduction of the polynomial
    Whatever still has a degree above two after squaring is reduced greedily (the paper's algorithm 2).
    Pairs are shared between many terms, so there are fewer auxiliaries; weights follow from cofactors.

``product`` uses the first stage for all rows, ``square`` only the second, ``mixed`` the first for
penalties and the second for the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isinglearn.lowering.cofactors import cofactor_bounds
from isinglearn.lowering.options import Options
from isinglearn.lowering.orders import Order
from isinglearn.lowering.penalties import Certificate, product_proof, user_weights
from isinglearn.lowering.reduction import Reduction, reduce_monomials
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import HUBO, QUBO, Energy, Products, Proofs
from isinglearn.problem.polynomial import Polynomial
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.terms import Monomials, term_order
from isinglearn.problem.variables import Block, bit_block

# Sample numbers of bits that belong to no sample, or to several; neither has a repair bound.
NONE, SEVERAL, _PENDING = -1, -2, -3


def to_qubo(hubo: HUBO, order: Order, options: Options, certificate: Certificate | None) -> QUBO:
    """Turn the form of any degree into one of degree two, in the given order."""
    state = _State([*hubo.objective, *hubo.penalties], hubo.variables.samples)
    if order != "square":
        first = 0 if order == "product" else len(hubo.objective)
        samples = state.products_in_rows(first)
        state.weigh(_stage_weights(options, certificate, samples))
    state.expand()
    count = len(hubo.objective)
    if state.degree > 2:
        reduction, terms, coefficients = state.reduce(count)
        if options.product_weight is not None or certificate is None:
            state.weigh(user_weights(reduction.left, options.product_weight or 1))
        else:
            state.weigh(product_proof(*cofactor_bounds(reduction, terms, coefficients)))
    return QUBO(
        hubo.variables.extended(_product_block(state.left, state.right)),
        tuple(state.parts[:count]),
        tuple(state.parts[count:]),
        hubo.code,
        hubo.scale,
        state.products(len(hubo.variables)),
        source=hubo.source,
    )


def _stage_weights(
    options: Options, certificate: Certificate | None, samples: IntArray
) -> tuple[IntArray, Proofs]:
    if options.product_weight is not None or certificate is None:
        return user_weights(samples, options.product_weight or 1)
    return certificate.weigh(samples)


@dataclass(eq=False)
class _State:
    """Energies and products so far; each stage replaces terms and appends products."""

    parts: list[Energy]
    samples: IntArray

    def __post_init__(self) -> None:
        self.left = np.zeros(0, dtype=np.int64)
        self.right = np.zeros(0, dtype=np.int64)
        self.weights: list[IntArray] = []
        self.proofs: list[Proofs] = []

    def products_in_rows(self, first: int) -> IntArray:
        """Make the squared rows of ``parts[first:]`` linear; return the samples of the new products."""
        chosen = [i for i in range(first, len(self.parts)) if self.parts[i].shape != "linear"]
        before = len(self.samples)
        self._replace_terms(chosen, target=1)
        return self.samples[before:]

    def expand(self) -> None:
        """Square what is to be squared."""
        self.parts = [
            replace(part, rows=part.rows.expand(part.shape), shape="linear") for part in self.parts
        ]

    @property
    def degree(self) -> int:
        """Largest degree of a term."""
        return max((part.rows.degree for part in self.parts), default=0)

    def reduce(self, num_objective: int) -> tuple[Reduction, Monomials, IntArray]:
        """Bring all terms to degree two; return what the proof of the new weights needs."""
        # Only penalties need their rows apart, for names and weights.
        for place in range(num_objective):
            self.parts[place] = _summed(self.parts[place])
        every = list(range(len(self.parts)))
        before = [self.parts[i] for i in every]
        terms, reduction, inverse = self._replace_terms(every, target=2)
        total = np.zeros(len(terms), dtype=np.int64)
        for part, where in zip(before, inverse, strict=True):
            np.add.at(total, where, part.rows.coefficients * part.weights[part.rows.rows])
        return reduction, terms, total

    def _replace_terms(
        self, chosen: list[int], target: int
    ) -> tuple[Monomials, Reduction, list[IntArray]]:
        families = [self.parts[i].rows for i in chosen]
        terms, inverse = _distinct_terms(families)
        reduction = reduce_monomials(terms, len(self.samples), target)
        for i, family, where in zip(chosen, families, inverse, strict=True):
            rows = PolynomialRows.of(
                family.num_rows, family.rows, reduction.monomials[where], family.coefficients
            )
            self.parts[i] = replace(self.parts[i], rows=rows)
        self.left = np.concatenate([self.left, reduction.left])
        self.right = np.concatenate([self.right, reduction.right])
        new = _sample_of_products(self.samples, reduction)
        self.samples = np.concatenate([self.samples, new])
        return terms, reduction, inverse

    def weigh(self, weights: tuple[IntArray, Proofs]) -> None:
        """Record the weights of the newest products."""
        self.weights.append(weights[0])
        self.proofs.append(weights[1])

    def products(self, num_variables: int) -> Products:
        """All products of all stages."""
        return Products(
            self.left,
            self.right,
            num_variables + np.arange(len(self.left)),
            np.concatenate([np.zeros(0, dtype=np.int64), *self.weights]),
            np.concatenate([np.zeros(0, dtype=np.uint8), *self.proofs]),
        )


def _summed(part: Energy) -> Energy:
    """One row that is the weighted sum of all."""
    whole = Polynomial.of(*part.terms())
    places = part.positions.take(np.zeros(1, dtype=np.int64))
    return Energy(places, whole.as_rows(), "linear", np.ones(1, dtype=np.int64))


def _distinct_terms(families: list[PolynomialRows]) -> tuple[Monomials, list[IntArray]]:
    """Turn families into their distinct terms and, for every family, where its terms are among them."""
    if not families:
        return np.zeros((0, 0), dtype=np.int32), []
    width = max(family.degree for family in families)
    stacked = np.concatenate([family.padded(width) for family in families])
    order, first = term_order(np.zeros(len(stacked), dtype=np.int64), stacked)
    number = np.empty(len(stacked), dtype=np.int64)
    number[order] = np.cumsum(first) - 1
    ends = np.cumsum([len(family.rows) for family in families])
    return stacked[order[first]], np.split(number, ends[:-1])


def _sample_of_products(samples: IntArray, reduction: Reduction) -> IntArray:
    """Sample of each product: that of its factors, ``NONE`` for parameters alone, else ``SEVERAL``."""
    first = len(samples)
    known = np.concatenate([samples, np.full(len(reduction.left), _PENDING)])
    while (waiting := np.flatnonzero(known[first:] == _PENDING)).size:
        # A product of products waits until its factors are known; there are few such levels.
        a, b = known[reduction.left[waiting]], known[reduction.right[waiting]]
        ready = (a != _PENDING) & (b != _PENDING)
        one = np.where(a == NONE, b, np.where((b == NONE) | (a == b), a, SEVERAL))
        known[first + waiting[ready]] = one[ready]
    return known[first:]


def _product_block(left: IntArray, right: IntArray) -> Block:
    entries = np.stack([left, right], axis=1)
    return bit_block("", "product", "product", ("bit_", "bit_"), entries)
