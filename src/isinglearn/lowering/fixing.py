"""Variables whose best value is known beforehand: roof duality on a QUBO, in exact integers.

Boros, Hammer and Tavares, "Preprocessing of unconstrained quadratic binary optimization" (2006). By the
maximum flow of OR-tools, on integers, and not by dwave-preprocessing: version 0.6.11 of that converts to
floats, whose rounding then decides ties (of 6000 small QUBOs with ties, 83 lost an optimum that strong
persistency must keep), and its weak persistencies can contradict each other (``2 x y - x - y`` becomes
``x = y = 0``, which is no optimum).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import SolverError
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.checks import index_pairs
from isinglearn.problem.forms import QUBO, Energy, Products
from isinglearn.problem.polynomial import Polynomial
from isinglearn.problem.terms import check_overflow
from isinglearn.problem.variables import Positions, VariableTable

FREE = -1


@dataclass(frozen=True, eq=False)
class Fixing:
    """Values of some of a QUBO's bits: turns bits of the rest into all bits, and back.

    Attributes
    ----------
    values
        0, 1 or ``FREE`` for every bit of the original.
    names
        Of the fixed bits, in order.
    strict
        True: every optimum has these values. False: at least one has.
    bound
        No assignment of the original has less energy.
    """

    values: IntArray
    names: tuple[str, ...]
    strict: bool
    bound: int

    @cached_property
    def free(self) -> IntArray:
        """Indices of the bits that are left."""
        return np.flatnonzero(self.values == FREE)

    @property
    def assignments(self) -> dict[str, int]:
        """Fixed values by name."""
        fixed = self.values[self.values != FREE].tolist()
        return dict(zip(self.names, fixed, strict=True))

    def restore(self, bits: ArrayLike) -> IntArray:
        """Turn bits of the reduced QUBO, one row per read, into bits of the original."""
        given = np.atleast_2d(np.asarray(bits, dtype=np.int64))
        full = np.tile(self.values, (len(given), 1))
        full[:, self.free] = given
        return full

    def restrict(self, bits: ArrayLike) -> IntArray:
        """Turn bits of the original into those of the reduced QUBO; fixed ones are dropped."""
        return np.atleast_2d(np.asarray(bits, dtype=np.int64))[:, self.free]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "values": self.values.tolist(),
            "names": list(self.names),
            "strict": self.strict,
            "bound": self.bound,
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Fixing:
        """Turn what :meth:`to_dict` gave into the fixing again."""
        values = np.asarray(saved["values"], dtype=np.int64)
        return cls(values, tuple(saved["names"]), saved["strict"], saved["bound"])


@dataclass(frozen=True, eq=False, repr=False)
class ReducedQUBO(QUBO):
    """A QUBO over the bits that are left; decoding and completing go through the original.

    Its weights cannot be changed any more: what is fixed follows from them.
    """

    original: QUBO
    fixing: Fixing

    def complete(self, values: ArrayLike) -> IntArray:
        """Turn integer assignments of the QCBO into the bits that are left."""
        return self.fixing.restrict(self.original.complete(values))

    def decode(self, bits: ArrayLike) -> IntArray:
        """Turn the bits that are left into the values of the QCBO's integers."""
        return self.original.decode(self.fixing.restore(self._checked(bits)))

    def violations(self, bits: ArrayLike) -> list[str]:
        """Turn one assignment into the names of the penalties and products it breaks, fixed bits included."""
        return self.original.violations(self.fixing.restore(self._checked(bits)))


def fix_variables(qubo: QUBO, *, strict: bool = True) -> tuple[ReducedQUBO, Fixing]:
    """Turn a QUBO into a smaller one of the same least energy, and the way back to all bits.

    Parameters
    ----------
    qubo
        Of any size; the work is one maximum flow, and without ``strict`` one search per bit.
    strict
        True: fix only bits that have one and the same value in every optimum (strong persistency), so that no
        optimum is lost. False: also bits for which one optimum is enough (weak persistency).
    """
    values, bound = _roof_duality(qubo, strict)
    fixed = np.flatnonzero(values != FREE).tolist()
    fixing = Fixing(values, tuple(qubo.variables[index] for index in fixed), strict, bound)
    return _reduced(qubo, fixing), fixing


def _reduced(qubo: QUBO, fixing: Fixing) -> ReducedQUBO:
    """Turn a QUBO into one over the free bits, fixed ones put into its polynomial."""
    polynomial, values = qubo.polynomial, fixing.values
    terms = polynomial.monomials
    # Index -1, which pads, picks the last entry of each table: a 1 among the values, none among the places.
    value, place = np.append(values, 1), np.full(len(values) + 1, -1)
    place[fixing.free] = np.arange(len(fixing.free))
    kept = (value[terms] != 0).all(axis=1)
    left = Polynomial.of(place[terms[kept]], polynomial.coefficients[kept])
    spot = Positions("", "energy", (), np.zeros((1, 0), dtype=np.int64))
    energy = Energy(spot, left.as_rows(), "linear", np.ones(1, dtype=np.int64))
    table, free = qubo.variables, values == FREE
    blocks = [
        block.only(free[start : start + len(block)])
        for start, block in zip(table.starts, table.blocks, strict=False)
    ]
    none = np.zeros(0, dtype=np.int64)
    products = Products(none, none, none, none, none.astype(np.uint8))
    return ReducedQUBO(
        VariableTable(blocks), (energy,), (), qubo.code, qubo.scale, products, qubo, fixing
    )


# -- roof duality ----------------------------------------------------------------------------------


def _roof_duality(qubo: QUBO, strict: bool) -> tuple[IntArray, int]:
    """Turn a QUBO into the values of its persistent bits, ``FREE`` elsewhere, and a bound on its energy."""
    count = qubo.num_variables
    # One node for every bit, one for its opposite, and the constants 1 and 0.
    one, zero = 2 * count, 2 * count + 1
    opposite = np.concatenate([np.arange(count, 2 * count), np.arange(count), [zero, one]])
    constant, left, right, weights = _posiform(qubo, opposite)
    # A term w u v forbids, at the price w, that u is 1 and v is: u implies not v, and v implies not u.
    tails = np.concatenate([left, right])
    heads = np.concatenate([opposite[right], opposite[left]])
    capacities = np.concatenate([weights, weights])
    total, flows = _maximum_flow(one, zero, tails, heads, capacities)
    # The mean with the flow mirrored in the opposites, both doubled, is a maximum flow as well.
    flows = np.tile(flows.reshape(2, -1).sum(axis=0), 2)
    graph = _residual(one, zero, tails, heads, 2 * capacities - flows, flows)
    true = np.zeros(2 * count + 2, dtype=np.bool_)
    true[_reached(graph, one)] = True
    if not strict:
        _extend(graph, true, opposite)
    values = np.where(true[:count], 1, np.where(true[count : 2 * count], 0, FREE))
    # Every term was counted twice, with each of its implications.
    return values, -(-(2 * constant + total) // 2)


def _posiform(qubo: QUBO, opposite: IntArray) -> tuple[int, IntArray, IntArray, IntArray]:
    """Turn a QUBO into ``constant + sum weights * left * right`` with positive weights only.

    Factors are nodes: bits, opposites of bits, and the constant 1 in place of one factor of a linear term.
    """
    polynomial, count = qubo.polynomial, qubo.num_variables
    check_overflow(8 * float(polynomial.as_rows().magnitudes.sum()), "roof duality")
    first, second = index_pairs(polynomial).T
    values = polynomial.coefficients
    pair, single = first >= 0, (first < 0) & (second >= 0)
    left, right, coupling = first[pair], second[pair], values[pair]
    linear = np.zeros(count, dtype=np.int64)
    linear[second[single]] = values[single]
    # -w x y = -w x + w x (1 - y), and -w x = -w + w (1 - x).
    negative = coupling < 0
    np.add.at(linear, left[negative], coupling[negative])
    alone = np.flatnonzero(linear)
    return (
        qubo.offset + int(linear[linear < 0].sum()),
        np.concatenate([left, np.full(len(alone), 2 * count)]),
        np.concatenate(
            [
                np.where(negative, opposite[right], right),
                np.where(linear[alone] < 0, opposite[alone], alone),
            ]
        ),
        np.abs(np.concatenate([coupling, linear[alone]])),
    )


def _maximum_flow(
    source: int, sink: int, tails: IntArray, heads: IntArray, capacities: IntArray
) -> tuple[int, IntArray]:
    """Turn a network into the value of a maximum flow and its flow along every arc."""
    from ortools.graph.python import max_flow

    network = max_flow.SimpleMaxFlow()
    # Both ends have to be there even if no arc touches them.
    network.add_arc_with_capacity(source, sink, 0)
    arcs = network.add_arcs_with_capacity(
        tails.astype(np.int32), heads.astype(np.int32), capacities
    )
    status = network.solve(source, sink)
    if status != network.OPTIMAL:
        raise SolverError(
            "the maximum flow was not found",
            where="fix_variables",
            rule="status OPTIMAL of OR-tools",
            received=status,
            remedy="report this with the problem",
        )
    return int(network.optimal_flow()), np.asarray(network.flows(arcs), dtype=np.int64)


def _residual(
    source: int, sink: int, tails: IntArray, heads: IntArray, ahead: IntArray, back: IntArray
) -> Any:
    """Where flow could still be sent: an implication each that costs nothing to obey."""
    import scipy.sparse

    tail = np.concatenate([tails[ahead > 0], heads[back > 0]])
    head = np.concatenate([heads[ahead > 0], tails[back > 0]])
    # Everything implies the constant 1, and 0 implies everything: nothing can be learnt from these.
    kept = (tail != sink) & (head != source)
    ones = np.ones(int(kept.sum()))
    return scipy.sparse.csr_array((ones, (tail[kept], head[kept])), shape=(sink + 1, sink + 1))


def _reached(graph: Any, node: int) -> IntArray:
    """Nodes that follow from one, itself included."""
    from scipy.sparse.csgraph import breadth_first_order

    return np.asarray(breadth_first_order(graph, node, return_predecessors=False), dtype=np.int64)


def _extend(graph: Any, true: NDArray[np.bool_], opposite: IntArray) -> None:
    """Make true whatever can be without a contradiction, together with all that follows from it.

    What follows from a choice costs nothing in the residual terms, each of which has a factor that is 0 then:
    some optimum agrees with it. A choice contradicts itself exactly if its own opposite follows; it cannot
    contradict an earlier one, for then its opposite would have followed from that.
    """
    count = len(opposite) // 2 - 1
    for bit in range(count):
        for choice in (count + bit, bit):
            if true[bit] or true[count + bit]:
                break
            follows = _reached(graph, choice)
            if opposite[choice] not in follows:
                true[follows] = True
