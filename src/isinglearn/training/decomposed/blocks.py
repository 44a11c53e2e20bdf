"""Blocks: a unit's weights and bias, the moves they can make, and the QUBO that chooses among them.

The loss of a change ``v`` of a unit's parameters is modelled as ``g.v + v' G v / 2`` with ``G = k C``: the
unit's curvature times the moments of its inputs (the Kronecker factors of the Gauss-Newton matrix). A move
adds a whole number to one parameter (a flip adds -2w to a weight of +-1). With one bit per move,
``v = sum_i x_i move_i``, and a price on every move, that is a QUBO, of a size that has nothing to do with
the number of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isinglearn.nn.domains import Domain
from isinglearn.problem.encodings import IntArray
from isinglearn.training.chain import Layer
from isinglearn.training.decomposed.quadratic import BlockSolver, Matrix, minimise

# Whole numbers move by powers of two up to this part of their range, biases also of a typical sum.
_PART = 16
_MOST_SIZES = 4


@dataclass(frozen=True, eq=False)
class Model:
    """The quadratic model of the loss for some units of a layer.

    Attributes
    ----------
    layer
        Shapes and domains of the whole layer.
    units
        Which units the rows of the arrays below belong to.
    weight, bias
        Present numerators.
    shift
        What inputs are counted from: a changed weight moves the bias such that the sum there stays.
    slope
        Derivatives by weights and bias, (units, inputs + 1).
    curvature, moments
        The factors of the second derivative, (units,) and (inputs + 1, inputs + 1).
    price
        Of a change by 1, (units, inputs + 1).
    reach
        A typical sum: what changes of a bias are measured by.
    """

    layer: Layer
    units: IntArray
    weight: IntArray
    bias: IntArray | None
    shift: NDArray[np.float64]
    slope: NDArray[np.float64]
    curvature: NDArray[np.float64]
    moments: Matrix
    price: NDArray[np.float64]
    reach: float

    def part(self, rows: slice) -> Model:
        """The model of some of the units."""
        return replace(
            self,
            units=self.units[rows],
            weight=self.weight[rows],
            bias=None if self.bias is None else self.bias[rows],
            slope=self.slope[rows],
            curvature=self.curvature[rows],
            price=self.price[rows],
        )


@dataclass(frozen=True, eq=False)
class Change:
    """What a block's QUBO chose for a unit.

    Attributes
    ----------
    unit
        Its number in the layer.
    weight, bias
        The new numerators.
    step
        The change in the model's own coordinates, where a bias counts from the shift.
    spins
        Size of the QUBO.
    """

    unit: int
    weight: IntArray
    bias: int | None
    step: NDArray[np.float64]
    spins: int


def moves_of(
    values: IntArray, domain: Domain, free: NDArray[np.bool_], reach: float
) -> tuple[IntArray, IntArray]:
    """Turn values (units, entries) into moves: the entry of each, and by how much (units, moves).

    Any subset of an entry's moves stays in its domain; a move that is not possible is one by 0.
    """
    entries = np.arange(values.shape[1])
    if domain.encoding == "spin":
        return entries, np.where(free, -2 * values, 0)
    top = int(np.log2(max(1.0, reach)))
    steps = []
    for sign, room in ((1, domain.hi - values), (-1, values - domain.lo)):
        used = np.zeros_like(values)
        for size in 2 ** np.arange(max(0, top - _MOST_SIZES + 1), top + 1):
            move = np.where(free & (used + size <= room), size, 0)
            used += move
            steps.append(sign * move)
    return np.tile(entries, len(steps)), np.concatenate(steps, axis=1)


def moves(model: Model) -> tuple[IntArray, IntArray]:
    """Turn a model into the moves of all its units; the bias is the last entry."""
    layer, rows = model.layer, model.units
    domain = layer.weight.domain
    entries, steps = moves_of(
        model.weight, domain, layer.weight.free[rows], (domain.hi - domain.lo) / _PART
    )
    if layer.bias is None or model.bias is None:
        return entries, steps
    domain = layer.bias.domain
    reach = min(model.reach / layer.bias_factor, domain.hi - domain.lo) / _PART
    _, more = moves_of(model.bias[:, None], domain, layer.bias.free[rows, None], reach)
    places = np.concatenate([entries, np.full(more.shape[1], layer.inputs)])
    return places, np.concatenate([steps, more], axis=1)


def solve_units(
    model: Model, solve: BlockSolver, max_spins: int, seeds: Sequence[int] | NDArray[np.uint32]
) -> list[Change]:
    """Turn a model into what the QUBOs of its units choose; units that stay as they are are left out."""
    places, whole = moves(model)
    steps = whole.astype(np.float64)
    bend = model.curvature[:, None] * model.moments.diagonal()[places]
    linear = (model.slope[:, places] + 0.5 * bend * steps) * steps
    linear += model.price[:, places] * np.abs(steps)
    linear[whole == 0] = np.inf
    changes = []
    for row in np.flatnonzero(linear.min(axis=1, initial=np.inf) < 0):
        kept = promising(linear[row], max_spins)
        matrix = block_matrix(
            model.curvature[row], model.moments, places[kept], steps[row, kept], linear[row, kept]
        )
        bits = minimise(matrix, solve, int(seeds[int(row)]))
        chosen = bits * steps[row, kept]
        step = np.bincount(places[kept], chosen, model.layer.inputs + 1).astype(np.float64)
        changes.append(_decode(model, int(row), step, len(kept)))
    return changes


def promising(linear: NDArray[np.float64], max_spins: int) -> IntArray:
    """Turn what moves cost by themselves into those worth a bit: none dearer than the best one gains."""
    kept = np.flatnonzero(linear <= -linear.min())
    if len(kept) > max_spins:
        kept = np.sort(kept[np.argsort(linear[kept], kind="stable")[:max_spins]])
    return kept


def block_matrix(
    curvature: float,
    moments: Matrix,
    places: IntArray,
    steps: NDArray[np.float64],
    linear: NDArray[np.float64],
) -> Matrix:
    """Turn moves into the symmetric matrix ``Q`` of their QUBO ``x' Q x``, linear part on the diagonal."""
    matrix = moments[np.ix_(places, places)]
    matrix *= np.outer((0.5 * curvature) * steps, steps)
    np.fill_diagonal(matrix, linear)
    return matrix


def _decode(model: Model, row: int, step: NDArray[np.float64], spins: int) -> Change:
    layer, unit = model.layer, int(model.units[row])
    whole = np.rint(step).astype(np.int64)
    weight = model.weight[row] + whole[:-1]
    if layer.bias is None or model.bias is None:
        return Change(unit, weight, None, step, spins)
    bias = int(model.bias[row])
    if layer.bias.free[unit]:
        carried = layer.weight_factor * float(step[:-1] @ model.shift) / layer.bias_factor
        bias += int(whole[-1]) - round(carried)
        bias = int(layer.bias.domain.snap(np.array(bias)))
    return Change(unit, weight, bias, step, spins)
