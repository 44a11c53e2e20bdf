"""Solving what was fitted to a machine: rounded coefficients, bits fixed beforehand."""

from __future__ import annotations

import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError
from isinglearn.paper.instances import MNIST
from isinglearn.solvers.base import Status

SOLVERS = ["annealer", "dwave-sa", "treewidth", "tabu"]


def shrinking(X=((1, 1), (1, 0), (2, 1))) -> il.Problem:
    """A regression without hidden units: roof duality decides some of its bits, or all."""
    net = nn.Sequential(nn.Linear(2, 1, weight=nn.Int(0, 3), bias=nn.Int(0, 3)))
    return il.compile(net, X, [1] * len(X))


@pytest.mark.parametrize("solver", SOLVERS)
def test_bits_fixed_beforehand_change_no_answer(solver):
    problem = shrinking()
    reduced, _ = problem.fixed()
    assert 0 < reduced.num_variables < problem.qubo.num_variables
    run = il.solve(problem, solver, fix=True)
    assert run.best.loss == il.solve(problem, "brute").best.loss
    assert run.result.bits.shape[1] == problem.qubo.num_variables
    assert run.verdict.consistent


@pytest.mark.parametrize("solver", SOLVERS)
def test_nothing_may_be_left_to_solve(solver):
    problem = shrinking([[4, 0], [0, 4], [1, 0]])
    assert problem.fixed()[0].num_variables == 0
    run = il.solve(problem, solver, fix=True)
    assert run.best.loss == il.solve(problem, "brute").best.loss
    assert run.verdict.consistent


def test_a_start_is_cut_to_the_bits_that_are_left():
    problem = shrinking()
    start = il.solve(problem, "brute").best.parameters
    run = il.solve(problem, "annealer", fix=True, start=start, moves="single")
    assert run.best.loss == il.solve(problem, "brute").best.loss


@pytest.mark.parametrize("solver", SOLVERS)
def test_enough_bits_keep_the_optimum_and_too_few_prove_nothing(solver):
    problem = il.compile(MNIST.network, MNIST.X, MNIST.y)
    if solver in ("annealer", "treewidth"):
        assert il.solve(problem, solver, bits=8).best.loss == 0
    rough = il.solve(problem, solver, bits=3)
    # A ground state of the rounded QUBO, but no bound for the network.
    assert rough.bound == 0
    assert (rough.status is Status.OPTIMAL) is (rough.best.loss == 0)


@pytest.mark.parametrize("option", [{"bits": 8}, {"fix": True}], ids=str)
def test_only_a_qubo_is_fitted(option):
    with pytest.raises(OptionError, match="only a QUBO"):
        il.solve(shrinking(), "cpsat", **option)
