"""IsingRegressor: numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from isinglearn.errors import check_choice
from isinglearn.estimators.base import Floats, _IsingEstimator
from isinglearn.nn import MSE
from isinglearn.training import OnTraining
from isinglearn.training.labels import on_grid

# Targets become multiples of one over this, much finer than what so small networks resolve.
LABEL_SCALE = 128


class IsingRegressor(RegressorMixin, _IsingEstimator):  # type: ignore[misc]
    """A quantised network that an Ising machine trains, as a scikit-learn regressor.

    Features are quantised, each from its range in the training data; targets are brought from theirs to
    ``[-1, 1]`` and rounded to multiples of 1/128. Both ranges are part of the model.

    Parameters
    ----------
    hidden, activation, input_bits, weight_bits, formulation, solver, strategy, max_iter, time_limit
        As of :class:`IsingClassifier`.
    random_state, verbose, warm_start
        As of :class:`IsingClassifier`.
    loss
        ``"square"`` or ``nn.MSE()``, of the targets in ``[-1, 1]``.

    Attributes
    ----------
    target_range_
        What -1 and +1 stand for.
    n_features_in_, model_, loss_, loss_curve_, n_iter_, n_spins_, n_qubos_, verdict_, optimality_gap_
        As of :class:`IsingClassifier`; losses are those of the targets in ``[-1, 1]``.
    """

    target_range_: tuple[float, float]

    def __init__(
        self,
        hidden: Any = (8,),
        *,
        activation: str = "sign",
        loss: Any = None,
        input_bits: int = 4,
        weight_bits: int | None = 4,
        formulation: str = "compact",
        solver: Any = "auto",
        strategy: str = "auto",
        max_iter: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.hidden = hidden
        self.activation = activation
        self.loss = loss
        self.input_bits = input_bits
        self.weight_bits = weight_bits
        self.formulation = formulation
        self.solver = solver
        self.strategy = strategy
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        on_event: OnTraining | None = None,
    ) -> Self:
        """Turn real features and targets into a trained regressor, as :class:`IsingClassifier`."""
        inputs, targets, weights = self._checked(X, y, sample_weight, y_numeric=True)
        given = weights > 0
        targets = targets[given].astype(np.float64)
        low, high = float(targets.min()), float(targets.max())
        if self._goes_on:
            low, high = self.target_range_
        self._train(
            inputs[given],
            on_grid(targets, low, high, LABEL_SCALE),
            weights[given],
            1,
            "numbers",
            on_event,
            LABEL_SCALE,
            target_range=(low, high),
        )
        self.target_range_ = (low, high)
        return self

    def _loss(self, outputs: int) -> Any:
        if not isinstance(self.loss, MSE | None):
            check_choice(self.loss, ("square",), "loss")
        return "square"

    def predict(self, X: ArrayLike) -> Floats:
        """Turn real features into numbers."""
        inputs = self._inputs(X)
        return self.model_.predict(inputs)
