"""Model: outputs and predictions, images in any layout, and what it refuses."""

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, NetworkError, OverflowRefused

NET = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 2, use_bias=False)).resolved(1)
PARAMETERS = {
    "layer1.weight": np.array([[1, -1]]),
    "layer1.bias": np.array([0]),
    "layer2.weight": np.array([[-1], [2]]),
}


def images(channels=1):
    net = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), input_shape=(channels, 2, 4)).resolved(2)
    return il.Model(net, {})


def test_outputs_are_numerators_over_the_scale():
    net = nn.Sequential(nn.Linear(2, 1, weight=nn.Fixed(-3, 3, 4), bias=nn.Int(0, 1))).resolved(2)
    model = il.Model(net, {"layer1.weight": [[3, -1]], "layer1.bias": [1]})
    outputs = model.outputs([[1, 0], [0, 4], [-4, 4]])
    assert outputs.dtype == np.float64
    assert outputs.tolist() == [[1.75], [0.0], [-3.0]]
    # Zero counts as +1, as everywhere.
    assert model.predict([[1, 0], [0, 4], [-4, 4]]).tolist() == [1, 1, -1]


def test_several_outputs_predict_the_first_largest():
    model = il.Model(NET, PARAMETERS)
    assert model.predict([[2, 1], [0, 2]]).tolist() == [1, 0]
    same = il.Model(NET, PARAMETERS | {"layer2.weight": np.array([[1], [1]])})
    assert same.predict([[2, 1], [0, 2]]).tolist() == [0, 0]


def test_what_training_returns_makes_a_model():
    X, y = np.array([[1, 1], [-1, 0], [0, -1]]), np.array([1, -1, 1])
    net = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1))
    problem = il.compile(net, X, y)
    best = il.solve(problem, "brute").best
    model = il.Model(problem.network, best.parameters)
    assert ((model.outputs(X)[:, 0] - y) ** 2).mean() == float(best.loss)


def test_images_in_every_layout():
    X = np.arange(24).reshape(3, 1, 2, 4) % 5
    expected = images().outputs(X)
    assert expected.shape == (3, 2)
    assert (images().outputs(X.reshape(3, 8)) == expected).all()
    assert (images().outputs(X.reshape(3, 2, 4).astype(float)) == expected).all()
    assert images(2).outputs(np.ones((3, 2, 2, 4), int)).tolist() == [[1.0] * 4] * 3


@pytest.mark.parametrize("shape", [(3, 4, 2), (3, 2, 4, 1), (3, 7), (3, 1, 8)])
def test_other_layouts_are_refused(shape):
    with pytest.raises(DataError, match=r"\(8,\) or \(1, 2, 4\) or \(2, 4\)"):
        images().outputs(np.zeros(shape, int))


def test_channels_cannot_be_left_out_where_there_are_two():
    with pytest.raises(DataError, match="does not fit"):
        images(2).predict(np.zeros((3, 2, 4), int))


@pytest.mark.parametrize("X", [[[0.5, 1]], [1, 2], [], [["a", "b"]], [[np.nan, 0]]])
def test_inputs_are_rows_of_integers(X):
    with pytest.raises(DataError):
        il.Model(NET, PARAMETERS).outputs(X)


def test_numbers_beyond_64_bits_are_refused():
    with pytest.raises(OverflowRefused):
        il.Model(NET, PARAMETERS).outputs([[2**61, 0]])


def test_a_model_keeps_its_own_numbers():
    given = {name: values.copy() for name, values in PARAMETERS.items()}
    model = il.Model(NET, given)
    given["layer1.bias"][0] = 3
    assert model.parameters["layer1.bias"].tolist() == [0]
    with pytest.raises(ValueError, match="read-only"):
        model.parameters["layer1.bias"][0] = 1
    assert model.largest_input == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"layer1.bais": [0]}, "not the parameters"),
        ({"layer1.bias": [[0]]}, r"shape \(1, 1\)"),
        ({"layer1.bias": [0.0]}, "type float64"),
        ({"layer1.bias": ["0"]}, "type <U1"),
        ({"layer2.weight": [[1], [1, 2]]}, "inhomogeneous"),
        ({"layer1.bias": [-1]}, r"Received: others"),
        ({"layer1.weight": [[1, 0]]}, "encoding='spin'"),
    ],
)
def test_parameters_that_do_not_fit(changed, message):
    with pytest.raises(NetworkError, match=message):
        il.Model(NET, PARAMETERS | changed)


def test_missing_and_frozen_parameters():
    with pytest.raises(NetworkError, match="not the parameters"):
        il.Model(NET, {})
    with pytest.raises(NetworkError, match="Received: None"):
        il.Model(NET, None)
    frozen = NET.freeze({"layer1.bias": 1})
    with pytest.raises(NetworkError, match="frozen"):
        il.Model(frozen.resolved(1), PARAMETERS)


@pytest.mark.parametrize(
    "network",
    [
        nn.Sequential(nn.Linear(2, 1)),
        nn.Sequential(nn.Linear(2, 1), input_bits=1),
        nn.Sequential(nn.MaxPool2d(2), input_shape=(1, 2, 2), input_bits=1),
        nn.Sequential(nn.BatchNorm(), input_shape=(2,)).resolved(1),
        "network",
    ],
    ids=["open", "bits only", "shapes", "statistics", "text"],
)
def test_networks_that_cannot_compute_yet(network):
    with pytest.raises(NetworkError, match="cannot compute yet"):
        il.Model(network, {})
