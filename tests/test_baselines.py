"""Straight-through training: exact integer parameters, good enough to be a yardstick."""

from __future__ import annotations

import numpy as np
import pytest

from isinglearn import nn
from isinglearn.baselines import straight_through, tuned_straight_through
from isinglearn.errors import DataError, NetworkError, OptionError

RANDOM = np.random.default_rng(7)
X = RANDOM.integers(-8, 9, (300, 4))
# Two hidden units with weights of -1 and +1 would be enough.
CLASSES = (X @ [1, 1, -1, 1] > 3) + 2 * (X @ [1, -1, -1, 1] > -2)
SIGNS = np.where(X @ [1, 1, 1, -1] > 1, 1, -1)


def network(outputs: int, *, hidden: tuple[int, ...] = (16,)) -> nn.Sequential:
    modules: list[nn.Module] = []
    width = 4
    for units in hidden:
        bias = nn.Int(-100, 100)
        modules += [nn.Linear(width, units, weight=nn.Spin(), bias=bias), nn.Sign()]
        width = units
    last = nn.Linear(width, outputs, weight=nn.Fixed(-8, 7, 8), bias=nn.Fixed(-16, 15, 8))
    return nn.Sequential(*modules, last)


def check(found, inputs=X):
    for name, spec in found.network.parameters.items():
        value = found.parameters[name]
        assert value.dtype == np.int64
        assert value.shape == spec.shape
        assert spec.domain.contains(value[spec.free])
        assert (value == spec.frozen)[~spec.free].all()
    return found.network.forward(found.parameters, inputs)


@pytest.mark.parametrize("hidden", [(16,), (16, 8)])
def test_classes_are_learned_in_exact_integers(hidden):
    found = straight_through(network(4, hidden=hidden), X, CLASSES, epochs=30, batch=20)
    outputs = check(found)
    accuracy = (outputs.argmax(axis=1) == CLASSES).mean()
    assert accuracy == found.validation_accuracy
    assert accuracy > 0.85
    assert found.curve[-1] < found.curve[0]


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_two_classes(loss):
    found = straight_through(network(1), X, SIGNS, loss=loss, epochs=30, batch=20)
    right = np.where(check(found)[:, 0] >= 0, 1, -1) == SIGNS
    assert right.mean() == found.validation_accuracy > 0.9


def test_regression_has_the_true_outputs_loss():
    labels = np.clip(X[:, 0] / 8 + X[:, 1] / 16, -1, 1)
    found = straight_through(network(1), X, labels, loss="square", epochs=30, batch=20)
    outputs = check(found)[:, 0] / found.network.output_scale
    loss = ((outputs - labels) ** 2).mean()
    assert loss == pytest.approx(found.validation_loss, rel=1e-5)
    assert loss < 0.4 * labels.var()


def test_the_papers_own_domains_and_frozen_parameters():
    net = nn.Sequential(nn.Linear(4, 3), nn.Sign(), nn.Linear(3, 3), nn.Sign(), nn.Linear(3, 1))
    net = net.freeze({"layer1.weight": [[1, -1, np.nan, 1]] * 3})
    check(straight_through(net, X, SIGNS, loss="logistic", epochs=3))


def test_a_seed_is_a_run():
    runs = [straight_through(network(4), X, CLASSES, epochs=2, seed=seed) for seed in (3, 3, 4)]
    same = [
        all(np.array_equal(runs[0].parameters[n], run.parameters[n]) for n in run.parameters)
        for run in runs
    ]
    assert same == [True, True, False]


def test_settings_are_chosen_on_held_out_data():
    found = tuned_straight_through(
        network(4), X, CLASSES, learning_rates=(1e-7, 0.02), epochs=(10,), seeds=2, batch=20
    )
    assert found.learning_rate == 0.02
    assert found.seed in (0, 1)
    check(found)


def test_refusals():
    with pytest.raises(DataError, match="quantise"):
        straight_through(network(4), X / 3, CLASSES)
    with pytest.raises(DataError, match=r"0\.\.3"):
        straight_through(network(4), X, CLASSES + 1)
    with pytest.raises(DataError, match="one label per row"):
        straight_through(network(4), X, CLASSES[:-1])
    with pytest.raises(OptionError, match="cross_entropy"):
        straight_through(network(4), X, CLASSES, loss="cross-entropy")
    with pytest.raises(OptionError, match="learning_rate"):
        straight_through(network(4), X, CLASSES, learning_rate=0)
    with pytest.raises(NetworkError, match="Linear, Sign"):
        straight_through(nn.Sequential(nn.Linear(4, 1), nn.Sign()), X, SIGNS)
