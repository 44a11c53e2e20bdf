"""Numbers of binary variables: table 3 and the other printed ones."""

from __future__ import annotations

from typing import Any

import click

from isinglearn.cli.common import Common, with_common
from isinglearn.cli.printing import print_table


def measure(common: Common) -> dict[str, Any]:
    """Compile every instance in both formulations."""
    from isinglearn.paper.counts import count_spins

    with common.progress("compiling"):
        return {"counts": count_spins()}


def show(record: dict[str, Any]) -> None:
    """Print the table."""
    rows = record["counts"]
    paper_spins = {row["task"]: row["qubo"] for row in rows if row["formulation"] == "paper"}
    print_table(
        "Binary variables",
        ["task", "formulation", "QCBO", "QUBO", "paper QCBO", "paper QUBO", "of the paper form"],
        [
            [
                row["task"],
                row["formulation"],
                row["qcbo"],
                row["qubo"],
                row["paper_qcbo"],
                row["paper_qubo"],
                f"{row['qubo'] / paper_spins[row['task']]:.2f}",
            ]
            for row in rows
        ],
    )


@click.command()
@with_common()
def counts(common: Common) -> None:
    """Numbers of binary variables, table 3 and the other printed ones."""
    record = measure(common)
    common.answer(record, lambda: show(record))
