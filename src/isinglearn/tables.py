"""Tables: labelled data from CSV, npz and Parquet files."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError, MissingPackage


@dataclass(frozen=True, eq=False)
class Table:
    """Features by name, and labels if the table has them.

    Attributes
    ----------
    features
        Names of the columns of ``X``.
    X
        Numbers, shape (samples, features).
    target
        Name of the label's column, or ``None``.
    y
        Labels as they stand there: numbers or texts, shape (samples,).
    """

    features: tuple[str, ...]
    X: NDArray[np.float64]
    target: str | None = None
    y: NDArray[Any] | None = None

    def select(self, features: tuple[str, ...]) -> NDArray[np.float64]:
        """The columns of these names, in this order; others are left out."""
        return self.X[:, [self.features.index(_found(name, self.features)) for name in features]]


def read_table(path: str | Path, target: str | None = None) -> Table:
    """Turn a file (.csv, .npz, .parquet) into a table; ``target`` names the column of labels.

    An npz file has one-dimensional arrays by the names of the columns, or ``X`` and ``y``.
    """
    file = Path(path)
    readers = {".csv": _csv_columns, ".npz": _npz_columns, ".parquet": _parquet_columns}
    if file.suffix.lower() not in readers:
        raise DataError(
            "this is no table that can be read",
            where=str(file),
            rule="a file named .csv, .npz or .parquet",
            received=file.suffix or "no ending",
            remedy="convert it, or rename it to what it is",
        )
    if not file.is_file():
        raise DataError(
            "there is no such file",
            where=str(file),
            rule="an existing file",
            received="nothing",
            remedy="check the name and the folder",
        )
    columns = readers[file.suffix.lower()](file)
    labels = None
    if target is not None:
        labels = columns.pop(_found(target, tuple(columns)))
    names = tuple(columns)
    if not names:
        raise DataError(
            "there is nothing to learn from",
            where=str(file),
            rule="at least one column besides the target",
            received="none",
            remedy="name another target, or add features",
        )
    features = [_numbers(columns[name], name, file) for name in names]
    return Table(names, np.column_stack(features), target, labels)


def _found(name: str, known: tuple[str, ...]) -> str:
    if name in known:
        return name
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    raise DataError(
        "there is no such column",
        where=name,
        rule="one of " + ", ".join(known),
        received=name,
        remedy=f"did you mean {near[0]!r}?" if near else "choose one of these",
    )


def _csv_columns(file: Path) -> dict[str, NDArray[Any]]:
    # A byte order mark, as spreadsheets write it, is no part of the first name.
    with file.open(newline="", encoding="utf-8-sig") as lines:
        rows = [row for row in csv.reader(lines) if row]
    if len(rows) < 2:
        raise DataError(
            "this table has no rows",
            where=str(file),
            rule="a line of column names and at least one of values",
            received=f"{len(rows)} lines",
            remedy="check that the file is complete",
        )
    names = [name.strip() for name in rows[0]]
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(names):
            raise DataError(
                "a line has another number of values",
                where=f"{file}, line {number}",
                rule=f"{len(names)} values",
                received=len(row),
                remedy="quote values that contain commas",
            )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise DataError(
            "two columns have the same name",
            where=str(file),
            rule="names that differ",
            received=repeated[0],
            remedy="rename one of them",
        )
    values = zip(*rows[1:], strict=True)
    return {name: _typed(column) for name, column in zip(names, values, strict=True)}


def _typed(texts: tuple[str, ...]) -> NDArray[Any]:
    """Turn texts into whole numbers, numbers, or texts as they are."""
    for kind in (int, float):
        try:
            return np.array([kind(text) for text in texts])
        except ValueError:
            continue
    return np.array([text.strip() for text in texts])


def _npz_columns(file: Path) -> dict[str, NDArray[Any]]:
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception as error:
        raise DataError(
            "this file cannot be read",
            where=str(file),
            rule="an npz file of plain arrays",
            received=str(error),
            remedy="write it with numpy.savez",
        ) from error
    columns: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            columns |= {f"{name}{number}": column for number, column in enumerate(array.T)}
        else:
            columns[name] = np.ravel(array)
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1:
        raise DataError(
            "the columns differ in length",
            where=str(file),
            rule="arrays of equal length",
            received=sorted(sizes),
            remedy="check how the file was written",
        )
    return columns


def _parquet_columns(file: Path) -> dict[str, NDArray[Any]]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingPackage(
            "Parquet files need a package that is not installed",
            where=str(file),
            rule="pyarrow",
            received="not installed",
            remedy="pip install 'isinglearn[parquet]'",
        ) from error
    table = parquet.read_table(file)
    return {name: np.asarray(table[name].to_pylist()) for name in table.column_names}


def _numbers(column: NDArray[Any], name: str, file: Path) -> NDArray[np.float64]:
    fault = None
    if column.dtype.kind in "iufb":
        numbers = column.astype(np.float64)
        if np.isfinite(numbers).all():
            return numbers
        fault = f"row {int(np.flatnonzero(~np.isfinite(numbers))[0]) + 1} is not finite"
    raise DataError(
        "a feature is not a number everywhere",
        where=f"{file}, column {name}",
        rule="finite numbers in every row",
        received=fault or f"texts such as {str(column[0])!r}",
        remedy="encode categories as numbers, fill what is missing, or drop the column",
    )
