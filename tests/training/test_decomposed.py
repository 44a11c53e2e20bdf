"""Decomposed training: it learns, and the same seed is the same run however it is carried out."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import Parallel

from isinglearn import nn
from isinglearn.errors import DataError, NetworkError, OptionError, SolverError
from isinglearn.solvers.annealer.sampler import AnnealingSampler
from isinglearn.training.decomposed.block_solvers import block_solver
from isinglearn.training.decomposed.engine import Decomposed
from isinglearn.training.decomposed.options import Options
from isinglearn.training.decomposed.quadratic import Plain

RANDOM = np.random.default_rng(7)
X = RANDOM.integers(-8, 9, (1500, 4))
# Two hidden units with weights of -1 and +1 would be enough.
CLASSES = (X @ [1, 1, -1, 1] > 3) + 2 * (X @ [1, -1, -1, 1] > -2)
SIGNS = np.where(X @ [1, 1, 1, -1] > 1, 1, -1)
SHORT = Options(steps=12, batch=300)


def network(outputs: int, *, hidden: tuple[int, ...] = (16,)) -> nn.Sequential:
    modules: list[nn.Module] = []
    width = 4
    for units in hidden:
        bias = nn.Int(-100, 100)
        modules += [nn.Linear(width, units, weight=nn.Spin(), bias=bias), nn.Sign()]
        width = units
    last = nn.Linear(width, outputs, weight=nn.Fixed(-8, 7, 8), bias=nn.Fixed(-16, 15, 8))
    return nn.Sequential(*modules, last)


def finished(training: Decomposed) -> Decomposed:
    while not training.done:
        training.step()
    training.chain.check(training.result)
    return training


def same(one: Decomposed, other: Decomposed) -> bool:
    left, right = one.state(), other.state()
    return left.keys() == right.keys() and all(np.array_equal(left[n], right[n]) for n in left)


@pytest.mark.parametrize("hidden", [(16,), (16, 12)])
def test_classes_are_learned_in_exact_integers(hidden):
    training = Decomposed(
        network(4, hidden=hidden), X, CLASSES, options=Options(steps=150, batch=500, max_spins=24)
    )
    finished(training)
    outputs = training.chain.network.forward(training.result, X)
    accuracy = (outputs.argmax(axis=1) == CLASSES).mean()
    assert training.evaluate(X, CLASSES)[1] == accuracy > 0.85
    assert 0 < training.counts["spins"] <= 24


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_two_classes(loss):
    options = Options(steps=80, batch=500)
    training = finished(Decomposed(network(1), X, SIGNS, loss=loss, options=options))
    assert training.evaluate(X, SIGNS)[1] > 0.93


def test_regression():
    labels = np.clip(X[:, 0] / 8 + X[:, 1] / 16, -1, 1)
    options = Options(steps=100, batch=500)
    training = finished(Decomposed(network(1), X, labels, loss="square", options=options))
    outputs = training.chain.network.forward(training.result, X)[:, 0] / 8
    loss = training.evaluate(X, labels)[0]
    assert loss == pytest.approx(((outputs - labels) ** 2).mean(), rel=1e-5)
    assert loss < 0.4 * labels.var()


def test_where_a_batch_is_everything_the_best_is_kept():
    training = Decomposed(network(4), X[:50], CLASSES[:50], options=Options(steps=40))
    losses = []
    while not training.done:
        losses.append(training.step())
    assert training.least <= min(losses)


def test_workers_change_nothing():
    alone = finished(Decomposed(network(4), X, CLASSES, options=SHORT))
    with Parallel(2, backend="threading") as parallel:
        shared = finished(Decomposed(network(4), X, CLASSES, options=SHORT, parallel=parallel))
    assert same(alone, shared)
    assert not same(alone, finished(Decomposed(network(4), X, CLASSES, options=SHORT, seed=1)))


def test_a_run_is_taken_up_where_it_was_left(tmp_path):
    whole = finished(Decomposed(network(4), X, CLASSES, options=SHORT))
    begun = Decomposed(network(4), X, CLASSES, options=SHORT)
    for _ in range(5):
        begun.step()
    np.savez(tmp_path / "state.npz", **begun.state())
    resumed = Decomposed(network(4), X, CLASSES, options=SHORT)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        resumed.restore(state)
    assert same(whole, finished(resumed))


def test_another_runs_checkpoint_is_refused():
    state = Decomposed(network(4), X, CLASSES, options=SHORT).state()
    for other in (
        Decomposed(network(4), X, CLASSES, options=SHORT, seed=1),
        Decomposed(network(4, hidden=(8,)), X, CLASSES, options=SHORT),
    ):
        with pytest.raises(NetworkError, match="another run"):
            other.restore(state)
    with pytest.raises(NetworkError, match="format"):
        Decomposed(network(4), X, CLASSES, options=SHORT).restore({**state, "format": 99})


def test_data_may_be_memory_mapped(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    one = finished(Decomposed(network(4), mapped, CLASSES, options=SHORT))
    assert same(one, finished(Decomposed(network(4), X, CLASSES, options=SHORT)))


def test_the_papers_own_domains_and_frozen_parameters():
    net = nn.Sequential(nn.Linear(4, 3), nn.Sign(), nn.Linear(3, 3), nn.Sign(), nn.Linear(3, 1))
    net = net.freeze({"layer1.weight": [[1, -1, np.nan, 1]] * 3})
    training = finished(Decomposed(net, X, SIGNS, loss="square", options=SHORT))
    assert (training.result["layer1.weight"][:, :2] == [1, -1]).all()
    assert (training.result["layer2.bias"] == 2).all()


def test_any_function_may_solve_the_blocks_and_spins_do_not_grow_with_data():
    def greedy(matrix):
        sizes.append(len(matrix))
        return np.diag(matrix) == matrix.diagonal().min()

    largest = []
    for count in (300, 1500):
        sizes: list[int] = []
        finished(
            Decomposed(
                network(4),
                X[:count],
                CLASSES[:count],
                options=Options(steps=5, batch=100, max_spins=6),
                solver=Plain(greedy),
            )
        )
        largest.append(max(sizes))
    assert largest == [6, 6]


def test_any_sampler_may_solve_the_blocks():
    solver = block_solver(AnnealingSampler())
    options = Options(steps=2, batch=300)
    training = Decomposed(network(4), X, CLASSES, options=options, solver=solver)
    before = training.step()
    assert training.step() < before


def test_a_start_is_taken():
    given = finished(Decomposed(network(4), X, CLASSES, options=SHORT)).result
    training = Decomposed(network(4), X, CLASSES, options=SHORT, start=given)
    assert all(np.array_equal(training.parameters[n], given[n]) for n in given)


def test_refusals():
    with pytest.raises(DataError, match="one label per row"):
        Decomposed(network(4), X, CLASSES[:-1])
    with pytest.raises(DataError, match="quantise"):
        Decomposed(network(4), X / 3, CLASSES)
    with pytest.raises(NetworkError, match="Linear, Sign"):
        Decomposed(nn.Sequential(nn.Linear(4, 1), nn.Sign()), X, SIGNS)
    with pytest.raises(OptionError, match="memory"):
        Options(memory=1.0)
    with pytest.raises(OptionError, match="max_spins"):
        Options(max_spins=0)
    with pytest.raises(SolverError, match="block"):
        finished(Decomposed(network(4), X, CLASSES, solver=Plain(lambda matrix: None)))
