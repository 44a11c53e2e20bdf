"""Graph: an ONNX graph that computes with whole numbers in a floating type, and knows that they are exact.

Every value carries a bound of its magnitude. In a float of ``p`` bits (24 or 53) whole numbers below ``2^p``
are exact, and so are their sums and products while these stay below, in whatever order a runtime forms them:
a bound is that of the sum of all magnitudes, which no partial sum exceeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import OverflowRefused
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import onnx


@dataclass(frozen=True)
class Value:
    """A tensor of the graph, and a bound of the magnitudes in it."""

    name: str
    largest: int


class Graph:
    """Nodes and constants, written one after the other; it knows nothing of networks.

    Parameters
    ----------
    double
        Compute in float64 instead of float32.

    Attributes
    ----------
    scope
        Put before the names of nodes: who writes them.
    """

    export: ClassVar[str] = "to_onnx"

    def __init__(self, *, double: bool) -> None:
        self.double = double
        self.digits = 53 if double else 24
        self.kind: type[np.floating[Any]] = np.float64 if double else np.float32
        self.scope = ""
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    # -- names and constants -----------------------------------------------------------------------

    def _checked(self, largest: int, what: str) -> int:
        """Turn a bound into itself, or raise where whole numbers so large are not exact."""
        if largest >= 1 << self.digits:
            raise OverflowRefused(
                f"whole numbers can become too large to be exact in a float of {self.digits} bits",
                where=f"{self.export}, {self.scope}{what}",
                rule=f"magnitudes below 2^{self.digits}",
                received=f"up to {largest}",
                remedy="use smaller inputs, weights or denominators, or fewer units in a layer",
            )
        return largest

    def constant(self, numbers: ArrayLike) -> Value:
        """Turn whole numbers into a constant of the floating type."""
        array = np.asarray(numbers, dtype=np.int64)
        largest = int(np.abs(array).max(initial=0))
        return Value(self.tensor(array.astype(self.kind)), self._checked(largest, "constant"))

    def tensor(self, array: Any) -> str:
        """Turn an array into a constant of the same type."""
        from onnx import numpy_helper

        name = f"{self.scope}constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def reals(self, numbers: ArrayLike) -> str:
        """Turn numbers into a float64 constant."""
        return self.tensor(np.asarray(numbers, dtype=np.float64))

    def integers(self, *numbers: int) -> str:
        """Turn numbers into an int64 constant: axes, shapes."""
        return self.tensor(np.array(numbers, dtype=np.int64))

    def node(self, operator: str, *inputs: Value | str, largest: int, **attributes: Any) -> Value:
        """Write one node with one output; ``largest`` bounds it and all sums on the way to it."""
        from onnx import helper

        self._checked(largest, operator)
        name = f"{self.scope}{operator}{len(self.nodes)}"
        names = [value.name if isinstance(value, Value) else value for value in inputs]
        self.nodes.append(helper.make_node(operator, names, [name], name, **attributes))
        return Value(name, largest)

    def real(self, operator: str, *inputs: Value | str) -> Value:
        """Write one node on real numbers in float64, which rounds, so that no bound is kept."""
        return self.node(operator, *inputs, largest=0)

    def rename(self, value: Value, name: str) -> None:
        """Give a value the name of an output of the graph."""
        self.node("Identity", value, largest=0)
        self.nodes[-1].output[:] = [name]

    # -- arithmetic --------------------------------------------------------------------------------

    def add(self, first: Value, second: Value) -> Value:
        """``a + b``."""
        return self.node("Add", first, second, largest=first.largest + second.largest)

    def subtract(self, first: Value, second: Value) -> Value:
        """``a - b``."""
        return self.node("Sub", first, second, largest=first.largest + second.largest)

    def multiply(self, first: Value, second: Value) -> Value:
        """``a b``."""
        return self.node("Mul", first, second, largest=first.largest * second.largest)

    def scaled(self, value: Value, factor: int) -> Value:
        """``factor a``."""
        return value if factor == 1 else self.multiply(value, self.constant(factor))

    def total(self, value: Value, axes: list[int], count: int, *, keep: bool) -> Value:
        """Sums over axes that have ``count`` entries together."""
        largest = count * value.largest
        given = self.integers(*axes)
        return self.node("ReduceSum", value, given, largest=largest, keepdims=int(keep))

    def floor_divide(self, value: Value, divisor: Value, largest: int | None = None) -> Value:
        """``floor(a / b)`` for whole ``a`` and ``b >= 1``; ``largest`` if more is known of the quotient.

        ``Floor`` of the rounded quotient ``fl(a / b)`` is exact while ``|a| + b <= 2^p``. Rounding is
        monotone and whole numbers are floats, so ``fl(a / b)`` lies in the same ``[n - 1, n]`` as ``a / b``,
        and only ``n`` itself for ``a / b < n`` would be wrong. Such an ``n`` is at least ``1 / b`` away:

        * ``n > 0``: with ``2^e < n <= 2^(e+1)`` half the spacing of floats below ``n`` is ``2^(e-p)``, less
          than ``n 2^-p``; and ``n 2^-p <= 1 / b`` since ``b n < a + b <= 2^p``.
        * ``n < 0``: with ``2^e <= -n < 2^(e+1)`` half the spacing beyond ``n`` is ``2^(e-p)``, at most
          ``-n 2^-p``; and that is less than ``1 / b`` since ``-n b < -a < 2^p``.
        * ``n = 0``: a quotient that is not 0 does not round to 0, for it is at least ``2^-p``.
        """
        self._checked(value.largest + divisor.largest - 1, "Div")
        bound = value.largest if largest is None else largest
        quotient = self.node("Div", value, divisor, largest=value.largest)
        return self.node("Floor", quotient, largest=bound)

    def root(self, value: Value) -> Value:
        """``floor(sqrt(a))`` for whole ``a >= 0``.

        ``Floor`` of the rounded root is exact while ``a < 4^(p // 2)``. As above only ``n`` for a root below
        ``n`` would be wrong. It is further away than ``1 / 2n``, for ``n^2 - 1 < (n - 1 / 2n)^2``; with
        ``2^e < n <= 2^(e+1)`` half the spacing of floats below ``n`` is ``2^(e-p)``; and ``2^(e-p) <= 1 /
        2n`` since ``n <= 2^(p // 2)``, hence ``e + 1 <= p // 2`` and ``2^(e+1) n <= 2^p``. (At ``2^53 - 1``
        it would fail: with 53 bits the limit is ``2^52``.)
        """
        self._checked(value.largest << (self.digits % 2), "Sqrt")
        root = self.node("Sqrt", value, largest=value.largest)
        return self.node("Floor", root, largest=math.isqrt(value.largest))

    def choose(self, value: Value, above: Value, below: Value) -> Value:
        """``above`` where ``a >= 0``, else ``below``; also at -0.0, which is not below 0."""
        at_least = self.node("GreaterOrEqual", value, self.constant(0), largest=1)
        return self.node("Where", at_least, above, below, largest=max(above.largest, below.largest))

    # -- arrangement -------------------------------------------------------------------------------

    def flat(self, value: Value) -> Value:
        """All values of a sample in one row."""
        return self.node("Flatten", value, largest=value.largest, axis=1)

    def shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The values of each sample in another shape."""
        # 0 keeps the number of samples.
        return self.node("Reshape", value, self.integers(0, *shape), largest=value.largest)

    def gathered(self, value: Value, entries: IntArray) -> Value:
        """Values of each sample, laid flat, at the given entries; 0 where the entry is -1."""
        value = self.flat(value)
        if (entries < 0).any():
            # A zero in front, so that an entry is one more.
            value = self.node("Pad", value, self.integers(0, 1, 0, 0), largest=value.largest)
            entries = entries + 1
        indices = self.tensor(entries.astype(np.int64))
        return self.node("Gather", value, indices, largest=value.largest, axis=1)


class Bounds(Graph):
    """The bounds of a graph in float64 without the graph: it raises where such numbers are not exact.

    For exports that compute with the same operations, each beside its ``to_onnx``; onnx is not needed.
    """

    export = "to_torch"

    def __init__(self) -> None:
        super().__init__(double=True)

    def tensor(self, array: Any) -> str:
        """A constant that is not written."""
        return ""

    def node(self, operator: str, *inputs: Value | str, largest: int, **attributes: Any) -> Value:
        """A node that is not written, only its bound."""
        return Value("", self._checked(largest, operator))
