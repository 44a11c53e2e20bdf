"""LayerNorm: mean and deviation over the units of one sample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn import gadgets, trials
from isinglearn.nn.domains import Domain, Int
from isinglearn.nn.layers.norm import MOST_DEVIATIONS, _Norm
from isinglearn.nn.module import Context, Example, Trial
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.variables import grid

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class LayerNorm(_Norm):
    """``y = gamma n + beta`` with ``n = (s - mean) / deviation`` over the units of one sample.

    In whole numbers: with ``U`` units, ``d = U s - sum s`` and ``V = U sum s^2 - (sum s)^2``, the
    deviation is ``sigma = 1 + floor(sqrt V)`` in units of ``1/U`` (the 1 keeps it from 0, in place of the
    usual epsilon), and ``n = floor(denominator d / sigma) / denominator``. ``sigma`` and ``n`` are
    variables, ``(sigma - 1)^2 <= V < sigma^2`` and ``denominator d = n sigma + e`` with ``0 <= e <
    sigma`` their constraints, in both formulations: the paper says only that layer normalisation goes "in
    the same way" as its batch normalisation.

    Spins per unit and sample: the bits of ``n`` and two slacks up to ``sigma - 1``; per sample ``sigma``
    and two slacks up to ``2 sigma``.

    Parameters
    ----------
    gain, shift
        Domains of ``gamma`` and ``beta``, one of each for every unit or channel; by default 1..2 and -2..1.
    denominator
        Grid of the normalised values.
    affine
        Without it there is no ``gamma`` and no ``beta``.
    """

    def __init__(
        self,
        *,
        gain: Domain | None = None,
        shift: Domain | None = None,
        denominator: int = 2,
        affine: bool = True,
    ) -> None:
        super().__init__(gain, shift, affine)
        self.denominator = check_count(denominator, "LayerNorm(denominator)", error=NetworkError)

    def scale(self, incoming: int) -> int:
        """The grid of the normalised values."""
        return self.denominator

    def reach(self, incoming: float, scale: int) -> float:
        """No normalised value is larger than the root of the number of units."""
        gain, shift = self._largest()
        units = math.prod(self.in_shape)
        # On the way sums of squares occur, which must fit as well.
        squares = 2 * units * units * incoming * incoming
        normal = self.denominator * (math.sqrt(units) + 1)
        return max(gain * normal + shift * self.denominator, 0 if squares < 2**61 else squares)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Centred, divided by the deviation, rounded down to the grid."""
        units = values.shape[-1]
        total = values.sum(axis=-1, keepdims=True)
        squares = units * (values * values).sum(axis=-1, keepdims=True) - total * total
        centred = self.denominator * (units * values - total)
        normal = centred // (1 + _root(squares))
        return self._apply_affine(parameters, normal, self.denominator)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """As ``forward``, with exact roots and exact rounding down."""
        units, axes = math.prod(self.in_shape), list(range(1, 1 + len(self.in_shape)))
        total = graph.total(values, axes, units, keep=True)
        squares = graph.total(graph.multiply(values, values), axes, units, keep=True)
        squares = graph.scaled(squares, units)
        # Never negative: no larger than what it is taken from.
        square = graph.multiply(total, total)
        spread = graph.node("Sub", squares, square, largest=squares.largest)
        sigma = graph.add(graph.root(spread), graph.constant(1))
        centred = graph.subtract(graph.scaled(values, units), total)
        # No value is further from the mean than sqrt(U) deviations.
        limit = self.denominator * (math.isqrt(units) + 1)
        normal = graph.floor_divide(graph.scaled(centred, self.denominator), sigma, limit)
        return self._affine_onnx(graph, parameters, normal, self.denominator)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """As ``forward``; roots and quotients of such floats round down exactly."""
        units, axes = math.prod(self.in_shape), tuple(range(1, values.ndim))
        total = values.sum(axes, keepdim=True)
        spread = units * (values * values).sum(axes, keepdim=True) - total * total
        sigma = 1 + spread.sqrt().floor()
        normal = (self.denominator * (units * values - total) / sigma).floor()
        return self._affine_torch(layer, normal, self.denominator)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """One deviation per sample, one quotient per unit."""
        inputs = builder.named("h", inputs)
        samples, units = inputs.shape
        of_sample = np.arange(samples) * units
        members = [inputs.take(of_sample + unit, (samples, 1)) for unit in range(units)]
        total = reduce(lambda a, b: a + b, members)
        squares = reduce(lambda a, b: a + b, [builder.product(m, m) for m in members])
        spread = squares.scaled(units) + builder.product(total, total).scaled(-1)
        largest = _largest_spread(inputs.lo.reshape(samples, -1), inputs.hi.reshape(samples, -1))
        sigma = gadgets.root(builder, "sigma", spread.clipped(0, largest), MOST_DEVIATIONS)
        sample = grid(samples, units)[:, 0]
        centred = inputs.scaled(units) + total.take(sample, inputs.shape).scaled(-1)
        sizes = sigma.take(sample, inputs.shape)
        # No value is further from the mean than sqrt(U) deviations.
        limit = self.denominator * (math.isqrt(units) + 1)
        normal = gadgets.quotient(
            builder, "n", centred.scaled(self.denominator), sizes, limit=limit
        )
        return self._lower_affine(builder, parameters, normal.with_scale(self.denominator))

    @classmethod
    def examples(cls) -> list[Example]:
        """Two units, all small numbers, with and without scale and shift."""
        context, data = Context("middle", 1, (2,)), grid(3, 3) - 1
        whole = cls(denominator=1, gain=Int(1, 2), shift=Int(0, 1))
        return [Example(cls(affine=False), context, data), Example(whole, context, data[1:5])]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Between two linear layers."""
        return [trials.on_points(trials.hidden(), cls(affine=False), trials.readout())]


def _root(values: IntArray) -> IntArray:
    """Whole square roots, rounded down, exactly."""
    root = np.sqrt(values.astype(np.float64)).astype(np.int64)
    root -= root * root > values
    return root + ((root + 1) * (root + 1) <= values)


def _largest_spread(lo: IntArray, hi: IntArray) -> IntArray:
    """Largest ``U sum s^2 - (sum s)^2`` for values in these ranges: half at each end, as far as it goes."""
    units = lo.shape[1]
    width = hi.max(axis=1) - lo.min(axis=1)
    return (units // 2) * ((units + 1) // 2) * width * width
