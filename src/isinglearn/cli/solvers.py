"""``isinglearn solvers``."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import Common, with_common
from isinglearn.cli.printing import print_text, shown

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
    options = {
        field.name: field.default
        for field in fields(solver.Options)
        if isinstance(field.default, str | int | float | None)
    }
    meanings = _meanings(solver.Options, list(options))
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
        "options": options,
        "meanings": meanings,
        "choices": {
            # A text is one of those that its meaning explains.
            name: re.findall(r'"([^"]+)"', meanings[name])
            for name, default in options.items()
            if isinstance(default, str)
        },
    }


def _meanings(options: type[Any], names: list[str]) -> dict[str, str]:
    """Turn the docstring of options into a sentence for each: from its Attributes, else its first line."""
    summary, _, attributes = (inspect.getdoc(options) or "").partition("Attributes\n----------\n")
    meanings = dict.fromkeys(names, summary.strip())
    # A line of names, then lines that are indented.
    for head, body in re.findall(r"^(\w.*)\n((?:[ ]+.*\n?)+)", attributes, flags=re.MULTILINE):
        text = " ".join(body.split()).replace("``", "")
        meanings |= dict.fromkeys(head.split(", "), text)
    return meanings


def _show_all(rows: list[dict[str, Any]]) -> None:
    click.echo("Solvers: isinglearn solve --solver NAME, il.solve(problem, NAME)\n")
    lines = [["NAME", "TAKES", "PROVES", "INSTALLED"]]
    lines += [
        [row["name"], ", ".join(row["accepts"]), shown(row["exact"]), shown(row["installed"])]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]
    click.echo(texts[0])
    for row, text in zip(rows, texts[1:], strict=True):
        click.echo(text)
        print_text(row["about"], "    ")
        if not row["installed"]:
            print_text(row["install"], "    ")


def _show_options(row: dict[str, Any]) -> None:
    print_text(f"{row['name']}: {row['about']}")
    if not row["installed"]:
        print_text(f"Not installed here: {row['install']}")
    click.echo(f"\nOptions of {row['name']}, with their defaults:")
    # Options that are explained together are listed together.
    together = groupby(row["options"], key=row["meanings"].__getitem__)
    for meaning, names in together:
        click.echo("\n  " + ", ".join(f"{name}={_default(row, name)}" for name in names))
        print_text(meaning, "      ")


def _default(row: dict[str, Any], name: str) -> str:
    default = row["options"][name]
    others = [choice for choice in row["choices"].get(name, ()) if choice != default]
    text = "none" if default is None else shown(default)
    return f"{text} (or {', '.join(others)})" if others else text
