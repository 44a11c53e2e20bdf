"""``isinglearn estimate``: the spins of a shape, or of a table, before anything is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from isinglearn.cli.common import Common, with_common
from isinglearn.cli.data import read_labelled, table_argument, table_options
from isinglearn.cli.networks import lowering_options, network_options, samples_of
from isinglearn.cli.parameters import COUNT, FILE, picture_to_write
from isinglearn.cli.printing import print_table

if TYPE_CHECKING:
    from isinglearn.lowering.budget import Budget, Shape

# What only one of the two ways to ask has.
_OF_SHAPES = ("inputs", "layers", "outputs", "samples", "plot")
_OF_TABLES = ("target", "features", "task", "activation", "weight_bits", "order", "signs", "box")


@click.command()
@table_argument(required=False)
@table_options
@network_options(hidden="3", weight_bits=None)
@lowering_options
@click.option(
    "-n",
    "--inputs",
    default=2,
    show_default=True,
    type=COUNT,
    metavar="N",
    help="Input features n.",
)
@click.option(
    "-L",
    "--layers",
    type=click.IntRange(2),
    metavar="N",
    help="Layers L, all hidden ones of width H.",
)
@click.option(
    "-m", "--outputs", default=1, show_default=True, type=COUNT, metavar="N", help="Outputs m."
)
@click.option(
    "-N", "--samples", default=50, show_default=True, type=COUNT, metavar="N", help="Samples N."
)
@click.option(
    "--plot",
    type=FILE,
    callback=picture_to_write,
    help="Draw the growth with N, H and L into this file.",
)
@with_common()
def estimate(common: Common, data: Path | None, **given: Any) -> None:
    """Print how many spins a network needs.

    Without a table: the paper's table 2 and the worst case of our compact form, from -n, -H, -L, -m, -B and
    -N. With one: the exact count that compile gives with the same options.
    """
    other = _OF_SHAPES if data is not None else _OF_TABLES
    for name in other:
        if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            which = "without a table" if data is not None else "with a table"
            raise click.UsageError(f"--{option} is for an estimate {which}.")
    if data is not None:
        _of_table(common, data, **{name: given[name] for name in given if name not in other})
    else:
        _of_shape(common, **{name: given[name] for name in given if name not in other})


def _of_table(
    common: Common,
    data: Path,
    target: str | None,
    features: tuple[str, ...] | None,
    task: str,
    hidden: tuple[int, ...],
    activation: str,
    input_bits: int,
    weight_bits: int | None,
    **options: Any,
) -> None:
    import isinglearn as il

    with common.progress("counting"):
        table, kind = read_labelled(data, target, features, task)
        samples = samples_of(
            table,
            kind,
            hidden,
            activation=activation,
            input_bits=input_bits,
            weight_bits=weight_bits,
        )
        budget = il.spin_budget(samples.network, samples.X, **options)
    title = f"{data.name}, {len(samples.X)} rows, {samples.network}"
    common.answer({"estimate": budget.to_dict()}, lambda: _show(budget, title))


def _of_shape(
    common: Common,
    inputs: int,
    hidden: tuple[int, ...],
    layers: int | None,
    outputs: int,
    input_bits: int,
    samples: int,
    plot: Path | None,
) -> None:
    from isinglearn.lowering.budget import Shape, complexity, growth, spin_budget

    H, L = _widths_and_layers(hidden, layers)
    shape = Shape(inputs, H, L, outputs, input_bits, samples)
    budget = spin_budget(shape)
    if plot is not None:
        from isinglearn.report.figures import draw_growth

        with common.progress("drawing"):
            draw_growth(growth(shape), plot)

    def show() -> None:
        _show(budget, _letters(shape))
        if plot is not None:
            click.echo(f"Growth drawn into {plot}")

    common.answer({"estimate": {**budget.to_dict(), "complexity": complexity(shape)}}, show)


def _widths_and_layers(hidden: tuple[int, ...], layers: int | None) -> tuple[int, int]:
    """Turn hidden widths and the number of layers, one of which may be left out, into H and L."""
    if len(set(hidden)) != 1:
        raise click.UsageError(
            "--hidden: the paper's count is for hidden layers of one width; with a table any will do."
        )
    if layers is not None and len(hidden) not in (1, layers - 1):
        raise click.UsageError(f"{len(hidden)} hidden layers are {len(hidden) + 1} layers in all.")
    return hidden[0], len(hidden) + 1 if layers is None else layers


def _letters(shape: Shape) -> str:
    return " ".join(f"{letter}={value}" for letter, value in vars(shape).items())


def _show(budget: Budget, title: str) -> None:
    print_table(
        f"The paper's form (table 2), {title}",
        ["variable", "spins"],
        [
            *map(list, budget.paper.items()),
            ["QCBO", budget.paper_qcbo],
            ["auxiliaries (estimate)", budget.paper_auxiliaries],
            ["QUBO (estimate)", budget.paper_qubo],
        ],
    )
    worst = "" if budget.exact else ", worst case over all data of this shape"
    print_table(
        f"The compact form{worst}",
        ["role", "spins"],
        [
            *map(list, budget.compact.items()),
            ["QUBO" if budget.exact else "QUBO at most", budget.compact_qubo],
        ],
    )
