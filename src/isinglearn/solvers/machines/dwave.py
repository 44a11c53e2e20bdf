"""D-Wave's machines on the QUBO: a quantum annealer after minor embedding, or Leap's hybrid solver.

The token comes from the environment variable ``DWAVE_API_TOKEN`` or from D-Wave's own configuration file;
D-Wave's client reads it, nothing here keeps it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from isinglearn.errors import OptionError, ProblemRefused, SolverError, check_choice, check_count
from isinglearn.problem.forms import QUBO
from isinglearn.solvers.base import Answer, Form, Solver, Traits
from isinglearn.solvers.dimod_sampler import sample_bits
from isinglearn.solvers.machines.rounds import no_rows
from isinglearn.solvers.session import Session, check_seconds

MACHINES = ("qpu", "hybrid")
# Seconds to look for an embedding; minorminer's own default is a quarter of an hour.
EMBEDDING_SECONDS = 60.0


class EmbeddingSize(NamedTuple):
    """What an embedding costs: physical qubits in all, and in the longest chain."""

    qubits: int
    longest_chain: int


@dataclass(frozen=True, eq=False)
class Embedding:
    """Chains of qubits that act as one spin each, by the names of the spins."""

    chains: dict[str, list[int]]

    @property
    def size(self) -> EmbeddingSize:
        """What it costs."""
        lengths = [len(chain) for chain in self.chains.values()]
        return EmbeddingSize(sum(lengths), max(lengths, default=0))


class DWave(Solver):
    """Sends the QUBO to D-Wave: a quantum annealer, after minor embedding, or the hybrid solver.

    Parameters
    ----------
    sampler
        Takes the place of the service: a structured sampler such as ``DWaveSampler`` or its mock for
        ``machine="qpu"``, one such as ``LeapHybridSampler`` for ``machine="hybrid"``. By default D-Wave's
        own configuration says which.
    """

    name = "dwave"
    accepts: ClassVar[tuple[Form, ...]] = (Form.QUBO,)
    # A job that is submitted is paid for: it is waited for.
    traits: ClassVar[Traits] = Traits(seeded=False, interruptible=False, remote=True)
    requires: ClassVar[tuple[str, ...]] = ("dwave.system",)
    install: ClassVar[str] = "pip install 'isinglearn[dwave]'"

    @dataclass(frozen=True)
    class Options:
        """Which machine, and what it is asked for.

        Attributes
        ----------
        machine
            ``"qpu"`` for a quantum annealer, ``"hybrid"`` for Leap's hybrid solver; the latter takes the
            time limit as its run time, and its own minimum without one.
        num_reads
            Anneals (qpu).
        annealing_time
            Microseconds of one anneal (qpu); the machine's default if ``None``.
        chain_strength
            Coupling within a chain (qpu), in the units of the energy; D-Wave's rule if ``None``.
        embedding_seconds
            How long to look for an embedding (qpu).
        """

        machine: str = "qpu"
        num_reads: int = 100
        annealing_time: float | None = None
        chain_strength: float | None = None
        embedding_seconds: float = EMBEDDING_SECONDS

        def __post_init__(self) -> None:
            check_choice(self.machine, MACHINES, "machine")
            check_count(self.num_reads, "num_reads")
            _check_positive(self.annealing_time, "annealing_time")
            _check_positive(self.chain_strength, "chain_strength")
            check_seconds(self.embedding_seconds, "embedding_seconds")

    def __init__(self, sampler: Any = None) -> None:
        self.sampler = sampler

    def solve(self, form: QUBO, options: Options, session: Session) -> Answer:
        """Submit once, unless stopped before, and return what the machine read."""
        if session.stopped:
            return Answer(no_rows(form), note="stopped before anything was submitted")
        solve = _solve_on_qpu if options.machine == "qpu" else _solve_on_hybrid
        with _connection(self.sampler, options.machine) as sampler:
            answer = solve(sampler, form, options, session)
        if len(answer.rows):
            session.tell(energy=int(form.energy(answer.rows).min()))
        return answer


def embed(
    qubo: QUBO, target: Any, *, seed: int = 0, seconds: float = EMBEDDING_SECONDS
) -> Embedding:
    """Turn a QUBO and a machine into chains of qubits, or into a refusal if none are found.

    Parameters
    ----------
    qubo
        What is to be embedded: its spins and which of them interact.
    target
        The machine: a structured sampler, or its graph (of networkx, such as D-Wave's
        ``pegasus_graph(16)``), for which no token is needed.
    seed
        Same seed, same embedding, unless time cuts it short.
    seconds
        How long to look for one.
    """
    import minorminer

    model = qubo.to_bqm()
    # A spin without neighbours is not in any pair: its own loop keeps it.
    source = [*model.quadratic, *((name, name) for name in model.variables)]
    edges = target.edgelist if hasattr(target, "edgelist") else target.edges
    chains = minorminer.find_embedding(source, list(edges), random_seed=seed, timeout=seconds)
    if len(chains) < len(model.variables):
        raise ProblemRefused(
            "no embedding of this problem into the machine's graph was found",
            where="solver='dwave'",
            rule=f"every spin a chain of qubits, found within {seconds:.3g} s",
            received=f"{qubo.num_variables} spins, {qubo.num_couplers} couplers",
            remedy="use machine='hybrid', a smaller network or fewer samples, or more embedding_seconds",
        )
    return Embedding({name: list(chains[name]) for name in qubo.variables})


def embedding_size(
    qubo: QUBO, target: Any, *, seed: int = 0, seconds: float = EMBEDDING_SECONDS
) -> EmbeddingSize:
    """Turn a QUBO and a machine into the number of physical qubits and the longest chain.

    Nothing is submitted, and with a graph as ``target`` no token is needed. See :func:`embed`.
    """
    return embed(qubo, target, seed=seed, seconds=seconds).size


def _solve_on_qpu(sampler: Any, qubo: QUBO, options: DWave.Options, session: Session) -> Answer:
    from dwave.system import FixedEmbeddingComposite

    try:
        seconds = min(options.embedding_seconds, session.left)
        found = embed(qubo, sampler, seed=session.seed, seconds=seconds)
    except ProblemRefused:
        if session.stopped:
            return Answer(no_rows(qubo), note="stopped while looking for an embedding")
        raise
    size = found.size
    told = f"{qubo.num_variables} spins in {size.qubits} qubits, longest chain {size.longest_chain}"
    session.tell(message=f"embedding: {told}")
    if session.stopped:
        return Answer(no_rows(qubo), note=f"stopped before it was submitted: {told}")
    given: dict[str, Any] = {"num_reads": options.num_reads}
    if options.annealing_time is not None:
        given["annealing_time"] = options.annealing_time
    if options.chain_strength is not None:
        given["chain_strength"] = options.chain_strength
    composite = FixedEmbeddingComposite(sampler, found.chains)
    return Answer(sample_bits(composite, qubo, **given), note=told)


def _solve_on_hybrid(sampler: Any, qubo: QUBO, options: DWave.Options, session: Session) -> Answer:
    if session.seconds is None:
        return Answer(sample_bits(sampler, qubo))
    least, left = float(sampler.min_time_limit(qubo.to_bqm())), session.left
    if left < least:
        raise ProblemRefused(
            "the hybrid solver does not run for so short a time",
            where="solve(solver='dwave', machine='hybrid', time_limit=...)",
            rule=f"at least {least:g} s for {qubo.num_variables} spins",
            received=f"{left:.3g} s left",
            remedy="raise time_limit or leave it out",
        )
    return Answer(sample_bits(sampler, qubo, time_limit=left))


@contextmanager
def _connection(given: Any, machine: str) -> Iterator[Any]:
    """The sampler that was given, or one for D-Wave's service, closed afterwards."""
    if given is not None:
        yield given
        return
    sampler = _connect(machine)
    try:
        yield sampler
    finally:
        sampler.client.close()


def _connect(machine: str) -> Any:
    """Turn D-Wave's configuration into a sampler of its service, or into an error that says what to do."""
    from dwave.cloud.config import load_config
    from dwave.system import DWaveSampler, LeapHybridSampler

    try:
        configured = bool(load_config().get("token"))
        if configured:
            return DWaveSampler() if machine == "qpu" else LeapHybridSampler()
    except Exception as error:
        # The client has many errors, and those of the network come on top; all mean the same here.
        raise SolverError(
            "D-Wave's service cannot be used",
            where="solver='dwave'",
            rule=f"a valid token, and a {machine} solver that it may use",
            received=f"{type(error).__name__}: {error}",
            remedy="check the connection and the token, for instance by 'dwave ping'",
        ) from error
    raise SolverError(
        "there is no token for D-Wave's service",
        where="solver='dwave'",
        rule="a token in DWAVE_API_TOKEN or in D-Wave's configuration file",
        received="none",
        remedy="set the environment variable DWAVE_API_TOKEN to your token, or run 'dwave setup'",
    )


def _check_positive(value: object, where: str) -> None:
    if value is None:
        return
    if not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < float("inf"):
        return
    raise OptionError(
        "this is no positive number",
        where=where,
        rule="a number above 0, or None for the machine's own choice",
        received=repr(value),
        remedy="leave it out or give a number above 0",
    )
