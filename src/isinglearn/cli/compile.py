"""``isinglearn compile``: a table to a QUBO file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import Common, output, with_common
from isinglearn.cli.data import read_labelled, table_argument, table_options
from isinglearn.cli.networks import lowering_options, network_options, samples_of
from isinglearn.cli.parameters import COUNT, one_of, problem_to_write
from isinglearn.lowering.options import FORMULATIONS

if TYPE_CHECKING:
    from isinglearn.lowering.pipeline import Problem

# Losses that a QUBO can express, as isinglearn.training has them; its import takes a second.
LOSSES = ("square", "hinge")


@click.command("compile")
@table_argument()
@table_options
@network_options(hidden="3", weight_bits=None)
@click.option(
    "--loss", default="square", show_default=True, **one_of(LOSSES), help="What is minimised."
)
@click.option(
    "--label-scale",
    default=128,
    show_default=True,
    type=COUNT,
    metavar="N",
    help="Numbers as labels become multiples of one over this.",
)
@click.option(
    "--formulation",
    default="compact",
    show_default=True,
    **one_of(FORMULATIONS),
    help="Few spins, or the paper to the letter.",
)
@lowering_options
@click.option(
    "--penalty", type=COUNT, metavar="N", help="Weight of penalties, by hand; not certified then."
)
@click.option("--product-weight", type=COUNT, metavar="N", help="Weight of products, by hand.")
@output(
    None,
    "problem.qubo, .coo, .npz or .json (dimod) for the QUBO, .lp for the constrained problem.",
    required=True,
    callback=problem_to_write,
)
@with_common()
def compile_command(
    common: Common,
    data: Path,
    target: str | None,
    features: tuple[str, ...] | None,
    task: str,
    hidden: tuple[int, ...],
    activation: str,
    input_bits: int,
    weight_bits: int | None,
    loss: str,
    label_scale: int,
    output: Path,
    **options: Any,
) -> None:
    """Turn a table into the QUBO of training a network on it.

    Every row becomes part of one problem, as train --strategy direct would solve it.
    """
    from isinglearn.training.compiling import compiled

    with common.progress("compiling") as bar:
        table, kind = read_labelled(data, target, features, task)
        samples = samples_of(
            table,
            kind,
            hidden,
            activation=activation,
            input_bits=input_bits,
            weight_bits=weight_bits,
            loss=loss,
            label_scale=label_scale,
        )
        scale = label_scale if kind == "regress" else 1
        problem = compiled(
            samples.network, loss, samples.X, samples.y, label_scale=scale, **options
        )
        for done, form in enumerate(forms := ("qcbo", "hubo", "qubo")):
            bar.step(done, len(forms), form.upper())
            getattr(problem, form)
        bar.message = f"writing {output.name}"
        write(problem, output)
        summary = problem.summary()
    record = {**summary.to_dict(), "output": str(output)}

    def show() -> None:
        click.echo(str(summary))
        click.echo(f"Written to {output}")

    common.answer({"compile": record}, show)


def write(problem: Problem, output: Path) -> None:
    """Write the form that the file's ending names."""
    if output.suffix == ".lp":
        problem.qcbo.write_lp(output)
    else:
        problem.qubo.write(output)
