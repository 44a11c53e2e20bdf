"""Values that cannot matter: a bias so large that its unit is constant on the data may as well be smaller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from isinglearn.problem.encodings import FULL_RANGE
from isinglearn.problem.forms import QCBO, Constraint, Energy
from isinglearn.problem.variables import VariableTable

# Beyond every range.
FAR = 2**62


def tighten(qcbo: QCBO) -> QCBO:
    """Turn a QCBO into the same with biases cut to the range in which they change some sign.

    A variable that occurs only in sign rows, with one positive coefficient ``c``, changes nothing above
    ``max ceil(-rest / c)``, where every row is on, nor below ``min floor((-1 - rest) / c)``, where all are
    off; ``rest`` is the remainder of the row at its smallest and largest.
    """
    table = qcbo.variables
    lo, hi = table.lo.copy(), table.hi.copy()
    least, most = np.full(len(table), FAR), np.full(len(table), -FAR)
    candidates = np.zeros(len(table), dtype=bool)
    for start, block in zip(table.starts, table.blocks, strict=False):
        candidates[start : start + len(block)] = (
            block.role == "bias" and block.encoding not in FULL_RANGE
        )
    parts: list[Energy | Constraint] = [*qcbo.objective, *qcbo.constraints]
    for part in parts:
        rows = part.rows
        linear_sign = isinstance(part, Constraint) and part.switches
        terms = rows.monomials[rows.degrees > 1] if linear_sign else rows.monomials
        candidates[terms[terms >= 0]] = False
    for constraint in qcbo.constraints:
        if not constraint.switches or not constraint.rows.degree:
            continue
        rows = constraint.rows
        linear = np.flatnonzero(rows.degrees == 1)
        variable = rows.monomials[linear, -1]
        mine = linear[candidates[variable]]
        variable, factor, row = rows.monomials[mine, -1], rows.coefficients[mine], rows.rows[mine]
        low, high = rows.bounds(table.lo, table.hi)
        smallest = np.full(len(table), np.iinfo(np.int64).max)
        largest = np.full(len(table), np.iinfo(np.int64).min)
        np.minimum.at(smallest, variable, factor)
        np.maximum.at(largest, variable, factor)
        uniform = (smallest == largest) & (smallest > 0)
        fine = uniform[variable]
        variable, factor, row = variable[fine], factor[fine], row[fine]
        rest_low = low[row] - factor * table.lo[variable]
        rest_high = high[row] - factor * table.hi[variable]
        on, off = np.full(len(table), -FAR), np.full(len(table), FAR)
        np.maximum.at(on, variable, -(rest_low // factor))
        np.minimum.at(off, variable, (-1 - rest_high) // factor)
        touched = np.unique(variable)
        least[touched] = np.minimum(least[touched], off[touched])
        most[touched] = np.maximum(most[touched], on[touched])
    seen = most > -FAR
    hi[seen] = np.clip(most[seen], table.lo[seen], table.hi[seen])
    lo[seen] = np.clip(least[seen], table.lo[seen], hi[seen])
    starts = table.starts
    blocks = [
        replace(block, lo=lo[a : a + len(block)], hi=hi[a : a + len(block)])
        for a, block in zip(starts, table.blocks, strict=False)
    ]
    return replace(qcbo, variables=VariableTable(blocks))
