"""Linear: every unit a weighted sum of all inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from isinglearn.errors import NetworkError
from isinglearn.nn import trials
from isinglearn.nn.domains import Domain, Int
from isinglearn.nn.layers.affine import _Affine, exact_product
from isinglearn.nn.module import Context, DoesNotFit, Example, Shape, Trial
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.variables import grid

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class Linear(_Affine):
    """``s = W a + b``; unset domains follow the paper by the layer's position.

    First layer: ``W`` is -1 or +1, ``b`` in ``[0, 2^(k)-1]`` with ``k = floor(log2 n 2^(B+1)) + 1`` bits.
    Middle layers: ``W`` is -1 or +1, ``b`` frozen at ``in_features - 1``.
    Last layer: ``W`` and ``b`` are ``(j - H) / H`` with ``floor(log2 2H) + 1`` bits for ``j``.

    Spins per unit and sample: none in the compact form; in the paper's the bits of ``s``.

    Parameters
    ----------
    in_features, out_features
        Widths.
    weight, bias
        Domains; ``None`` for the paper's.
    use_bias
        Without it there is no ``b``.
    """

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
        super().__init__(weight, bias, use_bias)
        self.in_features, self.out_features = int(in_features), int(out_features)

    def __repr__(self) -> str:
        return f"Linear({self.in_features}, {self.out_features})"

    def out_shape(self, incoming: Shape) -> Shape:
        """``out_features`` values."""
        if len(incoming) > 1:
            raise DoesNotFit(f"{self.in_features} values", "put nn.Flatten() in between")
        if incoming != (self.in_features,):
            raise DoesNotFit(
                f"{self.in_features} values", f"use Linear({incoming[0]}, {self.out_features})"
            )
        return (self.out_features,)

    @property
    def weight_shape(self) -> Shape:
        """(out, in)."""
        return self.out_features, self.in_features

    def connections(self) -> tuple[IntArray, IntArray, IntArray]:
        """Every unit with every input."""
        unit, feature = grid(*self.weight_shape).T
        return unit, unit * self.in_features + feature, feature

    def bias_entries(self) -> IntArray:
        """One bias per unit."""
        return np.arange(self.out_features)

    def weighted(self, weight: IntArray, values: IntArray) -> IntArray:
        """A product of matrices."""
        return exact_product(values, np.swapaxes(weight, -1, -2))

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """One ``Gemm``."""
        weight_factor, bias_factor = self._factors(scale)
        weight = weight_factor * parameters["weight"]
        largest = int(np.abs(weight).sum(axis=1).max()) * values.largest
        constants = [graph.constant(weight)]
        if self.use_bias:
            constants.append(graph.constant(bias_factor * parameters["bias"]))
            largest += constants[-1].largest
        return graph.node("Gemm", values, *constants, largest=largest, transB=1)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """One ``linear``."""
        from torch.nn.functional import linear

        weight_factor, bias_factor = self._factors(scale)
        bias = bias_factor * layer.bias if self.use_bias else None
        return linear(values, weight_factor * layer.weight, bias)

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """As every linear map, with the ranges of appendix D where they apply."""
        ranges = self.paper_ranges(inputs.is_spin)
        limit = 2**self.context.input_bits if self.context else 0
        usual = inputs.scale == 1 and (np.abs([inputs.lo, inputs.hi]) <= limit).all()
        if ranges is None or not usual:
            return super().lower_paper(builder, parameters, inputs)
        return builder.equal(**ranges, value=self.lower_compact(builder, parameters, inputs))

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
            Example(cls(2, 1), Context("first", 0, (2,)), data),
            Example(cls(2, 2), Context("middle", 0, (2,)), spins),
            Example(cls(2, 1), Context("last", 0, (2,)), spins),
            Example(cls(2, 1).freeze(weight=[[1, np.nan]]), Context("first", 0, (2,)), data),
            Example(cls(2, 1, use_bias=False), Context("first", 0, (2,)), data),
        ]

    @classmethod
    def trials(cls) -> list[Trial]:
        """The network of the paper, with fewer values."""
        return [trials.on_points(cls(2, 2, bias=Int(-1, 1)), trials.make("Sign"), trials.readout())]
