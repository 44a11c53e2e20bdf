"""Table 6: which modules are formulated, and what is checked of each."""

from __future__ import annotations

from typing import Any

import click

from isinglearn.cli.common import SEED, as_json, print_json, print_table, watching


def measure(seed: int = 0) -> list[dict[str, Any]]:
    """Enumerate and train every module."""
    from isinglearn.paper.modules import check_modules

    with watching("modules"):
        return check_modules(seed)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the paper's table with our columns."""
    print_table(
        "Table 6: modules",
        ["module", "kind", "paper", "forms", "spins", "enumerated", "trained"],
        [_row(row) for row in rows],
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
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the solvers.")
@as_json
def modules(seed: int, as_json: bool) -> None:
    """Table 6: every module enumerated and trained (figures of the paper: what it supports)."""
    rows = measure(seed)
    if as_json:
        print_json({"modules": rows})
    else:
        show(rows)
    if not all(row["enumerated"] and row["trained"] for row in rows if row["formulations"]):
        raise SystemExit(1)
