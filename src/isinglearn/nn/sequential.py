"""Sequential: a whole network, from integer inputs to outputs."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn.chain import Chain
from isinglearn.nn.module import Module, ParameterSpec, Shape
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class Sequential:
    """Modules one after the other; ``layer k`` is the k-th linear map (or block) with what follows it.

    Parameters
    ----------
    *modules
        Layers and activations, in order.
    input_bits
        The paper's ``B``: inputs lie in ``[-2^B, 2^B]``. ``None`` takes it from the data.
    input_shape
        Shape of one sample: ``(features,)``, or ``(channels, rows, columns)`` for images. A first
        ``Linear`` knows it by itself.
    """

    def __init__(
        self, *modules: Module, input_bits: int | None = None, input_shape: Shape | None = None
    ) -> None:
        self._chain = Chain(modules, "Sequential")
        if input_bits is not None:
            check_count(input_bits, "input_bits", 0, 61)
        self.input_bits = input_bits
        self.input_shape = self._checked(input_shape)
        self.output_shape = self._chain.shapes(self.input_shape)[-1]

    def _checked(self, given: Shape | None) -> Shape:
        first = self.modules[0]
        if given is None:
            width = getattr(first, "in_features", 0)
            if not width:
                raise NetworkError(
                    "the shape of the input is not known",
                    where="Sequential",
                    rule="a Linear first, or input_shape",
                    received=str(first),
                    remedy="pass input_shape=(features,), or (channels, rows, columns) for images",
                )
            return (int(width),)
        shape = tuple(given) if np.iterable(given) else (given,)
        if len(shape) not in (1, 3):
            raise NetworkError(
                "an input has one dimension or three",
                where="input_shape",
                rule="(features,) or (channels, rows, columns)",
                received=given,
                remedy="for grey images put a 1 in front: (1, 8, 8)",
            )
        return tuple(check_count(size, "input_shape", error=NetworkError) for size in shape)

    @property
    def modules(self) -> tuple[Module, ...]:
        """The modules, in order."""
        return self._chain.modules

    @property
    def in_features(self) -> int:
        """Number of input values of a sample."""
        return math.prod(self.input_shape)

    @property
    def out_features(self) -> int:
        """Number of output values of a sample."""
        return math.prod(self.output_shape)

    def __iter__(self) -> Iterator[tuple[str, Module]]:
        """Pairs of origin ("layer1") and module."""
        return iter(self._chain)

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(str, self.modules))})"

    def _with(self, modules: list[Module], input_bits: int | None) -> Sequential:
        return Sequential(*modules, input_bits=input_bits, input_shape=self.input_shape)

    def resolved(self, input_bits: int) -> Sequential:
        """The network with every unset domain chosen as in the paper's appendices B and D."""
        return self._with(self._chain.resolve(self.input_shape, input_bits), input_bits)

    def observed(self, inputs: IntArray, weights: IntArray) -> Sequential:
        """A resolved network with what its modules take from the training data."""
        return self._with(self._chain.observe(lambda: inputs, weights, 1), self.input_bits)

    @cached_property
    def parameters(self) -> dict[str, ParameterSpec]:
        """All parameters of a resolved network, by full name ("layer1.weight")."""
        return self._chain.parameters

    def reach(self, largest_input: float) -> float:
        """Turn the largest input into the largest output numerator; raise if 64 bits do not hold all."""
        return self._chain.reach(largest_input, 1)

    @cached_property
    def output_scale(self) -> int:
        """Denominator of the network's outputs."""
        return self._chain.scale(1)

    @cached_property
    def work(self) -> int:
        """About how many numbers a forward pass of one sample touches."""
        return max(1, sum(module.work() for module in self.modules))

    def freeze(self, values: Mapping[str, ArrayLike]) -> Sequential:
        """A copy with parameters frozen: ``{"layer1.bias": 2}``; NaN entries stay free."""
        names = {origin for origin, _ in self}
        mine: dict[str, dict[str, ArrayLike]] = {}
        for name, value in values.items():
            # Of "layer1.2.scale" the module is "layer1.2"; inside a block the rest names the parameter.
            origin = max((o for o in names if name.startswith(f"{o}.")), key=len, default="")
            local = name[len(origin) + 1 :]
            if not origin or not local:
                raise NetworkError(
                    "there is no such parameter",
                    where=f"freeze({name!r})",
                    rule="names like 'layer1.bias'; layers " + ", ".join(sorted(names)),
                    received=name,
                    remedy="count layers by their Linear modules, from 1",
                )
            mine.setdefault(origin, {})[local] = value
        modules = []
        for origin, module in self:
            here = mine.get(origin, {})
            # Modules of one layer share its name; each takes the parameters that it has.
            own = {k: v for k, v in here.items() if k in module.parameter_names}
            for name in own:
                del here[name]
            modules.append(module.freeze(**own) if own else copy.copy(module))
        for origin, left in mine.items():
            if left:
                first = next(module for name, module in self if name == origin)
                first.freeze(**left)
        return self._with(modules, self.input_bits)

    def forward(self, parameters: Mapping[str, IntArray], inputs: IntArray) -> IntArray:
        """Turn integer inputs (samples, features) into output numerators over ``output_scale``.

        Parameters may carry leading batch axes; the result then has them too.
        """
        return self._chain.forward(parameters, inputs, 1)

    def to_onnx(self, graph: Graph, parameters: Mapping[str, IntArray], inputs: Value) -> Value:
        """Turn integer inputs into output numerators, both in their shapes, in ONNX."""
        return self._chain.to_onnx(graph, parameters, inputs, 1)

    def lower(self, builder: Builder, inputs: Expression) -> Expression:
        """Turn inputs into outputs; the variables of all parameters come before all others."""
        parameters: dict[str, Expression] = {}
        for origin, module in self:
            builder.origin = origin
            for spec in module.parameters:
                parameters[f"{origin}.{spec.name}"] = builder.parameter(spec)
        builder.origin = ""
        return self._chain.lower(builder, parameters, inputs)
