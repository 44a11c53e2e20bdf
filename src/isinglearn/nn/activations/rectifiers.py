"""The ReLU family: everything that is a sum of a value's positive and its negative part.

With ``p = max(s, 0)`` and ``q = max(-s, 0)``: ReLU is ``p``, leaky ReLU and PReLU are ``p - alpha q``,
the absolute value is ``p + q``. Compact, one gadget serves all: bits for ``p`` and for ``q``, the linear
equality ``s = p - q``, and ``p q = 0``, which is quadratic in bits, never negative and needs no
auxiliary. That is ``floor(log2 hi) + floor(log2 -lo) + 2`` spins per unit and sample with ``s`` in ``[lo,
hi]``, and none where the sign of ``s`` is settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from isinglearn.errors import NetworkError
from isinglearn.nn import gadgets, trials
from isinglearn.nn.domains import Domain, Fixed, check_domain
from isinglearn.nn.module import Context, Example, Module, ParameterSpec, Trial
from isinglearn.problem.encodings import IntArray, bit_count

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression

# Finer slopes than this make the numbers of all that follows very large.
MOST_DENOMINATOR = 1 << 10


class _Rectifier(Module):
    """An activation of the positive and the negative part."""

    kind: ClassVar[str] = "activation"

    def _paper_parts(self, builder: Builder, inputs: Expression) -> tuple[Expression, Expression]:
        """Appendix E: ``t s = r`` with a sign ``t`` and ``r >= 0``; turn ``s`` into ``(s, r)``."""
        s = builder.named("h", inputs)
        t = builder.spins("t", "sign", s)
        largest = 2 ** bit_count(s.magnitude) - 1
        r = builder.equal("r", "magnitude", builder.product(t, s), 0, largest, encoding="binary")
        return s, r

    def _tight(
        self, result: Expression, inputs: Expression, *slopes: Mapping[str, IntArray]
    ) -> Expression:
        """Cut the range of the result: its ends are those of the input, or 0 in between."""
        middle = np.clip(0, inputs.lo, inputs.hi)
        ends = [
            self.forward(given, value, inputs.scale).ravel()
            for given in slopes or ({},)
            for value in (inputs.lo, inputs.hi, middle)
        ]
        return result.clipped(np.min(ends, axis=0), np.max(ends, axis=0))

    @classmethod
    def _example(cls, module: Module, scale: int = 1) -> Example:
        return Example(module, Context("middle", 1, (1,)), np.arange(-3, 4)[:, None], scale)

    @classmethod
    def examples(cls) -> list[Example]:
        """All integers of a small range."""
        return [cls._example(cls())]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Between two linear layers."""
        return [trials.on_points(trials.hidden(), cls(), trials.readout())]


class ReLU(_Rectifier):
    """``a = max(s, 0)``.

    Paper (appendix E): ``t s = r`` and ``(r + s) / 2 = a``, spins for ``t``, ``r`` and ``a``.
    """

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """The positive part."""
        return np.maximum(values, 0)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """One ``Relu``."""
        return graph.node("Relu", values, largest=values.largest)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """One ``relu``."""
        return values.relu()

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """The positive part alone."""
        return gadgets.parts(builder, "a", inputs)[0]

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix E, doubled so that all stays whole: ``r + s = 2 a``."""
        s, r = self._paper_parts(builder, inputs)
        a = builder.follow("a", "activation", 0, int(r.hi.max(initial=0)), "positive", s)
        builder.zero("relu", r + s + a.scaled(-2))
        return a


class Abs(_Rectifier):
    """``a = |s|``.

    Paper (appendix E): ``r s = a`` with a sign ``r`` and ``a >= 0``, spins for ``r`` and ``a``.
    """

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Magnitudes."""
        return np.abs(values)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """One ``Abs``."""
        return graph.node("Abs", values, largest=values.largest)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """One ``abs``."""
        return values.abs()

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Both parts added."""
        positive, negative = gadgets.parts(builder, "a", inputs)
        return self._tight(positive + negative, inputs)

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """The magnitude is the activation."""
        return self._paper_parts(builder, inputs)[1]


class LeakyReLU(_Rectifier):
    """``a = s`` where ``s >= 0``, else ``alpha s``.

    Paper (appendix E): ``t s = r`` and ``((1 - alpha)/2 t + (1 + alpha)/2) s = a``, spins for ``t``,
    ``r`` and ``a``. It confines ``a`` to natural numbers, a slip: below 0 it is a negative fraction, and
    so it is here.

    Parameters
    ----------
    slope
        ``alpha``: a whole number, a ``Fraction``, or a float that is read as the decimal it prints as.
    """

    def __init__(self, slope: Fraction | float = Fraction(1, 8)) -> None:
        self.slope = _representable(slope)

    def __repr__(self) -> str:
        return f"LeakyReLU({self.slope})"

    def scale(self, incoming: int) -> int:
        """Finer by the denominator of the slope."""
        return incoming * self.slope.denominator

    def reach(self, incoming: float, scale: int) -> float:
        """The steeper of both sides."""
        return incoming * max(self.slope.denominator, abs(self.slope.numerator))

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """``d p - n q`` over ``d`` for the slope ``n / d``."""
        return np.where(values >= 0, self.slope.denominator, self.slope.numerator) * values

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """A choice of the slope, and a product."""
        rise, fall = self.slope.denominator, self.slope.numerator
        slopes = graph.choose(values, graph.constant(rise), graph.constant(fall))
        return graph.multiply(slopes, values)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """A choice of the slope, and a product."""
        import torch

        rise, fall = self.slope.denominator, self.slope.numerator
        return torch.where(values >= 0, rise, fall) * values

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Both parts, each with its factor."""
        positive, negative = gadgets.parts(builder, "a", inputs)
        rise, fall = self.slope.denominator, -self.slope.numerator
        result = positive.scaled(rise) + negative.scaled(fall)
        return self._tight(result, inputs).with_scale(self.scale(inputs.scale))

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix E, times ``2 d`` and with ``r`` for ``t s``: ``(d - n) r + (d + n) s = 2 a``."""
        s, r = self._paper_parts(builder, inputs)
        n, d = self.slope.numerator, self.slope.denominator
        return _tied(builder, s, r, s.scaled(d + n) + r.scaled(d - n), self.scale(inputs.scale))

    @classmethod
    def examples(cls) -> list[Example]:
        """Slopes below and above 1, and a decimal."""
        return [cls._example(cls(Fraction(1, 4))), cls._example(cls(2), 2), cls._example(cls(0.1))]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Between two linear layers."""
        return [trials.on_points(trials.hidden(), cls(Fraction(1, 2)), trials.readout())]


class PReLU(_Rectifier):
    """``a = s`` where ``s >= 0``, else ``alpha s`` with a trained ``alpha``, one for all units.

    Compact: the spins of the two parts and the products of ``alpha`` with ``q``. Paper (appendix E): as
    leaky ReLU. Its constraint multiplies ``alpha``, ``t`` and ``s``, a slip in a quadratic program: with
    ``r`` in place of ``t s`` it is quadratic, ``d (r + s) - alpha (r - s) = 2 a`` for ``alpha`` in units
    of ``1/d``.

    Parameters
    ----------
    slope
        Domain of ``alpha``, fixed point; by default 0, 1/4, 1/2, 3/4.
    """

    parameter_names: ClassVar[tuple[str, ...]] = ("slope",)

    def __init__(self, slope: Domain | None = None) -> None:
        self.slope = Fixed(0, 3, 4) if slope is None else slope
        check_domain(self.slope, "PReLU(slope)")
        _representable(Fraction(1, self.slope.denominator))

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """``slope``, one number."""
        return (ParameterSpec.trainable("slope", "weight", (1,), self.slope),)

    def scale(self, incoming: int) -> int:
        """Finer by the denominator of the slope."""
        return incoming * self.slope.denominator

    def reach(self, incoming: float, scale: int) -> float:
        """The steeper of both sides."""
        return incoming * max(self.slope.denominator, self.parameters[0].largest)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """``d p - alpha q`` over ``d``."""
        slope = parameters["slope"][..., None, :]
        return np.where(values >= 0, self.slope.denominator, slope) * values

    def _times_slope(
        self, builder: Builder, parameters: Mapping[str, Expression], value: Expression
    ) -> Expression:
        """``alpha`` times values, over the finer denominator."""
        count = value.rows.num_rows
        slopes = parameters["slope"].take(np.zeros(count, dtype=np.int64), value.shape)
        return builder.product(slopes, value)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """A choice of the slope, and a product."""
        rise, fall = self.slope.denominator, parameters["slope"][0]
        slopes = graph.choose(values, graph.constant(rise), graph.constant(fall))
        return graph.multiply(slopes, values)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """A choice of the slope, and a product."""
        import torch

        return torch.where(values >= 0, self.slope.denominator, layer.slope) * values

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Both parts, the negative one times the slope."""
        positive, negative = gadgets.parts(builder, "a", inputs)
        falling = self._times_slope(builder, parameters, builder.named("q", negative))
        result = positive.scaled(self.slope.denominator) + falling.scaled(-1)
        slopes = parameters["slope"]
        ends = ({"slope": slopes.lo}, {"slope": slopes.hi})
        return self._tight(result, inputs, *ends).with_scale(self.scale(inputs.scale))

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix E with ``r`` for ``t s``."""
        s, r = self._paper_parts(builder, inputs)
        falling = self._times_slope(builder, parameters, r + s.scaled(-1))
        doubled = (r + s).scaled(self.slope.denominator) + falling.scaled(-1)
        return _tied(builder, s, r, doubled, self.scale(inputs.scale))

    @classmethod
    def examples(cls) -> list[Example]:
        """Four slopes; two slopes, one of them negative."""
        return [cls._example(cls()), cls._example(cls(Fixed(-1, 0, 2)), 3)]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Between two linear layers, with two slopes."""
        return [trials.on_points(trials.hidden(), cls(Fixed(0, 1, 2)), trials.readout())]


def _tied(
    builder: Builder, s: Expression, r: Expression, doubled: Expression, scale: int
) -> Expression:
    """Turn ``2 a`` into variables ``a``, as wide as it needs, tied by a constraint."""
    lo, hi = int(doubled.lo.min(initial=0)) // 2, -(-int(doubled.hi.max(initial=0)) // 2)
    a = builder.follow("a", "activation", lo, hi, "divide", doubled, divisor=2)
    builder.zero("rectified", doubled + a.scaled(-2))
    return a.with_scale(scale)


def _representable(slope: Any) -> Fraction:
    """Turn a slope into a fraction of a small denominator, or raise."""
    try:
        exact = Fraction(repr(slope)) if isinstance(slope, float) else Fraction(slope)
    except (TypeError, ValueError, OverflowError):
        exact = None
    if exact is None or exact.denominator > MOST_DENOMINATOR:
        near = "" if exact is None else f", nearest {exact.limit_denominator(MOST_DENOMINATOR)}"
        raise NetworkError(
            "this slope is not representable",
            where="slope",
            rule=f"a fraction with a denominator of at most {MOST_DENOMINATOR}{near}",
            received=repr(slope),
            remedy="for example Fraction(1, 8)",
        )
    return exact
