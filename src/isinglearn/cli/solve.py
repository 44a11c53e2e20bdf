"""``isinglearn solve``: any QUBO file, by our annealer or an exact solver."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from isinglearn.cli.common import COUNT, SEED, as_json, print_json, print_table

SOLVERS = ("annealer", "tabu", "steepest-descent", "dwave-sa", "tree-decomposition")


@click.command("solve")
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--solver", default="annealer", show_default=True, type=click.Choice(SOLVERS), help="Sampler."
)
@click.option("--reads", default=100, show_default=True, type=COUNT, help="Independent reads.")
@click.option("--seed", default=0, show_default=True, type=SEED, help="Seed of the solver.")
@click.option("--time-limit", type=float, help="Seconds, for the annealer.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the best assignment as JSON: {name: 0 or 1}.",
)
@as_json
def solve_command(
    problem: Path,
    solver: str,
    reads: int,
    seed: int,
    time_limit: float | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Solve a QUBO file (.qubo, .coo, .npz, .json), wherever it comes from."""
    from isinglearn.problem.exports.files import replacing
    from isinglearn.problem.exports.reading import read_bqm

    model = read_bqm(problem)
    start = time.perf_counter()
    samples = _sampled(model, solver, reads, seed, time_limit)
    seconds = time.perf_counter() - start
    best = samples.first
    found = int((samples.record.energy == best.energy).sum())
    record: dict[str, Any] = {
        "spins": model.num_variables,
        "couplers": model.num_interactions,
        "solver": solver,
        "energy": float(best.energy),
        "reads": len(samples),
        "reads_with_that_energy": found,
        "proved": solver == "tree-decomposition",
        "seconds": seconds,
    }
    if output is not None:
        values = {str(name): int(value) for name, value in best.sample.items()}
        with replacing(output) as file:
            file.write(json.dumps(values).encode())
        record["output"] = str(output)
    if as_json:
        print_json({"solve": record})
        return
    print_table(f"{problem}", ["", "value"], [[name, value] for name, value in record.items()])


def _sampled(model: Any, solver: str, reads: int, seed: int, time_limit: float | None) -> Any:
    from dwave import samplers

    if solver == "annealer":
        from isinglearn.solvers.annealer.sampler import AnnealingSampler

        return AnnealingSampler().sample(model, num_reads=reads, seed=seed, time_limit=time_limit)
    if solver == "tree-decomposition":
        return samplers.TreeDecompositionSolver().sample(model)
    kinds: dict[str, Any] = {
        "tabu": samplers.TabuSampler,
        "steepest-descent": samplers.SteepestDescentSampler,
        "dwave-sa": samplers.SimulatedAnnealingSampler,
    }
    return kinds[solver]().sample(model, num_reads=reads, seed=seed)
