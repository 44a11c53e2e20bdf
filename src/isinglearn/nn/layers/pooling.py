"""Pooling: an image becomes smaller, each window one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isinglearn.nn import gadgets, trials
from isinglearn.nn.layers.windows import Windows, gathered
from isinglearn.nn.module import Context, Example, Module, Shape, Trial
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.variables import grid

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class _Pool2d(Module):
    """A window moves over every channel by itself.

    Parameters
    ----------
    kernel_size
        Rows and columns of the window.
    stride
        Its step; ``None`` for windows that touch without overlap.
    """

    kind: ClassVar[str] = "layer"

    def __init__(self, kernel_size: int, *, stride: int | None = None) -> None:
        name = type(self).__name__
        self.windows = Windows.of(name, kernel_size, kernel_size if stride is None else stride)

    def __repr__(self) -> str:
        kernel, stride = self.windows.kernel, self.windows.stride
        return f"{type(self).__name__}({kernel}" + f", stride={stride}" * (stride != kernel) + ")"

    @property
    def kernel_size(self) -> int:
        """Rows and columns of the window."""
        return self.windows.kernel

    @property
    def stride(self) -> int:
        """Step of the window."""
        return self.windows.stride

    def out_shape(self, incoming: Shape) -> Shape:
        """As many channels, fewer rows and columns."""
        places = self.windows.out_shape(incoming)
        return incoming[0], *places

    @property
    def size(self) -> int:
        """Values in a window."""
        return self.windows.kernel**2

    def _entries(self) -> IntArray:
        """Inputs of each unit, shape (units, size)."""
        return self.windows.entries(self.in_shape).reshape(-1, self.size)

    def work(self) -> int:
        """All windows."""
        return self._entries().size

    def _members(self, inputs: Expression) -> list[Expression]:
        """The first, second, ... value of all windows of all samples."""
        entries = self._entries()
        samples, width = inputs.shape
        sample, unit = grid(samples, len(entries)).T
        return [
            inputs.take(sample * width + entries[unit, place], (samples, len(entries)))
            for place in range(self.size)
        ]


class AvgPool2d(_Pool2d):
    """``p = 1/k^2 sum a``: the mean of a window, as a fraction; nothing is rounded.

    Spins per unit and sample: none in the compact form; in the paper's (appendix E) the bits of ``p``.
    """

    def scale(self, incoming: int) -> int:
        """Sums over the size of the window."""
        return incoming * self.size

    def reach(self, incoming: float, scale: int) -> float:
        """A sum of so many."""
        return incoming * self.size

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Sums of windows, over a larger denominator."""
        return gathered(values, self._entries()).sum(axis=-1)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """Sums of windows; ``AveragePool`` would round."""
        windows = graph.gathered(values, self._entries())
        sums = graph.total(windows, [2], self.size, keep=False)
        return graph.shaped(sums, self.out_shape(self.in_shape))

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """Sums of windows: an ``avg_pool2d`` that divides by 1."""
        from torch.nn.functional import avg_pool2d

        kernel, stride = self.windows.kernel, self.windows.stride
        return avg_pool2d(values, kernel, stride, divisor_override=1)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """No variables: the sum itself is handed on."""
        total = reduce(lambda a, b: a + b, self._members(inputs))
        return total.with_scale(self.scale(inputs.scale))

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """A variable for every mean."""
        return builder.written("p", "pooling", self.lower_compact(builder, parameters, inputs))

    @classmethod
    def examples(cls) -> list[Example]:
        """Windows that touch and windows that overlap."""
        data = np.array([[0, 1, -1, 1, 1, 0], [1] * 6, [-1, 2, 0, 0, 1, 1]])
        return [
            Example(cls(2), Context("middle", 0, (1, 2, 2)), data[:, :4]),
            Example(cls(2, stride=1), Context("middle", 0, (1, 2, 3)), data, 2),
        ]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Means of pixels, and a linear layer."""
        return [
            trials.on_images(trials.pixelwise(), cls(2), trials.make("Flatten"), trials.readout())
        ]


class MaxPool2d(_Pool2d):
    """``p = max a`` over a window.

    Spins per unit and sample, ``k^2`` values of ``b`` bits each: compact ``2 b (k^2 - 1)``, a maximum of two
    at a time, ``max(u, v) = v + max(u - v, 0)``; for signs ``1 + log2(k^2 / 2)``, since their maximum is the
    sign of a sum; in the paper's form (appendix E) ``k^2`` choices, ``p``, and ``k^4`` slacks.
    """

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """The largest of each window."""
        return gathered(values, self._entries()).max(axis=-1)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """One ``MaxPool``."""
        kernel, stride = [self.windows.kernel] * 2, [self.windows.stride] * 2
        return graph.node(
            "MaxPool", values, largest=values.largest, kernel_shape=kernel, strides=stride
        )

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """One ``max_pool2d``."""
        from torch.nn.functional import max_pool2d

        return max_pool2d(values, self.windows.kernel, self.windows.stride)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Signs: +1 unless all are -1. Other numbers: maxima of two, pair by pair."""
        members = self._members(inputs)
        if inputs.is_spin:
            total = reduce(lambda a, b: a + b, members)
            return builder.sign("max", total + builder.constant(self.size - 1, total.shape))
        stage = 0
        while len(members) > 1:
            stage += 1
            pairs = zip(members[::2], members[1::2], strict=False)
            odd = members[-1:] if len(members) % 2 else []
            larger = [
                gadgets.larger(builder, f"max{stage}.{number}", u, v)
                for number, (u, v) in enumerate(pairs)
            ]
            members = larger + odd
        return members[0]

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Appendix E: a choice among the window, and every other value no larger than the chosen one."""
        members = self._members(builder.named("h", inputs))
        shape = members[0].shape
        one = builder.constant(1, shape)
        # Gains over the maximum so far say which comes first among the largest.
        gains: list[Expression] = []
        best = members[0]
        for number, member in enumerate(members[1:], start=1):
            gain = builder.scratch(f"gain{number}", "positive", member + best.scaled(-1))
            gains.append(gain)
            best = best + gain
        lo = np.max([member.lo for member in members], axis=0)
        hi = np.max([member.hi for member in members], axis=0)
        far = builder.constant(int(hi.max(initial=0)), shape)
        choices = []
        for number in range(self.size):
            # Chosen: the last gain is its own; the first value, if there is no gain at all.
            later = reduce(lambda a, b: a + b, gains[number:], builder.constant(0, shape))
            weight = int(gains[number - 1].hi.max(initial=0)) + 1 if number else 1
            own = gains[number - 1] + one.scaled(-1) if number else builder.constant(0, shape)
            rule = own + later.scaled(-weight)
            choices.append(builder.follow(f"w{number}", "choice", 0, 1, "step", rule))
        chosen = [builder.product(w, a) for w, a in zip(choices, members, strict=True)]
        result = builder.written(
            "p", "pooling", replace(reduce(lambda a, b: a + b, chosen), lo=lo, hi=hi)
        )
        builder.zero("one choice", reduce(lambda a, b: a + b, choices) + one.scaled(-1))
        for i, (choice, value) in enumerate(zip(choices, chosen, strict=True)):
            lifted = value + far + builder.product(choice, far).scaled(-1)
            for j, other in enumerate(members):
                rest = lifted + other.scaled(-1)
                builder.written(f"t{i}.{j}", "slack", replace(rest, lo=np.maximum(rest.lo, 0)))
        return replace(result, scale=inputs.scale)

    @classmethod
    def examples(cls) -> list[Example]:
        """Signs, and small numbers with ties."""
        signs = np.array([[-1, -1, -1, -1], [1, -1, -1, 1], [-1, -1, 1, -1]])
        numbers = np.array([[0, 2, 1, 2], [1, 1, 1, 1], [0, 0, 0, 1], [2, 0, 1, 0]])
        return [
            Example(cls(2), Context("middle", 0, (1, 2, 2)), signs),
            Example(cls(2), Context("middle", 0, (1, 2, 2)), numbers, 2),
        ]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Of numbers, and of signs."""
        return [
            trials.on_images(trials.pixelwise(), cls(2), trials.make("Flatten"), trials.readout()),
            trials.on_images(
                trials.pixelwise(),
                trials.make("Sign"),
                cls(2),
                trials.make("Flatten"),
                trials.readout(),
            ),
        ]
