"""What the commands share: options, tables, JSON, progress."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from isinglearn.solvers.session import Event, OnEvent

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

COUNT = click.IntRange(min=1)
SEED = click.IntRange(0, 2**31 - 1)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def picture(name: str) -> Callable[[Decorated], Decorated]:
    """Turn a file name into the option that says where a command's picture goes."""
    return click.option(
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        default=Path(name),
        show_default=True,
        help="Where to write the picture.",
    )


class Group(click.Group):
    """Suggests the nearest command for a misspelt one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Turn arguments into a command, or into an error that names the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"{error.message.rstrip('.')}.{hint}", ctx=ctx) from error


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    click.echo(json.dumps(value))


def print_table(
    title: str, columns: list[str], rows: list[list[Any]], wide: Collection[str] = ()
) -> None:
    """Print rows under a title; ``None`` is an empty cell, text columns named in ``wide`` may wrap."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for place, column in enumerate(columns):
        left = place == 0 or column in wide
        table.add_column(column, justify="left" if left else "right", no_wrap=place == 0)
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    Console().print(table)


def _progress() -> Any:
    """A line on standard error that is gone afterwards; nothing where that is no terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def watching(title: str) -> Iterator[OnEvent]:
    """Show a solver's news: loss, bound and gap, as they come."""
    with _progress() as progress:
        line = progress.add_task(title)

        def show(event: Event) -> None:
            parts = [title]
            for name, value in (("loss", event.loss), ("bound", event.bound), ("gap", event.gap)):
                parts += [] if value is None else [f"{name} {float(value):.4f}"]
            progress.update(line, description="  ".join([*parts, event.message]))

        yield show


@contextmanager
def counting(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show how many of a number of runs are done."""
    with _progress() as progress:
        line = progress.add_task(title)

        def show(name: str, done: int, total: int) -> None:
            progress.update(line, description=f"{title}  task {name}  {done} of {total}")

        yield show
