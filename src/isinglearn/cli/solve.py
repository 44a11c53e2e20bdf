"""``isinglearn solve``: a QUBO file by any solver that takes one, an LP file by CP-SAT."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import Common, output, with_common
from isinglearn.cli.parameters import FILE, pairs, problem_to_read
from isinglearn.cli.printing import print_values


@click.command("solve")
@click.argument("problem", type=FILE, callback=problem_to_read)
@click.option(
    "--solver",
    default="auto",
    show_default=True,
    help="By default a proof where spins are coupled loosely, else annealing.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=pairs,
    help="Option of the solver, such as num_reads=1000; 'isinglearn solvers NAME' lists them.",
)
@output(None, "Write the best assignment as JSON: {name: value}.")
@with_common(seed="Seed of the solver.", time_limit="Seconds; the best so far is kept.")
def solve_command(
    common: Common, problem: Path, solver: str, options: dict[str, Any], output: Path | None
) -> None:
    """Solve a problem file, wherever it comes from.

    QUBOs: .qubo of qbsolv, .coo and .json of dimod, which may be over spins, .npz of ours or of scipy.
    Constrained problems over whole numbers: .lp, by CP-SAT.
    """
    from isinglearn.solvers import plain
    from isinglearn.solvers.plain import lp

    with common.progress("reading", figure="energy") as bar:
        given: dict[str, Any] = {
            "seed": common.seed,
            "time_limit": common.time_limit,
            "on_event": bar.on_event,
        }
        bar.title, bar.limit = "solving", common.time_limit
        if problem.suffix == ".lp":
            solved = lp.solve(problem, solver, options, **given)
        else:
            solved = plain.solve(plain.PlainQUBO.read(problem), solver, options, **given)
    if output is not None:
        from isinglearn.problem.exports.files import replacing

        with replacing(output) as file:
            file.write(json.dumps(solved.sample).encode())
    record: dict[str, Any] = {
        **solved.size,
        "solver": solved.solver,
        "reason": solved.reason,
        "status": solved.status.value,
        "energy": solved.energy,
        "bound": solved.bound,
        "gap": None if solved.bound is None else solved.energy - solved.bound,
        "reads": solved.reads,
        "reads_with_that_energy": solved.alike,
        "seconds": solved.seconds,
        "interrupted": common.interrupts.seen,
        "note": solved.note,
        "output": None if output is None else str(output),
    }
    common.answer({"solve": record}, lambda: print_values(str(problem), record))
