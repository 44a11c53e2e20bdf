"""Neuron exchange: canonical forms against all permutations of small networks."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglearn import nn
from isinglearn.errors import NetworkError
from isinglearn.nn import symmetry
from isinglearn.nn.symmetry import canonical, relation

Parameters = dict[str, np.ndarray]


def network(*widths: int, bias: bool = True, weight: nn.Domain | None = None) -> nn.Sequential:
    modules: list[nn.Module] = []
    for before, after in pairwise(widths):
        values = weight or nn.Int(-9, 9)
        modules += [nn.Linear(before, after, weight=values, bias=nn.Int(-9, 9), use_bias=bias)]
        modules += [nn.Sign()]
    return nn.Sequential(*modules[:-1]).resolved(1)


def drawn(net: nn.Sequential, rng: np.random.Generator, largest: int) -> Parameters:
    """Few distinct values give many ties."""
    shapes = {name: spec.shape for name, spec in net.parameters.items()}
    return {name: rng.integers(-largest, largest + 1, shape) for name, shape in shapes.items()}


def exchanged(parameters: Parameters, orders: list[np.ndarray]) -> Parameters:
    """Give the units of each hidden layer another order, by the definition."""
    moved = dict(parameters)
    for layer, order in enumerate(orders, start=1):
        moved[f"layer{layer}.weight"] = moved[f"layer{layer}.weight"][order]
        if f"layer{layer}.bias" in moved:
            moved[f"layer{layer}.bias"] = moved[f"layer{layer}.bias"][order]
        moved[f"layer{layer + 1}.weight"] = moved[f"layer{layer + 1}.weight"][:, order]
    return moved


def flipped(parameters: Parameters, layer: int, unit: int) -> Parameters:
    """Turn one unit over, by the definition."""
    turned = {name: array.copy() for name, array in parameters.items()}
    turned[f"layer{layer}.weight"][unit] *= -1
    turned[f"layer{layer}.bias"][unit] = -turned[f"layer{layer}.bias"][unit] - 1
    turned[f"layer{layer + 1}.weight"][:, unit] *= -1
    return turned


def random_orders(widths: list[int], rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.permutation(width) for width in widths[1:-1]]


def key(parameters: Parameters) -> tuple[int, ...]:
    return tuple(np.concatenate([array.ravel() for array in parameters.values()]).tolist())


def every_exchange(parameters: Parameters, widths: list[int]) -> set[tuple[int, ...]]:
    orders = product(*(permutations(range(width)) for width in widths[1:-1]))
    return {key(exchanged(parameters, [np.array(o) for o in order])) for order in orders}


def grid(net: nn.Sequential) -> np.ndarray:
    return np.array(list(product(range(-2, 3), repeat=net.in_features)))


WIDTHS = st.lists(st.integers(1, 4), min_size=3, max_size=5)
SEEDS = st.integers(0, 2**32)


@settings(deadline=None, max_examples=100)
@given(WIDTHS, SEEDS, st.integers(0, 2), st.booleans())
def test_exchanges_change_neither_the_form_nor_the_outputs(widths, seed, largest, bias):
    rng = np.random.default_rng(seed)
    net = network(*widths, bias=bias)
    parameters = drawn(net, rng, largest)
    before = {name: array.copy() for name, array in parameters.items()}
    moved = exchanged(parameters, random_orders(widths, rng))
    form = canonical(net, parameters)
    assert key(canonical(net, moved)) == key(form)
    assert key(canonical(net, form)) == key(form)
    assert list(form) == list(net.parameters)
    inputs = grid(net)
    expected = net.forward(parameters, inputs)
    for other in (moved, form):
        assert np.array_equal(net.forward(other, inputs), expected)
    assert key(parameters) == key(before), "the arguments are left alone"
    assert relation(net, parameters, moved) in ("equal", "exchange")


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 3), min_size=3, max_size=4), SEEDS, st.integers(0, 1))
def test_forms_are_equal_only_where_an_exchange_exists(widths, seed, largest):
    rng = np.random.default_rng(seed)
    net = network(*widths)
    first = drawn(net, rng, largest)
    second = {name: array.copy() for name, array in first.items()}
    # Nearly equal: one entry of some exchange is changed, or not.
    name = str(rng.choice(list(second)))
    second[name].flat[rng.integers(second[name].size)] = rng.integers(-largest, largest + 1)
    second = exchanged(second, random_orders(widths, rng))
    reachable = every_exchange(first, widths)
    assert key(canonical(net, first)) in reachable
    same = key(canonical(net, first)) == key(canonical(net, second))
    assert same == (key(second) in reachable)


@settings(deadline=None, max_examples=100)
@given(WIDTHS, SEEDS, st.integers(0, 2))
def test_flips_change_neither_the_form_nor_the_outputs(widths, seed, largest):
    rng = np.random.default_rng(seed)
    net = network(*widths)
    parameters = drawn(net, rng, largest)
    turned = parameters
    for layer, width in enumerate(widths[1:-1], start=1):
        for unit in range(width):
            if rng.random() < 0.5:
                turned = flipped(turned, layer, unit)
    turned = exchanged(turned, random_orders(widths, rng))
    form = canonical(net, parameters, flips=True)
    assert key(canonical(net, turned, flips=True)) == key(form)
    assert key(canonical(net, form, flips=True)) == key(form)
    inputs = grid(net)
    expected = net.forward(parameters, inputs)
    for other in (turned, form):
        assert np.array_equal(net.forward(other, inputs), expected)
    assert all((form[f"layer{layer}.bias"] >= 0).all() for layer in range(1, len(widths) - 1))
    assert relation(net, parameters, turned) is not None


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 2), min_size=3, max_size=4), SEEDS)
def test_flipped_forms_are_equal_only_where_flips_and_an_exchange_lead(widths, seed):
    rng = np.random.default_rng(seed)
    net = network(*widths)
    first, second = drawn(net, rng, 1), drawn(net, rng, 1)
    name = str(rng.choice(list(second)))
    second = {**first, name: second[name]}
    units = [(layer, u) for layer, width in enumerate(widths[1:-1], start=1) for u in range(width)]
    reachable = set()
    for chosen in product((False, True), repeat=len(units)):
        turned = first
        for (layer, unit), turn in zip(units, chosen, strict=True):
            turned = flipped(turned, layer, unit) if turn else turned
        reachable |= every_exchange(turned, widths)
    same = key(canonical(net, first, flips=True)) == key(canonical(net, second, flips=True))
    assert same == (key(second) in reachable)
    assert key(canonical(net, first, flips=True)) in reachable


def test_relations_are_told_apart():
    net = network(2, 2, 1)
    parameters = {
        "layer1.weight": np.array([[1, 2], [3, 4]]),
        "layer1.bias": np.array([5, 6]),
        "layer2.weight": np.array([[7, 8]]),
        "layer2.bias": np.array([0]),
    }
    swapped = exchanged(parameters, [np.array([1, 0])])
    assert relation(net, parameters, parameters) == "equal"
    assert relation(net, parameters, swapped) == "exchange"
    assert relation(net, parameters, flipped(parameters, 1, 0)) == "flip"
    assert relation(net, parameters, flipped(swapped, 1, 1)) == "flip"
    assert relation(net, parameters, {**parameters, "layer2.bias": np.array([1])}) is None
    # Only the incoming weights of two units exchanged: another network.
    other = {**parameters, "layer1.weight": parameters["layer1.weight"][::-1]}
    assert relation(net, parameters, other) is None


def test_units_are_sorted_by_weights_then_bias():
    net = network(1, 4, 1)
    parameters = {
        "layer1.weight": np.array([[2], [-1], [2], [0]]),
        "layer1.bias": np.array([3, 0, 1, 0]),
        "layer2.weight": np.array([[10, 20, 30, 40]]),
        "layer2.bias": np.array([0]),
    }
    form = canonical(net, parameters)
    assert form["layer1.weight"].ravel().tolist() == [-1, 0, 2, 2]
    assert form["layer1.bias"].tolist() == [0, 0, 1, 3]
    assert form["layer2.weight"].tolist() == [[20, 40, 30, 10]]


# -- ties ------------------------------------------------------------------------------------------


def alike(middle: np.ndarray) -> Parameters:
    """Two hidden layers whose units differ in nothing but the weights between them."""
    width = len(middle)
    return {
        "layer1.weight": np.ones((width, 1), dtype=np.int64),
        "layer1.bias": np.zeros(width, dtype=np.int64),
        "layer2.weight": middle,
        "layer2.bias": np.zeros(width, dtype=np.int64),
        "layer3.weight": np.ones((1, width), dtype=np.int64),
        "layer3.bias": np.zeros(1, dtype=np.int64),
    }


def ring(width: int) -> np.ndarray:
    return np.eye(width, dtype=np.int64) + np.roll(np.eye(width, dtype=np.int64), 1, axis=1)


@pytest.mark.parametrize("width", [4, 9, 12])
def test_ties_that_only_the_whole_network_resolves(width):
    rng = np.random.default_rng(width)
    net = network(1, width, width, 1)
    identity, circle = np.eye(width, dtype=np.int64), ring(width)
    two_circles = np.zeros_like(circle)
    two_circles[:2, :2], two_circles[2:, 2:] = 1, ring(width - 2)
    blocks = [identity, circle, two_circles, rng.integers(0, 2, (width, width))]
    forms = []
    for block in blocks:
        parameters = alike(block)
        moved = exchanged(parameters, random_orders([1, width, width, 1], rng))
        forms.append(key(canonical(net, parameters)))
        assert key(canonical(net, moved)) == forms[-1]
    # One ring and two rings have the same weights at every unit, but no exchange leads across.
    assert len(set(forms)) == len(forms)


def test_wide_layers_take_no_time_for_all_orders():
    rng = np.random.default_rng(0)
    net = network(3, 40, 40, 40, 2)
    for parameters in (drawn(net, rng, 1), drawn(net, rng, 0)):
        moved = exchanged(parameters, random_orders([3, 40, 40, 40, 2], rng))
        assert relation(net, parameters, moved) in ("equal", "exchange")


def test_what_would_take_too_long_says_so(monkeypatch):
    monkeypatch.setattr(symmetry, "MOST_FORMS", 3)
    with pytest.raises(NetworkError, match=r"too alike.*at most 3 forms.*Remedy"):
        canonical(network(1, 6, 6, 1), alike(ring(6)))


# -- where a flip is exact -------------------------------------------------------------------------


def test_no_flip_without_a_bias():
    net = network(1, 1, 1, bias=False)
    first = {"layer1.weight": np.array([[1]]), "layer2.weight": np.array([[1]])}
    second = {name: -array for name, array in first.items()}
    # They differ where the sum is 0.
    assert not np.array_equal(net.forward(first, grid(net)), net.forward(second, grid(net)))
    assert relation(net, first, second) is None


def test_no_flip_where_sums_are_finer_than_the_bias():
    # Sums in halves, biases whole: minus a half cannot be added.
    net = network(1, 1, 1, weight=nn.Fixed(-2, 2, 2))
    parameters = {
        "layer1.weight": np.array([[1]]),
        "layer1.bias": np.array([-1]),
        "layer2.weight": np.array([[1]]),
        "layer2.bias": np.array([0]),
    }
    assert key(canonical(net, parameters, flips=True)) == key(parameters)
    assert relation(net, parameters, flipped(parameters, 1, 0)) is None


def test_a_flip_where_the_bias_is_finer_than_the_sums():
    layer = nn.Linear(1, 2, weight=nn.Int(-2, 2), bias=nn.Fixed(-9, 9, 3))
    net = nn.Sequential(layer, nn.Sign(), nn.Linear(2, 1)).resolved(1)
    parameters = {
        "layer1.weight": np.array([[1], [-2]]),
        "layer1.bias": np.array([-2, 3]),
        "layer2.weight": np.array([[1, 2]]),
        "layer2.bias": np.array([0]),
    }
    turned = flipped(parameters, 1, 0)
    assert np.array_equal(net.forward(turned, grid(net)), net.forward(parameters, grid(net)))
    assert relation(net, parameters, turned) == "flip"


def test_units_without_an_activation_are_exchanged_but_not_flipped():
    net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1)).resolved(1)
    parameters = {
        "layer1.weight": np.array([[1], [-1]]),
        "layer1.bias": np.array([-3, -2]),
        "layer2.weight": np.array([[1, 2]]),
        "layer2.bias": np.array([0]),
    }
    moved = exchanged(parameters, [np.array([1, 0])])
    assert relation(net, parameters, moved) == "exchange"
    assert relation(net, parameters, flipped(parameters, 1, 0)) is None


def test_networks_of_the_paper_can_be_flipped_out_of_their_domains():
    net = nn.paper_network(2, 3, 3, 1, 1).resolved(1)
    rng = np.random.default_rng(1)
    parameters = {
        name: np.where(spec.free, rng.choice(spec.domain.values, spec.shape), spec.frozen)
        for name, spec in net.parameters.items()
    }
    turned = flipped(parameters, 2, 1)
    assert relation(net, parameters, turned) == "flip"
    assert key(canonical(net, parameters, flips=True)) == key(canonical(net, parameters))


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layer1.weight", None),
        ("layer1.bias", np.zeros(3, dtype=np.int64)),
        ("layer2.weight", np.zeros((1, 2))),
    ],
    ids=["missing", "wrong shape", "no integers"],
)
def test_parameters_that_do_not_fit_are_refused(name, value):
    net = network(1, 2, 1)
    given_parameters = drawn(net, np.random.default_rng(0), 1)
    if value is None:
        del given_parameters[name]
    else:
        given_parameters[name] = value
    with pytest.raises(NetworkError, match=rf"{name}.*do not fit.*Received"):
        canonical(net, given_parameters)


def test_modules_that_mix_units_are_refused():
    class _Mixing(nn.Module):
        def __repr__(self) -> str:
            return "Mixing()"

    net = nn.Sequential(nn.Linear(1, 2), _Mixing(), nn.Linear(2, 1)).resolved(1)
    with pytest.raises(NetworkError, match=r"cannot be exchanged.*Mixing"):
        canonical(net, drawn(net, np.random.default_rng(0), 1))
