"""Polynomials in arrays against a reference that is a plain dictionary of terms."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglearn.errors import OverflowRefused
from isinglearn.problem.polynomial import Polynomial, sum_polynomials
from isinglearn.problem.rows import PolynomialRows, multiply_rows, stack_rows

NUM_VARIABLES = 4
ALL_BITS = np.array(list(product((0, 1), repeat=NUM_VARIABLES)))
# A loose term: indices in any order, repeats allowed.
Terms = list[tuple[tuple[int, ...], int]]
Reference = dict[tuple[int, ...], int]

# Machines are shared and kernels compile on first use: no example has a deadline.
examples = settings(deadline=None)

variables = st.integers(0, NUM_VARIABLES - 1)
coefficients = st.integers(-9, 9)


def loose_terms(max_degree: int = 3, max_size: int = 6) -> st.SearchStrategy[Terms]:
    term = st.lists(variables, max_size=max_degree).map(tuple)
    return st.lists(st.tuples(term, coefficients), max_size=max_size)


def loose_rows(max_degree: int = 2, max_size: int = 4) -> st.SearchStrategy[list[Terms]]:
    return st.lists(loose_terms(max_degree), min_size=1, max_size=max_size)


def merged(terms: Iterable[tuple[tuple[int, ...], int]], *, binary: bool = True) -> Reference:
    """The canonical form, term by term: indices sorted, x^2 = x for bits, no zeros."""
    total: Reference = {}
    for indices, value in terms:
        key = tuple(sorted(set(indices) if binary else indices))
        total[key] = total.get(key, 0) + value
    return {key: value for key, value in total.items() if value}


def times(left: Reference, right: Reference, *, binary: bool = True) -> Reference:
    pairs = product(left.items(), right.items())
    return merged(((a + b, x * y) for (a, x), (b, y) in pairs), binary=binary)


def value_at(terms: Iterable[tuple[tuple[int, ...], int]], point: Iterable[int]) -> int:
    at = [int(value) for value in point]
    total = 0
    for indices, coefficient in terms:
        for index in indices:
            coefficient *= at[index]  # noqa: PLW2901
        total += coefficient
    return total


def padded(terms: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    every = list(terms)
    width = max(map(len, every), default=0)
    return [term + (-1,) * (width - len(term)) for term in every]


def polynomial(terms: Terms) -> Polynomial:
    return Polynomial.of(padded(t for t, _ in terms), [value for _, value in terms])


def family(rows: list[Terms], *, binary: bool = False) -> PolynomialRows:
    flat = [(number, term, value) for number, row in enumerate(rows) for term, value in row]
    return PolynomialRows.of(
        len(rows),
        [number for number, _, _ in flat],
        padded(term for _, term, _ in flat),
        [value for _, _, value in flat],
        binary=binary,
    )


def row_terms(rows: PolynomialRows) -> list[Reference]:
    """Every row read back as a dictionary; fails where two terms of a row are equal."""
    result: list[Reference] = [{} for _ in range(rows.num_rows)]
    for row, term, value in zip(rows.rows, rows.monomials, rows.coefficients, strict=True):
        key = tuple(int(i) for i in term if i >= 0)
        assert key not in result[row]
        result[row][key] = int(value)
    return result


def assert_canonical(
    rows: np.ndarray, monomials: np.ndarray, values: np.ndarray, *, binary: bool
) -> None:
    assert (values != 0).all()
    keys = [tuple(key) for key in np.column_stack([rows, monomials]).tolist()]
    assert keys == sorted(set(keys))
    for *_, term in zip(keys, monomials.tolist(), strict=True):
        present = [i for i in term if i >= 0]
        assert term == [-1] * (len(term) - len(present)) + sorted(present)
        assert not binary or len(set(present)) == len(present)
    # No column that only pads.
    assert monomials.shape[1] == 0 or (monomials >= 0).any(axis=0).all()


# -- one polynomial --------------------------------------------------------------------------------


@examples
@given(loose_terms())
def test_construction_is_canonical(terms):
    built = polynomial(terms)
    assert built.to_terms() == merged(terms)
    zeros = np.zeros(built.num_terms, dtype=np.int64)
    assert_canonical(zeros, built.monomials, built.coefficients, binary=True)


@examples
@given(loose_terms())
def test_from_terms_and_to_terms_are_inverse(terms):
    reference = merged(terms)
    built = Polynomial.from_terms(reference)
    assert built.to_terms() == reference
    assert Polynomial.from_terms(built.to_terms()) == built


def test_from_terms_sorts_merges_and_drops_squares():
    built = Polynomial.from_terms({(2, 0): 3, (0, 2): 4, (1, 1, 1): 5, (): 6, (3,): 0})
    assert built.to_terms() == {(): 6, (1,): 5, (0, 2): 7}
    assert (built.degree, built.num_terms, built.offset) == (2, 3, 6)


def test_equal_polynomials_are_equal_however_they_were_written():
    assert polynomial([((0, 1), 2), ((), 1)]) == polynomial([((), 1), ((1, 0), 1), ((0, 1), 1)])
    assert polynomial([((0,), 1)]) != polynomial([((1,), 1)])
    assert polynomial([((0,), 1)]) != {(0,): 1}


@pytest.mark.parametrize("nothing", [Polynomial.from_terms({}), sum_polynomials([])])
def test_the_empty_polynomial_is_zero(nothing):
    assert nothing.to_terms() == {}
    assert (nothing.degree, nothing.offset, nothing.bounds()) == (0, 0, (0, 0))
    assert (nothing.evaluate(ALL_BITS) == 0).all()
    assert nothing.square() == nothing


@examples
@given(loose_terms(), loose_terms())
def test_sum_difference_and_product(left, right):
    a, b = polynomial(left), polynomial(right)
    negated = [(term, -value) for term, value in right]
    assert (a + b).to_terms() == merged([*left, *right])
    assert (a - b).to_terms() == merged([*left, *negated])
    assert (a * b).to_terms() == times(merged(left), merged(right))
    assert sum_polynomials([a, b, a]).to_terms() == merged([*left, *right, *left])


@examples
@given(loose_terms(), st.integers(-5, 5))
def test_integers_act_from_both_sides(terms, number):
    p = polynomial(terms)
    constant = [((), number)]
    assert (p + number).to_terms() == (number + p).to_terms() == merged([*terms, *constant])
    assert (p * number).to_terms() == (number * p).to_terms()
    assert (p * number).to_terms() == merged((term, value * number) for term, value in terms)
    assert (-p).to_terms() == (p * -1).to_terms()
    assert (p - number) + number == p


@examples
@given(loose_terms())
def test_square_is_the_product_with_itself(terms):
    p = polynomial(terms)
    assert p.square().to_terms() == times(merged(terms), merged(terms))
    assert (p.square().evaluate(ALL_BITS) == p.evaluate(ALL_BITS) ** 2).all()


@examples
@given(loose_terms())
def test_evaluation_follows_the_loose_terms(terms):
    expected = [value_at(terms, bits) for bits in ALL_BITS]
    assert polynomial(terms).evaluate(ALL_BITS).tolist() == expected
    assert polynomial(terms).evaluate(ALL_BITS[5]).tolist() == expected[5:6]


@examples
@given(loose_terms())
def test_bounds_hold_and_are_the_signed_sums(terms):
    p = polynomial(terms)
    low, high = p.bounds()
    constant = merged(terms).get((), 0)
    varying = [value for term, value in merged(terms).items() if term]
    assert low == constant + sum(value for value in varying if value < 0)
    assert high == constant + sum(value for value in varying if value > 0)
    values = p.evaluate(ALL_BITS)
    assert low <= values.min()
    assert values.max() <= high


# -- many rows -------------------------------------------------------------------------------------


@examples
@given(loose_rows(max_degree=3), st.booleans())
def test_rows_are_canonical(rows, binary):
    built = family(rows, binary=binary)
    assert row_terms(built) == [merged(row, binary=binary) for row in rows]
    assert_canonical(built.rows, built.monomials, built.coefficients, binary=binary)
    assert built.offsets.tolist() == [merged(row).get((), 0) for row in rows]
    counts = [len(merged(row, binary=binary)) for row in rows]
    assert np.diff(built.pointers).tolist() == counts


@examples
@given(loose_rows(), st.lists(st.integers(-3, 3), min_size=NUM_VARIABLES, max_size=NUM_VARIABLES))
def test_rows_evaluate_over_integers(rows, point):
    assert family(rows).evaluate(point).tolist() == [[value_at(row, point) for row in rows]]


@examples
@given(st.data())
def test_row_sums_differences_and_multiples(data):
    left, right = data.draw(loose_rows()), data.draw(loose_rows())
    count = min(len(left), len(right))
    left, right = left[:count], right[:count]
    factors = data.draw(st.lists(st.integers(-4, 4), min_size=count, max_size=count))
    a, b = family(left), family(right)
    pairs = list(zip(left, right, strict=True))
    negated = [[(term, -value) for term, value in row] for row in right]
    assert row_terms(a + b) == [merged(x + y, binary=False) for x, y in pairs]
    assert row_terms(a - b) == [
        merged(x + y, binary=False) for x, y in zip(left, negated, strict=True)
    ]
    assert row_terms(a.scaled(factors)) == [
        merged(((term, value * factor) for term, value in row), binary=False)
        for row, factor in zip(left, factors, strict=True)
    ]
    assert row_terms(a.scaled(2)) == row_terms(a + a)


@examples
@given(st.data())
def test_take_selects_repeats_and_reorders(data):
    rows = data.draw(loose_rows())
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    taken = family(rows).take(chosen)
    assert taken.num_rows == len(chosen)
    assert row_terms(taken) == [merged(rows[i], binary=False) for i in chosen]
    assert_canonical(taken.rows, taken.monomials, taken.coefficients, binary=False)


@examples
@given(loose_rows(), loose_rows())
def test_stacking_keeps_the_rows(upper, lower):
    both = stack_rows([family(upper), family(lower)])
    assert row_terms(both) == [merged(row, binary=False) for row in [*upper, *lower]]


@examples
@given(st.data())
def test_substitution_equals_evaluation_at_the_substituted_values(data):
    rows = data.draw(loose_rows())
    values = data.draw(st.lists(loose_terms(), min_size=NUM_VARIABLES, max_size=NUM_VARIABLES))
    # The last value is never empty: see test_substitution_into_values_that_are_all_zero.
    values[-1] = [*values[-1], ((0, 1, 2, 3), 100)]
    inner = family(values, binary=True)
    outer = family(rows)
    result = outer.substitute(inner)
    assert_canonical(result.rows, result.monomials, result.coefficients, binary=True)
    assert (result.evaluate(ALL_BITS) == outer.evaluate(inner.evaluate(ALL_BITS))).all()


def test_substitution_into_values_that_are_all_zero():
    three_plus_x = family([[((), 3), ((0,), 1)]])
    zero = PolynomialRows.constants([0])
    assert row_terms(three_plus_x.substitute(zero)) == [{(): 3}]


@examples
@given(loose_rows(max_degree=3))
def test_expanded_rows_are_squares_and_pairs(rows):
    built = family(rows, binary=True)
    value = built.evaluate(ALL_BITS)
    square, pairs = built.expand("square"), built.expand("pairs")
    assert built.expand("linear") is built
    assert (square.evaluate(ALL_BITS) == value**2).all()
    assert (pairs.evaluate(ALL_BITS) == value * (value - 1) // 2).all()
    for expanded in (square, pairs):
        assert_canonical(expanded.rows, expanded.monomials, expanded.coefficients, binary=True)
    assert row_terms(square) == [times(merged(row), merged(row)) for row in rows]


@examples
@given(st.data())
def test_multiplied_rows_add_up_the_triples(data):
    left, right = data.draw(loose_rows()), data.draw(loose_rows())
    triples = data.draw(
        st.lists(
            st.tuples(
                st.integers(0, len(left) - 1), st.integers(0, len(right) - 1), st.integers(0, 2)
            ),
            max_size=5,
        )
    )
    chosen = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    result = multiply_rows(family(left), chosen[0], family(right), chosen[1], chosen[2], 3)
    expected: list[Terms] = [[], [], []]
    for a, b, out in triples:
        one, two = merged(left[a], binary=False), merged(right[b], binary=False)
        expected[out] += times(one, two, binary=False).items()
    assert row_terms(result) == [merged(row, binary=False) for row in expected]


@examples
@given(st.data())
def test_row_bounds_hold_at_every_point(data):
    rows = data.draw(loose_rows())
    ends = [sorted(data.draw(st.tuples(*[st.integers(-3, 3)] * 2))) for _ in range(NUM_VARIABLES)]
    lo, hi = np.array(ends).T
    points = np.array(list(product(*(sorted({a, (a + b) // 2, b}) for a, b in ends))))
    low, high = family(rows).bounds(lo, hi)
    values = family(rows).evaluate(points)
    assert (low <= values.min(axis=0)).all()
    assert (values.max(axis=0) <= high).all()


@examples
@given(st.data())
def test_row_bounds_are_exact_where_no_variable_repeats(data):
    # Disjoint terms attain their extremes independently, so intervals lose nothing.
    row = [
        ((0, 1), data.draw(coefficients)),
        ((2,), data.draw(coefficients)),
        ((3,), data.draw(coefficients)),
        ((), data.draw(coefficients)),
    ]
    ends = [sorted(data.draw(st.tuples(*[st.integers(-2, 2)] * 2))) for _ in range(NUM_VARIABLES)]
    lo, hi = np.array(ends).T
    values = family([row]).evaluate(list(product(*(range(a, b + 1) for a, b in ends))))
    low, high = family([row]).bounds(lo, hi)
    assert (low[0], high[0]) == (values.min(), values.max())


def test_variables_and_constants():
    assert row_terms(PolynomialRows.variables([3, 1])) == [{(3,): 1}, {(1,): 1}]
    assert row_terms(PolynomialRows.constants([5, 0, -2])) == [{(): 5}, {}, {(): -2}]


def test_many_variables_need_several_sort_keys():
    # Indices so large that the terms' keys do not fit one integer.
    big = 2**30
    built = Polynomial.from_terms({(big, big + 1, 5): 1, (5, big + 1, big): 2, (0, 1, 2): 3})
    assert built.to_terms() == {(0, 1, 2): 3, (5, big, big + 1): 3}


# -- overflow --------------------------------------------------------------------------------------

X = Polynomial.from_terms({(0,): 2**40})
ROW = X.as_rows()
FIRST = np.array([0])


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(lambda: X * X, id="product"),
        pytest.param(X.square, id="square"),
        pytest.param(lambda: X * 2**30, id="multiple"),
        pytest.param(lambda: sum_polynomials([X * 2**21] * 2), id="sum"),
        pytest.param(lambda: Polynomial.of([[0], [0]], [2**61, 2**61]), id="merge"),
        pytest.param(lambda: Polynomial.of([[0], [0]], [2**62, -(2**62)]), id="cancelling merge"),
        pytest.param(lambda: ROW.scaled(2**22), id="scaled rows"),
        pytest.param(lambda: ROW.expand("square"), id="squared rows"),
        pytest.param(lambda: ROW.expand("pairs"), id="pairs of rows"),
        pytest.param(lambda: (ROW + ROW.scaled(2**21)).scaled(2), id="sum of rows"),
        pytest.param(lambda: ROW.substitute(ROW), id="substitution"),
        pytest.param(
            lambda: multiply_rows(ROW, FIRST, ROW, FIRST, FIRST, 1),
            id="product of rows",
        ),
    ],
)
def test_overflow_is_refused(compute):
    with pytest.raises(OverflowRefused, match=r"2\^62"):
        compute()


def test_overflow_where_equal_products_meet_is_refused():
    # (c + c x)^2 = c^2 + 3 c^2 x: every single product fits, their sum does not.
    c = 2**31 - 1
    with pytest.raises(OverflowRefused):
        Polynomial.from_terms({(): c, (0,): c}).square()
    with pytest.raises(OverflowRefused):
        family([[((), c), ((0,), c)]]).expand("square")


def test_overflow_in_bounds_is_refused():
    row = family([[((0, 1), 2**40)]])
    with pytest.raises(OverflowRefused):
        row.bounds(np.array([0, 0]), np.array([2**20, 2**20]))


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_are_refused(number):
    with pytest.raises(OverflowRefused):
        Polynomial.from_terms({(0,): number})
    with pytest.raises(OverflowRefused):
        _ = Polynomial.from_terms({(0,): 1}) * number


def test_values_beyond_64_bits_are_never_wrapped():
    # Eight coefficients of 2^61 are each fine; their sum 2^64 wraps to 0 in int64.
    p = Polynomial.from_terms({(i,): 2**61 for i in range(8)})
    with pytest.raises(OverflowRefused):
        p.evaluate([[1] * 8])
    with pytest.raises(OverflowRefused):
        p.bounds()


def test_the_largest_allowed_coefficient_stays_exact():
    most = 2**62 - 1025
    p = Polynomial.from_terms({(0,): most, (1,): -most})
    assert p.evaluate([[1, 0]]).tolist() == [most]
    assert p.evaluate([[0, 1]]).tolist() == [-most]
