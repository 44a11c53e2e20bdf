"""``solve``: one door to every solver; what comes back is decoded, repaired and verified."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import isinglearn.solvers  # noqa: F401 - registers the solvers
from isinglearn.decode import Solution, accuracy, solution
from isinglearn.errors import SolverError, check_count
from isinglearn.lowering.incumbent import EVALUATIONS, candidates, descend
from isinglearn.lowering.pipeline import Problem
from isinglearn.solvers.annealing import sample_with
from isinglearn.solvers.base import Result, Status, solver_named
from isinglearn.verify import Verdict, verify


@dataclass(frozen=True, eq=False)
class Run:
    """An answered problem.

    Attributes
    ----------
    problem, solver, seed
        What was asked.
    status, seconds
        How it ended, and the solver's wall time (compiling excluded).
    result
        All networks found, best first.
    """

    problem: Problem
    solver: str
    seed: int
    seconds: float
    result: Result

    @property
    def status(self) -> Status:
        """What the solver says of its answer."""
        return self.result.status

    @cached_property
    def best(self) -> Solution:
        """The network of least loss."""
        if not len(self.result.vectors):
            raise SolverError(
                "no network was found",
                where=f"solver={self.solver!r}",
                rule="at least one read",
                received=self.status.value,
                remedy="give it more time, more reads or another solver",
            )
        bits = None if self.result.bits is None else self.result.bits[0]
        return solution(self.problem, self.result.vectors[0], bits)

    @cached_property
    def verdict(self) -> Verdict:
        """An independent recheck of ``best``."""
        energies = self.result.energies
        claimed = None if energies is None else int(energies[0])
        return verify(self.problem, self.best.parameters, self.best.bits, claimed)

    @property
    def accuracy(self) -> Fraction:
        """Share of training samples with the right sign."""
        return accuracy(self.problem, self.best.parameters)

    def record(self) -> dict[str, Any]:
        """Everything worth keeping, as plain JSON values."""
        return {
            "format": "isinglearn-run",
            "version": 1,
            "solver": self.solver,
            "seed": self.seed,
            "status": self.status.value,
            "seconds": self.seconds,
            "formulation": self.problem.options.formulation,
            "loss": float(self.best.loss),
            "loss_fraction": str(self.best.loss),
            "accuracy": float(self.accuracy),
            "parameters": {name: v.tolist() for name, v in self.best.parameters.items()},
            "consistent": self.verdict.consistent,
            "violations": list(self.verdict.violations),
        }

    def save(self, path: str | Path) -> None:
        """Write the record as JSON."""
        Path(path).write_text(json.dumps(self.record(), indent=2) + "\n")


def solve(
    problem: Problem,
    solver: Any = "dwave-sa",
    *,
    seed: int = 0,
    polish: int = 0,
    **options: Any,
) -> Run:
    """Turn a compiled problem into a run: networks, best first, decoded, repaired and verified.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    solver
        A name, or any dimod sampler (its ``sample`` gets the QUBO and ``options``).
    seed
        Same seed, same answer, for the named solvers.
    polish
        Improve this many of the best networks by coordinate descent on their true loss.
    """
    check_count(seed, "seed", 0)
    check_count(polish, "polish", 0)
    if isinstance(solver, str):
        chosen = solver_named(solver)
        read = chosen.read_options(options)
        chosen.prepare(problem)
        start = time.perf_counter()
        result = chosen.solve(problem, read, seed)
        name = solver
    else:
        _ = problem.qubo
        start = time.perf_counter()
        result = sample_with(solver, problem, **options)
        name = type(solver).__name__
    if polish:
        result = _polished(problem, result, polish)
    return Run(problem, name, seed, time.perf_counter() - start, result)


def _polished(problem: Problem, result: Result, count: int) -> Result:
    """Add what coordinate descent makes of the best networks, with their consistent bits."""
    starts = list(dict.fromkeys(tuple(vector) for vector in result.vectors.tolist()))[:count]
    if not starts:
        return result
    values = [candidates(domain) for domain in problem.used_domains]
    budget = EVALUATIONS // len(problem.data)
    found, _ = descend(values, problem.scores, np.array(starts), budget, Random(0))
    vectors = np.concatenate([found, result.vectors])
    order = np.argsort(problem.scores(vectors), kind="stable")
    if result.bits is None or result.energies is None:
        return Result(result.status, vectors[order])
    new_bits = problem.qubo.complete(problem.complete(found))
    bits = np.concatenate([new_bits, result.bits])
    energies = np.concatenate([problem.qubo.energy(new_bits), result.energies])
    return Result(result.status, vectors[order], bits[order], energies[order])
