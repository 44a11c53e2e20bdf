"""The paper's five instances: their data have the facts that the paper states of them."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import isinglearn as il
from isinglearn.paper import mnist, mnist_choice, task_search
from isinglearn.paper.instances import MNIST, TASKS, instances, two_moons

FORMS = {"compact": {}, "box": {"box": True}, "paper": {"formulation": "paper"}}
# Number of optimal networks counting every exchange of neurons, best loss, accuracy.
FACTS = {
    "I": (1, Fraction(2, 3), Fraction(5, 6)),
    "II": (2, Fraction(0), Fraction(1)),
    "III": (8, Fraction(0), Fraction(1)),
    "MNIST": (1, Fraction(0), Fraction(1)),
}

searched = pytest.mark.parametrize(
    ("task", "instance"),
    list(zip(task_search.TASKS, TASKS, strict=True)),
    ids=[instance.name for instance in TASKS],
)


def data_directory() -> Path | None:
    """Where MNIST may be: named by the environment, or in the folder beside the repository."""
    named = os.environ.get(mnist.DATA_VARIABLE)
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(named) if named else beside
    return folder if (folder / "mnist").is_dir() else None


needs_mnist = pytest.mark.skipif(
    data_directory() is None,
    reason=f"MNIST is not here: {mnist.DATA_VARIABLE} is not set and ../shared/data has none",
)


def test_the_five_instances_in_the_order_of_the_paper():
    every = instances()
    assert [instance.name for instance in every] == ["I", "II", "III", "MNIST", "moons"]
    for instance in every:
        assert instance.X.shape[0] == len(instance.y)
        assert np.abs(instance.X).max() <= 2**instance.input_bits
        assert set(instance.y.tolist()) == {-1, 1}
        assert instance.network.in_features == instance.X.shape[1]


# -- tasks I to III --------------------------------------------------------------------------------


@searched
def test_tasks_have_the_facts_of_the_paper(task, instance):
    assert task.name == instance.name
    assert (task.hidden, task.layers) == (instance.hidden, instance.layers)
    assert task_search.has_facts(task, instance.X, instance.y)


@searched
def test_tasks_are_what_the_seeded_search_finds(task, instance):
    X, y = task_search.search(task)
    assert np.array_equal(X, instance.X)
    assert np.array_equal(y, instance.y)


@searched
def test_constant_labels_do_not_have_the_facts(task, instance):
    assert not task_search.has_facts(task, instance.X, np.ones_like(instance.y))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda instance: instance.name)
def test_brute_force_agrees(instance, form):
    problem = il.compile(instance.network, instance.X, instance.y, **FORMS[form])
    run = il.solve(problem, "brute")
    assert run.status == "OPTIMAL"
    assert (len(run.result.vectors), run.best.loss, run.accuracy) == FACTS[instance.name]
    assert len(np.unique(run.result.vectors, axis=0)) == len(run.result.vectors)


@pytest.mark.parametrize("form", FORMS)
@searched
def test_brute_force_finds_the_networks_of_the_search(task, instance, form):
    problem = il.compile(instance.network, instance.X, instance.y, **FORMS[form])
    found = {tuple(vector) for vector in il.solve(problem, "brute").result.vectors.tolist()}
    box = form != "compact"
    expected = task_search.optima(instance.X, instance.y, task.hidden, task.layers, box=box)
    assert Fraction(expected.loss, expected.scale) == task.loss
    for network in expected.networks:
        named = {f"layer{k}.weight": w for k, w in enumerate(network.weights, start=1)}
        for k in range(2, task.layers):
            named[f"layer{k}.bias"] = np.full(task.hidden, task.hidden - 1)
        named["layer1.bias"] = network.first_bias
        named[f"layer{task.layers}.bias"] = network.last_bias
        assert tuple(problem.vector(named).tolist()) in found


# -- MNIST -----------------------------------------------------------------------------------------


@needs_mnist
def test_the_four_images_are_what_the_rule_selects():
    digits = mnist.load_six_nine("train", data_directory())
    chosen = mnist_choice.select_training_set(mnist.patch_counts(digits.images), digits.labels)
    assert MNIST.X.tolist() == [list(row) for row in chosen.inputs]
    assert MNIST.y.tolist() == list(chosen.labels)
    inputs = mnist.preprocess(digits.images[list(chosen.indices)], chosen.thresholds)
    assert np.array_equal(inputs, MNIST.X)


def test_the_four_images_determine_the_network():
    fits = mnist_choice.zero_loss_parameters(MNIST.X, MNIST.y)
    problem = il.compile(MNIST.network, MNIST.X, MNIST.y)
    best = il.solve(problem, "brute").best.parameters
    assert [network.hidden_weights for network in fits] == [tuple(best["layer1.weight"][0])]
    assert [network.hidden_bias for network in fits] == best["layer1.bias"].tolist()
    assert [network.output_weight for network in fits] == best["layer2.weight"][0].tolist()
    assert [network.output_bias for network in fits] == best["layer2.bias"].tolist()


# -- two moons -------------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [50, 20])
def test_two_moons(samples):
    moons = two_moons(samples)
    assert moons.X.shape == (samples, 2)
    assert moons.X.dtype == np.int64
    assert moons.X.min(axis=0).tolist() == [-16, -16]
    assert moons.X.max(axis=0).tolist() == [16, 16]
    assert sorted(moons.y.tolist()) == [-1] * (samples // 2) + [1] * (samples // 2)
    # The printed figure belongs to 50 points.
    assert moons.paper_qcbo == (3839 if samples == 50 else None)


def test_two_moons_are_always_the_same():
    first, second = two_moons(), two_moons()
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y, second.y)
