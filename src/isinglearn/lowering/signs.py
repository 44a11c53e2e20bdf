"""Which way each sign constraint is written in bits: slack or thresholds, whichever needs fewer spins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isinglearn.lowering.options import Options
from isinglearn.lowering.thresholds import Unit, find_units
from isinglearn.problem.encodings import IntArray, bit_count
from isinglearn.problem.forms import QCBO, Constraint
from isinglearn.problem.rows import PolynomialRows, stack_rows
from isinglearn.problem.variables import bits_needed

# Squared terms beyond which level bits cost too much memory, about a gigabyte.
MOST_TERMS = 1 << 23

Way = Literal["slack", "threshold", "inline"]


@dataclass(frozen=True, eq=False)
class SignPlan:
    """How the switches of some constraints are lowered; constraints that share parameters go together.

    ``slack``: two's complement with slack bits. ``threshold``: level bits, and a bit for every activation.
    ``inline``: level bits, activations stay expressions in them.
    """

    constraints: tuple[Constraint, ...]
    way: Way
    units: list[Unit]

    @property
    def rows(self) -> PolynomialRows:
        """The rows of all constraints, one below the other."""
        return stack_rows(constraint.rows for constraint in self.constraints)


def plan_signs(qcbo: QCBO, options: Options) -> list[SignPlan]:
    """Turn the QCBO's switches into plans, each the cheapest that ``options.signs`` allows."""
    plans = []
    bits = np.concatenate([bits_needed(block) for block in qcbo.variables.blocks])
    for group in _groups(qcbo):
        units = None
        if options.signs != "slack":
            rows = stack_rows(constraint.rows for constraint in group)
            # Activations are sums over settings and get squared: far too many, if these already are.
            most = None if options.signs == "threshold" else MOST_TERMS
            units = find_units(rows, qcbo.variables, _elsewhere(qcbo, group), most)
        if units is None:
            plans.append(SignPlan(group, "slack", []))
            continue
        costs = _costs(qcbo, group, units, bits, options.order)
        if options.signs == "threshold":
            del costs["slack"]
        elif _squared_terms(units) > MOST_TERMS:
            costs = {"slack": costs["slack"]}
        best = min(costs, key=lambda way: (costs[way], way))
        plans.append(SignPlan(group, best, [] if best == "slack" else units))
    return plans


def _groups(qcbo: QCBO) -> list[tuple[Constraint, ...]]:
    """Turn the switches into groups that share no parameter."""
    groups: list[tuple[list[Constraint], set[int]]] = []
    for constraint in qcbo.constraints:
        if not constraint.switches:
            continue
        terms = constraint.rows.monomials
        used = np.unique(terms[terms >= 0])
        mine = set(used[qcbo.variables.samples[used] < 0].tolist())
        joined: list[Constraint] = []
        for group in [group for group in groups if group[1] & mine]:
            groups.remove(group)
            joined += group[0]
            mine |= group[1]
        groups.append(([*joined, constraint], mine))
    return [tuple(constraints) for constraints, _ in groups]


def _elsewhere(qcbo: QCBO, group: tuple[Constraint, ...]) -> NDArray[np.bool_]:
    """Which variables occur in rows other than those of the group."""
    found = np.zeros(len(qcbo.variables), dtype=bool)
    others = [c.rows for c in qcbo.constraints if not any(c is own for own in group)]
    for rows in [*others, *(part.rows for part in qcbo.objective)]:
        found[rows.monomials[rows.monomials >= 0]] = True
    return found


def _squared_terms(units: list[Unit]) -> int:
    """Terms of the squared ties: every activation is a sum over the settings that switch it on."""
    lengths = [(unit.switch >= 0).sum(axis=0) for unit in units]
    return int(sum((own * (own + 1) // 2).sum() for own in lengths))


def _costs(
    qcbo: QCBO, group: tuple[Constraint, ...], units: list[Unit], bits: IntArray, order: str
) -> dict[Way, int]:
    """Spins of each way, the products with the next layer included."""
    partner_bits, fan_in = _consumers(qcbo, group, bits)
    rows = stack_rows(constraint.rows for constraint in group)
    unit_bits = sum(unit.num_bits for unit in units)
    parameters = int(
        bits[
            np.concatenate(
                [[*unit.weights, *([unit.bias] * (unit.bias >= 0))] for unit in units]
            ).astype(np.int64)
        ].sum()
    )
    count = rows.num_rows
    span = rows.bounds(qcbo.variables.lo, qcbo.variables.hi)
    slack = parameters + int(slack_bits(*span).sum()) + count
    # Product first every activation meets every bit of its partners; squared first the partners meet
    # each other once for all samples, and only pairs of activations remain per sample.
    by_order = {"product": partner_bits, "square": (fan_in - 1) / 2, "mixed": (fan_in - 1) / 2}
    per_activation = by_order.get(order, min(by_order.values()))
    return {
        "slack": round(slack + per_activation * count),
        "threshold": round(unit_bits + count + per_activation * count),
        "inline": unit_bits * (1 + partner_bits),
    }


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


def _consumers(qcbo: QCBO, group: tuple[Constraint, ...], bits: IntArray) -> tuple[int, int]:
    """Bits of the variables that one activation is multiplied with, and activations per row of those."""
    # One place more for -1, "no variable".
    activation_of = np.zeros(len(qcbo.variables) + 1, dtype=bool)
    for constraint in group:
        assert constraint.target is not None
        activation_of[constraint.target] = True
    partner_bits, fan_in = 0, 1
    families = [c.rows for c in qcbo.constraints] + [part.rows for part in qcbo.objective]
    for rows in families:
        if rows.degree < 2:
            continue
        mine = activation_of[rows.monomials]
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
