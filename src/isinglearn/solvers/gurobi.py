"""Gurobi on the QCBO as a mixed-integer program: the paper's own route, with the gurobipy that you bring.

The licence that comes with gurobipy counts columns and rows, and far fewer columns once anything is
quadratic. Hence products are linear unless asked otherwise and losses piecewise linear objectives, which
add no rows: the paper's five instances fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from isinglearn.errors import ProblemRefused, SolverError, check_choice, check_count
from isinglearn.problem.forms import QCBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.exchange import Row
from isinglearn.solvers.mixed_integer import GAP, PRODUCTS, Cost, Findings, Program, evaluated
from isinglearn.solvers.session import Session

# Gurobi takes seeds below this.
_SEEDS = 2_000_000_000
_LICENCE = (
    "name a licence file by GRB_LICENSE_FILE or put it into your home directory as gurobi.lic (WLS keys "
    "go into such a file too; free for academics: https://www.gurobi.com/academia/), or use "
    "solver='cpsat', which needs none"
)


class Gurobi(Solver):
    """Proves the optimum of the QCBO, or returns the best network and bound when its time is over."""

    name = "gurobi"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QCBO,)
    traits: ClassVar[Traits] = Traits(exact=True, starts=True)
    requires: ClassVar[tuple[str, ...]] = ("gurobipy",)
    install: ClassVar[str] = (
        "pip install gurobipy (proprietary; its own licence allows 2000 variables, beyond that you need "
        "yours: https://www.gurobi.com/academia/)"
    )

    @dataclass(frozen=True)
    class Options:
        """Effort and translation.

        Attributes
        ----------
        threads
            Threads.
        products
            ``"linear"``: products with a bit or spin as linear rows. ``"quadratic"``: all products as
            they are, for Gurobi to treat; a small licence then allows only 200 variables.
        """

        threads: int = 1
        products: str = "linear"

        def __post_init__(self) -> None:
            check_count(self.threads, "threads", 1, 1024)
            check_choice(self.products, PRODUCTS, "products")

    def solve(self, form: QCBO, options: Options, session: Session) -> Answer:
        """Turn a QCBO into its best assignment, with a proof if the time suffices."""
        findings = Findings(form, session, linear_products=options.products == "linear")
        findings.tell()
        if findings.program.impossible:
            return findings.answer(infeasible=True)
        if session.stopped:
            return findings.answer()
        import gurobipy

        try:
            with gurobipy.Env(empty=True) as environment:
                _start(environment)
                with gurobipy.Model(env=environment) as model:
                    return _Search(model, findings, options, session).run()
        except gurobipy.GurobiError as error:
            raise SolverError(
                "Gurobi gave up",
                where="solver='gurobi'",
                received=f"its error {error.errno}, {error}",
                remedy="use solver='cpsat', and report this with the problem",
            ) from error


def _start(environment: Any) -> None:
    """Start Gurobi, which asks for a licence."""
    from gurobipy import GurobiError

    # Set before: not even the licence is printed.
    environment.setParam("OutputFlag", 0)
    try:
        environment.start()
    except GurobiError as error:
        raise SolverError(
            "Gurobi does not start: usually it has found no valid licence",
            where="solver='gurobi'",
            rule="a licence that is valid today and on this machine",
            received=f"its error {error.errno}, {error}",
            remedy=_LICENCE,
        ) from error


class _Search:
    """One run of Gurobi."""

    def __init__(
        self, model: Any, findings: Findings, options: Gurobi.Options, session: Session
    ) -> None:
        self.model, self.findings, self.session = model, findings, session
        program = findings.program
        self.columns = [self._column(program, index) for index in range(len(program.lo))]
        for relation in program.relations:
            value = self._expression(relation.row)
            model.addConstr(value == 0 if relation.sense == "==" else value >= 0)
        self._minimise(program)
        residuals = [self._residual(cost) for cost in program.costs]
        if findings.best is not None:
            values = program.columns(findings.best)
            values += [evaluated(cost.row, values) for cost in program.costs]
            for column, value in zip([*self.columns, *residuals], values, strict=True):
                column.Start = value
        self._set_parameters(options)

    def _column(self, program: Program, index: int) -> Any:
        low, high = program.lo[index], program.hi[index]
        kind = "C" if index >= program.whole else "B" if (low, high) == (0, 1) else "I"
        return self.model.addVar(low, high, vtype=kind)

    def _expression(self, row: Row) -> Any:
        from gurobipy import quicksum

        return quicksum(
            math.prod((self.columns[index] for index in term), start=factor) for term, factor in row
        )

    def _minimise(self, program: Program) -> None:
        from gurobipy import quicksum

        total = quicksum(factor * self.columns[index] for index, factor in program.factors.items())
        self.model.setObjective(total + program.constant)

    def _residual(self, cost: Cost) -> Any:
        """A variable for a residual, with what it costs as its piecewise linear objective."""
        at, paid = zip(*cost.points, strict=True)
        column = self.model.addVar(at[0], at[-1])
        self.model.addConstr(self._expression(cost.row) == column)
        self.model.setPWLObj(column, at, [price * cost.weight for price in paid])
        return column

    def _set_parameters(self, options: Gurobi.Options) -> None:
        for name, value in {
            "Threads": options.threads,
            "Seed": self.session.seed % _SEEDS,
            "TimeLimit": self.session.left,
            "MIPGap": 0,
            "MIPGapAbs": GAP,
            # Products that are left may be anything, not only convex.
            "NonConvex": 2,
            # Rather no solution than one that lives off the tolerances of its whole numbers.
            "IntegralityFocus": 1,
        }.items():
            self.model.setParam(name, value)

    def run(self) -> Answer:
        """Search in the background, pass on what is found, turn the end into an answer."""
        import gurobipy

        self.model.update()
        try:
            self.session.run_in_background(
                lambda: self.model.optimize(self._listen), self.model.terminate, self.findings.tell
            )
        except gurobipy.GurobiError as error:
            if error.errno == gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED:
                raise self._too_large() from error
            raise
        if self.model.SolCount:
            self.findings.found(self.model.getAttr("X", self.columns))
        self._report_bound(self.model.ObjBound)
        # All columns have ends: what is infeasible or unbounded is infeasible.
        infeasible = self.model.Status in (gurobipy.GRB.INFEASIBLE, gurobipy.GRB.INF_OR_UNBD)
        return self.findings.answer(infeasible=infeasible)

    def _listen(self, model: Any, where: int) -> None:
        """Report solutions and bounds from Gurobi's own thread."""
        from gurobipy import GRB

        if where == GRB.Callback.MIPSOL:
            self.findings.found(model.cbGetSolution(self.columns))
        elif where == GRB.Callback.MIP:
            self._report_bound(model.cbGet(GRB.Callback.MIP_OBJBND))

    def _report_bound(self, bound: float) -> None:
        from gurobipy import GRB

        if abs(bound) < GRB.INFINITY:
            self.findings.proved(bound)

    def _too_large(self) -> ProblemRefused:
        model = self.model
        return ProblemRefused(
            "the Gurobi licence is too small for this problem",
            where="solver='gurobi'",
            rule=(
                "the licence that comes with gurobipy allows 2000 variables and 2000 constraints, and "
                "200 variables once anything is quadratic"
            ),
            received=(
                f"{model.NumVars} variables and {model.NumConstrs + model.NumQConstrs} constraints, "
                f"{model.NumQConstrs} of them quadratic"
            ),
            remedy=_LICENCE,
        )
