"""PlainQUBO: a QUBO from a file, as the whole numbers that solvers take."""

from __future__ import annotations

from collections import Counter
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
# Of coefficients that are wrong.
_MOST_NAMED = 5


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
        _check(model, path)
        binary = model.change_vartype(dimod.BINARY, inplace=False)
        vectors = binary.to_numpy_vectors()
        values = np.concatenate([vectors[0], vectors[1][2]])
        powers = (2.0**power for power in range(_FINEST + 1))
        factor = next((one for one in powers if _whole(values * one)), 1.0)
        binary.scale(factor)
        qubo, unit = qubo_of_model(binary)
        unit = unit / factor
        rounded = values - unit * np.rint(values / unit)
        below = -float(np.minimum(rounded, 0).sum())
        offset = float(binary.offset) / factor
        return cls(model, qubo, unit, offset, below, exact=not rounded.any())

    @property
    def note(self) -> str:
        """What the user has to know of the rounding; nothing where there was none."""
        return "" if self.exact else "solved with coefficients rounded to 2^20 steps of the largest"

    def energies(self, rows: IntArray) -> NDArray[np.float64]:
        """Turn bits, one row per read, into the model's own energies."""
        values = rows if self.model.vartype.name == "BINARY" else 2 * rows - 1
        return np.asarray(self.model.energies((values, list(self.model.variables))))

    def energy(self, whole: float | Fraction) -> float:
        """Turn an energy of the QUBO into the model's, but for rounding."""
        return self.unit * float(whole) + self.offset

    def sample(self, row: IntArray) -> dict[str, int]:
        """Turn bits into values by name, as the model has them: 0 and 1, or -1 and +1."""
        values = row if self.model.vartype.name == "BINARY" else 2 * row - 1
        return dict(zip(map(str, self.model.variables), values.tolist(), strict=True))


def _check(model: Any, path: Path) -> None:
    """Turn what cannot be solved, or not be told apart in the answer, into an error."""
    if not model.num_variables:
        raise DataError(
            "this is no QUBO to solve",
            where=str(path),
            rule="at least one spin",
            received="no spins",
            remedy="check how the file was written",
        )
    linear, (_, _, quadratic), offset = model.to_numpy_vectors()
    if not np.isfinite(np.concatenate([linear, quadratic, [offset]])).all():
        raise DataError(
            "this is no QUBO to solve",
            where=str(path),
            rule="finite coefficients",
            received=_not_finite(model),
            remedy="check how the file was written",
        )
    ((text, count),) = Counter(map(str, model.variables)).most_common(1)
    if count > 1:
        raise DataError(
            "two variables have the same name as text, which is how they are told apart in an answer",
            where=str(path),
            rule="names that differ as texts",
            received=" and ".join(repr(name) for name in model.variables if str(name) == text),
            remedy="rename one of them",
        )


def _not_finite(model: Any) -> str:
    numbers = {f"{name!r}": value for name, value in model.iter_linear()}
    numbers |= {f"the pair {left!r}, {right!r}": v for left, right, v in model.iter_quadratic()}
    numbers["the offset"] = model.offset
    wrong = [f"{value} of {what}" for what, value in numbers.items() if not np.isfinite(value)]
    return ", ".join(wrong[:_MOST_NAMED]) + (" and others" if len(wrong) > _MOST_NAMED else "")


def _whole(values: NDArray[np.float64]) -> bool:
    return bool(np.array_equal(values, np.rint(values)))
