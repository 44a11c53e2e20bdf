"""``isinglearn demo``."""

from __future__ import annotations

from pathlib import Path

import click

from isinglearn.cli.common import COUNT, SEED, as_json, picture, print_json, print_table


@click.command()
@click.option("--samples", default=50, show_default=True, type=COUNT, help="Points of two moons.")
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the annealer.")
@click.option("--reads", default=100, show_default=True, type=COUNT, help="Annealing runs.")
@picture("demo.png")
@as_json
def demo(samples: int, seed: int, reads: int, output: Path, as_json: bool) -> None:
    """Train a two-layer network on two moons: compile, anneal, decode, verify, draw."""
    import isinglearn as il
    from isinglearn.paper.instances import two_moons
    from isinglearn.report.figures import draw_decision_regions, trained

    moons = two_moons(samples)
    problem = il.compile(moons.network, moons.X, moons.y)
    run = il.solve(problem, "annealer", seed=seed, num_reads=reads)
    loss, share = float(run.best.loss), float(run.accuracy)
    title = f"loss {loss:.3f}, accuracy {share:.0%}"
    draw_decision_regions(trained(problem, run.best.parameters), title, output)
    budget = il.spin_budget(moons.network, moons.X)
    if as_json:
        print_json({"demo": {**run.record(), "spins": problem.qubo.num_variables}})
        return
    click.echo(str(problem.summary()))
    print_table(
        f"Two moons, {samples} points, {problem.network}",
        ["", "value"],
        [
            ["spins", problem.qubo.num_variables],
            ["spins in the paper's form", f"about {budget.paper_qubo}"],
            ["annealing", f"{reads} reads in {run.seconds:.1f} s"],
            ["loss", f"{loss:.4f} ({run.best.loss})"],
            ["accuracy", f"{share:.1%}"],
            ["verdict", str(run.verdict)],
            ["picture", str(output)],
        ],
    )
