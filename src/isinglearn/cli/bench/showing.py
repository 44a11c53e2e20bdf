"""The table of a benchmark, and how to read it."""

from __future__ import annotations

import math
from typing import Any

from isinglearn.cli.printing import in_time, print_table, print_text

# Whole numbers beyond this have more digits than a column.
_LARGEST_WHOLE = 1e12
_LEAST_PERCENT = 0.001


def show(record: dict[str, Any]) -> None:
    """Print what was measured."""
    print_table(
        f"{record['case']}: {record['spins']} spins, {record['couplers']} couplers",
        ["solver", record["figure"], "above", "reads", "success", "a read", "TTS"],
        [_line(row) for row in record["solvers"]],
        dense=True,
    )
    best = record["best_known"]
    known = "nothing was found" if best is None else _figure(best)
    how = (
        f"proved by {record['proved_by']}"
        if record["proved_by"]
        else "the best of all solvers here, not proved"
    )
    for text in (
        f"Above, success: against the best known {record['figure']}, {known}, {how}. Intervals: 95 %.",
        f"TTS: wall clock until {record['target']:g} probability of success; > where no read "
        f"succeeded, proof where a solver proves. {record['seconds_per_solver']:g} s for each solver, reads "
        f"of {record['sweeps']} sweeps where it has sweeps; our annealer uses {record['cores']} cores.",
        f"Note: {record['note']}; the energies are those of the file." if record["note"] else "",
        *(f"{row['solver']}: {row['note']}." for row in record["solvers"] if row["note"]),
    ):
        if text:
            print_text(text)


def _line(row: dict[str, Any]) -> list[Any]:
    """Turn a row into cells, intervals on a line of their own; what was not reached stays empty."""
    figures = (row[name] for name in ("best", "above_best_known"))
    label = row["solver"].replace(":", "\n")
    cells = [label, *(None if value is None else _figure(value) for value in figures)]
    if row["proof_seconds"] is not None:
        return [*cells, None, "proof", None, in_time(row["proof_seconds"])]
    if "success" not in row:
        return [*cells, row["reads"] or None, None, None, None]
    low, high = map(_percent, row["success_interval"])
    return [
        *cells,
        row["reads"],
        f"{_percent(row['success'])} %\n{low}-{high}",
        in_time(row["seconds_per_read"]),
        _until(row["tts"], *row["tts_interval"]),
    ]


def _figure(value: float) -> str:
    """Turn a loss or an energy into text: whole numbers whole, others to six digits."""
    if float(value).is_integer() and abs(value) < _LARGEST_WHOLE:
        return f"{value:.0f}"
    return f"{value:.6g}"


def _percent(share: float) -> str:
    """Turn a share into percent, three digits at most."""
    percent = 100 * share
    return f"<{_LEAST_PERCENT}" if 0 < percent < _LEAST_PERCENT else f"{percent:.3g}"


def _until(seconds: float, first: float, last: float) -> str:
    """Time to solution with its interval; where no read succeeded, what it is above."""
    if math.isinf(seconds):
        return f"> {in_time(first)}"
    ends = [in_time(end) if math.isfinite(end) else "never" for end in (first, last)]
    if ends[0].split()[-1] == ends[1].split()[-1]:
        # The unit once.
        ends[0] = ends[0].split()[0]
    return f"{in_time(seconds)}\n{'-'.join(ends)}"
