"""Torch modules compute exactly what the network computes, and behave as torch modules do."""

import copy
import io
import pickle
from dataclasses import replace

import numpy as np
import pytest
from exported_models import (
    TRIALS,
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
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, NetworkError, OverflowRefused
from isinglearn.model.quantiser import Quantiser

torch = pytest.importorskip("torch", reason="needs isinglearn[torch]")


def agree(model, X):
    """Export, run, and compare; return the torch module."""
    module = il.to_torch(model)
    outputs, prediction = module(torch.tensor(X)), module.predict(torch.tensor(X)).numpy()
    assert outputs.dtype == torch.float64
    assert prediction.dtype == (np.float64 if model.target_range else np.int64)
    if model.classes is not None:
        prediction = np.array(module.classes)[prediction]
    np.testing.assert_array_equal(outputs.numpy(), model.outputs(X))
    np.testing.assert_array_equal(prediction, model.predict(X))
    return module


# -- exactness -------------------------------------------------------------------------------------


@every_module
def test_every_module_is_exact(modules, X, shape):
    network = network_of(modules, X, shape)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        model = model_of(network, rng)
        agree(model, X)
        inside = rng.integers(-model.largest_input, model.largest_input + 1, (20, X.shape[1]))
        agree(model, inside)


def widest(name):
    """The network with the widest inputs at which it is still exact."""
    modules, shape = wide_networks()[name]
    for bits in range(50, -1, -1):
        model = model_of(built(*modules, shape=shape, bits=bits), np.random.default_rng(bits))
        try:
            il.to_torch(model)
        except OverflowRefused:
            continue
        return model
    raise AssertionError("not even the smallest inputs are exact")


@pytest.mark.parametrize("name", wide_networks())
def test_the_widest_inputs_are_exact(name):
    model = widest(name)
    assert model.largest_input >= 1 << 18
    agree(model, wide_inputs(model))


@pytest.mark.parametrize(
    ("modules", "bits"),
    [((nn.Linear(2, 1),), 52), ((nn.LayerNorm(),), 26), ((nn.Abs(), nn.LeakyReLU(0.001)), 45)],
    ids=["inputs", "squares", "slopes"],
)
def test_beyond_float64_it_refuses(modules, bits):
    model = model_of(built(*modules, shape=(2,), bits=bits), np.random.default_rng(0))
    with pytest.raises(OverflowRefused, match=r"to_torch, (layer1|input)/.* below 2\^53"):
        il.to_torch(model)


@settings(deadline=None, max_examples=300)
@given(data=quantised_data())
def test_real_features_are_quantised_alike(data):
    quantiser, X = data
    agree(passing_on(quantiser), X)


def test_awkward_ranges_of_one_feature():
    for quantiser, X in awkward_ranges(3):
        agree(passing_on(quantiser), X)


@pytest.mark.parametrize("bits", [0, 1, 4])
def test_half_way_is_rounded_to_even(bits):
    quantiser, X = half_ways(bits)
    agree(passing_on(quantiser), X)


@settings(deadline=None, max_examples=100)
@given(low=st.floats(-1e300, 1e300), high=st.floats(-1e300, 1e300))
def test_numbers_of_a_range(low, high):
    agree(*regressor(low, high, 9))


@pytest.mark.parametrize("names", [("no", "yes"), ("a", "b", "c")])
def test_predictions_are_indices_of_classes(names):
    width = len(names) if len(names) > 2 else 1
    quantiser = Quantiser(-np.ones(width), np.ones(width), 2)
    module = agree(
        replace(passing_on(quantiser), classes=names),
        np.random.default_rng(0).normal(size=(40, width)),
    )
    assert module.classes == names


# -- behaviour -------------------------------------------------------------------------------------


def with_a_block(seed=0):
    """A network with a block in it, of real features."""
    net = nn.Sequential(
        nn.Linear(2, 3),
        nn.Sign(),
        nn.Residual(nn.Linear(3, 3), nn.BatchNorm(mean=1, deviation=2), nn.ReLU()),
        nn.PReLU(),
        nn.Linear(3, 1),
    ).resolved(3)
    X = np.random.default_rng(1).normal(size=(30, 2))
    net = net.observed(Quantiser.of(X, 3)(X), np.ones(len(X), dtype=np.int64))
    model = model_of(net, np.random.default_rng(seed))
    return replace(model, quantiser=Quantiser.of(X, 3)), X


def test_it_shows_its_layers():
    model, _ = with_a_block()
    assert (
        repr(il.to_torch(model))
        == """\
TorchModel(
  (quantiser): Quantise(2 features to whole numbers in [-8, 8])
  (network): Sequential(
    (layer1): Sequential(
      (linear): Linear(2, 3)
      (sign): Sign()
    )
    (layer2): Sequential(
      (residual): Residual(
        (chain): Sequential(
          (layer1): Sequential(
            (linear): Linear(3, 3)
            (batchnorm): BatchNorm(statistics='data')
            (relu): ReLU()
          )
        )
      )
      (prelu): PReLU() with slope / 4
    )
    (layer3): Sequential(
      (linear): Linear(3, 1) with weight / 3, bias / 3
    )
  )
)"""
    )


def test_modules_of_one_kind_in_one_layer_have_names_of_their_own():
    net = built(nn.Linear(2, 2), nn.Abs(), nn.PReLU(), nn.PReLU(), nn.Abs(), shape=(2,))
    module = agree(model_of(net, np.random.default_rng(0)), np.array([[1, -2], [0, 1]]))
    names = [name for name, _ in module.network.layer1.named_children()]
    assert names == ["linear", "abs", "prelu", "prelu2", "abs2"]


@every_module
def test_the_parameters_are_those_of_the_model(modules, X, shape):
    model = model_of(network_of(modules, X, shape), np.random.default_rng(3))
    module = il.to_torch(model)
    held = list(module.parameters())
    assert [p.numpy().tolist() for p in held] == [v.tolist() for v in model.parameters.values()]
    assert {id(p) for p in held} <= {id(p) for p in module.state_dict(keep_vars=True).values()}
    assert not any(p.requires_grad for p in held)


def test_the_state_is_the_model():
    (model, X), (other, _) = with_a_block(0), with_a_block(1)
    model = replace(model, target_range=(0.0, 1.0))
    other = replace(
        other, quantiser=Quantiser([-9.0, 0.0], [9.0, 0.5], 3), target_range=(-2.0, 5.0)
    )
    assert (model.outputs(X) != other.outputs(X)).any()
    file = io.BytesIO()
    torch.save(il.to_torch(other).state_dict(), file)
    file.seek(0)
    module = il.to_torch(model)
    module.load_state_dict(torch.load(file, weights_only=True))
    np.testing.assert_array_equal(module(X).numpy(), other.outputs(X))
    np.testing.assert_array_equal(module.predict(X).numpy(), other.predict(X))
    assert "network.layer2.residual.chain.layer1.batchnorm.mean" in module.state_dict()


def test_copies_and_modes_make_no_difference():
    model, X = with_a_block()
    module = il.to_torch(model)
    assert not module.training
    for same in (module.train(), copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        np.testing.assert_array_equal(same(torch.tensor(X)).numpy(), model.outputs(X))
    # float32 features are the same numbers in float64.
    np.testing.assert_array_equal(module(X.astype(np.float32)), model.outputs(X.astype(np.float32)))


def test_all_it_holds_moves_with_it():
    for case in TRIALS:
        modules, X, shape = case.values
        model = model_of(network_of(modules, X, shape), np.random.default_rng(0))
        faces = {"quantiser": Quantiser(X.min(axis=0), X.max(axis=0), 0)}
        if model.network.out_features == 1:
            faces["target_range"] = (0.0, 1.0)
        # On this device every tensor that stayed behind is an error; numbers cannot be looked at.
        module = il.to_torch(replace(model, **faces)).to("meta")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.compiler, "is_compiling", lambda: True)
            found = module.predict(torch.empty(X.shape, device="meta"))
        assert (found.device.type, found.shape) == ("meta", (len(X),))


def test_torch_exports_it_for_any_number_of_samples():
    model, X = with_a_block()
    samples = {0: torch.export.Dim("samples")}
    program = torch.export.export(il.to_torch(model), (torch.tensor(X),), dynamic_shapes=(samples,))
    for count in (2, 7, 30):
        found = program.module()(torch.tensor(X[:count]))
        np.testing.assert_array_equal(found.numpy(), model.outputs(X[:count]))


def test_random_numbers_and_defaults_of_torch_are_left_alone():
    model, X = with_a_block()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    torch.set_default_dtype(torch.float16)
    try:
        agree(model, X)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(torch.get_rng_state(), before)


def test_images_in_every_layout():
    model = model_of(built(nn.Conv2d(1, 2, 2), shape=(1, 2, 4)), np.random.default_rng(1))
    X = np.random.default_rng(0).integers(-2, 3, (5, 8))
    module = il.to_torch(model)
    for shape in ((5, 8), (5, 1, 2, 4), (5, 2, 4)):
        np.testing.assert_array_equal(module(X.reshape(shape)), model.outputs(X))
    for shape in ((5, 4, 2), (5, 2, 4, 1), (10, 4), (40,)):
        with pytest.raises(DataError, match=r"\(8,\) or \(1, 2, 4\) or \(2, 4\)"):
            module(X.reshape(shape))


# -- what it refuses -------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [0.5, 3, -3, np.nan, np.inf])
def test_whole_numbers_in_their_range_only(wrong):
    module = il.to_torch(model_of(built(nn.Linear(2, 1), shape=(2,)), np.random.default_rng(0)))
    assert module([[2.0, -2.0]]).shape == (1, 1)
    with pytest.raises(DataError, match=r"X\[1, 0\].* whole numbers from -2 to 2"):
        module([[2.0, -2.0], [wrong, 0.0]])


def test_missing_features_are_refused():
    model, X = with_a_block()
    X[3, 1] = np.nan
    with pytest.raises(DataError, match=r"X\[3, 1\].* missing"):
        il.to_torch(model).predict(X)


@pytest.mark.parametrize("cast", ["half", "float"])
def test_other_types_are_refused(cast):
    model, X = with_a_block()
    with pytest.raises(NetworkError, match="cast to another type"):
        getattr(il.to_torch(model), cast)()(X)
    plain = il.Model(built(nn.Abs(), shape=(2,)), {})
    with pytest.raises(NetworkError, match="cast to another type"):
        getattr(il.to_torch(plain), cast)()(np.ones((1, 2)))


def test_a_module_without_a_form_is_named():
    # An underscore keeps it out of the register.
    class _Strange(nn.Abs):
        to_torch = nn.Module.to_torch

    model = il.Model(built(_Strange(), shape=(2,)), {})
    with pytest.raises(NetworkError, match="_Strange has no torch form"):
        il.to_torch(model)


def test_only_models_are_exported():
    with pytest.raises(NetworkError, match="no model"):
        il.to_torch(nn.paper_network(2, 2, 2))


def test_it_refuses_where_onnx_refuses():
    pytest.importorskip("onnx", reason="needs isinglearn[onnx]")
    for name in wide_networks():
        model = widest(name)
        modules, shape = wide_networks()[name]
        bits = model.network.input_bits + 1
        beyond = model_of(built(*modules, shape=shape, bits=bits), np.random.default_rng(bits))
        il.to_onnx(model)
        with pytest.raises(OverflowRefused):
            il.to_onnx(beyond)
