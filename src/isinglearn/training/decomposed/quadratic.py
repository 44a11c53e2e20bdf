"""Small dense QUBOs: what every block of a decomposition is turned into, and ways to solve them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import SolverError, check_count
from isinglearn.problem.encodings import IntArray

Matrix = NDArray[np.float64]
# Turns a symmetric matrix Q and a seed into bits that make ``x' Q x`` small; the diagonal is the linear part.
BlockSolver = Callable[[Matrix, int], ArrayLike]

# Fields of the integer kernel stay below this, with room to add two of them in 32 bits.
_LARGEST = 2.0**29
_FROZEN, _FROZEN_SWEEPS = 1e-6, 3
_NO_TARGET = -(2**62)


@dataclass(frozen=True)
class DenseAnnealer:
    """Our annealer's kernel on a dense matrix, from all bits 0: what leaves a network as it is.

    Attributes
    ----------
    sweeps, reads
        Proposals per bit in a read, and independent reads.
    hot, cold
        Ends of the temperatures, in units of the mean magnitude of the linear part; a few sweeps in which
        nothing is taken that costs end it.
    """

    sweeps: int = 20
    reads: int = 1
    hot: float = 0.3
    cold: float = 0.003

    def __post_init__(self) -> None:
        check_count(self.sweeps, "sweeps")
        check_count(self.reads, "reads")

    def __call__(self, matrix: Matrix, seed: int) -> IntArray:
        """Turn a matrix into the best bits of all reads."""
        from isinglearn.solvers.annealer import kernels

        linear = matrix.diagonal()
        pairs = 2.0 * matrix
        factor = _LARGEST / (float(np.abs(pairs).sum(axis=1).max()) or 1.0)
        pairs *= factor
        np.fill_diagonal(pairs, 0.0)
        model = np.rint(linear * factor).astype(np.int32), np.rint(pairs).astype(np.int32)
        signs = np.ones((self.reads, len(matrix)), np.int32)
        energies = np.zeros(self.reads, np.int64)
        best, lowest = np.ones_like(signs), np.zeros_like(energies)
        fields, zeros = np.zeros_like(signs), np.zeros((self.reads, 1), np.int32)
        unit = np.float32(np.abs(linear).mean() * factor)
        temperatures = _temperatures(self.hot, self.cold, self.sweeps) * unit
        kernels.begin(model, signs, fields, zeros, energies, best, lowest)
        kernels.anneal(
            model,
            signs,
            fields,
            zeros,
            energies,
            best,
            lowest,
            _states(seed, self.reads),
            np.maximum(temperatures, np.float32(_FROZEN)),
            _NO_TARGET,
            kernels.LOGARITHMS,
        )
        return np.asarray((1 - best[lowest.argmin()]) // 2, dtype=np.int64)


def _states(seed: int, reads: int) -> NDArray[np.uint64]:
    """Turn a seed into states of the kernel's generator, none of them 0, spread by the golden ratio."""
    # A sequence of seeds as elsewhere would take longer than the whole read.
    numbers = np.arange(1, reads + 1, dtype=np.uint64) + np.uint64(seed) * np.uint64(reads)
    return np.asarray(numbers * np.uint64(0x9E3779B97F4A7C15), dtype=np.uint64)


@lru_cache(maxsize=16)
def _temperatures(hot: float, cold: float, sweeps: int) -> NDArray[np.float32]:
    cooling = np.geomspace(hot, cold, sweeps)
    return np.concatenate([cooling, np.zeros(_FROZEN_SWEEPS)]).astype(np.float32)


@dataclass(frozen=True)
class Plain:
    """A function of a matrix alone as a solver of blocks."""

    function: Callable[[Matrix], ArrayLike]

    def __call__(self, matrix: Matrix, seed: int) -> ArrayLike:
        """Turn a matrix into bits."""
        return self.function(matrix)


def minimise(matrix: Matrix, solve: BlockSolver, seed: int) -> IntArray:
    """Turn a matrix into a solver's bits, or all 0 where these are better."""
    answer = np.asarray(solve(matrix, seed))
    if answer.shape != (len(matrix),):
        raise _unusable(f"an array of shape {answer.shape}")
    if not ((answer == 0) | (answer == 1)).all():
        raise _unusable(f"other values, such as {answer[(answer != 0) & (answer != 1)][0]}")
    bits = answer.astype(np.int64)
    return bits if bits @ matrix @ bits < 0 else np.zeros_like(bits)


def _unusable(received: str) -> SolverError:
    return SolverError(
        "a solver returned something unusable for a block",
        where="solver",
        rule="as many bits, 0 or 1, as the matrix has rows",
        received=received,
        remedy="check the function that was passed, or leave it out",
    )
