"""``isinglearn compile``: a table to a QUBO file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import COUNT, as_json, print_json

if TYPE_CHECKING:
    from isinglearn.lowering.pipeline import Problem

# Labels that are numbers are written on a grid of this many steps on each side of 0.
LABEL_STEPS = 16


@click.command("compile")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="Column of the labels.")
@click.option("--hidden", default=3, show_default=True, type=COUNT, help="Hidden sign units.")
@click.option("--input-bits", default=4, show_default=True, help="Bits of the quantised features.")
@click.option(
    "--formulation",
    default="compact",
    show_default=True,
    type=click.Choice(["compact", "paper"]),
    help="Few spins, or the paper to the letter.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="problem.qubo, .coo, .npz or .json (dimod) for the QUBO, .lp for the constrained problem.",
)
@as_json
def compile_command(
    data: Path,
    target: str,
    hidden: int,
    input_bits: int,
    formulation: str,
    output: Path,
    as_json: bool,
) -> None:
    """Turn a table into the QUBO of training a two-layer network on it."""
    from isinglearn.errors import check_choice

    check_choice(output.suffix, (".qubo", ".coo", ".npz", ".json", ".lp"), "ending of --output")
    problem = problem_of(data, target, hidden, input_bits, formulation)
    write(problem, output)
    if as_json:
        print_json({"compile": {**problem.summary().to_dict(), "output": str(output)}})
        return
    click.echo(str(problem.summary()))
    click.echo(f"Written to {output}")


def problem_of(data: Path, target: str, hidden: int, input_bits: int, formulation: str) -> Problem:
    """Turn a table into a compiled problem: features quantised, labels as -1 and +1 or on a grid."""
    import numpy as np

    import isinglearn as il
    from isinglearn import nn
    from isinglearn.tables import read_table

    table = read_table(data, target)
    assert table.y is not None
    classes = np.unique(table.y)
    scale = 1
    if len(classes) == 2:
        labels: Any = np.where(table.y == classes[1], 1, -1)
    elif table.y.dtype.kind == "f" and len(classes) > 10:
        middle, reach = (table.y.max() + table.y.min()) / 2, (table.y.max() - table.y.min()) / 2
        scale = LABEL_STEPS
        labels = np.rint((table.y - middle) / reach * scale) / scale
    else:
        labels = np.where(table.y[:, None] == classes, 1, -1)
    outputs = 1 if labels.ndim == 1 else labels.shape[1]
    net = nn.Sequential(nn.Linear(table.X.shape[1], hidden), nn.Sign(), nn.Linear(hidden, outputs))
    X = il.quantise(table.X, input_bits)
    return il.compile(net, X, labels, formulation=formulation, label_scale=scale)


def write(problem: Problem, output: Path) -> None:
    """Write the form that the file's ending names."""
    if output.suffix == ".lp":
        problem.qcbo.write_lp(output)
    elif output.suffix == ".json":
        from isinglearn.problem.exports.files import replacing

        with replacing(output) as file:
            file.write(json.dumps(problem.qubo.to_bqm().to_serializable()).encode())
    else:
        problem.qubo.write(output)
