"""A QUBO from numbers alone, with no constraints and no network behind it: what solvers take as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import OverflowRefused
from isinglearn.problem.coding import BitCode
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO, Energy, Products
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import VariableTable, bit_block

if TYPE_CHECKING:
    import dimod

# Coefficients that are no whole numbers are rounded to this many steps of the largest one.
STEPS = 1 << 20
_LARGEST = 2.0**62


def qubo_of_matrix(matrix: NDArray[np.float64]) -> tuple[QUBO, float]:
    """Turn a symmetric matrix ``Q`` into the QUBO ``x' Q x`` and the size of its unit of energy."""
    left, right = np.triu_indices(len(matrix))
    values = matrix[left, right] * np.where(left == right, 1.0, 2.0)
    return _whole(len(matrix), left, right, values)


def qubo_of_model(model: dimod.BinaryQuadraticModel) -> tuple[QUBO, float]:
    """Turn a dimod model over bits into a QUBO without its offset, and the size of its unit of energy."""
    vectors = model.to_numpy_vectors(variable_order=list(model.variables))
    linear, (left, right, values) = vectors[0], vectors[1]
    every = np.arange(len(linear))
    return _whole(
        len(linear),
        np.concatenate([every, np.minimum(left, right)]),
        np.concatenate([every, np.maximum(left, right)]),
        np.concatenate([linear, values]),
    )


def _whole(count: int, left: IntArray, right: IntArray, values: NDArray[Any]) -> tuple[QUBO, float]:
    unit = 1.0
    if not np.array_equal(values, np.rint(values)):
        unit = float(np.abs(values).max()) / STEPS
    if not np.abs(values / unit).sum() < _LARGEST:
        raise OverflowRefused(
            "the energies do not fit into 64 bits",
            where="coefficients",
            rule="whole numbers that add up to less than 2^62",
            received=f"{np.abs(values / unit).sum():g}",
            remedy="divide them by a common factor",
        )
    whole = np.rint(values / unit).astype(np.int64)
    bits = VariableTable([bit_block("", "x", "bit", ("number",), np.arange(count)[:, None])])
    terms = np.stack([np.where(left == right, -1, left), right], axis=1)
    rows = PolynomialRows.of(1, np.zeros(len(whole)), terms, whole, binary=True)
    none, ones = np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64)
    energy = Energy(bits.blocks[0].take(np.zeros(1, dtype=np.int64)), rows, "linear", ones)
    every = np.ones(count, dtype=bool)
    code = BitCode(bits, PolynomialRows.variables(np.arange(count)), (), count, every)
    products = Products(none, none, none, none, np.zeros(0, dtype=np.uint8))
    return QUBO(bits, (energy,), (), code, 1, products), unit
