"""All optimal networks, listed by brute force and by CP-SAT alike."""

from __future__ import annotations

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import SolverError
from isinglearn.paper.instances import MNIST, TASKS
from isinglearn.solvers import optima
from isinglearn.solvers.brute import Brute

XOR = ([[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1])


def compiled(instance, **options) -> il.Problem:
    return il.compile(instance.network, instance.X, instance.y, **options)


@pytest.mark.parametrize(
    ("instance", "networks", "classes"),
    [(TASKS[0], 1, 1), (TASKS[1], 2, 1), (TASKS[2], 8, 2), (MNIST, 1, 1)],
    ids=["I", "II", "III", "MNIST"],
)
def test_the_papers_tasks_have_the_optima_that_it_needs(instance, networks, classes):
    found = il.all_optimal(compiled(instance))
    assert (len(found), len(found.classes), found.complete) == (networks, classes, True)
    assert all(parameters in found for parameters in found.networks)


@pytest.mark.parametrize(
    "options", [{}, {"box": True}, {"formulation": "paper"}], ids=["compact", "box", "paper"]
)
@pytest.mark.parametrize(
    ("X", "y"), [XOR, ([[0, 1], [1, 1], [2, 0]], [1, -1, 1])], ids=["xor", "three points"]
)
def test_both_ways_list_the_same(X, y, options, monkeypatch):
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    problem = il.compile(net, X, y, **options)
    by_brute = il.all_optimal(problem)
    monkeypatch.setattr(Brute, "forecast", classmethod(lambda cls, problem: None))
    by_search = il.all_optimal(problem)
    assert (by_brute.solver, by_search.solver) == ("brute", "cpsat")
    assert by_brute.loss == by_search.loss
    assert by_search.complete
    listed = by_brute.vectors
    if options.get("formulation") == "paper":
        # Biases beyond the range of r are no networks of the paper's form.
        table = problem.qcbo.variables
        values = problem.complete(listed)
        listed = listed[((values >= table.lo) & (values <= table.hi)).all(axis=1)]
    assert sorted(listed.tolist()) == sorted(by_search.vectors.tolist())


def test_a_limit_is_said():
    found = il.all_optimal(compiled(TASKS[2]), limit=3)
    assert (len(found), found.complete) == (3, False)


def test_what_is_not_optimal_is_not_contained():
    problem = compiled(TASKS[1])
    found = il.all_optimal(problem)
    other = found.vectors[0].copy()
    other[0] = -other[0]
    assert problem.parameters(other) not in found
    swapped = {name: np.array(value) for name, value in found.networks[0].items()}
    swapped["layer1.weight"] = swapped["layer1.weight"][::-1]
    swapped["layer1.bias"] = swapped["layer1.bias"][::-1]
    swapped["layer2.weight"] = swapped["layer2.weight"][:, ::-1]
    assert swapped in found


def test_without_a_proof_there_is_no_list(monkeypatch):
    monkeypatch.setattr(optima.Brute, "forecast", classmethod(lambda cls, problem: None))
    with pytest.raises(SolverError, match="not proved"):
        il.all_optimal(compiled(TASKS[0]), time_limit=1e-9)


def test_a_listing_that_was_cut_short_is_no_list(monkeypatch):
    # A loss of 0 is optimal at once, but the other networks of that loss are not seen yet.
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    monkeypatch.setattr("isinglearn.solvers.brute._CHUNK", 1 << 10)
    with pytest.raises(SolverError, match="cannot be listed"):
        il.all_optimal(il.compile(net, *XOR), on_event=lambda event: event.loss != 0)
