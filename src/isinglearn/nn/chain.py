"""Chain: modules one after the other, with the names, shapes and scales that run through them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from isinglearn.errors import NetworkError
from isinglearn.nn.module import Context, DoesNotFit, Module, ParameterSpec, Position, Shape
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.terms import check_overflow

if TYPE_CHECKING:
    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression


class Chain:
    """Modules in order; as a sequence it gives pairs of origin and module.

    Parameters
    ----------
    modules
        Layers and activations.
    where
        Who asks, for messages.
    """

    def __init__(self, modules: Sequence[Module], where: str) -> None:
        for module in modules:
            if not isinstance(module, Module):
                raise NetworkError(
                    "this is no module",
                    where=where,
                    rule="layers and activations of isinglearn.nn",
                    received=repr(module),
                    remedy="for example nn.Linear(2, 3), nn.Sign()",
                )
        if not modules:
            raise NetworkError(
                "a network needs at least one module",
                where=where,
                rule="one or more modules",
                received="none",
                remedy="for example nn.Sequential(nn.Linear(2, 1))",
            )
        self.modules = tuple(modules)
        self.where = where

    def __iter__(self) -> Iterator[tuple[str, Module]]:
        """Pairs of origin and module: "layer1", "layer1.2" where a name comes again, "input" before all."""
        layer = 0
        seen: list[Module] = []
        for module in self.modules:
            if module.starts_layer:
                layer += 1
                seen = []
            seen.append(module)
            again = sum(_alike(module, other) for other in seen)
            name = f"layer{layer}" if layer else "input"
            yield name + (f".{again}" if again > 1 else ""), module

    def shapes(self, incoming: Shape, source: str = "the input") -> list[Shape]:
        """Turn the shape of the input into the shapes before, between and after the modules, or raise."""
        shapes, before = [incoming], source
        for module in self.modules:
            try:
                shapes.append(module.out_shape(shapes[-1]))
            except DoesNotFit as misfit:
                raise NetworkError(
                    f"{module} does not fit behind {before}",
                    where=self.where,
                    rule=f"{module} takes {misfit.rule}",
                    received=f"{before} gives {described(shapes[-1])}",
                    remedy=misfit.remedy,
                ) from None
            before = str(module)
        return shapes

    def resolve(
        self, incoming: Shape, input_bits: int, inside: Position | None = None
    ) -> list[Module]:
        """Every module with its choices made; ``inside`` is a block's position, for all in it."""
        layers = [i for i, module in enumerate(self.modules) if module.starts_layer]
        resolved = []
        for i, (module, shape) in enumerate(zip(self.modules, self.shapes(incoming), strict=False)):
            position: Position = "middle"
            if layers and i >= layers[-1]:
                position = "last"
            elif layers and i < (layers[1] if len(layers) > 1 else i + 1):
                position = "first"
            resolved.append(module.resolved(Context(inside or position, input_bits, shape)))
        return resolved

    def observe(
        self, values: Callable[[], IntArray], weights: IntArray, scale: int
    ) -> list[Module]:
        """Every module with what it takes from the training data; ``values()`` is what comes in."""
        done: list[Module] = []

        def so_far() -> IntArray:
            for module in done:
                if any(spec.free.any() for spec in module.parameters):
                    raise NetworkError(
                        f"{self.modules[len(done)]} has no data to take its statistics from",
                        where=self.where,
                        rule="nothing to train in front of it",
                        received=str(module),
                        remedy="use statistics='variables', give mean and deviation, or put it first",
                    )
            if not done:
                return values()
            chain = Chain(done, self.where)
            frozen = {name: spec.frozen for name, spec in chain.parameters.items()}
            return chain.forward(frozen, values(), scale)

        behind = scale
        for module in self.modules:
            done.append(module.observe(so_far, weights, behind))
            behind = done[-1].scale(behind)
        return done

    @cached_property
    def parameters(self) -> dict[str, ParameterSpec]:
        """All parameters of resolved modules, by full name ("layer1.weight")."""
        return {
            f"{origin}.{spec.name}": spec for origin, module in self for spec in module.parameters
        }

    @cached_property
    def steps(self) -> list[tuple[Module, dict[str, str]]]:
        """Modules with the full names of their parameters, looked up once."""
        return [
            (module, {spec.name: f"{origin}.{spec.name}" for spec in module.parameters})
            for origin, module in self
        ]

    def scale(self, incoming: int) -> int:
        """Turn the denominator of what comes in into that of what goes out."""
        for module in self.modules:
            incoming = module.scale(incoming)
        return incoming

    def reach(self, incoming: float, scale: int) -> float:
        """Turn the largest numerator that comes in into that which goes out, all within 64 bits."""
        for origin, module in self:
            incoming = module.reach(incoming, scale)
            check_overflow(incoming, f"values of {origin}")
            scale = module.scale(scale)
        return incoming

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Turn numerators (..., samples, units) into those behind the last module."""
        for module, names in self.steps:
            mine = {local: parameters[full] for local, full in names.items()}
            values = module.forward(mine, values, scale)
            scale = module.scale(scale)
        return values

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """Turn inputs into outputs in ONNX, module by module, each under its own name."""
        outer = graph.scope
        for (origin, _), (module, names) in zip(self, self.steps, strict=True):
            graph.scope = f"{outer}{origin}/"
            mine = {local: parameters[full] for local, full in names.items()}
            values = module.to_onnx(graph, mine, values, scale)
            scale = module.scale(scale)
        graph.scope = outer
        return values

    def lower(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Turn inputs into outputs, module by module, each under its own name."""
        outer = builder.origin
        for (origin, _), (module, names) in zip(self, self.steps, strict=True):
            builder.origin = f"{outer}.{origin}" if outer else origin
            mine = {local: parameters[full] for local, full in names.items()}
            inputs = module.lower(builder, mine, inputs)
        builder.origin = outer
        return inputs


def _alike(first: Module, second: Module) -> bool:
    """Whether two modules of one layer would use the same names."""
    shared = set(first.parameter_names) & set(second.parameter_names)
    return type(first) is type(second) or bool(shared)


def described(shape: Shape) -> str:
    """Turn a shape into words."""
    if len(shape) == 1:
        return f"{shape[0]} values"
    return " x ".join(map(str, shape)) + " (channels, rows, columns)"
