"""Module: what a network is made of; ``forward`` in integers and ``lower`` to constraints side by side."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import NetworkError
from isinglearn.nn.domains import Domain
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression

Parameters = dict[str, IntArray]
# What a sample's values are arranged as: (units,) or (channels, rows, columns).
Shape = tuple[int, ...]
Position = Literal["first", "middle", "last"]
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
    """Where a module stands: what the paper's default domains depend on, and what comes in."""

    position: Position
    input_bits: int
    shape: Shape


@dataclass(frozen=True)
class Example:
    """A small instance for the conformance suite: a module and the inputs of its enumeration.

    Attributes
    ----------
    module, context
        What is lowered, and where it is said to stand.
    inputs
        Numerators to enumerate, shape (cases, units), over ``input_scale``.
    """

    module: Module
    context: Context
    inputs: IntArray = field(repr=False)
    input_scale: int = 1


@dataclass(frozen=True, eq=False)
class Trial:
    """A task that is small enough to enumerate: modules one after the other, and data."""

    modules: tuple[Module, ...]
    X: IntArray
    y: IntArray
    input_shape: Shape


class DoesNotFit(Exception):
    """What comes in does not suit a module; who put the two together knows both their names."""

    def __init__(self, rule: str, remedy: str) -> None:
        super().__init__(rule)
        self.rule, self.remedy = rule, remedy


class Module:
    """One layer or activation: registered by name, checked by enumeration automatically.

    Values are whole numbers over a common denominator, ``scale``, laid out flat for each sample whatever
    their ``Shape``. Subclasses implement ``forward`` on plain integer arrays and ``lower_compact`` (and,
    where the paper gives one, ``lower_paper``) on expressions; ``examples`` gives the conformance suite
    something small to enumerate and ``trial`` a network to train.
    """

    kind: ClassVar[str] = "layer"
    starts_layer: ClassVar[bool] = False
    parameter_names: ClassVar[tuple[str, ...]] = ()
    context: Context | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not cls.__name__.startswith("_"):
            MODULES[cls.__name__] = cls

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    # -- what it is --------------------------------------------------------------------------------

    def out_shape(self, incoming: Shape) -> Shape:
        """Turn the shape of what comes in into that of what goes out, or raise ``DoesNotFit``."""
        return incoming

    def resolved(self, context: Context) -> Self:
        """The module with every unset choice made, following the paper's configuration."""
        chosen = copy.copy(self)
        chosen.context = context
        return chosen

    @property
    def in_shape(self) -> Shape:
        """Shape of what comes in, once the network is resolved."""
        assert self.context is not None, "resolve the network first"
        return self.context.shape

    @property
    def parameters(self) -> tuple[ParameterSpec, ...]:
        """Parameters, in order; names are local to the module."""
        specs = self.parameter_specs()
        frozen = self._frozen
        return tuple(
            spec.freeze(frozen[spec.name]) if spec.name in frozen else spec for spec in specs
        )

    def parameter_specs(self) -> tuple[ParameterSpec, ...]:
        """Parameters as declared, all free."""
        return ()

    # What was frozen by hand; never changed in place.
    _frozen: Mapping[str, ArrayLike] = {}

    def freeze(self, **values: ArrayLike) -> Self:
        """A copy with parameters frozen to values; NaN entries stay free."""
        unknown = set(values) - set(self.parameter_names)
        if unknown:
            raise NetworkError(
                "there is no such parameter",
                where=f"{self}.freeze",
                rule=" or ".join(map(repr, self.parameter_names)) or "a module with parameters",
                received=sorted(unknown)[0],
                remedy="use one of these names",
            )
        frozen = copy.copy(self)
        frozen._frozen = {**self._frozen, **values}
        return frozen

    def observe(self, values: Callable[[], IntArray], weights: IntArray, scale: int) -> Self:
        """The module with what it takes from the training data; most take nothing.

        ``values()`` gives what comes in, shape (samples, units), or raises where that is still to be
        trained.
        """
        return self

    # -- what it computes --------------------------------------------------------------------------

    def scale(self, incoming: int) -> int:
        """Turn the denominator of the incoming values into that of the outgoing ones."""
        return incoming

    def reach(self, incoming: float, scale: int) -> float:
        """Turn the largest magnitude of the incoming numerators into that of the outgoing ones."""
        return incoming

    def work(self) -> int:
        """About how many numbers a forward pass of one sample touches."""
        return math.prod(self.in_shape)

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

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """Turn numerators, one axis for each of the input's shape, into those of the next layer, in ONNX."""
        raise NetworkError(
            f"{type(self).__name__} has no ONNX form",
            where=type(self).__name__,
            rule="modules that implement to_onnx",
            remedy="write that method; the graph has what it needs",
        )

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """Turn numerators, shaped as in ``to_onnx`` and in float64, into those of the next layer, in torch.

        ``layer`` holds parameters, and what was ``seen``, by their names, and as ``chain`` the layers of a
        module that has such. By the same operations as ``to_onnx``, so that its bounds hold here too.
        """
        raise NetworkError(
            f"{type(self).__name__} has no torch form",
            where=type(self).__name__,
            rule="modules that implement to_torch",
            remedy="write that method: forward once more, in float64 tensors",
        )

    # -- how it is written down --------------------------------------------------------------------

    def config(self) -> dict[str, Any]:
        """Turn the module into the arguments of its constructor: each is an attribute of that name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Turn what ``config`` gave into the module; ``*arguments`` are one entry, a list."""
        given, several = dict(config), []
        for name, parameter in signature(cls).parameters.items():
            if parameter.kind is Parameter.VAR_POSITIONAL:
                several = list(given.pop(name, []))
        return cls(*several, **given)

    @property
    def frozen(self) -> Mapping[str, ArrayLike]:
        """What was frozen by hand, by name of the parameter; NaN entries are free."""
        return self._frozen

    def seen(self) -> dict[str, IntArray]:
        """What ``observe`` took from the training data, by name; most take nothing."""
        return {}

    def with_seen(self, values: Mapping[str, IntArray]) -> Self:
        """The module with what another one had ``seen``."""
        if set(values) != set(self.seen()):
            raise NetworkError(
                "these are not what the module takes from data",
                where=f"{self}.with_seen",
                rule=" and ".join(self.seen()) or "nothing",
                received=", ".join(values) or "nothing",
                remedy="pass what seen() of such a module gives",
            )
        return self

    # -- what its tests need -----------------------------------------------------------------------

    @classmethod
    def in_paper(cls) -> bool:
        """Whether the paper gives constraints for it."""
        return cls.lower_paper is not Module.lower_paper

    @classmethod
    def examples(cls) -> list[Example]:
        """Small instances for the conformance suite."""
        return []

    @classmethod
    def trials(cls) -> list[Trial]:
        """Small networks with this module, to be trained to the optimum."""
        return []
