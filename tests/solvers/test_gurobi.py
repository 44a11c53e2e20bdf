"""Gurobi: the real one where it is installed, and a stand-in for what its licence may say, everywhere."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from importlib.util import find_spec

import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError, ProblemRefused, SolverError
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.solvers.base import Status
from isinglearn.solvers.gurobi import Gurobi
from isinglearn.solvers.session import Session

real = pytest.mark.skipif(find_spec("gurobipy") is None, reason="gurobipy is not installed")


def compiled(instance, **options) -> il.Problem:
    return il.compile(instance.network, instance.X, instance.y, **options)


# -- the real one, with the licence that comes with it ----------------------------------------------


@real
@pytest.mark.parametrize("products", ["linear", "quadratic"])
@pytest.mark.parametrize("formulation", ["compact", "paper"])
@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda instance: instance.name)
def test_the_papers_tasks_are_proved(instance, formulation, products):
    problem = compiled(instance, formulation=formulation)
    expected = il.solve(problem, "brute").best.loss
    for start in ({}, {"start": None}):
        run = il.solve(problem, "gurobi", products=products, **start)
        assert run.status is Status.OPTIMAL
        assert run.best.loss == run.bound == expected
        assert run.verdict.consistent


@real
@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_two_moons_fit_the_licence_with_linear_products_only(formulation):
    problem = compiled(two_moons(50), formulation=formulation)
    run = il.solve(problem, "gurobi", time_limit=1)
    assert run.bound <= run.best.loss
    with pytest.raises(ProblemRefused, match=r"too small.*(48|200) of them quadratic"):
        il.solve(problem, "gurobi", products="quadratic", time_limit=1)


@real
def test_the_callback_stops_it_and_sees_bounds_that_hold():
    events: list[il.Event] = []

    def stop_at_a_bound(event: il.Event) -> bool:
        events.append(event)
        return event.bound is None or event.loss is None

    run = il.solve(compiled(two_moons(50)), "gurobi", on_event=stop_at_a_bound)
    assert run.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert events[-1].bound is not None
    assert all(event.bound is None or event.bound * 450 <= 122 for event in events)


@real
def test_a_box_that_admits_no_network_is_infeasible():
    frozen = {"layer1.weight": 1, "layer2.weight": 2, "layer2.bias": 2}
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1)).freeze(frozen)
    run = il.solve(il.compile(net, [[1]], [1], box=True), "gurobi")
    assert (run.status, run.bound) == (Status.INFEASIBLE, None)


@real
def test_two_threads_prove_as_well():
    run = il.solve(compiled(TASKS[0]), "gurobi", threads=2, seed=2**31 - 1)
    assert run.status is Status.OPTIMAL


@real
def test_a_licence_that_is_not_there_is_explained(monkeypatch):
    monkeypatch.setenv("GRB_LICENSE_FILE", "/no/such/gurobi.lic")
    with pytest.raises(SolverError, match=r"licence.*10009.*/no/such/gurobi.lic.*GRB_LICENSE_FILE"):
        il.solve(compiled(TASKS[0]), "gurobi")


# -- a stand-in ------------------------------------------------------------------------------------


class Context:
    def __enter__(self):
        return self

    def __exit__(self, *given: object) -> None:
        pass


class Expression:
    """What arithmetic with variables gives; it only remembers whether two were multiplied."""

    def __init__(self, quadratic: bool = False) -> None:
        self.quadratic = quadratic

    def _with(self, other: object) -> Expression:
        return Expression(self.quadratic or getattr(other, "quadratic", False))

    __add__ = __radd__ = __sub__ = __ge__ = __eq__ = _with
    __hash__ = None

    def __mul__(self, other: object) -> Expression:
        return Expression(isinstance(other, Expression))

    __rmul__ = __mul__


class StandIn(types.ModuleType):
    """A gurobipy that fails with an error, at its start or once it is to optimise."""

    def __init__(self, number: int, text: str, *, at_start: bool) -> None:
        super().__init__("gurobipy")

        class GurobiError(Exception):
            errno = number

        class Env(Context):
            def __init__(self, empty: bool) -> None:
                assert empty, "an environment that starts by itself prints"
                self.quiet = False

            def setParam(self, name: str, value: int) -> None:  # noqa: N802 - its name there
                self.quiet = (name, value) == ("OutputFlag", 0)

            def start(self) -> None:
                assert self.quiet, "the licence would be printed"
                if at_start:
                    raise GurobiError(text)

        class Model(Context):
            def __init__(self, env: Env) -> None:
                self.NumVars = self.NumConstrs = self.NumQConstrs = 0

            def addVar(self, *ends: int, vtype: str = "C") -> Expression:  # noqa: N802
                self.NumVars += 1
                return Expression()

            def addConstr(self, given: Expression) -> None:  # noqa: N802
                self.NumQConstrs += given.quadratic
                self.NumConstrs += not given.quadratic

            def optimize(self, callback: object) -> None:
                raise GurobiError(text)

            def ignore(self, *given: object) -> None:
                pass

            setObjective = setPWLObj = setParam = update = terminate = ignore  # noqa: N815

        def quicksum(terms: Iterable[object]) -> object:
            return sum(terms, start=Expression())

        self.GurobiError, self.Env, self.Model, self.quicksum = GurobiError, Env, Model, quicksum
        errors = types.SimpleNamespace(SIZE_LIMIT_EXCEEDED=10010)
        self.GRB = types.SimpleNamespace(Error=errors)


def solve_with(stand_in: StandIn, monkeypatch, **options) -> il.Run:
    monkeypatch.setitem(sys.modules, "gurobipy", stand_in)
    monkeypatch.setattr(Gurobi, "available", classmethod(lambda cls: True))
    return il.solve(compiled(TASKS[0], formulation="paper"), "gurobi", **options)


@pytest.mark.parametrize(
    ("number", "text"), [(10009, "License expired 2020-01-01"), (10022, "No token server")]
)
def test_a_missing_licence_is_explained(number, text, monkeypatch):
    words = rf"licence.*{number}, {text}.*GRB_LICENSE_FILE.*gurobi\.lic.*WLS.*cpsat"
    with pytest.raises(SolverError, match=words):
        solve_with(StandIn(number, text, at_start=True), monkeypatch)


@pytest.mark.parametrize(("products", "quadratic"), [("linear", 0), ("quadratic", 12)])
def test_a_licence_that_is_too_small_is_explained(products, quadratic, monkeypatch):
    too_large = StandIn(10010, "Model too large for size-limited license", at_start=False)
    words = (
        r"too small.*2000 variables and 2000 constraints.*200 variables.*"
        rf"\d+ variables and \d+ constraints, {quadratic} of them quadratic.*"
        r"GRB_LICENSE_FILE.*gurobi\.lic.*WLS.*cpsat"
    )
    with pytest.raises(ProblemRefused, match=words):
        solve_with(too_large, monkeypatch, products=products)


def test_any_other_failure_is_ours_as_well(monkeypatch):
    with pytest.raises(SolverError, match=r"gave up.*10001, Out of memory.*cpsat"):
        solve_with(StandIn(10001, "Out of memory", at_start=False), monkeypatch)


def test_a_deadline_that_has_passed_needs_no_licence():
    qcbo = compiled(TASKS[0]).qcbo
    answer = Gurobi().solve(qcbo, Gurobi.Options(), Session(qcbo.scale, seconds=1e-9))
    assert answer.rows.shape == (0, len(qcbo.variables))
    assert answer.note


def test_a_missing_package_gives_the_command_that_brings_it(monkeypatch):
    monkeypatch.setattr(Gurobi, "requires", ("no_such_package",))
    with pytest.raises(SolverError, match="pip install gurobipy"):
        il.solve(compiled(TASKS[0]), "gurobi")


@pytest.mark.parametrize("options", [{"threads": 0}, {"products": "cubic"}], ids=str)
def test_bad_options_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Gurobi.Options(**options)
