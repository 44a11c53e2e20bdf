"""Straight-through gradient: latent real values behind quantised parameters, moved by Adam.

Every parameter has a latent real value; the forward pass uses the nearest value of its domain, the backward
pass takes that rounding for the identity, and a sign for a ramp of slope 1 within a window around 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.nn import Domain, Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.training.chain import CHUNK, Chain, Floats, Layer, mean_input, signs
from isinglearn.training.losses import Loss

# Adam's usual constants.
_FIRST, _SECOND, _LEAST = 0.9, 0.999, 1e-8
# Part of their range that output weights begin in; first scale of outputs, in units of the largest weight.
_SPREAD, _OUTPUT_SCALE = 0.5, 0.3


@dataclass(eq=False)
class _Latent:
    """Latent values of an array with Adam's two moments."""

    value: Floats
    first: Floats = field(init=False)
    second: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.first, self.second = np.zeros_like(self.value), np.zeros_like(self.value)

    def descend(self, gradient: Floats, rate: float, step: int) -> None:
        kind = self.value.dtype.type
        self.first += kind(1 - _FIRST) * (gradient - self.first)
        self.second += kind(1 - _SECOND) * (gradient * gradient - self.second)
        root = np.sqrt(self.second / kind(1 - _SECOND**step)) + kind(_LEAST)
        self.value -= kind(rate / (1 - _FIRST**step)) * self.first / root


class _Latents:
    """Latent weights in units of the largest, latent biases in units of the layer's typical sum.

    The bias is counted from the mean input: ``b = latent - W mean``, so that a flipped weight does not
    shift the unit as a whole.
    """

    def __init__(self, layer: Layer, mean: Floats, unit: float, weight: Floats) -> None:
        self.layer, self.mean, self.unit = layer, mean, unit
        self.largest = max(layer.weight.largest, 1.0)
        self.weight = _Latent(weight)
        self.bias = _Latent(np.zeros(layer.units, weight.dtype))
        self.moved = layer.bias is not None and bool(layer.bias.free.any())
        self.refresh()

    def refresh(self) -> None:
        """Numerators of the latent values, as floats; latent values brought back into their range."""
        spec, kind = self.layer.weight, self.weight.value.dtype
        np.clip(self.weight.value, -1, 1, out=self.weight.value)
        self.W = _nearest(self.weight.value * self.largest, spec.domain, spec.free, spec.frozen)
        self.b: Floats | None = None
        if (bias := self.layer.bias) is not None:
            shift = self.layer.weight_factor * (self.W @ self.mean)
            factor = self.layer.bias_factor
            lowest = (factor * bias.domain.lo + shift) / self.unit
            highest = (factor * bias.domain.hi + shift) / self.unit
            np.clip(self.bias.value, lowest, highest, out=self.bias.value)
            wanted = (self.bias.value * self.unit - shift) / factor
            self.b = _nearest(wanted, bias.domain, bias.free, bias.frozen).astype(kind)

    def descend(self, inputs: Floats, slopes: Floats, rate: float, step: int) -> None:
        """One step, from derivatives by the sums in units of the typical one."""
        total = slopes.sum(axis=0)
        gradient = slopes.T @ inputs
        if self.moved:
            gradient -= np.outer(total, self.mean)
            self.bias.descend(total, rate, step)
        kind = gradient.dtype.type
        gradient *= kind(self.layer.weight_factor * self.largest / self.unit)
        self.weight.descend(gradient, rate, step)
        self.refresh()


def _nearest(wanted: Floats, domain: Domain, free: NDArray[np.bool_], frozen: IntArray) -> Floats:
    """Turn real numerators into the nearest ones of the domain, frozen entries into what they are."""
    spins = domain.encoding == "spin"
    rounded = signs(wanted) if spins else np.clip(np.rint(wanted), domain.lo, domain.hi)
    return rounded if free.all() else np.where(free, rounded, frozen).astype(wanted.dtype)


class StraightThrough:
    """The loop: batches, forward, backward, steps."""

    def __init__(self, chain: Chain, loss: Loss, X: NDArray[Any], seed: int, window: float) -> None:
        self.chain, self.loss, self.window = chain, loss, window
        self.order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        start = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        self.latents: list[_Latents] = []
        mean, typical = _moments(X)
        for layer in chain.layers:
            weight = start.uniform(-1, 1, layer.weight.shape)
            unit = layer.weight_factor * max(layer.weight.largest, 1.0)
            if layer is chain.last:
                weight *= _SPREAD
            else:
                unit *= typical
            kind = chain.dtype
            self.latents.append(_Latents(layer, mean.astype(kind), unit, weight.astype(kind)))
            mean, typical = np.zeros(layer.units), float(np.sqrt(layer.units))
        begun = _OUTPUT_SCALE if loss.scaled else unit / chain.network.output_scale
        self.logarithm = _Latent(np.array([np.log(begun)], chain.dtype))

    @property
    def scale(self) -> float:
        """What output numerators are multiplied with."""
        return float(np.exp(self.logarithm.value[0])) / self.latents[-1].unit

    def parameters(self) -> Parameters:
        """Numerators of all parameters."""
        found: Parameters = {}
        for latents in self.latents:
            found[f"{latents.layer.name}.weight"] = latents.W.astype(np.int64)
            if latents.b is not None:
                found[f"{latents.layer.name}.bias"] = latents.b.astype(np.int64)
        return found

    def run(
        self, X: NDArray[Any], targets: NDArray[Any], epochs: int, rate: float, batch: int
    ) -> list[float]:
        """Turn epochs into the mean loss of each."""
        size = min(batch, len(X))
        per_epoch = len(X) // size
        curve, step = [], 0
        for _ in range(epochs):
            order = self.order.permutation(len(X))
            total = 0.0
            for at in range(per_epoch):
                step += 1
                chosen = order[at * size : (at + 1) * size]
                slow = 0.5 * (1 + np.cos(np.pi * step / (epochs * per_epoch)))
                total += self.step(
                    X[chosen].astype(self.chain.dtype), targets[chosen], rate * slow, step
                )
            curve.append(total / per_epoch)
        return curve

    def step(self, values: Floats, t: Floats, rate: float, step: int) -> float:
        """One batch: turn it into its loss, and move all latent values."""
        passed = []
        for latents in self.latents:
            sums = latents.layer.sums(latents.W, latents.b, values)
            sums /= values.dtype.type(latents.unit)
            passed.append((values, sums))
            if latents is not self.latents[-1]:
                values = signs(sums)
        factor = np.exp(self.logarithm.value[0])
        z = sums * factor
        loss = float(self.loss.values(z, t).mean())
        slopes = self.loss.slopes(z, t) * (factor / len(z))
        if self.loss.scaled:
            self.logarithm.descend(np.array([(slopes * sums).sum()], z.dtype), rate, step)
        for latents, (inputs, _), before in zip(
            reversed(self.latents), reversed(passed), [*reversed(passed[:-1]), None], strict=True
        ):
            backward = None
            if before is not None:
                ratio = latents.layer.weight_factor / latents.unit
                backward = (slopes @ latents.W) * z.dtype.type(ratio)
                backward *= np.abs(before[1]) < self.window
            latents.descend(inputs, slopes, rate, step)
            if backward is not None:
                slopes = backward
        return loss


def _moments(X: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """Turn inputs into their mean, and the root mean square of a sum of them with random signs."""
    mean = mean_input(X)
    total = sum(
        float(((np.asarray(X[at : at + CHUNK], np.float64) - mean) ** 2).sum())
        for at in range(0, len(X), CHUNK)
    )
    return mean, max(float(np.sqrt(total / len(X))), 1.0)
