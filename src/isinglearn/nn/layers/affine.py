"""What linear maps share: quantised weights and biases, their scales, and a sum per unit."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from isinglearn.nn.domains import Domain, Spin, check_domain, offset_binary
from isinglearn.nn.module import Context, Module, ParameterSpec, Shape
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.variables import grid

if TYPE_CHECKING:
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


# Multiplications below which a detour by floats does not pay.
SMALL_PRODUCT = 1 << 16


class _Affine(Module, ABC):
    """``s = W a + b``, each unit a sum over some of the inputs; unset domains follow the paper.

    A subclass says which weight meets which input (``connections``) and computes the sums its own way in
    ``weighted``.
    """

    kind: ClassVar[str] = "layer"
    starts_layer: ClassVar[bool] = True
    parameter_names: ClassVar[tuple[str, ...]] = ("weight", "bias")

    def __init__(self, weight: Domain | None, bias: Domain | None, use_bias: bool) -> None:
        for name, domain in (("weight", weight), ("bias", bias)):
            if domain is not None:
                check_domain(domain, f"{type(self).__name__}({name})")
        self.weight, self.bias, self.use_bias = weight, bias, use_bias

    @property
    @abstractmethod
    def weight_shape(self) -> Shape:
        """Shape of the weights; its first axis is that of the biases."""

    @abstractmethod
    def connections(self) -> tuple[IntArray, IntArray, IntArray]:
        """Triples (unit, entry of the flat weights, input) that make up the sums of one sample."""

    @abstractmethod
    def bias_entries(self) -> IntArray:
        """Entry of the biases for each unit."""

    @abstractmethod
    def weighted(self, weight: IntArray, values: IntArray) -> IntArray:
        """``W a`` in numerators, shape (..., samples, units)."""

    @property
    def fan_in(self) -> int:
        """Inputs of one unit."""
        return math.prod(self.weight_shape[1:])

    def resolved(self, context: Context) -> Self:
        """The layer with the paper's domains where none were given, ``n`` being its fan-in."""
        fan_in = self.fan_in
        if context.position == "last":
            default_weight = default_bias = offset_binary(-fan_in, 2 * fan_in, fan_in)
        else:
            default_weight = Spin()
            default_bias = offset_binary(0, fan_in * 2 ** (context.input_bits + 1))
        chosen = copy.copy(self)
        chosen.context = context
        chosen.weight = self.weight or default_weight
        chosen.bias = self.bias or default_bias
        if context.position == "middle" and self.bias is None and self.use_bias:
            chosen._frozen = {"bias": fan_in - 1, **self._frozen}
        return chosen

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """``weight``, and ``bias`` for its first axis."""
        assert self.weight is not None and self.bias is not None, "resolve the network first"
        shape = self.weight_shape
        specs = [ParameterSpec.trainable("weight", "weight", shape, self.weight)]
        if self.use_bias:
            specs.append(ParameterSpec.trainable("bias", "bias", shape[:1], self.bias))
        return tuple(specs)

    def scale(self, incoming: int) -> int:
        """Common denominator of ``W a`` and ``b``."""
        assert self.weight is not None and self.bias is not None
        product = self.weight.denominator * incoming
        return math.lcm(product, self.bias.denominator) if self.use_bias else product

    def reach(self, incoming: float, scale: int) -> float:
        """Largest weight times largest input for every input, plus the largest bias."""
        weight_factor, bias_factor = self._factors(scale)
        weight, *bias = (spec.largest for spec in self.parameters)
        return weight_factor * weight * incoming * self.fan_in + bias_factor * sum(bias)

    def work(self) -> int:
        """A product for every connection."""
        return len(self.bias_entries()) * self.fan_in

    def _factors(self, incoming: int) -> tuple[int, int]:
        """What ``W a`` and ``b`` are multiplied with to reach the common denominator."""
        assert self.weight is not None and self.bias is not None
        scale = self.scale(incoming)
        return scale // (self.weight.denominator * incoming), scale // self.bias.denominator

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """``W a + b`` in numerators, over any leading batch axes of the parameters."""
        weight_factor, bias_factor = self._factors(scale)
        result = weight_factor * self.weighted(parameters["weight"], values)
        if self.use_bias:
            bias = parameters["bias"][..., None, self.bias_entries()]
            result = result + bias_factor * bias
        return result

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """No variables: the sum itself is handed on."""
        inputs = builder.named("h", inputs)
        weight_factor, bias_factor = self._factors(inputs.scale)
        unit, entry, feature = self.connections()
        biases = self.bias_entries()
        samples, width, units = *inputs.shape, len(biases)
        terms = builder.bilinear(
            parameters["weight"].scaled(weight_factor),
            np.tile(entry, samples),
            inputs,
            _for_every_sample(feature, samples, width),
            _for_every_sample(unit, samples, units),
            (samples, units),
        )
        if self.use_bias:
            shared = parameters["bias"].scaled(bias_factor)
            terms = terms + shared.take(np.tile(biases, samples), terms.shape)
        return terms.with_scale(self.scale(inputs.scale))

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix C and E: a variable for every sum, and ``W a + b = s`` as a constraint."""
        return builder.written("s", "sum", self.lower_compact(builder, parameters, inputs))


def exact_product(left: IntArray, right: IntArray) -> IntArray:
    """Turn stacks of integer matrices into their products, by floats where these are exact.

    NumPy multiplies integer matrices by plain loops, which is many times slower.
    """
    if left.size * right.shape[-1] < SMALL_PRODUCT:
        return left @ right
    largest = float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0))
    if largest * left.shape[-1] >= 2.0**53:
        return left @ right
    return (left.astype(np.float64) @ right.astype(np.float64)).astype(np.int64)


def _for_every_sample(entries: NDArray[np.int64], samples: int, width: int) -> IntArray:
    """Turn entries of one sample's values into those of all samples, one after the other."""
    sample, place = grid(samples, len(entries)).T
    return sample * width + entries[place]
