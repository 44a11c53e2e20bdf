"""Any solver for the small QUBOs of a decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isinglearn.errors import OptionError, SolverError
from isinglearn.problem.coding import BitCode
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO, Energy, Products
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import VariableTable, bit_block
from isinglearn.solvers.base import SOLVERS, Form
from isinglearn.solvers.session import Session
from isinglearn.training.quadratic import BlockSolver, DenseAnnealer, Matrix, Plain, Sampled

# Coefficients of blocks are rounded to this many steps of the largest one.
_STEPS = 1 << 20


def block_solver(given: Any) -> BlockSolver:
    """Turn a solver's name, a dimod sampler or a function into a solver of blocks."""
    if isinstance(given, str):
        if given in ("auto", "annealer"):
            return DenseAnnealer()
        usable = [name for name, s in SOLVERS.items() if Form.QUBO in s.accepts]
        if given not in usable:
            raise OptionError(
                "this solver takes no QUBO",
                where="solver",
                rule="'auto', a dimod sampler, a function of a matrix, or one of "
                + ", ".join(map(repr, usable)),
                received=repr(given),
                remedy="strategy='direct' takes all solvers",
            )
        return Registered(given)
    if hasattr(given, "sample"):
        return Sampled(given)
    if callable(given):
        return Plain(given)
    raise OptionError(
        "this is no solver",
        where="solver",
        rule="a name, a dimod sampler, or a function that turns a matrix into bits",
        received=repr(given),
        remedy="leave it out for our annealer",
    )


@dataclass(frozen=True)
class Registered:
    """One of our solvers, by name, as a solver of blocks."""

    name: str

    def __call__(self, matrix: Matrix, seed: int) -> IntArray:
        """Turn a matrix into the bits of least energy among the answers."""
        qubo = as_qubo(matrix)
        solver = SOLVERS[self.name]()
        answer = solver.solve(qubo, solver.read_options({}), Session(1, seed))
        if not len(answer.rows):
            raise SolverError(
                "a solver found nothing for a block",
                where=f"solver={self.name!r}",
                rule="at least one assignment",
                received=answer.note or "none",
                remedy="use another solver, or smaller blocks by max_spins",
            )
        return np.asarray(answer.rows[int(qubo.energy(answer.rows).argmin())])


def as_qubo(matrix: Matrix) -> QUBO:
    """Turn a symmetric matrix ``Q`` into the QUBO ``x' Q x``, its coefficients rounded to whole numbers."""
    count = len(matrix)
    largest = float(np.abs(matrix).max()) or 1.0
    left, right = np.triu_indices(count)
    whole = np.rint(matrix * (_STEPS / largest)).astype(np.int64)
    values = whole[left, right] * np.where(left == right, 1, 2)
    bits = VariableTable([bit_block("", "x", "move", ("number",), np.arange(count)[:, None])])
    terms = np.stack([np.where(left == right, -1, left), right], axis=1)
    rows = PolynomialRows.of(1, np.zeros(len(values)), terms, values, binary=True)
    none, ones = np.zeros(0, dtype=np.int64), np.ones(1, dtype=np.int64)
    energy = Energy(bits.blocks[0].take(np.zeros(1, dtype=np.int64)), rows, "linear", ones)
    every = np.ones(count, dtype=bool)
    code = BitCode(bits, PolynomialRows.variables(np.arange(count)), (), count, every)
    products = Products(none, none, none, none, np.zeros(0, dtype=np.uint8))
    return QUBO(bits, (energy,), (), code, 1, products)
