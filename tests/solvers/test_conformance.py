"""What every registered solver must do; a new one is tested by being registered."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import is_dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import (
    IsingLearnError,
    NetworkError,
    OptionError,
    ProblemRefused,
    SolverError,
)
from isinglearn.paper.instances import MNIST, TASKS
from isinglearn.solvers.base import SOLVERS, Answer, Form, Solver, Status, Traits

# Services are tested against stand-ins: here they would be sent real problems, on somebody's account.
LOCAL = [name for name, solver in SOLVERS.items() if not solver.traits.remote]
INSTALLED = [name for name in LOCAL if SOLVERS[name].available()]
EXACT = [name for name in INSTALLED if SOLVERS[name].traits.exact]
HEURISTIC = [name for name in INSTALLED if not SOLVERS[name].traits.exact]


def net(*widths: int) -> nn.Sequential:
    modules: list[nn.Module] = []
    for before, after in pairwise(widths):
        modules += [nn.Linear(before, after), nn.Sign()]
    return nn.Sequential(*modules[:-1])


XOR = ([[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1])
PROBLEMS = {
    "two points": (net(1, 1, 1), [[0], [1]], [-1, 1], {}),
    "a loss above zero": (net(1, 1, 1), [[0], [1], [2]], [1, -1, 1], {}),
    "labels between": (net(1, 2, 1), [[-1], [0], [1]], [0.5, -1, 0.5], {"label_scale": 2}),
    "two outputs": (net(1, 1, 2), [[0], [1]], [[1, 0], [-1, 1]], {}),
    "weighted": (net(1, 1, 1), [[0], [0], [1]], [1, -1, -1], {"sample_weight": [3, 1, 2]}),
    "boxed": (net(1, 1, 1), [[0], [2]], [1, -1], {"box": True}),
    "exclusive or": (net(2, 2, 1), *XOR, {}),
    "paper form": (net(1, 1, 1), [[0], [1], [2]], [1, -1, 1], {"formulation": "paper"}),
    "paper task I": (TASKS[0].network, TASKS[0].X, TASKS[0].y, {}),
    "paper MNIST": (MNIST.network, MNIST.X, MNIST.y, {}),
    "three layers": (net(1, 2, 1, 1), [[-1], [0], [1]], [1, -1, 1], {}),
}


@cache
def problem(case: str) -> il.Problem:
    network, X, y, options = PROBLEMS[case]
    return il.compile(network, X, y, **options)


@cache
def optimum(case: str) -> Fraction:
    return il.solve(problem(case), "brute").best.loss


def solved(name: str, case: str, **options) -> il.Run:
    """A run, or a skip where the solver says that it cannot take such a problem."""
    try:
        return il.solve(problem(case), name, **options)
    except ProblemRefused as error:
        refusal = error
    assert refusal.rule, "a refusal names its rule"
    assert refusal.remedy, "a refusal names a remedy"
    pytest.skip(str(refusal))


@pytest.mark.parametrize("name", SOLVERS)
def test_it_declares_what_it_is(name):
    solver = SOLVERS[name]
    assert solver.name == name
    assert solver.__doc__
    assert solver.accepts
    assert all(isinstance(form, Form) for form in solver.accepts)
    assert is_dataclass(solver.Options)
    assert solver.Options() == solver.Options()
    assert "pip install" in solver.install


def test_listing_all_imports_none_of_their_packages():
    packages = {package.split(".")[0] for solver in SOLVERS.values() for package in solver.requires}
    code = (
        "import sys, isinglearn.solvers\nfrom isinglearn.solvers.base import SOLVERS\n"
        "[s.available() for s in SOLVERS.values()]\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # A dotted package needs its parent, which for dwave is an empty namespace.
    assert set(done.stdout.split()) & packages <= {"dwave"}


@pytest.mark.parametrize("name", [name for name in SOLVERS if not SOLVERS[name].available()])
def test_a_missing_package_is_named_with_its_remedy(name):
    with pytest.raises(SolverError, match="not installed here") as caught:
        il.solve(problem("two points"), name)
    assert SOLVERS[name].install in str(caught.value)


@pytest.mark.parametrize("name", INSTALLED)
def test_an_unknown_option_is_refused(name):
    with pytest.raises(OptionError, match="no_such_option"):
        il.solve(problem("two points"), name, no_such_option=1)


@pytest.mark.parametrize("case", PROBLEMS)
@pytest.mark.parametrize("name", EXACT)
def test_an_exact_solver_proves_the_optimum(name, case):
    run = solved(name, case)
    assert run.status is Status.OPTIMAL
    assert run.best.loss == run.bound == optimum(case)
    assert run.gap == 0
    assert run.verdict.consistent


@pytest.mark.parametrize("case", PROBLEMS)
@pytest.mark.parametrize("name", HEURISTIC)
def test_a_heuristic_claims_nothing_it_cannot_prove(name, case):
    run = solved(name, case)
    assert run.best.loss >= optimum(case)
    assert run.bound == 0
    proved = Status.OPTIMAL if run.best.loss == 0 else Status.FEASIBLE
    assert run.status is proved


@pytest.mark.parametrize("name", INSTALLED)
def test_every_network_is_within_its_domains_and_the_best_is_first(name):
    run = solved(name, "a loss above zero")
    domains = run.problem.free_domains
    assert all(v in own for row in run.result.vectors for v, own in zip(row, domains, strict=True))
    losses = run.problem.scores(run.result.vectors)
    assert (np.diff(losses) >= 0).all()
    assert Fraction(int(losses[0]), run.problem.qcbo.scale) == run.best.loss


@pytest.mark.parametrize("name", [n for n in INSTALLED if SOLVERS[n].traits.seeded])
def test_the_same_seed_gives_the_same_answer(name):
    first, second = (solved(name, "exclusive or", seed=5).result.vectors for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", INSTALLED)
def test_it_never_prints(name, capfd):
    solved(name, "exclusive or")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", INSTALLED)
def test_news_only_ever_get_better(name):
    events = []
    run = solved(name, "paper task I", on_event=events.append)
    seconds = [event.seconds for event in events]
    losses = [event.loss for event in events if event.loss is not None]
    bounds = [event.bound for event in events if event.bound is not None]
    assert seconds == sorted(seconds)
    assert losses == sorted(losses, reverse=True)
    assert bounds == sorted(bounds)
    assert all(bound <= run.best.loss for bound in bounds)
    assert all(event.gap is None or event.gap >= 0 for event in events)


def unfinished(run: il.Run) -> None:
    """A run that was cut short may have ended all the same, but says nothing false."""
    assert run.status in (Status.NONE_FOUND, Status.FEASIBLE, Status.OPTIMAL)
    if run.status is Status.NONE_FOUND:
        with pytest.raises(SolverError, match="Remedy"):
            _ = run.best
    else:
        assert run.bound <= run.best.loss
        assert run.best.loss >= optimum("paper task I")
    assert run.record()["status"] == run.status


@pytest.mark.parametrize("name", INSTALLED)
def test_a_deadline_that_has_passed_ends_cleanly(name):
    unfinished(solved(name, "paper task I", time_limit=1e-9))


@pytest.mark.parametrize("name", INSTALLED)
def test_the_callback_can_stop_it(name):
    unfinished(solved(name, "paper task I", on_event=lambda event: False))


@pytest.mark.parametrize("name", [n for n in INSTALLED if SOLVERS[n].traits.interruptible])
def test_ctrl_c_keeps_what_was_found_and_works_afterwards(name):
    def interrupt(event: il.Event) -> None:
        if not interrupted:
            interrupted.append(event)
            signal.raise_signal(signal.SIGINT)

    interrupted: list[il.Event] = []
    unfinished(solved(name, "paper task I", on_event=interrupt))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


class Broken(Exception):
    pass


@pytest.mark.parametrize("name", INSTALLED)
def test_an_error_in_the_callback_reaches_the_caller(name):
    def fail(event: il.Event) -> None:
        called.append(event)
        raise Broken

    called: list[il.Event] = []
    try:
        solved(name, "paper task I", on_event=fail)
    except Broken:
        assert called
    else:
        assert not called


def impossible() -> il.Problem:
    """Every prediction is 4, outside the paper's box, whatever the one free bias is."""
    frozen = {"layer1.weight": 1, "layer2.weight": 2, "layer2.bias": 2}
    return il.compile(net(1, 1, 1).freeze(frozen), [[1]], [1], box=True)


@pytest.mark.parametrize("name", INSTALLED)
def test_only_a_proof_says_infeasible(name):
    solver = SOLVERS[name]
    if solver.accepts[0] in (Form.HUBO, Form.QUBO):
        # Penalty weights rest on a feasible network; without one there is no QUBO to solve.
        with pytest.raises(NetworkError, match="no network was found"):
            il.solve(impossible(), name)
        return
    run = il.solve(impossible(), name)
    assert run.status is (Status.INFEASIBLE if solver.traits.exact else Status.NONE_FOUND)
    assert run.bound is None


def test_a_heuristic_that_claims_a_bound_is_refused():
    class Boaster(Solver):
        accepts = (Form.QUBO,)

        def __init__(self):
            self.name = "boaster"

        def solve(self, form, options, session):
            return Answer(np.zeros((1, form.num_variables), dtype=np.int64), bound=0)

    assert "boaster" not in SOLVERS
    with pytest.raises(SolverError, match="heuristic claims a proof"):
        il.solve(problem("two points"), Boaster())


def test_a_false_bound_is_caught():
    class Liar(Solver):
        accepts = (Form.PROBLEM,)
        traits = Traits(exact=True)

        def __init__(self):
            self.name = "liar"

        def solve(self, form, options, session):
            rows = np.array([[values[0] for values in form.free_domains]])
            return Answer(rows, bound=int(form.scores(rows)[0]) + 1)

    with pytest.raises(SolverError, match="bound is false"):
        il.solve(problem("two points"), Liar())


def test_refusals_are_of_our_family():
    with pytest.raises(IsingLearnError, match="did you mean 'brute'"):
        il.solve(problem("two points"), "brut")
