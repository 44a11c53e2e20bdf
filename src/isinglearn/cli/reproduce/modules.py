"""Table 6: which modules are formulated, and what is checked of each."""

from __future__ import annotations

from typing import Any

import click

from isinglearn.cli.common import Common, with_common
from isinglearn.cli.exits import Exit
from isinglearn.cli.printing import print_table


def measure(common: Common) -> dict[str, Any]:
    """Enumerate and train every module."""
    from isinglearn.paper.modules import check_modules

    with common.progress("modules") as bar:

        def on_module(name: str, done: int, total: int) -> None:
            bar.step(done, total, name)
            common.stop_if_interrupted()

        return {"modules": check_modules(common.seed, on_module)}


def hold(record: dict[str, Any]) -> bool:
    """Whether every module that is formulated does what it should."""
    formulated = [row for row in record["modules"] if row["formulations"]]
    return all(row["enumerated"] and row["trained"] for row in formulated)


def show(record: dict[str, Any]) -> None:
    """Print the paper's table with our columns."""
    print_table(
        "Table 6: modules",
        ["module", "kind", "paper", "forms", "spins", "enumerated", "trained"],
        [_row(row) for row in record["modules"]],
    )
    click.echo("Spins: per unit and sample on the module's first small example, products included;")
    click.echo(
        "the paper's form and the compact one. Ours: not in the table. Open: not formulated yet."
    )
    click.echo("Enumerated: the constraints allow exactly what the forward pass gives.")
    click.echo(
        "Trained: CP-SAT and the annealed QUBO reach the brute-force optimum of a small task."
    )


def _row(row: dict[str, Any]) -> list[Any]:
    if not row["formulations"]:
        return [row["name"], row["kind"], "open", "open", None, None, None]
    spins = row["spins"] and " / ".join(f"{row['spins'][f]:.3g}" for f in row["formulations"])
    return [
        row["name"],
        row["kind"],
        "yes" if row["paper"] else "ours",
        "both" if len(row["formulations"]) > 1 else row["formulations"][0],
        spins,
        "yes" if row["enumerated"] else "NO",
        "yes" if row["trained"] else "NO",
    ]


@click.command()
@with_common(seed="Seed of the solvers.")
def modules(common: Common) -> None:
    """Table 6: every module enumerated and trained (figures of the paper: what it supports)."""
    record = measure(common)
    common.answer(record, lambda: show(record))
    if not hold(record):
        # That a module is wrong is a fault of ours.
        click.get_current_context().exit(Exit.FAULT)
