"""``solver="auto"``: the cheapest proof that can be foreseen, else a search, else annealing."""

from __future__ import annotations

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.solvers import auto
from isinglearn.solvers.base import SOLVERS, Form, Status


def compiled(instance) -> il.Problem:
    return il.compile(instance.network, instance.X, instance.y)


def wide(samples: int) -> il.Problem:
    """Ten inputs, four units: nothing to enumerate, large treewidth."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(-4, 5, (samples, 10)), rng.choice([-1, 1], samples)
    return il.compile(nn.Sequential(nn.Linear(10, 4), nn.Sign(), nn.Linear(4, 1)), X, y)


@pytest.mark.parametrize("instance", [*TASKS, MNIST, two_moons(20)], ids=lambda i: i.name)
def test_it_proves_the_small_instances_and_says_why(instance):
    events = []
    run = il.solve(compiled(instance), on_event=events.append)
    assert run.status is Status.OPTIMAL
    assert SOLVERS[run.solver].traits.exact
    assert "a proof in about" in run.reason
    assert events[0].message == f"{run.solver}: {run.reason}"
    assert run.record()["reason"] == run.reason


def test_it_takes_the_cheapest_of_the_forecasts():
    problem = compiled(TASKS[0])
    told = auto.foresee(problem)
    assert len(told) >= 3
    assert auto.choose(problem, None).solver == min(told, key=lambda name: told[name].seconds)


def test_a_search_gets_a_limit_where_none_was_set():
    choice = auto.choose(wide(30), None)
    assert (choice.solver, choice.time_limit) == ("cpsat", auto.PATIENCE)
    assert "constraints" in choice.reason
    assert auto.choose(wide(30), 7.0).time_limit == 7.0


def test_what_is_too_large_for_a_search_is_annealed(monkeypatch):
    monkeypatch.setattr(auto, "MOST_ROWS", 10)
    choice = auto.choose(wide(30), None)
    assert not SOLVERS[choice.solver].traits.exact
    assert "too many for a search with proof" in choice.reason


def test_a_forecast_beyond_the_limit_is_not_taken():
    problem = compiled(two_moons(20))
    assert auto.choose(problem, 1e-6).solver == "cpsat"


def test_its_options_are_those_of_the_solver_it_picks():
    with pytest.raises(il.IsingLearnError, match="no such option"):
        il.solve(compiled(TASKS[0]), no_such_option=3)


@pytest.mark.parametrize("fit", [{"bits": 8}, {"bits": 8, "fix": True}], ids=str)
@pytest.mark.parametrize("instance", [TASKS[0], two_moons(10)], ids=lambda i: i.name)
def test_a_rounded_qubo_is_not_promised_a_proof(instance, fit):
    run = il.solve(compiled(instance), time_limit=20, **fit)
    assert "QUBO" in run.reason
    assert "proof" not in run.reason
    assert Form.QUBO in SOLVERS[run.solver].accepts
    assert run.bound_is_trivial


def test_a_reduced_qubo_is_proved_as_such():
    run = il.solve(compiled(TASKS[0]), fix=True)
    assert (run.solver, run.status) == ("treewidth", Status.OPTIMAL)
    assert "a proof in about" in run.reason


def test_a_fitted_qubo_that_is_too_entangled_is_annealed():
    choice = auto.choose(wide(20), 0.001, rounded=True)
    assert (choice.solver, choice.time_limit) == ("annealer", 0.001)
    assert "proof" not in choice.reason
