"""``isinglearn bench``: solvers side by side."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import Common, with_common
from isinglearn.cli.exits import Exit
from isinglearn.cli.parameters import COUNT, FILE, names, one_of, qubo_to_read
from isinglearn.cli.printing import in_time, print_table
from isinglearn.lowering.options import FORMULATIONS

if TYPE_CHECKING:
    from isinglearn.cli.bench.cases import Case
    from isinglearn.cli.bench.measuring import Entry, Tally

INSTANCES = ("I", "II", "III", "mnist", "moons10", "moons50")


@click.command("bench")
@click.argument("problem", type=FILE, callback=qubo_to_read, required=False)
@click.option(
    "--instance", **one_of(INSTANCES), help="Instead of a file: an instance of the paper, compiled."
)
@click.option(
    "--formulation",
    default="compact",
    show_default=True,
    **one_of(FORMULATIONS),
    help="How the instance is compiled.",
)
@click.option(
    "--solvers",
    metavar="A,B:OPTION=VALUE,...",
    callback=names,
    help="Who competes; by default all that are installed here and take a QUBO.",
)
@click.option(
    "--sweeps",
    default=1000,
    show_default=True,
    type=COUNT,
    metavar="N",
    help="Sweeps of each read.",
)
@click.option(
    "--target",
    default=0.99,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Probability of success that the time to solution is for.",
)
@with_common(seed="Seed of the solvers.", time_limit="Seconds for each solver.", seconds=5.0)
def bench_command(
    common: Common,
    problem: Path | None,
    instance: str | None,
    formulation: str,
    solvers: tuple[str, ...] | None,
    sweeps: int,
    target: float,
) -> None:
    """Measure solvers side by side: success and time to solution.

    On a QUBO file, where the energy counts, or on an instance of the paper, where the loss of the decoded
    network counts. Ctrl-C ends it with what was measured so far.
    """
    if (problem is None) == (instance is None):
        raise click.UsageError("Give a file with a QUBO, or --instance.")
    from isinglearn.cli.bench.cases import case_of_file, case_of_instance, proved
    from isinglearn.cli.bench.measuring import Entry, default_labels
    from isinglearn.solvers.annealer.reads import thread_count

    seconds = common.time_limit or 0.0
    entries = [Entry.of(label) for label in solvers or default_labels(network=problem is None)]
    with common.progress("preparing") as bar:
        compiled = None
        if problem is not None:
            case = case_of_file(problem)
        else:
            case, compiled = case_of_instance(str(instance), formulation)
        bar.title, bar.figure = "proving the optimum", case.figure
        case = proved(case, compiled, seconds, bar.on_event)
    common.stop_if_interrupted()
    tallies = _measured(common, entries, case, sweeps, seconds)
    seen = [tally.best for tally in tallies.values() if tally.best is not None]
    if not seen:
        common.stop_if_interrupted()
    least = case.least if case.least is not None else min(seen, default=None)
    record: dict[str, Any] = {
        "case": case.name,
        "spins": case.qubo.num_variables,
        "couplers": case.qubo.num_couplers,
        "figure": case.figure,
        "best_known": None if least is None else case.shown(least),
        "proved_by": case.by or None,
        "sweeps": sweeps,
        "target": target,
        "seconds_per_solver": seconds,
        "cores": thread_count(None),
        "interrupted": common.interrupts.seen,
        "solvers": [
            {"solver": label, **tally.figures(case, least, target)}
            for label, tally in tallies.items()
        ],
    }
    common.answer({"bench": record}, lambda: _show(record))
    if not seen:
        click.get_current_context().exit(Exit.NO_ANSWER)


def _measured(
    common: Common, entries: list[Entry], case: Case, sweeps: int, seconds: float
) -> dict[str, Tally]:
    """Let all solvers work, one after the other, until Ctrl-C."""
    from isinglearn.cli.bench.measuring import Tally, measure

    tallies = {entry.label: Tally() for entry in entries}
    with common.progress("measuring", limit=seconds * len(entries), figure=case.figure) as bar:
        for done, entry in enumerate(entries):
            bar.step(done, len(entries), entry.label)
            try:
                measure(
                    tallies[entry.label],
                    entry,
                    case,
                    sweeps=sweeps,
                    seconds=seconds,
                    seed=common.seed,
                    stopped=lambda: common.interrupts.seen,
                )
                common.stop_if_interrupted()
            except KeyboardInterrupt:
                # What was counted by then stays.
                break
            found = [tally.best for tally in tallies.values() if tally.best is not None]
            bar.best = case.shown(min(found)) if found else None
    return tallies


def _show(record: dict[str, Any]) -> None:
    """Print the table, and how to read it."""
    print_table(
        f"{record['case']}: {record['spins']} spins, {record['couplers']} couplers",
        ["solver", record["figure"], "above", "reads", "success", "a read", "TTS"],
        [_line(row) for row in record["solvers"]],
        dense=True,
    )
    known = "nothing was found" if record["best_known"] is None else f"{record['best_known']:.6g}"
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
        *(f"{row['solver']}: {row['note']}." for row in record["solvers"] if row["note"]),
    ):
        click.echo(click.wrap_text(text, 80))


def _line(row: dict[str, Any]) -> list[Any]:
    """Turn a row into cells; what was not reached stays empty."""
    figures = (row[name] for name in ("best", "above_best_known"))
    label = row["solver"].replace(":", "\n")
    cells = [label, *(None if value is None else f"{value:.4g}" for value in figures)]
    if row["proof_seconds"] is not None:
        return [*cells, None, "proof", None, in_time(row["proof_seconds"])]
    if "success" not in row:
        return [*cells, row["reads"] or None, None, None, None]
    low, high = (f"{100 * share:.2g}" for share in row["success_interval"])
    return [
        *cells,
        row["reads"],
        f"{100 * row['success']:.2g} %\n{low}-{high}",
        in_time(row["seconds_per_read"]),
        _until(row["tts"], *row["tts_interval"]),
    ]


def _until(seconds: float, first: float, last: float) -> str:
    """Time to solution with its interval; where no read succeeded, what it is above."""
    if math.isinf(seconds):
        return f"> {in_time(first)}"
    ends = [in_time(end) if math.isfinite(end) else "never" for end in (first, last)]
    return f"{in_time(seconds)}\n{'-'.join(ends)}"
