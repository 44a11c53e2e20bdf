"""Exported models compute exactly what the network computes, in two independent runtimes."""

import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from exported_models import (
    awkward_ranges,
    built,
    every_module,
    half_ways,
    model_of,
    network_of,
    passing_on,
    quantised_data,
    regressor,
    wide_inputs,
    wide_networks,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx_runners import runners

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import IsingLearnError, NetworkError, OverflowRefused
from isinglearn.exports.onnx_graph import Bounds, Graph, Value
from isinglearn.model.quantiser import Quantiser

onnx = pytest.importorskip("onnx", reason="needs isinglearn[onnx]")


def agree(model, X, run, double=None):
    """Export, run, and compare; return the exported model."""
    proto = il.to_onnx(model)
    kind = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
    if double is not None:
        assert proto.graph.node[0].attribute[0].i == kind
    shaped = np.reshape(X, (len(X), *model.network.input_shape)).astype(np.int64)
    outputs, prediction = run(proto, {"X": shaped})
    assert outputs.dtype == np.float64
    assert prediction.dtype == np.int64
    np.testing.assert_array_equal(outputs, model.outputs(X))
    np.testing.assert_array_equal(prediction, model.predict(X))
    return proto


def test_every_module_is_exported_somewhere():
    assert all(module.trials() for module in nn.MODULES.values())


@runners
@every_module
def test_every_module_is_exact(modules, X, shape, run):
    network = network_of(modules, X, shape)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = model_of(network, rng)
        proto = agree(model, X, run, double=False)
        inside = rng.integers(-model.largest_input, model.largest_input + 1, (20, X.shape[1]))
        agree(model, inside, run)
    assert proto.producer_name == "isinglearn"
    assert proto.producer_version == il.__version__


@runners
@every_module
def test_every_module_is_exact_in_float64(modules, X, shape, run, monkeypatch):
    # As if float32 had no digits at all.
    single = Graph.__init__

    def narrow(self, *, double):
        single(self, double=double)
        self.digits = 53 if double else 0

    monkeypatch.setattr(Graph, "__init__", narrow)
    model = model_of(network_of(modules, X, shape), np.random.default_rng(5))
    agree(model, X, run, double=True)


@every_module
def test_bounds_alone_are_those_of_the_graph(modules, X, shape):
    model = model_of(network_of(modules, X, shape), np.random.default_rng(0))
    given = Value("X", model.largest_input)
    graphs = Graph(double=True), Bounds()
    full, alone = (model.network.to_onnx(graph, model.parameters, given) for graph in graphs)
    assert alone.largest == full.largest
    assert graphs[1].nodes == graphs[1].constants == []


@cache
def widest(name, double):
    """The network with the widest inputs at which it is still exact."""
    modules, shape = wide_networks()[name]
    for bits in range(50 if double else 24, -1, -1):
        model = model_of(built(*modules, shape=shape, bits=bits), np.random.default_rng(bits))
        try:
            proto = il.to_onnx(model)
        except OverflowRefused:
            continue
        if double or proto.graph.node[0].attribute[0].i == onnx.TensorProto.FLOAT:
            return model
    raise AssertionError("not even the smallest inputs are exact")


@runners
@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("name", wide_networks())
def test_the_widest_inputs_are_exact(name, double, run):
    model = widest(name, double)
    assert model.largest_input >= (1 << 18 if double else 1 << 3)
    agree(model, wide_inputs(model), run, double=double)


@runners
def test_a_staircase_of_one_value(run):
    model = il.Model(built(nn.Staircase([], [3]), shape=(2,)), {})
    agree(model, np.array([[0, 1], [-2, 2]]), run)


@runners
def test_an_image_may_come_out(run):
    model = model_of(built(nn.Conv2d(1, 2, 2), shape=(1, 3, 3)), np.random.default_rng(1))
    proto = agree(model, np.eye(9, dtype=np.int64), run)
    dims = proto.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["samples", 1, 3, 3]


@runners
def test_the_file_is_the_model(tmp_path, run):
    model = model_of(nn.paper_network(3, 4, 3, 2, 2).resolved(2), np.random.default_rng(0))
    proto = il.to_onnx(model, tmp_path / "model.onnx")
    again = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(again, full_check=True)
    assert again == proto
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert {p.key: p.value for p in again.metadata_props} == {"largest_input": "4"}
    dims = again.graph.input[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["samples", 3]
    names = [node.name for node in again.graph.node]
    assert len(set(names)) == len(names)
    assert any(name.startswith("layer2/") for name in names)
    X = np.random.default_rng(1).integers(-4, 5, (7, 3))
    outputs, prediction = run(again, {"X": X})
    np.testing.assert_array_equal(outputs, model.outputs(X))
    np.testing.assert_array_equal(prediction, model.predict(X))


def test_the_same_model_is_the_same_bytes(tmp_path):
    model = model_of(nn.paper_network(3, 4, 3).resolved(0), np.random.default_rng(0))
    for name in ("a", "b"):
        il.to_onnx(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# -- real features, names and numbers --------------------------------------------------------------


def faithful(model, X, run):
    """Export a model with faces, and compare by what the file alone says; return its metadata."""
    proto = il.to_onnx(model)
    assert proto.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.DOUBLE
    shaped = np.reshape(X, (len(X), *model.network.input_shape))
    outputs, prediction = run(proto, {"X": shaped})
    metadata = {prop.key: prop.value for prop in proto.metadata_props}
    if "classes" in metadata:
        prediction = np.array(json.loads(metadata["classes"]))[prediction]
    np.testing.assert_array_equal(outputs, model.outputs(X))
    np.testing.assert_array_equal(prediction, model.predict(X))
    return metadata


@runners
@settings(deadline=None, max_examples=150)
@given(data=quantised_data())
def test_real_features_are_quantised_alike(run, data):
    quantiser, X = data
    assert faithful(passing_on(quantiser), X, run) == {}


@runners
def test_awkward_ranges_of_one_feature(run):
    for quantiser, X in awkward_ranges(3):
        faithful(passing_on(quantiser), X, run)


@runners
@pytest.mark.parametrize("bits", [0, 1, 4])
def test_half_way_is_rounded_to_even(bits, run):
    quantiser, X = half_ways(bits)
    model = passing_on(quantiser)
    assert set(model.outputs(X).ravel() % 2) == {0.0}
    faithful(model, X, run)


@runners
def test_images_of_real_numbers(run):
    model = model_of(built(nn.Conv2d(1, 2, 2), shape=(1, 3, 3), bits=3), np.random.default_rng(1))
    rng = np.random.default_rng(0)
    low = rng.normal(size=9)
    quantised = replace(model, quantiser=Quantiser(low, low + rng.random(9), 2))
    faithful(quantised, rng.normal(size=(50, 9)), run)


@runners
@pytest.mark.parametrize("classes", [("no", "yes"), (0.5, -3.0), (7, 2)])
def test_two_classes_are_an_index_of_their_names(classes, run):
    quantiser = Quantiser([-1.0], [1.0], 2)
    model = replace(passing_on(quantiser), classes=classes, features=("length",))
    X = np.linspace(-2, 2, 30)[:, None]
    assert set(model.predict(X)) == set(classes)
    metadata = faithful(model, X, run)
    assert metadata == {"classes": json.dumps(classes), "features": '["length"]'}


@runners
def test_many_classes_are_an_index_of_their_names(run):
    quantiser = Quantiser(np.zeros(3), np.ones(3), 3)
    model = replace(passing_on(quantiser), classes=("a", "b", "\u00e4"))
    faithful(model, np.random.default_rng(0).random((40, 3)), run)


ENDS = st.floats(-1e300, 1e300)


@runners
@settings(deadline=None, max_examples=50)
@example(low=1 + 2**-40, high=-(2.0**-200))
@given(low=ENDS, high=ENDS)
def test_numbers_of_a_range(run, low, high):
    model, X = regressor(low, high, 9)
    outputs, prediction = run(il.to_onnx(model), {"X": X})
    assert prediction.dtype == np.float64
    np.testing.assert_array_equal(outputs, model.outputs(X))
    np.testing.assert_array_equal(prediction, model.predict(X))


@runners
def test_what_an_estimator_has_learned(run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    estimator = il.IsingClassifier(hidden=(2,), input_bits=3, strategy="decomposed", max_iter=2)
    model = estimator.fit(X, np.where(X[:, 0] > 0, "right", "left")).model_
    faithful(model, rng.normal(size=(30, 2)), run)


@pytest.mark.parametrize(
    ("modules", "bits"),
    [((nn.Linear(2, 1),), 52), ((nn.LayerNorm(),), 26), ((nn.Abs(), nn.LeakyReLU(0.001)), 45)],
    ids=["inputs", "squares", "slopes"],
)
def test_beyond_float64_it_refuses(modules, bits):
    model = model_of(built(*modules, shape=(2,), bits=bits), np.random.default_rng(0))
    with pytest.raises(OverflowRefused, match=r"(layer1|input)/.* below 2\^53"):
        il.to_onnx(model)


@pytest.mark.parametrize("package", ["onnx", "torch"])
def test_without_the_package_the_extra_is_named(package, monkeypatch):
    model = model_of(nn.paper_network(2, 2, 2).resolved(0), np.random.default_rng(0))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(IsingLearnError, match=rf"isinglearn\[{package}\]") as caught:
        getattr(il, f"to_{package}")(model)
    assert isinstance(caught.value, ImportError)


def test_a_module_without_a_form_is_named():
    # An underscore keeps it out of the register.
    class _Strange(nn.Module):
        pass

    model = il.Model(built(_Strange(), shape=(2,)), {})
    with pytest.raises(NetworkError, match="_Strange has no ONNX form"):
        il.to_onnx(model)


def test_only_models_are_exported():
    with pytest.raises(NetworkError, match="no model"):
        il.to_onnx(nn.paper_network(2, 2, 2))
