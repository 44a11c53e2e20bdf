"""Staircase: any function of one value that takes finitely many values, as a sum of thresholds.

In a quantised network every function on a finite range is one; tanh, sigmoid and the like are staircases with
chosen steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn import trials
from isinglearn.nn.module import Context, Example, Module, Trial
from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    import torch

    from isinglearn.exports.onnx_graph import Graph, Value
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression

# Steps of a staircase, and points at which a function is looked at to find them.
MOST_STEPS = 256
MOST_POINTS = 1 << 16


class Staircase(Module):
    """``a = values[k]`` where ``k`` thresholds are at most ``s``.

    As a sum of thresholds: ``a = values[0] + sum_k (values[k] - values[k-1]) [s >= thresholds[k-1]]``.

    Spins per unit and sample: those of a ``Sign`` for every threshold within the range of ``s``, and none for
    the others. The paper has no such module; both formulations write it alike.

    Parameters
    ----------
    thresholds
        Ascending numbers at which the value changes.
    values
        One more than thresholds: multiples of ``1 / denominator``.
    denominator
        Grid of the values.
    """

    kind: ClassVar[str] = "activation"

    def __init__(
        self,
        thresholds: Sequence[Fraction | float],
        values: Sequence[Fraction | float],
        *,
        denominator: int = 1,
    ) -> None:
        self.denominator = check_count(denominator, "Staircase(denominator)", error=NetworkError)
        self.thresholds = _fractions(thresholds, "Staircase(thresholds)")
        heights = [value * denominator for value in _fractions(values, "Staircase(values)")]
        self._check(heights)
        self.heights = np.array([int(height) for height in heights], dtype=np.int64)

    def _check(self, heights: list[Fraction]) -> None:
        count = len(self.thresholds)
        ascending = all(a < b for a, b in zip(self.thresholds, self.thresholds[1:], strict=False))
        faults = (
            (count > MOST_STEPS, f"at most {MOST_STEPS} steps", count, "use a coarser staircase"),
            (not ascending, "ascending thresholds", "others", "sort them and drop repeated ones"),
            (
                len(heights) != count + 1,
                f"{count + 1} values for {count} thresholds",
                len(heights),
                "give the value below the first threshold, then one for each",
            ),
            (
                any(height.denominator > 1 for height in heights),
                f"values on the grid of 1/{self.denominator}",
                "others",
                "round them or raise denominator",
            ),
        )
        for fault, rule, received, remedy in faults:
            if fault:
                raise NetworkError(
                    "this is no staircase",
                    where="Staircase",
                    rule=rule,
                    received=received,
                    remedy=remedy,
                )

    @classmethod
    def of(
        cls,
        function: Callable[[Any], Any],
        lo: int,
        hi: int,
        *,
        denominator: int = 1,
        grid: int = 1,
    ) -> Self:
        """Turn a function into its staircase on ``[lo, hi]``, rounded to multiples of ``1 / denominator``.

        Outside it stays at the value of the end. ``function`` takes and gives an array; it is looked at
        in all multiples of ``1 / grid``.
        """
        check_count(hi - lo, "Staircase.of(lo, hi)", error=NetworkError)
        check_count(grid * (hi - lo), "Staircase.of(points)", 1, MOST_POINTS, NetworkError)
        points = np.arange(lo * grid, hi * grid + 1)
        found = np.asarray(function(points / grid), dtype=np.float64)
        if found.shape != points.shape or not np.isfinite(found).all():
            raise NetworkError(
                "the function does not give a finite number for every point",
                where="Staircase.of(function)",
                rule="an array of as many finite numbers as it is given",
                received=f"shape {found.shape}",
                remedy="cut the range, or use a function of NumPy arrays",
            )
        heights = np.rint(found * denominator).astype(np.int64)
        changes = np.flatnonzero(np.diff(heights)) + 1
        return cls(
            [Fraction(int(points[i]), grid) for i in changes],
            [Fraction(int(heights[i]), denominator) for i in (0, *changes)],
            denominator=denominator,
        )

    @property
    def values(self) -> list[Fraction]:
        """The values, the first below all thresholds."""
        return [Fraction(int(height), self.denominator) for height in self.heights]

    def __repr__(self) -> str:
        return f"Staircase({len(self.thresholds)} steps)"

    def scale(self, incoming: int) -> int:
        """The grid of the values."""
        return self.denominator

    def reach(self, incoming: float, scale: int) -> float:
        """The largest value."""
        return float(np.abs(self.heights).max())

    def work(self) -> int:
        """A comparison for every step."""
        return super().work() * (1 + len(self.thresholds))

    def _cuts(self, scale: int) -> IntArray:
        """Thresholds as numerators: ``s / scale >= t`` exactly when ``s >= ceil(t scale)``."""
        return np.array([math.ceil(t * scale) for t in self.thresholds], dtype=np.int64)

    def _steps(self, scale: int) -> Iterator[tuple[int, int]]:
        """Numerators at which the value changes, and by how much; those that fall together are one."""
        cuts, which = np.unique(self._cuts(scale), return_inverse=True)
        rises = np.zeros(len(cuts), dtype=np.int64)
        np.add.at(rises, which, np.diff(self.heights))
        return ((int(c), int(r)) for c, r in zip(cuts, rises, strict=True) if r)

    def forward(self, parameters: Mapping[str, IntArray], values: IntArray, scale: int) -> IntArray:
        """Look up how many thresholds are passed."""
        return self.heights[np.searchsorted(self._cuts(scale), values, side="right")]

    def to_onnx(
        self, graph: Graph, parameters: Mapping[str, IntArray], values: Value, scale: int
    ) -> Value:
        """Count the thresholds that are passed, look up the value."""
        heights = graph.constant(self.heights)
        if not self.thresholds:
            zero = graph.scaled(values, 0)
            return graph.add(zero, heights)
        last = graph.integers(-1)
        beside = graph.node("Unsqueeze", values, last, largest=values.largest)
        cuts = graph.constant(self._cuts(scale))
        passed = graph.node("GreaterOrEqual", beside, cuts, largest=1)
        ones = graph.node("Where", passed, graph.integers(1), graph.integers(0), largest=1)
        count = graph.total(ones, [-1], len(self.thresholds), keep=False)
        return graph.node("Gather", heights, count, largest=heights.largest)

    def to_torch(self, layer: torch.nn.Module, values: torch.Tensor, scale: int) -> torch.Tensor:
        """Look up how many thresholds are passed."""
        import torch

        cuts, heights = values.new_tensor(self._cuts(scale)), values.new_tensor(self.heights)
        return heights[torch.bucketize(values.contiguous(), cuts, right=True)]

    def lower_compact(
        self, builder: Builder, parameters: Mapping[str, Expression], inputs: Expression
    ) -> Expression:
        """A step for every threshold; those out of reach become constants when bits are written."""
        inputs = builder.named("h", inputs)
        result = builder.constant(int(self.heights[0]), inputs.shape)
        for number, (cut, rise) in enumerate(self._steps(inputs.scale), start=1):
            beyond = inputs + builder.constant(-cut, inputs.shape)
            result = result + builder.step(f"step{number}", beyond).scaled(rise)
        cut_off = result.clipped(self.heights.min(), self.heights.max())
        return cut_off.with_scale(self.denominator)

    @classmethod
    def examples(cls) -> list[Example]:
        """A staircase that falls again, thresholds between the numbers, and a rounded tanh."""
        data, context = np.arange(-3, 4)[:, None], Context("middle", 1, (1,))
        return [
            Example(cls([-1, 1, 2], [0, 2, -1, 1]), context, data),
            Example(cls([Fraction(-1, 3), 0.5], [-1, 0, 0.5], denominator=2), context, data, 2),
            Example(cls.of(np.tanh, -3, 3, denominator=3), context, data),
        ]

    @classmethod
    def trials(cls) -> list[Trial]:
        """Three values between two linear layers."""
        return [trials.on_points(trials.hidden(), cls([0, 2], [-1, 0, 1]), trials.readout())]


def _fractions(given: Sequence[Fraction | float], where: str) -> list[Fraction]:
    try:
        values = [value.item() if isinstance(value, np.generic) else value for value in given]
        return [Fraction(repr(v)) if isinstance(v, float) else Fraction(v) for v in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise NetworkError(
            "these are no numbers",
            where=where,
            rule="a sequence of finite numbers",
            received=repr(given),
            remedy="whole numbers, fractions or decimals",
        ) from error
