"""LP files: constrained problems over whole numbers, products included, by CP-SAT."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import dimod

from isinglearn.errors import DataError, SolverError, check_choice
from isinglearn.solvers.base import Status, solver_named
from isinglearn.solvers.plain.solving import Solved
from isinglearn.solvers.session import OnEvent, Session


def solve(
    path: Path,
    solver: str,
    options: dict[str, Any],
    *,
    seed: int,
    time_limit: float | None,
    on_event: OnEvent,
) -> Solved:
    """Turn an LP file into the best assignment that CP-SAT finds, with its bound."""
    from ortools.sat.python import cp_model

    check_choice(solver, ("auto", "cpsat"), "solver of an LP file")
    given = solver_named("cpsat").read_options(options)
    built = _Model(_read(path), path)
    session = Session(1, seed, time_limit, on_event)
    search = cp_model.CpSolver()
    search.parameters.max_time_in_seconds = session.left
    search.parameters.random_seed = seed
    search.parameters.num_workers = given.workers
    search.parameters.linearization_level = given.linearization_level
    # Ctrl-C is the session's.
    search.parameters.catch_sigint_signal = False
    # Written by the search's thread, read by this one.
    seen: dict[str, Any] = {"best": None, "bound": -math.inf, "status": cp_model.UNKNOWN}

    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            seen["best"] = round(self.objective_value)

    def work() -> None:
        search.best_bound_callback = lambda bound: seen.update(bound=bound)
        seen["status"] = search.solve(built.model, Listener())

    with session.catching_interrupts():
        session.run_in_background(
            work, search.stop_search, lambda: session.tell(seen["best"], _rounded(seen["bound"]))
        )
    status = search.status_name(seen["status"])
    if status not in ("OPTIMAL", "FEASIBLE"):
        told = {"INFEASIBLE": "there is no solution, proved", "UNKNOWN": "none was found in time"}
        raise SolverError(
            "this problem was not solved",
            where=str(path),
            rule="a solution",
            received=told.get(status, f"{status}: {built.model.validate()}"),
            remedy="check the constraints, or give it more time",
        )
    sample = {name: int(search.value(variable)) for name, variable in built.variables.items()}
    energy = float(built.cqm.objective.energy(sample))
    bound = energy if status == "OPTIMAL" else _rounded(search.best_objective_bound)
    return Solved(
        {"variables": len(built.variables), "constraints": len(built.cqm.constraints)},
        "cpsat",
        "",
        sample,
        energy,
        bound,
        Status(status),
        1,
        1,
        session.elapsed,
        "",
    )


def _rounded(bound: float) -> int | None:
    """A bound as a whole number, rounded up since energies are whole."""
    return math.ceil(bound - 1e-3) if math.isfinite(bound) else None


def _read(path: Path) -> Any:
    try:
        return dimod.lp.load(str(path))
    except OSError:
        raise
    except Exception as error:
        # The parser raises in many ways.
        raise DataError(
            "this file cannot be read as a problem",
            where=str(path),
            rule="what its ending says: an LP file",
            received=f"{type(error).__name__}: {error}",
            remedy="write it again, or rename it to what it is",
        ) from error


class _Model:
    """A constrained quadratic model as CP-SAT takes it: products are variables of their own."""

    def __init__(self, cqm: Any, path: Path) -> None:
        from ortools.sat.python import cp_model

        self.cqm, self.path = cqm, path
        if not len(cqm.variables):
            raise DataError(
                "this file has no problem",
                where=str(path),
                rule="at least one variable",
                received="none",
                remedy="write it again, or rename it to what it is",
            )
        real = [name for name in cqm.variables if cqm.vartype(name) is dimod.REAL]
        if real:
            raise DataError(
                "this problem has variables that are not whole",
                where=str(path),
                rule="variables in the sections Binary or General",
                received=", ".join(map(str, real[:5])),
                remedy="declare them, or use a solver of linear programs",
            )
        self.model = cp_model.CpModel()
        self.ends = {
            name: (self._whole(cqm.lower_bound(name)), self._whole(cqm.upper_bound(name)))
            for name in cqm.variables
        }
        self.variables = {
            str(name): self.model.new_int_var(low, high, str(name))
            for name, (low, high) in self.ends.items()
        }
        self._products: dict[tuple[str, str], Any] = {}
        for constraint in cqm.constraints.values():
            value = self._expression(constraint.lhs)
            aim = self._whole(constraint.rhs)
            relations = {"<=": value <= aim, ">=": value >= aim, "==": value == aim}
            self.model.add(relations[constraint.sense.value])
        self.model.minimize(self._expression(cqm.objective))

    def _expression(self, form: Any) -> Any:
        linear = [self._whole(c) * self.variables[str(v)] for v, c in form.linear.items()]
        pairs = [self._whole(c) * self._product(*p) for p, c in form.quadratic.items()]
        return sum([*linear, *pairs]) + self._whole(form.offset)

    def _product(self, left: Any, right: Any) -> Any:
        key = (str(left), str(right)) if str(left) <= str(right) else (str(right), str(left))
        if key not in self._products:
            corners = [a * b for a, b in product(self.ends[left], self.ends[right])]
            made = self.model.new_int_var(min(corners), max(corners), "*".join(key))
            self.model.add_multiplication_equality(made, [self.variables[one] for one in key])
            self._products[key] = made
        return self._products[key]

    def _whole(self, value: float) -> int:
        if Fraction(value).denominator == 1:
            return int(value)
        raise DataError(
            "a number of this problem is not whole",
            where=str(self.path),
            rule="whole coefficients, sides and bounds",
            received=value,
            remedy="multiply rows and objective by their denominators",
        )
