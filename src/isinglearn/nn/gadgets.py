"""Gadgets: the few constraints that modules are made of, beyond sums, products and signs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isinglearn.errors import NetworkError
from isinglearn.nn.expression import Expression, pieced

if TYPE_CHECKING:
    from isinglearn.lowering.builder import Builder


def parts(builder: Builder, label: str, value: Expression) -> tuple[Expression, Expression]:
    """Turn ``s`` into ``p = max(s, 0)`` and ``q = max(-s, 0)``, by ``s = p - q`` and ``p q = 0``.

    Where the sign of ``s`` is settled one of them is ``s`` itself and the other 0, without variables.
    """
    above, below = value.lo >= 0, value.hi <= 0
    crossing = value.only(np.flatnonzero(~above & ~below))
    positive, negative = crossing, -crossing
    if len(crossing):
        positive = builder.follow(label, "activation", 0, crossing.hi, "positive", crossing)
        negative = builder.follow(f"{label}-", "negative", 0, -crossing.lo, "positive", -crossing)
        builder.zero(f"{label} parts", crossing - positive + negative)
        builder.zero(f"{label} one part", builder.product(positive, negative))
    settled = value.only(np.flatnonzero(above)), -value.only(np.flatnonzero(below & ~above))
    return (
        pieced(value.shape, (positive, settled[0]), value.scale),
        pieced(value.shape, (negative, settled[1]), value.scale),
    )


def larger(builder: Builder, label: str, first: Expression, second: Expression) -> Expression:
    """Turn two arrays into ``max(u, v) = v + max(u - v, 0)``, entry by entry."""
    gain, _ = parts(builder, label, first - second)
    result = second + gain
    return result.clipped(np.maximum(first.lo, second.lo), np.maximum(first.hi, second.hi))


def pressed(builder: Builder, label: str, role: str, value: Expression) -> Expression:
    """Turn ``h`` into variables ``p >= max(h, 0)``; minimising presses them down to it."""
    crossing = value.only(np.flatnonzero((value.lo < 0) & (value.hi > 0)))
    bound = crossing
    if len(crossing):
        bound = builder.follow(label, role, 0, crossing.hi, "positive", crossing)
        builder.at_least(f"{label}>=", bound - crossing)
    return pieced(value.shape, (bound, value.only(np.flatnonzero(value.lo >= 0))), value.scale)


def quotient(
    builder: Builder,
    label: str,
    value: Expression,
    divisor: Expression,
    unit: int = 1,
    limit: int | None = None,
) -> Expression:
    """Turn ``s`` and ``d >= 1`` into ``n = floor(s / (unit d))``, by ``0 <= s - n unit d <= unit d - 1``.

    ``limit`` is a bound of ``|n|`` known from elsewhere.
    """
    least, most = int(divisor.lo.min()), int(divisor.hi.max())
    value, divisor = builder.named(f"{label} of", value), divisor.scaled(unit)
    # What n is for each value of the divisor, and from which value on: definitions, no constraints.
    rule = before = builder.scratch(f"{label}/{least}", "divide", value, divisor=unit * least)
    for size in range(least + 1, most + 1):
        own = builder.scratch(f"{label}/{size}", "divide", value, divisor=unit * size)
        beyond = builder.scratch(
            f"{label}>{size}", "step", divisor - builder.constant(unit * size, divisor.shape)
        )
        rule, before = rule + builder.product(beyond, own - before), own
    ends = [end // (unit * size) for end in (value.lo, value.hi) for size in (least, most)]
    lo, hi = np.min(ends, axis=0), np.max(ends, axis=0)
    if limit is not None:
        lo, hi = np.clip(lo, -limit, limit), np.clip(hi, -limit, limit)
    result = builder.follow(label, "quotient", lo, hi, "value", rule)
    rest = value - builder.product(result, divisor)
    one = builder.constant(1, rest.shape)
    builder.at_least(f"{label} rest", rest)
    builder.at_least(f"{label} rest<", divisor - one - rest)
    return result


def root(builder: Builder, label: str, value: Expression, most: int) -> Expression:
    """Turn ``V >= 0`` into ``r = 1 + floor(sqrt V)``, by ``(r - 1)^2 <= V <= r^2 - 1``."""
    highest = math.isqrt(int(value.hi.max(initial=0)))
    if highest + 1 > most:
        raise NetworkError(
            "a deviation can take too many values",
            where=f"{builder.origin}.{label}",
            rule=f"at most {most}",
            received=highest + 1,
            remedy="use smaller inputs or fewer units, or put a Sign or a Staircase in front",
        )
    rule = one = builder.constant(1, value.shape)
    for size in range(1, highest + 1):
        passed = value - builder.constant(size * size, value.shape)
        rule = rule + builder.scratch(f"{label}>{size}", "step", passed)
    tops = np.array([1 + math.isqrt(int(v)) for v in value.hi], dtype=np.int64)
    result = builder.follow(label, "deviation", 1, tops, "value", rule).with_scale(1)
    square = builder.product(result, result)
    builder.at_least(f"{label} above", value - square + result.scaled(2) - one)
    builder.at_least(f"{label} below", square - one - value)
    return result
