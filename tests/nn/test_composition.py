"""Any composition: shapes, ranges and scales flow through; what cannot be put together is refused by name."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, NetworkError, OptionError

SMALL = nn.Int(-1, 1)


@st.composite
def networks(draw):
    """Up to four modules on an image or a row of values, each fitting what comes before."""
    shape = draw(st.sampled_from([(2,), (3,), (1, 2, 3), (2, 3, 3), (1, 4, 4)]))
    start, modules = shape, []
    for _ in range(draw(st.integers(1, 4))):
        modules.append(draw(st.sampled_from(_fitting(shape))))
        shape = modules[-1].out_shape(shape)
    if len(shape) > 1:
        modules.append(nn.Flatten())
    network = nn.Sequential(*modules, input_shape=start, input_bits=1)
    assume(any(spec.free.any() for spec in network.resolved(1).parameters.values()))
    return network


def _fitting(shape):
    anywhere = [
        nn.Sign(),
        nn.ReLU(),
        nn.Abs(),
        nn.LeakyReLU(Fraction(1, 2)),
        nn.PReLU(nn.Fixed(0, 1, 2)),
        nn.Staircase([-1, Fraction(1, 2)], [0, 2, 1]),
        nn.BatchNorm(statistics="variables", gain=nn.Int(1, 1), shift=nn.Int(0, 1)),
        nn.BatchNorm(mean=1, deviation=2, affine=False),
    ]
    if len(shape) == 1:
        width = shape[0]
        inner = nn.Linear(width, width, weight=nn.Spin(), bias=SMALL)
        return [
            *anywhere,
            nn.Linear(width, 2, weight=SMALL, bias=SMALL),
            nn.Residual(inner, nn.Sign()),
        ]
    channels, rows, columns = shape
    fitting = [
        *anywhere,
        nn.Flatten(),
        nn.Conv2d(channels, 1, 1, weight=SMALL, use_bias=False),
        nn.Conv2d(channels, 2, 2, padding=1, stride=2, weight=nn.Spin(), bias=SMALL),
        nn.Residual(nn.Conv2d(channels, channels, 3, padding=1, weight=nn.Spin()), nn.ReLU()),
    ]
    if min(rows, columns) > 1:
        fitting += [nn.AvgPool2d(2, stride=1), nn.MaxPool2d(2)]
    return fitting


@pytest.mark.parametrize("formulation", ["compact", "paper"])
@settings(max_examples=40, deadline=None)
@given(network=networks(), data=st.data())
def test_constraints_agree_with_the_forward_pass(formulation, network, data):
    """Random parameters: all variables follow, nothing is violated, the energy is the loss."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(-2, 3, (3, network.in_features))
    labels = rng.choice([-1, 1], (3, network.out_features))
    loss = data.draw(st.sampled_from([nn.MSE(), nn.Hinge()]))
    problem = il.compile(network, X, labels, loss, formulation)
    vectors = np.array([[rng.choice(list(d)) for d in problem.free_domains] for _ in range(4)])
    values = problem.complete(vectors)
    table = problem.qcbo.variables
    names = list(table)
    assert len(set(names)) == len(names)
    scores = problem.scores(vectors)
    for vector, value, score in zip(vectors, values, scores, strict=True):
        # Tightened ranges leave out parameters that behave like others.
        outside = (value < table.lo) | (value > table.hi)
        free = len(vector)
        assert not outside[free:].any() or formulation == "paper" or outside[:free].any()
        assert not any(c.violated(value).any() for c in problem.qcbo.constraints)
        if score < np.iinfo(np.int64).max:
            assert problem.qcbo.energy(value)[0] == score


@settings(max_examples=15, deadline=None)
@given(network=networks(), seed=st.integers(0, 2**32 - 1))
def test_bits_of_a_network_have_its_loss_as_energy(network, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (2, network.in_features))
    labels = rng.choice([-1, 1], (2, network.out_features))
    problem = il.compile(network, X, labels, nn.Hinge() if seed % 2 else nn.MSE())
    vector = problem.incumbent[0]
    bits = problem.qubo.complete(problem.complete(vector))
    assert problem.qubo.violations(bits) == []
    assert problem.qubo.energy(bits)[0] == problem.scores(vector)[0]
    # A bias may come back as another one that behaves alike.
    decoded = problem.qubo.decode(bits)[:, : len(vector)]
    assert problem.scores(decoded)[0] == problem.scores(vector)[0]


MISFITS = {
    "linear behind an image": (
        [nn.Conv2d(1, 2, 2), nn.Linear(8, 1)],
        (1, 3, 3),
        ["Linear(8, 1) does not fit behind Conv2d(1, 2, 2)", "2 x 2 x 2", "Flatten"],
    ),
    "wrong width": (
        [nn.Linear(2, 3), nn.Sign(), nn.Linear(4, 1)],
        None,
        ["Linear(4, 1) does not fit behind Sign()", "3 values", "Linear(3, 1)"],
    ),
    "wrong channels": (
        [nn.Conv2d(1, 2, 1), nn.Conv2d(3, 1, 1)],
        (1, 2, 2),
        ["Conv2d(3, 1, 1) does not fit behind Conv2d(1, 2, 1)", "3 channels"],
    ),
    "window larger than the image": (
        [nn.Conv2d(1, 1, 2), nn.MaxPool2d(3)],
        (1, 3, 3),
        ["MaxPool2d(3) does not fit behind Conv2d(1, 1, 2)", "at least 3 rows"],
    ),
    "image layer on values": (
        [nn.Linear(4, 4), nn.AvgPool2d(2)],
        None,
        ["AvgPool2d(2) does not fit behind Linear(4, 4)", "an image"],
    ),
    "block that changes the shape": (
        [nn.Residual(nn.Linear(2, 3))],
        (2,),
        ["Residual(Linear(2, 3)) does not fit behind the input", "3 values"],
    ),
    "misfit inside a block": (
        [nn.Residual(nn.Linear(2, 3), nn.Linear(2, 2))],
        (2,),
        ["Residual", "Linear(2, 2) does not fit behind Linear(2, 3)"],
    ),
}


@pytest.mark.parametrize(("modules", "shape", "texts"), MISFITS.values(), ids=MISFITS)
def test_impossible_compositions_name_both_modules(modules, shape, texts):
    with pytest.raises(NetworkError) as caught:
        nn.Sequential(*modules, input_shape=shape)
    assert all(text in str(caught.value) for text in texts), str(caught.value)


BAD_MODULES = {
    "slope of too fine a fraction": (lambda: nn.LeakyReLU(Fraction(1, 3000)), "denominator"),
    "slope that is no number": (lambda: nn.LeakyReLU(float("nan")), "not representable"),
    "slope domain": (lambda: nn.PReLU(0.5), "no domain"),
    "fine slope domain": (lambda: nn.PReLU(nn.Fixed(0, 1, 5000)), "not representable"),
    "staircase with too many steps": (lambda: nn.Staircase(range(300), range(301)), "at most 256"),
    "staircase that is not ascending": (lambda: nn.Staircase([1, 1], [0, 1, 2]), "ascending"),
    "staircase without a value": (lambda: nn.Staircase([1], [0]), "2 values for 1 thresholds"),
    "staircase off its grid": (lambda: nn.Staircase([1], [0, 0.5]), "grid of 1/1"),
    "staircase of words": (lambda: nn.Staircase(["a"], [0, 1]), "no numbers"),
    "staircase of too many points": (
        lambda: nn.Staircase.of(np.tanh, -(2**20), 2**20),
        "65536",
    ),
    "function with holes": (
        lambda: nn.Staircase.of(lambda x: np.where(x > 0, np.nan, 1.0), -2, 2),
        "finite",
    ),
    "kernel of nothing": (lambda: nn.Conv2d(1, 1, 0), "Conv2d(kernel_size)"),
    "padding as large as the kernel": (lambda: nn.Conv2d(1, 1, 2, padding=2), "less than"),
    "stride of nothing": (lambda: nn.MaxPool2d(2, stride=0), "MaxPool2d(stride)"),
    "fractional gain": (lambda: nn.BatchNorm(gain=nn.Fixed(0, 1, 2)), "whole numbers"),
    "unknown statistics": (lambda: nn.BatchNorm(statistics="dato"), "did you mean 'data'"),
    "deviation of zero": (
        lambda: nn.BatchNorm(statistics="variables", deviation=nn.Int(0, 2)),
        "from 1 to",
    ),
    "deviation that is no power of two": (
        lambda: nn.BatchNorm(mean=0, deviation=3),
        "powers of two",
    ),
    "mean alone": (lambda: nn.BatchNorm(mean=0), "both or none"),
    "grid of nothing": (lambda: nn.LayerNorm(denominator=0), "LayerNorm(denominator)"),
    "empty block": (nn.Residual, "at least one module"),
    "shape of two dimensions": (
        lambda: nn.Sequential(nn.Flatten(), input_shape=(2, 2)),
        "(channels, rows, columns)",
    ),
    "image network without a shape": (lambda: nn.Sequential(nn.Conv2d(1, 1, 1)), "input_shape"),
}


@pytest.mark.parametrize(("make", "text"), BAD_MODULES.values(), ids=BAD_MODULES)
def test_bad_modules_are_refused_at_construction(make, text):
    with pytest.raises((NetworkError, OptionError)) as caught:
        make()
    assert text in str(caught.value)
    assert caught.value.remedy


def test_statistics_need_something_fixed_in_front():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(), nn.Linear(2, 1))
    with pytest.raises(NetworkError, match=r"nothing to train in front.*statistics='variables'"):
        il.compile(net, [[0, 1], [1, 0]], [1, -1])


def test_statistics_of_the_data_are_those_of_the_weighted_samples():
    last = nn.Linear(2, 1, weight=SMALL, bias=SMALL)
    net = nn.Sequential(nn.BatchNorm(affine=False), last, input_shape=(2,))
    X = np.array([[4, 0], [0, 1], [0, 1]])
    problem = il.compile(net, X, [1, -1, -1], sample_weight=[2, 1, 1])
    norm = problem.network.modules[0]
    # Means 2 and 1/2, deviations 2 and 1/2; the latter is not divided by less than 1.
    assert norm.mu.tolist() == [2, 0]
    assert norm.sigma.tolist() == [2, 1]


def test_deviations_beyond_the_table_are_refused():
    net = nn.Sequential(nn.LayerNorm(), nn.Linear(2, 1), input_shape=(2,))
    with pytest.raises(NetworkError, match="at most 256"):
        _ = il.compile(net, [[1000, -1000], [0, 1]], [1, -1]).qcbo


def test_hinge_wants_classes():
    net = nn.Sequential(nn.Linear(1, 1))
    with pytest.raises(DataError, match="-1 or \\+1"):
        il.compile(net, [[1], [0]], [1, 0], nn.Hinge())


def test_parameters_of_blocks_and_norms_can_be_frozen():
    net = nn.Sequential(
        nn.Linear(2, 2, weight=nn.Spin(), bias=SMALL),
        nn.PReLU(),
        nn.Residual(nn.Linear(2, 2, weight=nn.Spin(), bias=SMALL), nn.Sign()),
        nn.Linear(2, 1, weight=SMALL, bias=SMALL),
    )
    frozen = net.freeze({"layer1.slope": 0.5, "layer2.layer1.weight": 1}).resolved(1)
    specs = frozen.parameters
    assert specs["layer1.slope"].frozen.tolist() == [2]
    assert not specs["layer2.layer1.weight"].free.any()
    assert specs["layer3.weight"].free.all()
    with pytest.raises(NetworkError, match="no such parameter"):
        net.freeze({"layer2.layer7.weight": 1})


def test_images_may_be_given_as_images():
    net = nn.Sequential(
        nn.Conv2d(1, 1, 2, bias=SMALL),
        nn.Sign(),
        nn.Flatten(),
        nn.Linear(2, 1),
        input_shape=(1, 2, 3),
    )
    images = np.arange(12).reshape(2, 1, 2, 3) % 3
    flat = il.compile(net, images.reshape(2, 6), [1, -1])
    assert (il.compile(net, images, [1, -1]).data.X == flat.data.X).all()
    assert (il.compile(net, images[:, 0], [1, -1]).data.X == flat.data.X).all()
    with pytest.raises(DataError, match="channels first"):
        il.compile(net, np.moveaxis(images, 1, 3), [1, -1])


def test_convolution_is_the_formula():
    """Against a loop over the definition, with stride and padding."""
    rng = np.random.default_rng(1)
    conv = nn.Conv2d(2, 3, 2, stride=2, padding=1, weight=nn.Int(-3, 3), bias=nn.Int(-3, 3))
    net = nn.Sequential(conv, nn.Flatten(), input_shape=(2, 3, 5)).resolved(2)
    X = rng.integers(-4, 5, (2, 2, 3, 5))
    w, b = rng.integers(-3, 4, (3, 2, 2, 2)), rng.integers(-3, 4, 3)
    padded = np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)))
    expected = np.zeros((2, 3, 2, 3), dtype=int)
    for n, o, r, c in np.ndindex(expected.shape):
        window = padded[n, :, 2 * r : 2 * r + 2, 2 * c : 2 * c + 2]
        expected[n, o, r, c] = (w[o] * window).sum() + b[o]
    outputs = net.forward({"layer1.weight": w, "layer1.bias": b}, X.reshape(2, -1))
    assert (outputs == expected.reshape(2, -1)).all()


def test_a_bias_that_is_also_read_elsewhere_keeps_its_exact_value():
    """The sum goes to a sign and around it: a threshold that stands for many biases would be wrong."""
    net = nn.Sequential(
        nn.Linear(1, 1, weight=nn.Int(0, 0), bias=nn.Int(0, 6)),
        nn.Residual(nn.Sign()),
        nn.Staircase([2], [-1, 1]),
    )
    problem = il.compile(net, [[1]], [1], signs="threshold")
    best = il.solve(problem, "brute").best.loss
    assert il.solve(problem, "treewidth").best.loss == best == 0
    scale = problem.qubo.scale
    assert int(il.solve(problem, "treewidth").result.energies[0]) == best * scale
