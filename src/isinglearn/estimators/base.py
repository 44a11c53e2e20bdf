"""What both estimators share: their parameters, real inputs as whole numbers, the training itself."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from isinglearn.errors import OptionError, check_count
from isinglearn.estimators.networks import network_of
from isinglearn.estimators.samples import merged
from isinglearn.model.quantiser import Quantiser
from isinglearn.nn import Hinge
from isinglearn.problem.encodings import IntArray
from isinglearn.training import STRATEGIES, OnTraining, Trained, TrainingEvent, train
from isinglearn.training.labels import Kind
from isinglearn.training.weights import whole_weights

Floats = NDArray[np.float64]
# Lines that ``verbose`` writes for a whole training.
_LINES = 20
# Blocks settle within this many steps on small data.
_BLOCK_STEPS = 500
# Size of a problem up to which its QUBO is built only to be counted.
_MOST_BITS = 20_000


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
    model_: Trained

    @property
    def _strategy(self) -> str:
        """Blocks where the network allows them: they take data of any size in little time."""
        blocks = self.activation == "sign"
        if self.strategy == "decomposed" and not blocks:
            raise OptionError(
                "only signs can be trained block by block",
                where="activation with strategy='decomposed'",
                rule="'sign'",
                received=repr(self.activation),
                remedy="use strategy='direct', or 'auto', and few samples",
            )
        if self.strategy != "auto":
            return self.strategy
        curved = not (isinstance(self.loss, Hinge) or (self.loss == "hinge"))
        return "decomposed" if blocks and curved else "direct"

    @property
    def _seed(self) -> int:
        """The number given, so that the same one does the same everywhere; else one drawn."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def _reason(self) -> str:
        if self.strategy != "auto":
            return ""
        if self._strategy == "decomposed":
            return "blocks take data of any size in little time"
        return "only signs, and losses with curvature, can be trained block by block"

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **options: Any
    ) -> tuple[Floats, NDArray[Any], Floats]:
        """Turn what ``fit`` is given into arrays."""
        inputs, labels = validate_data(self, X, y, dtype=np.float64, **options)
        weights = _check_sample_weight(sample_weight, inputs, dtype=np.float64)
        whole_weights(weights, len(weights))
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
        on_event: OnTraining | None,
        label_scale: int = 1,
        **faces: Any,
    ) -> Self:
        """Train on real inputs and whole labels over ``label_scale``, and keep what came out."""
        start = self.model_ if self._goes_on else None
        quantiser = self._quantiser(X)
        rows, labels, sums = merged(quantiser(X), y, weights)
        targets = labels / float(label_scale) if label_scale > 1 else labels
        network = network_of(
            X.shape[1],
            self.hidden,
            outputs,
            activation=self.activation,
            input_bits=self.input_bits,
            weight_bits=self.weight_bits,
            numbers=kind == "numbers",
        )
        strategy = self._strategy
        options = self._options(strategy, label_scale)
        trained = train(
            network,
            rows,
            targets,
            strategy=strategy,
            solver=self.solver,
            loss=self._loss(outputs),
            sample_weight=sums,
            start=start,
            time_limit=self.time_limit,
            seed=self._seed,
            on_event=on_event or self._writer(options.get("steps")),
            **options,
        )
        names = getattr(self, "feature_names_in_", None)
        features = None if names is None else tuple(names)
        self.model_ = replace(
            trained, reason=self._reason, quantiser=quantiser, features=features, **faces
        )
        self.loss_ = trained.loss
        self.loss_curve_ = trained.loss_curve.tolist()
        self.n_iter_ = trained.steps
        self.n_qubos_ = trained.qubos
        self.n_spins_ = _spins(trained)
        self.verdict_ = trained.verdict
        self.optimality_gap_ = trained.gap
        return self

    def _options(self, strategy: str, label_scale: int) -> dict[str, Any]:
        """The strategy's options, of those that it knows; what it does not know must not be asked of it."""
        if strategy not in STRATEGIES:
            # Which the training refuses.
            return {}
        known = {field.name for field in fields(STRATEGIES[strategy].Options)}
        if "formulation" not in known and self.formulation != "compact":
            raise OptionError(
                "this strategy has one formulation only",
                where=f"formulation with strategy={strategy!r}",
                rule="'compact'",
                received=repr(self.formulation),
                remedy="use strategy='direct'",
            )
        steps = _BLOCK_STEPS if strategy == "decomposed" else None
        offered = {
            "formulation": self.formulation,
            "label_scale": label_scale,
            "steps": steps if self.max_iter is None else check_count(self.max_iter, "max_iter"),
        }
        asked = {name: value for name, value in offered.items() if value is not None}
        return {name: value for name, value in asked.items() if name in known}

    def _loss(self, outputs: int) -> Any:
        return self.loss

    def _writer(self, steps: int | None) -> OnTraining | None:
        """What writes news to the standard output, or nothing."""
        if not self.verbose:
            return None
        every = max(1, (steps or 1) // _LINES)

        def write(event: TrainingEvent) -> None:
            if event.step <= 1 or event.step % every == 0 or event.message:
                loss = "" if event.loss is None else f" loss {event.loss:.6g}"
                text = f"step {event.step}{loss}, {event.qubos} QUBOs, {event.seconds:.1f} s"
                sys.stdout.write(f"[{type(self).__name__}] {text} {event.message}".rstrip() + "\n")

        return write

    def _inputs(self, X: ArrayLike) -> Floats:
        """Turn what is to be predicted into an array."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))


def _spins(trained: Trained) -> int:
    """The largest QUBO; of a problem that was solved in another form, the one that it stands for."""
    run = trained.run
    if trained.max_spins or run is None:
        return trained.max_spins
    if "qubo" not in vars(run.problem) and run.problem.qcbo.num_bits > _MOST_BITS:
        # Building it only to count it would take longer than the training.
        return 0
    return int(run.problem.qubo.num_variables)
