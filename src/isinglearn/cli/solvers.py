"""``isinglearn solvers``."""

from __future__ import annotations

from typing import Any

import click

from isinglearn.cli.common import as_json, print_json, print_table


@click.command()
@as_json
def solvers(as_json: bool) -> None:
    """List all solvers: what they take, what they are, and whether they are installed here."""
    import isinglearn.solvers  # noqa: F401 - registers them
    from isinglearn.solvers.base import SOLVERS

    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "accepts": [form.value for form in solver.accepts],
            "exact": solver.traits.exact,
            "seeded": solver.traits.seeded,
            "gpu": solver.traits.gpu,
            "remote": solver.traits.remote,
            "installed": solver.available(),
            "install": solver.install,
            "about": (solver.__doc__ or "").splitlines()[0],
        }
        for name, solver in SOLVERS.items()
    ]
    if as_json:
        print_json({"solvers": rows})
        return
    print_table(
        "Solvers: il.solve(problem, NAME)",
        ["name", "takes", "proves", "installed", "about"],
        [
            [
                row["name"],
                ", ".join(row["accepts"]),
                "yes" if row["exact"] else "no",
                "yes" if row["installed"] else row["install"],
                row["about"],
            ]
            for row in rows
        ],
        wide={"about", "installed"},
    )
