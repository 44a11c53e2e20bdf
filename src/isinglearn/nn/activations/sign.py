"""Sign: the activation that the paper trains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isinglearn.nn import trials
from isinglearn.nn.module import Context, Example, Module, Trial
from isinglearn.problem.encodings import IntArray, bit_count

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class Sign(Module):
    """``a = +1`` where ``s >= 0``, else ``-1``.

    Spins per unit and sample, ``s`` in ``[lo, hi]``: compact ``1 + floor(log2 R/2) + 1`` with the odd
    ``R >= max(hi, -lo - 1)``, or none where units are written by their few behaviours; in the paper's form
    (appendix C) ``a``, ``r`` and ``t``.
    """

    kind: ClassVar[str] = "activation"

    def scale(self, incoming: int) -> int:
        """Signs are whole numbers."""
        return 1

    def reach(self, incoming: float, scale: int) -> float:
        """Signs have magnitude 1."""
        return 1.0

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """+1 or -1."""
        return np.where(values >= 0, 1, -1)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """A choice; the ``Sign`` of ONNX is 0 at 0."""
        return graph.choose(values, graph.constant(1), graph.constant(-1))

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """A choice; the ``sign`` of torch is 0 at 0."""
        import torch

        return torch.where(values >= 0, 1, -1).to(values.dtype)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """One variable and one sign constraint per value; bits and slacks appear only when it is lowered."""
        return builder.sign("a", inputs)

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix C: ``a * s = r`` and, where ``s`` can be 0, ``a + 2 r = 1 + t``."""
        largest = inputs.magnitude
        a = builder.spins("a", "activation", inputs)
        product = builder.product(a, inputs)
        r = builder.equal(
            "r", "magnitude", product, 0, 2 ** bit_count(largest) - 1, encoding="binary"
        )
        if inputs.may_be_zero:
            rest = a + r.scaled(2) + builder.constant(-1, a.shape)
            t = 2 ** bit_count(2 * largest) - 1
            builder.equal("t", "slack", rest, 0, t, encoding="binary")
        return a

    @classmethod
    def examples(cls) -> list[Example]:
        """All integers of a small range."""
        return [Example(cls(), Context("first", 1, (1,)), np.arange(-3, 4)[:, None])]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Between two linear layers."""
        return [trials.on_points(trials.hidden(), cls(), trials.readout())]
