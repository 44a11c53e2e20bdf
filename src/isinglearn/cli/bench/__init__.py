"""``isinglearn bench``: solvers side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from isinglearn.cli.bench.showing import show
from isinglearn.cli.common import Common, with_common
from isinglearn.cli.exits import Exit
from isinglearn.cli.parameters import COUNT, FILE, one_of, qubo_to_read
from isinglearn.lowering.options import FORMULATIONS

if TYPE_CHECKING:
    from isinglearn.cli.bench.cases import Case
    from isinglearn.cli.bench.measuring import Entry, Tally

INSTANCES = ("I", "II", "III", "mnist", "moons10", "moons50")


def _labels(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Turn "a,b:option=value" into labels, none of them twice."""
    labels = [part.strip() for part in (value or "").split(",") if part.strip()]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise click.BadParameter(f"'{twice}' is named twice; a row needs a label of its own.")
    return tuple(labels)


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
    help="How the instance is compiled; not with a file.",
)
@click.option(
    "--solvers",
    metavar="A,B:OPTION=VALUE,...",
    callback=_labels,
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
    solvers: tuple[str, ...],
    sweeps: int,
    target: float,
) -> None:
    """Measure solvers side by side: success and time to solution.

    On a QUBO file, where the energy counts, or on an instance of the paper, where the loss of the decoded
    network counts. Ctrl-C ends it with what was measured so far.
    """
    _check_one(problem, instance)
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
        "note": case.note,
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
    common.answer({"bench": record}, lambda: show(record))
    if not seen:
        click.get_current_context().exit(Exit.NO_ANSWER)


def _check_one(problem: Path | None, instance: str | None) -> None:
    """Refuse a file and an instance together, neither of them, and what belongs to the other one."""
    if problem is not None and instance is not None:
        raise click.UsageError("Give a file with a QUBO or --instance, not both.")
    if problem is None and instance is None:
        raise click.UsageError("Give a file with a QUBO, or --instance.")
    source = click.get_current_context().get_parameter_source("formulation")
    if problem is not None and source is not ParameterSource.DEFAULT:
        raise click.UsageError(
            "--formulation is how an --instance is compiled; a file is compiled already."
        )


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
    if common.interrupts.seen:
        for tally in tallies.values():
            if tally.best is None and not tally.note:
                tally.note = "stopped before it found anything"
    return tallies
