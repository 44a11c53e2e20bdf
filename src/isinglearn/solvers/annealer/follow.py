"""A walk on the parameters in which everything else follows: the compound move that networks need.

Single flips of a compiled QUBO freeze: to change one weight, every bit that depends on it (activations,
slacks with their carries, auxiliaries) must flip as well, through states that cost penalties. Here a
proposal changes one parameter and recomputes, row by row, only what depends on it. Each state is a
consistent one, so its energy in the QCBO, the HUBO and the QUBO is the same: the true loss.

It knows nothing of networks: a QCBO's definitions say what follows from what.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO
from isinglearn.problem.rows import PolynomialRows
from isinglearn.solvers.annealer.models import Indices

# What a row is for: a definition's rules, then the shapes of the objective.
RULES = ("value", "sign", "step", "divide", "positive")
SHAPES = ("linear", "square", "pairs")


@dataclass(frozen=True, eq=False)
class Program:
    """A QCBO as rows in the order in which they must be recomputed.

    Attributes
    ----------
    kinds, targets, factors, levels, constants
        By row: its kind (an index into ``RULES + SHAPES``), the variable it defines (-1: none), divisor or
        weight, the definition it belongs to, and its constant term.
    pointers, rows, coefficients, partners
        By variable: in which rows it occurs, with which coefficient and other variable (-1: none).
    lo, hi, steps
        Ranges of all variables, and the step between a parameter's values.
    parameters
        The variables that no definition gives.
    """

    kinds: NDArray[np.int8]
    targets: NDArray[np.int32]
    factors: IntArray
    levels: NDArray[np.int32]
    constants: IntArray
    pointers: Indices
    rows: Indices
    coefficients: IntArray
    partners: NDArray[np.int32]
    lo: IntArray
    hi: IntArray
    steps: IntArray
    parameters: Indices

    @classmethod
    def of(cls, qcbo: QCBO) -> Program:
        """Turn a QCBO into its program."""
        parts: list[tuple[PolynomialRows, int, IntArray, IntArray, int]] = []
        for level, given in enumerate(qcbo.definitions):
            kind = RULES.index(given.rule)
            ones = np.ones(given.rows.num_rows, dtype=np.int64)
            divisor = ones if given.divisor is None else given.divisor
            parts.append((given.rows, kind, given.target, divisor, level))
        for energy in qcbo.objective:
            kind = len(RULES) + SHAPES.index(energy.shape)
            none = np.full(energy.rows.num_rows, -1)
            parts.append((energy.rows, kind, none, energy.weights, len(qcbo.definitions)))
        sizes = [rows.num_rows for rows, *_ in parts]
        starts = np.cumsum([0, *sizes])
        row = np.concatenate(
            [rows.rows + at for (rows, *_), at in zip(parts, starts[:-1], strict=True)]
        )
        term = np.concatenate([rows.padded(2) for rows, *_ in parts]).astype(np.int64)
        value = np.concatenate([rows.coefficients for rows, *_ in parts])
        constants = np.zeros(starts[-1], dtype=np.int64)
        alone = (term < 0).all(axis=1)
        np.add.at(constants, row[alone], value[alone])
        table = qcbo.variables
        defined = np.zeros(len(table), dtype=bool)
        for given in qcbo.definitions:
            defined[given.target] = True
        return cls(
            np.repeat([kind for _, kind, *_ in parts], sizes).astype(np.int8),
            np.concatenate([targets for _, _, targets, *_ in parts]).astype(np.int32),
            np.concatenate([factors for *_, factors, _ in parts]).astype(np.int64),
            np.repeat([level for *_, level in parts], sizes).astype(np.int32),
            constants,
            *_occurrences(row, term, value, len(table)),
            table.lo.astype(np.int64),
            table.hi.astype(np.int64),
            np.repeat(
                [2 if block.encoding == "spin" else 1 for block in table.blocks],
                [len(block) for block in table.blocks],
            ).astype(np.int64),
            np.flatnonzero(~defined).astype(np.uint32),
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All arrays, in the order in which the kernels take them."""
        return tuple(getattr(self, field.name) for field in fields(self))

    def random_parameters(self, random: NDArray[np.uint64]) -> IntArray:
        """Turn random numbers (reads, parameters) into values of the parameters."""
        lo, hi, step = (a[self.parameters] for a in (self.lo, self.hi, self.steps))
        choices = ((hi - lo) // step + 1).astype(np.uint64)
        return lo + step * (random % choices).astype(np.int64)


def _occurrences(
    row: IntArray, term: IntArray, value: IntArray, size: int
) -> tuple[Indices, Indices, IntArray, NDArray[np.int32]]:
    """Turn terms into lists by variable: pointers, rows, coefficients, partners."""
    first, second = term.min(axis=1), term.max(axis=1)
    single = (first < 0) & (second >= 0)
    double = first >= 0
    # The square of a variable occurs once, with itself as partner.
    mixed = double & (first != second)
    variable = np.concatenate([second[single], first[double], second[mixed]])
    partner = np.concatenate([first[single], second[double], first[mixed]])
    rows = np.concatenate([row[single], row[double], row[mixed]])
    coefficients = np.concatenate([value[single], value[double], value[mixed]])
    order = np.lexsort([rows, variable])
    pointers = np.searchsorted(variable[order], np.arange(size + 1))
    return (
        pointers.astype(np.uint32),
        rows[order].astype(np.uint32),
        coefficients[order].astype(np.int64),
        np.maximum(partner[order], -1).astype(np.int32),
    )
