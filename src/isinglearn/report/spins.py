"""A compiled problem to its spins, the proofs of its weights, and the data of its two pictures."""

from __future__ import annotations

from typing import Any

from isinglearn.lowering.pipeline import Problem
from isinglearn.report.coefficients import coefficients_record, matrix_record

# Bits of a QCBO beyond which a report does not build a QUBO that nobody asked for.
_MOST_BITS = 20_000

_WHY = {
    "incumbent": "one violation lifts the energy above that of a network already known",
    "repair": "a forward pass repairs the sample and always gains by it",
    "cofactor": "a wrong product gains less than it costs",
    "user": "set by hand, nothing is proved",
}


def problem_record(problem: Problem | None) -> dict[str, Any]:
    """Turn a problem into the parts ``spins``, ``proofs``, ``coefficients`` and ``matrix`` of a record."""
    parts: dict[str, Any] = dict.fromkeys(("spins", "proofs", "coefficients", "matrix"))
    if problem is None:
        return parts
    # A form is lowered when it is first asked for, and stays there.
    if "qubo" not in vars(problem) and problem.qcbo.num_bits > _MOST_BITS:
        parts["spins"] = {
            "formulation": problem.options.formulation,
            "qcbo_bits": problem.qcbo.num_bits,
            "note": "The QUBO was not needed, and is too large to be built for a report alone.",
        }
        return parts
    summary = problem.summary()
    plain = summary.to_dict()
    weights = [{**entry, "why": _WHY[entry["proof"]]} for entry in plain["weights"]]
    scale = summary.scale
    parts["spins"] = {
        name: plain[name]
        for name in (
            "formulation",
            "order",
            "qcbo_bits",
            "hubo_spins",
            "hubo_degree",
            "spins",
            "spins_by_role",
            "auxiliaries",
            "couplers",
            "largest_coefficient",
            "smallest_coefficient",
            "resolution_bits",
            "scale",
        )
    }
    parts["proofs"] = {
        "certified": summary.certified,
        "weights": weights,
        "upper": None if summary.upper_bound is None else summary.upper_bound / scale,
        "lower": None if summary.lower_bound is None else summary.lower_bound / scale,
    }
    parts["coefficients"] = coefficients_record(problem.qubo)
    parts["matrix"] = matrix_record(problem.qubo)
    return parts
