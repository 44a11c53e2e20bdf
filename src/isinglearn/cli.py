"""The command line: arguments in, public API, tables or JSON out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from isinglearn import __version__
from isinglearn.errors import IsingLearnError


class _Group(click.Group):
    """Suggests the nearest command for a misspelt one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from difflib import get_close_matches

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], self.list_commands(ctx), n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"{error.message.rstrip('.')}.{hint}", ctx=ctx) from error


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="isinglearn")
def app() -> None:
    """Train multi-layer neural networks on Ising machines."""


_COUNT = click.IntRange(min=1)
_SEED = click.IntRange(0, 2**31 - 1)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value))


def _print_table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    Console().print(table)


@app.command()
@click.option("--samples", default=50, show_default=True, type=_COUNT, help="Points of two moons.")
@click.option("--seed", default=0, show_default=True, type=_SEED, help="Seed of the annealer.")
@click.option("--reads", default=300, show_default=True, type=_COUNT, help="Annealing runs.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("demo.png"),
    show_default=True,
    help="Where to write the picture.",
)
@as_json
def demo(samples: int, seed: int, reads: int, output: Path, as_json: bool) -> None:
    """Train a two-layer network on two moons: compile, anneal, decode, verify, draw."""
    import isinglearn as il
    from isinglearn.paper.instances import two_moons
    from isinglearn.report.figures import draw_decision_regions

    moons = two_moons(samples)
    problem = il.compile(moons.network, moons.X, moons.y)
    run = il.solve(problem, "dwave-sa", seed=seed, num_reads=reads, num_sweeps=1000, polish=20)
    loss, share = float(run.best.loss), float(run.accuracy)
    draw_decision_regions(
        lambda points: problem.network.forward(run.best.parameters, points),
        moons.X,
        moons.y,
        f"loss {loss:.3f}, accuracy {share:.0%}",
        output,
    )
    budget = il.spin_budget(moons.network, moons.X)
    if as_json:
        _print_json({"demo": {**run.record(), "spins": problem.qubo.num_variables}})
        return
    click.echo(str(problem.summary()))
    _print_table(
        f"Two moons, {samples} points, {problem.network}",
        ["", "value"],
        [
            ["spins", problem.qubo.num_variables],
            ["spins in the paper's form", f"about {budget.paper_qubo}"],
            ["annealing", f"{reads} reads, the best 20 polished, in {run.seconds:.1f} s"],
            ["loss", f"{loss:.4f} ({run.best.loss})"],
            ["accuracy", f"{share:.1%}"],
            ["verdict", str(run.verdict)],
            ["picture", str(output)],
        ],
    )


@app.command()
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
        _print_json({"estimate": {**budget.to_dict(), "complexity": complexity(shape)}})
        return
    _print_table(
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
    _print_table(
        "The compact form, worst case over all data of this shape",
        ["role", "spins"],
        [*map(list, budget.compact.items()), ["QUBO at most", budget.compact_qubo]],
    )
    if plot is not None:
        click.echo(f"Growth drawn into {plot}")


@app.group(cls=_Group)
def reproduce() -> None:
    """Run the paper's experiments and print its figures beside ours."""


@reproduce.command()
@as_json
def counts(as_json: bool) -> None:
    """Numbers of binary variables, table 3 and the other printed ones."""
    from isinglearn.paper.counts import count_spins

    rows = count_spins()
    if as_json:
        _print_json({"counts": rows})
        return
    paper_spins = {row["task"]: row["qubo"] for row in rows if row["formulation"] == "paper"}
    _print_table(
        "Binary variables",
        ["task", "formulation", "QCBO", "QUBO", "paper QCBO", "paper QUBO", "of the paper form"],
        [
            [
                row["task"],
                row["formulation"],
                row["qcbo"],
                row["qubo"],
                row["paper_qcbo"],
                row["paper_qubo"],
                f"{row['qubo'] / paper_spins[row['task']]:.2f}",
            ]
            for row in rows
        ],
    )


def main() -> None:
    """Run the command line; errors of ours are one line and exit code 2, without a traceback."""
    try:
        app()
    except IsingLearnError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        click.echo(f"Error: {error.strerror}: {error.filename}", err=True)
        sys.exit(1)
