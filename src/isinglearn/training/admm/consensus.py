"""A group of samples with parameters of its own: its loss as a QUBO, plus what ties it to the consensus.

The group minimises ``f(theta) + sum_j m_j (theta_j - z_j + u_j)^2`` over its own copy ``theta`` of the
parameters. ``theta_j`` is affine in its bits, so that the tie is a quadratic form in them, with ``m_j
theta_j^2`` and ``2 m_j (u_j - z_j) theta_j`` as its parts: both are compiled once, only their weights change.

The penalties stay as the repair bound has them. Recomputing everything but the parameters by a forward pass
leaves the tie as it is, so a weight above the worst loss of a sample suffices, whatever the tie weighs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isinglearn.decode import decode_vectors
from isinglearn.lowering.penalties import Certificate
from isinglearn.lowering.pipeline import INFEASIBLE, Problem
from isinglearn.lowering.to_hubo import to_hubo
from isinglearn.lowering.to_qubo import to_qubo
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO, Energy
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import Positions
from isinglearn.training.machine import Machine

Floats = NDArray[np.float64]
# Energies are counted this much finer than losses, so that the ties of wide integers are not rounded away.
FINE = 64


@dataclass(frozen=True, eq=False)
class Group:
    """Some samples, compiled.

    Attributes
    ----------
    samples
        Their numbers.
    problem
        What was compiled.
    qubo
        Its QUBO in fine units, weighted by the repair bound.
    values, squares
        Every free parameter, and its square, over the QUBO's bits.
    lo, hi
        Ranges of the parameters, cut to what matters for these samples.
    factor
        What brings the problem's losses to the units that all groups share, fine ones included.
    """

    samples: IntArray
    problem: Problem
    qubo: QUBO
    values: PolynomialRows
    squares: PolynomialRows
    lo: IntArray
    hi: IntArray
    factor: int

    @classmethod
    def of(cls, problem: Problem, samples: IntArray, weight: int) -> Group:
        """Turn a compiled problem into a group whose samples weigh ``weight`` together."""
        training, count = problem.training, len(problem.free_domains)
        worst = dict(zip(training.samples.tolist(), training.worst.tolist(), strict=True))
        # What belongs to no sample or to several is repaired with all of them.
        certificate = Certificate(
            training.lowest + int(training.worst.sum()), training.lowest, worst
        )
        hubo = to_hubo(problem.qcbo, problem.options, certificate)
        qubo = to_qubo(hubo, "product", problem.options, certificate)
        factor = FINE * weight // int(problem.data.weights.sum())
        values = qubo.code.values.take(np.arange(count))
        table = problem.qcbo.variables
        return cls(
            samples,
            problem,
            _scaled(qubo, factor),
            values,
            values.expand("square"),
            table.lo[:count],
            table.hi[:count],
            factor,
        )

    def near(self, vectors: NDArray[np.number]) -> NDArray[np.number]:
        """Turn parameters into those that are the same to these samples, within the group's ranges."""
        return np.clip(vectors, self.lo, self.hi)

    def tied(self, centre: Floats, metric: Floats) -> QUBO:
        """Turn a centre into the QUBO ``f + sum_j metric_j (theta_j - centre_j)^2``."""
        places = Positions("", "consensus", ("parameter",), np.arange(len(centre))[:, None])
        strength = np.rint(FINE * metric).astype(np.int64)
        pull = np.rint(-2 * FINE * metric * centre).astype(np.int64)
        ties = (
            Energy(places, self.squares, "linear", strength),
            Energy(places, self.values, "linear", pull),
        )
        return replace(self.qubo, objective=(*self.qubo.objective, *ties), source=None)

    def losses(self, vectors: IntArray) -> Floats:
        """Turn parameters into the group's true losses, in the units that all groups share."""
        scores = self.problem.scores(vectors)
        shared = scores.astype(np.float64) * (self.factor / FINE)
        return np.where(scores == INFEASIBLE, np.inf, shared)


def solve_group(
    group: Group,
    machine: Machine,
    centre: Floats,
    metric: Floats,
    known: IntArray,
    seed: int,
    seconds: float,
) -> IntArray:
    """Turn a group's tie into its new parameters: the best read once repaired, or one of ``known``."""
    rows = machine.minimise(group.tied(centre, metric), seed, seconds)
    read = decode_vectors(group.problem, group.qubo, rows)
    vectors = np.concatenate([group.near(known), read])
    ties = ((vectors - centre) ** 2) @ metric
    best: IntArray = vectors[int(np.argmin(group.losses(vectors) + ties))]
    return best


def _scaled(qubo: QUBO, factor: int) -> QUBO:
    """The same QUBO in units that are ``factor`` times finer."""

    def finer(parts: tuple[Energy, ...]) -> tuple[Energy, ...]:
        return tuple(replace(part, weights=part.weights * factor) for part in parts)

    products = replace(qubo.products, weights=qubo.products.weights * factor)
    objective, penalties = finer(qubo.objective), finer(qubo.penalties)
    scale = qubo.scale * factor
    return replace(qubo, objective=objective, penalties=penalties, products=products, scale=scale)
