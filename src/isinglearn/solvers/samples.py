"""``read_samples``: what a machine of one's own returned, to networks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isinglearn.errors import OptionError, check_choice
from isinglearn.lowering.pipeline import Problem
from isinglearn.problem.bits import as_bits
from isinglearn.solvers.base import Answer, Form
from isinglearn.solvers.dimod_sampler import bits_of_samples, is_sample_set
from isinglearn.solvers.reading import form_of, read
from isinglearn.solvers.run import Run
from isinglearn.solvers.session import check_seconds


def read_samples(
    problem: Problem,
    samples: Any,
    *,
    form: str = "qubo",
    solver: str = "samples",
    seconds: float | None = None,
) -> Run:
    """Turn samples from elsewhere into a run: networks, best first, decoded, repaired and verified.

    Parameters
    ----------
    problem
        What ``isinglearn.compile`` returned.
    samples
        Bits of shape (reads, spins), in the order of ``problem.qubo.variables``; spins ``s`` of -1 and +1
        become bits by ``(1 + s) / 2``. Or a dimod ``SampleSet`` over these variables, of bits or spins, in
        any order; a sample that occurred several times counts as often.
    form
        What was solved: ``"qubo"``, or ``"hubo"`` with the bits of ``problem.hubo``.
    solver
        Name of the machine, for the record.
    seconds
        How long it took, if times to solution are wanted.
    """
    if not isinstance(problem, Problem):
        raise OptionError(
            "this is of the wrong kind",
            where="read_samples(problem)",
            rule="what isinglearn.compile returned",
            received=type(problem).__name__,
            remedy="compile a network and data first",
        )
    taken = Form(check_choice(form, (Form.QUBO, Form.HUBO), "form"))
    took = 0.0 if seconds is None else check_seconds(seconds, "seconds")
    lowered = form_of(problem, taken)
    if is_sample_set(samples):
        rows = bits_of_samples(samples, lowered, "samples")
    else:
        rows = as_bits(samples, lowered.num_variables, "samples")
    result = read(problem, taken, Answer(rows))
    arguments = {"form": form, "solver": solver, "seconds": seconds}
    usual = {"form": "qubo", "solver": "samples", "seconds": None}
    given = {name: value for name, value in arguments.items() if value != usual[name]}
    run = Run(problem, solver, None, took, result, arguments=given)
    return replace(run, events=(run.outcome,))
