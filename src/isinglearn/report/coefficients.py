"""A QUBO to what its pictures need: coefficients counted by their bits, and its matrix made small."""

from __future__ import annotations

from typing import Any

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.checks import index_pairs
from isinglearn.problem.forms import QUBO
from isinglearn.problem.variables import VariableTable

# Rows and columns of the image at most.
MOST_CELLS = 256


def bit_lengths(values: IntArray) -> IntArray:
    """Turn whole numbers into the bits of their magnitudes: 1 is 1, 2 and 3 are 2, 4 to 7 are 3."""
    magnitudes = np.abs(values)
    # Exact where a logarithm of a float could be off by one.
    powers = 1 << np.arange(63, dtype=np.int64)
    return np.searchsorted(powers, magnitudes, side="right")


def coefficients_record(qubo: QUBO) -> dict[str, Any]:
    """Turn a QUBO into counts of its fields and couplings by the bits of their magnitudes."""
    first, second = index_pairs(qubo.polynomial).T
    values = qubo.polynomial.coefficients
    varying = values[second >= 0]
    # A machine stores multiples of what divides them all.
    unit = max(int(np.gcd.reduce(np.abs(varying))), 1) if len(varying) else 1
    lengths = bit_lengths(values // unit)
    fields, couplings = (
        np.bincount(lengths[own], minlength=int(lengths[second >= 0].max(initial=0)) + 1)[1:]
        for own in ((first < 0) & (second >= 0), first >= 0)
    )
    return {
        "unit": unit,
        "bits": list(range(1, len(fields) + 1)),
        "fields": fields.tolist(),
        "couplings": couplings.tolist(),
        "resolution_bits": len(fields) + 1,
    }


def matrix_record(qubo: QUBO) -> dict[str, Any]:
    """Turn a QUBO into an image of its upper triangle and the places of its variables' blocks.

    A cell holds the largest of its entries: the bits of the magnitude, with the sign. Cells without an
    entry are left out.
    """
    count = qubo.num_variables
    size = min(count, MOST_CELLS)
    first, second = index_pairs(qubo.polynomial).T
    own = second >= 0
    # The diagonal is what stands alone.
    row = np.where(first < 0, second, first)[own] * size // max(count, 1)
    column = second[own] * size // max(count, 1)
    values = qubo.polynomial.coefficients[own]
    levels = np.sign(values) * bit_lengths(values)
    place = row * size + column
    order = np.lexsort([levels, np.abs(levels), place])
    place, levels = place[order], levels[order]
    last = np.append(place[1:] != place[:-1], True) if len(place) else np.zeros(0, dtype=bool)
    return {
        "variables": count,
        "size": size,
        "row": (place[last] // max(size, 1)).tolist(),
        "column": (place[last] % max(size, 1)).tolist(),
        "level": levels[last].tolist(),
        "blocks": _blocks(qubo.variables),
    }


def _blocks(table: VariableTable) -> list[dict[str, Any]]:
    """Turn a table into runs of variables of one origin and role: label, role, start, stop."""
    blocks: list[dict[str, Any]] = []
    for start, block in zip(table.starts.tolist(), table.blocks, strict=False):
        label = f"{block.origin} {block.role}".strip()
        if blocks and blocks[-1]["label"] == label:
            blocks[-1]["stop"] = start + len(block)
        else:
            blocks.append(
                {"label": label, "role": block.role, "start": start, "stop": start + len(block)}
            )
    return blocks
