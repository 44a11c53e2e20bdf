"""What a training says while it runs, and what it returns."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import check_choice
from isinglearn.model import Model
from isinglearn.solvers.run import Run


@dataclass(frozen=True)
class TrainingEvent:
    """News of a training.

    Attributes
    ----------
    step, total, seconds
        Steps done, how many there will be at most if that is known, and time since the start of this
        process' part.
    loss, bound
        Training loss that the step saw, of a batch or of all data; what is proved to be no more than any.
    validation_loss, validation_accuracy
        On the validation data, where it was looked at.
    qubos, spins
        QUBOs solved so far, and the size of the largest.
    message
        What cannot be said in figures.
    """

    step: int
    seconds: float
    loss: float | None = None
    validation_loss: float | None = None
    validation_accuracy: float | None = None
    qubos: int = 0
    spins: int = 0
    message: str = ""
    bound: float | None = None
    total: int | None = None


# Returning False ends the training with the best network so far.
OnTraining = Callable[[TrainingEvent], bool | None]


@dataclass(frozen=True, eq=False)
class Trained(Model):
    """The network that training found, with how it was found.

    Attributes
    ----------
    strategy, reason
        Which strategy, and why, if it was chosen automatically.
    loss_name, loss
        What was minimised, and its value on the training data.
    loss_curve
        Training loss seen by each step.
    validation_curve
        Rows (step, loss, accuracy) on the validation data.
    steps, qubos, max_spins, seconds
        How much it took; the time of an interrupted run is that of its last part.
    finished
        Whether it ended by itself, not by a time limit or a wish to stop.
    run
        What answered it, where the training was one problem: that problem, all networks found, the proof.
    solver, seed
        As they were asked for; of a sampler the name of its kind.
    weighted
        Whether samples had weights, by which the loss is then taken.
    """

    strategy: str = ""
    reason: str = ""
    loss_name: str = ""
    loss: float = float("nan")
    loss_curve: NDArray[np.float64] = None  # type: ignore[assignment]
    validation_curve: NDArray[np.float64] = None  # type: ignore[assignment]
    steps: int = 0
    qubos: int = 0
    max_spins: int = 0
    seconds: float = 0.0
    finished: bool = True
    run: Run | None = None
    solver: str = "auto"
    seed: int = 0
    weighted: bool = False

    @property
    def bound(self) -> float | None:
        """No network of this shape has less training loss; proved. ``None`` if nothing is.

        That no loss is below 0 counts where the loss is 0, and is no proof else.
        """
        if self.loss <= 0:
            return 0.0
        if self.run is None or self.run.bound is None or self.run.bound_is_trivial:
            return None
        return float(self.run.bound)

    @property
    def gap(self) -> float | None:
        """How much less the training loss could be at most; ``None`` if nothing is proved."""
        return None if self.bound is None else max(self.loss - self.bound, 0.0)

    @property
    def verdict(self) -> str:
        """What is proved of the network, in words."""
        found = f"training loss ({self.loss_name}) {self.loss:.6g}, recomputed by the forward pass"
        broken = () if self.run is None else self.run.verdict.violations
        faults = "; violated: " + ", ".join(broken) if broken else ""
        if self.loss <= 0:
            how = "proved optimal (no loss is below 0):"
        elif self.run is None or self.gap is None:
            how = "nothing is proved of the optimum;"
        elif self.gap == 0:
            how = f"proved optimal (by {self.run.solver}): no network of this shape has less"
        else:
            how = f"at most {self.gap:.6g} above the optimum, by {self.run.solver};"
        return f"{how} {found}{faults}"

    def report(
        self,
        path: str | os.PathLike[str],
        X: ArrayLike,
        y: ArrayLike,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        **choices: Any,
    ) -> None:
        """Write the training as one self-contained HTML page: how good it is, pictures, how to repeat it.

        Parameters
        ----------
        path
            Where to write the page.
        X, y
            The data it was trained on, as this model takes it.
        X_test, y_test
            Data of the same kind that was not trained on.
        **choices
            Further ones of ``isinglearn.report.record.record_of_training``: ``title``, ``feature_names``;
            ``yardstick=False`` and ``prove_seconds=0`` spend no time on a baseline and on proving more.
        """
        from isinglearn.report.html import write_report
        from isinglearn.report.record import CHOICES, record_of_training

        for name in choices:
            check_choice(name, (*CHOICES, "title", "feature_names"), "report")
        write_report(record_of_training(self, X, y, X_test, y_test, **choices), path)
