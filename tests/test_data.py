"""Bad input is refused in words that help; good input enters the loss exactly."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.data import Dataset, quantise
from isinglearn.errors import (
    DataError,
    IsingLearnError,
    MemoryRefused,
    NetworkError,
    OptionError,
    OverflowRefused,
)
from isinglearn.lowering import pipeline

X = [[0, 1], [1, 0], [1, 1]]
Y = [1, -1, 0]

examples = settings(deadline=None, max_examples=50)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1))


def compile_with(**changes):
    """Compile a good little problem, with some arguments replaced."""
    return il.compile(**{"net": network(), "X": X, "y": Y, **changes})


def assert_says(error: IsingLearnError, where: str, received: str, *more: str) -> None:
    """The message names the argument, a rule, what was received and a remedy."""
    text = str(error)
    assert error.where.startswith(where), text
    assert error.rule, text
    assert error.remedy, text
    assert error.rule in text, text
    assert error.remedy in text, text
    assert received.lower() in str(error.received).lower(), text
    for word in more:
        assert word in text


# -- refusals --------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")

BAD_DATA = {
    "NaN input": ({"X": [[0, 1], [NAN, 0], [1, 1]]}, "X[1, 0]", "nan"),
    "infinite input": ({"X": [[0, 1], [1, 0], [1, -INF]]}, "X[2, 1]", "-inf"),
    "NaN label": ({"y": [1, NAN, 0]}, "y[1, 0]", "nan"),
    "fractional input": ({"X": [[0, 1], [1, 0.5], [1, 1]]}, "X[1, 1]", "0.5"),
    "words": ({"X": [["a", 1], [1, 0], [1, 1]]}, "X", "'a'"),
    "ragged rows": ({"X": [[0, 1], [1], [1, 1]]}, "X", "inhomogeneous"),
    "one-dimensional X": ({"X": [0, 1, 1]}, "X", "(3,)"),
    "three-dimensional X": ({"X": [[[0, 1]]]}, "X", "shape (1, 2)"),
    "no samples": ({"X": np.zeros((0, 2)), "y": []}, "X", "(0, 2)"),
    "no features": ({"X": np.zeros((3, 0))}, "X", "(3, 0)"),
    "no labels": ({"y": []}, "y", "(0,"),
    "fewer labels than inputs": ({"y": [1, -1]}, "X, y", "3 rows and 2 labels"),
    "more labels than inputs": ({"y": [1, -1, 1, 1]}, "X, y", "3 rows and 4 labels"),
    "too few columns of X": ({"X": [[0], [1], [1]]}, "X", "1 columns"),
    "too many columns of X": ({"X": [[0, 1, 1]] * 3}, "X", "3 columns"),
    "too many columns of y": ({"y": [[1, 1]] * 3}, "y", "2 columns"),
    "input out of range": ({"X": [[0, 1], [3, 0], [1, 1]], "input_bits": 1}, "X[1, 0]", "3"),
    "input below range": ({"X": [[0, -3], [1, 0], [1, 1]], "input_bits": 1}, "X[0, 1]", "-3"),
    "label above 1": ({"y": [1, 2, 0]}, "y[1, 0]", "2"),
    "label below -1": ({"y": [1, 0, -1.5]}, "y[2, 0]", "-1.5"),
    "label off the grid": ({"y": [1, 0.5, 0]}, "y[1, 0]", "0.5"),
    "label off a finer grid": ({"y": [1, 0.55, 0], "label_scale": 10}, "y[1, 0]", "0.55"),
    "label_scale of 0": ({"label_scale": 0}, "label_scale", "0"),
    "negative label_scale": ({"label_scale": -2}, "label_scale", "-2"),
    "fractional label_scale": ({"label_scale": 1.5}, "label_scale", "1.5"),
    "negative weight": ({"sample_weight": [1, -1, 1]}, "sample_weight", "-1"),
    "NaN weight": ({"sample_weight": [1, NAN, 1]}, "sample_weight", "nan"),
    "infinite weight": ({"sample_weight": [1, INF, 1]}, "sample_weight", "inf"),
    "missing weight": ({"sample_weight": [1, None, 1]}, "sample_weight", "None"),
    "too few weights": ({"sample_weight": [1, 1]}, "sample_weight", "2 numbers"),
    "no weights": ({"sample_weight": []}, "sample_weight", "0 numbers"),
    "all weights 0": ({"sample_weight": [0, 0, 0]}, "sample_weight", "0"),
    "negative input_bits": ({"X": [[0, 0]] * 3, "input_bits": -1}, "input_bits", "-1"),
    "fractional input_bits": ({"input_bits": 1.5}, "input_bits", "1.5"),
}


@pytest.mark.parametrize(("changes", "where", "received"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_is_refused(changes, where, received):
    with pytest.raises(DataError) as caught:
        compile_with(**changes)
    assert_says(caught.value, where, received)


def test_the_declared_range_is_that_of_the_network():
    net = nn.paper_network(2, 1, 2, 1, B=1)
    with pytest.raises(DataError) as caught:
        il.compile(net, [[0, 1], [4, 0]], [1, -1])
    assert_says(caught.value, "X[1, 0]", "4", "[-2, 2]", "input_bits")


BAD_CHOICES = {
    "formulation": ({"formulation": "compct"}, "formulation", "'compct'", "mean 'compact'"),
    "paper form": ({"formulation": "Paper"}, "formulation", "'Paper'", "mean 'paper'"),
    "order": ({"order": "squared"}, "order", "'squared'", "mean 'square'"),
    "far order": ({"order": "zzz"}, "order", "'zzz'", "'mixed', 'square', 'product'"),
    "signs": ({"signs": "thresholds"}, "signs", "'thresholds'", "mean 'threshold'"),
    "penalty of 0": ({"penalty": 0}, "penalty", "0", "from 1 to"),
    "negative penalty": ({"penalty": -5}, "penalty", "-5", "from 1 to"),
    "fractional penalty": ({"penalty": 1.5}, "penalty", "1.5", "whole number"),
    "product_weight": ({"product_weight": 0}, "product_weight", "0", "from 1 to"),
}


@pytest.mark.parametrize(
    ("changes", "where", "received", "help_"), BAD_CHOICES.values(), ids=BAD_CHOICES
)
def test_unknown_choices_name_the_nearest(changes, where, received, help_):
    with pytest.raises(OptionError) as caught:
        compile_with(**changes)
    assert_says(caught.value, where, received, help_)


BAD_NETWORKS = {
    "no outputs": (lambda: nn.Linear(2, 0), "Linear(out_features)", "0"),
    "no inputs": (lambda: nn.Linear(0, 2), "Linear(in_features)", "0"),
    "half a unit": (lambda: nn.Linear(2, 1.5), "Linear(out_features)", "1.5"),
    "no hidden units": (lambda: nn.paper_network(2, 0, 2), "Linear(out_features)", "0"),
    "no layers": (lambda: nn.paper_network(2, 2, 0), "paper_network(L)", "0"),
    "no modules": (nn.Sequential, "Sequential", "none"),
    "misfit": (lambda: nn.Sequential(nn.Linear(2, 3), nn.Linear(2, 1)), "Sequential", "gives 3"),
    "misfit behind a sign": (
        lambda: nn.Sequential(nn.Linear(2, 3), nn.Sign(), nn.Linear(4, 1)),
        "Sequential",
        "gives 3",
    ),
}


@pytest.mark.parametrize(("build", "where", "received"), BAD_NETWORKS.values(), ids=BAD_NETWORKS)
def test_impossible_networks_are_refused(build, where, received):
    with pytest.raises(NetworkError) as caught:
        build()
    assert_says(caught.value, where, received)


BAD_SOLVERS = {
    "name": ("brut", {}, "solver", "'brut'", "mean 'brute'"),
    "option": ("dwave-sa", {"num_read": 5}, "solve(", "num_read", "mean 'num_reads'"),
    "option of another": ("brute", {"num_reads": 5}, "solve(", "num_reads", "max_values"),
}


@pytest.mark.parametrize(
    ("solver", "options", "where", "received", "help_"), BAD_SOLVERS.values(), ids=BAD_SOLVERS
)
def test_unknown_solvers_and_options_name_the_nearest(solver, options, where, received, help_):
    with pytest.raises(OptionError) as caught:
        il.solve(compile_with(), solver, **options)
    assert_says(caught.value, where, received, help_)


@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_a_compile_that_needs_too_much_memory_is_refused_before_it_starts(monkeypatch, formulation):
    def lower(*args, **kwargs):
        raise AssertionError("lowering has started")

    monkeypatch.setattr(pipeline, "to_qcbo", lower)
    monkeypatch.setattr("isinglearn.lowering.memory.available_memory", lambda: 2**20)
    wide, inputs = nn.paper_network(4, 20, 3, 1, 3), [[i, 1, 2, 3] for i in range(9)]
    with pytest.raises(MemoryRefused) as caught:
        il.compile(wide, inputs, [1] * 9, formulation=formulation)
    assert_says(caught.value, "compile", "9 samples", "0.0 GiB")


def test_without_a_word_on_memory_nothing_is_refused(monkeypatch):
    monkeypatch.setattr("isinglearn.lowering.memory.available_memory", lambda: None)
    assert compile_with().qubo.num_variables > 0


# -- overflow --------------------------------------------------------------------------------------


@pytest.fixture
def limited_memory() -> Iterator[None]:
    """Keep a missing check from taking the machine's memory."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30, hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


small_biases = nn.Sequential(nn.Linear(2, 1, bias=nn.Int(0, 3)), nn.Sign(), nn.Linear(1, 1))
large = [[2**40, 0], [0, 1], [1, 0]]

TOO_LARGE = {
    "inputs near the limit": {"X": [[2**60, 0], [0, 1], [1, 0]]},
    "inputs, paper form": {"X": large, "formulation": "paper"},
    "inputs, small biases": {"X": large, "net": small_biases, "signs": "slack"},
    "inputs, small biases, paper form": {"X": large, "net": small_biases, "formulation": "paper"},
    "sums of inputs": {
        "X": [[2**61] * 4, [0] * 4, [1] * 4],
        "net": nn.Sequential(nn.Linear(4, 1, bias=nn.Int(0, 3)), nn.Sign(), nn.Linear(1, 1)),
    },
    "inputs beyond 64 bits": {"X": [[1e300, 0], [0, 1], [1, 0]]},
    "label grid": {"label_scale": 2**40},
    "label grid, paper form": {"label_scale": 2**40, "formulation": "paper"},
    "label grid, just so": {"label_scale": 2**30},
    "label grid beyond 64 bits": {"label_scale": 10**30},
    "label grid beyond floats": {"label_scale": 10**400},
    "weights": {"sample_weight": [1e-19, 1, 1]},
    "weights beyond floats": {"sample_weight": [1e-300, 1e300, 1]},
    "penalty": {"penalty": 2**61},
    "penalty beyond 64 bits": {"penalty": 2**80},
}


@pytest.mark.usefixtures("limited_memory")
@pytest.mark.parametrize("changes", TOO_LARGE.values(), ids=TOO_LARGE)
def test_coefficients_beyond_64_bits_are_refused(changes):
    with pytest.raises((OverflowRefused, MemoryRefused, DataError, OptionError)) as caught:
        _ = compile_with(**changes).qubo.polynomial
    error = caught.value
    for part in (error.where, error.rule, error.remedy, str(error.received)):
        assert part
        assert part in str(error)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1])
def test_large_integers_are_kept_or_refused_but_never_rounded(number):
    with suppress(OverflowRefused, DataError):
        assert Dataset.of([[number]], [1]).X.tolist() == [[number]]


# -- exact weights and labels ----------------------------------------------------------------------


def loss_by_hand(run: il.Run, X, y, weights) -> Fraction:
    """Weighted mean squared error in fractions, from a forward pass in plain Python."""
    p = {name: value.tolist() for name, value in run.best.parameters.items()}
    hidden = len(p["layer1.bias"])
    total = Fraction(0)
    for row, label, weight in zip(X, y, weights, strict=True):
        sums = [
            sum(w * x for w, x in zip(unit, row, strict=True)) + bias
            for unit, bias in zip(p["layer1.weight"], p["layer1.bias"], strict=True)
        ]
        signs = [1 if s >= 0 else -1 for s in sums]
        output = sum(v * a for v, a in zip(p["layer2.weight"][0], signs, strict=True))
        output += p["layer2.bias"][0]
        total += Fraction(weight) * (Fraction(output, hidden) - Fraction(label)) ** 2
    return total / sum(map(Fraction, weights))


def least_energy(problem: il.Problem) -> Fraction:
    qubo = problem.qubo
    assert qubo.num_variables <= 18
    bits = np.array(list(product((0, 1), repeat=qubo.num_variables)))
    return Fraction(int(qubo.energy(bits).min()), qubo.scale)


WEIGHTS = {
    "floats": [0.1, 0.2, 0.7],
    "fractions": [Fraction(1, 10), Fraction(1, 3), Fraction(1, 7)],
    "decimals": ["0.1", "0.2", "0.7"],
    "integers": np.array([3, 0, 5]),
    "small floats": np.array([0.5, 0.25, 2.0], dtype=np.float32),
    "numpy scalars": [np.float32(0.5), np.float64(0.25), np.int64(2)],
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_sample_weights_enter_the_loss_exactly(weights):
    # Three labels that one unit cannot fit, so that the weights matter.
    points, labels = [[-2], [0], [1]], [1, -1, 1]
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
    problem = il.compile(net, points, labels, sample_weight=weights)
    run = il.solve(problem, "brute")
    as_fractions = [
        Fraction(w) if isinstance(w, str | Fraction) else Fraction(repr(float(w))) for w in weights
    ]
    assert run.best.loss == loss_by_hand(run, points, labels, as_fractions)
    assert run.verdict.loss_from_forward == run.best.loss
    assert least_energy(problem) == run.best.loss


def test_weights_are_a_ratio():
    assert Dataset.of(X, Y, sample_weight=[0.5, 1.5, 0.25]).weights.tolist() == [2, 6, 1]
    assert Dataset.of(X, Y, sample_weight=[10, 20, 30]).weights.tolist() == [1, 2, 3]
    assert Dataset.of(X, Y).weights.tolist() == [1, 1, 1]


def test_a_weight_counts_like_repetition():
    repeated = [X[i] for i in (0, 0, 0, 1, 2)], [Y[i] for i in (0, 0, 0, 1, 2)]
    once = il.solve(compile_with(sample_weight=[3, 1, 1]), "brute")
    often = il.solve(il.compile(network(), *repeated), "brute")
    assert once.best.loss == often.best.loss
    assert np.array_equal(once.result.vectors, often.result.vectors)


@examples
@given(st.integers(1, 200), st.data())
def test_labels_on_the_grid_are_read_exactly(scale, data):
    numerators = data.draw(st.lists(st.integers(-scale, scale), min_size=1, max_size=5))
    labels = [k / scale for k in numerators]
    dataset = Dataset.of([[0]] * len(labels), labels, label_scale=scale)
    assert dataset.y.ravel().tolist() == numerators


def test_a_label_grid_scales_the_loss():
    # One constant output out of -1, 0, 1, 2: the best for the label 1/4 is 0.
    net = nn.Sequential(nn.Linear(1, 1))
    problem = il.compile(net, [[0]], [0.25], label_scale=4)
    assert il.solve(problem, "brute").best.loss == Fraction(1, 16)
    assert least_energy(problem) == Fraction(1, 16)


# -- equal inputs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("signs", ["slack", "threshold"])
def test_duplicated_data_needs_no_more_spins(signs, box):
    once = compile_with(signs=signs, box=box)
    twice = compile_with(X=[*X, *X], y=[*Y, *Y], signs=signs, box=box)
    assert twice.qubo.num_variables == once.qubo.num_variables
    assert il.solve(twice, "brute").best.loss == il.solve(once, "brute").best.loss


def test_equal_inputs_with_different_labels_share_their_variables():
    once = il.compile(network(), X, Y)
    conflict = il.compile(network(), [*X, X[0]], [*Y, -Y[0]])
    assert list(conflict.qubo.variables) == list(once.qubo.variables)
    run = il.solve(conflict, "brute")
    assert run.best.loss == loss_by_hand(run, [*X, X[0]], [*Y, -Y[0]], [1] * 4)


def test_the_paper_form_shares_nothing():
    once = compile_with(formulation="paper")
    twice = compile_with(X=[*X, *X], y=[*Y, *Y], formulation="paper")
    assert twice.qcbo.num_bits > once.qcbo.num_bits
    assert il.solve(twice, "brute").best.loss == il.solve(once, "brute").best.loss


def test_merging_adds_weights_in_order_of_first_appearance():
    data = Dataset.of([[2], [1], [2], [2]], [1, 1, 1, -1], sample_weight=[1, 2, 4, 8]).merged()
    assert data.X.tolist() == [[2], [1], [2]]
    assert data.y.tolist() == [[1], [1], [-1]]
    assert data.weights.tolist() == [5, 2, 8]


def test_merging_adds_large_weights_exactly():
    data = Dataset.of([[0], [0], [1]], [1, 1, 1], sample_weight=[2**53, 1, 1])
    assert data.merged().weights.tolist() == [2**53 + 1, 1]


@pytest.mark.parametrize(
    ("largest", "bits"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (16, 4), (17, 5)]
)
def test_input_bits_is_the_smallest_that_holds_the_data(largest, bits):
    assert Dataset.of([[-largest]], [1]).input_bits == bits


# -- quantise --------------------------------------------------------------------------------------

reals = st.floats(-1e6, 1e6)


@examples
@given(st.lists(reals, min_size=2, max_size=8), st.integers(0, 6))
def test_quantised_columns_fill_the_range_in_order(values, bits):
    column = quantise([[v] for v in values], bits).ravel().tolist()
    assert all(-(2**bits) <= q <= 2**bits for q in column)
    assert [q for _, q in sorted(zip(values, column, strict=True))] == sorted(column)
    if min(values) < max(values):
        assert column[int(np.argmin(values))] == -(2**bits)
        assert column[int(np.argmax(values))] == 2**bits


def test_quantise_works_column_by_column_and_rounds():
    result = quantise([[0.0, -5.0], [1.0, 5.0], [0.3, 0.1]], 2)
    assert result.dtype == np.int64
    assert result.tolist() == [[-4, -4], [4, 4], [-2, 0]]


def test_quantise_uses_a_given_range_and_clips():
    result = quantise([[-1.0], [0.5], [9.0]], 1, low=[0.0], high=[1.0])
    assert result.ravel().tolist() == [-2, 0, 2]


def test_a_constant_column_stays_constant():
    column = quantise([[7.0], [7.0]], 3).ravel()
    assert column[0] == column[1]
    assert abs(column[0]) <= 8


BAD_QUANTISE = {
    "NaN": ({"X": [[1.0], [NAN]], "input_bits": 2}, "X[1, 0]", "nan"),
    "one-dimensional": ({"X": [1.0, 2.0], "input_bits": 2}, "X", "(2,)"),
    "negative bits": ({"X": [[1.0]], "input_bits": -1}, "input_bits", "-1"),
    "fractional bits": ({"X": [[1.0]], "input_bits": 1.5}, "input_bits", "1.5"),
    "too many bits": ({"X": [[1.0]], "input_bits": 31}, "input_bits", "31"),
    "low of another width": ({"X": [[1.0]], "input_bits": 2, "low": [0, 0]}, "low", "[0, 0]"),
    "low is NaN": ({"X": [[1.0]], "input_bits": 2, "low": [NAN]}, "low", "nan"),
    "low above high": ({"X": [[1.0]], "input_bits": 2, "low": [3], "high": [0]}, "low", "3"),
}


@pytest.mark.parametrize(
    ("arguments", "where", "received"), BAD_QUANTISE.values(), ids=BAD_QUANTISE
)
def test_quantise_refuses(arguments, where, received):
    with pytest.raises(DataError) as caught:
        quantise(**arguments)
    assert_says(caught.value, where, received)
