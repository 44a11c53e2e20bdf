"""Conv2d: the same small weights at every place of an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn import trials
from isinglearn.nn.domains import Domain, Int, Spin
from isinglearn.nn.layers.affine import _Affine, exact_product
from isinglearn.nn.layers.windows import Windows, gathered
from isinglearn.nn.module import Context, DoesNotFit, Example, Shape, Trial
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value


class Conv2d(_Affine):
    """``s(o, r, c) = b(o) + sum_{i,j,d} w(o, d, i, j) a(d, r + i, c + j)``, as the paper's appendix E.

    Unset domains follow the paper's linear layer of the same fan-in, ``in_channels * kernel_size^2``. The
    paper has no bias; ``use_bias=False`` leaves it out.

    Spins per unit and sample: none in the compact form; in the paper's the bits of ``s``.

    Parameters
    ----------
    in_channels, out_channels
        Channels of the image that comes in and of the one that goes out.
    kernel_size, stride, padding
        The kernel is square; the padding is zeros around the image.
    weight, bias
        Domains; ``None`` for the paper's.
    use_bias
        Without it there is no ``b``.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        stride: int = 1,
        padding: int = 0,
        weight: Domain | None = None,
        bias: Domain | None = None,
        use_bias: bool = True,
    ) -> None:
        super().__init__(weight, bias, use_bias)
        self.in_channels = check_count(in_channels, "Conv2d(in_channels)", error=NetworkError)
        self.out_channels = check_count(out_channels, "Conv2d(out_channels)", error=NetworkError)
        self.windows = Windows.of("Conv2d", kernel_size, stride, padding)

    def __repr__(self) -> str:
        text = f"Conv2d({self.in_channels}, {self.out_channels}, {self.windows.kernel}"
        text += f", stride={self.windows.stride}" * (self.windows.stride > 1)
        return text + f", padding={self.windows.padding}" * (self.windows.padding > 0) + ")"

    @property
    def kernel_size(self) -> int:
        """Rows and columns of the kernel."""
        return self.windows.kernel

    @property
    def stride(self) -> int:
        """Step of the kernel."""
        return self.windows.stride

    @property
    def padding(self) -> int:
        """Zeros around the image."""
        return self.windows.padding

    def out_shape(self, incoming: Shape) -> Shape:
        """``out_channels`` images, one value per place of the kernel."""
        places = self.windows.out_shape(incoming)
        if incoming[0] != self.in_channels:
            raise DoesNotFit(
                f"images of {self.in_channels} channels", f"use Conv2d({incoming[0]}, ...)"
            )
        return self.out_channels, *places

    @property
    def weight_shape(self) -> Shape:
        """(out, in, kernel, kernel)."""
        return self.out_channels, self.in_channels, self.windows.kernel, self.windows.kernel

    def _patches(self) -> IntArray:
        """Inputs of a unit at each place, shape (places, fan-in), in the order of the weights."""
        entries = self.windows.entries(self.in_shape)
        return entries.transpose(1, 0, 2).reshape(entries.shape[1], -1)

    def connections(self) -> tuple[IntArray, IntArray, IntArray]:
        """Every output channel with every patch; the padding is left out."""
        patches = self._patches()
        channel, place, entry = np.indices((self.out_channels, *patches.shape)).reshape(3, -1)
        inputs = patches[place, entry]
        inside = inputs >= 0
        unit, weight = channel * len(patches) + place, channel * self.fan_in + entry
        return unit[inside], weight[inside], inputs[inside]

    def bias_entries(self) -> IntArray:
        """One bias per output channel."""
        return np.repeat(np.arange(self.out_channels), len(self._patches()))

    def weighted(self, weight: IntArray, values: IntArray) -> IntArray:
        """All patches side by side, then a product of matrices."""
        patches = gathered(values, self._patches())
        kernels = weight.reshape(*weight.shape[:-4], 1, self.out_channels, self.fan_in)
        sums = exact_product(kernels, np.swapaxes(patches, -1, -2))
        return sums.reshape(*sums.shape[:-2], -1)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """A ``Conv``; in float64, which runtimes do not offer there, patches and a product of matrices."""
        weight_factor, bias_factor = self._factors(scale)
        weight = weight_factor * parameters["weight"]
        sums = int(np.abs(weight).reshape(self.out_channels, -1).sum(axis=1).max()) * values.largest
        if graph.double:
            kernels = graph.constant(weight.reshape(self.out_channels, -1).T)
            patches = graph.gathered(values, self._patches())
            result = graph.node("MatMul", patches, kernels, largest=sums)
            result = graph.node("Transpose", result, largest=sums, perm=[0, 2, 1])
            result = graph.shaped(result, self.out_shape(self.in_shape))
        else:
            result = graph.node(
                "Conv",
                values,
                graph.constant(weight),
                largest=sums,
                strides=[self.windows.stride] * 2,
                pads=[self.windows.padding] * 4,
            )
        if not self.use_bias:
            return result
        return graph.add(result, graph.constant(bias_factor * parameters["bias"][:, None, None]))

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """One ``conv2d``."""
        from torch.nn.functional import conv2d

        weight_factor, bias_factor = self._factors(scale)
        bias = bias_factor * layer.bias if self.use_bias else None
        stride, padding = self.windows.stride, self.windows.padding
        return conv2d(values, weight_factor * layer.weight, bias, stride=stride, padding=padding)

    @classmethod
    def examples(cls) -> list[Example]:
        """Two channels, strides and padding, on images so small that all can be enumerated."""
        first, data = Context("first", 0, (1, 2, 3)), np.array([[0, 1, -1, 1, 1, 0], [1] * 6])
        padded = cls(1, 1, 2, stride=2, padding=1, weight=Spin(), bias=Int(-1, 1))
        return [
            Example(cls(1, 1, 2, bias=Int(0, 1)), first, data),
            Example(cls(2, 1, 1, use_bias=False), Context("last", 0, (2, 1, 1)), data[:, :2]),
            Example(padded, Context("first", 0, (1, 2, 2)), data[:, :4]),
        ]

    @classmethod
    def trials(cls) -> list[Trial]:
        """A small kernel, signs and a linear layer."""
        return [
            trials.on_images(
                cls(1, 1, 2, stride=2, bias=Int(-1, 1)),
                trials.make("Sign"),
                trials.make("Flatten"),
                trials.readout(),
            )
        ]
