"""Memory: what training keeps of the batches it has seen, as the quadratic model of every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isinglearn.nn import Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.training.batches import Source
from isinglearn.training.chain import CHUNK, Chain, Layer
from isinglearn.training.decomposed.blocks import Change, Model
from isinglearn.training.decomposed.quadratic import Matrix
from isinglearn.training.decomposed.slopes import LayerSlopes, moments

# What a checkpoint has of every layer.
_KEPT = ("slope", "square", "curvature", "moments")


@dataclass(eq=False)
class Memory:
    """Running means over batches, for one layer.

    Attributes
    ----------
    layer, shift
        The layer, and what its inputs are counted from.
    typical
        Root mean square of its sums with random weights; signs are ramps of this width.
    slope, square
        Derivatives by weights and bias at the present parameters, and the mean of their squares over
        batches: (units, inputs + 1) each.
    curvature, moments
        The factors of the second derivative.
    """

    layer: Layer
    shift: NDArray[np.float64]
    typical: float
    slope: NDArray[np.float64]
    square: NDArray[np.float64]
    curvature: NDArray[np.float64]
    moments: Matrix

    @classmethod
    def blank(cls, layer: Layer, shift: NDArray[np.float64], products: Matrix | None) -> Self:
        """Nothing seen yet; the products of the first layer's inputs are known in advance."""
        size = layer.inputs + 1
        known = np.zeros((size, size)) if products is None else products
        # Inputs that are signs have mean square 1.
        spread = (
            float(layer.inputs) * layer.weight_factor**2
            if products is None
            else float(np.trace(known[:-1, :-1]))
        )
        domain = layer.weight.domain
        mean_square = (domain.lo**2 + domain.lo * domain.hi + domain.hi**2) / 3
        width = np.sqrt(spread * (1.0 if domain.encoding == "spin" else mean_square))
        shape = (layer.units, size)
        return cls(
            layer,
            shift,
            max(float(width), 1.0),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(layer.units),
            known,
        )

    def take(self, seen: LayerSlopes, rate: float) -> None:
        """Move the means towards those of a batch."""
        self.slope += rate * (seen.slope - self.slope)
        self.square += rate * (seen.slope**2 - self.square)
        self.curvature += rate * (seen.curvature - self.curvature)
        if seen.moments.size:
            self.moments += rate * (seen.moments - self.moments)

    def carry(self, changes: Sequence[Change], stiffness: float) -> None:
        """Carry the slopes to where the parameters have gone: ``g + G v``."""
        for change in changes:
            bend = stiffness * self.curvature[change.unit]
            self.slope[change.unit] += bend * (self.moments @ change.step)

    def model(self, parameters: Parameters, price: float, stiffness: float) -> Model:
        """Turn the means into a model; a change by 1 costs ``price`` times a typical slope of a batch."""
        name = self.layer.name
        # Half the parameter's own, half the layer's: where inputs are rare a slope alone would be cheap, and
        # weights there would be fitted to a few samples.
        square = self.square.copy()
        square[:, :-1] += square[:, :-1].mean()
        square[:, :-1] /= 2
        return Model(
            self.layer,
            np.arange(self.layer.units),
            parameters[f"{name}.weight"],
            parameters.get(f"{name}.bias"),
            self.shift,
            self.slope,
            stiffness * self.curvature,
            self.moments,
            price * np.sqrt(square),
            self.typical,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that changes, copied."""
        return {f"{self.layer.name}.{key}": getattr(self, key).copy() for key in _KEPT}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what :meth:`state` gave."""
        for key in _KEPT:
            setattr(self, key, np.array(state[f"{self.layer.name}.{key}"], dtype=np.float64))


def blank_memories(chain: Chain, X: Source) -> list[Memory]:
    """Turn a chain and its data into memories; looks at a bounded number of rows, evenly spaced."""
    rows: IntArray = np.unique(np.linspace(0, len(X) - 1, 2 * CHUNK).astype(np.int64))
    sample = X.rows(rows, np.dtype(np.float64))
    first = chain.layers[0]
    shift = sample.mean(axis=0)
    if not _follows(first, shift):
        shift = np.zeros_like(shift)
    products = moments(first, sample - shift) / len(sample)
    others = [Memory.blank(layer, np.zeros(layer.inputs), None) for layer in chain.layers[1:]]
    return [Memory.blank(first, shift, products), *others]


def _follows(layer: Layer, shift: NDArray[np.float64]) -> bool:
    """Whether every bias can make up for what weights do at the shift."""
    if layer.bias is None or not layer.bias.free.all():
        return False
    reach = layer.weight_factor * layer.weight.largest * float(np.abs(shift).sum())
    domain = layer.bias.domain
    return min(-domain.lo, domain.hi) * layer.bias_factor >= reach


def random_parameters(chain: Chain, memories: Sequence[Memory], seed: int) -> Parameters:
    """Turn a seed into parameters to begin with: random weights, biases that put the mean input at 0."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    found: Parameters = {}
    for layer, memory in zip(chain.layers, memories, strict=True):
        spec, domain = layer.weight, layer.weight.domain
        # Whole numbers begin in the middle half of their range, with room to move either way.
        part = random.uniform(-1 / 4, 1 / 4, spec.shape) * (domain.hi - domain.lo)
        drawn = domain.snap(np.rint((domain.lo + domain.hi) / 2 + part).astype(np.int64))
        if domain.encoding == "spin":
            drawn = np.where(part >= 0, 1, -1)
        weight = np.where(spec.free, drawn, spec.frozen)
        found[f"{layer.name}.weight"] = weight
        if layer.bias is not None:
            wanted = -layer.weight_factor * (weight @ memory.shift) / layer.bias_factor
            bias = layer.bias.domain.snap(np.rint(wanted).astype(np.int64))
            found[f"{layer.name}.bias"] = np.where(layer.bias.free, bias, layer.bias.frozen)
    return found
