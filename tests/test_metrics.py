"""Measurements: intervals that cover, times as in the paper, counts that enumeration confirms."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.decode import accuracy, decode_vectors
from isinglearn.errors import DataError, OptionError, SolverError
from isinglearn.metrics import (
    Proportion,
    confusion,
    loss_histogram,
    measure,
    rounding_effect,
    successes,
    time_to_solution,
)
from isinglearn.paper.instances import MNIST
from isinglearn.verify import forward_loss

NET = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))


def tiny(X=((0,), (1,), (2,)), y=(1, -1, 1), **options) -> il.Problem:
    return il.compile(NET, X, y, **options)


def all_bits(count):
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


@pytest.fixture(scope="module")
def problem() -> il.Problem:
    return tiny()


@pytest.fixture(scope="module")
def optimum(problem) -> Fraction:
    return il.solve(problem, "brute").best.loss


@pytest.fixture(scope="module")
def run(problem) -> il.Run:
    return il.solve(problem, "annealer", num_reads=40, num_sweeps=5, moves="single", threads=1)


# -- probabilities ---------------------------------------------------------------------------------


def chances(reads, probability):
    """Of 0, 1, ... successes in all."""
    return [
        math.comb(reads, k) * probability**k * (1 - probability) ** (reads - k)
        for k in range(reads + 1)
    ]


@given(st.integers(1, 60), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
@settings(max_examples=100, deadline=None)
def test_at_the_ends_of_an_interval_the_counts_are_just_a_surprise(reads, data, confidence):
    hits = data.draw(st.integers(0, reads))
    proportion = Proportion(hits, reads, confidence)
    low, high = proportion.interval
    assert 0 <= low <= proportion.estimate <= high <= 1
    tail = (1 - confidence) / 2
    assert low == 0 if hits == 0 else sum(chances(reads, low)[hits:]) == pytest.approx(tail)
    assert (
        high == 1 if hits == reads else sum(chances(reads, high)[: hits + 1]) == pytest.approx(tail)
    )


@pytest.mark.parametrize("reads", [1, 7, 30])
def test_intervals_cover_the_truth_as_often_as_they_say(reads):
    intervals = [Proportion(k, reads, 0.9).interval for k in range(reads + 1)]
    for probability in np.linspace(0.005, 0.995, 199):
        covered = sum(
            chance
            for chance, (low, high) in zip(chances(reads, probability), intervals, strict=True)
            if low <= probability <= high
        )
        assert covered >= 0.9


@pytest.mark.parametrize(
    ("values", "where"),
    [((3, 2), "successes"), ((0, 0), "reads"), ((1, 2, 1.0), "confidence"), ((1, 2, 95), "confid")],
)
def test_counts_and_confidences_that_cannot_be_are_refused(values, where):
    with pytest.raises(OptionError, match=where):
        Proportion(*values)


# -- counts ----------------------------------------------------------------------------------------


def slow_losses(problem, bits):
    """True losses read by read, in fractions, from the parameters' real values."""
    vectors = decode_vectors(problem, problem.qubo, bits)
    return [forward_loss(problem, problem.parameters(vector)) for vector in vectors]


def test_every_assignment_is_judged_as_its_network_and_as_its_energy(problem, optimum):
    bits = all_bits(problem.qubo.num_variables)[::7]
    losses = slow_losses(problem, bits)
    counted = successes(problem, bits, optimum)
    assert counted.repaired.reads == len(bits)
    assert counted.repaired.successes == losses.count(optimum)
    energies = problem.qubo.energy(bits)
    assert counted.raw.successes == sum(energies == optimum * problem.qubo.scale)
    # Repair helps many a read, and harms none.
    assert 0 < counted.raw.successes < counted.repaired.successes < len(bits)
    assert loss_histogram(problem, bits) == Counter(losses)
    assert list(loss_histogram(problem, bits)) == sorted(set(losses))


def test_a_run_is_counted_row_by_row(problem, optimum, run):
    counted = successes(problem, run, optimum, reads=40)
    assert counted == successes(problem, run.result, optimum, reads=40)
    assert counted == successes(problem, run.result.bits, optimum)
    losses = slow_losses(problem, run.result.bits)
    assert counted.repaired.successes == losses.count(optimum) > 0
    assert sum(loss_histogram(problem, run).values()) == 40
    plain = json.loads(json.dumps(counted.to_dict(), allow_nan=False))
    assert plain["repaired"]["successes"] == counted.repaired.successes
    assert plain["raw"]["reads"] == 40


def test_a_solver_without_bits_has_no_raw_success(problem, optimum):
    exact = il.solve(problem, "brute")
    rows = len(exact.result.vectors)
    counted = successes(problem, exact, optimum, reads=rows)
    assert counted.raw is None
    assert counted.repaired.estimate == 1


def test_rows_that_were_dropped_are_not_guessed(problem, optimum, run):
    some = {name: getattr(run.result, name)[:30] for name in ("vectors", "bits", "energies")}
    fewer = replace(run.result, **some)
    with pytest.raises(SolverError, match="30 rows for 40 reads"):
        successes(problem, fewer, optimum, reads=40)
    with pytest.raises(OptionError, match="how many reads"):
        successes(problem, fewer, optimum)


def test_polished_rows_are_no_reads(problem, optimum, run):
    with pytest.raises(SolverError, match="polish"):
        successes(problem, run.polished(3), optimum, reads=40)


def test_reads_that_found_nothing_can_count_as_failures(problem, optimum, run):
    whole = successes(problem, run, optimum, reads=40)
    more = successes(problem, run, optimum, reads=50, dropped_fail=True)
    assert more.repaired.successes == whole.repaired.successes
    assert more.repaired.reads == 50
    nothing = replace(run.result, vectors=run.result.vectors[:0], bits=None, energies=None)
    assert successes(problem, nothing, optimum, reads=9, dropped_fail=True).repaired.estimate == 0
    with pytest.raises(SolverError, match="rows are not the reads"):
        successes(problem, run, optimum, reads=39, dropped_fail=True)


def test_an_optimum_that_is_none_is_noticed(problem, optimum, run):
    with pytest.raises(SolverError, match="better than the optimum"):
        successes(problem, run, optimum + Fraction(1, problem.qcbo.scale), reads=40)
    with pytest.raises(OptionError, match="no network of this problem has this loss"):
        successes(problem, run, optimum + Fraction(1, 1000), reads=40)
    with pytest.raises(SolverError, match="no energy below"):
        successes(problem, run, optimum, reads=40, ground_energy=10**6)


def test_weights_by_hand_say_nothing_of_the_least_energy(optimum):
    problem = tiny(penalty=1, product_weight=1)
    bits = all_bits(problem.qubo.num_variables)
    assert successes(problem, bits, optimum).raw is None
    energies = problem.qubo.energy(bits)
    least = int(energies.min())
    assert least < optimum * problem.qubo.scale
    counted = successes(problem, bits, optimum, ground_energy=least)
    assert counted.raw.successes == sum(energies == least)


def test_networks_outside_the_box_never_count():
    problem = tiny([[0], [2]], [1, -1], box=True)
    bits = all_bits(problem.qubo.num_variables)
    scores = problem.scores(decode_vectors(problem, problem.qubo, bits))
    inside = scores < np.iinfo(np.int64).max
    assert 0 < inside.sum() < len(bits)
    assert sum(loss_histogram(problem, bits).values()) == inside.sum()
    best = il.solve(problem, "brute").best.loss
    counted = successes(problem, bits, best)
    assert counted.repaired.successes == sum(scores[inside] == best * problem.qcbo.scale)


@pytest.mark.parametrize("bits", [[[0, 1]], np.full((1, tiny().qubo.num_variables), 2)])
def test_only_bits_of_the_qubo_are_read(problem, optimum, bits):
    with pytest.raises(SolverError, match="no bits of this form"):
        successes(problem, bits, optimum)


# -- times -----------------------------------------------------------------------------------------


def test_the_papers_time_to_solution():
    # 700 ms per read at 72 % success: 2.53 s.
    assert round(time_to_solution(0.7, 0.72), 2) == 2.53


@given(st.floats(1e-6, 1e3), st.floats(1e-9, 0.98), st.floats(0.981, 0.9999))
@settings(deadline=None)
def test_so_much_time_gives_the_wanted_probability(seconds, probability, target):
    repeats = time_to_solution(seconds, probability, target) / seconds
    assert repeats > 1
    assert -math.expm1(repeats * math.log1p(-probability)) == pytest.approx(target)
    assert time_to_solution(seconds, probability * 1.01, target) < seconds * repeats


def test_no_time_is_below_one_read_and_none_suffices_without_success():
    assert time_to_solution(3.0, 1.0) == 3.0
    assert time_to_solution(3.0, 0.999999) == 3.0
    assert time_to_solution(3.0, 0.999999, shortest=5.0) == 5.0
    assert time_to_solution(3.0, 0.0) == math.inf
    with pytest.raises(OptionError, match="target"):
        time_to_solution(1.0, 0.5, target=1.0)
    for wrong in (1.5, -0.1, math.nan, True):
        with pytest.raises(OptionError, match="no probability"):
            time_to_solution(1.0, wrong)


def test_a_measurement_charges_a_read_and_the_clock(problem, optimum, run):
    result = measure(run, optimum, reads=40, threads=2, seconds=8.0)
    counted = successes(problem, run, optimum, reads=40)
    for outcome, success in ((result.repaired, counted.repaired), (result.raw, counted.raw)):
        assert outcome.success == success
        assert outcome.per_read.seconds_per_read == 0.4
        assert outcome.wall_clock.seconds_per_read == 0.2
        low, high = success.interval
        for time, shortest in ((outcome.per_read, 0.4), (outcome.wall_clock, 0.4)):
            each = time.seconds_per_read
            assert time.low <= time.estimate <= time.high
            assert time.low == time_to_solution(each, high, shortest=shortest)
            assert time.high == time_to_solution(each, low, shortest=shortest)
    assert dict(result.losses) == loss_histogram(problem, run)
    assert measure(run, optimum, reads=40, threads=1).seconds == run.seconds
    json.dumps(result.to_dict(), allow_nan=False)


def test_more_threads_than_reads_do_not_make_a_read_longer_than_the_run(optimum, run):
    single = measure(run, optimum, reads=40, threads=64, seconds=8.0).repaired
    assert single.per_read.seconds_per_read == 8.0
    assert single.wall_clock.low >= 8.0


def test_an_infinite_time_is_null_in_json(problem, optimum, run):
    worse = replace(run.result, **rows_without(problem, run.result, optimum))
    count = len(worse.vectors)
    result = measure(replace(run, result=worse), optimum, reads=count, threads=1)
    assert result.repaired.per_read.estimate == math.inf
    assert result.repaired.per_read.low < math.inf
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["repaired"]["per_read"]["estimate"] is None
    assert plain["losses"] == [[str(loss), n] for loss, n in result.losses]


def rows_without(problem, result, loss):
    bad = problem.scores(result.vectors) > loss * problem.qcbo.scale
    assert bad.any()
    return {name: getattr(result, name)[bad] for name in ("vectors", "bits", "energies")}


# -- predictions -----------------------------------------------------------------------------------


def test_predictions_are_counted_by_sign_and_0_is_positive():
    net = nn.Sequential(nn.Linear(1, 1, weight=nn.Int(-1, 1), bias=nn.Int(-1, 1))).resolved(2)
    identity = {"layer1.weight": np.array([[1]]), "layer1.bias": np.array([0])}
    counted = confusion(net, identity, [[-2], [-1], [0], [0], [3]], [-1, 1, -1, 1, 1])
    assert counted.matrices == (((1, 1), (1, 2)),)
    assert counted.accuracy == Fraction(3, 5)
    plain = json.loads(json.dumps(counted.to_dict(), allow_nan=False))
    assert plain == {"matrices": [[[1, 1], [1, 2]]], "right": 3, "samples": 5, "accuracy": 0.6}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_confusion_agrees_with_a_loop_and_with_accuracy(seed):
    random = np.random.default_rng(seed)
    X, y = random.integers(-2, 3, (12, 2)), random.choice([-1, 0, 1], (12, 2))
    problem = il.compile(nn.paper_network(2, 2, 2, 2, 1), X, y)
    vector = [random.choice(list(domain)) for domain in problem.free_domains]
    parameters = problem.parameters(vector)
    counted = confusion(problem.network, parameters, X, y)
    outputs = problem.network.forward(parameters, X)
    for output, matrix in enumerate(counted.matrices):
        slow = [[0, 0], [0, 0]]
        for value, label in zip(outputs[:, output], y[:, output], strict=True):
            slow[int(label >= 0)][int(value >= 0)] += 1
        assert [list(row) for row in matrix] == slow
    assert counted.accuracy == accuracy(problem, parameters)


def test_data_of_another_shape_is_refused(problem):
    parameters = problem.parameters(problem.incumbent[0])
    with pytest.raises(DataError, match="a sample of shape"):
        confusion(problem.network, parameters, [[0, 1]], [1])


# -- rounding --------------------------------------------------------------------------------------


def test_mnist_needs_every_one_of_its_eight_bits():
    problem = il.compile(MNIST.network, MNIST.X, MNIST.y)
    assert problem.summary().resolution_bits == 8
    kept = rounding_effect(problem, 8)
    assert (kept.optimum_kept, kept.loss_after, kept.worst_change) == (True, 0, 0)
    lost = rounding_effect(problem, 7)
    assert (lost.optimum_kept, lost.how) == (False, "exact")
    assert lost.loss_after > lost.optimum == 0
    # Too little time to solve it: only the bound is left.
    open_ = rounding_effect(problem, 7, optimum=Fraction(0), max_seconds=1e-9)
    assert (open_.optimum_kept, open_.how) == (None, "none")
