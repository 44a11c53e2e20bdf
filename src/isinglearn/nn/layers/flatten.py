"""Flatten: an image as a plain row of values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from isinglearn.nn import trials
from isinglearn.nn.module import Context, Example, Module, Shape, Trial
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class Flatten(Module):
    """Channels, rows and columns one after the other; no spins."""

    kind: ClassVar[str] = "layer"

    def out_shape(self, incoming: Shape) -> Shape:
        """As many values, in one dimension."""
        return (math.prod(incoming),)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Values are laid out flat already."""
        return values

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """One ``Flatten``."""
        return graph.flat(values)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """One ``flatten``."""
        return values.flatten(1)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Nothing changes."""
        return inputs

    @classmethod
    def examples(cls) -> list[Example]:
        """A small image."""
        return [Example(cls(), Context("middle", 0, (1, 2, 1)), np.array([[0, 1], [2, -1]]))]

    @classmethod
    def trials(cls) -> list[Trial]:
        """A layer for every pixel, and a linear one."""
        return [
            trials.on_images(
                trials.pixelwise(), trials.make("AvgPool2d", 2), cls(), trials.readout()
            )
        ]
