"""Chunks: inputs that lie in several arrays, or in part of one, read row by row and never copied whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.problem.encodings import IntArray


class Chunks:
    """Arrays of whole numbers one below the other, or chosen rows of them, as one array to read from.

    Parameters
    ----------
    parts
        Arrays of shape (samples, features), memory-mapped ones for example.
    chosen
        Row numbers that count, in their order; ``None`` for all.
    """

    ndim = 2

    def __init__(self, parts: Sequence[NDArray[Any]], chosen: IntArray | None = None) -> None:
        self.parts = list(parts)
        self._check()
        self.starts = np.cumsum([0, *(len(part) for part in self.parts)])
        self.chosen = chosen
        rows = int(self.starts[-1]) if chosen is None else len(chosen)
        self.shape = (rows, self.parts[0].shape[1])
        self.dtype = np.result_type(*self.parts)
        self.size = rows * self.shape[1]
        self.nbytes = self.size * self.dtype.itemsize

    def _check(self) -> None:
        for number, part in enumerate(self.parts):
            fits = part.ndim == 2 and part.dtype.kind in "iub" and part.size
            if not fits or part.shape[1] != self.parts[0].shape[1]:
                raise DataError(
                    "a chunk does not fit the others",
                    where=f"X[{number}]",
                    rule="whole numbers of shape (samples, features), the same features in every chunk",
                    received=f"{part.dtype} of shape {part.shape}",
                    remedy="quantise the features first: isinglearn.quantise",
                )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | IntArray) -> NDArray[Any]:
        """Turn a slice or row numbers into these rows."""
        wanted = np.arange(*rows.indices(len(self))) if isinstance(rows, slice) else rows
        if self.chosen is not None:
            wanted = self.chosen[wanted]
        found = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
        which = np.searchsorted(self.starts, wanted, side="right") - 1
        for number in np.unique(which):
            mine = np.flatnonzero(which == number)
            found[mine] = self.parts[number][wanted[mine] - self.starts[number]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All rows as one array, for those who need all of them."""
        return self[:] if dtype is None else self[:].astype(dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        # Memory-mapped parts travel as the names of their files.
        from isinglearn.training.batches import Source

        return _rebuilt, ([Source(part) for part in self.parts], self.chosen)


def _rebuilt(parts: list[Any], chosen: IntArray | None) -> Chunks:
    return Chunks([part.array for part in parts], chosen)


def rows_of(X: Any, chosen: IntArray) -> Any:
    """Turn inputs into some of their rows; what lies in files stays there."""
    if isinstance(X, Chunks):
        return Chunks(X.parts, chosen if X.chosen is None else X.chosen[chosen])
    return Chunks([X], chosen) if isinstance(X, np.memmap) else X[chosen]


def is_chunked(X: object) -> bool:
    """Whether these are inputs in several arrays."""
    return (
        isinstance(X, list | tuple)
        and bool(X)
        and all(isinstance(part, np.ndarray) and part.ndim == 2 for part in X)
    )
