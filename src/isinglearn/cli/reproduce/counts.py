"""Numbers of binary variables: table 3 and the other printed ones."""

from __future__ import annotations

from typing import Any

import click

from isinglearn.cli.common import as_json, print_json, print_table


def measure() -> list[dict[str, Any]]:
    """Compile every instance in both formulations."""
    from isinglearn.paper.counts import count_spins

    return count_spins()


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
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
@as_json
def counts(as_json: bool) -> None:
    """Numbers of binary variables, table 3 and the other printed ones."""
    rows = measure()
    if as_json:
        print_json({"counts": rows})
    else:
        show(rows)
