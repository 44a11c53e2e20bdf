"""Lines and triplets to files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from isinglearn.problem.encodings import IntArray

# Lines formatted by one call.
_LINES_AT_ONCE = 1 << 16


def write_lines(file: BinaryIO, lines: Iterable[str]) -> None:
    """Write lines of text, each with its end."""
    file.writelines(f"{line}\n".encode() for line in lines)


def write_triplets(file: BinaryIO, row: IntArray, column: IntArray, data: IntArray) -> None:
    """Write lines ``row column value``, many by one formatting call."""
    table = np.stack([row, column, data], axis=1)
    for start in range(0, len(table), _LINES_AT_ONCE):
        part = table[start : start + _LINES_AT_ONCE]
        file.write(("%d %d %d\n" * len(part) % tuple(part.ravel().tolist())).encode())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a draft beside ``path`` that takes its place when complete, and vanishes on an error."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    with _errors_of(path):
        opened = draft.open("wb")
    try:
        with opened as file:
            yield file
        with _errors_of(path):
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turn the system's errors with the draft into the same errors with ``path``, which the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
