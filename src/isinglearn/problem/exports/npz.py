"""Files ``.npz`` back to dimod models: our layout, scipy's sparse matrices, a single dense one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.problem.exports.checks import FLOAT_LIMIT

if TYPE_CHECKING:
    import dimod

LAYOUTS = (
    "arrays row, col, data, offset and names as ours, a matrix of scipy.sparse.save_npz, "
    "or one square array Q of np.savez, for x' Q x"
)
_OURS = ("row", "col", "data", "offset", "names")


def read_npz(file: Path) -> dimod.BinaryQuadraticModel:
    """Turn arrays into a model; of a matrix ``Q``, symmetric, triangular or neither, that of ``x' Q x``."""
    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if {"format", "shape", "data"} <= arrays.keys():
        return _of_scipy(file)
    if set(_OURS) <= arrays.keys():
        row, column, data, offset, names = (arrays[name] for name in _OURS)
        return _model(file, row, column, data, names.tolist(), float(_numbers(file, offset)))
    if len(arrays) == 1:
        ((name, matrix),) = arrays.items()
        if matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]:
            row, column = np.nonzero(matrix)
            return _model(file, row, column, matrix[row, column], list(range(len(matrix))))
        raise _refused(file, f"one array {name} of shape {matrix.shape}")
    raise _refused(file, f"arrays {', '.join(sorted(arrays))}" if arrays else "no arrays")


def _of_scipy(file: Path) -> dimod.BinaryQuadraticModel:
    import scipy.sparse

    matrix: Any = scipy.sparse.load_npz(file)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise _refused(file, f"a sparse matrix of shape {matrix.shape}")
    if hasattr(matrix, "check_format"):
        # Damaged pointers would be followed.
        matrix.check_format(full_check=True)
    entries = matrix.tocoo()
    return _model(file, entries.row, entries.col, entries.data, list(range(matrix.shape[0])))


def _model(
    file: Path,
    row: NDArray[Any],
    column: NDArray[Any],
    data: NDArray[Any],
    names: list[Any],
    offset: float = 0.0,
) -> dimod.BinaryQuadraticModel:
    import dimod

    values = _numbers(file, data)
    for place in (row, column):
        if place.shape != values.shape or place.dtype.kind not in "iu":
            raise _refused(file, "row and col that are no whole numbers, one for each of data")
        if np.any((place < 0) | (place >= len(names))):
            raise _refused(file, f"row or col outside of 0 to {len(names) - 1}")
    alone = row == column
    linear = np.zeros(len(names))
    np.add.at(linear, row[alone], values[alone])
    pairs = (row[~alone], column[~alone], values[~alone])
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        linear, pairs, offset, dimod.BINARY, variable_order=names
    )


def _numbers(file: Path, values: NDArray[Any]) -> NDArray[np.float64]:
    """Turn whole and real numbers into floats, none of them rounded silently."""
    if values.dtype.kind not in "biuf":
        raise _refused(file, f"numbers of the type {values.dtype}")
    floats = values.astype(np.float64)
    large = np.abs(floats) >= FLOAT_LIMIT
    if values.dtype.kind in "iu" and values[large].tolist() != floats[large].tolist():
        raise _refused(file, "whole numbers that a 64-bit float would round")
    return floats


def _refused(file: Path, received: str) -> DataError:
    return DataError(
        "this file cannot be read as a QUBO",
        where=str(file),
        rule=LAYOUTS,
        received=received,
        remedy="write it again, for example with scipy.sparse.save_npz(file, scipy.sparse.csr_array(Q))",
    )
