"""The order of squaring and reducing: which of two needs fewer auxiliaries."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np

from isinglearn.lowering.options import Options
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import HUBO, Energy

# Terms in rows up to which both orders are tried out: some milliseconds.
SMALL = 1 << 12

Order = Literal["mixed", "square", "product"]


def choose_order(hubo: HUBO, options: Options) -> Order:
    """Turn the option into an order; ``auto`` takes the one with fewer auxiliaries.

    Small problems are reduced both ways; for large ones the auxiliaries are estimated from counts.
    """
    if options.order != "auto":
        return cast("Order", options.order)
    if sum(len(part.rows.rows) for part in (*hubo.objective, *hubo.penalties)) <= SMALL:
        from isinglearn.lowering.to_qubo import to_qubo

        orders: tuple[Order, ...] = ("product", "mixed")
        spins = {o: to_qubo(hubo, o, options, None).num_variables for o in orders}
        return min(orders, key=lambda o: spins[o])
    samples = hubo.variables.samples
    parts = [p for p in hubo.objective if p.shape != "linear" and p.rows.degree == 2]
    products = sum(_products_in_rows(part) for part in parts)
    pairs = sum(_pairs_after_squaring(part, samples) for part in parts)
    return "product" if products <= pairs else "mixed"


def _products_in_rows(part: Energy) -> int:
    """Products first: every distinct pair of bits in the rows is one auxiliary."""
    rows = part.rows
    return len(np.unique(rows.monomials[rows.degrees == 2], axis=0))


def _pairs_after_squaring(part: Energy, samples: IntArray) -> float:
    """Square first: pairs of activations for every sample, pairs of parameter bits for every output.

    Bits of one weight make no pair: they meet the same activation, and its square is 1. Where
    activations are expressions in shared bits, squaring first is not estimated and not chosen.
    """
    rows = part.rows
    bits, row = rows.monomials[rows.degrees == 2], rows.rows[rows.degrees == 2]
    activation = samples[bits] >= 0
    if not activation.any(axis=1).all():
        return float("inf")
    first = np.where(activation[:, 0], bits[:, 0], bits[:, 1])
    partner = np.where(activation[:, 0], bits[:, 1], bits[:, 0])
    output = part.positions.entries[:, -1]
    meetings = np.stack([output[row], partner, first], axis=1)
    meetings = meetings[np.lexsort(meetings.T[::-1])]
    # The first activation that a bit meets tells which weight it belongs to.
    new = np.any(np.diff(meetings[:, :2], axis=0, prepend=-1) != 0, axis=1)
    weights = meetings[new]
    linear = rows.degrees == 1
    alone = np.stack([output[rows.rows[linear]], rows.monomials[linear, -1]], axis=1)
    alone = np.unique(alone[samples[alone[:, 1]] < 0], axis=0)
    bits_of_output = np.bincount(weights[:, 0])
    biases = np.bincount(alone[:, 0], minlength=len(bits_of_output)) - bits_of_output
    _, same_weight = np.unique(weights[:, [0, 2]], axis=0, return_counts=True)
    per_sample = np.bincount(samples[np.unique(first)])
    return float(
        _pairs(per_sample)
        + _pairs(bits_of_output)
        - _pairs(same_weight)
        + (bits_of_output * np.maximum(biases, 0)).sum()
    )


def _pairs(counts: IntArray) -> int:
    return int((counts * (counts - 1) // 2).sum())
