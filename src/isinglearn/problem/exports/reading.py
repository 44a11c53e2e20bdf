"""Files of QUBOs, ours and others', back to dimod models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isinglearn.errors import DataError, check_choice

if TYPE_CHECKING:
    import dimod


def read_bqm(path: str | Path) -> dimod.BinaryQuadraticModel:
    """Turn a file (.qubo of qbsolv, .coo of dimod, .npz of ours, .json of dimod) into a model.

    Loading runs no code.
    """
    file = Path(path)
    read = _READERS[check_choice(file.suffix, _READERS, f"file ending of {file.name!r}")]
    try:
        return read(file)
    except OSError:
        raise
    except Exception as error:
        raise DataError(
            "this file cannot be read as a QUBO",
            where=str(file),
            rule=f"what its ending says: {file.suffix}",
            received=f"{type(error).__name__}: {error}",
            remedy="write it again, or rename it to what it is",
        ) from error


def _read_qbsolv(file: Path) -> dimod.BinaryQuadraticModel:
    import dimod

    offset, count, entries = 0.0, None, []
    for line in file.read_text().splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "c":
            # Ours has the offset in a comment; others have none.
            offset = float(words[2]) if words[1:2] == ["offset"] else offset
        elif words[0] == "p":
            count = int(words[3])
        else:
            entries.append((int(words[0]), int(words[1]), float(words[2])))
    if count is None:
        raise ValueError("no line 'p qubo ...'")
    model = dimod.BinaryQuadraticModel(count, "BINARY")
    model.offset = offset
    for left, right, value in entries:
        if left == right:
            model.add_linear(left, value)
        else:
            model.add_quadratic(left, right, value)
    return model


def _read_coo(file: Path) -> dimod.BinaryQuadraticModel:
    from dimod.serialization import coo

    with file.open() as lines:
        model: dimod.BinaryQuadraticModel = coo.load(lines)
    for line in file.read_text().splitlines():
        if line.startswith("# offset="):
            model.offset = float(line.split("=")[1])
    return model


def _read_npz(file: Path) -> dimod.BinaryQuadraticModel:
    import dimod

    with file.open("rb") as opened, np.load(opened, allow_pickle=False) as archive:
        row, column, data = archive["row"], archive["col"], archive["data"].astype(np.float64)
        names, offset = archive["names"].tolist(), float(archive["offset"])
    alone = row == column
    linear = np.zeros(len(names))
    np.add.at(linear, row[alone], data[alone])
    pairs = (row[~alone], column[~alone], data[~alone])
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        linear, pairs, offset, dimod.BINARY, variable_order=names
    )


def _read_json(file: Path) -> dimod.BinaryQuadraticModel:
    import dimod

    return dimod.BinaryQuadraticModel.from_serializable(json.loads(file.read_text()))


_READERS: dict[str, Callable[[Path], dimod.BinaryQuadraticModel]] = {
    ".qubo": _read_qbsolv,
    ".coo": _read_coo,
    ".npz": _read_npz,
    ".json": _read_json,
}
