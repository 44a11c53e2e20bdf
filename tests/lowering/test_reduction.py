"""Order reduction: appendix A, the paper's numbers, and equality with a plain implementation."""

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglearn.lowering.cofactors import cofactor_bounds, cofactors
from isinglearn.lowering.penalties import product_proof
from isinglearn.lowering.reduction import reduce_monomials
from isinglearn.problem.forms import Products
from isinglearn.problem.polynomial import Polynomial

NUM_BITS = 7
TERMS = st.dictionaries(
    st.frozensets(st.integers(0, NUM_BITS - 1), max_size=5).map(lambda s: tuple(sorted(s))),
    st.integers(-9, 9).filter(bool),
    min_size=1,
    max_size=12,
)


def reduced(polynomial, num_bits):
    """Polynomial of degree two and its products, with proved weights."""
    reduction = reduce_monomials(polynomial.monomials, num_bits, 2)
    bounds = cofactor_bounds(reduction, polynomial.monomials, polynomial.coefficients)
    weights, proofs = product_proof(*bounds)
    auxiliary = num_bits + np.arange(len(reduction.left))
    products = Products(reduction.left, reduction.right, auxiliary, weights, proofs)
    return Polynomial.of(reduction.monomials, polynomial.coefficients), products, reduction


def plain_greedy(terms, num_bits):
    """Algorithm 2 with everything counted anew in every step."""
    terms = {frozenset(t) for t in terms if len(t) > 2}
    pairs = []
    while terms:
        counts = Counter(pair for t in terms for pair in combinations(sorted(t), 2))
        u, v = max(counts, key=lambda pair: (counts[pair], pair[1], pair[0]))
        new = num_bits + len(pairs)
        pairs.append((u, v))
        terms = {(t - {u, v}) | {new} if {u, v} <= t else t for t in terms}
        terms = {t for t in terms if len(t) > 2}
    return pairs


def test_appendix_a():
    # L = s1 s2 s3 + s1 s2 + s3 becomes L' = s4 s3 + s4 + s3.
    loss = Polynomial.from_terms({(0, 1, 2): 1, (0, 1): 1, (2,): 1})
    forced = reduce_monomials(loss.monomials, 3, 2)
    # All three pairs are equally frequent; the newest one is taken, so name the bits accordingly.
    loss = Polynomial.from_terms({(0, 1, 2): 1, (1, 2): 1, (0,): 1})
    quadratic, products, _ = reduced(loss, 3)
    assert len(forced.left) == 1
    assert (products.left.tolist(), products.right.tolist()) == ([1], [2])
    assert quadratic.to_terms() == {(0, 3): 1, (3,): 1, (0,): 1}
    assert (products.polynomial() * 1).to_terms() == {
        (3,): 3 * products.weights[0],
        (1, 2): products.weights[0],
        (1, 3): -2 * products.weights[0],
        (2, 3): -2 * products.weights[0],
    }


@given(TERMS)
@settings(max_examples=150, deadline=None)
def test_same_products_as_the_plain_algorithm(terms):
    polynomial = Polynomial.from_terms(terms)
    reduction = reduce_monomials(polynomial.monomials, NUM_BITS, 2)
    found = list(zip(reduction.left.tolist(), reduction.right.tolist(), strict=True))
    assert found == plain_greedy(polynomial.to_terms(), NUM_BITS)


@given(TERMS)
@settings(max_examples=100, deadline=None)
def test_reduction_keeps_minima_and_every_ground_state_is_consistent(terms):
    polynomial = Polynomial.from_terms(terms)
    quadratic, products, _ = reduced(polynomial, NUM_BITS)
    assert quadratic.degree <= 2
    bits = (np.arange(2**NUM_BITS)[:, None] >> np.arange(NUM_BITS)) & 1
    values = polynomial.evaluate(bits)
    total = quadratic + products.polynomial()
    consistent = products.fill(bits)
    assert (total.evaluate(consistent) == values).all()
    size = NUM_BITS + len(products)
    if size > 16:
        return
    everything = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    energy = total.evaluate(everything)
    assert energy.min() == values.min()
    ground = everything[energy == energy.min()]
    assert (products.fill(ground[:, :NUM_BITS]) == ground).all()


@given(TERMS)
@settings(max_examples=60, deadline=None)
def test_cofactor_bounds_hold_and_are_tight_for_small_cofactors(terms):
    polynomial = Polynomial.from_terms(terms)
    reduction = reduce_monomials(polynomial.monomials, NUM_BITS, 2)
    rows = cofactors(reduction, polynomial.monomials, polynomial.coefficients)
    size = NUM_BITS + len(reduction.left)
    if size > 14:
        return
    everything = (np.arange(2**size)[:, None] >> np.arange(size)) & 1
    values = rows.evaluate(everything)
    lo, hi = cofactor_bounds(reduction, polynomial.monomials, polynomial.coefficients)
    if rows.num_rows:
        assert (lo == values.min(axis=0)).all()
        assert (hi == values.max(axis=0)).all()
