"""Checkpoints: what ties a saved state to the run it came from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError, NetworkError
from isinglearn.nn import Sequential
from isinglearn.problem.exports.files import replacing

# Rows of the inputs that a run is told by: reading all of a large file only for this takes long.
_ROWS = 1000


def signature_of(network: Sequential, about: tuple[Any, ...], data: str = "") -> str:
    """Turn a resolved network, and whatever else a run depends on, into a short text."""
    specs = [
        (name, spec.shape, spec.domain, spec.free.tobytes(), spec.frozen.tobytes())
        for name, spec in network.parameters.items()
    ]
    return hashlib.sha256(repr((specs, *about, data)).encode()).hexdigest()[:16]


def data_digest(X: Any, *others: Any) -> str:
    """Turn data into a short text that other data hardly has: some rows of ``X``, all of the rest."""
    rows = np.unique(np.linspace(0, len(X) - 1, _ROWS).astype(np.int64))
    digest = hashlib.sha256(repr(np.shape(X)).encode())
    for part in (X[rows], *others):
        digest.update(repr(None if part is None else np.asarray(part).tolist()).encode())
    return digest.hexdigest()[:16]


def check_state(state: Mapping[str, Any], format_number: int, signature: str) -> None:
    """Raise if a state was saved by another version, or by a run of something else."""
    # Not get: an archive of arrays has it only as a mapping of some versions.
    received = tuple(str(state[n]) if n in state else "none" for n in ("format", "signature"))
    if received != (str(format_number), signature):
        raise NetworkError(
            "this checkpoint is of another run",
            where="restore",
            rule=f"format {format_number} and signature {signature}, that is the same network, data, "
            "loss, options and seed",
            received=f"format {received[0]} and signature {received[1]}",
            remedy="resume with what the run was begun with, or begin a new one",
        )


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state whole or not at all: whoever is killed here leaves the previous one."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in state.items()}
    with replacing(path) as file:
        np.savez(file, **arrays)


def load(path: Path) -> dict[str, NDArray[Any]]:
    """Read a state; nothing in the file is run."""
    try:
        # Opened here: NumPy leaves the file open where it is damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, BadZipFile) as error:
        raise DataError(
            "this checkpoint cannot be read",
            where=str(path),
            rule="a file that isinglearn.train wrote",
            received=str(error),
            remedy="remove it to begin anew, or name another file",
        ) from error
