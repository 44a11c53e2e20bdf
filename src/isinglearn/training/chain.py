"""A network of Linear and Sign modules as a chain of plain arrays, for trainers that use derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import DataError, NetworkError, OverflowRefused
from isinglearn.nn import Linear, Parameters, Sequential, Sign
from isinglearn.nn.module import ParameterSpec
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.training.chunks import Chunks

Floats = NDArray[Any]

# Rows looked at together where the whole data is passed through: bounds the memory, not the result.
CHUNK = 8192


@dataclass(frozen=True, eq=False)
class Layer:
    """``s = weight_factor * a W' + bias_factor * b`` in numerators.

    Attributes
    ----------
    name
        "layer1" and so on.
    weight, bias
        Shapes, domains and frozen entries; no bias where the layer has none.
    weight_factor, bias_factor
        What brings both products to the layer's common denominator.
    """

    name: str
    weight: ParameterSpec
    bias: ParameterSpec | None
    weight_factor: int
    bias_factor: int

    @property
    def units(self) -> int:
        """Number of outputs."""
        return self.weight.shape[0]

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return self.weight.shape[1]

    def sums(self, weight: Floats, bias: Floats | None, values: Floats) -> Floats:
        """Turn inputs (samples, inputs) into sums (samples, units), exact while ``dtype`` holds them."""
        result = values @ weight.T
        if self.weight_factor != 1:
            result *= values.dtype.type(self.weight_factor)
        if bias is not None:
            result += values.dtype.type(self.bias_factor) * bias
        return result


@dataclass(frozen=True, eq=False)
class Chain:
    """A resolved network, its layers, and the float type in which its sums are exact."""

    network: Sequential
    layers: tuple[Layer, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, network: Sequential, X: NDArray[Any]) -> Chain:
        """Turn a network and its integer inputs into a chain; other modules are an error."""
        modules = list(network.modules)
        fits = [isinstance(m, Sign if i % 2 else Linear) for i, m in enumerate(modules)]
        if not all(fits) or len(modules) % 2 == 0:
            raise NetworkError(
                "training by derivatives is defined for layers with signs between them",
                where="network",
                rule="Linear, Sign, Linear, ..., Linear",
                received=repr(network),
                remedy="use another strategy or baseline for this network",
            )
        largest = largest_input(X)
        resolved = network.resolved(bit_count(largest - 1) if largest > 1 else 0)
        layers, scale, kind = [], 1, np.dtype(np.float32)
        reach = float(largest)
        for name, module in resolved:
            if isinstance(module, Linear):
                factors = module._factors(scale)
                specs = module.parameters
                layers.append(
                    Layer(name, specs[0], specs[1] if module.use_bias else None, *factors)
                )
            reach = module.reach(reach, scale)
            kind = np.promote_types(kind, _exact_type(reach, name))
            scale = module.scale(scale)
        return cls(resolved, tuple(layers), kind)

    @property
    def last(self) -> Layer:
        """The output layer."""
        return self.layers[-1]

    def arrays(self, parameters: Mapping[str, IntArray]) -> list[tuple[Floats, Floats | None]]:
        """Turn parameters into (weight, bias) of every layer, in the chain's float type."""
        return [
            (
                parameters[f"{layer.name}.weight"].astype(self.dtype),
                None if layer.bias is None else parameters[f"{layer.name}.bias"].astype(self.dtype),
            )
            for layer in self.layers
        ]

    def forward(self, parameters: Mapping[str, IntArray], X: NDArray[Any]) -> Floats:
        """Turn inputs into output numerators, in chunks; equal to ``network.forward``, by BLAS."""
        arrays = self.arrays(parameters)
        outputs = np.empty((len(X), self.last.units), self.dtype)
        for at in range(0, len(X), CHUNK):
            values = np.asarray(X[at : at + CHUNK], self.dtype)
            for layer, (weight, bias) in zip(self.layers, arrays, strict=True):
                sums = layer.sums(weight, bias, values)
                if layer is not self.last:
                    values = signs(sums)
            outputs[at : at + CHUNK] = sums
        return outputs

    def check(self, parameters: Mapping[str, IntArray]) -> Parameters:
        """Turn given parameters into a copy, or raise if shape, domain or a frozen entry does not fit."""
        checked: Parameters = {}
        for name, spec in self.network.parameters.items():
            value = np.asarray(parameters.get(name, np.nan))
            fits = value.shape == spec.shape and value.dtype.kind in "iu"
            whole = value.astype(np.int64) if fits else np.zeros(spec.shape, np.int64)
            inside = spec.domain.contains(whole[spec.free])
            if not fits or not inside or (whole != spec.frozen)[~spec.free].any():
                raise NetworkError(
                    "parameters do not fit the network",
                    where=name,
                    rule=f"integers of shape {spec.shape} in {spec.domain.lo}..{spec.domain.hi}, "
                    "frozen entries as frozen",
                    received="nothing"
                    if name not in parameters
                    else f"{value.dtype} of {value.shape}",
                    remedy="start from parameters of the same network",
                )
            checked[name] = whole.copy()
        return checked


def signs(sums: Floats) -> Floats:
    """+1 where a sum is at least 0, else -1, in the same type."""
    one = sums.dtype.type(1)
    return np.where(sums >= 0, one, -one)


def largest_input(X: NDArray[Any]) -> int:
    """Turn inputs, read in chunks, into their largest magnitude."""
    return max(
        (int(np.abs(np.asarray(X[at : at + CHUNK], np.int64)).max(initial=0)) for at in _starts(X)),
        default=0,
    )


def mean_input(X: NDArray[Any]) -> NDArray[np.float64]:
    """Turn inputs, read in chunks, into the mean of every feature."""
    total = sum(np.asarray(X[at : at + CHUNK]).sum(axis=0, dtype=np.float64) for at in _starts(X))
    return np.asarray(total) / max(len(X), 1)


def _starts(X: NDArray[Any]) -> range:
    return range(0, len(X), CHUNK)


def _exact_type(reach: float, name: str) -> np.dtype[Any]:
    """The smallest float type that holds all integers of this magnitude."""
    for kind in (np.float32, np.float64):
        if reach < 2.0 ** (np.finfo(kind).nmant + 1):
            return np.dtype(kind)
    raise OverflowRefused(
        "sums can be too large for exact floats",
        where=name,
        rule="magnitudes below 2^53",
        received=f"up to {reach:.3g}",
        remedy="use fewer input bits or smaller domains",
    )


def inputs_of(X: ArrayLike | Chunks) -> NDArray[Any]:
    """Turn inputs into a two-dimensional array of whole numbers without copying one, or raise."""
    inputs: Any = X if isinstance(X, np.ndarray | Chunks) else np.asarray(X)
    if inputs.ndim != 2 or not inputs.size or inputs.dtype.kind not in "iub":
        raise DataError(
            "these are no inputs of a quantised network",
            where="X",
            rule="integers of shape (samples, features)",
            received=f"{inputs.dtype} of shape {inputs.shape}",
            remedy="quantise the features first: isinglearn.quantise",
        )
    return inputs


def check_rows(chain: Chain, inputs: NDArray[Any], targets: NDArray[Any]) -> None:
    """Raise if inputs and labels do not fit each other or the network."""
    if len(inputs) != len(targets) or inputs.shape[1] != chain.layers[0].inputs:
        raise DataError(
            "data do not fit each other or the network",
            where="X, y",
            rule=f"{chain.layers[0].inputs} features, one label per row of X",
            received=f"inputs of shape {inputs.shape}, {len(targets)} labels",
            remedy="check how they were split",
        )
