"""The one check of assignments: rows of bits, as many as a form has spins."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.errors import SolverError
from isinglearn.problem.encodings import IntArray


def as_bits(given: ArrayLike, count: int, where: str) -> IntArray:
    """Turn assignments, one row per read, into an array of 0 and 1, or into an error."""
    try:
        bits = np.atleast_2d(np.asarray(given))
    except ValueError:
        raise _no_bits(count, where, "rows of different lengths") from None
    if bits.ndim != 2 or bits.shape[1] != count:
        raise _no_bits(count, where, f"shape {bits.shape}")
    if bits.dtype.kind not in "biuf":
        raise _no_bits(count, where, f"values of type {bits.dtype}")
    if bits.dtype.kind == "f":
        right = bool(((bits == 0) | (bits == 1)).all())
    else:
        # Without a sign -1 is a large number: one comparison tells all.
        bits = bits.astype(np.int64, copy=False)
        right = bool((bits.view(np.uint64) <= 1).all())
    if right:
        return bits.astype(np.int64, copy=False)
    wrong = bits[(bits != 0) & (bits != 1)]
    raise _no_bits(count, where, f"other values, such as {wrong[0]}")


def _no_bits(count: int, where: str, received: str) -> SolverError:
    return SolverError(
        "these are no bits of this form",
        where=where,
        rule=f"rows of {count} values, each 0 or 1, one row per read",
        received=received,
        remedy="keep the order of the form's variables; spins s of -1 and +1 become bits by (1 + s) / 2",
    )
