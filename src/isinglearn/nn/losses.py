"""Losses: what a network's outputs and the labels are turned into."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from isinglearn.errors import DataError
from isinglearn.nn import gadgets
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.terms import check_overflow

if TYPE_CHECKING:
    from isinglearn.data import Dataset
    from isinglearn.lowering.builder import Builder
    from isinglearn.nn.expression import Expression

LOSSES: dict[str, type[Loss]] = {}


class Loss(ABC):
    """A sum over samples and outputs, as an integer over ``scale``; registered by its name.

    ``lower_bound`` is what no network goes below.
    """

    lower_bound = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        LOSSES[cls.__name__] = cls

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def check_labels(self, data: Dataset) -> None:  # noqa: B027 - most losses take any
        """Raise if the labels are none for this loss."""

    @abstractmethod
    def scale(self, data: Dataset, output_scale: int) -> int:
        """What the integer loss is divided by."""

    @abstractmethod
    def check_reach(self, data: Dataset, reach: float, output_scale: int) -> None:
        """Raise if the integer loss of outputs of this magnitude could leave 64 bits."""

    @abstractmethod
    def exact(self, prediction: Fraction, label: Fraction) -> Fraction:
        """Turn one prediction and its label into its part of the loss, by the definition."""

    @abstractmethod
    def each(self, data: Dataset, outputs: IntArray, output_scale: int) -> IntArray:
        """Turn output numerators (..., samples, outputs) into unweighted integer losses, the same shape."""

    def evaluate(self, data: Dataset, outputs: IntArray, output_scale: int) -> IntArray:
        """Turn output numerators (..., samples, outputs) into integer losses (...)."""
        losses = self.each(data, outputs, output_scale).sum(axis=-1)
        return (losses * data.weights).sum(axis=-1)

    def worst(self, data: Dataset, lo: IntArray, hi: IntArray, output_scale: int) -> IntArray:
        """Turn output ranges (samples, outputs) into the largest integer loss of each sample.

        Every loss here is convex in the output, so it is at one end.
        """
        ends = (self.each(data, lo, output_scale), self.each(data, hi, output_scale))
        return np.maximum(*ends).sum(axis=1) * data.weights

    @abstractmethod
    def lower(self, builder: Builder, outputs: Expression, data: Dataset, samples: IntArray) -> int:
        """Add the loss to the objective; return its scale.

        ``outputs`` has a row for every row of the data, ``samples`` the sample numbers of these rows.
        """

    @classmethod
    def in_paper(cls) -> bool:
        """Whether the paper gives it."""
        return True


class MSE(Loss):
    """``1/N sum_i |y_i - yhat_i|^2``, with sample weights ``sum_i w_i |...|^2 / sum_i w_i``.

    No spins: outputs are substituted.
    """

    def scale(self, data: Dataset, output_scale: int) -> int:
        """Squared common denominator times total weight."""
        denominator = math.lcm(output_scale, data.label_scale)
        scale = denominator**2 * int(data.weights.sum())
        check_overflow(float(scale), "loss scale")
        return scale

    def _factors(self, data: Dataset, output_scale: int) -> tuple[int, int]:
        denominator = math.lcm(output_scale, data.label_scale)
        return denominator // output_scale, denominator // data.label_scale

    def check_reach(self, data: Dataset, reach: float, output_scale: int) -> None:
        """The largest square, summed over samples and outputs."""
        left, right = self._factors(data, output_scale)
        residual = left * reach + right * float(data.label_scale)
        total = float(data.weights.astype(np.float64).sum()) * data.y.shape[1]
        check_overflow(residual * residual * total, "loss")

    def exact(self, prediction: Fraction, label: Fraction) -> Fraction:
        """The squared difference."""
        return (prediction - label) ** 2

    def each(self, data: Dataset, outputs: IntArray, output_scale: int) -> IntArray:
        """Squared differences over the common denominator."""
        left, right = self._factors(data, output_scale)
        residual = left * outputs - right * data.y
        return residual * residual

    def lower(self, builder: Builder, outputs: Expression, data: Dataset, samples: IntArray) -> int:
        """One squared row per sample and output."""
        left, right = self._factors(data, outputs.scale)
        residual = outputs.scaled(left) + builder.constants(-right * data.y)
        weights = np.repeat(data.weights, outputs.shape[1])
        builder.minimise("loss", residual, weights, shape="square")
        return self.scale(data, outputs.scale)


class Hinge(Loss):
    """``1/N sum_i max(0, 1 - y_i yhat_i)`` for labels -1 and +1; several outputs add up.

    Compact: ``p >= 1 - y yhat`` with ``p >= 0`` is minimised, so that it needs no product: the bits of
    ``p`` and of a slack with its lowest bit left out, per output and sample; none where the sign of ``1 -
    y yhat`` is settled. Paper (appendix E): ``t (1 - y yhat) = r`` with a sign ``t`` and ``r >= 0``, and
    ``(r + 1 - y yhat) / 2`` is minimised, which inconsistent bits can drive below 0: the penalty weights
    take that into account.
    """

    def check_labels(self, data: Dataset) -> None:
        """Labels are the two classes."""
        bad = np.argwhere(np.abs(data.y) != data.label_scale)
        if len(bad):
            row, column = bad[0]
            raise DataError(
                "a label is no class",
                where=f"y[{row}, {column}]",
                rule="-1 or +1, as Hinge wants them",
                received=Fraction(int(data.y[row, column]), data.label_scale),
                remedy="map classes to -1 and +1, or use nn.MSE()",
            )

    def scale(self, data: Dataset, output_scale: int) -> int:
        """Denominator of the outputs times total weight."""
        scale = output_scale * int(data.weights.sum())
        check_overflow(float(scale), "loss scale")
        return scale

    def check_reach(self, data: Dataset, reach: float, output_scale: int) -> None:
        """The largest violation, summed over samples and outputs, doubled for the paper's form."""
        total = float(data.weights.astype(np.float64).sum()) * data.y.shape[1]
        check_overflow(2 * (output_scale + reach) * total, "loss")

    def exact(self, prediction: Fraction, label: Fraction) -> Fraction:
        """What is missing to a margin of 1."""
        return max(Fraction(0), 1 - prediction * label)

    def each(self, data: Dataset, outputs: IntArray, output_scale: int) -> IntArray:
        """What is missing, over the denominator of the outputs."""
        return np.maximum(output_scale - np.sign(data.y) * outputs, 0)

    def lower(self, builder: Builder, outputs: Expression, data: Dataset, samples: IntArray) -> int:
        """What is missing as a variable that is pressed down, or as in the paper."""
        weights = np.repeat(data.weights, outputs.shape[1])
        margin = outputs.scaled(-np.sign(data.y).ravel())
        missing = margin + builder.constant(outputs.scale, outputs.shape)
        with builder.rows_of(samples):
            if not builder.paper:
                upper = gadgets.pressed(builder, "hinge", "loss", missing)
                builder.minimise("loss", upper, weights, shape="linear")
                return self.scale(data, outputs.scale)
            t = builder.spins("t", "sign", missing)
            largest = 2 ** bit_count(missing.magnitude) - 1
            r = builder.equal(
                "r", "magnitude", builder.product(t, missing), 0, largest, encoding="binary"
            )
            builder.minimise("loss", r + missing, weights, shape="linear")
        return 2 * self.scale(data, outputs.scale)
