"""``isinglearn reproduce``: the experiments of the paper, its figures beside ours; one or all."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from isinglearn.cli.common import Common, Group, with_common
from isinglearn.cli.exits import Exit
from isinglearn.cli.reproduce import counts, identity, mnist, modules, moons
from isinglearn.errors import DataError

Measure = Callable[[], dict[str, Any]]
Show = Callable[[dict[str, Any]], None]


@click.group("reproduce", cls=Group, invoke_without_command=True)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reproduction"),
    show_default=True,
    help="Where all experiments leave their tables, figures and pictures.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory that has the folder mnist; by default ISINGLEARN_DATA, the cache, a download.",
)
@with_common(
    seed="Seed of the solvers.", time_limit="Seconds for each proof of moons; 60 if not set."
)
def reproduce_command(common: Common, folder: Path, data: Path | None) -> None:
    """Run the paper's experiments, all of them or one.

    Its figures are printed beside ours. All experiments take some minutes; each one that is done leaves its
    files in the folder.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        for name in context.params:
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                option = {"as_json": "json"}.get(name, name).replace("_", "-")
                raise click.UsageError(
                    f"--{option} is for all experiments here; give {context.invoked_subcommand} its own."
                )
        return
    experiments: dict[str, tuple[Measure, Show]] = {
        "counts": (lambda: counts.measure(common), counts.show),
        "moons": (lambda: moons.measure(common, folder / "moons.png"), moons.show),
        "identity": (lambda: identity.measure(common, folder / "identity.png"), identity.show),
        "modules": (lambda: modules.measure(common), modules.show),
        "mnist": (lambda: mnist.measure(common, folder / "mnist.png", data=data), mnist.show),
    }
    folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, Any] = {}
    code = Exit.DONE
    for name, (measure, show) in experiments.items():
        try:
            record = measure()
        except DataError as error:
            # Without its images the last one cannot run; the others are not lost for that.
            click.echo(f"{name}: {error}", err=True)
            code = Exit.INPUT
            continue
        records[name] = record
        (folder / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
        with redirect_stdout(io.StringIO()) as printed:
            show(record)
        (folder / f"{name}.txt").write_text(printed.getvalue())
        if not (common.quiet or common.as_json):
            click.echo(printed.getvalue(), nl=False)
        common.stop_if_interrupted()
    if not modules.hold(records["modules"]):
        code = Exit.FAULT
    where = f"Tables, figures and pictures: {folder}"
    common.answer({"reproduce": records}, lambda: click.echo(where))
    context.exit(code)


for command in (counts.counts, moons.moons, identity.identity, modules.modules, mnist.mnist):
    reproduce_command.add_command(command)
