"""``isinglearn reproduce``: the paper's experiments, one command each, its figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import (
    COUNT,
    SEED,
    Group,
    as_json,
    counting,
    picture,
    print_json,
    print_table,
    watching,
)


@click.group(cls=Group)
def reproduce() -> None:
    """Run the paper's experiments and print its figures beside ours."""


@reproduce.command()
@as_json
def counts(as_json: bool) -> None:
    """Numbers of binary variables, table 3 and the other printed ones."""
    from isinglearn.paper.counts import count_spins

    rows = count_spins()
    if as_json:
        print_json({"counts": rows})
        return
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


@reproduce.command()
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the solvers.")
@click.option("--time-limit", default=60.0, show_default=True, help="Seconds for each proof.")
@picture("moons.png")
@as_json
def moons(seed: int, time_limit: float, output: Path, as_json: bool) -> None:
    """Verification 1: two moons, the constrained problem solved, here with proofs (figure 5)."""
    from isinglearn.paper.moons import PAPER, solve_moons
    from isinglearn.report.figures import draw_classifiers, trained

    with watching("two moons") as on_event:
        run, record = solve_moons(seed, time_limit, on_event)
    title = f"loss {record['loss']:.4f}, accuracy {record['accuracy']:.0%}"
    draw_classifiers([(title, trained(run.problem, run.best.parameters))], output)
    if as_json:
        print_json({"moons": record})
        return
    print_table(
        "Verification 1: two moons, 50 samples, 3 hidden units",
        ["", "form", "loss", "accuracy", "status", "seconds", "QCBO bits"],
        [
            [
                "paper",
                "paper",
                PAPER["loss"],
                f"{PAPER['accuracy']:.0%}",
                "Gurobi",
                f"{PAPER['seconds']:.0f}",
                PAPER["qcbo"],
            ],
            *(_moons_row(row) for row in record["runs"]),
        ],
    )
    click.echo("Data: make_moons(50, noise=0.05, random_state=0), features scaled to [-16, 16].")
    click.echo("OPTIMAL: proved, no network of this form has less loss. The paper has no proof.")
    click.echo(f"Picture of figure 5: {output}")


def _moons_row(row: dict[str, Any]) -> list[Any]:
    return [
        row["solver"],
        row["formulation"] + (", box" if row["box"] and row["formulation"] != "paper" else ""),
        f"{row['loss']:.4f}",
        f"{row['accuracy']:.0%}",
        row["status"],
        f"{row['seconds']:.1f}",
        row["qcbo"],
    ]


@reproduce.command()
@click.option("--runs", default=100, show_default=True, type=COUNT, help="Seeded runs per task.")
@picture("identity.png")
@as_json
def identity(runs: int, output: Path, as_json: bool) -> None:
    """Verification 2: QCBO and QUBO have the same solutions (tables 3, 4 and 5, figure 7)."""
    from isinglearn.paper.identity import OURS, PEER, verify_identity
    from isinglearn.report.figures import draw_classifiers, trained

    with counting("runs") as on_run:
        tasks = verify_identity(runs, on_run)
    panels = [
        (
            f"Task {task.record['task']}: loss {task.record['loss_qcbo']:.2f}, "
            f"accuracy {task.record['accuracy']:.1%}",
            trained(task.problem, task.optima.classes[0]),
        )
        for task in tasks
    ]
    draw_classifiers(panels, output)
    rows = [task.record for task in tasks]
    if as_json:
        print_json({"identity": rows})
        return
    names = [f"Task {row['task']}" for row in rows]
    _print_beside(
        "Table 3: binary variables (paper | ours, its form)",
        names,
        {
            "QCBO": [(row["paper"]["qcbo"], row["qcbo"]) for row in rows],
            "QUBO": [(row["paper"]["qubo"], row["qubo"]) for row in rows],
        },
    )
    _print_beside(
        "Table 4: loss and accuracy (paper | ours, proved)",
        names,
        {
            "QCBO loss": [(row["paper"]["loss"], f"{row['loss_qcbo']:.2f}") for row in rows],
            "QCBO accuracy": [_shares(row, "accuracy") for row in rows],
            "QUBO loss": [(row["paper"]["loss"], f"{row['loss_qubo']:.2f}") for row in rows],
            "QUBO accuracy": [_shares(row, "accuracy_qubo") for row in rows],
        },
    )
    _print_beside(
        f"Table 5: identical networks in {runs} runs (paper | ours)",
        names,
        {
            f"QCBO (cpsat), QUBO ({OURS.solver})": [_identical(row, "identical") for row in rows],
            f"QCBO (cpsat), QUBO ({PEER.solver})": [
                _identical(row, "identical_peer") for row in rows
            ],
        },
    )
    print_table(
        "Proved once per task",
        ["", *names],
        [
            ["QCBO, paper form (cpsat)", *(row["proofs"]["qcbo"] for row in rows)],
            ["QUBO, paper form (treewidth)", *(row["proofs"]["qubo"] for row in rows)],
            ["QUBO, as annealed (treewidth)", *(row["proofs"]["annealed_qubo"] for row in rows)],
            ["optimal networks", *(row["optimal_networks"] for row in rows)],
            ["up to neuron exchange", *(row["optimal_up_to_exchange"] for row in rows)],
            ["seconds per run, cpsat", *(f"{row['seconds_per_qcbo_run']:.3f}" for row in rows)],
            [
                f"seconds per run, {OURS.solver}",
                *(f"{row['seconds_per_qubo_run']:.3f}" for row in rows),
            ],
            [
                f"seconds per run, {PEER.solver}",
                *(f"{row['seconds_per_peer_run']:.3f}" for row in rows),
            ],
        ],
    )
    for annealing in (OURS, PEER):
        click.echo(f"{annealing.describe()}; every read repaired by a forward pass.")
    click.echo(f"Picture of figure 7: {output}")


def _shares(row: dict[str, Any], name: str) -> tuple[str, str]:
    return f"{row['paper']['accuracy']:.1%}", f"{row[name]:.1%}"


def _identical(row: dict[str, Any], name: str) -> tuple[str, str]:
    return f"{row['paper']['identical']:.0%}", f"{row[name] / row['runs']:.0%}"


def _print_beside(title: str, names: list[str], lines: dict[str, list[tuple[Any, Any]]]) -> None:
    """Print pairs of the paper's figure and ours, one column per task."""
    rows = [
        [label, *(f"{theirs} | {ours}" for theirs, ours in pairs)] for label, pairs in lines.items()
    ]
    print_table(title, ["", *names], rows)
