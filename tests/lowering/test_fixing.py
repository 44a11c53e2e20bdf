"""Bits fixed beforehand: no optimum is lost, or at least one is kept, as enumeration says."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.lowering.fixing import FREE, Fixing, fix_variables
from isinglearn.lowering.rounding import with_polynomial
from isinglearn.problem.polynomial import Polynomial
from isinglearn.solvers.base import Form, Status
from isinglearn.solvers.reading import read
from isinglearn.solvers.session import Session
from isinglearn.solvers.treewidth import Treewidth

NET = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
PROBLEM = il.compile(NET, [[0], [1]], [-1, 1])
SIZE = PROBLEM.qubo.num_variables


def all_bits(count):
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


BITS = all_bits(SIZE)
INDICES = st.integers(0, SIZE - 1)
PAIRS = st.sets(INDICES, min_size=2, max_size=2).map(tuple)


def any_qubo(terms):
    """The small QUBO with other energies."""
    return with_polynomial(PROBLEM.qubo, Polynomial.from_terms(terms), 1)


def optima(qubo):
    bits = all_bits(qubo.num_variables)
    energies = qubo.energy(bits)
    return bits[energies == energies.min()], int(energies.min())


def agrees(fixing, bits):
    fixed = fixing.values != FREE
    return (bits[:, fixed] == fixing.values[fixed]).all(axis=1)


# Small coefficients make ties, which decide between strong and weak persistency.
TERMS = st.dictionaries(
    st.one_of(st.just(()), st.tuples(INDICES), PAIRS), st.integers(-3, 3), max_size=22
)


@given(TERMS, st.sampled_from([1, 7, 10**12]))
@settings(max_examples=200, deadline=None)
def test_strong_persistency_keeps_all_optima_and_weak_one(terms, factor):
    qubo = any_qubo({term: value * factor for term, value in terms.items()})
    best, least = optima(qubo)
    reduced, strong = fix_variables(qubo)
    assert agrees(strong, best).all()
    smaller, weak = fix_variables(qubo, strict=False)
    assert agrees(weak, best).any()
    # What is certain stays as it is when more is fixed.
    certain = strong.values != FREE
    assert (weak.values[certain] == strong.values[certain]).all()
    assert strong.bound == weak.bound <= least
    for form, fixing in ((reduced, strong), (smaller, weak)):
        rest = all_bits(form.num_variables)
        assert (form.energy(rest) == qubo.energy(fixing.restore(rest))).all()
        assert form.energy(rest).min() == least
        assert (fixing.restrict(fixing.restore(rest)) == rest).all()


@given(
    st.dictionaries(st.tuples(INDICES), st.integers(-4, 4)),
    st.dictionaries(PAIRS, st.integers(-4, -1), max_size=14),
)
@settings(max_examples=80, deadline=None)
def test_without_positive_couplings_all_that_is_certain_is_found(linear, couplings):
    # Such a QUBO is a minimum cut: roof duality leaves nothing open.
    qubo = any_qubo(linear | couplings)
    best, least = optima(qubo)
    _, strong = fix_variables(qubo)
    same = (best == best[0]).all(axis=0)
    assert ((strong.values != FREE) == same).all()
    assert strong.bound == least
    nothing, weak = fix_variables(qubo, strict=False)
    assert nothing.num_variables == 0
    restored = weak.restore(np.zeros((1, 0)))
    assert qubo.energy(restored) == least


def test_two_bits_that_exclude_each_other():
    # Strong persistency knows nothing here; dwave-preprocessing 0.6.11 says 0 and 0 for weak.
    qubo = any_qubo({(0,): -1, (1,): -1, (0, 1): 2})
    assert fix_variables(qubo)[1].assignments == {}
    _, weak = fix_variables(qubo, strict=False)
    assert weak.values[0] + weak.values[1] == 1


def test_what_decides_itself_is_fixed_by_name():
    names = list(PROBLEM.qubo.variables)
    reduced, fixing = fix_variables(any_qubo({(): 5, (0,): 3, (1,): -3, (1, 2): -1, (3, 4): 1}))
    assert fixing.assignments == {names[0]: 0, names[1]: 1, names[2]: 1}
    assert list(reduced.variables) == names[3:]
    assert reduced.polynomial == Polynomial.from_terms({(): 1, (0, 1): 1})
    assert fixing.bound == 1
    bqm = reduced.to_bqm()
    assert list(bqm.variables) == names[3:]


def linear(domain, X, y):
    layer = nn.Linear(len(X[0]), 1, weight=domain, bias=domain)
    return il.compile(nn.Sequential(layer), X, y)


# Networks without hidden units, some of whose bits decide themselves: how many, strong and weak.
COMPILED = {
    "one bit": (linear(None, [[4, 1], [4, 0], [-4, 1]], [-1, -1, 1]), 1, 1),
    "more if one optimum is enough": (
        linear(nn.Int(0, 3), [[1, 1], [1, 0], [2, 1]], [1] * 3),
        1,
        3,
    ),
    "all": (linear(nn.Int(-4, -1), [[4], [3]], [1, 1]), 4, 4),
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("problem", "strong", "weak"), COMPILED.values(), ids=COMPILED)
def test_a_network_is_found_through_the_reduced_problem(problem, strong, weak, strict):
    reduced, fixing = fix_variables(problem.qubo, strict=strict)
    assert len(fixing.assignments) == (strong if strict else weak)
    assert reduced.num_variables == problem.qubo.num_variables - len(fixing.assignments)
    best = il.solve(problem, "brute").best.loss
    answer = Treewidth().solve(reduced, Treewidth.Options(), Session(reduced.scale))
    # The bound of the reduced problem is one of the whole.
    full = replace(answer, rows=fixing.restore(answer.rows))
    result = read(problem, Form.QUBO, full)
    assert result.status is Status.OPTIMAL
    assert result.bound == result.energies[0] == best * problem.qubo.scale
    assert (reduced.decode(answer.rows) == problem.qubo.decode(full.rows)).all()


def test_a_reduced_problem_speaks_of_the_whole_one():
    qubo = with_polynomial(PROBLEM.qubo, Polynomial.from_terms({(0,): 1, (2,): -1, (4, 5): 1}), 1)
    reduced, fixing = fix_variables(qubo)
    assert set(fixing.free) == set(range(SIZE)) - {0, 2}
    values = PROBLEM.complete(PROBLEM.incumbent[0])
    completed = reduced.complete(values)
    assert (completed == PROBLEM.qubo.complete(values)[:, fixing.free]).all()
    for rest in all_bits(SIZE - 2):
        whole = fixing.restore(rest)[0]
        assert (whole[[0, 2]] == [0, 1]).all()
        assert reduced.violations(rest) == PROBLEM.qubo.violations(whole)


def test_a_fixing_can_be_saved():
    _, fixing = fix_variables(any_qubo({(0,): 3, (1,): -3, (2, 3): 1}))
    assert fixing.assignments
    again = Fixing.from_dict(json.loads(json.dumps(fixing.to_dict())))
    assert again.to_dict() == fixing.to_dict()
    rest = all_bits(SIZE - 2)
    assert (again.restore(rest) == fixing.restore(rest)).all()
