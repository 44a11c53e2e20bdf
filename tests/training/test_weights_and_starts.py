"""Sample weights, known networks to start from, and what a training says of itself."""

import signal
import time
from fractions import Fraction
from typing import ClassVar

import dimod
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, NetworkError, OptionError
from isinglearn.training.losses import loss_named
from isinglearn.training.weights import whole, whole_weights

XOR = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1]


def net(hidden=6, outputs=1):
    return nn.Sequential(
        nn.Linear(2, hidden, weight=nn.Int(-3, 3), bias=nn.Int(-32, 32)),
        nn.Sign(),
        nn.Linear(hidden, outputs, weight=nn.Int(-4, 3), bias=nn.Int(-4, 3)),
    )


def noisy(count=120, seed=0):
    """Points whose labels are their first coordinate's sign, one in six turned round."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-8, 9, (count, 2))
    return X, np.where((X[:, 0] >= 0) ^ (rng.random(count) < 1 / 6), 1, -1)


def quick(X, y, **options):
    return il.train(net(), X, y, strategy="decomposed", steps=60, **options)


# -- weights ---------------------------------------------------------------------------------------


def test_blocks_take_weights_as_if_samples_came_several_times():
    X, y = noisy()
    weights = np.random.default_rng(1).integers(1, 4, len(y))
    weighted = quick(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = quick(X[rows], y[rows])
    assert weighted.loss == pytest.approx(repeated.loss, rel=1e-9)
    for name, value in weighted.parameters.items():
        assert np.array_equal(value, repeated.parameters[name])


@pytest.mark.parametrize("strategy", ["direct", "decomposed", "admm", "lagrangian"])
def test_a_sample_of_weight_0_counts_as_not_given(strategy):
    X, y = np.array([*XOR[0], [1, 1]]), np.array([*XOR[1], 1])
    small = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    steps = {} if strategy == "direct" else {"steps": 8}
    options = {"strategy": strategy, "loss": "square", **steps}
    some = il.train(small, X, y, sample_weight=[1, 1, 1, 1, 0], **options)
    none = il.train(small, *XOR, **options)
    assert some.loss == none.loss
    assert all(np.array_equal(v, none.parameters[n]) for n, v in some.parameters.items())


def test_weights_are_held_out_with_their_samples():
    X, y = noisy(60)
    weights = np.random.default_rng(2).integers(1, 9, 60)
    shared = quick(X, y, sample_weight=weights, validation=0.25, seed=3)
    order = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(3,))).permutation(60)
    held, kept = np.sort(order[:15]), np.sort(order[15:])
    apart = quick(
        X[kept], y[kept], sample_weight=weights[kept], validation=(X[held], y[held]), seed=3
    )
    assert shared.loss == apart.loss
    assert np.array_equal(shared.validation_curve, apart.validation_curve)


def test_the_loss_is_by_weight():
    X, y = np.array([[1, 0], [1, 0]]), np.array([1, -1])
    line = nn.Sequential(nn.Linear(2, 1, weight=nn.Int(-1, 1), bias=nn.Int(-1, 1)))
    trained = il.train(line, X, y, sample_weight=[3, 1], strategy="direct", solver="brute")
    assert trained.loss == 1.0  # Output 1: a quarter of the weight is off by 2; output 0 the same.
    assert trained.gap == 0


@pytest.mark.parametrize(
    "weights", [[1, 1], [1, 1, 1, -1], [0, 0, 0, 0], [1, 1, 1, np.nan], ["a", "b", "c", "d"]]
)
def test_weights_that_are_none(weights):
    with pytest.raises(DataError, match="sample_weight"):
        il.train(net(), *XOR, sample_weight=weights)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30), st.floats(1e-6, 1e6))
def test_whole_weights_keep_small_ratios_exactly(numbers, unit):
    found = whole_weights(np.array(numbers) * unit, len(numbers))
    ratios = {Fraction(int(a), b) for a, b in zip(found, numbers, strict=True)}
    assert len(ratios) == 1


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30), st.integers(100, 10_000))
def test_whole_weights_are_near_and_of_bounded_sum(weights, most):
    given_weights = np.array(weights)
    found = whole(given_weights, most)
    assert 0 < found.sum() <= most
    assert (
        np.abs(found / found.sum() - given_weights / given_weights.sum()).max() <= 1 / most + 1e-9
    )


# -- known networks --------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["direct", "decomposed", "admm", "lagrangian"])
def test_no_strategy_returns_a_worse_network_than_the_known_one(strategy):
    X, y = noisy(40)
    small = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    best = il.train(small, X, y, strategy="direct", loss="square")
    hurried = {} if strategy == "direct" else {"steps": 1}
    options = {"strategy": strategy, "loss": "square", "start": best, **hurried}
    if strategy == "direct":
        # Which finds nothing good by itself.
        options["solver"] = dimod.RandomSampler()
    again = il.train(small, X, y, **options)
    assert again.loss <= best.loss + 1e-12


def test_blocks_go_on_from_a_known_network_and_its_scale():
    X, y = noisy()
    first = quick(X, y)
    second = quick(X, y, start=first)
    # What the first step sees is the network that was given.
    assert second.loss_curve[0] == pytest.approx(first.loss, rel=0.05)
    assert second.loss_curve[0] < quick(X, y).loss_curve[0]


def test_a_network_of_another_shape_is_no_start():
    X, y = noisy(20)
    other = il.train(net(3), X, y, strategy="decomposed", steps=2)
    for strategy in ("direct", "decomposed"):
        with pytest.raises(NetworkError):
            il.train(net(2), X, y, strategy=strategy, start=other)


# -- what is known of the result -------------------------------------------------------------------


def test_one_problem_comes_with_its_run_and_proof():
    told = []
    trained = il.train(
        nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1)), *XOR, on_event=told.append
    )
    assert trained.run is not None
    assert trained.bound == trained.gap == 0
    assert "proved optimal" in trained.verdict
    assert told[-1].step == told[-1].total == 1
    assert told[-1].bound == 0


def test_the_solver_s_news_come_while_it_runs():
    X, y = noisy(40)
    told = []
    small = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    il.train(small, X, y, solver="cpsat", strategy="direct", on_event=told.append, time_limit=60)
    during = [event for event in told if event.step == 0]
    assert any(event.bound is not None for event in during)
    assert any(event.loss is not None for event in during)


def test_a_wish_to_stop_reaches_the_solver():
    X, y = noisy(200)
    trained = il.train(
        net(4), X, y, solver="cpsat", strategy="direct", on_event=lambda event: False
    )
    assert not trained.finished
    assert trained.run.status.value == "FEASIBLE"


def test_blocks_prove_nothing_and_say_so():
    trained = quick(*noisy())
    assert trained.run is trained.bound is trained.gap is None
    assert trained.verdict.startswith("nothing is proved")


def test_probabilities_are_those_that_the_loss_saw():
    X, y = noisy()
    trained = quick(X, y)
    shares = trained.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1)
    loss = loss_named("logistic")
    values = loss.values(trained.outputs(X) * trained.odds, loss.targets(y, 1))
    assert float(values.mean()) == pytest.approx(trained.loss, rel=1e-6)
    assert np.array_equal(shares[:, 1] > 0.5, trained.predict(X) == 1)


def test_a_loss_that_does_not_speak_of_probabilities():
    trained = quick(*noisy(), loss="square")
    assert trained.odds is None
    with pytest.raises(NetworkError, match="knows no probabilities"):
        trained.predict_proba([[1, 1]])


def test_ctrl_c_within_a_solver_ends_the_training_too():
    X, y = noisy(200)

    def press(event):
        if event.step == 0 and event.loss is not None:
            signal.raise_signal(signal.SIGINT)

    trained = il.train(net(4), X, y, solver="cpsat", strategy="direct", on_event=press)
    assert not trained.finished
    assert trained.run.status.value == "FEASIBLE"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_known_network_is_judged_by_its_own_scale():
    X, y = noisy()
    best = quick(X, y)
    again = il.train(net(), X, y, strategy="decomposed", steps=3, start=best, first_price=1e-3)
    assert again.loss <= best.loss * (1 + 1e-6)


def test_a_bound_that_everybody_knows_is_no_proof():
    X, y = noisy(40)
    small = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1))
    trained = il.train(small, X, y, solver="annealer", strategy="direct", loss="square")
    assert trained.loss > 0
    assert trained.bound is trained.gap is None
    assert trained.verdict.startswith("nothing is proved")
    found = il.train(
        nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1)),
        *XOR,
        solver="annealer",
        strategy="direct",
    )
    assert found.gap == 0
    assert "no loss is below 0" in found.verdict


@pytest.mark.parametrize("strategy", ["auto", "direct", "decomposed"])
def test_chunks_go_with_every_strategy(strategy):
    X, y = noisy(30)
    small = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1))
    options = {"steps": 5} if strategy == "decomposed" else {}
    parts = il.train(small, [X[:10], X[10:]], y, strategy=strategy, time_limit=20, **options)
    whole = il.train(small, X, y, strategy=strategy, time_limit=20, **options)
    assert parts.loss == whole.loss


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    X, y = noisy()
    quick(X, y, checkpoint=tmp_path / "run.npz")
    for other in ((-X, y), (X, -y)):
        with pytest.raises(NetworkError, match="of another run"):
            quick(*other, checkpoint=tmp_path / "run.npz")


def test_one_problem_goes_on_from_a_checkpoint_and_has_its_proof_again(tmp_path):
    X, y = noisy(60)
    how = {"strategy": "direct", "solver": "cpsat", "checkpoint": tmp_path / "run.npz"}
    stopped = il.train(net(2), X, y, on_event=lambda event: event.loss is None, **how)
    assert not stopped.finished
    again = il.train(net(2), X, y, time_limit=3, **how)
    assert again.run is not None
    assert again.loss <= stopped.loss
    assert len(again.loss_curve) == again.steps == 1


def test_restarts_share_their_time_and_tell_whose_fault_it_is():
    X, y = noisy(400)
    started = time.perf_counter()
    il.train(net(), X, y, strategy="decomposed", steps=10**6, time_limit=1, restarts=12)
    # One second for all of them, not for each.
    assert time.perf_counter() - started < 8

    class Broken(dimod.Sampler):
        parameters: ClassVar = {}
        properties: ClassVar = {}

        def sample(self, bqm, **options):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        il.train(net(), X, y, strategy="decomposed", solver=Broken(), restarts=2)
    for wrong in ({"jobs": 0}, {"restarts": 2, "on_event": print}):
        with pytest.raises(OptionError):
            il.train(net(), X, y, strategy="decomposed", **wrong)


@pytest.mark.parametrize(
    "wrong", [{"validation": [1, 2]}, {"validation": "x"}, {"start": 5}, {"seed": -1}]
)
def test_options_that_are_none(wrong):
    with pytest.raises(OptionError):
        il.train(net(), *noisy(20), **{"validation": 0.2, **wrong})


def test_weights_of_any_size():
    assert whole_weights([1e308, 1e308, 2e307], 3).tolist() == [5, 5, 1]
    assert whole_weights([1e-300, 1e300], 2)[1] > 0


def test_the_best_network_that_a_batch_of_all_saw_is_kept():
    X, y = noisy(80)
    trained = il.train(net(), X, y, strategy="decomposed", steps=150)
    assert trained.loss <= min(trained.loss_curve) * (1 + 1e-5)


def test_one_problem_without_time_is_the_compilers_network():
    X, y = noisy(40)
    late = il.train(net(2), X, y, strategy="direct", loss="square", time_limit=1e-6)
    assert late.run is None
    assert not late.finished
    assert np.isfinite(late.loss)


def test_an_option_of_another_strategy_names_the_choice():
    with pytest.raises(OptionError, match="which was chosen since"):
        il.train(nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1)), *XOR, steps=5)
