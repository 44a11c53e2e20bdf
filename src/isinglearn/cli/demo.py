"""``isinglearn demo``."""

from __future__ import annotations

from pathlib import Path

import click

from isinglearn.cli.common import Common, picture, with_common
from isinglearn.cli.parameters import COUNT
from isinglearn.cli.printing import print_table


@click.command()
@click.option(
    "--samples", default=50, show_default=True, type=COUNT, metavar="N", help="Points of two moons."
)
@click.option(
    "--reads", default=100, show_default=True, type=COUNT, metavar="N", help="Annealing runs."
)
@picture("demo.png")
@with_common(seed="Seed of the annealer.", time_limit="Seconds for the annealer.")
def demo(common: Common, samples: int, reads: int, output: Path) -> None:
    """Train a network on two moons: compile, anneal, verify, draw."""
    import isinglearn as il
    from isinglearn.paper.instances import two_moons
    from isinglearn.report.figures import draw_decision_regions, trained

    with common.progress("compiling") as bar:
        moons = two_moons(samples)
        problem = il.compile(moons.network, moons.X, moons.y)
        spins = problem.qubo.num_variables
        bar.title, bar.limit = f"annealing {spins} spins", common.time_limit
        run = il.solve(
            problem,
            "annealer",
            seed=common.seed,
            time_limit=common.time_limit,
            num_reads=reads,
            on_event=bar.on_event,
        )
        bar.title = "drawing"
        loss, share = float(run.best.loss), float(run.accuracy)
        title = f"loss {loss:.3f}, accuracy {share:.0%}"
        draw_decision_regions(trained(problem, run.best.parameters), title, output)
        budget = il.spin_budget(moons.network, moons.X)

    def show() -> None:
        click.echo(str(problem.summary()))
        print_table(
            f"Two moons, {samples} points, {problem.network}",
            ["", "value"],
            [
                ["spins", spins],
                ["spins in the paper's form", f"about {budget.paper_qubo}"],
                ["annealing", f"{reads} reads in {run.seconds:.1f} s"],
                ["loss", f"{loss:.4f} ({run.best.loss})"],
                ["accuracy", f"{share:.1%}"],
                ["verdict", str(run.verdict)],
                ["picture", str(output)],
            ],
        )

    record = {**run.record(), "spins": spins, "interrupted": common.interrupts.seen}
    common.answer({"demo": record}, show)
