"""What normalisations share: a learned whole-number scale and shift for every group of units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isinglearn.errors import NetworkError
from isinglearn.nn.domains import Domain, Int, check_domain
from isinglearn.nn.module import Module, ParameterSpec
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression

# Values of a deviation that are told apart; each needs a quotient of its own while parameters are changed.
MOST_DEVIATIONS = 256


class _Norm(Module):
    """A learned whole-number scale and shift for every group of units: ``y = gamma n + beta``."""

    kind: ClassVar[str] = "layer"
    parameter_names: ClassVar[tuple[str, ...]] = ("scale", "shift")

    def __init__(self, gain: Domain | None, shift: Domain | None, affine: bool) -> None:
        self.gain = Int(1, 2) if gain is None else gain
        self.shift = Int(-2, 1) if shift is None else shift
        self.affine = affine
        for name, domain in (("gain", self.gain), ("shift", self.shift)):
            check_domain(domain, f"{type(self).__name__}({name})")
            if domain.denominator > 1:
                raise NetworkError(
                    "scale and shift are whole numbers",
                    where=f"{type(self).__name__}({name})",
                    rule="nn.Int(lo, hi) or nn.Spin()",
                    received=str(domain),
                    remedy="the layer behind can have finer weights",
                )

    def _groups(self) -> IntArray:
        """Group of each unit: a channel of an image, or the unit itself."""
        shape = self.in_shape
        return np.repeat(np.arange(shape[0]), math.prod(shape[1:]))

    @property
    def count(self) -> int:
        """Number of groups."""
        return self.in_shape[0]

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """``scale`` and ``shift``, one for each group."""
        if not self.affine:
            return ()
        return (
            ParameterSpec.trainable("scale", "weight", (self.count,), self.gain),
            ParameterSpec.trainable("shift", "bias", (self.count,), self.shift),
        )

    def _largest(self) -> tuple[float, float]:
        """Largest gain and shift."""
        specs = {spec.name: spec.largest for spec in self.parameters}
        return specs.get("scale", 1.0), specs.get("shift", 0.0)

    def _of_units(self, values: IntArray) -> IntArray:
        """Turn numbers of the groups (..., groups) into those of units (..., 1, units)."""
        return values[..., None, self._groups()]

    def _apply_affine(
        self, parameters: Mapping[str, IntArray], values: IntArray, scale: int
    ) -> IntArray:
        if not self.affine:
            return values
        gain, shift = self._of_units(parameters["scale"]), self._of_units(parameters["shift"])
        return gain * values + scale * shift

    def _spread_constant(self, graph: Graph, values: IntArray) -> Value:
        """Turn numbers of the groups into a constant that meets all their units."""
        return graph.constant(values.reshape(-1, *[1] * (len(self.in_shape) - 1)))

    def _affine_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        if not self.affine:
            return values
        gain = self._spread_constant(graph, parameters["scale"])
        shift = self._spread_constant(graph, scale * parameters["shift"])
        return graph.add(graph.multiply(gain, values), shift)

    def _spread_tensor(self, values: torch.Tensor) -> torch.Tensor:
        """Turn numbers of the groups into a tensor that meets all their units."""
        return values.reshape(-1, *[1] * (len(self.in_shape) - 1))

    def _affine_torch(
        self, layer: torch.nn.Module, values: torch.Tensor, scale: int
    ) -> torch.Tensor:
        if not self.affine:
            return values
        gain, shift = self._spread_tensor(layer.scale), self._spread_tensor(layer.shift)
        return gain * values + scale * shift

    def _lower_affine(
        self, builder: Builder, parameters: Mapping[str, Expression], values: Expression
    ) -> Expression:
        if not self.affine:
            return values
        values = builder.named("n", values)
        gain = spread(parameters["scale"], self._groups(), values.shape)
        shift = spread(parameters["shift"], self._groups(), values.shape)
        result = builder.product(gain, values) + shift.scaled(values.scale)
        return result.with_scale(values.scale)


def spread(shared: Expression, groups: IntArray, shape: tuple[int, int]) -> Expression:
    """Turn one expression per group into one per sample and unit."""
    return shared.take(np.tile(groups, shape[0]), shape)
