"""Table 3 of the paper, and its other printed numbers of spins, beside ours."""

from __future__ import annotations

from typing import Any

from isinglearn.lowering.options import FORMULATIONS
from isinglearn.lowering.pipeline import compile as compile_problem
from isinglearn.paper.instances import instances


def count_spins() -> list[dict[str, Any]]:
    """Compile every instance in both formulations; ``None`` where the paper prints nothing."""
    rows = []
    for instance in instances():
        for formulation in reversed(FORMULATIONS):
            problem = compile_problem(
                instance.network, instance.X, instance.y, formulation=formulation
            )
            rows.append(
                {
                    "task": instance.name,
                    "formulation": formulation,
                    "qcbo": problem.qcbo.num_bits,
                    "qubo": problem.qubo.num_variables,
                    "paper_qcbo": instance.paper_qcbo,
                    "paper_qubo": instance.paper_qubo,
                }
            )
    return rows
