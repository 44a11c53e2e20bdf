"""Dimod samplers on the QUBO: any object with ``sample``, and D-Wave's simulated annealing by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isinglearn.errors import OptionError, SolverError, check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.session import Session


def sample_bits(sampler: Any, qubo: QUBO, **arguments: Any) -> IntArray:
    """Turn a QUBO into a sampler's assignments, one per read, in the order of its variables."""
    answer = sampler.sample(qubo.to_bqm(), **arguments)
    if not len(answer):
        return np.zeros((0, qubo.num_variables), dtype=np.int64)
    place = {name: i for i, name in enumerate(answer.variables)}
    bits = answer.record.sample[:, [place[name] for name in qubo.variables]].astype(np.int64)
    # Every read counts: success rates are measured on these rows.
    bits = np.repeat(bits, answer.record.num_occurrences, axis=0)
    return (bits + 1) // 2 if answer.vartype.name == "SPIN" else bits


class DimodSampler(Solver):
    """Any dimod sampler object; options go to its ``sample``."""

    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    traits: ClassVar[Traits] = Traits(seeded=False, interruptible=False)

    def __init__(self, sampler: Any) -> None:
        if not hasattr(sampler, "sample") or isinstance(sampler, type):
            raise SolverError(
                "this is no solver",
                where="solve(solver=...)",
                rule="a known name, a Solver or a dimod sampler",
                received=type(sampler).__name__,
                remedy="pass an object with a sample(bqm) method",
            )
        self.sampler = sampler
        self.name = type(sampler).__name__

    def read_options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Everything is the sampler's own."""
        return given

    def solve(self, form: QUBO, options: dict[str, Any], session: Session) -> Answer:
        """Sample; a time limit is passed on where the sampler has such a parameter."""
        given = dict(options)
        known = getattr(self.sampler, "parameters", None) or {}
        if "seed" in known:
            given.setdefault("seed", session.seed)
        if session.seconds is not None:
            if "time_limit" not in known:
                raise OptionError(
                    "this sampler cannot be given a time limit",
                    where=f"solve({self.name}, time_limit=...)",
                    rule="a sampler whose parameters include time_limit",
                    received=session.seconds,
                    remedy="limit it by its own parameters, such as num_reads",
                )
            given["time_limit"] = session.seconds
        return Answer(sample_bits(self.sampler, form, **given))


class DWaveAnnealing(Solver):
    """Simulated annealing of dwave-samplers on the QUBO."""

    name = "dwave-sa"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("dwave.samplers",)

    @dataclass(frozen=True)
    class Options:
        """Reads and sweeps per read."""

        num_reads: int = 100
        num_sweeps: int = 1000

        def __post_init__(self) -> None:
            check_count(self.num_reads, "num_reads")
            check_count(self.num_sweeps, "num_sweeps")

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Anneal read after read until all are done or it is stopped."""
        from dwave.samplers import SimulatedAnnealingSampler

        bits = sample_bits(
            SimulatedAnnealingSampler(),
            form,
            num_reads=options.num_reads,
            num_sweeps=options.num_sweeps,
            seed=session.seed,
            interrupt_function=lambda: session.stopped,
        )
        return Answer(bits)
