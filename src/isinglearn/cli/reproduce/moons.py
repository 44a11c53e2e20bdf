"""Verification 1: two moons, the constrained problem solved, here with proofs (figure 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import SEED, as_json, picture, print_json, print_table, watching


def measure(picture: Path, seed: int = 0, time_limit: float = 60.0) -> dict[str, Any]:
    """Solve every variant and draw figure 5."""
    from isinglearn.paper.moons import solve_moons
    from isinglearn.report.figures import draw_classifiers, trained

    with watching("two moons") as on_event:
        run, record = solve_moons(seed, time_limit, on_event)
    title = f"loss {record['loss']:.4f}, accuracy {record['accuracy']:.0%}"
    draw_classifiers([(title, trained(run.problem, run.best.parameters))], picture)
    return record


def show(record: dict[str, Any]) -> None:
    """Print the paper's figures and ours."""
    paper = record["paper"]
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
            *(_row(row) for row in record["runs"]),
        ],
    )
    click.echo("Data: make_moons(50, noise=0.05, random_state=0), features scaled to [-16, 16].")
    click.echo("OPTIMAL: proved, no network of this form has less loss. The paper has no proof.")


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
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the solvers.")
@click.option("--time-limit", default=60.0, show_default=True, help="Seconds for each proof.")
@picture("moons.png")
@as_json
def moons(seed: int, time_limit: float, output: Path, as_json: bool) -> None:
    """Verification 1: two moons, the constrained problem solved, here with proofs (figure 5)."""
    record = measure(output, seed, time_limit)
    if as_json:
        print_json({"moons": record})
        return
    show(record)
    click.echo(f"Picture of figure 5: {output}")
