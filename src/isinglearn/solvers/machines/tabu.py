"""Tabu search of dwave-samplers on the QUBO."""

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

# The sampler counts milliseconds in a 32-bit integer; this is 11 days.
_LONGEST_READ = 1e6


class Tabu(Solver):
    """Multistart tabu search of dwave-samplers on the QUBO."""

    name = "tabu"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("dwave.samplers",)

    @dataclass(frozen=True)
    class Options:
        """Effort.

        Attributes
        ----------
        num_reads
            Independent searches, each from a random assignment.
        num_restarts
            How often each search starts again from a disturbed good assignment; 0 for a single one.
        """

        num_reads: int = 10
        num_restarts: int = 10

        def __post_init__(self) -> None:
            check_count(self.num_reads, "num_reads")
            check_count(self.num_restarts, "num_restarts", 0)

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Search read after read until all are done or it is stopped."""
        from dwave.samplers import TabuSampler

        def draw(seed: int, reads: int) -> IntArray:
            return sample_bits(
                TabuSampler(),
                form,
                num_reads=reads,
                num_restarts=options.num_restarts,
                timeout=_milliseconds(session),
                seed=seed,
            )

        # One read per round: the time that is left can only be given to a single one.
        return Answer(collect(form, session, options.num_reads, 1, draw))


def _milliseconds(session: Session) -> int | None:
    """The time left for a read; without a limit none, since a clock makes a seed worthless."""
    if session.seconds is None:
        return None
    return max(1, int(1000 * min(session.left, _LONGEST_READ)))
