"""Direct: the whole training as one problem, solved once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from isinglearn.errors import SolverError
from isinglearn.nn import Parameters, Sequential
from isinglearn.solvers.auto import choose
from isinglearn.solvers.run import solve
from isinglearn.solvers.session import LONGEST
from isinglearn.training.compiling import LOSSES, compiled_whole, loss_of_network
from isinglearn.training.strategy import (
    Progress,
    Strategy,
    Task,
    loaded_parameters,
    saved_parameters,
)

# Constraints beyond which a search with proof seldom ends, and finds worse networks than annealing.
MOST_ROWS = 300


class Direct(Strategy):
    """Compile once, solve once: exact where the solver is."""

    name = "direct"
    losses: ClassVar[tuple[str, ...]] = tuple(LOSSES)

    @dataclass(frozen=True)
    class Options:
        """How to compile.

        Attributes
        ----------
        formulation
            ``"compact"`` or ``"paper"``.
        label_scale
            Labels are multiples of ``1 / label_scale``.
        """

        formulation: str = "compact"
        label_scale: int = 1

    def __init__(self, task: Task, options: Options) -> None:
        super().__init__(task, options)
        self.problem = compiled_whole(
            task, formulation=options.formulation, label_scale=options.label_scale
        )
        self._found: Parameters | None = None

    @property
    def network(self) -> Sequential:
        """The problem's network."""
        return self.problem.network

    @property
    def done(self) -> bool:
        """After the one step."""
        return self.counts["step"] > 0

    @property
    def parameters(self) -> Parameters:
        """The best network found; before the step the one the compiler knows."""
        if self._found is not None:
            return self._found
        return self.problem.parameters(self.problem.incumbent[0])

    @property
    def total(self) -> int | None:
        """One."""
        return 1

    def training_loss(self, parameters: Parameters, odds: float | None = None) -> float:
        """The problem's."""
        return loss_of_network(self.problem, parameters)

    def step(self) -> Progress:
        """Solve the problem."""
        task = self.task
        left = min(task.left(), LONGEST)
        if left <= 0:
            # Lowering and solving what took all the time to be compiled would take a multiple of it.
            self.counts["step"] = 1
            message = "the time was over before the solver could begin: the compiler's own network"
            return Progress(self.training_loss(self.parameters), message)
        solver, limit, reason = self._solver(None if left == LONGEST else left)
        known = task.start if self._found is None else self._found
        self.run = solve(
            self.problem,
            solver,
            time_limit=limit,
            seed=task.seed,
            on_event=task.tell,
            start="incumbent" if known is None else known,
        )
        self.run = replace(self.run, reason=reason)
        self.counts["step"] = 1
        if self.run.result.bits is not None:
            self.counts["qubos"] = 1
            self.counts["spins"] = self.problem.qubo.num_variables
        if not len(self.run.result.vectors):
            raise SolverError(
                "the solver returned no network",
                where=f"solver={self.run.solver!r}",
                rule="at least one",
                received=self.run.note or "none",
                remedy="give it more time, or use another solver",
            )
        found = self.run.best.parameters
        if self._found is None or self.training_loss(found) <= self.training_loss(self._found):
            self._found = found
        message = f"{self.run.solver}: {self.run.status.value}"
        return Progress(float(self.run.best.loss), message)

    def _solver(self, limit: float | None) -> tuple[Any, float | None, str]:
        """The solver asked for; where a proof is out of reach our annealer, not a search for one."""
        if not isinstance(self.task.solver, str) or self.task.solver != "auto":
            return self.task.solver, limit, ""
        choice = choose(self.problem, limit)
        rows = sum(constraint.rows.num_rows for constraint in self.problem.qcbo.constraints)
        if choice.solver == "cpsat" and rows > MOST_ROWS:
            reason = f"{rows} constraints are more than a search with proof usually ends with"
            return "annealer", limit, reason
        return choice.solver, choice.time_limit, choice.reason

    def own_state(self) -> dict[str, Any]:
        """The network found."""
        return saved_parameters(self.parameters, "found")

    def take_own_state(self, state: Mapping[str, Any]) -> None:
        """Begin anew, but with the network found: the proof, or the search for it, is not in a file."""
        if self.counts["step"]:
            self._found = loaded_parameters(state, self.network, "found")
            self.counts = dict.fromkeys(self.counts, 0)
