"""Residual: what comes in, plus what some modules make of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.nn import trials
from isinglearn.nn.activations.sign import Sign
from isinglearn.nn.chain import Chain, described
from isinglearn.nn.domains import Spin
from isinglearn.nn.layers.linear import Linear
from isinglearn.nn.module import Context, DoesNotFit, Example, Module, ParameterSpec, Shape, Trial
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class Residual(Module):
    """``y = x + f(x)`` with ``f`` the given modules, a skip connection; no spins of its own.

    Unset domains inside are those of the paper's middle layers. Parameters are named by the block and then
    by the layer inside: ``layer2.layer1.weight``.
    """

    kind: ClassVar[str] = "layer"
    starts_layer: ClassVar[bool] = True

    def __init__(self, *modules: Module) -> None:
        self.chain = Chain(modules, "Residual")

    def __repr__(self) -> str:
        return f"Residual({', '.join(map(str, self.chain.modules))})"

    @property
    def modules(self) -> tuple[Module, ...]:
        """The modules inside, in order."""
        return self.chain.modules

    def _with(self, modules: list[Module]) -> Self:
        chosen = copy.copy(self)
        chosen.chain = Chain(modules, "Residual")
        return chosen

    @property
    def parameter_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of all parameters inside."""
        return tuple(f"{o}.{name}" for o, module in self.chain for name in module.parameter_names)

    def out_shape(self, incoming: Shape) -> Shape:
        """The shape that comes in; what is inside must keep it."""
        inner = self.chain.shapes(incoming)[-1]
        if inner != incoming:
            raise DoesNotFit(
                f"{described(inner)}, which is what its modules give",
                "let the modules inside keep the shape",
            )
        return incoming

    def resolved(self, context: Context) -> Self:
        """All modules inside as middle layers."""
        inner = self._with(self.chain.resolve(context.shape, context.input_bits, "middle"))
        inner.context = context
        return inner

    def observe(self, values: Callable[[], IntArray], weights: IntArray, scale: int) -> Self:
        """All modules inside with what they take from the data."""
        return self._with(self.chain.observe(values, weights, scale))

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """All parameters inside."""
        return tuple(
            ParameterSpec(name, spec.role, spec.shape, spec.domain, spec.free, spec.frozen)
            for name, spec in self.chain.parameters.items()
        )

    def freeze(self, **values: ArrayLike) -> Self:
        """A copy with parameters inside frozen."""
        mine: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            if name not in self.parameter_names:
                return super().freeze(**values)
            origin, _, local = name.rpartition(".")
            mine.setdefault(origin, {})[local] = value
        modules = []
        for origin, module in self.chain:
            own = {k: v for k, v in mine.get(origin, {}).items() if k in module.parameter_names}
            modules.append(module.freeze(**own) if own else module)
        return self._with(modules)

    def scale(self, incoming: int) -> int:
        """Common denominator of both ways."""
        return math.lcm(incoming, self.chain.scale(incoming))

    def _factors(self, incoming: int) -> tuple[int, int]:
        scale = self.scale(incoming)
        return scale // incoming, scale // self.chain.scale(incoming)

    def reach(self, incoming: float, scale: int) -> float:
        """Both ways at their largest."""
        own, inner = self._factors(scale)
        return own * incoming + inner * self.chain.reach(incoming, scale)

    def work(self) -> int:
        """All modules inside."""
        return sum(module.work() for module in self.chain.modules)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """The sum of both ways."""
        own, inner = self._factors(scale)
        return own * values + inner * self.chain.forward(parameters, values, scale)

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """Both ways, each to the common denominator, and their sum."""
        own, inner = self._factors(scale)
        around = self.chain.to_onnx(graph, parameters, values, scale)
        return graph.add(graph.scaled(values, own), graph.scaled(around, inner))

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """Both ways, each to the common denominator, and their sum."""
        own, inner = self._factors(scale)
        return own * values + inner * layer.chain(values)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """The sum itself is handed on."""
        own, inner = self._factors(inputs.scale)
        inputs = builder.named("x", inputs)
        result = self.chain.lower(builder, parameters, inputs)
        return (result.scaled(inner) + inputs.scaled(own)).with_scale(self.scale(inputs.scale))

    @classmethod
    def examples(cls) -> list[Example]:
        """A linear map with signs around which the input is carried."""
        block = cls(Linear(2, 2, weight=Spin()), Sign())
        data = np.array([[-1, 0], [1, 1], [0, -1]])
        return [Example(block, Context("middle", 0, (2,)), data)]

    @classmethod
    def trials(cls) -> list[Trial]:
        """A block between a layer of signs and the last one."""
        return [
            trials.on_points(
                trials.hidden(),
                trials.make("Sign"),
                cls(Linear(2, 2, weight=Spin()), trials.make("Sign")),
                trials.readout(),
            )
        ]
