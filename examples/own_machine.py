"""Your own Ising machine: anything that takes a dimod model and returns samples.

The machine here is thirty lines of NumPy and knows nothing of networks. isinglearn compiles the training to a
QUBO, hands it over, and reads, repairs and rechecks what comes back.

    python examples/own_machine.py
"""

from __future__ import annotations

from typing import Any, ClassVar

import dimod
import numpy as np

import isinglearn as il
from isinglearn.paper.instances import TASKS


class CoolingMachine(dimod.Sampler):
    """Single spin flips at falling temperatures, all reads at once."""

    parameters: ClassVar[dict[str, list[str]]] = {"num_reads": [], "sweeps": [], "seed": []}
    properties: ClassVar[dict[str, Any]] = {}

    def sample(
        self, bqm: dimod.BQM, num_reads: int = 200, sweeps: int = 300, seed: int = 0
    ) -> dimod.SampleSet:
        """Turn a model into samples, as every dimod sampler does."""
        linear, (row, column, value), _, labels = bqm.spin.to_numpy_vectors(return_labels=True)
        coupling = np.zeros((len(linear), len(linear)))
        np.add.at(coupling, (row, column), value)
        coupling += coupling.T
        rng = np.random.default_rng(seed)
        spins = rng.choice([-1.0, 1.0], (num_reads, len(linear)))
        for heat in np.geomspace(np.abs(coupling).max() * 2, 0.5, sweeps):
            for place in rng.permutation(len(linear)):
                rise = -2 * spins[:, place] * (linear[place] + spins @ coupling[place])
                accepted = np.log(rng.random(num_reads)) < -rise / heat
                spins[accepted, place] *= -1
        return dimod.SampleSet.from_samples_bqm((spins.astype(np.int8), labels), bqm.spin)


def main() -> None:
    """Train on the first task of the paper, and see what the machine's reads are worth."""
    task = TASKS[0]
    problem = il.compile(task.network, task.X, task.y)
    run = il.solve(problem, CoolingMachine(), num_reads=200)
    optimum = il.solve(problem, "brute").best.loss
    right = sum(problem.scores(run.result.vectors) == optimum * problem.qcbo.scale)
    model = problem.qubo.to_bqm()
    print(f"QUBO        {model.num_variables} spins, {model.num_interactions} couplers")
    print(f"best loss   {run.best.loss} (proved optimum {optimum}), {run.verdict}")
    print(f"reads       {right} of {len(run.result.vectors)} decode to an optimal network")


if __name__ == "__main__":
    main()
