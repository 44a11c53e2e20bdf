"""Patterns of hidden units: all distinct behaviours of ``sign(w x + b)`` on fixed inputs.

They are few however many settings there are: lines that separate the same points are one. For given
weights the sign of an input is a threshold in the bias, so only biases at which an input switches on are
looked at.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import ProblemRefused
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.activations import Sign
from isinglearn.nn.layers import Linear
from isinglearn.nn.losses import MSE
from isinglearn.nn.module import ParameterSpec
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.session import Session

# Activations that are held at once while patterns are listed.
HELD = 1 << 22


@dataclass(frozen=True)
class Behaviour:
    """What the patterns of a hidden unit follow from: the numerators of each weight and of the bias."""

    weights: tuple[range, ...]
    bias: range

    @property
    def settings(self) -> int:
        """How many settings of the weights there are."""
        return math.prod(map(len, self.weights))

    def levels(self, inputs: int) -> int:
        """How many biases can differ in their pattern for given weights, at most."""
        return min(len(self.bias), inputs + 1)

    def most_patterns(self, inputs: int) -> int:
        """How many patterns there can be."""
        return min(self.settings * self.levels(inputs), 2**inputs)


@dataclass(frozen=True)
class Unit:
    """A hidden unit: its behaviour, and the numerators of the weights that read it, by output.

    Units that are equal can be exchanged.
    """

    behaviour: Behaviour
    outgoing: tuple[range, ...]


@dataclass(frozen=True)
class TwoLayers:
    """Linear, Sign, Linear as values of units.

    Attributes
    ----------
    units
        Hidden units.
    biases
        Numerators of each output's bias.
    inner, outer
        For each layer: what weighted sums and biases are multiplied with to have one denominator.
    """

    units: tuple[Unit, ...]
    biases: tuple[range, ...]
    inner: tuple[int, int]
    outer: tuple[int, int]

    @classmethod
    def of(cls, problem: Problem) -> TwoLayers:
        """Turn a problem into its network, or refuse it."""
        modules = problem.network.modules
        if len(modules) == 3 and type(problem.loss) is MSE:
            first, activation, last = modules
            if type(first) is Linear and type(activation) is Sign and type(last) is Linear:
                incoming, biases = _values(first)
                outgoing, last_biases = _values(last)
                behaviours = map(Behaviour, incoming, biases)
                units = tuple(map(Unit, behaviours, zip(*outgoing, strict=True)))
                return cls(units, tuple(last_biases), _factors(first), _factors(last))
        raise ProblemRefused(
            "this solver has no rule for such a network",
            where="solver='patterns'",
            rule="nn.Linear, nn.Sign, nn.Linear, and the loss nn.MSE",
            received=f"{problem.network} with {problem.loss}",
            remedy="use solver='cpsat' or 'auto'",
        )

    @property
    def behaviours(self) -> list[Behaviour]:
        """What patterns are to be listed for, each once."""
        return list(dict.fromkeys(unit.behaviour for unit in self.units))

    def activations(self, inputs: int) -> int:
        """How many activations have to be computed to list all patterns."""
        return sum(own.settings * own.levels(inputs) * inputs for own in self.behaviours)

    def ordered(self, counts: dict[Behaviour, int]) -> list[int]:
        """Units by number of patterns, equal ones as neighbours."""
        kinds = list(dict.fromkeys(self.units))
        return sorted(
            range(len(self.units)),
            key=lambda u: (counts[self.units[u].behaviour], kinds.index(self.units[u])),
        )

    def choices(self, counts: dict[Behaviour, int], *, but_last: bool = False) -> int:
        """How many ways there are to give every unit a pattern, exchanges counted once."""
        order = self.ordered(counts)
        units = Counter(self.units[u] for u in (order[:-1] if but_last else order))
        return math.prod(
            math.comb(counts[unit.behaviour] + number - 1, number) for unit, number in units.items()
        )


def _values(layer: Linear) -> tuple[list[tuple[range, ...]], list[range]]:
    """The numerators that each weight, by unit, and each unit's bias may have; no bias is a 0."""
    specs = {spec.name: spec for spec in layer.parameters}
    weights, width = _entries(specs["weight"]), layer.in_features
    rows = [tuple(weights[at : at + width]) for at in range(0, len(weights), width)]
    return rows, _entries(specs["bias"]) if "bias" in specs else [range(1)] * layer.out_features


def _entries(spec: ParameterSpec) -> list[range]:
    free, frozen = spec.free.ravel().tolist(), spec.frozen.ravel().tolist()
    return [
        spec.domain.numerators if is_free else range(value, value + 1)
        for is_free, value in zip(free, frozen, strict=True)
    ]


def _factors(layer: Linear) -> tuple[int, int]:
    assert layer.weight is not None and layer.bias is not None
    scale = layer.scale(1)
    bias_factor = scale // layer.bias.denominator if layer.use_bias else 1
    return scale // layer.weight.denominator, bias_factor


@dataclass(frozen=True, eq=False)
class PatternSet:
    """Distinct patterns of a unit, and for each one setting that has it.

    Attributes
    ----------
    signs
        +1 and -1, shape (patterns, inputs).
    weights, biases
        Numerators, shapes (patterns, features) and (patterns,).
    """

    signs: NDArray[np.int8]
    weights: IntArray
    biases: IntArray

    def __len__(self) -> int:
        return len(self.biases)

    @classmethod
    def merged(cls, parts: list[PatternSet]) -> PatternSet:
        """Turn sets into one that has every pattern once."""
        signs = np.concatenate([part.signs for part in parts])
        weights = np.concatenate([part.weights for part in parts])
        biases = np.concatenate([part.biases for part in parts])
        packed = np.packbits(signs > 0, axis=1)
        keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, kept = np.unique(keys, return_index=True)
        return cls(signs[kept], weights[kept], biases[kept])


def list_patterns(
    behaviour: Behaviour,
    factors: tuple[int, int],
    inputs: IntArray,
    most: int,
    session: Session | None = None,
) -> PatternSet:
    """Turn the values of a unit's parameters into its patterns; it ends early at more than ``most``.

    It also ends early once the session is stopped.
    """
    settings, sizes = behaviour.settings, tuple(map(len, behaviour.weights))
    values = [np.array(own, dtype=np.int64) for own in behaviour.weights]
    step = max(1, HELD // (behaviour.levels(len(inputs)) * len(inputs)))
    parts: list[PatternSet] = []
    for start in range(0, settings, step):
        places = np.unravel_index(np.arange(start, min(start + step, settings)), sizes)
        rows = np.stack([own[place] for own, place in zip(values, places, strict=True)], axis=1)
        parts.append(_patterns_of(rows, behaviour.bias, factors, inputs))
        # Sets of about one size are merged, so that no pattern is sorted very often.
        while len(parts) > 1 and len(parts[-2]) < 2 * len(parts[-1]):
            parts[-2:] = [PatternSet.merged(parts[-2:])]
        if len(parts[0]) > most or (session is not None and session.stopped):
            break
    return PatternSet.merged(parts)


def _patterns_of(
    rows: IntArray, bias: range, factors: tuple[int, int], inputs: IntArray
) -> PatternSet:
    """Turn settings of the weights into their patterns: one per bias at which an input switches on."""
    sums = factors[0] * (rows @ inputs.T)
    # From this bias on the sign is +1; then as a place among the bias's values, their number for never.
    least = -(sums // factors[1])
    switch = np.clip(-((bias.start - least) // bias.step), 0, len(bias))
    places = np.sort(np.concatenate([np.zeros((len(rows), 1), np.int64), switch], axis=1), axis=1)
    new = places < len(bias)
    new[:, 1:] &= places[:, 1:] != places[:, :-1]
    which, column = np.nonzero(new)
    chosen = places[which, column]
    signs = np.where(switch[which] <= chosen[:, None], 1, -1).astype(np.int8)
    return PatternSet.merged([PatternSet(signs, rows[which], bias.start + bias.step * chosen)])
