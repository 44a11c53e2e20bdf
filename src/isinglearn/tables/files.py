"""Files of tables to columns by name: CSV, npz, Parquet."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError, MissingPackage

Column = NDArray[Any]


def read_columns(path: str | Path) -> dict[str, Column]:
    """Turn a file into its columns by name: numbers, or texts."""
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
    sizes = {len(column) for column in columns.values()}
    if len(sizes) != 1 or sizes == {0}:
        raise DataError(
            "the columns differ in length" if len(sizes) > 1 else "this table has no rows",
            where=str(file),
            rule="columns of one length, at least 1",
            received=", ".join(map(str, sorted(sizes))) or "no columns",
            remedy="check how the file was written",
        )
    return columns


def _csv_columns(file: Path) -> dict[str, Column]:
    # A byte order mark, as spreadsheets write it, is no part of the first name.
    try:
        with file.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.reader(lines)
            numbered = [(reader.line_num, row) for row in reader if row]
    except (csv.Error, UnicodeDecodeError) as error:
        raise _unreadable(
            file, "texts in UTF-8, with commas", "save it as CSV again", error
        ) from error
    rows = [row for _, row in numbered]
    if len(rows) < 2:
        raise DataError(
            "this table has no rows",
            where=str(file),
            rule="a line of column names and at least one of values",
            received=f"{len(rows)} lines",
            remedy="check that the file is complete",
        )
    names = [name.strip() for name in rows[0]]
    other = next((sign for sign in (";", "\t", "|") if sign in names[0]), None)
    if len(names) == 1 and other is not None:
        raise DataError(
            "this table's values are not separated by commas",
            where=str(file),
            rule="commas between values",
            received={";": "semicolons", "\t": "tabs", "|": "bars"}[other],
            remedy="save it with commas",
        )
    for number, row in numbered[1:]:
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


def _typed(texts: tuple[str, ...]) -> Column:
    """Turn texts into whole numbers, numbers, or texts as they are."""
    # Python reads 1_000 as a number; in a table that is a name.
    plain = not any("_" in text for text in texts)
    for kind, dtype in ((int, np.int64), (float, np.float64)) if plain else ():
        try:
            return np.array([kind(text) for text in texts], dtype=dtype)
        except (ValueError, OverflowError):
            continue
    return np.array([text.strip() for text in texts])


def _npz_columns(file: Path) -> dict[str, Column]:
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError:
        raise
    except Exception as error:
        # Damaged archives raise in many ways.
        rule, remedy = "an npz file of plain arrays", "write it with numpy.savez"
        raise _unreadable(file, rule, remedy, error) from error
    columns: dict[str, Column] = {}
    for name, array in arrays.items():
        if array.ndim < 2:
            columns[name] = np.ravel(array)
            continue
        flat = array.reshape(len(array), math.prod(array.shape[1:]))
        several = flat.shape[1] > 1
        for number in range(flat.shape[1]):
            column = f"{name}{number}" if several else name
            if column in columns or (several and column in arrays):
                raise DataError(
                    "two columns have the same name",
                    where=str(file),
                    rule="names that differ, also of the columns of a matrix, which get numbers",
                    received=column,
                    remedy="rename one of the arrays",
                )
            columns[column] = flat[:, number]
    return columns


def _parquet_columns(file: Path) -> dict[str, Column]:
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
    try:
        table = parquet.read_table(file)
    except ValueError as error:
        rule, remedy = "a Parquet file", "write it again, or rename it to what it is"
        raise _unreadable(file, rule, remedy, error) from error
    return {name: _known(table[name].to_pylist()) for name in table.column_names}


def _known(values: list[Any]) -> Column:
    """Turn values, some of which may be missing, into numbers or texts."""
    if all(value is None or isinstance(value, int | float) for value in values):
        return np.array([float("nan") if value is None else value for value in values])
    return np.array(["" if value is None else str(value) for value in values])


def _unreadable(file: Path, rule: str, remedy: str, error: Exception) -> DataError:
    return DataError(
        "this file cannot be read", where=str(file), rule=rule, received=str(error), remedy=remedy
    )
