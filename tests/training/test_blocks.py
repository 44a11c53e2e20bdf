from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from isinglearn import nn
from isinglearn.errors import SolverError
from isinglearn.solvers.annealer.sampler import AnnealingSampler
from isinglearn.training.chain import Chain
from isinglearn.training.decomposed.block_solvers import block_solver
from isinglearn.training.decomposed.blocks import (
    Model,
    block_matrix,
    moves,
    moves_of,
    promising,
    solve_units,
)
from isinglearn.training.decomposed.quadratic import DenseAnnealer, Plain, minimise

RANDOM = np.random.default_rng(1)


def energies(matrix):
    rows = np.array(list(product((0, 1), repeat=len(matrix))))
    return rows, ((rows @ matrix) * rows).sum(axis=1)


def brute(matrix):
    rows, values = energies(matrix)
    return rows[values.argmin()]


def random_matrix(size):
    half = RANDOM.normal(size=(size, size))
    return half + half.T


def model(weight=None, price=0.0):
    """Two units with three weights of -2..2 (or spins) and a bias of -5..5."""
    domain = weight or nn.Int(-2, 2)
    net = nn.Sequential(nn.Linear(3, 2, weight=domain, bias=nn.Int(-5, 5)))
    layer = Chain.of(net, np.ones((1, 3), np.int64)).layers[0]
    inputs = RANDOM.normal(size=(20, 4))
    inputs[:, -1] = 1
    values = domain.values
    return Model(
        layer,
        np.arange(2),
        RANDOM.choice(values, (2, 3)),
        np.array([0, 4]),
        np.array([0.5, 0.0, 1.0]),
        RANDOM.normal(size=(2, 4)),
        np.array([0.3, 0.7]),
        inputs.T @ inputs / 20,
        np.full((2, 4), price),
        64.0,
    )


@pytest.mark.parametrize("domain", [nn.Spin(), nn.Int(-2, 2), nn.Int(-40, 60), nn.Int(0, 0)])
def test_any_subset_of_moves_stays_in_the_domain(domain):
    values = domain.values[None, :]
    free = np.ones_like(values, bool)
    free[0, 0] = False
    places, steps = moves_of(values, domain, free, (domain.hi - domain.lo) / 16)
    for at, value in enumerate(values[0]):
        mine = steps[0, places == at]
        for chosen in product((0, 1), repeat=len(mine)):
            assert domain.contains(np.array(value + np.dot(chosen, mine)))
        assert free[0, at] or not mine.any()


@pytest.mark.parametrize("domain", [None, nn.Spin()])
def test_energy_is_the_model_of_the_change(domain):
    given = model(domain, price=0.1)
    places, whole = moves(given)
    for unit in range(2):
        kept = np.flatnonzero(whole[unit])[:9]
        steps = whole[unit, kept].astype(float)
        bend = given.curvature[unit] * given.moments[places[kept], places[kept]]
        linear = (given.slope[unit, places[kept]] + bend * steps / 2) * steps + 0.1 * np.abs(steps)
        matrix = block_matrix(given.curvature[unit], given.moments, places[kept], steps, linear)
        rows, values = energies(matrix)
        for bits, energy in zip(rows, values, strict=True):
            change = np.bincount(places[kept], bits * steps, minlength=4)
            curved = change @ given.moments @ change * given.curvature[unit] / 2
            paid = 0.1 * np.abs(bits * steps).sum()
            assert energy == pytest.approx(given.slope[unit] @ change + curved + paid)


def test_a_change_is_decoded_with_its_bias():
    given = model(nn.Spin())
    for change in solve_units(given, Plain(brute), 8, [0, 1]):
        flipped = change.weight - given.weight[change.unit]
        assert np.array_equal(flipped, change.step[:-1])
        # The bias makes up for what the weights do at the shift, within its domain.
        wanted = given.bias[change.unit] + change.step[-1] - round(float(flipped @ given.shift))
        assert change.bias == np.clip(wanted, -5, 5)
        assert 0 < change.spins <= 8


def test_dear_moves_are_not_made():
    assert solve_units(model(price=100.0), Plain(brute), 8, [0, 1]) == []


def test_frozen_parameters_stay():
    given = model()
    spec = given.layer.weight.freeze(np.full((2, 3), 1.0))
    bias = given.layer.bias.freeze(3.0)
    frozen = replace(given, layer=replace(given.layer, weight=spec, bias=bias))
    assert solve_units(frozen, Plain(brute), 8, [0, 1]) == []


def test_the_most_promising_moves_are_kept():
    linear = np.array([3.0, -1.0, 0.5, -2.0, np.inf, 1.9])
    assert promising(linear, 10).tolist() == [1, 2, 3, 5]
    assert promising(linear, 2).tolist() == [1, 3]


@pytest.mark.parametrize(
    "solve",
    [
        DenseAnnealer(sweeps=100, reads=10, hot=3.0),
        Plain(brute),
        block_solver(AnnealingSampler()),
    ],
    ids=["kernel", "function", "sampler"],
)
def test_solvers_find_the_optimum(solve):
    for seed in range(5):
        matrix = random_matrix(8)
        assert np.array_equal(minimise(matrix, solve, seed), brute(matrix))


def test_an_answer_worse_than_nothing_is_nothing():
    assert minimise(np.eye(3), lambda matrix, seed: np.ones(3, int), 0).tolist() == [0, 0, 0]


@pytest.mark.parametrize("answer", [[0, 1], [0, 1, 2], [[0, 1, 0]], []])
def test_unusable_answers_are_refused(answer):
    with pytest.raises(SolverError, match="block"):
        minimise(np.eye(3), Plain(lambda matrix: answer), 0)
