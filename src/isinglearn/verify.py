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
        Parameters outside their domains, predictions outside the box, and the names of the penalties
        and products that the bits break.
    decodes
        Whether the bits decode to the parameters given.
    claimed_energy, recomputed_energy
        As reported by the solver, and summed anew row by row.
    loss_from_bits
        Objective part of the energy over the scale.
    loss_from_forward
        Loss of the decoded network, in exact fractions.
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
    faults = _faults(problem, parameters)
    if bits is None:
        return Verdict(tuple(faults), True, None, None, None, true)
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
        (*faults, *qubo.violations(assignment)),
        same,
        claimed_energy,
        _energy(qubo, assignment),
        Fraction(objective, qubo.scale),
        true,
    )


def _energy(qubo: QUBO, bits: IntArray) -> int:
    """The energy row by row: objective, every penalty, every product; never the merged polynomial."""
    parts = (*qubo.objective, *qubo.penalties)
    total = sum(int((part.values(bits) @ part.weights)[0]) for part in parts)
    products = qubo.products
    u, v, w = bits[products.left], bits[products.right], bits[products.auxiliary]
    return total + int((products.weights * (3 * w + u * v - 2 * u * w - 2 * v * w)).sum())


def _faults(problem: Problem, parameters: Parameters) -> list[str]:
    """Parameters outside their domains, and predictions outside the form's box."""
    faults = []
    for name, spec in problem.network.parameters.items():
        values = np.asarray(parameters[name])
        frozen_kept = (values[~spec.free] == spec.frozen[~spec.free]).all()
        if not spec.domain.contains(values[spec.free]) or not frozen_kept:
            faults.append(f"{name} outside its domain")
    if problem.box is not None:
        outputs = problem.network.forward(parameters, problem.data.X)
        outside = ((outputs < problem.box[0]) | (outputs > problem.box[1])).any(axis=1)
        faults += [f"prediction of sample {i} outside the box" for i in np.flatnonzero(outside)]
    return faults


def forward_loss(problem: Problem, parameters: Parameters) -> Fraction:
    """The loss sample by sample in fractions, by its definition."""
    data = problem.data
    outputs = problem.network.forward(parameters, data.X)
    scale = problem.network.output_scale
    total = Fraction(0)
    for row, label, weight in zip(outputs, data.y, data.weights, strict=True):
        for value, aim in zip(row, label, strict=True):
            prediction, truth = Fraction(int(value), scale), Fraction(int(aim), data.label_scale)
            total += int(weight) * problem.loss.exact(prediction, truth)
    return total / int(data.weights.sum())
