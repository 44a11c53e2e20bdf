"""Our own simulated Ising machine: annealing and parallel tempering on integers, over all cores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from isinglearn.errors import OptionError, check_choice, check_count
from isinglearn.problem.forms import HUBO, QUBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.session import Number, Session

METHODS = ("anneal", "temper")
MOVES = ("auto", "single", "follow")


class Annealer(Solver):
    """Simulated annealing and tempering on a QUBO or a HUBO, with the moves that networks need."""

    name = "annealer"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO, Form.HUBO)
    traits: ClassVar[Traits] = Traits(starts=True)
    requires: ClassVar[tuple[str, ...]] = ("numba",)

    @dataclass(frozen=True)
    class Options:
        """How much, and how.

        Attributes
        ----------
        num_reads, num_sweeps
            Independent reads, and proposals per spin (or parameter) in each.
        method
            ``"anneal"``: cool down once; ``"temper"``: ``replicas`` at fixed temperatures, exchanged.
        moves
            ``"single"``: one spin at a time; ``"follow"``: one parameter at a time with all that follows from
            it, for forms that the compiler made; ``"auto"``: ``follow`` where it is possible.
        replicas
            Of each read when tempering.
        hot, cold
            Ends of the temperature range in units of energy; derived from the problem if not given.
        target_energy
            Stop as soon as a read has reached it.
        threads
            As many as there are cores if not given; without a target the answer does not depend on it.
        """

        num_reads: int = 100
        num_sweeps: int = 1000
        method: str = "anneal"
        moves: str = "auto"
        replicas: int = 16
        hot: float | None = None
        cold: float | None = None
        target_energy: int | None = None
        threads: int | None = None

        def __post_init__(self) -> None:
            check_count(self.num_reads, "num_reads")
            check_count(self.num_sweeps, "num_sweeps")
            check_choice(self.method, METHODS, "method")
            check_choice(self.moves, MOVES, "moves")
            check_count(self.replicas, "replicas", 2, 4096)
            for name in ("hot", "cold"):
                _check_temperature(getattr(self, name), name)
            if self.target_energy is not None:
                check_count(self.target_energy, "target_energy", -(2**62), 2**62)
            if self.threads is not None:
                check_count(self.threads, "threads", 1, 4096)

    def prepare(self, form: QUBO | HUBO, options: Options) -> None:
        """Compile or load the kernels for forms of this kind."""
        from isinglearn.solvers.annealer.models import kind_of
        from isinglearn.solvers.annealer.warming import prepare_flips, prepare_walk

        if self._follows(form, options):
            prepare_walk()
        else:
            kind = kind_of(form.polynomial, form.num_variables)
            prepare_flips(kind, tempering=options.method == "temper")

    def solve(self, form: QUBO | HUBO, options: Options, session: Session) -> Answer:
        """Turn a form into the best assignment of every read."""
        from isinglearn.solvers.annealer.follow import Program
        from isinglearn.solvers.annealer.models import model_of
        from isinglearn.solvers.annealer.reads import thread_count
        from isinglearn.solvers.annealer.search import Effort, flip_spins, follow_parameters

        tempering = options.method == "temper"
        effort = Effort(
            options.num_reads,
            options.num_sweeps,
            thread_count(options.threads),
            options.hot,
            options.cold,
            options.target_energy,
            options.replicas if tempering else 0,
        )
        if self._follows(form, options):
            assert form.source is not None
            start = None if session.start is None else form.decode(session.start)[0]
            found = follow_parameters(Program.of(form.source), effort, session, start)
            return Answer(form.complete(found.rows))
        model = model_of(form.polynomial, form.num_variables)
        return Answer(flip_spins(model, effort, session, session.start).rows)

    def _follows(self, form: QUBO | HUBO, options: Options) -> bool:
        possible = form.source is not None and options.method == "anneal"
        if options.moves == "follow" and not possible:
            raise OptionError(
                "nothing is known of what follows from what",
                where="moves='follow'",
                rule="a form that the compiler made, and method='anneal'",
                received=f"{form} with method={options.method!r}",
                remedy="use moves='single' or 'auto'",
            )
        return possible and options.moves != "single"


def _check_temperature(value: object, where: str) -> None:
    if value is None or (not isinstance(value, bool) and isinstance(value, Number) and value > 0):
        return
    raise OptionError(
        "this is no temperature",
        where=where,
        rule="a number above 0, in units of the energy",
        received=repr(value),
        remedy="leave it out: it is derived from the problem",
    )
