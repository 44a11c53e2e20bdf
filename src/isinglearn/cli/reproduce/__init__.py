"""``isinglearn reproduce``: the experiments of the paper, its figures beside ours; one or all."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import Group
from isinglearn.cli.reproduce import counts, identity, moons


@click.group(cls=Group, invoke_without_command=True)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Where all experiments leave their tables, figures and pictures.",
)
@click.pass_context
def reproduce(context: click.Context, folder: Path) -> None:
    """Run the paper's experiments and print its figures beside ours; without a command all of them."""
    if context.invoked_subcommand is not None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    experiments: dict[str, tuple[Any, Any]] = {
        "counts": (counts.measure, counts.show),
        "moons": (lambda: moons.measure(folder / "moons.png"), moons.show),
        "identity": (lambda: identity.measure(folder / "identity.png"), identity.show),
    }
    for name, (measure, show) in experiments.items():
        record = measure()
        (folder / f"{name}.json").write_text(json.dumps({name: record}, indent=2) + "\n")
        with _also_into(folder / f"{name}.txt"):
            show(record)
    click.echo(f"Tables, figures and pictures: {folder}")


@contextmanager
def _also_into(path: Path) -> Iterator[None]:
    """Print what is printed within, and write it into a file as well."""
    with redirect_stdout(io.StringIO()) as printed:
        yield
    path.write_text(printed.getvalue())
    click.echo(printed.getvalue(), nl=False)


for command in (counts.counts, moons.moons, identity.identity):
    reproduce.add_command(command)
