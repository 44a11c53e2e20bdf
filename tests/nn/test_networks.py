"""Networks: the paper's configuration, freezing, forward passes."""

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import NetworkError


def test_unset_domains_follow_the_paper():
    net = nn.paper_network(n=2, H=3, L=3, m=2, B=4).resolved(4)
    specs = net.parameters
    assert specs["layer1.weight"].domain == nn.Spin()
    assert specs["layer1.bias"].domain == nn.Int(0, 127)
    assert not specs["layer2.bias"].free.any()
    assert (specs["layer2.bias"].frozen == 2).all()
    assert specs["layer3.weight"].domain == nn.Fixed(-3, 4, 3)
    assert specs["layer3.bias"].shape == (2,)


def test_forward_is_the_formula():
    net = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1)).resolved(2)
    parameters = {
        "layer1.weight": np.array([[1, -1]]),
        "layer1.bias": np.array([2]),
        "layer2.weight": np.array([[-1]]),
        "layer2.bias": np.array([1]),
    }
    X = np.array([[-4, -1], [0, 2], [3, 3]])
    assert net.forward(parameters, X).tolist() == [[2], [0], [0]]


def test_forward_over_a_batch_of_networks_equals_one_by_one():
    rng = np.random.default_rng(0)
    net = nn.paper_network(3, 2, 3, 2, 1).resolved(1)
    X = rng.integers(-2, 3, (5, 3))
    batch = {
        name: rng.choice(spec.domain.values, (4, *spec.shape))
        for name, spec in net.parameters.items()
    }
    together = net.forward(batch, X)
    for i in range(4):
        assert (together[i] == net.forward({k: v[i] for k, v in batch.items()}, X)).all()


@pytest.mark.parametrize("formulation", ["paper", "compact"])
def test_freezing_any_parameter(formulation):
    X, y = np.array([[1, 1], [-1, 0], [0, -1]]), np.array([1, -1, 1])
    free = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1), input_bits=0)
    frozen = free.freeze({"layer1.weight": [[1, np.nan]], "layer2.bias": 0})
    problem = il.compile(frozen, X, y, formulation=formulation)
    best = il.solve(problem, "brute").best.parameters
    assert best["layer1.weight"][0, 0] == 1
    assert best["layer2.bias"] == [0]
    # One weight bit and two bias bits less; in the compact form the first bias may need fewer too.
    fewer = il.compile(free, X, y, formulation=formulation).qcbo.num_bits - problem.qcbo.num_bits
    assert fewer == 3 if formulation == "paper" else fewer >= 3


def test_freezing_off_the_grid_or_unknown_is_refused():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    with pytest.raises(NetworkError, match="multiples of 1/2"):
        _ = net.freeze({"layer2.bias": 0.3}).resolved(0).parameters
    with pytest.raises(NetworkError, match="no such parameter"):
        net.freeze({"layer7.bias": 0})
    with pytest.raises(NetworkError, match="'weight' or 'bias'"):
        net.freeze({"layer1.wait": 0})


def test_two_activations_in_a_row_keep_their_names_apart():
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Sign(), nn.Linear(1, 1))
    problem = il.compile(net, [[1], [-1]], [1, -1])
    names = list(problem.qcbo.variables)
    assert len(set(names)) == len(names)
    assert il.solve(problem, "brute").best.loss == 0
