"""What a compiled problem costs and what its penalty weights rest on, as data and as a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.forms import PROOFS, QUBO


@dataclass(frozen=True)
class WeightRange:
    """Weights of all gadgets that share a proof."""

    gadgets: str
    proof: str
    count: int
    smallest: int
    largest: int


@dataclass(frozen=True)
class Summary:
    """Size, coefficients and certificates of a problem's QUBO; ``str`` gives a table.

    Attributes
    ----------
    spins_by_role
        Number of spins of each kind, auxiliaries as "product".
    resolution_bits
        Bits, sign included, that a machine needs to hold every coefficient exactly.
    scale
        ``energy / scale`` is the loss.
    """

    formulation: str
    order: str
    qcbo_bits: int
    hubo_spins: int
    spins: int
    spins_by_role: dict[str, int]
    auxiliaries: int
    couplers: int
    hubo_degree: int
    largest_coefficient: int
    smallest_coefficient: int
    resolution_bits: int
    scale: int
    upper_bound: int | None
    lower_bound: int | None
    weights: tuple[WeightRange, ...]

    @property
    def certified(self) -> bool:
        """Whether every weight has a proof."""
        return all(entry.proof != "user" for entry in self.weights)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**asdict(self), "certified": self.certified}

    def __str__(self) -> str:
        roles = ", ".join(f"{count} {role}" for role, count in self.spins_by_role.items())
        lines = [
            f"formulation     {self.formulation} (order: {self.order})",
            f"spins           {self.spins} = {roles}",
            f"before          QCBO {self.qcbo_bits} bits, HUBO {self.hubo_spins} spins of degree "
            f"{self.hubo_degree}, {self.auxiliaries} auxiliaries",
            f"couplers        {self.couplers}",
            f"coefficients    |c| from {self.smallest_coefficient} to {self.largest_coefficient}, "
            f"{self.resolution_bits} bits of resolution",
            f"loss            energy / {self.scale}",
        ]
        for entry in self.weights:
            span = f"{entry.smallest}"
            if entry.largest != entry.smallest:
                span += f" to {entry.largest}"
            lines.append(
                f"weights         {entry.count} {entry.gadgets}: {span} ({_WHY[entry.proof]})"
            )
        if self.certified:
            lines.append(
                f"certificate     every ground state is an optimal network; loss bounds "
                f"[{self.lower_bound}, {self.upper_bound}] / {self.scale}"
            )
        else:
            lines.append("certificate     not certified: weights were set by hand")
        return "\n".join(lines)


_WHY = {
    "incumbent": "incumbent bound",
    "repair": "repair bound",
    "cofactor": "cofactor bound",
    "user": "set by hand, not certified",
}


def summarise(problem: Problem) -> Summary:
    """Turn a problem into its summary, lowering it to the QUBO if that is not done yet."""
    qubo = problem.qubo
    polynomial = qubo.polynomial
    varying = np.abs(polynomial.coefficients[polynomial.degrees > 0])
    unit = int(np.gcd.reduce(varying)) if len(varying) else 1
    largest = int(varying.max(initial=0))
    return Summary(
        problem.options.formulation,
        problem.order,
        problem.qcbo.num_bits,
        problem.hubo.num_variables,
        qubo.num_variables,
        qubo.variables.count_by_role(),
        len(qubo.products),
        qubo.num_couplers,
        hubo_degree(problem),
        largest,
        int(varying.min(initial=largest)),
        (largest // max(unit, 1)).bit_length() + 1,
        qubo.scale,
        problem.certificate.upper if problem.certificate else None,
        problem.certificate.lower if problem.certificate else None,
        tuple(_weight_ranges(qubo)),
    )


def hubo_degree(problem: Problem) -> int:
    """Degree of the HUBO's polynomial, known from its rows without expanding them."""
    return max(
        (part.rows.degree * (1 if part.shape == "linear" else 2))
        for part in (*problem.hubo.objective, *problem.hubo.penalties)
    )


def _weight_ranges(qubo: QUBO) -> list[WeightRange]:
    parts = [part for part in qubo.penalties if part.proofs is not None]
    families = {
        "penalties": (
            [part.weights for part in parts],
            [part.proofs for part in parts if part.proofs is not None],
        ),
        "products": ([qubo.products.weights], [qubo.products.proofs]),
    }
    ranges = []
    for name, (weights, proofs) in families.items():
        if not weights:
            continue
        weight, proof = np.concatenate(weights), np.concatenate(proofs)
        for code, label in enumerate(PROOFS):
            own = weight[proof == code]
            if len(own):
                ranges.append(WeightRange(name, label, len(own), int(own.min()), int(own.max())))
    return ranges
