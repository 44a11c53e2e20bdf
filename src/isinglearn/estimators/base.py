"""What both estimators share: their parameters, real inputs as whole numbers, the training itself."""

from __future__ import annotations

import sys
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from isinglearn.errors import OptionError, check_count
from isinglearn.estimators.fitting import Data, Fit, Settings, fit
from isinglearn.estimators.networks import network_of
from isinglearn.estimators.weights import check_weights, merged
from isinglearn.model import Model
from isinglearn.model.quantiser import Quantiser
from isinglearn.problem.encodings import IntArray
from isinglearn.training import TrainingEvent
from isinglearn.training.labels import Kind

Floats = NDArray[np.float64]
# Lines that ``verbose`` writes for a whole training.
_LINES = 20
_BLOCK_STEPS = 500


class _IsingEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and fitted attributes of both."""

    # Declared for readers; the subclasses' constructors set them.
    hidden: Any
    activation: str
    loss: Any
    input_bits: int
    weight_bits: int | None
    formulation: str
    solver: Any
    strategy: str
    max_iter: int | None
    time_limit: float | None
    random_state: Any
    verbose: int
    warm_start: bool
    model_: Model
    _fit: Fit

    @property
    def _strategy(self) -> str:
        """Blocks where the network allows them: they take data of any size in little time."""
        if self.strategy == "auto":
            return "decomposed" if self.activation == "sign" else "direct"
        if self.strategy == "decomposed" and self.activation != "sign":
            raise OptionError(
                "only signs can be trained block by block",
                where="activation with strategy='decomposed'",
                rule="'sign'",
                received=repr(self.activation),
                remedy="use strategy='direct', or 'auto', and few samples",
            )
        return self.strategy

    @property
    def _steps(self) -> int | None:
        """As many as asked for; blocks settle within this many on small data."""
        if self.max_iter is not None:
            return check_count(self.max_iter, "max_iter")
        return _BLOCK_STEPS if self._strategy == "decomposed" else None

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **options: Any
    ) -> tuple[Floats, NDArray[Any], Floats]:
        """Turn what ``fit`` is given into arrays."""
        inputs, labels = validate_data(self, X, y, dtype=np.float64, **options)
        weights = _check_sample_weight(sample_weight, inputs, dtype=np.float64)
        check_weights(weights)
        return inputs, labels, weights

    def _quantiser(self, X: Floats) -> Quantiser:
        """That of the data, or the last one where training goes on."""
        check_count(self.input_bits, "input_bits", 0, 30)
        known = self.model_.quantiser if self._goes_on else None
        if known is not None and known.bits == self.input_bits:
            return known
        return Quantiser.of(X, self.input_bits)

    @property
    def _goes_on(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "model_")

    def _train(
        self,
        X: Floats,
        y: IntArray,
        weights: Floats,
        outputs: int,
        kind: Kind,
        label_scale: int = 1,
        **faces: Any,
    ) -> Self:
        """Train on real inputs and whole labels over ``label_scale``, and keep what came out."""
        start: Fit | None = self._fit if self._goes_on else None
        quantiser = self._quantiser(X)
        rows, labels, sums = merged(quantiser(X), y, weights)
        if label_scale > 1:
            labels = labels / float(label_scale)  # type: ignore[assignment]
        network = network_of(
            X.shape[1],
            self.hidden,
            outputs,
            activation=self.activation,
            input_bits=self.input_bits,
            weight_bits=self.weight_bits,
            numbers=kind == "numbers",
        )
        settings = Settings(
            self._strategy,
            self.solver,
            self._named_loss(outputs),
            self.formulation,
            self._steps,
            self.time_limit,
            int(check_random_state(self.random_state).randint(2**31 - 1)),
        )
        data = Data(rows, labels, sums, kind, label_scale)
        self._fit = fit(network, data, settings, start, self._on_event())
        trained = self._fit.trained
        self.trained_ = trained
        self.model_ = Model(trained.network, trained.parameters, quantiser=quantiser, **faces)
        self.loss_ = trained.loss
        self.loss_curve_ = trained.loss_curve.tolist()
        self.n_iter_ = trained.steps
        self.n_qubos_ = trained.qubos
        self.n_spins_ = self._fit.spins
        self.verdict_ = self._fit.verdict
        self.optimality_gap_ = self._fit.gap
        return self

    def _named_loss(self, outputs: int) -> Any:
        return self.loss

    def _on_event(self) -> Any:
        """What writes news to the standard output, or nothing."""
        if not self.verbose:
            return None
        every = max(1, (self._steps or 1) // _LINES)

        def write(event: TrainingEvent) -> None:
            if event.step == 1 or event.step % every == 0 or event.message:
                loss = "" if event.loss is None else f" loss {event.loss:.6g}"
                text = f"step {event.step}{loss}, {event.qubos} QUBOs, {event.seconds:.1f} s"
                sys.stdout.write(f"[{type(self).__name__}] {text} {event.message}".rstrip() + "\n")

        return write

    def _outputs(self, X: ArrayLike) -> Floats:
        """Turn real inputs into output numerators, (samples, outputs)."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        model: Model = self.model_
        return model.outputs(inputs) * model.network.output_scale
