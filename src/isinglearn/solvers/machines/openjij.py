"""OpenJij's simulated annealing and simulated quantum annealing on the QUBO."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from isinglearn.errors import check_choice, check_count
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.solvers.dimod_sampler import sample_bits
from isinglearn.solvers.machines.rounds import collect
from isinglearn.solvers.session import Session

METHODS = ("sa", "sqa")


class OpenJij(Solver):
    """OpenJij's annealing on the QUBO: simulated, or simulated quantum (path integral)."""

    name = "openjij"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    requires: ClassVar[tuple[str, ...]] = ("openjij",)
    install: ClassVar[str] = "pip install 'isinglearn[openjij]'"

    @dataclass(frozen=True)
    class Options:
        """Method and effort.

        Attributes
        ----------
        method
            ``"sa"`` for simulated annealing, ``"sqa"`` for simulated quantum annealing.
        num_reads, num_sweeps
            Reads, and sweeps over all spins in each of them.
        trotter
            Copies of the problem that ``"sqa"`` couples.
        """

        method: str = "sa"
        num_reads: int = 100
        num_sweeps: int = 1000
        trotter: int = 4

        def __post_init__(self) -> None:
            check_choice(self.method, METHODS, "method")
            check_count(self.num_reads, "num_reads")
            check_count(self.num_sweeps, "num_sweeps")
            check_count(self.trotter, "trotter", 2)

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Anneal read after read until all are done or it is stopped."""
        import openjij
        from threadpoolctl import threadpool_limits

        quantum = options.method == "sqa"
        sampler = openjij.SQASampler() if quantum else openjij.SASampler()
        given: dict[str, Any] = {"num_sweeps": options.num_sweeps}
        if quantum:
            given["trotter"] = options.trotter

        def draw(seed: int, reads: int) -> IntArray:
            with _kept_numpy_state():
                return sample_bits(sampler, form, num_reads=reads, seed=seed, **given)

        # Its threads wait for each other after every spin: on cores that are shared, hundreds of times
        # slower than one.
        with threadpool_limits(limits=1, user_api="openmp"):
            # One read per round: with one seed OpenJij makes all reads of a call alike.
            return Answer(collect(form, session, options.num_reads, 1, draw))


@contextmanager
def _kept_numpy_state() -> Iterator[None]:
    """Keep NumPy's global random numbers from OpenJij, which seeds them for its schedule."""
    state = np.random.get_state()  # noqa: NPY002 - the caller's, whatever we think of it
    try:
        yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
