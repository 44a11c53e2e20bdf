"""An independent recheck of an answer: nothing here trusts the polynomial that was optimised."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.decode import decode_vectors
from isinglearn.errors import SolverError
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO


@dataclass(frozen=True)
class Verdict:
    """What an answer claims and what is true.

    Attributes
    ----------
    violations
        Names of the penalties and products that the bits break.
    decodes
        Whether the bits decode to the parameters given.
    claimed_energy, recomputed_energy
        As reported by the solver, and as ``x Q x + offset`` summed anew, entry by entry.
    loss_from_bits
        Objective part of the energy over the scale.
    loss_from_forward
        Mean squared error of the decoded network, in exact fractions.
    """

    violations: tuple[str, ...]
    decodes: bool
    claimed_energy: int | None
    recomputed_energy: int | None
    loss_from_bits: Fraction | None
    loss_from_forward: Fraction

    @property
    def consistent(self) -> bool:
        """Whether the bits are a network's bits and every figure agrees."""
        return (
            not self.violations
            and self.decodes
            and self.claimed_energy in (None, self.recomputed_energy)
            and self.loss_from_bits in (None, self.loss_from_forward)
        )

    def __str__(self) -> str:
        state = "consistent" if self.consistent else "inconsistent (the network is repaired)"
        text = f"{state}: loss {float(self.loss_from_forward):.6g}"
        if self.violations:
            text += f", {len(self.violations)} violations, first {self.violations[0]}"
        return text


def verify(
    problem: Problem,
    parameters: Parameters,
    bits: ArrayLike | None = None,
    claimed_energy: int | None = None,
) -> Verdict:
    """Turn a network, and the QUBO bits it came from if any, into a verdict."""
    true = forward_loss(problem, parameters)
    if bits is None:
        return Verdict((), True, None, None, None, true)
    assignment = np.asarray(bits, dtype=np.int64).ravel()
    qubo = problem.qubo
    if len(assignment) != qubo.num_variables or not np.isin(assignment, (0, 1)).all():
        raise SolverError(
            "these are no bits of this QUBO",
            where="verify(bits)",
            rule=f"{qubo.num_variables} values, each 0 or 1",
            received=f"{len(assignment)} values",
            remedy="pass one row of run.result.bits",
        )
    decoded = problem.parameters(decode_vectors(problem, qubo, assignment)[0])
    same = all(np.array_equal(decoded[name], parameters[name]) for name in decoded)
    objective = sum(int((part.values(assignment) @ part.weights)[0]) for part in qubo.objective)
    return Verdict(
        tuple(qubo.violations(assignment)),
        same,
        claimed_energy,
        _energy(qubo, assignment),
        Fraction(objective, qubo.scale),
        true,
    )


def _energy(qubo: QUBO, bits: IntArray) -> int:
    """The energy from the exported matrix, in Python integers."""
    matrix = qubo.to_matrix().tocoo()
    both = bits[matrix.coords[0]] * bits[matrix.coords[1]] == 1
    return sum(matrix.data[both].tolist()) + qubo.offset


def forward_loss(problem: Problem, parameters: Parameters) -> Fraction:
    """Mean squared error sample by sample in fractions, from the parameters' real values."""
    data = problem.data
    outputs = problem.network.forward(parameters, data.X)
    scale = problem.network.output_scale
    total = Fraction(0)
    for row, label, weight in zip(outputs, data.y, data.weights, strict=True):
        for value, aim in zip(row, label, strict=True):
            difference = Fraction(int(value), scale) - Fraction(int(aim), data.label_scale)
            total += int(weight) * difference * difference
    return total / int(data.weights.sum())
