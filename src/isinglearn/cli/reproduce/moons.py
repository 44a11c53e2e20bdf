"""Verification 1: two moons, the constrained problem solved, here with proofs (figure 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import Common, picture, with_common
from isinglearn.cli.printing import print_table

# Seconds for each proof.
SECONDS = 60.0


def measure(common: Common, picture: Path) -> dict[str, Any]:
    """Solve every variant and draw figure 5."""
    from isinglearn.paper.moons import VARIANTS, solve_moons
    from isinglearn.report.figures import draw_classifiers, trained

    limit = common.time_limit or SECONDS
    with common.progress("two moons", limit=limit * len(VARIANTS)) as bar:
        run, record = solve_moons(common.seed, limit, bar.on_event)
    title = f"loss {record['loss']:.4f}, accuracy {record['accuracy']:.0%}"
    draw_classifiers([(title, trained(run.problem, run.best.parameters))], picture)
    return {"moons": record, "picture": str(picture)}


def show(record: dict[str, Any]) -> None:
    """Print the paper's figures and ours."""
    own = record["moons"]
    paper = own["paper"]
    print_table(
        "Verification 1: two moons, 50 samples, 3 hidden units",
        ["", "form", "loss", "accuracy", "status", "seconds", "QCBO bits"],
        [
            [
                "paper",
                "paper",
                paper["loss"],
                f"{paper['accuracy']:.0%}",
                "Gurobi",
                f"{paper['seconds']:.0f}",
                paper["qcbo"],
            ],
            *(_row(row) for row in own["runs"]),
        ],
    )
    click.echo("Data: make_moons(50, noise=0.05, random_state=0), features scaled to [-16, 16].")
    click.echo("OPTIMAL: proved, no network of this form has less loss. The paper has no proof.")
    click.echo(f"Picture of figure 5: {record['picture']}")


def _row(row: dict[str, Any]) -> list[Any]:
    return [
        row["solver"],
        row["formulation"] + (", box" if row["box"] and row["formulation"] != "paper" else ""),
        f"{row['loss']:.4f}",
        f"{row['accuracy']:.0%}",
        row["status"],
        f"{row['seconds']:.1f}",
        row["qcbo"],
    ]


@click.command()
@picture("moons.png")
@with_common(
    seed="Seed of the solvers.", time_limit="Seconds for each of five proofs.", seconds=SECONDS
)
def moons(common: Common, output: Path) -> None:
    """Verification 1: two moons, the constrained problem solved, here with proofs (figure 5)."""
    record = measure(common, output)
    common.answer(record, lambda: show(record))
