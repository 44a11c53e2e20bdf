"""Which way each sign constraint is written in bits: slack or thresholds, whichever needs fewer spins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from isinglearn.lowering.options import Options
from isinglearn.lowering.thresholds import Unit, find_units
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.forms import QCBO, Constraint
from isinglearn.problem.variables import bits_needed

# Squared terms beyond which level bits cost too much memory, about a gigabyte.
MOST_TERMS = 1 << 23

Way = Literal["slack", "threshold", "inline"]


@dataclass(frozen=True, eq=False)
class SignPlan:
    """How one sign constraint is lowered.

    ``slack``: two's complement with slack bits. ``threshold``: level bits, and a bit for every activation.
    ``inline``: level bits, activations stay expressions in them.
    """

    constraint: Constraint
    way: Way
    units: list[Unit]


def plan_signs(qcbo: QCBO, options: Options) -> list[SignPlan]:
    """Turn the QCBO's sign constraints into plans, each the cheapest that ``options.signs`` allows."""
    plans = []
    bits = np.concatenate([bits_needed(block) for block in qcbo.variables.blocks])
    for constraint in qcbo.constraints:
        if constraint.kind != "sign":
            continue
        units = None if options.signs == "slack" else find_units(constraint, qcbo.variables)
        if units is None:
            plans.append(SignPlan(constraint, "slack", []))
            continue
        costs = _costs(qcbo, constraint, units, bits, options.order)
        if options.signs == "threshold":
            del costs["slack"]
        elif _squared_terms(units) > MOST_TERMS:
            costs = {"slack": costs["slack"]}
        best = min(costs, key=lambda way: (costs[way], way))
        plans.append(SignPlan(constraint, best, [] if best == "slack" else units))
    return plans


def _squared_terms(units: list[Unit]) -> int:
    """Terms of the squared ties: every activation is a sum over the settings that switch it on."""
    lengths = [(unit.switch >= 0).sum(axis=0) for unit in units]
    return int(sum((own * (own + 1) // 2).sum() for own in lengths))


def _costs(
    qcbo: QCBO, constraint: Constraint, units: list[Unit], bits: IntArray, order: str
) -> dict[Way, int]:
    """Spins of each way, the products with the next layer included."""
    partner_bits, fan_in = _consumers(qcbo, constraint, bits)
    unit_bits = sum(unit.num_bits for unit in units)
    parameters = int(
        bits[
            np.concatenate(
                [[*unit.weights, *([unit.bias] * (unit.bias >= 0))] for unit in units]
            ).astype(np.int64)
        ].sum()
    )
    count = constraint.rows.num_rows
    slack = parameters + int(slack_bits(*_span(qcbo, constraint)).sum()) + count
    # Product first every activation meets every bit of its partners; squared first the partners meet
    # each other once for all samples, and only pairs of activations remain per sample.
    by_order = {"product": partner_bits, "square": (fan_in - 1) / 2, "mixed": (fan_in - 1) / 2}
    per_activation = by_order.get(order, min(by_order.values()))
    return {
        "slack": round(slack + per_activation * count),
        "threshold": round(unit_bits + count + per_activation * count),
        "inline": unit_bits * (1 + partner_bits),
    }


def _span(qcbo: QCBO, constraint: Constraint) -> tuple[IntArray, IntArray]:
    return constraint.rows.bounds(qcbo.variables.lo, qcbo.variables.hi)


def slack_bits(lo: IntArray, hi: IntArray) -> IntArray:
    """Turn sums in ``[lo, hi]`` into the number of slack bits of their sign gadget."""
    largest, which = np.unique(slack_reach(lo, hi) // 2, return_inverse=True)
    return np.array([bit_count(int(value)) for value in largest], dtype=np.int64)[which]


def slack_reach(lo: IntArray, hi: IntArray) -> IntArray:
    """Largest value ``R`` of ``z`` in ``s = z + (R + 1) (a - 1)``: odd, at least ``hi`` and ``-lo - 1``.

    With ``a = 1``, ``z = s`` covers ``0..hi``; with ``a = 0``, ``z = s + R + 1`` covers ``lo..-1``. ``R`` is
    odd so that ``z = 2 slack + {0, 1}`` fits exactly and ``a = 0, s = 0`` stays impossible.
    """
    return np.maximum(np.maximum(hi, -lo - 1), 0) | 1


def _consumers(qcbo: QCBO, constraint: Constraint, bits: IntArray) -> tuple[int, int]:
    """Bits of the variables that one activation is multiplied with, and activations per row of those."""
    assert constraint.target is not None
    first, last = int(constraint.target[0]), int(constraint.target[-1])
    partner_bits, fan_in = 0, 1
    families = [c.rows for c in qcbo.constraints] + [part.rows for part in qcbo.objective]
    for rows in families:
        if rows.degree < 2:
            continue
        mine = (rows.monomials >= first) & (rows.monomials <= last)
        quadratic = (rows.degrees == 2) & mine.any(axis=1)
        if not quadratic.any():
            continue
        pairs = rows.monomials[quadratic][:, -2:]
        is_mine = mine[quadratic][:, -2:]
        activation = np.where(is_mine[:, 0], pairs[:, 0], pairs[:, 1])
        partner = np.where(is_mine[:, 0], pairs[:, 1], pairs[:, 0])
        partner_bits += int(np.bincount(activation, bits[partner]).max())
        fan_in = max(fan_in, int(np.bincount(rows.rows[quadratic]).max()))
    return partner_bits, fan_in
