"""How to repeat a run: the calls on the page lead to the same problem and the same answer."""

from __future__ import annotations

from typing import Any

import dimod
import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.report.repeat import calls_of_run, calls_of_training
from isinglearn.report.source import network_source, value_source

X = np.array([[-2, -1], [-1, 1], [1, -1], [2, 1]])
Y = np.array([-1, 1, 1, -1])
TRIALS = {
    f"{name} {number}": trial
    for name, module in nn.MODULES.items()
    for number, trial in enumerate(module.trials())
}


def repeated(run: il.Run, X: Any, y: Any, **known: Any) -> il.Run:
    """Run the code of a report; it must lead to the same QUBO and the same networks."""
    names = {"X": X, "y": y, **known}
    exec(calls_of_run(run), names)
    again = names["run"]
    first, second = (one.problem.qubo.polynomial for one in (run, again))
    assert np.array_equal(first.coefficients, second.coefficients)
    assert np.array_equal(run.result.vectors, again.result.vectors)
    assert again.arguments == run.arguments
    return again


@pytest.mark.parametrize("trial", TRIALS.values(), ids=TRIALS)
def test_every_module_is_written_so_that_it_can_be_read(trial) -> None:
    net = nn.Sequential(*trial.modules, input_shape=trial.input_shape)
    problem = il.compile(net, trial.X, trial.y)
    repeated(il.solve(problem, "annealer", num_reads=2, num_sweeps=20), trial.X, trial.y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"formulation": "paper"},
        {"order": "product", "signs": "slack", "box": True},
        {"penalty": 50, "product_weight": 70},
        {"loss": nn.Hinge()},
        {"label_scale": 4},
    ],
    ids=str,
)
def test_options_of_the_compiler(options: dict) -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    run = il.solve(il.compile(net, X, Y, **options), "annealer", num_reads=2, seed=3)
    assert repeated(run, X, Y).seed == 3


def test_frozen_values_fractions_and_weights() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.LeakyReLU(0.5), nn.Linear(2, 1))
    frozen = net.freeze({"layer1.weight": [[1, np.nan], [np.nan, -1]], "layer2.bias": 0})
    problem = il.compile(frozen, X, Y, sample_weight=[1, 2, 1, 1])
    run = il.solve(problem, "annealer", num_reads=2)
    assert "freeze(weight=[[1, nan], [nan, -1]])" in calls_of_run(run)
    repeated(run, X, Y, sample_weight=[1, 2, 1, 1])


def test_what_cannot_be_written_is_named() -> None:
    net = nn.Sequential(nn.Linear(2, 1))
    run = il.solve(il.compile(net, X, Y), dimod.RandomSampler(), num_reads=2)
    assert "il.solve(problem, RandomSampler(...), seed=0, num_reads=2)" in calls_of_run(run)
    start = il.solve(il.compile(net, X, Y), "brute").best.parameters
    run = il.solve(il.compile(net, X, Y), "cpsat", start=start)
    assert "start=start" in calls_of_run(run)
    assert value_source(np.zeros(1000), "weight") == "weight"


def test_a_solver_that_was_chosen_is_named() -> None:
    run = il.solve(il.compile(nn.Sequential(nn.Linear(2, 1)), X, Y))
    assert f"il.solve(problem, {run.solver!r}" in calls_of_run(run)


def test_trainings_name_their_strategy() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    trained = il.train(net, X, Y, strategy="decomposed", steps=5, seed=4)
    code = calls_of_training(trained)
    assert network_source(trained.network) in code
    assert f"strategy='decomposed', loss={trained.loss_name!r}, solver='auto', seed=4)" in code
