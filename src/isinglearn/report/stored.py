"""Records of reports in files: JSON, versioned."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from isinglearn.errors import DataError
from isinglearn.problem.exports.files import replacing

FORMAT, VERSION = "isinglearn-report", 1

Record = dict[str, Any]


def save_record(record: Record, path: str | os.PathLike[str]) -> None:
    """Write a record as JSON, whole or not at all."""
    text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    with replacing(Path(path)) as file:
        file.write(f"{text}\n".encode())


def load_record(path: str | os.PathLike[str]) -> Record:
    """Turn a file that :func:`save_record` wrote into the record."""
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        record = None
    return check_record(record, str(path))


def check_record(record: Any, where: str) -> Record:
    """Turn a value into itself if it is a record of this version, else into an error."""
    given = record if isinstance(record, dict) else {}
    received = (given.get("format"), given.get("version"))
    if received == (FORMAT, VERSION):
        return given
    raise DataError(
        "this is no record of a report",
        where=where,
        rule=f"format {FORMAT!r}, version {VERSION}",
        received=f"format {received[0]!r}, version {received[1]!r}",
        remedy="make it with record_of_run or record_of_training of this version",
    )
