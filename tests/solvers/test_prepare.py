"""What is compiled on first use is done before the clock starts, and changes no answer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.problem.plain import qubo_of_matrix
from isinglearn.solvers.base import Answer, Form, Solver, solver_named
from isinglearn.solvers.run import solve
from isinglearn.solvers.session import Session
from isinglearn.training.machine import Machine

XOR = ([[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1])


def problem() -> il.Problem:
    return il.compile(nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1)), *XOR)


# In a process of its own: here other tests have had everything compiled.
COMPILED_IN_TIME = """
import numpy as np
import isinglearn as il
from numba.core.dispatcher import Dispatcher
from isinglearn import nn
from isinglearn.problem.plain import qubo_of_matrix
from isinglearn.solvers import buckets, elimination, pattern_search
from isinglearn.solvers.annealer import follow_kernels, kernels
from isinglearn.solvers.base import solver_named
from isinglearn.solvers.session import Session

MODULES = (buckets, elimination, pattern_search, follow_kernels, kernels)
KERNELS = {v for m in MODULES for v in vars(m).values() if isinstance(v, Dispatcher)}
X, y = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1]
net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
problem = il.compile(net, X, y)
boxed = il.compile(net, X, y, box=True)

def coupled(size, neighbours, large):
    Q = np.zeros((size, size))
    for step in range(1, neighbours + 1):
        Q += np.diag(np.full(size - step, large), step) + np.diag(np.full(size - step, large), -step)
    return qubo_of_matrix(Q - large * np.eye(size))[0]

single = {"num_reads": 3, "num_sweeps": 5, "moves": "single"}
dense = [coupled(8, 7, large) for large in (1, 2.0**16, 2.0**40)]
sparse = [coupled(200, 1, large) for large in (1, 2.0**40)]
cases = [("annealer", problem.qubo, {"num_reads": 3}), ("annealer", problem.hubo, single)]
cases += [("annealer", form, single | {"method": m}) for form in dense + sparse for m in ("anneal", "temper")]
cases += [("patterns", problem, {}), ("patterns", boxed, {})]
cases += [("treewidth", form, {}) for form in (problem.qubo, sparse[1])]
for name, form, options in cases:
    solver = solver_named(name)
    given = solver.read_options(options)
    solver.prepare(form, given)
    before = {kernel: set(kernel.signatures) for kernel in KERNELS}
    assert any(before.values())
    scale = form.qcbo.scale if name == "patterns" else form.scale
    solver.solve(form, given, Session(scale))
    for kernel in KERNELS:
        more = set(kernel.signatures) - before[kernel]
        assert not more, (name, str(form), options, kernel.__name__, more)
kinds = {signature[0] for signature in kernels.begin.signatures}
print(len(cases), len(kinds))
"""


def test_nothing_is_compiled_once_the_clock_runs():
    done = subprocess.run(
        [sys.executable, "-c", COMPILED_IN_TIME], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # Dense models of three kinds of integers, sparse ones of two, and terms of any degree.
    assert done.stdout.split() == ["16", "6"]


@pytest.mark.parametrize(
    ("name", "form", "options"),
    [
        ("annealer", "qubo", {"num_reads": 5, "num_sweeps": 20}),
        ("annealer", "qubo", {"num_reads": 5, "num_sweeps": 20, "moves": "single"}),
        ("annealer", "hubo", {"num_reads": 3, "num_sweeps": 20, "method": "temper"}),
        ("treewidth", "qubo", {}),
    ],
)
def test_it_changes_no_answer(name, form, options):
    lowered = getattr(problem(), form)
    solver = solver_named(name)
    given = solver.read_options(options)
    plain = solver.solve(lowered, given, Session(lowered.scale, seed=7)).rows
    solver.prepare(lowered, given)
    assert np.array_equal(solver.solve(lowered, given, Session(lowered.scale, seed=7)).rows, plain)


class Slow(Solver):
    """Takes a while to prepare."""

    accepts = (Form.QUBO,)

    def __init__(self) -> None:
        self.name, self.prepared = "slow", []

    def prepare(self, form, options) -> None:
        self.prepared.append(form)

    def solve(self, form, options, session) -> Answer:
        assert self.prepared == [form]
        self.left = session.left
        return Answer(np.zeros((1, form.num_variables), dtype=np.int64))


def test_solve_prepares_the_form_that_is_solved():
    solver = Slow()
    run = solve(problem(), solver, time_limit=100, bits=8)
    assert len(solver.prepared) == 1
    assert solver.left > 99
    assert run.seconds < 1


def test_training_prepares_its_machine():
    solver = Slow()
    qubo, _ = qubo_of_matrix(np.eye(2))
    assert Machine.of(solver).minimise(qubo, 0, 100.0).tolist() == [[0, 0]]
    assert len(solver.prepared) == 1
