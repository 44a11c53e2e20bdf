"""A table on the command line: its options, and how it becomes features and labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.parameters import FILE, existing, names, one_of

if TYPE_CHECKING:
    from isinglearn.tables import Table, Task

TABLE_OPTIONS = (
    click.option("--target", metavar="COLUMN", help="Column of the labels."),
    click.option(
        "--features",
        metavar="A,B,...",
        callback=names,
        help="Columns to learn from; by default all but the target.",
    ),
    click.option(
        "--task",
        default="auto",
        show_default=True,
        **one_of(["auto", "classify", "regress"]),
        help="By default what the labels look like: texts, two values or up to 20 whole numbers are "
        "classes.",
    ),
)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how a table is read."""
    for option in reversed(TABLE_OPTIONS):
        function = option(function)
    return function


def table_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a table as its argument."""
    return click.argument("data", type=FILE, callback=existing, required=required)


def read_labelled(
    data: Path, target: str | None, features: tuple[str, ...] | None, task: str
) -> tuple[Table, Task]:
    """Turn a file into a table with labels, and what they are for."""
    from isinglearn.tables import read_columns, read_table

    if target is None:
        columns = ", ".join(read_columns(data))
        raise click.UsageError(f"Missing option '--target'. The columns of {data.name}: {columns}.")
    table = read_table(data, target, features)
    return table, table.task if task == "auto" else "regress" if task == "regress" else "classify"
