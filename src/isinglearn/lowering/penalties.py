"""Penalty weights with a proof.

Let ``UB`` be the integer loss of some feasible network and ``LB`` a lower bound of the objective over ALL
assignments, inconsistent ones included (0 for a sum of squares). Every gadget costs nothing where it
holds and at least 1 where not, and gadgets never go negative.

incumbent
    A violated gadget of weight ``UB - LB + 1`` lifts the energy above ``UB``, hence above the optimum.
repair
    If every parameter setting is feasible, recompute all else of sample ``i`` by a forward pass: that
    removes all violations of the sample and raises its loss by at most ``worst_i``, its largest loss over
    all networks. So ``worst_i + 1`` suffices for a gadget that belongs to sample ``i`` alone.
    Both kinds mix: either some violated gadget has an incumbent weight, or repair strictly gains.
cofactor
    For ``v`` replacing ``u1 u2`` in a polynomial, ``v`` is multiplied with its cofactor ``g``. A wrong
    ``v`` gains at most ``max(g)`` (v = 0, u1 u2 = 1) or ``max(-g)`` (v = 1, u1 u2 = 0) and costs at least
    the weight. So ``max(max(g), max(-g)) + 1`` suffices, product by product.

All are strict, so every ground state is consistent and decodes to an optimal network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import PROOFS, Proofs


@dataclass(frozen=True, eq=False)
class Certificate:
    """What the weights rest on.

    Attributes
    ----------
    upper, lower
        Bounds ``UB`` and ``LB`` of the optimal integer loss.
    worst
        ``worst[i]`` for each sample number, where repair applies; empty where not.
    """

    upper: int
    lower: int
    worst: dict[int, int]

    def weigh(self, samples: IntArray) -> tuple[IntArray, Proofs]:
        """Turn the gadgets' samples (negative: none or several) into the smaller weight and its proof."""
        incumbent = self.upper - self.lower + 1
        distinct, which = np.unique(samples, return_inverse=True)
        repair = np.array([self.worst.get(int(i), incumbent) + 1 for i in distinct])[which]
        weights = np.minimum(incumbent, repair)
        proofs = np.where(repair < incumbent, PROOFS.index("repair"), PROOFS.index("incumbent"))
        return weights.astype(np.int64), proofs.astype(np.uint8)


def product_proof(lo: IntArray, hi: IntArray) -> tuple[IntArray, Proofs]:
    """Turn bounds of the products' cofactors into proved weights."""
    weights = np.maximum(np.maximum(hi, -lo), 0) + 1
    return weights, np.full(len(weights), PROOFS.index("cofactor"), dtype=np.uint8)


def user_weights(gadgets: IntArray, weight: int) -> tuple[IntArray, Proofs]:
    """One weight for all gadgets, by the user's word."""
    count = len(gadgets)
    return (
        np.full(count, weight, dtype=np.int64),
        np.full(count, PROOFS.index("user"), dtype=np.uint8),
    )
