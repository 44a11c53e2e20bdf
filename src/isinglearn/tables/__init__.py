"""Tables: labelled data from CSV, npz and Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.tables.files import Column, read_columns

__all__ = ["MOST_CLASSES", "Column", "Table", "Task", "read_columns", "read_table"]

Task = Literal["classify", "regress"]
# Whole numbers of more different values than this are predicted as numbers, not as classes.
MOST_CLASSES = 20
# Up to here floats are all whole numbers.
_LARGEST = 2**53


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
        Labels as they stand there: numbers, switches or texts, shape (samples,).
    """

    features: tuple[str, ...]
    X: NDArray[np.float64]
    target: str | None = None
    y: Column | None = None

    @property
    def task(self) -> Task:
        """What the labels look like: numbers to predict, or classes.

        Texts are classes, and so are two different values of any kind. Other labels are numbers if one of
        them is a fraction, or if there are more than 20 different ones.
        """
        values = np.unique(self._labels)
        if values.dtype.kind not in "iuf" or len(values) == 2:
            return "classify"
        fractions = bool((values != np.rint(values)).any())
        return "regress" if fractions or len(values) > MOST_CLASSES else "classify"

    def labels(self, task: Task) -> Column:
        """Turn labels into numbers to predict, or into classes: whole numbers or texts."""
        labels = self._labels
        if labels.dtype.kind == "U":
            if task == "classify":
                return labels
            raise DataError(
                "these labels are no numbers",
                where=f"column {self.target}",
                rule="numbers, to predict numbers",
                received=f"texts such as {str(labels[0])!r}",
                remedy="predict classes, or name another target",
            )
        numbers = labels.astype(np.float64)
        if task == "regress":
            return numbers
        # Numbers that are names: 1.0 is 1, and 0.5 is the text.
        whole = (numbers == np.rint(numbers)).all() and np.abs(numbers).max() < _LARGEST
        return numbers.astype(np.int64) if whole else labels.astype(str)

    @property
    def _labels(self) -> Column:
        assert self.y is not None, "a table read with its target"
        return self.y


def read_table(
    path: str | Path, target: str | None = None, features: tuple[str, ...] | None = None
) -> Table:
    """Turn a file (.csv, .npz, .parquet) into a table.

    Parameters
    ----------
    path
        An npz file has arrays by the names of the columns: of one dimension, or of more, whose columns get
        numbers (``X0``, ``X1``, ...).
    target
        Column of labels.
    features
        Columns to learn from, in this order; others may be there and hold anything. By default all but
        the target.
    """
    file = Path(path)
    columns = read_columns(file)
    labels = None
    if target is not None:
        if features is not None and target in features:
            raise DataError(
                "a column cannot be feature and target",
                where=f"{file}, column {target}",
                rule="features without the target",
                received=", ".join(features),
                remedy="leave it out of the features, or name another target",
            )
        labels = _checked_labels(columns.pop(_found(target, tuple(columns), file)), target, file)
    names = tuple(columns) if features is None else features
    if "" in names:
        raise DataError(
            "a column has no name",
            where=str(file),
            rule="a name for every feature",
            received=f"none for number {names.index('') + 1}",
            remedy="name it, or name the features to learn from; spreadsheets and pandas write row "
            "numbers this way",
        )
    if not names:
        raise DataError(
            "there is nothing to learn from",
            where=str(file),
            rule="at least one column besides the target",
            received="none",
            remedy="name another target, or add features",
        )
    numbers = [_numbers(columns[_found(name, tuple(columns), file)], name, file) for name in names]
    return Table(names, np.column_stack(numbers), target, labels)


def _found(name: str, known: tuple[str, ...], file: Path) -> str:
    if name in known:
        return name
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    raise DataError(
        "there is no such column",
        where=f"{file}, column {name}",
        rule="one of " + ", ".join(known),
        received=name,
        remedy=f"did you mean {near[0]!r}?" if near else "choose one of these",
    )


def _numbers(column: Column, name: str, file: Path) -> NDArray[np.float64]:
    if column.dtype.kind in "iufb":
        fault = ~np.isfinite(column)
    else:
        fault = np.array([not _is_number(str(text)) for text in column])
    if not fault.any():
        return column.astype(np.float64)
    row = int(fault.argmax())
    raise DataError(
        "a feature is not a number everywhere",
        where=f"{file}, column {name}",
        rule="finite numbers in every row",
        received=f"{_told(column[row])} in row {row + 1}",
        remedy="encode categories as numbers, fill what is missing, or leave the column out",
    )


def _checked_labels(column: Column, name: str, file: Path) -> Column:
    if column.dtype.kind not in "iufb":
        column = column.astype(str)
    fault = column == "" if column.dtype.kind == "U" else ~np.isfinite(column)
    if not fault.any():
        return column
    row = int(fault.argmax())
    raise DataError(
        "a label is missing",
        where=f"{file}, column {name}",
        rule="a label in every row",
        received=f"{_told(column[row])} in row {row + 1}",
        remedy="fill it in, or leave the row out",
    )


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _told(value: Any) -> str:
    plain = value.item() if isinstance(value, np.generic) else value
    return "nothing" if plain in ("", b"", None) else repr(plain)
