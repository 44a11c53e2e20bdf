"""Layered brute force against a plain loop over all parameters in fractions."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError, OverflowRefused, SolverError
from isinglearn.solvers.base import Status

MOST = 600  # networks of a drawn example; the plain loop is slow


def outputs(problem: il.Problem, vector: tuple[int, ...], row: list[int]) -> list[Fraction]:
    """A forward pass of one sample, entry by entry, from the parameters' real values."""
    parameters = problem.parameters(vector)
    values = [Fraction(x) for x in row]
    for origin, module in problem.network:
        if isinstance(module, nn.Sign):
            values = [Fraction(1 if value >= 0 else -1) for value in values]
            continue
        named = {spec.name: spec for spec in module.parameters}
        weight = parameters[f"{origin}.weight"].tolist()
        below = named["weight"].domain.denominator
        sums = [
            sum(Fraction(w, below) * a for w, a in zip(unit, values, strict=True))
            for unit in weight
        ]
        if "bias" in named:
            below = named["bias"].domain.denominator
            bias = parameters[f"{origin}.bias"].tolist()
            sums = [s + Fraction(b, below) for s, b in zip(sums, bias, strict=True)]
        values = sums
    return values


def naive(problem: il.Problem, X, y, weights, box=None) -> tuple[Fraction, set[tuple[int, ...]]]:
    """Best loss and all networks that have it; ``box`` confines the outputs."""
    best, found = None, set()
    for vector in product(*problem.free_domains):
        results = [outputs(problem, vector, row) for row in X]
        if box and not all(box[0] <= value <= box[1] for row in results for value in row):
            continue
        total = Fraction(0)
        for result, label, weight in zip(results, y, weights, strict=True):
            total += weight * sum((a - b) ** 2 for a, b in zip(result, label, strict=True))
        loss = total / sum(weights)
        if best is None or loss < best:
            best, found = loss, set()
        if loss == best:
            found.add(vector)
    assert best is not None
    return best, found


domains = st.sampled_from([nn.Spin(), nn.Int(-1, 1), nn.Int(0, 2), nn.Fixed(-1, 2, 2)])


@st.composite
def networks(draw: st.DrawFn) -> nn.Sequential:
    widths = draw(st.lists(st.integers(1, 2), min_size=2, max_size=3))
    modules: list[nn.Module] = []
    for before, after in pairwise(widths):
        layer = nn.Linear(
            before, after, weight=draw(domains), bias=draw(domains), use_bias=draw(st.booleans())
        )
        if draw(st.integers(0, 3)) == 0:
            frozen = [[draw(st.sampled_from([1, np.nan]))] * before] * after
            layer = layer.freeze(weight=frozen)
        modules += [layer, nn.Sign()]
    last_sign = draw(st.booleans())
    return nn.Sequential(*(modules if last_sign else modules[:-1]))


@settings(deadline=None, max_examples=20)
@given(networks(), st.data())
def test_brute_force_is_the_plain_loop(net, data):
    assume(any(spec.free.any() for spec in net.resolved(1).parameters.values()))
    samples = data.draw(st.integers(1, 3))
    X = [[data.draw(st.integers(-2, 2)) for _ in range(net.in_features)] for _ in range(samples)]
    y = [[data.draw(st.integers(-1, 1)) for _ in range(net.out_features)] for _ in range(samples)]
    weights = [data.draw(st.integers(1, 3)) for _ in range(samples)]
    problem = il.compile(net, X, y, sample_weight=weights)
    count = np.prod([len(domain) for domain in problem.free_domains])
    if count > MOST:
        return
    run = il.solve(problem, "brute")
    loss, found = naive(problem, X, y, weights)
    assert run.status is Status.OPTIMAL
    assert run.best.loss == loss
    assert {tuple(vector) for vector in run.result.vectors.tolist()} == found
    assert len(run.result.vectors) == len(found)


@pytest.mark.parametrize("options", [{"box": True}, {"formulation": "paper"}], ids=str)
def test_outputs_stay_in_the_box_of_the_paper(options):
    # With one hidden unit y has 3 bits in steps of a half from -1: up to 2.5.
    X, y = [[0], [1], [-1]], [[-1], [1], [-1]]
    problem = il.compile(nn.paper_network(1, 1, 2, 1, 0), X, y, **options)
    run = il.solve(problem, "brute")
    loss, found = naive(problem, X, y, [1, 1, 1], box=(Fraction(-1), Fraction(5, 2)))
    assert run.best.loss == loss
    assert {tuple(vector) for vector in run.result.vectors.tolist()} <= found


def problem_of_many() -> il.Problem:
    # All labels are +1: many networks are constant and optimal.
    return il.compile(nn.paper_network(1, 2, 2, 1, 0), [[0], [1]], [1, 1])


def test_the_list_of_networks_is_cut_where_asked():
    every = il.solve(problem_of_many(), "brute")
    assert len(every.result.vectors) > 5
    some = il.solve(problem_of_many(), "brute", max_networks=5)
    assert some.status is Status.OPTIMAL
    assert np.array_equal(some.result.vectors, every.result.vectors[:5])


def test_a_list_of_no_networks_is_not_called_infeasible():
    with suppress(OptionError):
        run = il.solve(problem_of_many(), "brute", max_networks=0)
        assert run.status is not Status.INFEASIBLE


@pytest.mark.parametrize(
    "options", [{"label_scale": 2**30}, {"sample_weight": [2**60, 1]}], ids=["labels", "weights"]
)
def test_losses_beyond_64_bits_are_refused_or_exact(options):
    # The scale of the loss fits, the loss of a bad network does not: wrapped, it would look best.
    with suppress(OverflowRefused):
        problem = il.compile(nn.paper_network(1, 1, 2, 1, 0), [[0], [1]], [1, -1], **options)
        run = il.solve(problem, "brute")
        assert run.best.loss == run.verdict.loss_from_forward == 0


def test_too_many_values_are_refused():
    with pytest.raises(SolverError, match=r"brute.*and 10 values.*Received.*max_values"):
        il.solve(problem_of_many(), "brute", max_values=10)


def test_too_many_settings_are_refused():
    problem = il.compile(nn.paper_network(40, 1, 2, 1, 0), [[1] * 40, [0] * 40], [1, -1])
    with pytest.raises(SolverError, match="too many parameter settings"):
        il.solve(problem, "brute")


def test_the_size_is_checked_before_anything_is_listed(monkeypatch):
    # 2^26 settings of 26 weights would be 14 GB.
    def list_all(*args, **kwargs):
        raise AssertionError("the settings were listed first")

    net = nn.Sequential(nn.Linear(26, 1, weight=nn.Spin(), use_bias=False), nn.Sign())
    problem = il.compile(net, [[1] * 26, [0] * 26], [1, -1])
    monkeypatch.setattr(np, "meshgrid", list_all)
    with pytest.raises(SolverError, match="too many parameter settings"):
        il.solve(problem, "brute", max_values=1000)
