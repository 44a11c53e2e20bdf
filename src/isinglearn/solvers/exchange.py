"""Exchanges of units that leave a QCBO as it is: what a search may break, since it loses nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import Block

# (variables, coefficient) of each term of a row.
Row = tuple[tuple[tuple[int, ...], int], ...]
# (kind, target, row) of a constraint, or (shape, -1, row) of a part of the objective.
_Key = tuple[str, int, Row]


@dataclass(frozen=True, eq=False)
class Swap:
    """Two interchangeable units: ``image[v]`` is what variable ``v`` becomes when they are exchanged.

    ``first`` and ``second`` are the parameters of the two units, in the same order.
    """

    image: IntArray
    first: tuple[int, ...]
    second: tuple[int, ...]


def interchangeable(qcbo: QCBO) -> list[Swap]:
    """Turn a QCBO into exchanges of units that leave it as it is, each unit with the next such one.

    The names of the variables only suggest an exchange; it counts if ranges, constraints and objective
    are unchanged under it. Of all equivalent assignments the lexicographically least, layers in order
    and units in order, has ``first <= second`` in every one of them: all can be demanded at once.
    """
    rows = _Rows(qcbo)
    found: list[Swap] = []
    origins = list(dict.fromkeys(b.origin for b in qcbo.variables.blocks if _is_parameter(b)))
    for origin, following in pairwise([*origins, ""]):
        paired: set[int] = set()
        for u, v in combinations(_units(qcbo, origin), 2):
            if u in paired:
                continue
            swap = _suggested(qcbo, origin, following, u, v)
            if swap is not None and rows.unchanged(swap.image):
                paired.add(u)
                found.append(swap)
    return found


def _is_parameter(block: Block) -> bool:
    return block.role in ("weight", "bias")


def _units(qcbo: QCBO, origin: str) -> list[int]:
    """Units of a layer that have free parameters."""
    blocks = (b for b in qcbo.variables.blocks if b.origin == origin and _is_parameter(b))
    return sorted({unit for b in blocks for unit in b.entries[:, b.axes.index("unit")].tolist()})


def _suggested(qcbo: QCBO, origin: str, following: str, u: int, v: int) -> Swap | None:
    """Exchange two units: all that is theirs, and the columns that read them in the next layer."""
    table = qcbo.variables
    image = np.arange(len(table))
    pairs: list[tuple[int, int]] = []
    for start, block in zip(table.starts.tolist(), table.blocks, strict=False):
        axis = {origin: "unit", following: "input"}.get(block.origin)
        if axis is None or axis not in block.axes:
            continue
        column = block.axes.index(axis)
        place = {tuple(entry): start + i for i, entry in enumerate(block.entries.tolist())}
        for entry, index in place.items():
            if entry[column] not in (u, v):
                continue
            other = list(entry)
            other[column] = v if entry[column] == u else u
            partner = place.get(tuple(other))
            if partner is None:
                return None
            image[index] = partner
            if _is_parameter(block) and axis == "unit" and entry[column] == u:
                pairs.append((index, partner))
    if not pairs:
        return None
    first, second = zip(*pairs, strict=True)
    return Swap(image, first, second)


class _Rows:
    """All rows of a QCBO, to ask whether an exchange of variables leaves them as they are."""

    def __init__(self, qcbo: QCBO) -> None:
        self.table = qcbo.variables
        self.spin = np.array(is_spin(qcbo), dtype=bool)
        self.keys: Counter[_Key] = Counter()
        for constraint in qcbo.constraints:
            rows, target = constraint.rows, constraint.target
            aims = [-1] * rows.num_rows if target is None else target.tolist()
            for aim, row in zip(aims, row_terms(rows), strict=True):
                self.keys[constraint.kind, aim, row] += 1
        # Weights of equal rows add up, so they are counted and not part of the key.
        for part in qcbo.objective:
            for weight, row in zip(part.weights.tolist(), row_terms(part.rows), strict=True):
                self.keys[part.shape, -1, row] += weight

    def unchanged(self, image: IntArray) -> bool:
        """Whether the exchange maps ranges, constraints and objective onto themselves."""
        for values in (self.table.lo, self.table.hi, self.spin):
            if not np.array_equal(values[image], values):
                return False
        to = image.tolist()
        return all(self.keys[_mapped(key, to)] == count for key, count in self.keys.items())


def _mapped(key: _Key, to: list[int]) -> _Key:
    kind, aim, row = key
    terms = ((tuple(sorted(to[index] for index in term)), factor) for term, factor in row)
    # Rows list short terms first, each degree by its variables.
    ordered = sorted(terms, key=lambda term: (len(term[0]), term[0]))
    return kind, to[aim] if aim >= 0 else -1, tuple(ordered)


def sort_units(values: IntArray, swaps: list[Swap]) -> IntArray:
    """Turn an assignment into the equivalent one in which every pair of units is in order."""
    changed = True
    while changed:
        changed = False
        for swap in swaps:
            if values[list(swap.first)].tolist() > values[list(swap.second)].tolist():
                values, changed = values[swap.image], True
    return values


def is_spin(qcbo: QCBO) -> list[bool]:
    """Whether each variable of a QCBO has the values -1 and +1 only."""
    return [block.encoding == "spin" for block in qcbo.variables.blocks for _ in range(len(block))]


def row_terms(rows: PolynomialRows) -> Iterator[Row]:
    """Turn rows into tuples of terms."""
    terms = [
        (tuple(index for index in term if index >= 0), value)
        for term, value in zip(rows.monomials.tolist(), rows.coefficients.tolist(), strict=True)
    ]
    ends = rows.pointers.tolist()
    for number in range(rows.num_rows):
        yield tuple(terms[ends[number] : ends[number + 1]])
