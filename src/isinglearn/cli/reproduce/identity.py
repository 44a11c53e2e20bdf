"""Verification 2: QCBO and QUBO have the same solutions (tables 3, 4 and 5, figure 7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import Common, picture, with_common
from isinglearn.cli.parameters import COUNT
from isinglearn.cli.printing import print_table

_TASKS = ("I", "II", "III")


def measure(common: Common, picture: Path, runs: int = 100) -> dict[str, Any]:
    """Prove, run and compare all three tasks, and draw figure 7."""
    from isinglearn.paper.identity import verify_identity
    from isinglearn.report.figures import draw_classifiers, trained

    with common.progress("runs") as bar:

        def on_run(name: str, done: int, total: int) -> None:
            before = _TASKS.index(name) * total
            bar.step(before + done, len(_TASKS) * total, f"task {name}")
            common.stop_if_interrupted()

        tasks = verify_identity(runs, on_run)
    panels = [
        (
            f"Task {task.record['task']}: loss {task.record['loss_qcbo']:.2f}, "
            f"accuracy {task.record['accuracy']:.1%}",
            trained(task.problem, task.optima.classes[0]),
        )
        for task in tasks
    ]
    draw_classifiers(panels, picture)
    return {"identity": [task.record for task in tasks], "picture": str(picture)}


def show(record: dict[str, Any]) -> None:
    """Print the paper's tables with our figures beside."""
    from isinglearn.paper.identity import OURS, PEER

    rows = record["identity"]

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
        f"Table 5: identical networks in {rows[0]['runs']} runs (paper | ours)",
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
    click.echo(f"Picture of figure 7: {record['picture']}")


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


@click.command()
@click.option(
    "--runs",
    default=100,
    show_default=True,
    type=COUNT,
    metavar="N",
    help="Runs per task, seeds 0, 1, ...",
)
@picture("identity.png")
@with_common()
def identity(common: Common, runs: int, output: Path) -> None:
    """Verification 2: QCBO and QUBO have the same solutions (tables 3, 4 and 5, figure 7)."""
    record = measure(common, output, runs)
    common.answer(record, lambda: show(record))
