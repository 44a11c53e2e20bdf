"""Tables, JSON, and figures as people read them."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Collection
from typing import Any

import click

# Columns of a table that takes as many as it needs.
_UNLIMITED = 10_000


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; what is no finite number is null."""
    click.echo(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(
    title: str,
    columns: list[str],
    rows: list[list[Any]],
    wide: Collection[str] = (),
    *,
    dense: bool = False,
) -> None:
    """Print rows under a title; ``None`` is an empty cell.

    Text columns named in ``wide`` may wrap; a ``dense`` table has many columns, no lines between them, and no
    cell that wraps or is cut: rather is it wider than the terminal.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title),
        box=box.SIMPLE_HEAD if dense else box.HEAVY_HEAD,
        pad_edge=not dense,
        collapse_padding=dense,
    )
    for place, column in enumerate(columns):
        table.add_column(
            Text(column),
            justify="left" if place == 0 or column in wide else "right",
            no_wrap=place == 0 or dense,
            # Long paths go on in the next line.
            overflow="fold" if column in wide else "ellipsis",
        )
    for row in rows:
        # As they are: brackets are no markup.
        table.add_row(*(Text("" if value is None else str(value)) for value in row))
    Console(width=_UNLIMITED if dense else None).print(table)


def print_text(text: str, indent: str = "") -> None:
    """Print sentences in lines that fit the terminal."""
    click.echo(
        click.wrap_text(
            text,
            shutil.get_terminal_size().columns,
            initial_indent=indent,
            subsequent_indent=indent,
        )
    )


def print_values(title: str, values: dict[str, Any]) -> None:
    """Print names and values under a title; ``None`` and empty texts are left out."""
    rows = [[name, shown(value)] for name, value in values.items() if value not in (None, "")]
    print_table(title, ["", "value"], rows, wide=["value"])


def shown(value: Any) -> str:
    """Turn a value into a short text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def in_time(seconds: float) -> str:
    """Two digits, no more than a busy machine repeats; three of whole seconds, as the paper has."""
    if seconds >= 1:
        return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"
    milliseconds = 1e3 * seconds
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2g} ms"
