"""Any solver for the small QUBOs of a decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.problem.plain import qubo_of_matrix
from isinglearn.solvers.base import Solver
from isinglearn.solvers.session import LONGEST
from isinglearn.training.decomposed.quadratic import BlockSolver, DenseAnnealer, Matrix, Plain
from isinglearn.training.machine import Machine


def block_solver(given: Any) -> BlockSolver:
    """Turn a solver's name, a solver, a dimod sampler or a function into a solver of blocks."""
    if isinstance(given, str) and given in ("auto", "annealer"):
        return DenseAnnealer()
    if callable(given) and not hasattr(given, "sample") and not isinstance(given, Solver):
        return Plain(given)
    return OnMachine(Machine.of(given))


@dataclass(frozen=True)
class OnMachine:
    """Any machine as a solver of blocks, with its own defaults."""

    machine: Machine

    def __call__(self, matrix: Matrix, seed: int) -> IntArray:
        """Turn a matrix into the bits of least energy among the machine's reads."""
        qubo, _ = qubo_of_matrix(matrix)
        rows = self.machine.minimise(qubo, seed, LONGEST)
        return np.asarray(rows[int(qubo.energy(rows).argmin())])
