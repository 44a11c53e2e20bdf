"""Samples: rows of any order and weight to distinct ones in a fixed order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray


def merged(
    X: IntArray, y: IntArray, weights: NDArray[np.float64]
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Turn samples into distinct ones in a fixed order, with the sums of their weights.

    So neither the order of samples nor writing one twice instead of giving it twice the weight matters.
    """
    rows = np.column_stack([X, y])
    order = np.argsort(weights, kind="stable")
    found, group = np.unique(rows[order], axis=0, return_inverse=True)
    sums = np.bincount(group.ravel(), weights=weights[order], minlength=len(found))
    return found[:, :-1], found[:, -1], np.asarray(sums, dtype=np.float64)
