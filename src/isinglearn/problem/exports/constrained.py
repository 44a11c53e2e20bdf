"""QCBO to a dimod constrained model and to an LP file, both over the same big-M rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.exports.checks import (
    FLOAT_LIMIT,
    check_exact,
    index_pairs,
    refused,
    unique_names,
)
from isinglearn.problem.exports.files import replacing, write_lines
from isinglearn.problem.rows import PolynomialRows, multiply_rows, stack_rows

if TYPE_CHECKING:
    import dimod

    from isinglearn.problem.forms import QCBO, Constraint, Energy
    from isinglearn.problem.variables import VariableTable

Vartype = Literal["SPIN", "BINARY", "INTEGER"]
Sense = Literal["==", ">="]

# Terms on one line of an LP file; readers limit its length.
_TERMS_PER_LINE = 8


def qcbo_to_cqm(qcbo: QCBO) -> dimod.ConstrainedQuadraticModel:
    """Turn a QCBO into a dimod constrained model over the same spins, bits and integers.

    A sign constraint becomes two big-M rows, ``.../on`` and ``.../off``; every other constraint
    keeps its name. The objective is ``scale * loss``.
    """
    import dimod

    table = qcbo.variables
    names = unique_names(table)
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
    with replacing(path) as file:
        write_lines(file, _lp_lines(qcbo))


def _lp_lines(qcbo: QCBO) -> Iterator[str]:
    table = qcbo.variables
    vartypes = _vartypes(table)
    spin = np.array([vartype == "SPIN" for vartype in vartypes], dtype=bool)
    relations = [
        (labels, spins_as_bits(rows, spin), sense) for labels, rows, sense in _relations(qcbo)
    ]
    yield rf"\ minimise {qcbo.scale} * loss"
    for index, (name, vartype) in enumerate(zip(unique_names(table), vartypes, strict=True)):
        yield rf"\ 2 x{index} - 1 = {name}" if vartype == "SPIN" else rf"\ x{index} = {name}"
    every_label = (label for labels, _, _ in relations for label in labels)
    yield from (rf"\ c{number} = {label}" for number, label in enumerate(every_label))
    yield "Minimize"
    objective = spins_as_bits(_objective(qcbo), spin)
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
    check_exact(rows.coefficients, FLOAT_LIMIT // factor, "write_lp")
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
    return simplified(together, qcbo.variables)


def _shaped(part: Energy) -> PolynomialRows:
    """Turn an energy's rows into what they contribute, over integers where ``x^2`` is not ``x``."""
    if part.shape == "linear":
        return part.rows
    if part.shape != "square":
        raise refused("objective", "linear or squared rows", f"shape {part.shape!r}")
    every = np.arange(part.rows.num_rows)
    return multiply_rows(part.rows, every, part.rows, every, every, part.rows.num_rows)


def _relations(qcbo: QCBO) -> Iterator[tuple[list[str], PolynomialRows, Sense]]:
    """Turn constraints into labelled families of quadratic rows, ``row == 0`` or ``row >= 0``."""
    relations: list[tuple[list[str], PolynomialRows, Sense]] = []
    for constraint in qcbo.constraints:
        labels = [constraint.positions.name(i) for i in range(constraint.rows.num_rows)]
        for ending, rows, sense in as_relations(constraint, qcbo.variables):
            relations.append(([label + ending for label in labels], rows, sense))
    unique_names(label for labels, _, _ in relations for label in labels)
    yield from relations


def as_relations(
    constraint: Constraint, table: VariableTable
) -> list[tuple[str, PolynomialRows, Sense]]:
    """Turn constraints of one kind into ``row == 0`` or ``row >= 0``, each with an ending of its name."""
    rows, target = constraint.rows, constraint.target
    families: list[tuple[str, PolynomialRows, Sense]]
    if constraint.switches:
        on, off = _big_m(constraint, table)
        families = [("/on", on, ">="), ("/off", off, ">=")]
    elif constraint.kind == "at_least":
        families = [("", rows, ">=")]
    else:
        tied = rows if target is None else rows - PolynomialRows.variables(target)
        families = [("", tied, "==")]
    return [(ending, simplified(rows, table), sense) for ending, rows, sense in families]


def _big_m(constraint: Constraint, table: VariableTable) -> tuple[PolynomialRows, PolynomialRows]:
    """Turn a switch into two rows that must be ``>= 0``.

    With ``lo <= row <= hi`` and a step ``a`` these are ``row >= lo (1 - a)`` and ``row <= -1 + (hi + 1) a``.
    For a sign ``(a + 1) / 2`` takes the place of ``a``; both are doubled then, so that all stays whole:
    ``2 row + lo a - lo`` and ``(hi + 1) a + hi - 1 - 2 row``.
    """
    assert constraint.target is not None
    lo, hi = constraint.rows.bounds(table.lo, table.hi)
    if constraint.kind == "step":
        steps = PolynomialRows.variables(constraint.target)
        on = constraint.rows + steps.scaled(lo) - PolynomialRows.constants(lo)
        below = PolynomialRows.constants(np.ones_like(hi))
        return on, steps.scaled(hi + 1) - below - constraint.rows
    doubled = constraint.rows.scaled(2)
    spins = PolynomialRows.variables(constraint.target)
    on = doubled + spins.scaled(lo) - PolynomialRows.constants(lo)
    off = spins.scaled(hi + 1) + PolynomialRows.constants(hi - 1) - doubled
    return on, off


def simplified(rows: PolynomialRows, table: VariableTable) -> PolynomialRows:
    """Turn rows into the same with ``s^2 = 1`` for spins and ``x^2 = x`` for bits."""
    pairs = index_pairs(rows)
    kinds = np.array([*_vartypes(table), ""])
    squared = (pairs[:, 0] == pairs[:, 1]) & (pairs[:, 1] >= 0)
    of_bit = squared & (kinds[pairs[:, 1]] == "BINARY")
    of_spin = squared & (kinds[pairs[:, 1]] == "SPIN")
    pairs[of_bit | of_spin, 0] = -1
    pairs[of_spin, 1] = -1
    result = PolynomialRows.of(rows.num_rows, rows.rows, pairs, rows.coefficients)
    check_exact(result.coefficients, FLOAT_LIMIT, "export")
    return result


def spins_as_bits(rows: PolynomialRows, spin: NDArray[np.bool_]) -> PolynomialRows:
    """Turn quadratic rows into rows over bits ``x`` in place of spins ``s = 2 x - 1``."""
    # Every factor is slope * x + shift; index -1, no variable, finds the appended factor 1.
    slope = np.append(np.where(spin, 2, 1), 1)
    shift = np.append(np.where(spin, -1, 0), 0)
    first, second = index_pairs(rows).T
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
    pairs, values = index_pairs(rows).tolist(), rows.coefficients.tolist()
    for start, stop in pairwise(rows.pointers.tolist()):
        yield [
            (*(names[index] for index in pairs[at] if index >= 0), values[at])
            for at in range(start, stop)
        ]
