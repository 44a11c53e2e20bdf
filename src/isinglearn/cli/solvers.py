"""``isinglearn solvers``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import Common, with_common
from isinglearn.cli.printing import print_table, shown

if TYPE_CHECKING:
    from isinglearn.solvers.base import Solver


@click.command()
@click.argument("name", required=False)
@with_common()
def solvers(common: Common, name: str | None) -> None:
    """List all solvers, or the options of one.

    Options are given as --option name=value to solve, and as keywords to il.solve.
    """
    import isinglearn.solvers  # noqa: F401 - registers them
    from isinglearn.errors import check_choice
    from isinglearn.solvers.base import SOLVERS

    names = list(SOLVERS) if name is None else [check_choice(name, SOLVERS, "solver")]
    rows = [_row(SOLVERS[one]) for one in names]

    def show() -> None:
        if name is None:
            _show_all(rows)
        else:
            _show_options(rows[0])

    common.answer({"solvers": rows}, show)


def _row(solver: type[Solver]) -> dict[str, Any]:
    return {
        "name": solver.name,
        "accepts": [form.value for form in solver.accepts],
        "exact": solver.traits.exact,
        "seeded": solver.traits.seeded,
        "gpu": solver.traits.gpu,
        "remote": solver.traits.remote,
        "installed": solver.available(),
        "install": solver.install,
        "about": (solver.__doc__ or "").splitlines()[0],
        "options": {
            field.name: field.default
            for field in fields(solver.Options)
            if isinstance(field.default, str | int | float | None)
        },
    }


def _show_all(rows: list[dict[str, Any]]) -> None:
    print_table(
        "Solvers: isinglearn solve --solver NAME, il.solve(problem, NAME)",
        ["name", "takes", "proves", "installed", "about"],
        [
            [
                row["name"],
                ", ".join(row["accepts"]),
                shown(row["exact"]),
                "yes" if row["installed"] else row["install"],
                row["about"],
            ]
            for row in rows
        ],
        wide={"about", "installed"},
    )


def _show_options(row: dict[str, Any]) -> None:
    click.echo(f"{row['name']}: {row['about']}")
    if not row["installed"]:
        click.echo(f"Not installed here: {row['install']}")
    print_table(
        f"Options of {row['name']}",
        ["option", "default"],
        [[option, shown(default)] for option, default in row["options"].items()],
    )
