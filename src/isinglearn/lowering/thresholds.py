"""Sign units as thresholds: one bit per distinct behaviour of a unit on the data, no slack at all.

A unit ``a_i = sign(w . x_i + b)`` whose weights have few settings ``w`` behaves, for each of them, like a
threshold in ``b``: sample ``i`` switches on at ``b >= v_iw``. With ``c_w = [weights = w]`` and
``t_wk = [weights = w and b >= k-th distinct threshold of w]`` all of it is linear,

    (a_i + 1) / 2 = sum over w of  c_w, t_wk or 0,      w and b likewise,

and validity is quadratic: at most one ``c``, ``t_w(k+1) <= t_wk <= c_w``. No carries, small coefficients,
and the number of bits is bounded by the number of distinct behaviours however many samples there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from isinglearn.problem.coding import Definition
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.rows import PolynomialRows, Shape, stack_rows
from isinglearn.problem.variables import Block, Positions, VariableTable, bit_block

# More weight settings than this are not enumerated; the slack form is far smaller by then.
MAX_SETTINGS = 1 << 10


@dataclass(frozen=True, eq=False)
class Unit:
    """One connected group of sign rows and the parameters they depend on.

    Attributes
    ----------
    rows
        Rows of the constraint that belong to this unit.
    weights, bias
        Integer variables with few joint settings, and the one that acts as threshold (-1: none).
    settings
        Values of ``weights``, shape (settings, weights).
    levels
        For every setting the ascending bias values at which some row switches on.
    switch
        ``switch[s, r]``: number of levels needed for row ``r`` (0: on anyway, -1: never on).
    """

    rows: IntArray
    weights: IntArray
    bias: int
    settings: IntArray
    levels: tuple[IntArray, ...]
    switch: IntArray

    @property
    def num_bits(self) -> int:
        """Bits of the unit: all settings but one, and every level."""
        return len(self.settings) - 1 + sum(map(len, self.levels))


def find_units(
    rows: PolynomialRows,
    variables: VariableTable,
    elsewhere: NDArray[np.bool_],
    most_terms: int | None = None,
) -> list[Unit] | None:
    """Turn the rows of switches into their units, or ``None`` where a unit has too many settings.

    ``most_terms`` bounds what comes of them when squared, by an estimate before they are listed.

    ``elsewhere`` marks variables that other rows depend on: these need their exact value, so none of them can
    be a threshold.
    """
    if rows.degree != 1:
        return None
    linear = rows.degrees == 1
    matrix = scipy.sparse.csr_array(
        (rows.coefficients[linear], (rows.rows[linear], rows.monomials[linear, 0])),
        shape=(rows.num_rows, len(variables)),
    )
    used = np.unique(rows.monomials[linear, 0])
    if (variables.samples[used] >= 0).any():
        return None
    dense = matrix[:, used]
    # Absolute values: with signs two variables that share rows could cancel out.
    _, component = connected_components(abs(dense).T @ abs(dense), directed=False)
    units = []
    for which in range(component.max(initial=-1) + 1):
        members = np.flatnonzero(component == which)
        own_rows = np.flatnonzero(np.diff(dense[:, members].tocsr().indptr))
        block = dense[own_rows][:, members].toarray()
        own = used[members]
        if most_terms is not None:
            # A row is a sum over the settings that switch it on; half of them, when squared an eighth of
            # the square. A quarter of that is surely too many.
            settings = _settings(own, variables)
            if len(own_rows) * settings * settings / 32 > most_terms:
                return None
        unit = _unit(own_rows, own, block, rows.offsets[own_rows], variables, elsewhere[own])
        if unit is None:
            return None
        units.append(unit)
    return units


def _settings(members: IntArray, variables: VariableTable) -> float:
    """Settings of all but the variable with the most values, which may act as threshold."""
    sizes = sorted(len(_values(variables, int(index))) for index in members)
    return float(np.prod(sizes[:-1], dtype=np.float64))


def _values(variables: VariableTable, index: int) -> range:
    which = int(np.searchsorted(variables.starts, index, side="right")) - 1
    step = 2 if variables.blocks[which].encoding == "spin" else 1
    return range(int(variables.lo[index]), int(variables.hi[index]) + 1, step)


def _unit(
    own_rows: IntArray,
    members: IntArray,
    matrix: IntArray,
    offsets: IntArray,
    variables: VariableTable,
    elsewhere: NDArray[np.bool_],
) -> Unit | None:
    """Split the variables into threshold and settings, enumerate the settings, find the levels."""
    values = [_values(variables, int(i)) for i in members]
    sizes = np.array([len(own) for own in values])
    # A threshold takes every integer of its range, which a spin does not.
    whole = np.array([own.step == 1 for own in values])
    constant = (matrix == matrix[:1]).all(axis=0) & (matrix[0] > 0) & whole & ~elsewhere
    bias = -1
    if constant.any():
        bias = int(np.argmax(np.where(constant, sizes, -1)))
    others = np.array([i for i in range(len(members)) if i != bias], dtype=np.int64)
    if float(np.prod(sizes[others], dtype=np.float64)) > MAX_SETTINGS:
        return None
    axes = [np.array(values[i]) for i in others]
    mesh = np.meshgrid(*axes, indexing="ij") if axes else []
    settings = np.stack([m.ravel() for m in mesh], axis=1) if axes else np.zeros((1, 0), np.int64)
    rest = settings @ matrix[:, others].T + offsets
    if bias < 0:
        switch = np.where(rest >= 0, 0, -1)
        empty = tuple(np.zeros(0, dtype=np.int64) for _ in settings)
        return Unit(own_rows, members[others], -1, settings, empty, switch)
    lo, hi = int(variables.lo[members[bias]]), int(variables.hi[members[bias]])
    needed = -(rest // matrix[0, bias])  # smallest bias with rest + c * bias >= 0
    levels, switch = [], np.zeros_like(needed)
    for setting, need in enumerate(needed):
        inner = np.unique(need[(need > lo) & (need <= hi)])
        levels.append(inner)
        switch[setting] = np.where(
            need <= lo, 0, np.where(need > hi, -1, np.searchsorted(inner, need) + 1)
        )
    return Unit(own_rows, members[others], int(members[bias]), settings, tuple(levels), switch)


@dataclass(frozen=True, eq=False)
class Lowered:
    """New integers (all bits), what old integers become in them, and the validity rules."""

    blocks: list[Block]
    definitions: list[Definition]
    targets: IntArray
    expressions: PolynomialRows
    activations: PolynomialRows
    rules: list[tuple[Positions, PolynomialRows, Shape]]


def lower_units(
    origin: str, rows: PolynomialRows, units: list[Unit], variables: VariableTable, first: int
) -> Lowered:
    """Turn units into choice and level bits (variables ``first, first + 1, ...``).

    ``expressions`` gives the parameters, ``activations`` the 0/1 activation of every row.
    """
    choice_entries, level_entries = [], []
    for number, unit in enumerate(units):
        choice_entries += [(number, s) for s in range(len(unit.settings) - 1)]
        level_entries += [
            (number, s, k) for s, own in enumerate(unit.levels) for k in range(len(own))
        ]
    axes = ("unit", "setting")
    choice = bit_block(origin, "choice", "choice", axes, _entries(choice_entries, 2))
    level = bit_block(origin, "level", "threshold", (*axes, "bit"), _entries(level_entries, 3))
    next_choice, next_level = first, first + len(choice)
    writer = _Writer()
    for number, unit in enumerate(units):
        count = len(unit.settings)
        choices = _choices(next_choice, count)
        lengths = np.array([len(own) for own in unit.levels])
        starts = next_level + np.cumsum(lengths) - lengths
        _parameters(writer, unit, variables, choices, starts)
        _activations(writer, unit, choices, starts)
        _rules(writer, origin, number, choices, starts, lengths)
        _definitions(writer, unit, variables, choices, starts)
        next_choice += count - 1
        next_level += int(lengths.sum())
    _constant_rows(writer, rows)
    order = np.argsort(np.concatenate(writer.activation_rows), kind="stable")
    return Lowered(
        [choice, level],
        writer.definitions,
        np.concatenate(writer.targets),
        stack_rows(writer.expressions),
        stack_rows(writer.activations).take(order),
        writer.rules,
    )


def _entries(rows: Sequence[tuple[int, ...]], width: int) -> IntArray:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


class _Writer:
    """What the units contribute, piece by piece."""

    def __init__(self) -> None:
        self.definitions: list[Definition] = []
        self.targets: list[IntArray] = []
        self.expressions: list[PolynomialRows] = []
        self.activations: list[PolynomialRows] = []
        self.activation_rows: list[IntArray] = []
        self.rules: list[tuple[Positions, PolynomialRows, Shape]] = []


def _choices(first: int, count: int) -> PolynomialRows:
    """Rows ``c_0, c_1, ..., 1 - sum of the others``: one setting needs no bit of its own."""
    bits = np.arange(first, first + count - 1)
    last = np.full(count - 1, count - 1)
    return PolynomialRows.of(
        count,
        np.concatenate([np.arange(count - 1), last, [count - 1]]),
        np.concatenate([bits, bits, [-1]]),
        np.concatenate([np.ones(count - 1), -np.ones(count - 1), [1]]),
    )


def _weighted(choices: PolynomialRows, values: IntArray) -> PolynomialRows:
    """One row ``sum_s values[s] * choice_s``."""
    scaled = choices.scaled(values)
    return PolynomialRows.of(1, np.zeros(len(scaled.rows)), scaled.monomials, scaled.coefficients)


def _parameters(
    writer: _Writer, unit: Unit, variables: VariableTable, choices: PolynomialRows, starts: IntArray
) -> None:
    writer.targets.append(unit.weights)
    writer.expressions += [_weighted(choices, column) for column in unit.settings.T]
    if unit.bias < 0:
        return
    lo, hi = int(variables.lo[unit.bias]), int(variables.hi[unit.bias])
    base, steps, bits = [], [], []
    for start, own in zip(starts, unit.levels, strict=True):
        # Between two levels every bias behaves alike; the middle one keeps most distance to both.
        edges = np.concatenate([[lo], own, [hi + 1]])
        middle = (edges[:-1] + edges[1:] - 1) // 2
        base.append(middle[0])
        steps.append(np.diff(middle))
        bits.append(start + np.arange(len(own)))
    growth = PolynomialRows.of(
        1, np.zeros(sum(map(len, steps))), np.concatenate(bits), np.concatenate(steps)
    )
    writer.targets.append(np.array([unit.bias]))
    writer.expressions.append(_weighted(choices, np.array(base)) + growth)


def _activations(writer: _Writer, unit: Unit, choices: PolynomialRows, starts: IntArray) -> None:
    setting, row = np.nonzero(unit.switch == 0)
    on = choices.take(setting)
    level_setting, level_row = np.nonzero(unit.switch > 0)
    bits = starts[level_setting] + unit.switch[level_setting, level_row] - 1
    width = max(1, on.degree)
    count = len(unit.rows)
    writer.activation_rows.append(unit.rows)
    writer.activations.append(
        PolynomialRows.of(
            count,
            np.concatenate([row[on.rows], level_row]),
            np.concatenate([on.padded(width), bits[:, None]]),
            np.concatenate([on.coefficients, np.ones(len(bits), dtype=np.int64)]),
        )
    )


def _constant_rows(writer: _Writer, rows: PolynomialRows) -> None:
    """Rows without any variable have a constant activation."""
    covered = np.concatenate([*writer.activation_rows, np.zeros(0, dtype=np.int64)])
    rest = np.setdiff1d(np.arange(rows.num_rows), covered)
    writer.activation_rows.append(rest)
    on = (rows.offsets[rest] >= 0).astype(np.int64)
    writer.activations.append(PolynomialRows.constants(on))


def _rules(
    writer: _Writer,
    origin: str,
    number: int,
    choices: PolynomialRows,
    starts: IntArray,
    lengths: IntArray,
) -> None:
    count = choices.num_rows
    if count > 2:
        # S (S - 1) / 2 is 0 for at most one choice and positive otherwise.
        total = choices.take(np.arange(count - 1))
        one = PolynomialRows.of(1, np.zeros(len(total.rows)), total.monomials, total.coefficients)
        places = Positions(origin, "one choice", ("unit",), np.array([[number]]))
        writer.rules.append((places, one, "pairs"))
    # t_(k+1) (1 - t_k) and t_1 (1 - c): a level only above the one below it.
    setting = np.repeat(np.arange(count), lengths)
    place = np.arange(len(setting)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    bit = starts[setting] + place
    inner = place > 0
    below = stack_rows(
        [
            choices.take(setting[~inner]),
            PolynomialRows.variables(bit[inner] - 1),
        ]
    )
    bits = np.concatenate([bit[~inner], bit[inner]])
    penalty = PolynomialRows.of(
        len(bits),
        np.concatenate([np.arange(len(bits)), below.rows]),
        np.concatenate(
            [
                np.stack([np.full(len(bits), -1), bits], axis=1),
                np.concatenate([below.padded(1), bits[below.rows, None]], axis=1),
            ]
        ),
        np.concatenate([np.ones(len(bits), dtype=np.int64), -below.coefficients]),
    )
    order = np.concatenate([np.flatnonzero(~inner), np.flatnonzero(inner)])
    entries = np.stack([np.full(len(bits), number), setting[order], place[order]], axis=1)
    places = Positions(origin, "level order", ("unit", "setting", "bit"), entries)
    if len(bits):
        writer.rules.append((places, penalty, "linear"))


def _definitions(
    writer: _Writer, unit: Unit, variables: VariableTable, choices: PolynomialRows, starts: IntArray
) -> None:
    """Bits from parameters: ``c_s`` is 1 where every weight agrees, ``t`` where also the bias reaches."""
    count = len(unit.settings)
    agrees = [_agreement(unit.weights, values) for values in unit.settings]
    if count > 1:
        bits = choices.monomials[choices.rows < count - 1, -1].astype(np.int64)
        writer.definitions.append(Definition(bits, "step", stack_rows(agrees[:-1])))
    for s, own in enumerate(unit.levels):
        if not len(own):
            continue
        target = starts[s] + np.arange(len(own))
        margin = PolynomialRows.of(
            len(own),
            np.tile(np.arange(len(own)), 2),
            np.concatenate([np.full(len(own), unit.bias), np.full(len(own), -1)]),
            np.concatenate([np.ones(len(own)), -own]),
        )
        # Where the setting differs, its agreement is <= -1: times the bias' reach it vetoes any bias.
        reach = int(variables.hi[unit.bias]) - int(own.min()) + 1
        veto = agrees[s].take(np.zeros(len(own), dtype=np.int64)).scaled(reach)
        writer.definitions.append(Definition(target, "step", margin + veto))


def _agreement(weights: IntArray, values: IntArray) -> PolynomialRows:
    """A row that is 0 where ``weights == values`` and at most -1 elsewhere: ``-sum (w - v)^2``."""
    none = np.full(len(values), -1)
    monomials = np.concatenate(
        [
            np.stack([weights, weights], axis=1),
            np.stack([none, weights], axis=1),
            np.stack([none, none], axis=1),
        ]
    )
    coefficients = np.concatenate([-np.ones(len(values)), 2 * values, -values * values])
    return PolynomialRows.of(1, np.zeros(len(coefficients)), monomials, coefficients)
