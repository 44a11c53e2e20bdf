"""Callbacks that check what the user typed: files, choices, lists; every refusal names the nearest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

COUNT = click.IntRange(min=1)
MOST_SEEDS = 2**31
# About 30 years; see isinglearn.solvers.session.
LONGEST = 1e9
FILE = click.Path(path_type=Path)
QUBO_ENDINGS = (".qubo", ".coo", ".npz", ".json")
PROBLEM_ENDINGS = (*QUBO_ENDINGS, ".lp")
PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".jpg")

Callback = Callable[[click.Context, click.Parameter, Any], Any]


def seed(context: click.Context, parameter: click.Parameter, value: int) -> int:
    """Refuse what is no seed."""
    if 0 <= value < MOST_SEEDS:
        return value
    raise click.BadParameter(f"{value} is no whole number from 0 to {MOST_SEEDS - 1}.")


def seconds(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    """Refuse what is no time."""
    if value is None or 0 < value <= LONGEST:
        return value
    raise click.BadParameter(f"{value:g} is no number of seconds above 0, at most {LONGEST:g}.")


def nearest(value: str, known: Iterable[str]) -> str:
    """Turn a name into the question whether the nearest known one was meant; nothing if none is near."""
    near = get_close_matches(value, list(known), n=1, cutoff=0.5)
    return f" Did you mean '{near[0]}'?" if near else ""


def existing(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file to read that is not there."""
    if path is None:
        return None
    if path.is_dir():
        raise click.BadParameter(f"'{path}' is a folder, not a file.")
    if not path.exists():
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        hint = nearest(path.name, (sibling.name for sibling in siblings))
        raise click.BadParameter(f"there is no such file: '{path}'.{hint}")
    with path.open("rb"):
        # What may not be read is told before the work, not after.
        return path


def writable(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a file to write that has no folder: now, and not when the work is done."""
    if path is None:
        return None
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a device"
        raise click.BadParameter(f"'{path}' is {what}, not a file.")
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no such folder: '{path.parent}'.")
    if not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"nothing can be written into the folder '{path.parent}'.")
    return path


def check_apart(given: Iterable[object]) -> None:
    """Refuse one file in two roles: what is written would replace what is read, or written as well."""
    paths = [path.resolve() for path in given if isinstance(path, Path)]
    twice = [path for path in paths if paths.count(path) > 1]
    if twice:
        raise click.UsageError(f"'{twice[0].name}' is named twice; every file needs its own name.")


def check_ending(path: Path, endings: tuple[str, ...]) -> Path:
    """Refuse a file whose name does not say what it is."""
    if path.suffix in endings:
        return path
    hint = nearest(path.suffix, endings)
    raise click.BadParameter(f"'{path.name}' does not end in one of {', '.join(endings)}.{hint}")


def problem_to_read(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """Refuse what is no problem file, or not there."""
    existing(context, parameter, path)
    return check_ending(path, PROBLEM_ENDINGS)


def qubo_to_read(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuse what is no QUBO file, or not there."""
    existing(context, parameter, path)
    return path if path is None else check_ending(path, QUBO_ENDINGS)


def problem_to_write(context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """Refuse what is no name of a problem file, or has no folder."""
    writable(context, parameter, path)
    return check_ending(path, PROBLEM_ENDINGS)


def picture_to_write(
    context: click.Context, parameter: click.Parameter, path: Path | None
) -> Path | None:
    """Refuse what is no name of a picture, or has no folder."""
    writable(context, parameter, path)
    return path if path is None else check_ending(path, PICTURE_ENDINGS)


def one_of(known: Iterable[str]) -> dict[str, Any]:
    """Turn names into what makes an option a choice between them, with the nearest in its refusal."""
    names = list(known)

    def check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        if value is None or value in names:
            return value
        rule = ", ".join(f"'{name}'" for name in names)
        raise click.BadParameter(f"'{value}' is not one of {rule}.{nearest(value, names)}")

    return {"callback": check, "metavar": f"[{'|'.join(names)}]"}


def names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Turn "a,b" into names, each once."""
    if value is None:
        return None
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def widths(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Turn "16,8" into widths of layers."""
    if value is None:
        return None
    try:
        found = tuple(int(part) for part in value.split(",") if part.strip())
    except ValueError as error:
        raise click.BadParameter("whole numbers with commas, for example 16,8.") from error
    if any(width < 1 for width in found):
        raise click.BadParameter("every width is at least 1, for example 16,8.")
    return found


def pairs(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> dict[str, Any]:
    """Turn texts "name=value" into values by name."""
    found = {}
    for text in value:
        name, sign, given = text.partition("=")
        if not sign or not name.strip():
            raise click.BadParameter(f"'{text}' is no name=value, for example num_reads=100.")
        found[name.strip().replace("-", "_")] = typed(given.strip())
    return found


def typed(text: str) -> Any:
    """Turn a text into the number, switch or nothing that it stands for, or leave it a text."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
