"""PlainQUBO: a QUBO from a file, as the whole numbers that solvers take."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import dimod
import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.exports.reading import read_bqm
from isinglearn.problem.forms import QUBO
from isinglearn.problem.plain import qubo_of_model

# Coefficients that are multiples of one over a power of two up to this one become whole numbers.
_FINEST = 20


@dataclass(frozen=True, eq=False)
class PlainQUBO:
    """A model from a file with the QUBO of whole numbers that stands for it.

    Attributes
    ----------
    model
        The dimod model as it was read, over bits or spins.
    qubo, unit, offset
        The model's energy is ``unit * energy of the QUBO + offset``, but for rounding.
    below
        How far a model's energy can lie below that.
    exact
        Whether the QUBO is the model, nothing rounded.
    """

    model: Any
    qubo: QUBO
    unit: float
    offset: float
    below: float
    exact: bool

    @classmethod
    def read(cls, path: Path) -> PlainQUBO:
        """Turn a file (.qubo, .coo, .npz, .json) into a QUBO."""
        model = read_bqm(path)
        binary = model.change_vartype(dimod.BINARY, inplace=False)
        values = _coefficients(binary, path)
        powers = (2.0**power for power in range(_FINEST + 1))
        factor = next((one for one in powers if _whole(values * one)), 1.0)
        binary.scale(factor)
        qubo, unit = qubo_of_model(binary)
        unit = unit / factor
        rounded = values - unit * np.rint(values / unit)
        below = -float(np.minimum(rounded, 0).sum())
        offset = float(binary.offset) / factor
        return cls(model, qubo, unit, offset, below, exact=not rounded.any())

    def energies(self, rows: IntArray) -> NDArray[np.float64]:
        """Turn bits, one row per read, into the model's own energies."""
        values = rows if self.model.vartype.name == "BINARY" else 2 * rows - 1
        return np.asarray(self.model.energies((values, list(self.model.variables))))

    def energy(self, whole: int | Fraction) -> float:
        """Turn an energy of the QUBO into the model's, but for rounding."""
        return self.unit * float(whole) + self.offset

    def sample(self, row: IntArray) -> dict[str, int]:
        """Turn bits into values by name, as the model has them: 0 and 1, or -1 and +1."""
        values = row if self.model.vartype.name == "BINARY" else 2 * row - 1
        return dict(zip(map(str, self.model.variables), values.tolist(), strict=True))


def _coefficients(model: Any, path: Path) -> NDArray[np.float64]:
    linear, (_, _, quadratic), offset = model.to_numpy_vectors()
    values = np.concatenate([linear, quadratic])
    if not len(linear) or not np.isfinite([*values, offset]).all():
        raise DataError(
            "this is no QUBO to solve",
            where=str(path),
            rule="at least one spin, and finite coefficients",
            received="no spins" if not len(linear) else "others",
            remedy="check how the file was written",
        )
    return np.asarray(values, dtype=np.float64)


def _whole(values: NDArray[np.float64]) -> bool:
    return bool(np.array_equal(values, np.rint(values)))
