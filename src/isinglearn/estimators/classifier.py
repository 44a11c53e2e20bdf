"""IsingClassifier: labels of any kind, two classes or more."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from isinglearn.errors import DataError, OptionError
from isinglearn.estimators.base import Floats, _IsingEstimator
from isinglearn.training import OnTraining
from isinglearn.training.labels import ODDS, class_targets


def _has_odds(classifier: IsingClassifier) -> bool:
    """Whether the loss speaks of probabilities."""
    return isinstance(classifier._loss(2), str) and classifier._loss(2) in ODDS


class IsingClassifier(ClassifierMixin, _IsingEstimator):  # type: ignore[misc]
    """A quantised network that an Ising machine trains, as a scikit-learn classifier.

    Features are quantised, each from its range in the training data. Two classes have one output, its sign
    decides; more have one output each, the largest decides.

    Parameters
    ----------
    hidden
        Widths of the hidden layers; ``()`` for a linear classifier.
    activation : {"sign", "relu", "leaky_relu", "abs"}
        Behind every hidden layer. Only signs are trained block by block; others need ``"direct"``, which
        ``"auto"`` then takes, and few samples.
    loss
        ``"cross_entropy"`` (with two classes the same as ``"logistic"``), ``"logistic"``,
        ``"squared_hinge"``, ``"square"`` or ``nn.MSE()``, ``"hinge"`` or ``nn.Hinge()``; by default cross
        entropy, and the square for strategies that solve exact problems.
    input_bits
        Features become whole numbers in ``[-2^B, 2^B]``.
    weight_bits
        Weights of ``b`` bits are whole numbers up to ``2^(b-1) - 1``, 1 bit is a sign; ``None`` is for the
        paper's domains: signs in the hidden layers.
    formulation : {"compact", "paper"}
        How one problem for all samples is written; blocks have one form.
    solver
        A solver's name, a dimod sampler, or ``"auto"``.
    strategy
        ``"decomposed"`` (small QUBOs for any amount of data), ``"direct"`` (one problem, with a proof where
        the solver gives one), any other of :func:`isinglearn.train`, or ``"auto"``: decomposed for signs
        and all losses but the hinge, else direct.
    max_iter
        Steps of strategies that take many; ``None`` for 500 with blocks, and for what the others think best.
    time_limit
        Seconds for the training; the best network so far is kept. Results then depend on the machine. One
        large problem takes time to be compiled and its answer to be read, which comes on top.
    random_state
        Seed, generator or ``None``, as everywhere in scikit-learn.
    verbose
        Whether to write progress.
    warm_start
        Go on from the last fit: with its quantiser, and its network, which blocks start from and all other
        strategies keep unless they find a better one.
    class_weight
        Weights by class, ``"balanced"``, or ``None``.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        As everywhere.
    model_
        The network with its quantiser and classes, and how it was found (:class:`isinglearn.Trained`);
        ``model_.save(path)`` writes it.
    loss_, loss_curve_, n_iter_
        Training loss, that seen by each step, and their number.
    n_spins_, n_qubos_
        Size of the largest QUBO (0 where none was built, and it would be very large), and how many were
        solved.
    verdict_, optimality_gap_
        What is proved of the result, in words; how much less the training loss could be at most, ``None``
        where nothing is proved.
    """

    classes_: NDArray[Any]

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
        class_weight: Any = None,
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
        self.class_weight = class_weight

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        on_event: OnTraining | None = None,
    ) -> Self:
        """Turn real features and labels into a trained classifier.

        ``sample_weight`` and ``on_event`` are those of :func:`isinglearn.train`.
        """
        inputs, labels, weights = self._checked(X, y, sample_weight)
        check_classification_targets(labels)
        given = weights > 0
        classes, number = np.unique(labels[given], return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                "the samples are all of one class",
                where="y",
                rule="at least two classes among samples of positive weight",
                received=f"the class {classes.tolist()[0]!r} alone",
                remedy="give samples of another class",
            )
        if self._goes_on and not np.array_equal(classes, self.classes_):
            raise DataError(
                "training cannot go on with other classes",
                where="y with warm_start=True",
                rule=f"the classes {self.classes_.tolist()}",
                received=classes.tolist(),
                remedy="set warm_start=False",
            )
        weights = weights[given] * self._class_weights(classes, number, weights[given])[number]
        some = weights > 0
        targets, outputs, kind = class_targets(number, len(classes))
        self._train(
            inputs[given][some],
            targets[some],
            weights[some],
            outputs,
            kind,
            on_event,
            classes=tuple(_plain(name) for name in classes.tolist()),
        )
        # Only now: after an error the estimator is what it was.
        self.classes_ = classes
        return self

    def _class_weights(self, classes: NDArray[Any], number: Any, weights: Floats) -> Floats:
        """Turn ``class_weight`` into a factor for each class."""
        if self.class_weight is None:
            return np.ones(len(classes))
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            sums = np.bincount(number, weights=weights)
            return np.asarray(sums.sum() / (len(classes) * sums))
        if not isinstance(self.class_weight, dict):
            raise OptionError(
                "these are no weights of classes",
                where="class_weight",
                rule="None, 'balanced', or weights by class",
                received=repr(self.class_weight),
                remedy="class_weight='balanced' makes all classes count the same",
            )
        factors = np.array([self.class_weight.get(name, 1.0) for name in classes.tolist()], float)
        if not np.isfinite(factors).all() or (factors < 0).any() or not factors.any():
            raise OptionError(
                "these are no weights of classes",
                where="class_weight",
                rule="finite numbers >= 0",
                received=repr(self.class_weight),
                remedy="a class that is not named has the weight 1",
            )
        return factors

    def _loss(self, outputs: int) -> Any:
        """With two classes cross entropy is the logistic loss of one output."""
        loss = self.loss
        if loss is None and self._strategy == "decomposed":
            loss = "cross_entropy"
        return "logistic" if loss == "cross_entropy" and outputs == 1 else loss

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Turn real features into labels."""
        values = self.decision_function(X)
        chosen = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def decision_function(self, X: ArrayLike) -> Floats:
        """Turn real features into outputs: one per sample for two classes, else one per class.

        With two classes half a step of the outputs' grid is added, so that 0, which counts as the second
        class, is on its side.
        """
        inputs = self._inputs(X)
        return self.model_.margins(inputs)

    @available_if(_has_odds)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Turn real features into probabilities of the classes: logistic or softmax of the scaled outputs.

        Only with losses that speak of odds, ``"cross_entropy"`` and ``"logistic"``.
        """
        inputs = self._inputs(X)
        return self.model_.predict_proba(inputs)


def _plain(name: Any) -> str | float:
    """Turn a label into what a file can hold."""
    return name if isinstance(name, str | int | float) else str(name)
