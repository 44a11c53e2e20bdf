"""Models to export: every registered module, networks of wide numbers, quantisers with awkward ranges."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.model.quantiser import Quantiser


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
every_module = pytest.mark.parametrize(("modules", "X", "shape"), TRIALS + EXAMPLES)


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


def wide_inputs(model):
    """Inputs at the ends of what a model takes, near them, and anywhere inside."""
    rng, largest, size = np.random.default_rng(0), model.largest_input, model.network.in_features
    ends = rng.choice([-largest, largest], (100, size))
    near = ends + rng.integers(-3, 4, ends.shape)
    inside = rng.integers(-largest, largest + 1, (100, size))
    return np.concatenate([ends, np.clip(near, -largest, largest), inside])


# -- real features ---------------------------------------------------------------------------------


def passing_on(quantiser):
    """A model whose outputs are the quantised features themselves."""
    width = quantiser.low.size
    network = built(
        nn.Linear(width, width, weight=nn.Int(0, 1), use_bias=False),
        shape=(width,),
        bits=quantiser.bits,
    )
    model = il.Model(network, {"layer1.weight": np.eye(width, dtype=np.int64)})
    return replace(model, quantiser=quantiser)


LARGEST = np.finfo(float).max
TINY = np.nextafter(0.0, 1.0)
# Some that are 0 or 1 in float32 but not in float64.
AWKWARD = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 1 + 2**-40, -(2.0**-200), TINY, -3 * TINY]
AWKWARD += [1e300, LARGEST / 4, LARGEST, -LARGEST]
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def quantised_data(draw):
    """A quantiser and features: half-way points and their neighbours, ends, anything outside."""
    bits, width = draw(st.integers(0, 30)), draw(st.integers(1, 4))
    edge = st.sampled_from(AWKWARD) | FINITE
    ends = np.sort([[draw(edge), draw(edge)] for _ in range(width)], axis=1)
    constant = draw(st.lists(st.booleans(), min_size=width, max_size=width))
    low, high = ends[:, 0], np.where(constant, ends[:, 0], ends[:, 1])
    return Quantiser(low, high, bits), draw(features_for(low, high, bits))


@st.composite
def features_for(draw, low, high, bits):
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        half = draw(st.integers(0, 2 ** (bits + 1) - 1)) + 0.5
        share = half / 2 ** (bits + 1)
        # Not by the width of the range, which may be no float.
        between = low * (1 - share) + high * share
        place = draw(st.sampled_from(["low", "half", "below half", "above half", "high", "any"]))
        rows.append(
            {
                "low": low,
                "high": high,
                "half": between,
                "below half": np.nextafter(between, low),
                "above half": np.nextafter(between, high),
                "any": np.full_like(low, draw(st.floats(allow_nan=False))),
            }[place]
        )
    return np.array(rows)


def awkward_ranges(bits):
    """All pairs of awkward ends as quantisers of one feature, with features in between."""
    for low in AWKWARD:
        for high in (end for end in AWKWARD if end >= low):
            share = np.linspace(0, 1, 4 * 2**bits + 1)
            yield Quantiser([low], [high], bits), (low * (1 - share) + high * share)[:, None]


def half_ways(bits):
    """A quantiser under which features ``k + 1/2`` lie exactly half way, and these features."""
    width = float(2 ** (bits + 1))
    quantiser = Quantiser([0.0, -width], [width, 0.0], bits)
    half = np.arange(2 ** (bits + 1)) + 0.5
    return quantiser, np.column_stack([half, -half])


def regressor(low, high, outputs):
    """A model of one real number in 0..outputs, whose outputs are ``k / 2 - 1``, and its inputs."""
    network = built(
        nn.Linear(1, 1, weight=nn.Fixed(0, 1, 2), bias=nn.Fixed(-2, 0, 2)), shape=(1,), bits=4
    )
    parameters = {"layer1.weight": np.array([[1]]), "layer1.bias": np.array([-2])}
    model = il.Model(network, parameters, target_range=(low, high))
    return model, np.arange(outputs)[:, None]
