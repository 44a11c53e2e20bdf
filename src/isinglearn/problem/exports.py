"""Forms to other formats: dimod models, sparse matrices, Ising arrays; LP, QUBO and npz files.

Integers stay exact: what a 64-bit float cannot hold is refused, never rounded. The same form always
gives the same bytes, and a file takes its place only once it is complete.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import IsingLearnError, OverflowRefused, check_choice
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.polynomial import (
    Polynomial,
    PolynomialRows,
    check_overflow,
    multiply_rows,
    stack_rows,
)

if TYPE_CHECKING:
    import dimod
    import scipy.sparse
    from dimod.higherorder.polynomial import BinaryPolynomial

    from isinglearn.problem.forms import HUBO, QCBO, QUBO, Constraint, Energy
    from isinglearn.problem.variables import VariableTable

Vartype = Literal["SPIN", "BINARY", "INTEGER"]
Sense = Literal["==", ">="]
Triplets = tuple[IntArray, IntArray, IntArray]

# Integers below this are exact in a 64-bit float.
_FLOAT_LIMIT = 2**53
# Quarters of integers below this are exact, with a bit to spare.
_ISING_LIMIT = 2**50
# Lines formatted by one call, and terms on one line of an LP file (readers limit its length).
_LINES_AT_ONCE = 1 << 16
_TERMS_PER_LINE = 8


# -- QUBO ------------------------------------------------------------------------------------------


def qubo_to_bqm(qubo: QUBO) -> dimod.BinaryQuadraticModel:
    """Turn a QUBO into a binary dimod model of the same energies, labelled by the names."""
    import dimod

    diagonal, (row, column, couplings) = _parts(qubo)
    for values in (diagonal, couplings, [qubo.offset]):
        _check_exact(values, _FLOAT_LIMIT, "to_bqm")
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        diagonal.astype(np.float64),
        (row, column, couplings.astype(np.float64)),
        float(qubo.offset),
        dimod.BINARY,
        variable_order=_unique(qubo.variables),
    )


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
        _check_exact(quarters, 4 * _ISING_LIMIT, "to_ising")
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
    """
    write = _WRITERS[check_choice(path.suffix, _WRITERS, f"file ending of {path.name!r}")]
    with _replacing(path) as file:
        write(qubo, file)


def _write_qbsolv(qubo: QUBO, file: BinaryIO) -> None:
    row, column, data = _coordinates(qubo)
    diagonals = int((row == column).sum())
    header = f"p qubo 0 {qubo.num_variables} {diagonals} {len(data) - diagonals}"
    _write_lines(file, [f"c offset {qubo.offset}", f"c scale {qubo.scale}", header])
    _write_triplets(file, row, column, data)


def _write_coo(qubo: QUBO, file: BinaryIO) -> None:
    # The reader knows only variables that occur, in order of appearance: all of them come first.
    every = np.arange(qubo.num_variables)
    diagonal, pairs = _parts(qubo)
    comments = ["# vartype=BINARY", f"# offset={qubo.offset}", f"# scale={qubo.scale}"]
    _write_lines(file, comments)
    _write_triplets(file, every, every, diagonal)
    _write_triplets(file, *pairs)


def _write_npz(qubo: QUBO, file: BinaryIO) -> None:
    row, column, data = _coordinates(qubo)
    np.savez_compressed(
        file,
        row=row,
        col=column,
        data=data,
        offset=np.int64(qubo.offset),
        scale=np.int64(qubo.scale),
        names=np.array(_unique(qubo.variables), dtype=np.str_),
    )


_WRITERS: dict[str, Callable[[QUBO, BinaryIO], None]] = {
    ".qubo": _write_qbsolv,
    ".coo": _write_coo,
    ".npz": _write_npz,
}


def _parts(qubo: QUBO) -> tuple[IntArray, Triplets]:
    """Turn a QUBO into its dense diagonal and its couplings ``(row, column, value)``, row first."""
    polynomial = qubo.polynomial
    first, second = _pairs(polynomial).T
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


# -- HUBO ------------------------------------------------------------------------------------------


def hubo_to_polynomial(hubo: HUBO) -> BinaryPolynomial:
    """Turn a HUBO into a binary dimod polynomial of the same energies, keyed by the names."""
    from dimod.higherorder.polynomial import BinaryPolynomial

    names = _unique(hubo.variables)
    _check_exact(hubo.polynomial.coefficients, _FLOAT_LIMIT, "to_polynomial")
    terms = {
        tuple(names[index] for index in term): value
        for term, value in hubo.polynomial.to_terms().items()
    }
    result: BinaryPolynomial = BinaryPolynomial(terms, "BINARY")
    return result


# -- QCBO ------------------------------------------------------------------------------------------


def qcbo_to_cqm(qcbo: QCBO) -> dimod.ConstrainedQuadraticModel:
    """Turn a QCBO into a dimod constrained model over the same spins, bits and integers.

    A sign constraint becomes two big-M rows, ``.../on`` and ``.../off``; every other constraint
    keeps its name. The objective is ``scale * loss``.
    """
    import dimod

    table = qcbo.variables
    names = _unique(table)
    model = dimod.ConstrainedQuadraticModel()
    for name, vartype, lo, hi in zip(
        names, _vartypes(table), table.lo.tolist(), table.hi.tolist(), strict=True
    ):
        if vartype == "INTEGER":
            model.add_variable(vartype, name, lower_bound=lo, upper_bound=hi)
        else:
            model.add_variable(vartype, name)
    (objective,) = _named_terms(_objective(qcbo), names)
    model.set_objective(objective)
    for labels, rows, sense in _relations(qcbo):
        sides = zip(labels, _named_terms(rows, names), rows.offsets.tolist(), strict=True)
        for label, terms, constant in sides:
            left = [term for term in terms if len(term) > 1]
            model.add_constraint_from_iterable(left, sense, rhs=-constant, label=label)
    return model


def write_lp(qcbo: QCBO, path: Path) -> None:
    """Turn a QCBO into an LP file that minimises ``scale * loss``.

    A spin is written as ``2 x - 1`` with a binary ``x``, a sign constraint as two big-M rows.
    Comments at the head say what each column and row is.
    """
    with _replacing(path) as file:
        _write_lines(file, _lp_lines(qcbo))


def _lp_lines(qcbo: QCBO) -> Iterator[str]:
    table = qcbo.variables
    vartypes = _vartypes(table)
    spin = np.array([vartype == "SPIN" for vartype in vartypes], dtype=bool)
    relations = [
        (labels, _spins_as_bits(rows, spin), sense) for labels, rows, sense in _relations(qcbo)
    ]
    yield rf"\ minimise {qcbo.scale} * loss"
    for index, (name, vartype) in enumerate(zip(_unique(table), vartypes, strict=True)):
        yield rf"\ 2 x{index} - 1 = {name}" if vartype == "SPIN" else rf"\ x{index} = {name}"
    every_label = (label for labels, _, _ in relations for label in labels)
    yield from (rf"\ c{number} = {label}" for number, label in enumerate(every_label))
    yield "Minimize"
    objective = _spins_as_bits(_objective(qcbo), spin)
    (terms,) = _lp_terms(objective, halved=True)
    # SCIP takes a constant only at the very end of the objective.
    constant = int(objective.offsets[0])
    yield from _wrapped("obj:", [*terms, *([f"{constant:+d}"] if constant else [])])
    yield "Subject To"
    number = 0
    for _, rows, sense in relations:
        symbol = "=" if sense == "==" else sense
        for terms, constant in zip(_lp_terms(rows), rows.offsets.tolist(), strict=True):
            yield from _wrapped(f"c{number}:", [*terms, f"{symbol} {-constant}"])
            number += 1
    general = [index for index, vartype in enumerate(vartypes) if vartype == "INTEGER"]
    binary = [index for index, vartype in enumerate(vartypes) if vartype != "INTEGER"]
    yield "Bounds"
    yield from (f" {table.lo[index]} <= x{index} <= {table.hi[index]}" for index in general)
    for section, members in (("General", general), ("Binary", binary)):
        if members:
            yield section
            yield from _wrapped("", [f"x{index}" for index in members])
    yield "End"


def _lp_terms(rows: PolynomialRows, *, halved: bool = False) -> Iterator[list[str]]:
    """Turn rows into LP terms, constants left out; ``halved`` writes ``[ 2 q ] / 2`` for ``q``."""
    factor, close = (2, "] / 2") if halved else (1, "]")
    _check_exact(rows.coefficients, _FLOAT_LIMIT // factor, "write_lp")
    columns = [f"x{index}" for index in range(int(rows.monomials.max(initial=-1)) + 1)]
    for row in _named_terms(rows, columns):
        linear = [f"{term[-1]:+d} {term[0]}" for term in row if len(term) == 2]
        square = [
            f"{factor * value:+d} {u} ^2" if u == v else f"{factor * value:+d} {u} * {v}"
            for u, v, value in (term for term in row if len(term) == 3)
        ]
        if square:
            yield [*linear, "+ [", *square, close]
        else:
            # A row without variables must still name one.
            yield linear or ["0 x0"]


def _wrapped(head: str, words: list[str]) -> Iterator[str]:
    for start in range(0, len(words), _TERMS_PER_LINE):
        part = " ".join(words[start : start + _TERMS_PER_LINE])
        yield f" {head} {part}" if start == 0 and head else f"  {part}"


def _vartypes(table: VariableTable) -> list[Vartype]:
    """Turn a table into what each variable is to other libraries."""
    kinds: list[Vartype] = []
    for block in table.blocks:
        bits = (block.lo == 0) & (block.hi == 1)
        if block.encoding == "spin":
            kinds += ["SPIN"] * len(block)
        else:
            kinds += ["BINARY" if bit else "INTEGER" for bit in bits.tolist()]
    return kinds


def _objective(qcbo: QCBO) -> PolynomialRows:
    """Turn the objective into one quadratic row over integers."""
    parts = [_shaped(part).scaled(part.weights) for part in qcbo.objective]
    terms = stack_rows(parts)
    together = PolynomialRows.of(
        1, np.zeros(len(terms.rows), np.int64), terms.monomials, terms.coefficients
    )
    return _simplified(together, qcbo.variables)


def _shaped(part: Energy) -> PolynomialRows:
    """Turn an energy's rows into what they contribute, over integers where ``x^2`` is not ``x``."""
    if part.shape == "linear":
        return part.rows
    if part.shape != "square":
        raise _refused("objective", "linear or squared rows", f"shape {part.shape!r}")
    every = np.arange(part.rows.num_rows)
    return multiply_rows(part.rows, every, part.rows, every, every, part.rows.num_rows)


def _relations(qcbo: QCBO) -> Iterator[tuple[list[str], PolynomialRows, Sense]]:
    """Turn constraints into labelled families of quadratic rows, ``row == 0`` or ``row >= 0``."""
    table = qcbo.variables
    relations: list[tuple[list[str], PolynomialRows, Sense]] = []
    for constraint in qcbo.constraints:
        labels = [constraint.positions.name(i) for i in range(constraint.rows.num_rows)]
        rows, target = constraint.rows, constraint.target
        if constraint.kind == "sign":
            on, off = _big_m(constraint, table)
            relations.append(([f"{label}/on" for label in labels], on, ">="))
            relations.append(([f"{label}/off" for label in labels], off, ">="))
        elif constraint.kind == "at_least":
            relations.append((labels, rows, ">="))
        else:
            tied = rows if target is None else rows - PolynomialRows.variables(target)
            relations.append((labels, tied, "=="))
    _unique(label for labels, _, _ in relations for label in labels)
    for labels, rows, sense in relations:
        yield labels, _simplified(rows, table), sense


def _big_m(constraint: Constraint, table: VariableTable) -> tuple[PolynomialRows, PolynomialRows]:
    """Turn ``a = sign(row)`` into two rows that must be ``>= 0``.

    With ``lo <= row <= hi`` and ``alpha = (a + 1) / 2`` these are ``row >= lo (1 - alpha)`` and
    ``row <= -1 + (hi + 1) alpha``, both doubled, so that all stays whole:
    ``2 row + lo a - lo`` and ``(hi + 1) a + hi - 1 - 2 row``.
    """
    assert constraint.target is not None
    lo, hi = constraint.rows.bounds(table.lo, table.hi)
    doubled = constraint.rows.scaled(2)
    spins = PolynomialRows.variables(constraint.target)
    on = doubled + spins.scaled(lo) - PolynomialRows.constants(lo)
    off = spins.scaled(hi + 1) + PolynomialRows.constants(hi - 1) - doubled
    return on, off


def _simplified(rows: PolynomialRows, table: VariableTable) -> PolynomialRows:
    """Turn rows into the same with ``s^2 = 1`` for spins and ``x^2 = x`` for bits."""
    pairs = _pairs(rows)
    kinds = np.array([*_vartypes(table), ""])
    squared = (pairs[:, 0] == pairs[:, 1]) & (pairs[:, 1] >= 0)
    of_bit = squared & (kinds[pairs[:, 1]] == "BINARY")
    of_spin = squared & (kinds[pairs[:, 1]] == "SPIN")
    pairs[of_bit | of_spin, 0] = -1
    pairs[of_spin, 1] = -1
    result = PolynomialRows.of(rows.num_rows, rows.rows, pairs, rows.coefficients)
    _check_exact(result.coefficients, _FLOAT_LIMIT, "export")
    return result


def _spins_as_bits(rows: PolynomialRows, spin: NDArray[np.bool_]) -> PolynomialRows:
    """Turn quadratic rows into rows over bits ``x`` in place of spins ``s = 2 x - 1``."""
    # Every factor is slope * x + shift; index -1, no variable, finds the appended factor 1.
    slope = np.append(np.where(spin, 2, 1), 1)
    shift = np.append(np.where(spin, -1, 0), 0)
    first, second = _pairs(rows).T
    none = np.full_like(first, -1)
    parts = [
        (first, second, slope[first] * slope[second]),
        (first, none, slope[first] * shift[second]),
        (none, second, shift[first] * slope[second]),
        (none, none, shift[first] * shift[second]),
    ]
    return PolynomialRows.of(
        rows.num_rows,
        np.tile(rows.rows, len(parts)),
        np.concatenate([np.stack([u, v], axis=1) for u, v, _ in parts]),
        np.concatenate([rows.coefficients * factor for *_, factor in parts]),
    )


def _named_terms(rows: PolynomialRows, names: list[str]) -> Iterator[list[tuple[Any, ...]]]:
    """Turn every row into tuples ``(value,)``, ``(name, value)`` and ``(name, name, value)``."""
    pairs, values = _pairs(rows).tolist(), rows.coefficients.tolist()
    for start, stop in pairwise(rows.pointers.tolist()):
        yield [
            (*(names[index] for index in pairs[at] if index >= 0), values[at])
            for at in range(start, stop)
        ]


# -- shared ----------------------------------------------------------------------------------------


def _pairs(terms: Polynomial | PolynomialRows) -> IntArray:
    """Turn terms of degree two or less into a fresh array of two index columns, -1 for none."""
    if terms.degree > 2:
        raise _refused("degree", "at most two variables in a term", f"degree {terms.degree}")
    rows = terms.as_rows() if isinstance(terms, Polynomial) else terms
    return rows.padded(2).astype(np.int64)


def _refused(where: str, rule: str, received: str) -> IsingLearnError:
    return IsingLearnError(
        "the form does not fit the format it is exported to",
        where=where,
        rule=rule,
        received=received,
        remedy="export another form of the problem",
    )


def _unique(names: Iterable[str]) -> list[str]:
    """Turn names into a list; two variables of one name would become one in the other library."""
    listed = list(names)
    if len(set(listed)) < len(listed):
        ((name, count),) = Counter(listed).most_common(1)
        raise _refused("names", "every name only once", f"{name!r} {count} times")
    return listed


def _check_exact(values: IntArray | list[int], limit: int, where: str) -> None:
    largest = max(abs(int(np.max(values, initial=0))), abs(int(np.min(values, initial=0))))
    if largest >= limit:
        raise OverflowRefused(
            "an integer is too large to be exact as a 64-bit float",
            where=where,
            rule=f"magnitudes below 2^{limit.bit_length() - 1}",
            received=largest,
            remedy="use smaller inputs or weights; to_matrix() and files of a QUBO stay exact",
        )


def _write_lines(file: BinaryIO, lines: Iterable[str]) -> None:
    file.writelines(f"{line}\n".encode() for line in lines)


def _write_triplets(file: BinaryIO, row: IntArray, column: IntArray, data: IntArray) -> None:
    """Write lines ``row column value``, many by one formatting call."""
    table = np.stack([row, column, data], axis=1)
    for start in range(0, len(table), _LINES_AT_ONCE):
        part = table[start : start + _LINES_AT_ONCE]
        file.write(("%d %d %d\n" * len(part) % tuple(part.ravel().tolist())).encode())


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a draft beside ``path`` that takes its place when complete, and vanishes on an error."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
