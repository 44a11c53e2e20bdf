"""``dwave-sa``: in rounds, so that a limit and Ctrl-C keep what is done, with the answers of one call."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from dwave.samplers import SimulatedAnnealingSampler

import isinglearn as il
from isinglearn.paper.instances import TASKS
from isinglearn.solvers.dimod_sampler import sample_bits
from isinglearn.solvers.machines import dwave_annealing

MANY = 1_000_000


@pytest.fixture(scope="module")
def task() -> il.Problem:
    return il.compile(TASKS[1].network, TASKS[1].X, TASKS[1].y)


def ordered(rows: np.ndarray) -> list[list[int]]:
    return sorted(rows.tolist())


def solved(task: il.Problem, reads: int, **options) -> np.ndarray:
    return il.solve(task, "dwave-sa", num_reads=reads, num_sweeps=20, seed=5, **options).result.bits


def directly(task: il.Problem, reads: int) -> np.ndarray:
    sampler = SimulatedAnnealingSampler()
    return sample_bits(sampler, task.qubo, num_reads=reads, num_sweeps=20, seed=5)


def test_what_fits_one_round_is_what_the_sampler_gives(task):
    assert ordered(solved(task, 7)) == ordered(directly(task, 7))


def test_rounds_have_seeds_of_their_own(task, monkeypatch):
    monkeypatch.setattr(dwave_annealing, "_SPINS", 3 * task.qubo.num_variables)
    rows = solved(task, 8)
    assert len(rows) == 8
    assert len(np.unique(rows, axis=0)) == 8
    assert ordered(rows) == ordered(solved(task, 8))
    first = ordered(directly(task, 3))
    assert all(row in rows.tolist() for row in first)
    # A limit that is not reached changes nothing.
    assert ordered(rows) == ordered(solved(task, 8, time_limit=100))


def test_a_limit_returns_the_reads_that_are_done(task, monkeypatch):
    monkeypatch.setattr(dwave_annealing, "_SPINS", 1000 * task.qubo.num_variables)
    run = il.solve(task, "dwave-sa", num_reads=MANY, num_sweeps=20, time_limit=0.5)
    assert 10 < len(run.result.bits) < MANY
    assert run.seconds < 3
    assert run.events, "better energies are told between rounds"


def test_ctrl_c_returns_the_reads_that_are_done(task):
    started = time.perf_counter()
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    run = il.solve(task, "dwave-sa", num_reads=MANY, num_sweeps=20)
    assert time.perf_counter() - started < 3
    assert 1 < len(run.result.bits) < MANY
