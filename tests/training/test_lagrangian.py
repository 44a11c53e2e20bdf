"""Augmented Lagrangian: right energies, bounded weights, one compilation, the same run however it is cut."""

from __future__ import annotations

from itertools import pairwise

import dimod
import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, OptionError, ProblemRefused, SolverError
from isinglearn.paper.instances import MNIST, TASKS, Instance
from isinglearn.training.lagrangian import Lagrangian
from isinglearn.training.lagrangian.relaxation import Prices, Relaxation, coefficient_range
from isinglearn.training.strategy import STRATEGIES, Task


def begun(instance: Instance, *, loss: str = "square", seed: int = 0, **options) -> Lagrangian:
    task = Task(instance.network, instance.X, instance.y, loss, seed=seed)
    return Lagrangian(task, Lagrangian.Options(**options))


def finished(training: Lagrangian) -> Lagrangian:
    while not training.done:
        training.step()
    return training


def least(instance: Instance, loss: nn.Loss) -> float:
    problem = il.compile(instance.network, instance.X, instance.y, loss)
    return float(il.solve(problem, "brute").best.loss)


def same(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[n], other[n]) for n in one)


@pytest.mark.parametrize(("loss", "of"), [("square", nn.MSE()), ("hinge", nn.Hinge())])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_of_task_one(loss, of, seed):
    training = begun(TASKS[0], loss=loss, seed=seed, steps=15)
    losses = [training.step().loss for _ in range(15)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == least(TASKS[0], of)
    assert training.evaluate(TASKS[0].X, TASKS[0].y)[0] == pytest.approx(losses[-1])
    assert training.counts == {"step": 15, "qubos": 15, "spins": training.qubo.num_variables}


def test_a_loss_of_0_ends_it():
    training = finished(begun(MNIST, steps=60, seed=1))
    assert training.least == 0
    assert training.counts["step"] < 60


def problems_of_all_kinds() -> list[il.Problem]:
    """Ties, gadgets of both kinds and products; the paper's form has rows of degree 2."""
    task = TASKS[0]
    forms = ({"order": "product"}, {"order": "mixed"}, {"signs": "slack"}, {"formulation": "paper"})
    return [il.compile(task.network, task.X, task.y, **form) for form in forms]


@pytest.mark.parametrize("problem", problems_of_all_kinds())
def test_energies_are_the_formula(problem):
    relaxation = Relaxation.of(problem)
    random = np.random.default_rng(0)
    qubo, count = relaxation.qubo, len(relaxation)
    rho = random.integers(1, 9, count)
    multiplier = np.where(relaxation.signed, random.integers(-9, 9, count), 0)
    weighted = relaxation.weighted(Prices(rho, multiplier))
    unit = relaxation.weighted(Prices(np.ones_like(rho), np.zeros_like(rho)))
    for bits in random.integers(0, 2, (20, qubo.num_variables)):
        objective = sum(int((part.values(bits) @ part.weights)[0]) for part in qubo.objective)
        paid = np.concatenate([part.values(bits)[0] for part in qubo.penalties])
        p = qubo.products
        u, v, a = bits[p.left], bits[p.right], bits[p.auxiliary]
        rosenberg = 3 * a + u * v - 2 * u * a - 2 * v * a
        penalties = np.concatenate([paid, rosenberg])
        broken = relaxation.violations(bits)
        expected = objective + rho @ penalties + multiplier @ broken
        assert int(weighted.energy(bits)[0]) == expected
        assert int(unit.energy(bits)[0]) == objective + penalties.sum()


@pytest.mark.parametrize("problem", problems_of_all_kinds())
def test_on_networks_the_energy_is_the_loss_whatever_the_prices(problem):
    relaxation = Relaxation.of(problem)
    random = np.random.default_rng(1)
    vector, loss = problem.incumbent
    bits = problem.qubo.complete(problem.complete(vector))
    assert not relaxation.violations(bits[0]).any()
    for _ in range(5):
        rho = random.integers(1, 99, len(relaxation))
        multiplier = np.where(relaxation.signed, random.integers(-99, 99, len(relaxation)), 0)
        assert relaxation.weighted(Prices(rho, multiplier)).energy(bits)[0] == loss


def test_the_structure_is_compiled_once(monkeypatch):
    training = begun(TASKS[1], steps=6, sweeps=100, first_rho=0.25, largest_rho=2.0)
    monkeypatch.setattr("isinglearn.training.lagrangian.compiled_whole", None)
    monkeypatch.setattr("isinglearn.lowering.to_qubo.to_qubo", None)
    monkeypatch.setattr("isinglearn.lowering.pipeline.to_hubo", None)
    relaxation, compiled = training.relaxation, training.problem.qubo
    parts = [part.rows for part in (*compiled.objective, *compiled.penalties)]
    monomials = [rows.monomials for rows in (*parts, relaxation.rows)]
    monomials.append(compiled.products.terms()[0])
    every = {tuple(i for i in term if i >= 0) for rows in monomials for term in rows.tolist()}
    seen = []
    while not training.done:
        qubo = training.qubo
        assert qubo.variables is compiled.variables
        for part, other in zip(qubo.penalties, compiled.penalties, strict=True):
            assert part.rows is other.rows
        assert qubo.products.left is compiled.products.left
        assert set(qubo.polynomial.to_terms()) <= every
        seen.append(training.prices)
        training.step()
    changed = [np.any(a.rho != b.rho) for a, b in pairwise(seen)]
    assert any(changed)
    assert any(np.any(prices.multiplier) for prices in seen)


def test_rho_stays_below_its_bound_and_multipliers_below_theirs():
    training = begun(
        TASKS[1],
        steps=25,
        sweeps=50,
        first_rho=0.5,
        largest_rho=2.0,
        growth=2.0,
        rate=3.0,
        decay=0.0,
    )
    unit = training.unit
    while not training.done:
        training.step()
        assert training.rho.max() <= 2.0 * unit
        assert training.prices.rho.max() <= np.ceil(2.0 * unit)
        assert (np.abs(training.multiplier) <= training.bound).all()
        assert not training.multiplier[~training.relaxation.signed].any()
    assert training.rho.max() == 2.0 * unit
    assert coefficient_range(training.qubo)[0] > 0


def test_a_saved_run_goes_on_the_same_at_every_step():
    whole = begun(TASKS[1], steps=6, sweeps=60, first_rho=1.0)
    states = [whole.state()]
    while not whole.done:
        whole.step()
        states.append(whole.state())
    for step, state in enumerate(states):
        again = begun(TASKS[1], steps=6, sweeps=60, first_rho=1.0)
        again.restore(state)
        for expected in states[step + 1 :]:
            again.step()
            assert same(again.state(), expected)


def test_any_sampler_and_any_solver():
    task = Task(TASKS[0].network, TASKS[0].X, TASKS[0].y, "square", solver=dimod.RandomSampler())
    finished(Lagrangian(task, Lagrangian.Options(steps=2)))
    exact = Task(TASKS[0].network, TASKS[0].X, TASKS[0].y, "square", solver="treewidth")
    training = finished(Lagrangian(exact, Lagrangian.Options(steps=8)))
    assert training.least / training.problem.qcbo.scale == least(TASKS[0], nn.MSE())


def test_bad_input():
    task = TASKS[0]
    for wrong in (
        {"largest_rho": 1.0, "first_rho": 2.0},
        {"growth": 0.5},
        {"steps": 0},
        {"first_rho": "much"},
        {"order": "squared"},
    ):
        with pytest.raises(OptionError):
            Lagrangian.Options(**wrong)
    with pytest.raises(ProblemRefused, match="at most 10 spins"):
        Lagrangian(Task(task.network, task.X, task.y, "square", max_spins=10), Lagrangian.Options())
    with pytest.raises(OptionError, match="takes no QUBO"):
        Lagrangian(
            Task(task.network, task.X, task.y, "square", solver="cpsat"), Lagrangian.Options()
        )
    with pytest.raises(OptionError, match="loss"):
        Lagrangian(Task(task.network, task.X, task.y, "logistic"), Lagrangian.Options())
    with pytest.raises(DataError):
        Lagrangian(Task(task.network, task.X, 0.3 * task.y, "square"), Lagrangian.Options())
    empty = Task(task.network, task.X, task.y, "square", solver=dimod.NullSampler())
    with pytest.raises(SolverError, match="returned nothing"):
        Lagrangian(empty, Lagrangian.Options()).step()


def test_without_time_a_step_changes_nothing():
    task = Task(TASKS[0].network, TASKS[0].X, TASKS[0].y, "square", left=lambda: 0.0)
    training = Lagrangian(task, Lagrangian.Options())
    before = training.state()
    assert "time" in training.step().message
    assert same(training.state(), before)


def test_it_is_registered():
    assert STRATEGIES["lagrangian"] is Lagrangian
