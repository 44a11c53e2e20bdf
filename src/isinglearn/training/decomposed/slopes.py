"""Slopes and curvature: a batch through the network and back, signs taken for ramps around 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray
from isinglearn.training.batches import Source
from isinglearn.training.chain import Chain, Floats, Layer, signs
from isinglearn.training.losses import Loss

# Losses of samples, and whether each is predicted right.
Judged = tuple[NDArray[np.float64], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Pass:
    """Everything a worker needs for a shard besides its rows.

    Attributes
    ----------
    chain, loss
        What is trained, and on what.
    arrays
        Weight and bias of every layer.
    scale
        Output numerators times this enter the loss.
    windows
        For every layer but the last: where its signs pass a slope, ``|s| < window``.
    shifts
        For every layer: what its inputs are counted from.
    """

    chain: Chain
    loss: Loss
    arrays: list[tuple[Floats, Floats | None]]
    scale: float
    windows: list[float]
    shifts: list[Floats]


@dataclass(eq=False)
class LayerSlopes:
    """Sums over samples, for one layer; inputs are extended by a 1 for the bias.

    Attributes
    ----------
    slope
        Derivative of the loss by weights and bias, shape (units, inputs + 1).
    curvature
        Second derivative by the unit's sum, shape (units,).
    moments
        Products of the extended inputs, (inputs + 1, inputs + 1); empty for the first layer.
    """

    slope: NDArray[np.float64]
    curvature: NDArray[np.float64]
    moments: NDArray[np.float64]

    def add(self, other: LayerSlopes) -> None:
        """Add another shard's sums."""
        self.slope += other.slope
        self.curvature += other.curvature
        self.moments += other.moments


@dataclass(eq=False)
class Slopes:
    """Sums over the samples of a batch: for every layer, of the loss, and by the scale's logarithm."""

    layers: list[LayerSlopes]
    loss: float
    scale_slope: float
    scale_curvature: float
    count: int

    @staticmethod
    def total(parts: Sequence[Slopes]) -> Slopes:
        """Turn the sums of shards into those of their batch, as means over samples."""
        first, *rest = parts
        for part in rest:
            for mine, other in zip(first.layers, part.layers, strict=True):
                mine.add(other)
            first.loss += part.loss
            first.scale_slope += part.scale_slope
            first.scale_curvature += part.scale_curvature
            first.count += part.count
        for layer in first.layers:
            layer.slope /= first.count
            layer.curvature /= first.count
            layer.moments /= first.count
        first.loss /= first.count
        first.scale_slope /= first.count
        first.scale_curvature /= first.count
        return first


def shard_slopes(
    given: Pass, X: Source, targets: Source, chosen: IntArray
) -> tuple[Slopes, Judged]:
    """Turn a shard's rows into sums of slopes and curvatures, and what :func:`shard_losses` gives."""
    chain, loss = given.chain, given.loss
    values, t = X.rows(chosen, chain.dtype), targets.rows(chosen)
    passed: list[tuple[Floats, Floats]] = []
    for layer, (weight, bias) in zip(chain.layers, given.arrays, strict=True):
        sums = layer.sums(weight, bias, values)
        passed.append((values, sums))
        values = signs(sums)
    scale = chain.dtype.type(given.scale)
    z = passed[-1][1] * scale
    slopes = loss.slopes(z, t) * scale
    curvature = loss.curvature(z, t) * (scale * scale)
    found: list[LayerSlopes] = []
    for number in reversed(range(len(passed))):
        inputs = passed[number][0]
        found.append(_layer(given, number, inputs, slopes, curvature))
        if number:
            weight = given.arrays[number][0] * chain.dtype.type(chain.layers[number].weight_factor)
            window = chain.dtype.type(given.windows[number - 1])
            ramp = (np.abs(passed[number - 1][1]) < window) / window
            if number == len(passed) - 1:
                # The last hidden layer sees the loss's whole curvature, deeper ones its diagonal.
                curvature = loss.through(z, t, weight.T) * (scale * scale)
            else:
                curvature = curvature @ (weight * weight)
            slopes = (slopes @ weight) * ramp
            curvature = curvature * (ramp * ramp)
    judged = _judged(given, passed[-1][1], t)
    slopes_found = Slopes(
        found[::-1],
        float(judged[0].sum()),
        float((loss.slopes(z, t) * z).sum(dtype=np.float64)),
        float(loss.through_own(z, t).sum(dtype=np.float64)),
        len(chosen),
    )
    return slopes_found, judged


def _layer(
    given: Pass, number: int, inputs: Floats, slopes: Floats, curvature: Floats
) -> LayerSlopes:
    layer, shift = given.chain.layers[number], given.shifts[number]
    total = slopes.sum(axis=0, dtype=np.float64)
    slope = np.empty((layer.units, layer.inputs + 1))
    slope[:, :-1] = slopes.T @ inputs
    slope[:, :-1] -= np.outer(total, shift)
    slope[:, :-1] *= layer.weight_factor
    slope[:, -1] = layer.bias_factor * total
    return LayerSlopes(
        slope,
        curvature.sum(axis=0, dtype=np.float64),
        moments(layer, inputs - shift.astype(inputs.dtype)) if number else np.zeros((0, 0)),
    )


def moments(layer: Layer, inputs: Floats) -> NDArray[np.float64]:
    """Turn inputs into the sums of products of what multiplies a unit's weights and bias."""
    size = layer.inputs
    found = np.empty((size + 1, size + 1))
    found[:-1, :-1] = (inputs.T @ inputs) * float(layer.weight_factor**2)
    found[-1, :-1] = inputs.sum(axis=0, dtype=np.float64) * (
        layer.weight_factor * layer.bias_factor
    )
    found[:-1, -1] = found[-1, :-1]
    found[-1, -1] = len(inputs) * layer.bias_factor**2
    return found


def shard_losses(given: Pass, X: Source, targets: Source, chosen: IntArray) -> Judged:
    """Turn a shard's rows into their losses, and whether each is right."""
    values = X.rows(chosen, given.chain.dtype)
    for layer, (weight, bias) in zip(given.chain.layers, given.arrays, strict=True):
        sums = layer.sums(weight, bias, values)
        if layer is not given.chain.last:
            values = signs(sums)
    return _judged(given, sums, targets.rows(chosen))


def shard_trial(
    before: Pass, after: Pass, X: Source, targets: Source, chosen: IntArray
) -> tuple[Judged, Judged, Slopes]:
    """Turn a shard's rows into their losses before and after a change, and the slopes after it."""
    slopes, judged = shard_slopes(after, X, targets, chosen)
    return shard_losses(before, X, targets, chosen), judged, slopes


def _judged(given: Pass, sums: Floats, t: Floats) -> Judged:
    z = sums * given.chain.dtype.type(given.scale)
    return given.loss.values(z, t).astype(np.float64), given.loss.correct(z, t)
