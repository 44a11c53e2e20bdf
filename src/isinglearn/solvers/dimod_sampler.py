"""Dimod samplers on the QUBO, any object with ``sample``, and what their samples are as bits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from isinglearn.errors import OptionError, SolverError
from isinglearn.problem.bits import as_bits
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import HUBO, QUBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.session import Session


def sample_bits(sampler: Any, qubo: QUBO, **arguments: Any) -> IntArray:
    """Turn a QUBO into a sampler's assignments, one per read, in the order of its variables."""
    answer = sampler.sample(qubo.to_bqm(), **arguments)
    return bits_of_samples(answer, qubo, f"answer of {type(sampler).__name__}")


def is_sample_set(given: Any) -> bool:
    """Whether something is a dimod SampleSet, or looks like one."""
    return all(hasattr(given, name) for name in ("record", "variables", "vartype"))


def bits_of_samples(samples: Any, form: HUBO | QUBO, where: str) -> IntArray:
    """Turn a SampleSet, of any vartype and order, into bits, one row per read, in the form's order."""
    if not is_sample_set(samples):
        raise _unusable(where, "a dimod SampleSet", type(samples).__name__)
    if not len(samples):
        return np.zeros((0, form.num_variables), dtype=np.int64)
    place = {name: i for i, name in enumerate(samples.variables)}
    missing = [name for name in form.variables if name not in place]
    if missing:
        rule = f"a value for each of the {form.num_variables} variables, by name"
        raise _unusable(where, rule, f"nothing for {missing[0]!r} ({len(missing)} are missing)")
    vartype = getattr(samples.vartype, "name", str(samples.vartype))
    if vartype not in ("SPIN", "BINARY"):
        raise _unusable(where, "bits (BINARY) or spins (SPIN)", vartype)
    values = samples.record.sample[:, [place[name] for name in form.variables]]
    bits = (1 + values) / 2 if vartype == "SPIN" else values
    # Every read counts: success rates are measured on these rows.
    rows = np.repeat(bits, samples.record.num_occurrences, axis=0)
    return as_bits(rows, form.num_variables, where)


def _unusable(where: str, rule: str, received: str) -> SolverError:
    return SolverError(
        "these samples cannot be read",
        where=where,
        rule=rule,
        received=received,
        remedy="dimod.SampleSet.from_samples_bqm makes one of samples and the model, variables by name",
    )


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
