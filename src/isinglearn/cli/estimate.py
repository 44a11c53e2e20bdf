"""``isinglearn estimate``."""

from __future__ import annotations

from pathlib import Path

import click

from isinglearn.cli.common import as_json, print_json, print_table


@click.command()
@click.option("-n", "--inputs", default=2, show_default=True, help="Input features n.")
@click.option("-H", "--hidden", default=3, show_default=True, help="Units per hidden layer H.")
@click.option("-L", "--layers", default=2, show_default=True, help="Layers L.")
@click.option("-m", "--outputs", default=1, show_default=True, help="Outputs m.")
@click.option("-B", "--input-bits", default=4, show_default=True, help="Input bit width B.")
@click.option("-N", "--samples", default=50, show_default=True, help="Samples N.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the growth with N, H and L into this file.",
)
@as_json
def estimate(
    inputs: int,
    hidden: int,
    layers: int,
    outputs: int,
    input_bits: int,
    samples: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Print how many spins a shape needs: the paper's table 2 and our compact form."""
    from isinglearn.lowering.budget import Shape, complexity, growth, spin_budget

    shape = Shape(inputs, hidden, layers, outputs, input_bits, samples)
    budget = spin_budget(shape)
    if plot is not None:
        from isinglearn.report.figures import draw_growth

        draw_growth(growth(shape), plot)
    if as_json:
        print_json({"estimate": {**budget.to_dict(), "complexity": complexity(shape)}})
        return
    print_table(
        f"The paper's form (table 2), n={inputs} H={hidden} L={layers} m={outputs} "
        f"B={input_bits} N={samples}",
        ["variable", "spins"],
        [
            *map(list, budget.paper.items()),
            ["QCBO", budget.paper_qcbo],
            ["auxiliaries (estimate)", budget.paper_auxiliaries],
            ["QUBO (estimate)", budget.paper_qubo],
        ],
    )
    print_table(
        "The compact form, worst case over all data of this shape",
        ["role", "spins"],
        [*map(list, budget.compact.items()), ["QUBO at most", budget.compact_qubo]],
    )
    if plot is not None:
        click.echo(f"Growth drawn into {plot}")
