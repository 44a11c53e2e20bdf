"""Dimod samplers: any object with ``sample``, and D-Wave's simulated annealing by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isinglearn.decode import decode_vectors
from isinglearn.errors import SolverError, check_count
from isinglearn.lowering.pipeline import Problem
from isinglearn.solvers.base import Result, Solver, Status


def sample_with(sampler: Any, problem: Problem, **arguments: Any) -> Result:
    """Turn a problem into networks by sampling its QUBO; every read is decoded and repaired."""
    if not hasattr(sampler, "sample"):
        raise SolverError(
            "this is no solver",
            where="solve(solver=...)",
            rule="a known name or a dimod sampler",
            received=type(sampler).__name__,
            remedy="pass an object with a sample(bqm) method",
        )
    names = list(problem.qubo.variables)
    answer = sampler.sample(problem.qubo.to_bqm(), **arguments).aggregate()
    if not len(answer):
        return Result(Status.NONE_FOUND, np.zeros((0, len(problem.free_domains)), dtype=np.int64))
    place = {name: i for i, name in enumerate(answer.variables)}
    bits = answer.record.sample[:, [place[name] for name in names]].astype(np.int64)
    bits = (bits + 1) // 2 if answer.vartype.name == "SPIN" else bits
    vectors = decode_vectors(problem, problem.qubo, bits)
    energies = problem.qubo.energy(bits)
    # Best network first; among equal ones the read of lowest energy, the least inconsistent.
    order = np.lexsort([energies, problem.scores(vectors)])
    return Result(Status.FEASIBLE, vectors[order], bits[order], energies[order])


class DWaveAnnealing(Solver):
    """Simulated annealing of dwave-samplers on the QUBO."""

    name: ClassVar[str] = "dwave-sa"

    @dataclass(frozen=True)
    class Options:
        """Reads and sweeps per read."""

        num_reads: int = 100
        num_sweeps: int = 1000

        def __post_init__(self) -> None:
            check_count(self.num_reads, "num_reads")
            check_count(self.num_sweeps, "num_sweeps")

    def prepare(self, problem: Problem) -> None:
        """Lower to the QUBO."""
        _ = problem.qubo

    def solve(self, problem: Problem, options: Options, seed: int = 0) -> Result:
        """Turn a problem into repaired networks, one per read."""
        from dwave.samplers import SimulatedAnnealingSampler

        return sample_with(
            SimulatedAnnealingSampler(),
            problem,
            num_reads=options.num_reads,
            num_sweeps=options.num_sweeps,
            seed=seed,
        )
