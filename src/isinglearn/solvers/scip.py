"""SCIP on the QCBO as a mixed-integer program: a second proof, independent of CP-SAT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from isinglearn.errors import check_choice
from isinglearn.problem.forms import QCBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.exchange import Row
from isinglearn.solvers.mixed_integer import GAP, PRODUCTS, Cost, Findings, Program, evaluated
from isinglearn.solvers.session import Session


class SCIP(Solver):
    """Proves the optimum of the QCBO, or returns the best network and bound when its time is over."""

    name = "scip"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QCBO,)
    traits: ClassVar[Traits] = Traits(exact=True, starts=True)
    requires: ClassVar[tuple[str, ...]] = ("pyscipopt",)
    install: ClassVar[str] = "pip install 'isinglearn[scip]'"

    @dataclass(frozen=True)
    class Options:
        """Translation.

        Attributes
        ----------
        products
            ``"linear"``: products with a bit or spin as linear rows. ``"quadratic"``: all products as
            they are, for SCIP to treat; slower where it was measured.
        """

        products: str = "linear"

        def __post_init__(self) -> None:
            check_choice(self.products, PRODUCTS, "products")

    def solve(self, form: QCBO, options: Options, session: Session) -> Answer:
        """Turn a QCBO into its best assignment, with a proof if the time suffices."""
        findings = Findings(form, session, linear_products=options.products == "linear")
        findings.tell()
        if findings.program.impossible:
            return findings.answer(infeasible=True)
        if session.stopped:
            return findings.answer()
        return _Search(findings, session).run()


class _Search:
    """One run of SCIP. All that SCIP refers to lives as long as this does."""

    def __init__(self, findings: Findings, session: Session) -> None:
        from pyscipopt import Model

        self.findings, self.session = findings, session
        self.model = Model()
        self.model.hideOutput()
        program = findings.program
        self.columns = [self._column(program, index) for index in range(len(program.lo))]
        for relation in program.relations:
            value = self._expression(relation.row)
            self.model.addCons(value == 0 if relation.sense == "==" else value >= 0)
        self.costs = [self._cost(cost) for cost in program.costs]
        self._minimise(program)
        if findings.best is not None:
            self._start(program, program.columns(findings.best))
        self._set_parameters()
        self.listener = self._listen()

    def _column(self, program: Program, index: int) -> Any:
        low, high = program.lo[index], program.hi[index]
        kind = "C" if index >= program.whole else "B" if (low, high) == (0, 1) else "I"
        return self.model.addVar(vtype=kind, lb=low, ub=high)

    def _expression(self, row: Row) -> Any:
        from pyscipopt import quicksum

        return quicksum(
            math.prod((self.columns[index] for index in term), start=factor) for term, factor in row
        )

    def _cost(self, cost: Cost) -> Any:
        """A variable that is no less than the cost of a residual; minimising makes it equal."""
        paid = [price for _, price in cost.points]
        column = self.model.addVar(vtype="C", lb=min(paid), ub=max(paid))
        value = self._expression(cost.row)
        for (left, below), (right, above) in pairwise(cost.points):
            rise = above - below
            self.model.addCons((right - left) * (column - below) - rise * (value - left) >= 0)
        return column

    def _minimise(self, program: Program) -> None:
        from pyscipopt import quicksum

        weights = [cost.weight for cost in program.costs]
        total = quicksum(
            weight * column for weight, column in zip(weights, self.costs, strict=True)
        ) + quicksum(factor * self.columns[index] for index, factor in program.factors.items())
        self.model.setObjective(total + program.constant)

    def _start(self, program: Program, columns: list[int]) -> None:
        solution = self.model.createSol()
        for column, value in zip(self.columns, columns, strict=True):
            self.model.setSolVal(solution, column, value)
        for column, cost in zip(self.costs, program.costs, strict=True):
            price = dict(cost.points)[evaluated(cost.row, columns)]
            self.model.setSolVal(solution, column, price)
        # Checked by SCIP when it starts, and dropped if it disagrees.
        self.model.addSol(solution)

    def _set_parameters(self) -> None:
        self.model.setParams(
            {
                "limits/time": self.session.left,
                "limits/absgap": GAP,
                # Wall-clock time, as the session counts.
                "timing/clocktype": 2,
                "randomization/randomseedshift": self.session.seed,
                "randomization/permutationseed": self.session.seed,
                "randomization/lpseed": self.session.seed,
                "lp/threads": 1,
                # SCIP 10.0.2 sometimes lost the optimum by its cuts or at a restart after them, and called
                # a worse network optimal (task II, paper form). The proofs are no slower without.
                "separating/maxrounds": 0,
                "separating/maxroundsroot": 0,
                "presolving/maxrestarts": 0,
                "estimation/restarts/restartpolicy": "n",
                # Interchangeable units have an order already.
                "misc/usesymmetry": 0,
                # Ctrl-C is the session's.
                "misc/catchctrlc": False,
            }
        )

    def _listen(self) -> Any:
        """An event handler that reports solutions and bounds from SCIP's own thread."""
        from pyscipopt import Eventhdlr
        from pyscipopt.scip import PY_SCIP_EVENTTYPE

        search = self
        better, solved = PY_SCIP_EVENTTYPE.BESTSOLFOUND, PY_SCIP_EVENTTYPE.NODESOLVED

        class Listener(Eventhdlr):
            def eventinit(self) -> None:
                for kind in (better, solved):
                    self.model.catchEvent(kind, self)

            def eventexit(self) -> None:
                for kind in (better, solved):
                    self.model.dropEvent(kind, self)

            def eventexec(self, event: Any) -> None:
                if event.getType() == better:
                    search.report_solution()
                else:
                    search.report_bound()

        listener = Listener()
        self.model.includeEventhdlr(listener, "isinglearn", "passes on solutions and bounds")
        return listener

    def report_solution(self) -> None:
        """Report SCIP's best solution."""
        best = self.model.getBestSol()
        self.findings.found([self.model.getSolVal(best, column) for column in self.columns])

    def report_bound(self) -> None:
        """Report what SCIP has proved; its infinity stands for no bound."""
        bound = self.model.getDualbound()
        if abs(bound) < self.model.infinity():
            self.findings.proved(bound)

    def run(self) -> Answer:
        """Search in the background, pass on what is found, turn the end into an answer."""
        # The other variant of optimize would hold Python's lock, and with it the caller's thread.
        self.session.run_in_background(
            self.model.optimizeNogil, self.model.interruptSolve, self.findings.tell
        )
        if self.model.getNSols():
            self.report_solution()
        self.report_bound()
        infeasible = self.model.getStatus() == "infeasible"
        # From PySCIPOpt 6.3 on. Before, SCIP's memory is kept until Python collects the circle of model
        # and listener.
        if hasattr(self.model, "free"):
            self.model.free()
        return self.findings.answer(infeasible=infeasible)
