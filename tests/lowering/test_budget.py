"""Spin budgets: table 2, the compact worst case, exact counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError
from isinglearn.lowering.budget import Shape, complexity, growth, spin_budget
from isinglearn.paper.instances import instances


def shape_of(instance):
    samples, features = instance.X.shape
    return Shape(features, instance.hidden, instance.layers, 1, instance.input_bits, samples)


@pytest.mark.parametrize("instance", instances(), ids=lambda i: i.name)
def test_both_budgets_match_what_compiling_gives(instance):
    compact = il.compile(instance.network, instance.X, instance.y)
    exact = il.spin_budget(instance.network, instance.X)
    worst = il.spin_budget(shape_of(instance))
    assert exact.exact
    assert not worst.exact
    assert exact.compact_qubo == compact.qubo.num_variables
    assert exact.compact == compact.qubo.variables.count_by_role()
    assert exact.paper_qcbo == worst.paper_qcbo == instance.paper_qcbo
    assert exact.compact_qubo <= worst.compact_qubo
    paper = instance.paper_qubo or 5543
    assert abs(exact.paper_qubo - paper) < 0.05 * paper


@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(2, 4),
    st.integers(1, 2),
    st.integers(0, 3),
    st.integers(1, 9),
    st.integers(0, 10**6),
)
@settings(max_examples=30, deadline=None)
def test_worst_case_and_table_2_for_random_data(n, H, L, m, B, N, seed):
    X = np.random.default_rng(seed).integers(-(2**B), 2**B + 1, (N, n))
    net = nn.paper_network(n, H, L, m, B)
    exact, worst = spin_budget(net, X), spin_budget(Shape(n, H, L, m, B, N))
    assert exact.paper_qcbo == worst.paper_qcbo
    assert exact.compact_qubo <= worst.compact_qubo


@pytest.mark.parametrize("order", ["mixed", "square", "product"])
@pytest.mark.parametrize("signs", ["auto", "slack", "threshold"])
def test_exact_budget_with_options(order, signs):
    instance = instances()[1]
    budget = spin_budget(instance.network, instance.X, order=order, signs=signs)
    problem = il.compile(instance.network, instance.X, instance.y, order=order, signs=signs)
    assert budget.compact_qubo == problem.qubo.num_variables


def test_growth_follows_equation_10():
    # Linear in N and L, at most quadratic in H (times its logarithm).
    curves = growth(Shape(2, 3, 2, 1, 4, 50))
    points = dict(curves["N"]["paper (estimate)"])
    assert points[10000] / points[1000] == pytest.approx(10, rel=0.02)
    assert complexity(Shape(2, 4, 2, 1, 4, 2000)) < 2.1 * complexity(Shape(2, 4, 2, 1, 4, 1000))


def test_a_network_needs_data_and_a_shape_needs_sizes():
    with pytest.raises(OptionError, match="needs data"):
        spin_budget(nn.paper_network(2, 1, 2, 1, 0))
    with pytest.raises(OptionError, match=r"Shape\(H\)"):
        Shape(2, 0)
