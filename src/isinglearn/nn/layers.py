"""Layers: linear maps with quantised weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import NetworkError
from isinglearn.nn.domains import Domain, Spin, offset_binary
from isinglearn.nn.module import Context, Example, Module, ParameterSpec
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.variables import grid

if TYPE_CHECKING:
    from isinglearn.lowering.builder import Builder, Expression


class Linear(Module):
    """``s = W a + b``; unset domains follow the paper by the layer's position.

    First layer: ``W`` is -1 or +1, ``b`` in ``[0, 2^(k)-1]`` with ``k = floor(log2 n 2^(B+1)) + 1`` bits.
    Middle layers: ``W`` is -1 or +1, ``b`` frozen at ``in_features - 1``.
    Last layer: ``W`` and ``b`` are ``(j - H) / H`` with ``floor(log2 2H) + 1`` bits for ``j``.

    Parameters
    ----------
    in_features, out_features
        Widths.
    weight, bias
        Domains; ``None`` for the paper's.
    use_bias
        Without it there is no ``b``.
    """

    kind: ClassVar[str] = "layer"
    starts_layer: ClassVar[bool] = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        weight: Domain | None = None,
        bias: Domain | None = None,
        use_bias: bool = True,
    ) -> None:
        for name, value in (("in_features", in_features), ("out_features", out_features)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise NetworkError(
                    "a layer has no width",
                    where=f"Linear({name})",
                    rule="a whole number of at least 1",
                    received=value,
                    remedy="remove the layer or give it units",
                )
        for name, domain in (("weight", weight), ("bias", bias)):
            if domain is not None and not isinstance(domain, Domain):
                raise NetworkError(
                    "this is no domain",
                    where=f"Linear({name})",
                    rule="nn.Spin(), nn.Int(lo, hi) or nn.Fixed(lo, hi, denominator)",
                    received=repr(domain),
                    remedy="to fix a value use freeze",
                )
        self.in_features, self.out_features = int(in_features), int(out_features)
        self.weight, self.bias, self.use_bias = weight, bias, use_bias
        self.context: Context | None = None
        self._frozen: dict[str, ArrayLike] = {}

    def __repr__(self) -> str:
        return f"Linear({self.in_features}, {self.out_features})"

    def freeze(self, **values: ArrayLike) -> Self:
        """A copy with ``weight`` and/or ``bias`` frozen to values; NaN entries stay free."""
        unknown = set(values) - {"weight", "bias"}
        if unknown:
            raise NetworkError(
                "there is no such parameter",
                where=f"{self}.freeze",
                rule="'weight' or 'bias'",
                received=sorted(unknown)[0],
                remedy="use one of these names",
            )
        frozen = copy.copy(self)
        frozen._frozen = {**self._frozen, **values}
        return frozen

    def resolved(self, context: Context) -> Self:
        """The layer with the paper's domains where none were given."""
        width = self.in_features
        if context.position == "last":
            default_weight = default_bias = offset_binary(-width, 2 * width, width)
        else:
            default_weight = Spin()
            default_bias = offset_binary(0, width * 2 ** (context.input_bits + 1))
        chosen = copy.copy(self)
        chosen.context = context
        chosen.weight = self.weight or default_weight
        chosen.bias = self.bias or default_bias
        chosen._frozen = dict(self._frozen)
        if context.position == "middle" and self.bias is None and self.use_bias:
            chosen._frozen.setdefault("bias", width - 1)
        return chosen

    @property
    def parameters(self) -> tuple[ParameterSpec, ...]:
        """``weight`` of shape (out, in) and ``bias`` of shape (out,)."""
        assert self.weight is not None and self.bias is not None, "resolve the network first"
        specs = [
            ParameterSpec.trainable(
                "weight", "weight", (self.out_features, self.in_features), self.weight
            )
        ]
        if self.use_bias:
            specs.append(ParameterSpec.trainable("bias", "bias", (self.out_features,), self.bias))
        return tuple(
            spec.freeze(self._frozen[spec.name]) if spec.name in self._frozen else spec
            for spec in specs
        )

    def widths(self, incoming: int) -> int:
        """Number of outputs."""
        return self.out_features

    def scale(self, incoming: int) -> int:
        """Common denominator of ``W a`` and ``b``."""
        assert self.weight is not None and self.bias is not None
        product = self.weight.denominator * incoming
        return math.lcm(product, self.bias.denominator) if self.use_bias else product

    def reach(self, incoming: float, scale: int) -> float:
        """Largest weight times largest input for every input, plus the largest bias."""
        weight_factor, bias_factor = self._factors(scale)
        weight, *bias = (spec.largest for spec in self.parameters)
        return weight_factor * weight * incoming * self.in_features + bias_factor * sum(bias)

    def _factors(self, incoming: int) -> tuple[int, int]:
        """What ``W a`` and ``b`` are multiplied with to reach the common denominator."""
        assert self.weight is not None and self.bias is not None
        scale = self.scale(incoming)
        return scale // (self.weight.denominator * incoming), scale // self.bias.denominator

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """``W a + b`` in numerators, over any leading batch axes of the parameters."""
        weight_factor, bias_factor = self._factors(scale)
        result = weight_factor * (values @ np.swapaxes(parameters["weight"], -1, -2))
        if self.use_bias:
            result = result + bias_factor * parameters["bias"][..., None, :]
        return result

    def _affine(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        weight_factor, bias_factor = self._factors(inputs.scale)
        samples = inputs.shape[0]
        i, unit, feature = grid(samples, self.out_features, self.in_features).T
        out = i * self.out_features + unit
        terms = builder.bilinear(
            parameters["weight"].scaled(weight_factor),
            unit * self.in_features + feature,
            inputs,
            i * self.in_features + feature,
            out,
            (samples, self.out_features),
        )
        if self.use_bias:
            i, unit = grid(samples, self.out_features).T
            terms = terms + parameters["bias"].scaled(bias_factor).take(unit, terms.shape)
        return terms.with_scale(self.scale(inputs.scale))

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """No variables: the sum itself is handed on."""
        return self._affine(builder, parameters, inputs)

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix C: a variable for every sum, ``W a + b = s`` as a constraint, ranges of appendix D."""
        total = self._affine(builder, parameters, inputs)
        ranges = self.paper_ranges(inputs.is_spin)
        if ranges is None or inputs.scale != 1:
            lo, hi = int(total.lo.min()), int(total.hi.max())
            return builder.equal("s", "sum", total, lo, hi, encoding="binary")
        return builder.equal(**ranges, value=total)

    def _follows_the_paper(self, context: Context) -> bool:
        """Whether every value that the parameters can take lies in the paper's domains."""
        paper = Linear(self.in_features, self.out_features).resolved(context)
        if (paper.weight, paper.bias, True) != (self.weight, self.bias, self.use_bias):
            return False
        weight, bias = self.parameters
        if context.position == "middle":
            # Only this bias keeps every sum away from 0.
            return not bias.free.any() and bool((bias.frozen == self.in_features - 1).all())
        return all(spec.domain.contains(spec.frozen[~spec.free]) for spec in (weight, bias))

    def paper_ranges(self, spin_inputs: bool) -> dict[str, Any] | None:
        """Table 2's bit counts, where the layer has the paper's own domains and kind of inputs."""
        assert self.context is not None
        n, bits = self.in_features, self.context.input_bits
        if not self._follows_the_paper(self.context):
            return None
        if self.context.position != "first" and not spin_inputs:
            return None
        if self.context.position == "last":
            # Half the step of the weights, as printed, so twice the numerator range.
            lo, count = -2 * n, bit_count(4 * n)
            return {
                "label": "y",
                "role": "output",
                "lo": lo,
                "hi": lo + 2**count - 1,
                "scale": 2 * n,
                "encoding": "binary",
            }
        if self.context.position == "first":
            size = n * 2**bits
            lo, count = -size, bit_count(4 * size)
            largest: int | None = 3 * size
            zero = True
        else:
            lo, count, largest, zero = -1, bit_count(2 * n), 2 * n, False
        return {
            "label": "s",
            "role": "sum",
            "lo": lo,
            "hi": lo + 2**count - 1,
            "encoding": "binary",
            "magnitude": largest,
            "may_be_zero": zero,
        }

    @classmethod
    def examples(cls) -> list[Example]:
        """First, middle and last layers, a frozen entry, a layer without bias."""
        spins = np.array([[-1, -1], [1, -1], [1, 1]])
        data = np.array([[-1, 0], [1, 1], [0, -1]])
        return [
            Example(cls(2, 1), Context("first", 0), data),
            Example(cls(2, 2), Context("middle", 0), spins),
            Example(cls(2, 1), Context("last", 0), spins),
            Example(cls(2, 1).freeze(weight=[[1, np.nan]]), Context("first", 0), data),
            Example(cls(2, 1, use_bias=False), Context("first", 0), data),
        ]
