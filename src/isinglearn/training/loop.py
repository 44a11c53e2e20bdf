"""The loop around a strategy: clock, events, validation, checkpoints.

What decides about the result happens by counts of steps, never by the clock, so that the same seed gives
the same result, interrupted or not; only a time limit cuts a run short.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import OptionError, check_count
from isinglearn.model import Model
from isinglearn.nn import Parameters
from isinglearn.solvers.session import Event, Session
from isinglearn.training import checkpoint as files
from isinglearn.training.strategy import Strategy, loaded_parameters, saved_parameters
from isinglearn.training.trained import OnTraining, Trained, TrainingEvent

# Steps between looks at the validation data.
EVERY = 25

Data = tuple[NDArray[Any], NDArray[Any]]


def _name(solver: Any) -> str:
    return solver if isinstance(solver, str) else type(solver).__name__


class Loop:
    """Steps of a strategy until it is done, or enough."""

    def __init__(
        self,
        strategy: Strategy,
        held_out: Data | None,
        patience: int | None,
        clock: Session,
        on_event: OnTraining | None,
    ) -> None:
        self.strategy, self.held_out, self.clock, self.on_event = (
            strategy,
            held_out,
            clock,
            on_event,
        )
        self.patience = None if patience is None else check_count(patience, "patience")
        if self.patience is not None and held_out is None:
            raise OptionError(
                "patience needs data to look at",
                where="patience",
                rule="validation data",
                received="none",
                remedy="pass validation=0.1",
            )
        if strategy.task.start is not None:
            # Raises where it is no network of this shape.
            Model(strategy.network, strategy.task.start)
        self.losses: list[float] = []
        self.looks: list[tuple[float, float, float]] = []
        self.best: Parameters | None = None
        self.waited = 0
        self.path: Path | None = None
        self.every = 0.0
        self._saved = 0.0

    # -- the loop ----------------------------------------------------------------------------------

    def run(self, reason: str) -> Trained:
        """Step, look, tell, save; then the model."""
        with self.clock.catching_interrupts():
            while not (self.strategy.done or self.enough or self.clock.stopped):
                try:
                    self._step()
                except Exception as error:
                    self._rescue(error)
                    raise
        # One problem is done after its step, also where its solver had to stop.
        cut_short = self.strategy.run is not None and self.clock.stopped
        finished = (self.strategy.done and not cut_short) or self.enough
        self._save(force=True)
        return self._trained(reason, finished)

    def _rescue(self, error: Exception) -> None:
        """Hand out what there is with an error: the best network so far, and where the state is."""
        kept = self.best if self.best is not None else self.strategy.parameters
        error.best = Model(self.strategy.network, dict(kept))  # type: ignore[attr-defined]
        error.add_note("The best network so far is this exception's attribute 'best'.")
        if self.path is not None and self.path.exists():
            error.add_note(f"The same call goes on from the state in {self.path}.")

    @property
    def enough(self) -> bool:
        """Whether the validation loss has not fallen for long enough."""
        return self.patience is not None and self.waited >= self.patience

    def _step(self) -> None:
        progress = self.strategy.step()
        step = self.strategy.counts["step"]
        if step > len(self.losses):
            # A step that was left undone is none.
            self.losses.append(float("nan") if progress.loss is None else progress.loss)
        look = self._look(step) if self.strategy.done or step % EVERY == 0 else None
        # Saved before anybody is told: who stops here finds this very state again.
        self._save(force=self.strategy.done)
        validation_loss, accuracy = look or (None, None)
        run = self.strategy.run
        self._tell(
            loss=progress.loss,
            bound=None if run is None or run.bound is None else float(run.bound),
            validation_loss=validation_loss,
            validation_accuracy=accuracy,
            message=progress.message,
        )

    def relay(self, event: Event) -> bool:
        """Pass on what a solver tells while a step is under way; False once it shall end."""
        loss, bound = (None if v is None else float(v) for v in (event.loss, event.bound))
        self._tell(loss=loss, bound=bound, message=event.message)
        return not self.clock.stopped

    def _tell(self, **news: Any) -> None:
        if self.on_event is None:
            return
        counts = self.strategy.counts
        event = TrainingEvent(
            counts["step"],
            self.clock.elapsed,
            qubos=counts["qubos"],
            spins=counts["spins"],
            total=self.strategy.total,
            **news,
        )
        if self.on_event(event) is False:
            self.clock.stop()

    def _look(self, step: int) -> tuple[float, float] | None:
        if self.held_out is None:
            return None
        loss, accuracy = self.strategy.evaluate(*self.held_out)
        least = min((row[1] for row in self.looks), default=np.inf)
        self.looks.append((step, loss, accuracy))
        self.waited += 1
        if loss < least:
            self.best, self.waited = self.strategy.parameters, 0
        return loss, accuracy

    def _trained(self, reason: str, finished: bool) -> Trained:
        strategy, counts = self.strategy, self.strategy.counts
        kept = self.best if self.best is not None else strategy.parameters
        loss = strategy.training_loss(kept)
        odds, task = strategy.odds, strategy.task
        if task.start is not None and self.held_out is None:
            before = strategy.training_loss(task.start, task.start_odds)
            if before < loss:
                kept, loss = task.start, before
                odds = odds if task.start_odds is None else task.start_odds
        return Trained(
            strategy.network,
            {name: np.array(value) for name, value in kept.items()},
            strategy.name,
            reason,
            strategy.task.loss,
            loss,
            np.array(self.losses),
            np.array(self.looks).reshape(-1, 3),
            counts["step"],
            counts["qubos"],
            counts["spins"],
            self.clock.elapsed,
            finished,
            strategy.run,
            _name(strategy.task.solver),
            strategy.task.seed,
            task.weights is not None,
            odds=odds,
        )

    # -- checkpoints -------------------------------------------------------------------------------

    def save_into(self, path: Path, every: float) -> None:
        """Keep the state in a file from now on; take it up if it is there already."""
        self.path, self.every = path, every
        if not path.exists():
            return
        state = files.load(path)
        self.strategy.restore({k.removeprefix("s:"): v for k, v in state.items() if k[:2] == "s:"})
        self.losses = state["losses"].tolist()[: self.strategy.counts["step"]]
        self.looks = [tuple(row) for row in state["looks"].tolist()]
        self.waited = int(state["waited"])
        if int(state["has_best"]):
            self.best = loaded_parameters(state, self.strategy.network, "kept")

    def _save(self, *, force: bool = False) -> None:
        if self.path is None or not (force or self.clock.elapsed - self._saved >= self.every):
            return
        state: dict[str, Any] = {f"s:{k}": v for k, v in self.strategy.state().items()}
        state |= {"losses": np.array(self.losses), "looks": np.array(self.looks).reshape(-1, 3)}
        state |= {"waited": self.waited, "has_best": int(self.best is not None)}
        if self.best is not None:
            state |= saved_parameters(self.best, "kept")
        files.save(self.path, state)
        self._saved = self.clock.elapsed
