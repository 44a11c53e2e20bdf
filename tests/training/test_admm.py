"""ADMM: right ties, QUBOs that do not grow with the samples, and the same run however it is carried out."""

from __future__ import annotations

import dimod
import numpy as np
import pytest
from joblib import Parallel

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, NetworkError, OptionError, ProblemRefused
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.training.admm import Admm
from isinglearn.training.admm.consensus import FINE
from isinglearn.training.strategy import STRATEGIES, Task

SHORT = Admm.Options(steps=5, samples=2, reads=4, sweeps=50, patience=3)


def begun(instance, options=SHORT, **more) -> Admm:
    return Admm(
        Task(instance.network, instance.X, instance.y, **{"loss": "square"} | more), options
    )


def finished(training: Admm) -> Admm:
    while not training.done:
        training.step()
    return training


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize(("loss", "of"), [("square", nn.MSE()), ("hinge", nn.Hinge())])
def test_the_optimum_of_task_one(loss, of):
    task = TASKS[0]
    training = finished(begun(task, Admm.Options(steps=40, samples=4), loss=loss))
    problem = il.compile(task.network, task.X, task.y, of)
    best = float(il.solve(problem, "brute").best.loss)
    assert training.evaluate(task.X, task.y)[0] == pytest.approx(best)
    assert training.counts["qubos"] == 2 * training.counts["step"] == 80


def test_a_loss_of_0_ends_it():
    training = finished(begun(MNIST, Admm.Options(steps=60, samples=4)))
    assert training.least == 0
    assert training.counts["step"] < 60


@pytest.mark.parametrize("loss", ["square", "hinge"])
def test_the_energy_of_a_network_is_its_loss_and_its_tie(loss):
    training = begun(TASKS[1], loss=loss)
    random = np.random.default_rng(0)
    # Multiples of 1/FINE are not rounded.
    metric = random.integers(1, 40, len(training.best)) / FINE
    for group in training.groups:
        centre = random.integers(-5, 6, len(metric)).astype(np.float64)
        drawn = [[random.choice(values) for values in training.whole.problem.free_domains]]
        vector = group.near(np.array(drawn))
        qubo = group.tied(centre, metric)
        bits = qubo.complete(group.problem.complete(vector))
        away = (vector[0] - centre) ** 2 - centre**2
        expected = FINE * (group.losses(vector)[0] + metric @ away)
        assert qubo.energy(bits)[0] == expected
        assert not qubo.violations(bits)


def test_ground_states_are_networks_whatever_the_tie_weighs():
    training = begun(MNIST, Admm.Options(samples=1))
    group = training.groups[0]
    for strength in (0.1, 1.0, 30.0):
        centre = np.where(training.best > 0, -1.5, 1.5)
        qubo = group.tied(centre, training.whole.metric(strength))
        samples = dimod.ExactSolver().sample(qubo.to_bqm())
        ground = samples.first.sample
        bits = np.array([ground[name] for name in qubo.variables])
        assert not group.qubo.violations(bits)


def test_losses_of_groups_add_up_to_the_whole():
    weights = np.array([1, 2, 2, 4, 1, 2])
    training = begun(TASKS[0], weights=weights)
    vectors = np.stack([training.best, training.whole.snapped(np.zeros((1, 5)))[0]])
    total = sum(group.losses(vectors) for group in training.groups)
    assert total.tolist() == training.whole.scores(vectors).tolist()


def test_spins_do_not_grow_with_the_samples_and_qubos_are_compiled_once(monkeypatch):
    sizes = []
    for count in (10, 40):
        training = begun(two_moons(count), Admm.Options(steps=2, groups=4, reads=2, sweeps=10))
        assert len(training.groups) == -(-count // 4)
        with monkeypatch.context() as patched:
            patched.setattr("isinglearn.training.admm.consensus.to_qubo", None)
            finished(training)
        sizes.append(training.counts["spins"])
        assert training.counts["qubos"] <= 8
    assert abs(sizes[0] - sizes[1]) <= 15
    small = begun(two_moons(10), SHORT, max_spins=60)
    assert max(group.qubo.num_variables for group in small.groups) <= 60
    assert sorted(np.concatenate([group.samples for group in small.groups])) == list(range(10))


def test_a_saved_run_goes_on_the_same_at_every_step():
    whole = begun(TASKS[1])
    states = [whole.state()]
    while not whole.done:
        whole.step()
        states.append(whole.state())
    for step, state in enumerate(states):
        again = begun(TASKS[1])
        again.restore(state)
        for expected in states[step + 1 :]:
            again.step()
            assert same(again.state(), expected)


def test_the_number_of_workers_changes_nothing():
    alone = finished(begun(TASKS[1])).state()
    with Parallel(n_jobs=2, prefer="threads") as parallel:
        assert same(finished(begun(TASKS[1], parallel=parallel)).state(), alone)


def test_groups_travel_to_other_processes():
    import pickle

    group = begun(TASKS[0]).groups[0]
    other = pickle.loads(pickle.dumps(group))
    zeros = np.zeros(len(group.lo))
    assert other.tied(zeros, zeros + 1).polynomial == group.tied(zeros, zeros + 1).polynomial


def test_bad_input():
    for wrong in (
        {"samples": 0},
        {"growth": 0.9},
        {"first_rho": 0.0},
        {"largest_rho": 0.01},
        {"patience": 1.5},
    ):
        with pytest.raises(OptionError):
            Admm.Options(**wrong)
    with pytest.raises(ProblemRefused, match="single sample") as caught:
        begun(TASKS[1], max_spins=12)
    assert "X[" in caught.value.where
    assert "12 spins" in caught.value.rule
    with pytest.raises(OptionError, match="loss"):
        begun(TASKS[0], loss="cross_entropy")
    with pytest.raises(DataError):
        begun(TASKS[0], loss="hinge", weights=[1, 2])
    normalised = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm(), nn.Sign(), nn.Linear(2, 1))
    with pytest.raises(NetworkError, match="figures from the data"):
        Admm(Task(normalised, TASKS[0].X, TASKS[0].y, "square"), SHORT)


def test_a_step_that_runs_out_of_time_changes_nothing():
    training = begun(TASKS[0], stopped=lambda: True, left=lambda: 0.0)
    before = training.state()
    assert "time" in training.step().message
    assert same(training.state(), before)


def test_it_is_registered():
    assert STRATEGIES["admm"] is Admm
