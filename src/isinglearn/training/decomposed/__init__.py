"""The decomposed engine as a strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.nn import Parameters, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.training.chunks import rows_of
from isinglearn.training.decomposed.block_solvers import block_solver
from isinglearn.training.decomposed.engine import Decomposed
from isinglearn.training.decomposed.options import Options as BlockOptions
from isinglearn.training.decomposed.quadratic import DenseAnnealer
from isinglearn.training.labels import ODDS
from isinglearn.training.strategy import Progress, Strategy, Task
from isinglearn.training.weights import whole

MOST_SPINS = 256
# Rows that samples are repeated to at most, if that is more than so many times their number.
_ROWS, _TIMES = 2000, 2


class Decomposition(Strategy):
    """Every step small QUBOs, one per unit, whose size does not depend on the data."""

    name = "decomposed"
    losses: ClassVar[tuple[str, ...]] = (
        "cross_entropy",
        "logistic",
        "squared_hinge",
        "square",
    )
    Options: ClassVar[Any] = BlockOptions

    def __init__(self, task: Task, options: BlockOptions) -> None:
        chosen = replace(options, max_spins=task.max_spins or MOST_SPINS)
        super().__init__(task, chosen)
        X, y = _repeated(task)
        self.engine = Decomposed(
            task.network,
            X,
            y,
            loss=task.loss,
            options=chosen,
            seed=task.seed,
            solver=block_solver(task.solver),
            start=task.start,
            parallel=task.parallel,
        )
        if task.start_odds is not None and self.engine.loss.scaled:
            self.engine.scale = self.engine.best_scale = self._scale(task.start_odds)
        self.counts = self.engine.counts

    @classmethod
    def prepare(cls, task: Task) -> None:
        """Run our own kernels once; a machine of somebody else's may be paid for and is left alone."""
        solver = block_solver(task.solver)
        if isinstance(solver, DenseAnnealer):
            solver(np.eye(2), 0)

    @property
    def odds(self) -> float | None:
        """The scale of the outputs that is learned with the network."""
        if self.task.loss not in ODDS:
            return None
        return self.engine.result_scale * self.network.output_scale

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
        self,
        X: ArrayLike,
        y: ArrayLike,
        parameters: Parameters | None = None,
        weights: IntArray | None = None,
    ) -> tuple[float, float]:
        """With the scale of the outputs that was learned."""
        return self.engine.evaluate(X, y, parameters, weights)

    def training_loss(self, parameters: Parameters, odds: float | None = None) -> float:
        """With the scale that belongs to the parameters."""
        task = self.task
        scale = self.engine.result_scale
        if odds is not None and self.engine.loss.scaled:
            scale = self._scale(odds)
        return self.engine.evaluate(task.X, task.y, parameters, task.weights, scale)[0]

    def _scale(self, odds: float) -> float:
        """Turn what multiplies outputs into what multiplies their numerators."""
        return odds / self.network.output_scale

    def own_state(self) -> dict[str, Any]:
        """The engine's."""
        return {f"engine.{name}": value for name, value in self.engine.state().items()}

    def take_own_state(self, state: Mapping[str, Any]) -> None:
        """Hand it to the engine."""
        mine = {k.removeprefix("engine."): v for k, v in state.items() if k.startswith("engine.")}
        self.engine.restore(mine)
        self.counts = self.engine.counts


def _repeated(task: Task) -> tuple[Any, Any]:
    """Samples and labels; a sample of more weight comes more often."""
    if task.weights is None:
        return task.X, task.y
    counts = whole(task.weights.astype(np.float64), max(_ROWS, _TIMES * len(task.y)))
    chosen = np.repeat(np.arange(len(counts)), counts)
    return rows_of(task.X, chosen), task.y[chosen]
