"""The decomposed engine as a strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from isinglearn.errors import OptionError
from isinglearn.nn import Parameters, Sequential
from isinglearn.training.decomposed.block_solvers import block_solver
from isinglearn.training.decomposed.engine import Decomposed
from isinglearn.training.decomposed.options import Options as BlockOptions
from isinglearn.training.strategy import Progress, Strategy, Task

MOST_SPINS = 256


class Decomposition(Strategy):
    """Every step small QUBOs, one per unit, whose size does not depend on the data."""

    name = "decomposed"
    losses: ClassVar[tuple[str, ...]] = ("cross_entropy", "logistic", "hinge", "square")
    Options: ClassVar[Any] = BlockOptions

    def __init__(self, task: Task, options: BlockOptions) -> None:
        if task.weights is not None:
            raise OptionError(
                "sample weights are not taken by blocks",
                where="sample_weight with strategy='decomposed'",
                rule="none",
                received="weights",
                remedy="repeat samples, or use strategy='direct'",
            )
        chosen = replace(options, max_spins=task.max_spins or MOST_SPINS)
        super().__init__(task, chosen)
        self.engine = Decomposed(
            task.network,
            task.X,
            task.y,
            loss=task.loss,
            options=chosen,
            seed=task.seed,
            solver=block_solver(task.solver),
            parallel=task.parallel,
        )
        self.counts = self.engine.counts

    @property
    def network(self) -> Sequential:
        """The engine's network."""
        return self.engine.chain.network

    @property
    def parameters(self) -> Parameters:
        """The engine's result."""
        return self.engine.result

    @property
    def done(self) -> bool:
        """All steps were taken."""
        return self.engine.done

    def step(self) -> Progress:
        """One batch."""
        loss = self.engine.step()
        self.counts = self.engine.counts
        return Progress(loss)

    def evaluate(
        self, X: ArrayLike, y: ArrayLike, parameters: Parameters | None = None
    ) -> tuple[float, float]:
        """With the scale of the outputs that was learned."""
        return self.engine.evaluate(X, y, parameters)

    def own_state(self) -> dict[str, Any]:
        """The engine's."""
        return {f"engine.{name}": value for name, value in self.engine.state().items()}

    def take_own_state(self, state: Mapping[str, Any]) -> None:
        """Hand it to the engine."""
        mine = {k.removeprefix("engine."): v for k, v in state.items() if k.startswith("engine.")}
        self.engine.restore(mine)
        self.counts = self.engine.counts
