"""D-Wave's machines, offline: embedding, what is submitted, and what is said without a token."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import ProblemRefused, SolverError
from isinglearn.solvers.base import Status
from isinglearn.solvers.machines.dwave import DWave, embed, embedding_size

system = pytest.importorskip("dwave.system", reason="pip install 'isinglearn[dwave]'")


@pytest.fixture(scope="module")
def problem() -> il.Problem:
    """13 spins, 43 couplers."""
    network = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
    return il.compile(network, [[0], [1], [2]], [1, -1, 1])


def recording_qpu(*shape: int) -> Any:
    """A mock annealer that keeps what it is sent."""
    from dwave.system.testing import MockDWaveSampler

    class Recorder(MockDWaveSampler):
        submitted: list[Any]

        def sample(self, bqm, **given):
            self.submitted.append((bqm, given))
            return super().sample(bqm, **given)

    recorder = Recorder(
        topology_type="pegasus", topology_shape=list(shape or [4]), parameter_warnings=False
    )
    recorder.submitted = []
    return recorder


def test_the_embedding_is_valid_and_has_the_size_it_tells(problem):
    qpu = recording_qpu()
    embedding = embed(problem.qubo, qpu, seed=2)
    chains = list(embedding.chains.values())
    qubits = [qubit for chain in chains for qubit in chain]
    assert list(embedding.chains) == list(problem.qubo.variables)
    assert len(set(qubits)) == len(qubits) == embedding.size.qubits
    assert max(map(len, chains)) == embedding.size.longest_chain
    assert embedding.size.qubits >= problem.qubo.num_variables
    assert embedding_size(problem.qubo, qpu, seed=2) == embedding.size
    assert embedding_size(problem.qubo, qpu.to_networkx_graph(), seed=2).qubits >= 13
    assert qpu.submitted == []


def test_the_size_is_told_before_anything_is_submitted(problem):
    qpu = recording_qpu()
    before: list[tuple[str, int]] = []

    def note(event: il.Event) -> None:
        if event.message:
            before.append((event.message, len(qpu.submitted)))

    run = il.solve(problem, DWave(qpu), on_event=note, seed=4)
    size = embedding_size(problem.qubo, qpu, seed=4)
    told = f"13 spins in {size.qubits} qubits, longest chain {size.longest_chain}"
    assert before == [(f"embedding: {told}", 0)]
    assert run.note == told
    assert len(qpu.submitted) == 1


def test_whoever_does_not_like_the_size_can_stop_before_it_costs_anything(problem):
    qpu = recording_qpu()
    run = il.solve(problem, DWave(qpu), on_event=lambda event: False)
    assert run.status is Status.NONE_FOUND
    assert "before it was submitted" in run.note
    assert qpu.submitted == []


def test_what_is_submitted_has_the_energies_of_the_qubo(problem):
    qpu = recording_qpu()
    il.solve(problem, DWave(qpu), seed=1, num_reads=7, chain_strength=50.0, annealing_time=30.0)
    model, given = qpu.submitted[0]
    assert given["num_reads"] == 7
    assert given["annealing_time"] == 30.0
    chains = embed(problem.qubo, qpu, seed=1).chains
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, size=(50, problem.qubo.num_variables))
    # Every qubit of a chain is the spin it stands for.
    place = {q: i for i, chain in enumerate(chains.values()) for q in chain}
    assert set(model.variables) == set(place)
    values = bits[:, [place[q] for q in model.variables]]
    values = 2 * values - 1 if model.vartype.name == "SPIN" else values
    energies = model.energies((values, list(model.variables)))
    assert np.allclose(energies, problem.qubo.energy(bits), rtol=0, atol=1e-9)


def test_it_refuses_what_cannot_be_embedded(problem):
    small = SimpleNamespace(edgelist=[(i, i + 1) for i in range(12)])
    with pytest.raises(ProblemRefused, match="no embedding") as caught:
        embedding_size(problem.qubo, small, seconds=2)
    assert "13 spins, 43 couplers" in str(caught.value)
    assert "hybrid" in caught.value.remedy


def test_a_deadline_while_embedding_is_no_refusal(problem, monkeypatch):
    def give_up(source: Any, target: Any, random_seed: int, timeout: float) -> dict[str, Any]:
        assert 0 < timeout <= 0.05
        time.sleep(timeout)
        return {}

    monkeypatch.setattr("minorminer.find_embedding", give_up)
    qpu = recording_qpu()
    run = il.solve(problem, DWave(qpu), time_limit=0.05)
    assert run.status is Status.NONE_FOUND
    assert run.note == "stopped while looking for an embedding"
    assert qpu.submitted == []


class Hybrid:
    """Leap's hybrid solver as far as it is used."""

    def __init__(self) -> None:
        self.submitted: list[Any] = []
        self.client = SimpleNamespace(close=lambda: self.submitted.append("closed"))

    def min_time_limit(self, model: Any) -> float:
        return 3.0

    def sample(self, model: Any, **given: Any) -> Any:
        import dimod

        self.submitted.append((model, given))
        return dimod.ExactSolver().sample(model).truncate(2)


def test_the_hybrid_solver_gets_the_qubo_and_the_time(problem):
    hybrid = Hybrid()
    run = il.solve(problem, DWave(hybrid), machine="hybrid", time_limit=20)
    model, given = hybrid.submitted[0]
    assert model == problem.qubo.to_bqm()
    assert 19 < given["time_limit"] <= 20
    assert run.best.loss == 1
    il.solve(problem, DWave(hybrid), machine="hybrid")
    assert hybrid.submitted[1][1] == {}


def test_the_hybrid_solver_is_not_asked_for_less_than_its_least_time(problem):
    hybrid = Hybrid()
    with pytest.raises(ProblemRefused, match="at least 3 s") as caught:
        il.solve(problem, DWave(hybrid), machine="hybrid", time_limit=1)
    assert caught.value.remedy
    assert hybrid.submitted == []


@pytest.fixture
def unconfigured(monkeypatch, tmp_path):
    """No token, and none from a configuration file of whoever runs this."""
    for name in ("DWAVE_API_TOKEN", "DWAVE_PROFILE", "DWAVE_API_SOLVER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "dwave.conf").write_text("")
    monkeypatch.setenv("DWAVE_CONFIG_FILE", str(tmp_path / "dwave.conf"))


@pytest.mark.usefixtures("unconfigured")
@pytest.mark.parametrize("machine", ["qpu", "hybrid"])
def test_a_missing_token_is_said_plainly(problem, machine):
    with pytest.raises(SolverError, match="no token for D-Wave") as caught:
        il.solve(problem, "dwave", machine=machine)
    assert not isinstance(caught.value, ProblemRefused)
    assert "DWAVE_API_TOKEN" in caught.value.remedy


@pytest.mark.usefixtures("unconfigured")
def test_a_service_that_fails_is_named_without_the_token(problem, monkeypatch):
    def refuse() -> None:
        raise ConnectionError("no route to the service")

    monkeypatch.setenv("DWAVE_API_TOKEN", "secret-token")
    monkeypatch.setattr(system, "DWaveSampler", refuse)
    with pytest.raises(SolverError, match="no route to the service") as caught:
        il.solve(problem, "dwave")
    assert "secret-token" not in str(caught.value)
    assert "token" in caught.value.remedy


@pytest.mark.usefixtures("unconfigured")
def test_a_broken_configuration_is_named(problem, monkeypatch, tmp_path):
    monkeypatch.setenv("DWAVE_CONFIG_FILE", str(tmp_path / "missing.conf"))
    with pytest.raises(SolverError, match=r"missing\.conf"):
        il.solve(problem, "dwave")


@pytest.mark.usefixtures("unconfigured")
def test_the_connection_is_closed_afterwards(problem, monkeypatch):
    hybrid = Hybrid()
    monkeypatch.setenv("DWAVE_API_TOKEN", "secret-token")
    monkeypatch.setattr(system, "LeapHybridSampler", lambda: hybrid)
    solver = DWave()
    run = il.solve(problem, solver, machine="hybrid")
    assert hybrid.submitted[1:] == ["closed"]
    assert "secret-token" not in str(run.record()) + str(vars(solver))
