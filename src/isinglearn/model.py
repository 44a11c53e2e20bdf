"""Model: a network with its parameters, what training returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.data import whole_inputs
from isinglearn.errors import NetworkError
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
    """

    network: Sequential
    parameters: Parameters

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

    @property
    def largest_input(self) -> int:
        """``2^B``: inputs of the network lie in ``[-2^B, 2^B]``."""
        assert self.network.input_bits is not None
        return 1 << self.network.input_bits

    def outputs(self, X: ArrayLike) -> NDArray[np.float64]:
        """Turn integer inputs into outputs, shape (samples, outputs).

        ``X`` is flat, (samples, features), or of images: (samples, channels, rows, columns), or (samples,
        rows, columns) where there is one channel.
        """
        return self._numerators(X) / float(self.network.output_scale)

    def predict(self, X: ArrayLike) -> IntArray:
        """Turn integer inputs into predictions, shape (samples,).

        With one output its sign: +1 where it is at least 0, else -1. With several the index of the largest,
        the first of equal ones.
        """
        numerators = self._numerators(X)
        if self.network.out_features > 1:
            return numerators.argmax(axis=1)
        return np.where(numerators[:, 0] >= 0, 1, -1)

    def _numerators(self, X: ArrayLike) -> IntArray:
        inputs = whole_inputs(X, self.network.input_shape)
        # Raises where 64 bits would not hold all numbers on the way.
        self.network.reach(float(np.abs(inputs).max()))
        return self.network.forward(self.parameters, inputs)


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
