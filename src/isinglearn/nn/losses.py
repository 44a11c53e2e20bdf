"""Losses: what a network's outputs and the labels are turned into."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.terms import check_overflow

if TYPE_CHECKING:
    from isinglearn.data import Dataset
    from isinglearn.lowering.builder import Builder, Expression


class MSE:
    """``1/N sum_i |y_i - yhat_i|^2``, with sample weights ``sum_i w_i |...|^2 / sum_i w_i``."""

    # Over all assignments, inconsistent ones included: a sum of squares.
    lower_bound = 0

    def __repr__(self) -> str:
        return "MSE()"

    def scale(self, data: Dataset, output_scale: int) -> int:
        """What the integer loss is divided by: squared common denominator times total weight."""
        denominator = math.lcm(output_scale, data.label_scale)
        scale = denominator**2 * int(data.weights.sum())
        check_overflow(float(scale), "loss scale")
        return scale

    def _factors(self, data: Dataset, output_scale: int) -> tuple[int, int]:
        denominator = math.lcm(output_scale, data.label_scale)
        return denominator // output_scale, denominator // data.label_scale

    def check_reach(self, data: Dataset, reach: float, output_scale: int) -> None:
        """Raise if the integer loss of outputs of this magnitude could leave 64 bits."""
        left, right = self._factors(data, output_scale)
        residual = left * reach + right * float(data.label_scale)
        total = float(data.weights.astype(np.float64).sum()) * data.y.shape[1]
        check_overflow(residual * residual * total, "loss")

    def evaluate(self, data: Dataset, outputs: IntArray, output_scale: int) -> IntArray:
        """Turn output numerators (..., samples, outputs) into integer losses (...)."""
        left, right = self._factors(data, output_scale)
        residual = left * outputs - right * data.y
        return ((residual * residual).sum(axis=-1) * data.weights).sum(axis=-1)

    def worst(self, data: Dataset, lo: IntArray, hi: IntArray, output_scale: int) -> IntArray:
        """Turn output ranges (samples, outputs) into the largest integer loss of each sample."""
        left, right = self._factors(data, output_scale)
        reach = np.maximum(np.abs(left * lo - right * data.y), np.abs(left * hi - right * data.y))
        return (reach * reach).sum(axis=1) * data.weights

    def lower(self, builder: Builder, outputs: Expression, data: Dataset) -> None:
        """Add one squared row per sample and output."""
        left, right = self._factors(data, outputs.scale)
        residual = outputs.scaled(left) + builder.constants(-right * data.y)
        builder.minimise(
            "loss", residual, np.repeat(data.weights, outputs.shape[1]), shape="square"
        )
