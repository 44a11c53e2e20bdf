"""Model: a network with its parameters, what training returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.data import whole_inputs
from isinglearn.errors import NetworkError
from isinglearn.model import files as model_files
from isinglearn.model.quantiser import Quantiser
from isinglearn.nn.module import Parameters, ParameterSpec
from isinglearn.nn.sequential import Sequential
from isinglearn.problem.encodings import IntArray


@dataclass(frozen=True, eq=False)
class Model:
    """A network and numbers for its parameters, checked against each other.

    Attributes
    ----------
    network
        Resolved, and with what it takes from the training data: ``problem.network``, for example.
    parameters
        Whole numerators by name, in the domains of the network: ``run.best.parameters``, for example.
    quantiser
        What turns real features into the network's inputs; without one inputs are whole numbers already.
    classes
        Names to predict by: two for one output, the first for -1, else one for each output.
    target_range
        Of a regression: what the outputs -1 and +1 stand for.
    features
        Names of the inputs, for data that comes in named columns.
    odds
        What outputs are multiplied by to be logarithms of odds; ``None`` where the loss did not speak of
        probabilities.
    """

    network: Sequential
    parameters: Parameters
    quantiser: Quantiser | None = field(default=None, kw_only=True)
    classes: tuple[str | float, ...] | None = field(default=None, kw_only=True)
    target_range: tuple[float, float] | None = field(default=None, kw_only=True)
    features: tuple[str, ...] | None = field(default=None, kw_only=True)
    odds: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        specs, given = _ready(self.network), self.parameters
        if not isinstance(given, Mapping) or set(specs) != set(given):
            raise NetworkError(
                "these are not the parameters of this network",
                where="Model(parameters)",
                rule="arrays by name: " + (", ".join(specs) or "none"),
                received=", ".join(map(str, given)) if isinstance(given, Mapping) else repr(given),
                remedy="pass all parameters by their full names",
            )
        own = {name: _checked(spec, given[name], name) for name, spec in specs.items()}
        object.__setattr__(self, "parameters", own)
        _check_faces(self)

    @property
    def largest_input(self) -> int:
        """``2^B``: inputs of the network lie in ``[-2^B, 2^B]``."""
        assert self.network.input_bits is not None
        return 1 << self.network.input_bits

    def outputs(self, X: ArrayLike) -> NDArray[np.float64]:
        """Turn inputs into outputs, shape (samples, outputs).

        ``X`` holds whole numbers, or real ones where there is a quantiser. It is flat, (samples, features),
        or of images: (samples, channels, rows, columns), or (samples, rows, columns) where there is one
        channel.
        """
        return self._numerators(X) / float(self.network.output_scale)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Turn inputs into predictions, shape (samples,).

        With one output its sign: +1 where it is at least 0, else -1. With several the index of the largest,
        the first of equal ones. With ``classes`` their names instead, with ``target_range`` numbers in it.
        """
        if self.target_range is not None:
            low, high = self.target_range
            share = (self.outputs(X)[:, 0] + 1) / 2
            return low * (1 - share) + high * share
        numerators = self._numerators(X)
        if self.network.out_features > 1:
            chosen = numerators.argmax(axis=1)
        elif self.classes is None:
            return np.where(numerators[:, 0] >= 0, 1, -1)
        else:
            chosen = (numerators[:, 0] >= 0).astype(np.int64)
        return chosen if self.classes is None else np.array(self.classes)[chosen]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Turn inputs into probabilities, shape (samples, classes): logistic or softmax of the odds.

        With one output the classes are -1 and +1, and half a step of its grid is added, so that 0, which
        counts as the second class, is on its side.
        """
        if self.odds is None:
            raise NetworkError(
                "this model knows no probabilities",
                where="Model.predict_proba",
                rule="a model that was trained with the loss 'cross_entropy' or 'logistic'",
                received="one without odds",
                remedy="train it with such a loss, or use outputs or predict",
            )
        odds = self.margins(X) * self.odds
        if odds.ndim == 1:
            odds = np.column_stack([np.zeros(len(odds)), odds])
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def margins(self, X: ArrayLike) -> NDArray[np.float64]:
        """Turn inputs into what decides: above 0 or not, shape (samples,), or the largest of several."""
        numerators = self._numerators(X)
        shifted = numerators[:, 0] + 0.5 if numerators.shape[1] == 1 else numerators
        return np.asarray(shifted / float(self.network.output_scale), dtype=np.float64)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that :func:`isinglearn.load` reads: JSON, whole or not at all."""
        model_files.save(self, path)

    def _numerators(self, X: ArrayLike) -> IntArray:
        if self.quantiser is not None:
            X = self.quantiser(X)
        inputs = whole_inputs(X, self.network.input_shape)
        # Raises where 64 bits would not hold all numbers on the way.
        self.network.reach(float(np.abs(inputs).max()))
        return self.network.forward(self.parameters, inputs)


def load(path: str | os.PathLike[str]) -> Model:
    """Turn a file that :meth:`Model.save` wrote into the model again.

    No code of the file is run; it only names known modules and their arguments. Of a trained model this is
    the plain :class:`Model`.
    """
    return model_files.read(path, Model)


def _ready(network: object) -> dict[str, ParameterSpec]:
    """Turn a network into its parameters, or raise if anything in it is still open."""
    fault = f"{network!r} is no Sequential"
    if isinstance(network, Sequential):
        try:
            resolved = all(module.context for module in network.modules)
            if resolved and network.input_bits is not None and network.output_scale:
                return network.parameters
            fault = "one that is not resolved"
        except AssertionError as error:
            fault = str(error)
    raise NetworkError(
        "this network cannot compute yet",
        where="Model(network)",
        rule="a Sequential that is resolved and knows its statistics",
        received=fault,
        remedy="use problem.network, or network.resolved(input_bits)",
    )


def _check_faces(model: Model) -> None:
    """Raise where quantiser, classes or range do not fit the network."""
    outputs = model.network.out_features
    classes, ends = model.classes, model.target_range
    faults = (
        (
            model.quantiser is not None
            and (
                model.quantiser.low.size != model.network.in_features
                or 1 << model.quantiser.bits > model.largest_input
            ),
            "quantiser",
            f"{model.network.in_features} features, at most the network's input_bits",
        ),
        (
            classes is not None and len(set(classes)) != max(outputs, 2),
            "classes",
            f"{max(outputs, 2)} different names for {outputs} outputs",
        ),
        (
            ends is not None
            and (outputs > 1 or classes is not None or not np.isfinite(ends).all()),
            "target_range",
            "two finite numbers, for one output and no classes",
        ),
        (
            model.features is not None and len(set(model.features)) != model.network.in_features,
            "features",
            f"{model.network.in_features} different names",
        ),
        (
            model.odds is not None and not (np.isfinite(model.odds) and model.odds > 0),
            "odds",
            "a finite number above 0",
        ),
    )
    for fault, name, rule in faults:
        if fault:
            raise NetworkError(
                "this does not fit the network",
                where=f"Model({name})",
                rule=rule,
                received=repr(getattr(model, name)),
                remedy="leave it out, or give what the network was trained with",
            )


def _checked(spec: ParameterSpec, given: ArrayLike, name: str) -> IntArray:
    """Turn numerators into a read-only array, or raise where they break a rule of the parameter."""
    try:
        array = np.asarray(given)
        fault = f"shape {array.shape}, type {array.dtype}"
        if array.shape == spec.shape and array.dtype.kind in "iu":
            own = array.astype(np.int64)
            kept = np.array_equal(own[~spec.free], spec.frozen[~spec.free])
            if kept and spec.domain.contains(own[spec.free]):
                own.setflags(write=False)
                return own
            fault = "others" if kept else "others where it is frozen"
    except ValueError as error:
        fault = str(error)
    raise NetworkError(
        "these numbers do not fit the parameter",
        where=f"Model(parameters[{name!r}])",
        rule=f"whole numerators of {spec.domain}, shape {spec.shape}",
        received=fault,
        remedy="values are numerators over the denominator of the domain",
    )
