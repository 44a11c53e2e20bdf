"""What every adapter must do, on small problems; those whose packages are missing are skipped."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import isinglearn as il
import isinglearn.solvers.machines
from isinglearn import nn
from isinglearn.errors import OptionError, ProblemRefused, SolverError
from isinglearn.problem.variables import bit_block
from isinglearn.solvers.base import SOLVERS, Form, Solver, Status
from isinglearn.solvers.machines.rounds import collect
from isinglearn.solvers.session import Session

NAMES = (
    "tabu",
    "steepest-descent",
    "openjij",
    "simulated-bifurcation",
    "dwave",
    "amplify",
    "qaoa",
)


@dataclass(frozen=True)
class Case:
    """A machine with options: quick ones, many short reads, and a few that would take for ever."""

    name: str
    quick: dict[str, Any] = field(default_factory=dict)
    many: dict[str, Any] = field(default_factory=dict)
    endless: dict[str, Any] = field(default_factory=dict)


LOCAL = {
    "tabu": Case(
        "tabu",
        {"num_reads": 3, "num_restarts": 3},
        {"num_reads": 10**6, "num_restarts": 0},
        {"num_restarts": 10**6},
    ),
    "steepest-descent": Case("steepest-descent", {}, {"num_reads": 10**8}),
    "openjij": Case("openjij", {"num_reads": 20}, {"num_reads": 10**6}),
    "openjij sqa": Case(
        "openjij", {"method": "sqa", "num_reads": 20}, {"method": "sqa", "num_reads": 10**6}
    ),
    "bifurcation": Case(
        "simulated-bifurcation", {"agents": 100}, {"agents": 10**8}, {"max_steps": 10**8}
    ),
    "bifurcation ballistic": Case(
        "simulated-bifurcation", {"mode": "ballistic"}, {"mode": "ballistic", "agents": 10**8}
    ),
    "qaoa": Case("qaoa", {"evaluations": 30}, {"evaluations": 10**6, "layers": 12}),
}
REMOTE = {"dwave": Case("dwave"), "dwave hybrid": Case("dwave", {"machine": "hybrid"})}
REMOTE["amplify"] = Case("amplify")


def net(*widths: int) -> nn.Sequential:
    modules: list[nn.Module] = []
    for before, after in pairwise(widths):
        modules += [nn.Linear(before, after), nn.Sign()]
    return nn.Sequential(*modules[:-1])


@cache
def trivial() -> il.Problem:
    """Two points, 9 spins; a network of loss 0 exists."""
    return il.compile(net(1, 1, 1), [[0], [1]], [-1, 1])


@cache
def harder() -> il.Problem:
    """Three points that no network fits, 13 spins."""
    return il.compile(net(1, 1, 1), [[0], [1], [2]], [1, -1, 1])


@cache
def ground_energy(case: str) -> int:
    qubo = {"trivial": trivial, "harder": harder}[case]().qubo
    every = np.array(list(product((0, 1), repeat=qubo.num_variables)))
    return int(qubo.energy(every).min())


class HybridStandIn:
    """Leap's hybrid solver as far as it is used: exact, with a least run time."""

    least = 3.0

    def __init__(self) -> None:
        self.submitted: list[Any] = []

    def min_time_limit(self, model: Any) -> float:
        return self.least

    def sample(self, model: Any, **given: Any) -> Any:
        import dimod

        self.submitted.append((model, given))
        return dimod.ExactSolver().sample(model).truncate(5)


def mock_qpu(**options: Any) -> Any:
    """A mock of a quantum annealer that anneals."""
    testing = pytest.importorskip("dwave.system.testing")
    from dwave.samplers import SimulatedAnnealingSampler

    return testing.MockDWaveSampler(
        topology_type="pegasus",
        topology_shape=[4],
        substitute_sampler=SimulatedAnnealingSampler(),
        substitute_kwargs={"num_sweeps": 1000, "seed": 1},
        **options,
    )


@pytest.fixture(params=[*LOCAL, *REMOTE])
def machine(request: pytest.FixtureRequest) -> tuple[Solver, Case]:
    """Each machine, the remote ones with a stand-in for their service."""
    case = (LOCAL | REMOTE)[request.param]
    if case.name == "amplify":
        request.getfixturevalue("amplify")
    chosen = SOLVERS[case.name]
    if not chosen.available():
        pytest.skip(f"needs {', '.join(chosen.requires)}: {chosen.install}")
    if case.name == "dwave":
        service = HybridStandIn() if case.quick else mock_qpu()
        return chosen(service), case
    return chosen(), case


@pytest.mark.parametrize("name", NAMES)
def test_it_declares_what_it_is(name):
    solver = SOLVERS[name]
    assert solver.__doc__
    assert solver.accepts == (Form.QUBO,)
    assert not solver.traits.exact
    assert solver.Options() == solver.Options()
    assert "pip install" in solver.install
    solver()


def test_listing_them_imports_none_of_their_packages():
    code = (
        "import sys, isinglearn.solvers.machines\n"
        "from isinglearn.solvers.base import SOLVERS\n"
        "[solver.available() for solver in SOLVERS.values()]\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"amplify", "dimod", "minorminer", "openjij", "qiskit", "qiskit_aer", "torch"}
    heavy |= {"dwave.samplers", "dwave.system", "simulated_bifurcation", "threadpoolctl"}
    assert heavy.isdisjoint(done.stdout.split())


@pytest.mark.parametrize("case", ["trivial", "harder"])
def test_it_finds_the_optimum(machine, case):
    solver, own = machine
    problem = {"trivial": trivial, "harder": harder}[case]()
    run = il.solve(problem, solver, **own.quick)
    assert run.result.energies.min() == ground_energy(case)
    assert run.best.loss == Fraction(ground_energy(case), problem.qubo.scale)
    # A loss of 0 is its own proof; a heuristic has no other.
    assert run.status is (Status.OPTIMAL if case == "trivial" else Status.FEASIBLE)


def test_rows_are_bits_in_the_order_of_the_variables(machine):
    solver, own = machine
    qubo = harder().qubo
    session = Session(qubo.scale)
    answer = solver.solve(qubo, solver.read_options(own.quick), session)
    assert answer.rows.dtype == np.int64
    assert answer.rows.shape[1] == qubo.num_variables
    assert set(np.unique(answer.rows)) == {0, 1}
    assert answer.bound is None
    assert not answer.infeasible
    # With two variables exchanged the best row would hardly be a ground state.
    assert qubo.energy(answer.rows).min() == session.best == ground_energy("harder")


@pytest.mark.parametrize(
    ("name", "options", "reads"),
    [
        ("tabu", {"num_reads": 4, "num_restarts": 0}, 4),
        ("steepest-descent", {"num_reads": 250}, 250),
        ("openjij", {"num_reads": 5}, 5),
        ("simulated-bifurcation", {"agents": 130, "max_steps": 100}, 130),
        ("qaoa", {"evaluations": 1, "shots": 70}, 70),
    ],
)
def test_every_read_is_a_row(name, options, reads):
    if not SOLVERS[name].available():
        pytest.skip(SOLVERS[name].install)
    assert len(il.solve(trivial(), name, **options).result.vectors) == reads


def test_a_variable_in_no_term_has_a_value_all_the_same(machine):
    solver, own = machine
    qubo = harder().qubo
    unused = bit_block("extra", "unused", "slack", ("i",), np.array([0]))
    wider = replace(qubo, variables=qubo.variables.extended(unused))
    answer = solver.solve(wider, solver.read_options(own.quick), Session(qubo.scale))
    assert answer.rows.shape[1] == qubo.num_variables + 1
    assert set(np.unique(answer.rows)) == {0, 1}
    assert qubo.energy(answer.rows[:, :-1]).min() == ground_energy("harder")


def test_the_same_seed_gives_the_same_answer_and_another_one_another(machine):
    solver, own = machine
    if not solver.traits.seeded:
        pytest.skip("the machine has no seed")

    def rows(seed: int) -> list[list[int]]:
        session = Session(harder().qubo.scale, seed)
        answer = solver.solve(harder().qubo, solver.read_options(own.quick), session)
        return answer.rows.tolist()

    assert rows(5) == rows(5)
    # With one seed for all reads OpenJij gives the same one every time.
    assert len(set(map(tuple, rows(5)))) > 1
    if own.name != "tabu":  # which finds the same few whatever its seed
        assert rows(5) != rows(6)


def test_the_callers_random_numbers_stay_as_they_are(machine):
    solver, own = machine
    np.random.seed(3)  # noqa: NPY002 - the global state is what is looked at
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    generator = None
    if own.name == "simulated-bifurcation":
        import torch

        generator = torch.random.get_rng_state()
    il.solve(trivial(), solver, **own.quick)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    if generator is not None:
        assert torch.random.get_rng_state().equal(generator)


def test_a_deadline_that_has_passed_ends_cleanly(machine):
    solver, own = machine
    run = il.solve(trivial(), solver, time_limit=1e-9, **own.quick)
    assert run.status is Status.NONE_FOUND
    with pytest.raises(SolverError, match="no network was found"):
        _ = run.best


@pytest.mark.parametrize("case", LOCAL.values(), ids=LOCAL)
def test_a_deadline_ends_a_long_run(case):
    if not SOLVERS[case.name].available():
        pytest.skip(SOLVERS[case.name].install)
    il.solve(
        trivial(), case.name, time_limit=0.01, **(case.endless or case.many)
    )  # loads its packages
    started = time.perf_counter()
    run = il.solve(harder(), case.name, time_limit=0.4, **(case.endless or case.many))
    assert time.perf_counter() - started < 5
    assert len(run.result.vectors)


def test_the_callback_can_stop_it(machine):
    solver, own = machine
    events = []

    def stop(event: il.Event) -> bool:
        events.append(event)
        return False

    started = time.perf_counter()
    run = il.solve(trivial(), solver, on_event=stop, **(own.many or own.quick))
    assert time.perf_counter() - started < 20
    assert len(events) == 1
    assert run.status is not Status.INFEASIBLE


def test_news_only_ever_get_better(machine):
    solver, own = machine
    events = []
    run = il.solve(harder(), solver, on_event=events.append, **own.quick)
    losses = [event.loss for event in events if event.loss is not None]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == Fraction(int(run.result.energies.min()), run.problem.qubo.scale)
    assert all(event.bound is None for event in events)


def test_it_never_prints(machine, capfd):
    solver, own = machine
    il.solve(trivial(), solver, **own.quick)
    assert capfd.readouterr() == ("", "")


def test_an_unknown_option_is_refused(machine):
    with pytest.raises(OptionError, match="no_such_option"):
        il.solve(trivial(), machine[0], no_such_option=1)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tabu", {"num_reads": 0}),
        ("tabu", {"num_restarts": -1}),
        ("steepest-descent", {"num_reads": 1.5}),
        ("openjij", {"method": "qa"}),
        ("openjij", {"num_sweeps": 0}),
        ("openjij", {"trotter": 1}),
        ("simulated-bifurcation", {"mode": "heated"}),
        ("simulated-bifurcation", {"agents": "many"}),
        ("simulated-bifurcation", {"max_steps": 0}),
        ("dwave", {"machine": "qubits"}),
        ("dwave", {"num_reads": 0}),
        ("dwave", {"annealing_time": 0}),
        ("dwave", {"chain_strength": "strong"}),
        ("dwave", {"chain_strength": float("nan")}),
        ("dwave", {"embedding_seconds": 0}),
        ("amplify", {"seconds": 0}),
        ("qaoa", {"layers": 0}),
        ("qaoa", {"evaluations": 0}),
        ("qaoa", {"shots": True + 0.5}),
    ],
)
def test_options_check_their_values(name, options):
    # Also where the package is missing: options need none.
    with pytest.raises(OptionError) as caught:
        SOLVERS[name].Options(**options)
    assert caught.value.remedy


def test_rounds_have_independent_seeds_and_add_up():
    qubo = trivial().qubo
    drawn: list[tuple[int, int]] = []

    def draw(seed: int, reads: int) -> np.ndarray:
        drawn.append((seed, reads))
        return np.full((reads, qubo.num_variables), seed % 2)

    rows = collect(qubo, Session(qubo.scale, seed=1), 25, 10, draw)
    assert [reads for _, reads in drawn] == [10, 10, 5]
    assert len({seed for seed, _ in drawn}) == 3
    assert len(rows) == 25
    first = drawn[0]
    drawn.clear()
    collect(qubo, Session(qubo.scale, seed=1), 5, 5, draw)
    # A round does not depend on how many there are.
    assert drawn == [(first[0], 5)]


def test_bifurcation_keeps_integers_that_32_bits_would_round(monkeypatch):
    package = pytest.importorskip("simulated_bifurcation")
    torch = pytest.importorskip("torch")
    given = []

    class Recorder(package.Ising):
        def minimize(self, **options):
            given.append(self.as_simulated_bifurcation_tensor())
            return super().minimize(**options)

    monkeypatch.setattr(package, "Ising", Recorder)
    # 2^24 and 2^24 + 1 are the same number as 32-bit floats.
    large = 1 << 24
    problem = il.compile(net(1, 1, 1), [[0], [1]], [-1, 1], sample_weight=[large, large + 1])
    il.solve(problem, "simulated-bifurcation", agents=1, max_steps=10)
    qubo, (matrix, *_) = problem.qubo, given
    assert (qubo.polynomial.coefficients.astype(np.float32) != qubo.polynomial.coefficients).any()
    bits = np.random.default_rng(0).integers(0, 2, size=(50, qubo.num_variables))
    # The package adds a spin that carries the fields, and leaves the constant out.
    spins = torch.from_numpy(np.column_stack([2.0 * bits - 1, np.ones(50)]))
    energies = -0.5 * ((spins @ matrix) * spins).sum(1).numpy() + qubo.to_ising()[2]
    assert np.array_equal(energies, qubo.energy(bits))


def test_qaoa_refuses_many_spins_with_a_remedy():
    problem = il.compile(net(2, 2, 1), [[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1])
    solver = SOLVERS["qaoa"]()
    with pytest.raises(ProblemRefused, match="at most 14 spins") as caught:
        solver.solve(problem.qubo, solver.read_options({}), Session(problem.qubo.scale))
    assert caught.value.remedy


def test_qaoa_does_better_than_guessing():
    if not SOLVERS["qaoa"].available():
        pytest.skip(SOLVERS["qaoa"].install)
    qubo = trivial().qubo
    every = np.array(list(product((0, 1), repeat=qubo.num_variables)))
    run = il.solve(trivial(), "qaoa")
    circuit = float(run.note.split()[2])
    assert circuit < qubo.energy(every).mean() / 3
