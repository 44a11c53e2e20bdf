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
from isinglearn.cli.reproduce import counts, identity, mnist, modules, moons
from isinglearn.errors import DataError

DEFAULT_FOLDER = Path("reproduction")


@click.group(cls=Group, invoke_without_command=True)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_FOLDER,
    show_default=True,
    help="Where all experiments leave their tables, figures and pictures.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that has the folder mnist; by default ISINGLEARN_DATA, the cache, a download.",
)
@click.pass_context
def reproduce(context: click.Context, folder: Path, data: Path | None) -> None:
    """Run the paper's experiments and print its figures beside ours; without a command all of them."""
    if context.invoked_subcommand is not None:
        if data is not None or folder != DEFAULT_FOLDER:
            raise click.UsageError(
                f"--folder and --data are for all experiments; give {context.invoked_subcommand} its own."
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    experiments: dict[str, tuple[Any, Any]] = {
        "counts": (lambda: {"counts": counts.measure()}, lambda r: counts.show(r["counts"])),
        "moons": (
            lambda: {"moons": moons.measure(folder / "moons.png")},
            lambda r: moons.show(r["moons"]),
        ),
        "identity": (
            lambda: {"identity": identity.measure(folder / "identity.png")},
            lambda r: identity.show(r["identity"]),
        ),
        "modules": (lambda: {"modules": modules.measure()}, lambda r: modules.show(r["modules"])),
        "mnist": (lambda: mnist.measure(folder / "mnist.png", data=data), mnist.show),
    }
    refused = False
    for name, (measure, show) in experiments.items():
        try:
            record = measure()
        except DataError as error:
            # Without its images the last one cannot run; the others are not lost for that.
            click.echo(f"{name}: {error}", err=True)
            refused = True
            continue
        (folder / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
        with _also_into(folder / f"{name}.txt"):
            show(record)
    click.echo(f"Tables, figures and pictures: {folder}")
    if refused:
        context.exit(1)


@contextmanager
def _also_into(path: Path) -> Iterator[None]:
    """Print what is printed within, and write it into a file as well."""
    with redirect_stdout(io.StringIO()) as printed:
        yield
    path.write_text(printed.getvalue())
    click.echo(printed.getvalue(), nl=False)


for command in (counts.counts, moons.moons, identity.identity, modules.modules, mnist.mnist):
    reproduce.add_command(command)
