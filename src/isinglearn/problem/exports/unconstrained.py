"""QUBO and HUBO to dimod models, a sparse matrix, Ising arrays, and files of four formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import check_choice
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.checks import FLOAT_LIMIT, check_exact, index_pairs, unique_names
from isinglearn.problem.exports.files import replacing, write_lines, write_triplets
from isinglearn.problem.terms import check_overflow

if TYPE_CHECKING:
    import dimod
    import scipy.sparse
    from dimod.higherorder.polynomial import BinaryPolynomial

    from isinglearn.problem.forms import HUBO, QUBO

Triplets = tuple[IntArray, IntArray, IntArray]

# Quarters of integers below this are exact, with a bit to spare.
_ISING_LIMIT = 2**50


def qubo_to_bqm(qubo: QUBO) -> dimod.BinaryQuadraticModel:
    """Turn a QUBO into a binary dimod model of the same energies, labelled by the names."""
    import dimod

    diagonal, (row, column, couplings) = _parts(qubo)
    for values in (diagonal, couplings, [qubo.offset]):
        check_exact(values, FLOAT_LIMIT, "to_bqm")
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        diagonal.astype(np.float64),
        (row, column, couplings.astype(np.float64)),
        float(qubo.offset),
        dimod.BINARY,
        variable_order=unique_names(qubo.variables),
    )


def hubo_to_polynomial(hubo: HUBO) -> BinaryPolynomial:
    """Turn a HUBO into a binary dimod polynomial of the same energies, keyed by the names."""
    from dimod.higherorder.polynomial import BinaryPolynomial

    names = unique_names(hubo.variables)
    check_exact(hubo.polynomial.coefficients, FLOAT_LIMIT, "to_polynomial")
    terms = {
        tuple(names[index] for index in term): value
        for term, value in hubo.polynomial.to_terms().items()
    }
    result: BinaryPolynomial = BinaryPolynomial(terms, "BINARY")
    return result


def qubo_to_matrix(qubo: QUBO) -> scipy.sparse.csr_array[Any, Any]:
    """Turn a QUBO into an upper triangular ``Q`` of int64; the energy is ``x Q x + offset``."""
    import scipy.sparse

    row, column, data = _coordinates(qubo)
    size = qubo.num_variables
    return scipy.sparse.csr_array((data, (row, column)), shape=(size, size))


def qubo_to_ising(
    qubo: QUBO,
) -> tuple[NDArray[np.float64], scipy.sparse.csr_array[Any, Any], float]:
    """Turn a QUBO into ``h s + s J s + offset``, spins ``s = 2 x - 1``, exact multiples of 1/4.

    With ``x = (s + 1) / 2`` a linear ``q x`` gives ``q/2`` to its field and to the offset, a pair
    ``q x x'`` gives ``q/4`` to its coupling, both fields and the offset. ``J`` is upper triangular.
    """
    import scipy.sparse

    diagonal, (row, column, couplings) = _parts(qubo)
    # Everything is counted in quarters; below this bound no sum of integers can wrap.
    total = sum(float(np.abs(part.astype(np.float64)).sum()) for part in (diagonal, couplings))
    check_overflow(4 * (total + abs(qubo.offset)), "to_ising")
    fields = 2 * diagonal
    np.add.at(fields, row, couplings)
    np.add.at(fields, column, couplings)
    offset = 4 * qubo.offset + 2 * int(diagonal.sum()) + int(couplings.sum())
    for quarters in (fields, couplings, [offset]):
        check_exact(quarters, 4 * _ISING_LIMIT, "to_ising")
    size = qubo.num_variables
    matrix = scipy.sparse.csr_array((couplings / 4, (row, column)), shape=(size, size))
    return fields / 4, matrix, offset / 4


def write_qubo(qubo: QUBO, path: Path) -> None:
    """Turn a QUBO into a file of the format that its ending names.

    ``.qubo``
        The text format of qbsolv; offset and scale are comments.
    ``.coo``
        dimod's coordinate text; offset and scale are comments, which its reader skips.
    ``.npz``
        Arrays ``row, col, data, offset, scale, names``, readable without pickle.
    ``.json``
        dimod's own, of :func:`qubo_to_bqm`; without the scale.
    """
    write = _WRITERS[check_choice(path.suffix, _WRITERS, f"file ending of {path.name!r}")]
    with replacing(path) as file:
        write(qubo, file)


def _write_qbsolv(qubo: QUBO, file: BinaryIO) -> None:
    row, column, data = _coordinates(qubo)
    diagonals = int((row == column).sum())
    header = f"p qubo 0 {qubo.num_variables} {diagonals} {len(data) - diagonals}"
    write_lines(file, [f"c offset {qubo.offset}", f"c scale {qubo.scale}", header])
    write_triplets(file, row, column, data)


def _write_coo(qubo: QUBO, file: BinaryIO) -> None:
    # The reader knows only variables that occur, in order of appearance: all of them come first.
    every = np.arange(qubo.num_variables)
    diagonal, pairs = _parts(qubo)
    comments = ["# vartype=BINARY", f"# offset={qubo.offset}", f"# scale={qubo.scale}"]
    write_lines(file, comments)
    write_triplets(file, every, every, diagonal)
    write_triplets(file, *pairs)


def _write_npz(qubo: QUBO, file: BinaryIO) -> None:
    row, column, data = _coordinates(qubo)
    np.savez_compressed(
        file,
        row=row,
        col=column,
        data=data,
        offset=np.int64(qubo.offset),
        scale=np.int64(qubo.scale),
        names=np.array(unique_names(qubo.variables), dtype=np.str_),
    )


def _write_json(qubo: QUBO, file: BinaryIO) -> None:
    file.write(json.dumps(qubo_to_bqm(qubo).to_serializable()).encode())


_WRITERS: dict[str, Callable[[QUBO, BinaryIO], None]] = {
    ".qubo": _write_qbsolv,
    ".coo": _write_coo,
    ".npz": _write_npz,
    ".json": _write_json,
}


def _parts(qubo: QUBO) -> tuple[IntArray, Triplets]:
    """Turn a QUBO into its dense diagonal and its couplings ``(row, column, value)``, row first."""
    polynomial = qubo.polynomial
    first, second = index_pairs(polynomial).T
    linear, pair = (first < 0) & (second >= 0), first >= 0
    diagonal = np.zeros(qubo.num_variables, dtype=np.int64)
    diagonal[second[linear]] = polynomial.coefficients[linear]
    return diagonal, (first[pair], second[pair], polynomial.coefficients[pair])


def _coordinates(qubo: QUBO) -> Triplets:
    """Turn a QUBO into its non-zero entries with ``row <= column``: the diagonal, then the rest."""
    diagonal, (row, column, couplings) = _parts(qubo)
    filled = np.flatnonzero(diagonal)
    return (
        np.concatenate([filled, row]),
        np.concatenate([filled, column]),
        np.concatenate([diagonal[filled], couplings]),
    )
