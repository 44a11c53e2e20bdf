"""Gurobi: the real one where it is installed, and a stand-in for what its licence may say, everywhere."""

from __future__ import annotations

import sys
import types
from importlib.util import find_spec

import pytest

import isinglearn as il
from isinglearn.errors import SolverError
from isinglearn.paper.instances import MNIST, TASKS
from isinglearn.solvers.base import Status
from isinglearn.solvers.gurobi import Gurobi

real = pytest.mark.skipif(find_spec("gurobipy") is None, reason="gurobipy is not installed")


def compiled(instance, **options) -> il.Problem:
    return il.compile(instance.network, instance.X, instance.y, **options)


@real
@pytest.mark.parametrize("formulation", ["compact", "paper"])
@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda instance: instance.name)
def test_the_papers_tasks_are_proved(instance, formulation):
    problem = compiled(instance, formulation=formulation)
    run = il.solve(problem, "gurobi", start=None)
    assert run.status is Status.OPTIMAL
    assert run.best.loss == run.bound == il.solve(problem, "brute").best.loss
    assert run.verdict.consistent


class StandIn(types.ModuleType):
    """A gurobipy that fails as soon as its environment is started."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__("gurobipy")

        class GurobiError(Exception):
            errno = number

        class Env:
            def __init__(self, empty: bool) -> None:
                assert empty, "an environment that starts by itself prints"

            def __enter__(self):
                return self

            def __exit__(self, *given: object) -> None:
                pass

            def setParam(self, name: str, value: int) -> None:  # noqa: N802 - its name there
                assert (name, value) == ("OutputFlag", 0)

            def start(self) -> None:
                raise GurobiError(text)

        self.GurobiError, self.Env = GurobiError, Env


def test_a_missing_licence_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "gurobipy", StandIn(10009, "License expired"))
    monkeypatch.setattr(Gurobi, "available", classmethod(lambda cls: True))
    with pytest.raises(SolverError, match=r"License expired.*GRB_LICENSE_FILE.*cpsat"):
        il.solve(compiled(TASKS[0]), "gurobi")


def test_a_missing_package_gives_the_command_that_brings_it(monkeypatch):
    monkeypatch.setattr(Gurobi, "requires", ("no_such_package",))
    with pytest.raises(SolverError, match="pip install gurobipy"):
        il.solve(compiled(TASKS[0]), "gurobi")
