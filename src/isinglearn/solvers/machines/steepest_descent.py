"""Steepest descent of dwave-samplers on the QUBO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from isinglearn.errors import check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.solvers.dimod_sampler import sample_bits
from isinglearn.solvers.machines.rounds import collect
from isinglearn.solvers.session import Session

# A descent takes microseconds to milliseconds: enough of them to outweigh a call.
_READS_PER_ROUND = 100


class SteepestDescent(Solver):
    """Steepest descent of dwave-samplers from random assignments: the least a machine must beat."""

    name = "steepest-descent"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("dwave.samplers",)

    @dataclass(frozen=True)
    class Options:
        """Effort: the number of descents."""

        num_reads: int = 1000

        def __post_init__(self) -> None:
            check_count(self.num_reads, "num_reads")

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Descend round after round until all are done or it is stopped."""
        from dwave.samplers import SteepestDescentSampler

        def draw(seed: int, reads: int) -> IntArray:
            return sample_bits(SteepestDescentSampler(), form, num_reads=reads, seed=seed)

        return Answer(collect(form, session, options.num_reads, _READS_PER_ROUND, draw))
