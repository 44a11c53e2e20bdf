"""Module: what a network is made of; ``forward`` in integers and ``lower`` to constraints side by side."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn.domains import Domain
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.terms import check_overflow

if TYPE_CHECKING:
    from isinglearn.lowering.builder import Builder, Expression

Parameters = dict[str, IntArray]
MODULES: dict[str, type[Module]] = {}


@dataclass(frozen=True, eq=False)
class ParameterSpec:
    """A parameter of a module: shape, domain, and which entries are frozen to which numerator.

    ``frozen`` holds numerators where ``free`` is False and is ignored elsewhere.
    """

    name: str
    role: Literal["weight", "bias"]
    shape: tuple[int, ...]
    domain: Domain
    free: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
    frozen: IntArray

    @classmethod
    def trainable(
        cls, name: str, role: Literal["weight", "bias"], shape: tuple[int, ...], domain: Domain
    ) -> ParameterSpec:
        """A parameter of which every entry is free."""
        return cls(name, role, shape, domain, np.ones(shape, bool), np.zeros(shape, np.int64))

    @property
    def largest(self) -> float:
        """Largest magnitude of a numerator, frozen or free."""
        frozen = float(np.abs(self.frozen[~self.free]).max(initial=0))
        ends = max(abs(self.domain.lo), abs(self.domain.hi)) if self.free.any() else 0
        return max(frozen, float(ends))

    def freeze(self, value: ArrayLike) -> ParameterSpec:
        """Freeze to ``value`` (in units of the parameter, broadcast); NaN entries stay free."""
        try:
            given = np.broadcast_to(np.asarray(value, dtype=np.float64), self.shape)
        except (TypeError, ValueError) as error:
            raise self._unfit(value) from error
        if np.isinf(given).any():
            raise self._unfit(value)
        stays = np.isnan(given)
        scaled = np.where(stays, 0.0, given) * self.domain.denominator
        numerators = np.rint(scaled).astype(np.int64)
        if not np.array_equal(numerators, scaled):
            raise self._unfit(value)
        return ParameterSpec(
            self.name,
            self.role,
            self.shape,
            self.domain,
            self.free & stays,
            np.where(stays, self.frozen, numerators),
        )

    def _unfit(self, value: object) -> NetworkError:
        return NetworkError(
            "a frozen value does not fit the parameter",
            where=self.name,
            rule=f"multiples of 1/{self.domain.denominator}, one or an array of shape {self.shape}",
            received=value,
            remedy="choose values on the grid or another domain; NaN leaves an entry free",
        )


@dataclass(frozen=True)
class Context:
    """Where a module stands: what the paper's default domains depend on."""

    position: Literal["first", "middle", "last"]
    input_bits: int


@dataclass(frozen=True)
class Example:
    """A small instance for the conformance suite: a module and the inputs of its enumeration."""

    module: Module
    context: Context
    inputs: IntArray = field(repr=False)
    input_scale: int = 1


class Module:
    """One layer, activation or loss: registered by name, checked by enumeration automatically.

    Subclasses implement ``forward`` on plain integer arrays and ``lower_compact`` (and, where the paper
    gives one, ``lower_paper``) on expressions; ``examples`` gives the conformance suite something small.
    """

    kind: ClassVar[str] = "layer"
    starts_layer: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.startswith("_"):
            MODULES[cls.__name__] = cls

    def resolved(self, context: Context) -> Self:
        """The module with every unset choice made, following the paper's configuration."""
        return self

    @property
    def parameters(self) -> tuple[ParameterSpec, ...]:
        """Parameters, in order; names are local to the module."""
        return ()

    def widths(self, incoming: int) -> int:
        """Turn the number of incoming values into the number of outgoing ones, or raise."""
        return incoming

    def scale(self, incoming: int) -> int:
        """Turn the denominator of the incoming values into that of the outgoing ones."""
        return incoming

    def reach(self, incoming: float, scale: int) -> float:
        """Turn the largest magnitude of the incoming numerators into that of the outgoing ones."""
        return incoming

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Turn numerators of shape ``(..., samples, units)`` into numerators of the next layer."""
        raise NetworkError(f"{type(self).__name__} has no forward pass", where=type(self).__name__)

    def lower(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Turn input expressions into output expressions, adding variables and constraints."""
        method = self.lower_paper if builder.paper else self.lower_compact
        return method(builder, parameters, inputs)

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Lowering with as few bits as possible."""
        raise NetworkError(f"{type(self).__name__} has no lowering", where=type(self).__name__)

    def lower_paper(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """Lowering as the paper prints it; the compact one where the paper gives none."""
        return self.lower_compact(builder, parameters, inputs)

    @classmethod
    def examples(cls) -> list[Example]:
        """Small instances for the conformance suite."""
        return []


class Sequential:
    """Modules one after the other; ``layer k`` is the k-th module that has parameters.

    Parameters
    ----------
    *modules
        Layers and activations, in order.
    input_bits
        The paper's ``B``: inputs lie in ``[-2^B, 2^B]``. ``None`` takes it from the data.
    """

    def __init__(self, *modules: Module, input_bits: int | None = None) -> None:
        if not modules:
            raise NetworkError(
                "a network needs at least one module",
                where="Sequential",
                rule="one or more modules",
                received="none",
                remedy="for example nn.Sequential(nn.Linear(2, 1))",
            )
        self.modules = tuple(modules)
        for module in modules:
            if not isinstance(module, Module):
                raise NetworkError(
                    "this is no module",
                    where="Sequential",
                    rule="layers and activations of isinglearn.nn",
                    received=repr(module),
                    remedy="for example nn.Linear(2, 3), nn.Sign()",
                )
        if input_bits is not None:
            check_count(input_bits, "input_bits", 0, 61)
        self.input_bits = input_bits
        self._check_widths()

    def _check_widths(self) -> None:
        width = getattr(self.modules[0], "in_features", 0)
        if not width:
            raise NetworkError(
                "a network begins with a layer that has a width",
                where="Sequential",
                rule="a Linear first",
                received=str(self.modules[0]),
                remedy="put nn.Linear(features, units) in front",
            )
        before = "the input"
        for module in self.modules:
            wanted = getattr(module, "in_features", width)
            if wanted != width:
                raise NetworkError(
                    f"{module} does not fit behind {before}",
                    where="Sequential",
                    rule=f"{module} takes {wanted} values",
                    received=f"{before} gives {width}",
                    remedy=f"use Linear({width}, ...) there",
                )
            width = module.widths(width)
            before = str(module)
        self.out_features = width

    @property
    def in_features(self) -> int:
        """Number of input features."""
        return int(getattr(self.modules[0], "in_features", 0))

    def __iter__(self) -> Iterator[tuple[str, Module]]:
        """Pairs of origin ("layer1") and module; a kind's second module in a layer is "layer1.2"."""
        layer = 0
        kinds: list[type[Module]] = []
        for module in self.modules:
            if module.starts_layer:
                layer += 1
                kinds = []
            kinds.append(type(module))
            again = kinds.count(type(module))
            yield f"layer{max(layer, 1)}" + (f".{again}" if again > 1 else ""), module

    def __repr__(self) -> str:
        return f"Sequential({', '.join(map(str, self.modules))})"

    def resolved(self, input_bits: int) -> Sequential:
        """The network with every unset domain chosen as in the paper's appendices B and D."""
        layers = [i for i, m in enumerate(self.modules) if m.starts_layer]
        modules = []
        for i, module in enumerate(self.modules):
            position: Literal["first", "middle", "last"] = "middle"
            if layers and i >= layers[-1]:
                position = "last"
            elif layers and i < (layers[1] if len(layers) > 1 else i + 1):
                position = "first"
            modules.append(module.resolved(Context(position, input_bits)))
        return Sequential(*modules, input_bits=input_bits)

    @cached_property
    def parameters(self) -> dict[str, ParameterSpec]:
        """All parameters of a resolved network, by full name ("layer1.weight")."""
        return {
            f"{origin}.{spec.name}": spec for origin, module in self for spec in module.parameters
        }

    def reach(self, largest_input: float) -> float:
        """Turn the largest input into the largest output numerator; raise if 64 bits do not hold all."""
        reach, scale = largest_input, 1
        for origin, module in self:
            reach = module.reach(reach, scale)
            check_overflow(reach, f"values of {origin}")
            scale = module.scale(scale)
        return reach

    @cached_property
    def output_scale(self) -> int:
        """Denominator of the network's outputs."""
        scale = 1
        for module in self.modules:
            scale = module.scale(scale)
        return scale

    def freeze(self, values: Mapping[str, ArrayLike]) -> Sequential:
        """A copy with parameters frozen: ``{"layer1.bias": 2}``; NaN entries stay free."""
        names = {origin for origin, _ in self}
        for name in values:
            if name.count(".") != 1 or name.split(".")[0] not in names:
                raise NetworkError(
                    "there is no such parameter",
                    where=f"freeze({name!r})",
                    rule="names like 'layer1.bias'; layers " + ", ".join(sorted(names)),
                    received=name,
                    remedy="count layers by their Linear modules, from 1",
                )
        modules = []
        for origin, module in self:
            mine = {
                name.split(".")[1]: value
                for name, value in values.items()
                if name.split(".")[0] == origin and hasattr(module, "freeze")
            }
            modules.append(module.freeze(**mine) if mine else copy.copy(module))  # type: ignore[attr-defined]
        return Sequential(*modules, input_bits=self.input_bits)

    def forward(self, parameters: Mapping[str, IntArray], inputs: IntArray) -> IntArray:
        """Turn integer inputs (samples, features) into output numerators over ``output_scale``.

        Parameters may carry leading batch axes; the result then has them too.
        """
        values, scale = inputs, 1
        for module, names in self._steps:
            mine = {local: parameters[full] for local, full in names.items()}
            values = module.forward(mine, values, scale)
            scale = module.scale(scale)
        return values

    @cached_property
    def _steps(self) -> list[tuple[Module, dict[str, str]]]:
        """Modules with the full names of their parameters, looked up once."""
        return [
            (module, {spec.name: f"{origin}.{spec.name}" for spec in module.parameters})
            for origin, module in self
        ]
