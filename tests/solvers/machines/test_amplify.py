"""Fixstars Amplify with a stand-in for its SDK: what is submitted, and what is said without a token."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import SolverError
from isinglearn.solvers.machines.amplify import Amplify
from isinglearn.solvers.session import Session


@pytest.fixture(scope="module")
def problem() -> il.Problem:
    """13 spins, 43 couplers."""
    network = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
    return il.compile(network, [[0], [1], [2]], [1, -1, 1])


def test_what_is_submitted_is_the_qubo(problem, amplify):
    run = il.solve(problem, "amplify")
    ((matrix, client),) = amplify.submitted
    qubo = problem.qubo
    expected = qubo.to_matrix().toarray()
    assert np.array_equal(matrix.quadratic + np.diag(matrix.linear), expected)
    assert not matrix.quadratic.diagonal().any()
    assert matrix.constant == qubo.offset
    bits = np.random.default_rng(0).integers(0, 2, size=(50, qubo.num_variables))
    assert np.array_equal(matrix.energies(bits), qubo.energy(bits))
    assert client.token == "secret-token"
    assert run.best.loss == 1


def test_the_time_is_the_option_or_what_is_left(problem, amplify):
    il.solve(problem, "amplify")
    il.solve(problem, "amplify", seconds=2.5)
    il.solve(problem, "amplify", seconds=2.5, time_limit=60)
    il.solve(problem, "amplify", seconds=100, time_limit=20)
    times = [client.parameters.time_limit_ms for _, client in amplify.submitted]
    assert times[:3] == [timedelta(seconds=1), timedelta(seconds=2.5), timedelta(seconds=2.5)]
    assert timedelta(seconds=19) < times[3] <= timedelta(seconds=20)


def test_older_versions_have_another_client(problem, amplify):
    del amplify.AmplifyAEClient
    il.solve(problem, "amplify")
    ((_, client),) = amplify.submitted
    assert client.parameters.timeout == timedelta(seconds=1)
    assert client.parameters.outputs.num_outputs == 0
    assert client.token == "secret-token"


def test_a_client_of_the_user_is_used_as_it_is(problem, amplify, monkeypatch):
    monkeypatch.delenv("AMPLIFY_TOKEN")
    mine = SimpleNamespace(parameters=SimpleNamespace(num_reads=5), token="mine")
    il.solve(problem, Amplify(mine))
    assert amplify.submitted[0][1] is mine
    assert vars(mine.parameters) == {"num_reads": 5}
    assert mine.token == "mine"


def test_no_solution_is_no_row(problem, amplify, monkeypatch):
    monkeypatch.setattr(amplify, "solve", lambda matrix, client: SimpleNamespace(solutions=[]))
    solver = Amplify()
    answer = solver.solve(problem.qubo, solver.Options(), Session(problem.qubo.scale))
    assert answer.rows.shape == (0, 13)


@pytest.mark.parametrize("token", [None, "", "  "])
def test_a_missing_token_is_said_plainly(problem, amplify, monkeypatch, token):
    monkeypatch.delenv("AMPLIFY_TOKEN")
    if token is not None:
        monkeypatch.setenv("AMPLIFY_TOKEN", token)
    with pytest.raises(SolverError, match="no token for Fixstars Amplify") as caught:
        il.solve(problem, "amplify")
    assert "AMPLIFY_TOKEN" in caught.value.remedy
    assert amplify.submitted == []


def test_a_failure_is_told_without_the_token(problem, amplify):
    amplify.error = RuntimeError("401 for client with token secret-token")
    with pytest.raises(SolverError, match="401 for client with token") as caught:
        il.solve(problem, "amplify")
    assert "secret-token" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_deadline_that_has_passed_submits_nothing(problem, amplify):
    il.solve(problem, "amplify", time_limit=1e-9)
    assert amplify.submitted == []
