"""Augmented Lagrangian against plain penalties: coefficient range, and success of single flips.

Every way gets the same number of reads and sweeps on the same machine: our annealer with single flips, which
sees a QUBO's coefficients and no more. A read counts if its network, repaired by a forward pass, has the
least loss. The ways:

certified          the compiler's QUBO as it is by default; its weights know a good network beforehand
certified, product the same with products first, the order that the strategy uses
repair, product    weights proved from the samples' worst losses alone
plain, rho         products first, all weights ``first_rho`` or ``largest_rho``: what the strategy begins
                   with and what it may use at most
lagrangian         the strategy: weights up to ``largest_rho``, multipliers up to certified weights

    python benchmarks/lagrangian.py              # a quarter of an hour
    python benchmarks/lagrangian.py --quick --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import isinglearn as il
from isinglearn.decode import decode_vectors
from isinglearn.lowering.penalties import Certificate
from isinglearn.lowering.pipeline import INFEASIBLE
from isinglearn.lowering.to_hubo import to_hubo
from isinglearn.lowering.to_qubo import to_qubo
from isinglearn.paper.instances import MNIST, TASKS, Instance, two_moons
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.training.lagrangian import Lagrangian
from isinglearn.training.lagrangian.relaxation import Prices, coefficient_range
from isinglearn.training.machine import Machine
from isinglearn.training.strategy import Task

STEPS, READS, SWEEPS, SEEDS = 30, 20, 1000, 5
# The paper's rows are long: a weight of one unit of energy is the least there is.
PAPER_RHO = 0.25


@dataclass(frozen=True)
class Line:
    """One way on one instance.

    ``runs`` are those of all seeds that found the optimum, ``best_over_optimum`` is how far the best read of
    a run is above it, ``median_over_optimum`` how far a read is; both in losses, none where
    the form cannot express the networks.
    """

    instance: str
    way: str
    spins: int
    largest_coefficient: int
    range_bits: float
    success_per_read: float
    runs: str
    best_over_optimum: float | None
    median_over_optimum: float | None


class Counting(Lagrangian):
    """The strategy, with a record of every read and of its coefficients."""

    def __init__(self, task: Task, options: Lagrangian.Options) -> None:
        super().__init__(task, options)
        self.scores: list[IntArray] = []
        self.ranges: list[tuple[int, float]] = []

    @property
    def done(self) -> bool:
        """Only when all steps were taken: equal effort for all."""
        return self.counts["step"] >= self.options.steps

    def keep(self, rows: IntArray) -> None:
        """Count, then keep."""
        self.ranges.append(coefficient_range(self.qubo))
        vectors = decode_vectors(self.problem, self.problem.qubo, rows)
        self.scores.append(self.problem.scores(vectors))
        super().keep(rows)


def line(
    name: str,
    way: str,
    problem: il.Problem,
    reach: tuple[int, float],
    loss: Fraction,
    scores: list[IntArray],
) -> Line:
    """Turn the scores of all seeds into a line."""
    scale = problem.qcbo.scale
    optimum = int(loss * scale)
    found = [bool((one == optimum).any()) for one in scores]
    best = np.mean([one.min() for one in scores]) - optimum
    middle = np.median(np.concatenate(scores)) - optimum
    return Line(
        name,
        way,
        problem.qubo.num_variables,
        reach[0],
        round(reach[1], 1),
        float(np.mean([(one == optimum).mean() for one in scores])),
        f"{sum(found)}/{len(found)}",
        over(best, scale),
        over(middle, scale),
    )


def over(score: Any, scale: int) -> float | None:
    """Turn a difference of scores into one of losses."""
    return None if score > INFEASIBLE / 100 else round(float(score) / scale, 4)


def plain(problem: il.Problem, qubo: QUBO, effort: tuple[int, int, int]) -> list[IntArray]:
    """Scores of all reads, for every seed."""
    steps, sweeps, seeds = effort
    machine = Machine.of("auto", steps * READS, sweeps)
    rows = [machine.minimise(qubo, seed, 1e9) for seed in range(seeds)]
    return [problem.scores(decode_vectors(problem, qubo, found)) for found in rows]


def repair_only(problem: il.Problem) -> QUBO:
    """The QUBO whose weights know no network."""
    training = problem.training
    worst = dict(zip(training.samples.tolist(), training.worst.tolist(), strict=True))
    certificate = Certificate(training.lowest + int(training.worst.sum()), training.lowest, worst)
    hubo = to_hubo(problem.qcbo, problem.options, certificate)
    return to_qubo(hubo, "product", problem.options, certificate)


def compare(name: str, instance: Instance, effort: tuple[int, int, int], form: str) -> list[Line]:
    """All ways on one instance."""
    steps, sweeps, seeds = effort
    net, X, y = instance.network, instance.X, instance.y
    default = il.compile(net, X, y, formulation=form)
    compact = il.compile(net, X, y)
    exact = il.solve(compact, "patterns" if instance.layers == 2 else "cpsat", time_limit=120)
    options: dict[str, Any] = {
        "steps": steps,
        "reads": READS,
        "sweeps": sweeps,
        "formulation": form,
    }
    if form == "paper":
        options |= {"first_rho": PAPER_RHO, "largest_rho": PAPER_RHO}
    tasks = [Task(net, X, y, "square", seed=seed) for seed in range(seeds)]
    runs = [Counting(task, Counting.Options(**options)) for task in tasks]
    first = runs[0]
    ways = [("certified", default, default.qubo)]
    if form == "compact":
        ways.append(("certified, product", first.problem, first.problem.qubo))
        ways.append(("repair, product", first.problem, repair_only(first.problem)))
    for rho in sorted({first.options.first_rho, first.options.largest_rho}):
        weights = np.full(len(first.relaxation), max(1, round(first.unit * rho)))
        qubo = first.relaxation.weighted(Prices(weights, 0 * weights))
        ways.append((f"plain, rho {weights[0]}", first.problem, qubo))
    lines = []
    for way, problem, qubo in ways:
        scores = plain(problem, qubo, effort)
        lines.append(line(name, way, problem, coefficient_range(qubo), exact.best.loss, scores))
    for run in runs:
        while not run.done:
            run.step()
    scores = [np.concatenate(run.scores) for run in runs]
    ranges = [reach for run in runs for reach in run.ranges]
    most = max(reach[0] for reach in ranges), max(reach[1] for reach in ranges)
    return [*lines, line(name, "lagrangian", first.problem, most, exact.best.loss, scores)]


def main() -> None:
    """Compare on all instances."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, no moons of 50 samples")
    given = parser.parse_args()
    effort = (10, SWEEPS, 2) if given.quick else (STEPS, SWEEPS, SEEDS)
    cases = [("I", TASKS[0]), ("II", TASKS[1]), ("III", TASKS[2]), ("MNIST 6/9", MNIST)]
    cases += [(f"moons {n}", two_moons(n)) for n in ((10, 20) if given.quick else (10, 20, 50))]
    forms = [(*case, "compact") for case in cases]
    forms += [(f"{name}, paper form", case, "paper") for name, case in (cases[0], cases[3])]
    lines: list[Line] = []
    for name, instance, form in forms:
        found = compare(name, instance, effort, form)
        lines += found
        if given.json:
            continue
        for entry in found:
            print(
                f"{entry.instance:20} {entry.way:20} {entry.spins:5} spins  |c| <= "
                f"{entry.largest_coefficient:6} ({entry.range_bits:4} bits)  p = "
                f"{entry.success_per_read:.4f}  runs {entry.runs}  above optimum: best "
                f"{entry.best_over_optimum}, median {entry.median_over_optimum}",
                flush=True,
            )
    if given.json:
        about = {"steps": effort[0], "reads": READS, "sweeps": effort[1], "seeds": effort[2]}
        print(json.dumps({**about, "lines": [asdict(entry) for entry in lines]}, indent=1))


if __name__ == "__main__":
    main()
