"""What a record is made of: how labels are read, coarse tables, bits, the yardstick's words."""

from __future__ import annotations

import numpy as np
import pytest

from isinglearn import nn
from isinglearn.model import Model
from isinglearn.report.coefficients import bit_lengths
from isinglearn.report.measures import Judge, network_record
from isinglearn.report.yardstick import Proof, in_words


def test_several_outputs() -> None:
    network = nn.Sequential(nn.Linear(2, 3)).resolved(0)
    parameters = {name: np.full(s.shape, s.domain.hi) for name, s in network.parameters.items()}
    model = Model(network, parameters)
    assert Judge.of(model, [0, 2]).rule == "largest"
    assert Judge.of(model, [[1, -1, -1], [-1, 1, -1]]).rule == "largest"
    signs = Judge.of(model, [[1, 1, -1], [-1, 1, -1]])
    assert (signs.rule, len(signs.names)) == ("signs", 8)
    assert signs.truth([[1, 1, -1]]).tolist() == [6]
    assert signs.names[6] == "+ + -"
    assert Judge.of(model, [[0.5, 1, -1]]).rule == "numbers"


def test_labels_that_a_model_does_not_know_are_wrong() -> None:
    network = nn.Sequential(nn.Linear(1, 1)).resolved(0)
    parameters = {name: np.full(s.shape, s.domain.hi) for name, s in network.parameters.items()}
    model = Model(network, parameters, classes=("a", "b"))
    found = Judge.of(model, ["a", "b"]).result(model, [[1], [1]], ["b", "c"])
    assert (found["right"], found["samples"]) == (1, 2)
    assert found["confusion"] == [[0, 0], [0, 1]]


def test_many_parameters_are_kept_as_means() -> None:
    network = nn.Sequential(nn.Linear(100, 90), nn.Sign(), nn.Linear(90, 1)).resolved(0)
    rng = np.random.default_rng(0)
    parameters = {
        name: rng.choice(list(s.domain.numerators), size=s.shape)
        for name, s in network.parameters.items()
    }
    first = network_record(network, parameters)["parameters"][0]
    values = np.array(first["values"])
    assert not first["exact"]
    assert values.shape == (64, 64)
    scaled = parameters["layer1.weight"] / network.parameters["layer1.weight"].domain.denominator
    # Cells of one row and one column are the weights themselves.
    assert values[0, 0] == scaled[0, 0]
    assert values[-1, -1] == pytest.approx(scaled[-2:, -2:].mean())


def test_bits_of_whole_numbers() -> None:
    values = [0, 1, -1, 2, 3, 4, -7, 8, 2**53 - 1, 2**53, 2**62]
    assert bit_lengths(np.array(values)).tolist() == [abs(value).bit_length() for value in values]


@pytest.mark.parametrize(
    ("loss", "baseline", "proof", "words"),
    [
        (0.0, 0.5, Proof(0.0, True, ""), "This is the best network of its shape"),
        (0.4, 0.5, Proof(0.3, False, ""), "at most 0.1 (33%) could still be gained"),
        (
            0.4,
            0.5,
            Proof(0.3, True, ""),
            "a training loss of 0.3, which is proved; this one is 0.1",
        ),
        (1.0, 1.0, Proof(0.0, True, ""), "this one is 1 above it"),
        (0.4, 0.2, Proof(None, False, ""), "a smaller loss, 0.2"),
        (0.4, 0.6, Proof(None, False, ""), "a larger loss, 0.6"),
        (0.4, 0.4, Proof(None, False, ""), "reaches the same loss"),
        (0.4, None, Proof(0.0, False, ""), "is not known"),
    ],
)
def test_the_yardstick_in_words(
    loss: float, baseline: float | None, proof: Proof, words: str
) -> None:
    assert words in in_words(loss, baseline, proof)
