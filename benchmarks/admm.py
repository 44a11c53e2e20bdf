"""ADMM and blocks against solving all samples at once: loss reached, QUBOs, their size, seconds.

    python benchmarks/admm.py              # about four minutes
    python benchmarks/admm.py --quick --json

Direct with an exact solver gives the least loss; direct with single flips is the same machine that ADMM has.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import isinglearn as il
from isinglearn.paper.instances import MNIST, TASKS, Instance, two_moons
from isinglearn.training.admm import Admm
from isinglearn.training.strategy import Task


@dataclass(frozen=True)
class Line:
    """One way on one instance, over all seeds."""

    instance: str
    way: str
    best_loss: float
    mean_loss: float
    at_optimum: str
    qubos: float
    spins: int
    seconds: float


def direct(name: str, instance: Instance, seeds: int) -> list[Line]:
    """The whole problem: exactly, by the annealer as it is, and by single flips."""
    problem = il.compile(instance.network, instance.X, instance.y)
    exact = "patterns" if instance.layers == 2 else "cpsat"
    ways: dict[str, tuple[str, dict[str, Any]]] = {}
    ways |= {f"direct, {exact}": (exact, {}), "direct, annealer": ("annealer", {})}
    ways["direct, single flips"] = ("annealer", {"moves": "single", "num_reads": 400})
    lines: list[Line] = []
    for way, (solver, options) in ways.items():
        count = 1 if solver == exact else seeds
        _ = problem.qubo.polynomial
        runs = [il.solve(problem, solver, seed=seed, **options) for seed in range(count)]
        losses = [float(run.best.loss) for run in runs]
        seconds = float(np.mean([run.seconds for run in runs]))
        least = lines[0].best_loss if lines else min(losses)
        spins = problem.qubo.num_variables if solver == "annealer" else 0
        lines.append(line(name, way, losses, least, (float(spins > 0), spins, seconds)))
    return lines


def admm(name: str, instance: Instance, seeds: int, least: float, samples: int) -> Line:
    """ADMM with groups of so many samples."""
    losses, qubos, seconds, spins = [], [], [], 0
    for seed in range(seeds):
        started = time.perf_counter()
        task = Task(instance.network, instance.X, instance.y, "square", seed=seed)
        training = Admm(task, Admm.Options(samples=samples))
        while not training.done:
            training.step()
        seconds.append(time.perf_counter() - started)
        losses.append(training.evaluate(instance.X, instance.y)[0])
        qubos.append(training.counts["qubos"])
        spins = max(spins, training.counts["spins"])
    figures = float(np.mean(qubos)), spins, float(np.mean(seconds))
    return line(name, f"admm, {samples} samples", losses, least, figures)


def blocks(name: str, instance: Instance, seeds: int, least: float, steps: int) -> Line:
    """Decomposed training of so many steps, on the same loss."""
    how: dict[str, Any] = {"strategy": "decomposed", "loss": "square", "steps": steps}
    runs = [il.train(instance.network, instance.X, instance.y, seed=s, **how) for s in range(seeds)]
    figures = (
        float(np.mean([run.qubos for run in runs])),
        max(run.max_spins for run in runs),
        float(np.mean([run.seconds for run in runs])),
    )
    return line(name, f"decomposed, {steps} steps", [run.loss for run in runs], least, figures)


def line(
    name: str, way: str, losses: list[float], least: float, figures: tuple[float, int, float]
) -> Line:
    """Turn the losses of all seeds into a line."""
    right = sum(np.isclose(losses, least).tolist())
    score = f"{right}/{len(losses)}"
    return Line(name, way, min(losses), float(np.mean(losses)), score, *figures)


def main() -> None:
    """Compare on all instances."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, no moons of 50 samples")
    given = parser.parse_args()
    seeds = 3 if given.quick else 5
    cases = [("I", TASKS[0]), ("II", TASKS[1]), ("III", TASKS[2]), ("MNIST 6/9", MNIST)]
    cases += [(f"moons {n}", two_moons(n)) for n in ((10, 20) if given.quick else (10, 20, 50))]
    lines: list[Line] = []
    for name, instance in cases:
        found = direct(name, instance, seeds)
        least = found[0].best_loss
        found += [admm(name, instance, seeds, least, samples) for samples in (2, 4)]
        found.append(blocks(name, instance, seeds, least, 300))
        lines += found
        for entry in () if given.json else found:
            print(
                f"{entry.instance:10} {entry.way:22} loss {entry.best_loss:.4f} (mean "
                f"{entry.mean_loss:.4f}, optimum {entry.at_optimum})  {entry.qubos:g} QUBOs of at "
                f"most {entry.spins} spins  {entry.seconds:.2f} s",
                flush=True,
            )
    if given.json:
        print(json.dumps([asdict(entry) for entry in lines], indent=1))


if __name__ == "__main__":
    main()
