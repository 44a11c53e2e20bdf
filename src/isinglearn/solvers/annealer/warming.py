"""Kernels compiled before the clock starts: one read of one sweep on the smallest model of each kind.

Numba compiles a kernel when it is first called with arrays of certain types, for seconds, or loads it from
its cache; both are done once per process and kind.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.annealer.follow import Program
from isinglearn.solvers.annealer.models import Dense, Higher, Kind, Model, Sparse
from isinglearn.solvers.annealer.search import Effort, flip_spins, follow_parameters
from isinglearn.solvers.session import Session


@cache
def prepare_flips(kind: Kind, *, tempering: bool) -> None:
    """Compile or load what single flips of such a model take."""
    effort = Effort(1, 1, 1, replicas=2 if tempering else 0)
    flip_spins(_smallest(kind), effort, Session(1), None)


@cache
def prepare_walk() -> None:
    """Compile or load the walk on parameters."""
    from isinglearn.solvers.tiny import tiny_problem

    follow_parameters(Program.of(tiny_problem().qcbo), Effort(1, 1, 1), Session(1), None)


def _smallest(kind: Kind) -> Model:
    """Two bits that are paid for unless they are equal."""
    linear = np.array([1, 1], dtype=kind.integers)
    if kind.model is Dense:
        return Dense(linear, np.array([[0, -2], [-2, 0]], dtype=kind.integers), 0)
    if kind.model is Sparse:
        values = np.array([-2, -2], dtype=kind.integers)
        return Sparse(linear, _indices(0, 1, 2), _indices(1, 0), values, 0)
    coefficients: IntArray = np.array([1, 1, -2], dtype=np.int64)
    members, terms = _indices(0, 1, 0, 1), _indices(0, 2, 1, 2)
    return Higher(_indices(0, 1, 2, 4), members, coefficients, _indices(0, 2, 4), terms, 0)


def _indices(*values: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.array(values, dtype=np.uint32)
