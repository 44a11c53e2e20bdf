"""Activation patterns against brute force and CP-SAT."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import IsingLearnError, OptionError, ProblemRefused
from isinglearn.paper.instances import TASKS, two_moons
from isinglearn.solvers import patterns
from isinglearn.solvers.base import Status
from isinglearn.solvers.patterns import Patterns
from isinglearn.solvers.unit_patterns import Behaviour, TwoLayers, list_patterns

MOONS = two_moons()


def moons(samples: int = 50, hidden: int = 3, outputs: int = 1, **options) -> il.Problem:
    data = two_moons(samples)
    labels = np.stack([data.y * (-1) ** k for k in range(outputs)], axis=1)
    return il.compile(nn.paper_network(2, hidden, 2, outputs, 4), data.X, labels, **options)


# -- the optimum -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ({}, Fraction(122, 450)),
        ({"box": True}, Fraction(136, 450)),
        ({"formulation": "paper"}, Fraction(136, 450)),
    ],
    ids=["free", "boxed", "paper form"],
)
def test_two_moons_is_proved(options, loss):
    events = []
    run = il.solve(moons(**options), "patterns", on_event=events.append)
    assert run.status is Status.OPTIMAL
    assert run.best.loss == run.bound == loss
    assert run.accuracy == Fraction(49, 50)
    assert run.verdict.consistent
    assert [event.loss for event in events][-1] == loss
    assert "activation patterns" in events[0].message


DOMAINS = [
    nn.Spin(),
    nn.Int(-1, 1),
    nn.Int(0, 2),
    nn.Int(2, 3),
    nn.Int(5, 5),
    nn.Fixed(-1, 2, 2),
    nn.Fixed(-3, 0, 3),
    nn.Fixed(1, 3, 4),
    nn.Fixed(-2, 3, 6),
]


def some_frozen(layer: nn.Linear, rng: np.random.Generator, steps: tuple[int, int]) -> nn.Linear:
    """Freeze some entries to multiples of the domains' steps, inside or outside of the domains."""
    shapes = {"weight": (layer.out_features, layer.in_features), "bias": (layer.out_features,)}
    for (name, shape), denominator in zip(shapes.items(), steps, strict=True):
        if rng.random() < 0.4 and (name == "weight" or layer.use_bias):
            values = rng.integers(-3, 4, shape) / denominator
            layer = layer.freeze(**{name: np.where(rng.random(shape) < 0.6, np.nan, values)})
    return layer


def random_problem(rng: np.random.Generator) -> il.Problem | None:
    """A small two-layer problem of any kind; ``None`` where its parts do not fit."""
    features, hidden, outputs = rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 3)
    samples, label_scale = rng.integers(1, 8), int(rng.choice([1, 1, 2, 3]))
    choices: list[dict] = [{}, {"formulation": "paper"}]
    if rng.random() < 0.5:
        layers = [nn.Linear(features, hidden), nn.Linear(hidden, outputs)]
        steps = [(1, 1), (int(hidden), int(hidden))]
        choices.append({"box": True})
    else:
        own = [DOMAINS[i] for i in rng.integers(len(DOMAINS), size=4)]
        bias = rng.random(2) < 0.8
        layers = [
            nn.Linear(features, hidden, weight=own[0], bias=own[1], use_bias=bool(bias[0])),
            nn.Linear(hidden, outputs, weight=own[2], bias=own[3], use_bias=bool(bias[1])),
        ]
        steps = [(a.denominator, b.denominator) for a, b in (own[:2], own[2:])]
    first, last = (some_frozen(*pair[:1], rng, pair[1]) for pair in zip(layers, steps, strict=True))
    X = rng.integers(-3, 4, (samples, features))
    y = rng.integers(-label_scale, label_scale + 1, (samples, outputs)) / label_scale
    weights = rng.choice([0, 1, 1, 2, 0.5], samples) if rng.random() < 0.5 else None
    options = choices[rng.integers(len(choices))]
    try:
        problem = il.compile(
            nn.Sequential(first, nn.Sign(), last),
            X,
            y,
            sample_weight=weights,
            label_scale=label_scale,
            **options,
        )
        _ = problem.qcbo
    except IsingLearnError:
        return None
    return problem


def test_it_agrees_with_brute_force_on_networks_of_all_kinds():
    rng = np.random.default_rng(2024)
    solved = 0
    while solved < 150:
        problem = random_problem(rng)
        if problem is None or np.prod([float(len(d)) for d in problem.free_domains]) > 50_000:
            continue
        every, run = il.solve(problem, "brute"), il.solve(problem, "patterns")
        assert run.status is every.status
        assert run.bound == every.bound
        if len(every.result.vectors) < 10_000:
            found = run.result.vectors.tolist()
            assert all(vector in every.result.vectors.tolist() for vector in found)
        solved += 1


@pytest.mark.parametrize("box", [False, True], ids=["free", "boxed"])
@pytest.mark.parametrize(
    ("samples", "hidden"), [(10, 1), (10, 2), (10, 3), (20, 1), (20, 2), (20, 3), (30, 1), (30, 2)]
)
def test_it_agrees_with_cpsat_on_moons(samples, hidden, box):
    problem = moons(samples, hidden, box=box)
    run, other = il.solve(problem, "patterns"), il.solve(problem, "cpsat", time_limit=30)
    assert run.status is other.status is Status.OPTIMAL
    assert run.best.loss == other.best.loss == run.bound


def test_several_outputs_share_the_hidden_units():
    # The second output is the first one turned over, which the paper's asymmetric weights allow here.
    one, two = il.solve(moons(20, 2), "patterns"), il.solve(moons(20, 2, 2), "patterns")
    assert two.status is Status.OPTIMAL
    assert two.best.loss == 2 * one.best.loss


def test_wide_domains_are_not_listed():
    net = nn.Sequential(
        nn.Linear(2, 2, bias=nn.Int(-(2**40), 2**40)),
        nn.Sign(),
        nn.Linear(2, 1, weight=nn.Fixed(-500, 500, 500), bias=nn.Fixed(-500, 500, 500)),
    )
    fine = il.solve(il.compile(net, MOONS.X, MOONS.y), "patterns")
    coarse = il.solve(moons(50, 2), "patterns")
    assert fine.status is Status.OPTIMAL
    assert fine.best.loss < coarse.best.loss
    assert fine.verdict.consistent


def test_large_weights_stay_exact():
    # Sums of weights beyond 2^53: doubles alone would not tell these losses apart.
    X, y = [[0], [1], [2]], [1, -1, 1]
    net = nn.paper_network(1, 1, 2, 1, 1)
    problem = il.compile(net, X, y, sample_weight=[2**52 + 1, 2**52, 2**52 - 1])
    run, every = il.solve(problem, "patterns"), il.solve(problem, "brute")
    assert run.status is every.status is Status.OPTIMAL
    assert run.best.loss == every.best.loss


def test_samples_of_weight_zero_count_where_predictions_are_confined():
    X, y = [[0], [1], [2]], [1, -1, 1]
    net = nn.paper_network(1, 1, 2, 1, 1).freeze({"layer1.weight": 1})
    for weights in ([1, 0, 1], [0, 1, 1]):
        for options in ({}, {"box": True}, {"formulation": "paper"}):
            problem = il.compile(net, X, y, sample_weight=weights, **options)
            run, every = il.solve(problem, "patterns"), il.solve(problem, "brute")
            assert (run.status, run.bound) == (every.status, every.bound)


# -- patterns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "bias", "factors"),
    [
        ((range(-1, 2, 2), range(-1, 2, 2)), range(-7, 8), (1, 1)),
        ((range(-2, 3), range(1, 2)), range(-6, 7, 2), (1, 1)),
        ((range(-2, 3), range(-1, 2)), range(-3, 4), (1, 2)),
        ((range(3), range(-1, 1)), range(-5, 6), (3, 2)),
        ((range(-1, 2), range(-1, 2)), range(4, 5), (1, 1)),
    ],
    ids=["spins", "every other bias", "coarse bias", "both scaled", "one bias"],
)
def test_patterns_are_those_of_all_settings(monkeypatch, weights, bias, factors):
    rng = np.random.default_rng(5)
    inputs = np.unique(rng.integers(-3, 4, (12, 2)), axis=0)
    # Small parts, so that they have to be merged.
    monkeypatch.setattr("isinglearn.solvers.unit_patterns.HELD", 200)
    found = list_patterns(Behaviour(weights, bias), factors, inputs, 10**6)
    sums = factors[0] * found.weights @ inputs.T + factors[1] * found.biases[:, None]
    assert np.array_equal(found.signs, np.where(sums >= 0, 1, -1))
    every = {
        tuple(np.where(factors[0] * inputs @ [v, w] + factors[1] * b >= 0, 1, -1).tolist())
        for v in weights[0]
        for w in weights[1]
        for b in bias
    }
    assert len(found) == len(every)
    assert set(map(tuple, found.signs.tolist())) == every


def test_units_are_exchanged_only_where_nothing_tells_them_apart():
    net = nn.paper_network(2, 4, 2, 2, 1)
    frozen = np.full((2, 4), np.nan)
    frozen[1, 3] = 0
    problem = il.compile(net.freeze({"layer2.weight": frozen}), [[0, 1], [1, 0]], [[1, 1], [0, 0]])
    network = TwoLayers.of(problem)
    assert len(set(network.units)) == 2
    counts = dict.fromkeys(network.behaviours, 5)
    # 35 multisets of three, times 5.
    assert network.choices(counts) == 35 * 5


# -- limits ----------------------------------------------------------------------------------------


def deep(*modules: nn.Module) -> il.Problem:
    return il.compile(nn.Sequential(*modules), [[0], [1]], [1, -1])


REFUSED = {
    "one layer": lambda: deep(nn.Linear(1, 1)),
    "three layers": lambda: deep(
        nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1)
    ),
    "a sign at the end": lambda: deep(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1), nn.Sign()),
    "no sign": lambda: deep(nn.Linear(1, 1), nn.Linear(1, 1)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_networks_are_refused(case):
    problem = REFUSED[case]()
    with pytest.raises(ProblemRefused, match=r"no rule for such a network.*nn.Sign.*Remedy"):
        il.solve(problem, "patterns")
    assert Patterns.forecast(problem) is None


def test_other_losses_are_refused():
    class Other(nn.MSE):
        def __repr__(self) -> str:
            return "Other()"

    problem = il.compile(nn.paper_network(1, 1, 2), [[0], [1]], [1, -1], Other())
    with pytest.raises(ProblemRefused, match=r"nn.MSE.*Other\(\)"):
        il.solve(problem, "patterns")
    assert Patterns.forecast(problem) is None


def test_too_many_choices_are_refused():
    with pytest.raises(ProblemRefused, match=r"1000 choices.*62 patterns and 41664 choices.*raise"):
        il.solve(moons(), "patterns", max_choices=1000)


def test_too_many_patterns_are_refused():
    with pytest.raises(ProblemRefused, match=r"at most 50 patterns.*at least 62 patterns"):
        il.solve(moons(), "patterns", max_patterns=50)


def test_too_many_settings_are_refused_before_they_are_listed():
    X = np.random.default_rng(0).integers(-1, 2, (10, 40))
    problem = il.compile(nn.paper_network(40, 1, 2, 1, 0), X, [1, -1] * 5)
    begun = time.perf_counter()
    with pytest.raises(ProblemRefused, match=r"too many settings.*activations.*Remedy"):
        il.solve(problem, "patterns")
    assert Patterns.forecast(problem) is None
    assert time.perf_counter() - begun < 5


@pytest.mark.parametrize("options", [{"max_choices": 0}, {"max_patterns": 1.5}], ids=str)
def test_bad_limits_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        il.solve(moons(10, 1), "patterns", **options)


def test_nothing_in_the_box_is_infeasible():
    frozen = {"layer1.weight": 1, "layer2.weight": 2, "layer2.bias": 2}
    net = nn.paper_network(1, 1, 2).freeze(frozen)
    run = il.solve(il.compile(net, [[1]], [1], box=True), "patterns")
    assert run.status is Status.INFEASIBLE
    assert run.bound is None


# -- stopping --------------------------------------------------------------------------------------


def test_a_deadline_in_the_past_finds_nothing():
    run = il.solve(moons(), "patterns", time_limit=1e-9)
    assert run.status is Status.NONE_FOUND
    assert "stopped while the patterns were listed" in run.note


def test_a_stop_keeps_the_best_so_far(monkeypatch):
    monkeypatch.setattr(patterns, "_CHUNK", 100)
    run = il.solve(moons(), "patterns", on_event=lambda event: event.loss is None)
    assert run.status is Status.FEASIBLE
    assert run.bound == 0
    assert run.best.loss >= Fraction(122, 450)
    assert "of 41664 choices" in run.note


def test_chunks_make_no_difference(monkeypatch):
    whole = il.solve(moons(20), "patterns", seed=3)
    monkeypatch.setattr(patterns, "_CHUNK", 1)
    cut = il.solve(moons(20), "patterns", seed=3)
    assert np.array_equal(whole.result.vectors, cut.result.vectors)


# -- the forecast ----------------------------------------------------------------------------------


def test_the_forecast_is_near_the_truth_and_cheap():
    il.solve(moons(10, 1), "patterns")  # compiled and loaded
    for problem in (moons(50, 4), moons(200, 4), moons(50, 4, 3)):
        _ = problem.qcbo
        begun = time.process_time()
        forecast = Patterns.forecast(problem)
        asked = time.process_time() - begun
        begun = time.process_time()
        assert il.solve(problem, "patterns").status is Status.OPTIMAL
        took = time.process_time() - begun
        assert asked < 0.2
        assert forecast.seconds / 10 < took < 10 * forecast.seconds
        assert "activation patterns" in forecast.why


def test_the_forecast_bounds_what_it_does_not_count(monkeypatch):
    problem = il.compile(TASKS[1].network, TASKS[1].X, TASKS[1].y)
    counted = Patterns.forecast(problem)
    monkeypatch.setattr(patterns, "_COUNTED", 0)
    bounded = Patterns.forecast(problem)
    assert bounded.seconds >= counted.seconds
    assert bounded.bytes >= counted.bytes


def test_auto_takes_it_for_two_moons():
    run = il.solve(moons(), "auto")
    assert run.solver == "patterns"
    assert run.status is Status.OPTIMAL
