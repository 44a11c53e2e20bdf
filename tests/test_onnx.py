"""Exported models compute exactly what the network computes, in two independent runtimes."""

import sys
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from onnx_runners import runners

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import IsingLearnError, NetworkError, OverflowRefused
from isinglearn.exports.onnx_graph import Graph

onnx = pytest.importorskip("onnx", reason="needs isinglearn[onnx]")


def model_of(network, rng):
    """Random parameters of their domains, frozen ones as they are."""
    parameters = {}
    for name, spec in network.parameters.items():
        lo, hi, step = spec.domain.lo, spec.domain.hi, spec.domain.numerators.step
        drawn = lo + step * rng.integers(0, (hi - lo) // step + 1, spec.shape)
        parameters[name] = np.where(spec.free, drawn, spec.frozen)
    return il.Model(network, parameters)


def network_of(modules, X, shape):
    bits = max(0, int(np.abs(X).max() - 1).bit_length())
    net = nn.Sequential(*modules, input_shape=shape).resolved(bits)
    return net.observed(X, np.ones(len(X), dtype=np.int64))


def built(*modules, shape, bits=1):
    return nn.Sequential(*modules, input_shape=shape).resolved(bits)


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


# Every registered module, in the networks and the instances it gives for its other tests.
TRIALS = [
    pytest.param(trial.modules, trial.X, trial.input_shape, id=f"{name}-trial{number}")
    for name, module in nn.MODULES.items()
    for number, trial in enumerate(module.trials())
]
EXAMPLES = [
    pytest.param((case.module,), case.inputs, case.context.shape, id=f"{name}-example{number}")
    for name, module in nn.MODULES.items()
    for number, case in enumerate(module.examples())
]


def test_every_module_is_exported_somewhere():
    assert all(module.trials() for module in nn.MODULES.values())


@runners
@pytest.mark.parametrize(("modules", "X", "shape"), TRIALS + EXAMPLES)
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
@pytest.mark.parametrize(("modules", "X", "shape"), TRIALS + EXAMPLES)
def test_every_module_is_exact_in_float64(modules, X, shape, run, monkeypatch):
    # As if float32 had no digits at all.
    single = Graph.__init__

    def narrow(self, *, double):
        single(self, double=double)
        self.digits = 53 if double else 0

    monkeypatch.setattr(Graph, "__init__", narrow)
    model = model_of(network_of(modules, X, shape), np.random.default_rng(5))
    agree(model, X, run, double=True)


def wide_networks():
    """Networks whose numbers grow with their inputs."""
    weight, bias, fine = nn.Int(-30, 30), nn.Int(-9, 9), nn.Fixed(-9, 9, 5)
    conv = nn.Conv2d(2, 3, 3, stride=2, padding=1, weight=nn.Fixed(-9, 9, 7), bias=fine)
    normal = nn.BatchNorm(
        statistics="variables", mean=nn.Fixed(-50, 50, 3), deviation=nn.Int(3, 200)
    )
    tanh = nn.Staircase.of(np.tanh, -3, 3, denominator=50, grid=16)
    block = (nn.Linear(6, 6, weight=nn.Fixed(-5, 5, 3), bias=fine), nn.PReLU())
    signs = (nn.Linear(6, 6, weight=weight, bias=bias), nn.Sign())
    return {
        "linear": ((nn.Linear(40, 5, weight=weight, bias=bias),), (40,)),
        "conv": ((conv, nn.Abs(), nn.AvgPool2d(3, stride=1)), (2, 8, 7)),
        "quotient": ((nn.Linear(9, 4, weight=weight, bias=bias), normal), (9,)),
        "image quotient": ((conv, normal, nn.MaxPool2d(2)), (2, 8, 8)),
        "root": ((nn.LayerNorm(denominator=64),), (9,)),
        "image root": ((nn.LayerNorm(denominator=3), nn.LeakyReLU(Fraction(3, 7))), (3, 2, 2)),
        "tanh": ((nn.Linear(9, 7, weight=nn.Fixed(-5, 5, 13), bias=bias), tanh), (9,)),
        "residual": (
            (nn.Residual(*block), nn.Residual(*signs), nn.Linear(6, 3, weight=weight, bias=bias)),
            (6,),
        ),
    }


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
    model, rng = widest(name, double), np.random.default_rng(0)
    largest, size = model.largest_input, model.network.in_features
    assert largest >= (1 << 18 if double else 1 << 3)
    ends = rng.choice([-largest, largest], (100, size))
    near = ends + rng.integers(-3, 4, ends.shape)
    inside = rng.integers(-largest, largest + 1, (100, size))
    X = np.concatenate([ends, np.clip(near, -largest, largest), inside])
    agree(model, X, run, double=double)


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


@pytest.mark.parametrize(
    ("modules", "bits"),
    [((nn.Linear(2, 1),), 52), ((nn.LayerNorm(),), 26), ((nn.Abs(), nn.LeakyReLU(0.001)), 45)],
    ids=["inputs", "squares", "slopes"],
)
def test_beyond_float64_it_refuses(modules, bits):
    model = model_of(built(*modules, shape=(2,), bits=bits), np.random.default_rng(0))
    with pytest.raises(OverflowRefused, match=r"(layer1|input)/.* below 2\^53"):
        il.to_onnx(model)


def test_without_the_package_the_extra_is_named(monkeypatch):
    model = model_of(nn.paper_network(2, 2, 2).resolved(0), np.random.default_rng(0))
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(IsingLearnError, match=r"isinglearn\[onnx\]") as caught:
        il.to_onnx(model)
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
