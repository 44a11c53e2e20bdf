"""Files of QUBOs, ours and others', back to dimod models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from isinglearn.errors import DataError, IsingLearnError, check_choice
from isinglearn.problem.exports.checks import FLOAT_LIMIT
from isinglearn.problem.exports.npz import read_npz

if TYPE_CHECKING:
    import dimod

# As dimod finds it: in a comment, anywhere.
_VARTYPE = re.compile(r"#.*?vartype[:=]\s*(\w+)")
_PROGRAM_LINE = re.compile(r"[pP]\s+qubo\s+\S+\s+(\d+)\s+(\d+)\s+(\d+)\s*")


def read_bqm(path: str | Path) -> dimod.BinaryQuadraticModel:
    """Turn a file (.qubo of qbsolv, .coo of dimod, .npz of ours or scipy, .json of dimod) into a model.

    Loading runs no code.
    """
    file = Path(path)
    read = _READERS[check_choice(file.suffix, _READERS, f"file ending of {file.name!r}")]
    try:
        return read(file)
    except (OSError, IsingLearnError):
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
    """Read what qbsolv reads: its line ``p`` says how many nodes there can be and how many entries follow."""
    import dimod

    lines = list(_lines(file))
    headers = [line for line in lines if line[0] in "pP"]
    match = _PROGRAM_LINE.fullmatch(headers[0]) if len(headers) == 1 else None
    if match is None:
        raise _contradiction(
            file, "one line 'p qubo 0 maxNodes nNodes nCouplers'", "; ".join(headers) or "none"
        )
    nodes, *counts = map(int, match.groups())
    entries = [_entry(line) for line in lines if line[0] not in "cCpP"]
    for left, right, _ in entries:
        if not (0 <= left < nodes and 0 <= right < nodes):
            rule = f"nodes from 0 to {nodes - 1}, as its line p says"
            raise _contradiction(file, rule, f"an entry {left} {right}")
    alone = sum(left == right for left, right, _ in entries)
    for kind, count, found in zip(
        ("nodes", "couplers"), counts, (alone, len(entries) - alone), strict=True
    ):
        if found != count:
            raise _contradiction(file, f"lines of {kind}: {count}, as its line p says", found)
    model = dimod.BinaryQuadraticModel(nodes, "BINARY")
    for line in lines:
        # Ours has the offset in a comment; others have none.
        if line.startswith("c offset "):
            model.offset = float(line.split()[2])
    return _filled(model, entries)


def _read_coo(file: Path) -> dimod.BinaryQuadraticModel:
    """Read what dimod writes, and numbers such as 1e-06, whose lines its own reader leaves out."""
    import dimod

    lines = list(_lines(file))
    entries = [_entry(line) for line in lines if not line.startswith("#")]
    kinds = {found[1] for line in lines if (found := _VARTYPE.match(line))}
    if len(kinds) != 1 or not kinds <= {"BINARY", "SPIN"}:
        raise DataError(
            "this file does not say what its variables are",
            where=str(file),
            rule="one line '# vartype=BINARY' (0 and 1) or '# vartype=SPIN' (-1 and +1)",
            received=" and ".join(sorted(kinds)) or "none",
            remedy="put the line '# vartype=BINARY' at its top, or coo.dump(..., vartype_header=True)",
        )
    model = dimod.BinaryQuadraticModel(kinds.pop())
    for line in lines:
        if line.startswith("# offset="):
            model.offset = float(line.split("=")[1])
    return _filled(model, entries)


def _lines(file: Path) -> Iterator[str]:
    """Lines with something in them."""
    return (line.strip() for line in file.read_text().splitlines() if line.strip())


def _entry(line: str) -> tuple[int, int, float]:
    left, right, text = line.split()
    value = float(text)
    if abs(value) >= FLOAT_LIMIT and text.lstrip("+-").isdigit() and int(text) != value:
        raise ValueError(f"a 64-bit float would round {text}")
    return int(left), int(right), value


def _filled(
    model: dimod.BinaryQuadraticModel, entries: list[tuple[int, int, float]]
) -> dimod.BinaryQuadraticModel:
    for left, right, value in entries:
        if left == right:
            model.add_linear(left, value)
        else:
            model.add_quadratic(left, right, value)
    return model


def _contradiction(file: Path, rule: str, received: object) -> DataError:
    return DataError(
        "this file cannot be read as a QUBO",
        where=str(file),
        rule=rule,
        received=received,
        remedy="correct its line p, or write it again: something may be cut off",
    )


def _read_json(file: Path) -> dimod.BinaryQuadraticModel:
    import dimod

    return dimod.BinaryQuadraticModel.from_serializable(json.loads(file.read_text()))


_READERS: dict[str, Callable[[Path], dimod.BinaryQuadraticModel]] = {
    ".qubo": _read_qbsolv,
    ".coo": _read_coo,
    ".npz": read_npz,
    ".json": _read_json,
}
