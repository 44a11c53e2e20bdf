"""One loop for all strategies: results, validation, checkpoints, restarts."""

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import (
    DataError,
    IsingLearnError,
    NetworkError,
    OptionError,
    ProblemRefused,
    SolverError,
)
from isinglearn.problem.plain import qubo_of_matrix
from isinglearn.training import STRATEGIES
from isinglearn.training.decomposed.block_solvers import block_solver

XOR = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1]


def blobs(count=300, classes=3, seed=0):
    """Points in the plane around as many centres, on a grid."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    angle = 2 * np.pi * labels / classes
    points = 10 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 2, (count, 2))
    return np.rint(points).astype(np.int64), labels


def net(outputs=3, hidden=12):
    return nn.Sequential(
        nn.Linear(2, hidden, weight=nn.Int(-3, 3), bias=nn.Int(-32, 32)),
        nn.Sign(),
        nn.Linear(hidden, outputs, weight=nn.Int(-4, 3), bias=nn.Int(-4, 3)),
    )


def same(first, second):
    return all(np.array_equal(first.parameters[n], second.parameters[n]) for n in first.parameters)


# -- results ---------------------------------------------------------------------------------------


def test_small_tasks_are_solved_as_one_problem_to_the_optimum():
    model = il.train(nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1)), *XOR)
    assert model.strategy == "direct"
    assert "fit one problem" in model.reason
    assert model.loss == 0
    assert model.predict(XOR[0]).tolist() == XOR[1]


def test_classes_are_trained_block_by_block():
    X, y = blobs()
    model = il.train(net(), X, y, steps=150)
    assert (model.strategy, model.loss_name) == ("decomposed", "cross_entropy")
    assert (model.predict(X) == y).mean() > 0.9
    assert 0 < model.max_spins <= 256
    assert model.qubos > 0
    assert len(model.loss_curve) == model.steps == 150
    assert model.network.forward(model.parameters, X).dtype == np.int64


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, (200, 2))
    y = np.where(X[:, 0] > 2, 0.5, -0.25)
    shape = nn.Sequential(
        nn.Linear(2, 8, weight=nn.Int(-3, 3), bias=nn.Int(-32, 32)),
        nn.Sign(),
        nn.Linear(8, 1, weight=nn.Fixed(-8, 7, 16), bias=nn.Fixed(-8, 7, 16)),
    )
    model = il.train(shape, X, y, strategy="decomposed", steps=150)
    assert model.loss_name == "square"
    assert model.loss < 0.5 * y.var()


def test_classes_with_a_loss_of_signs_become_one_column_each():
    X, y = blobs(60)
    model = il.train(net(hidden=2), X, y, loss="squared_hinge", steps=20)
    assert (model.strategy, model.loss_name) == ("decomposed", "squared_hinge")
    short = il.train(net(hidden=1), X[:6], y[:6], loss=nn.Hinge(), time_limit=5)
    assert (short.strategy, short.loss_name) == ("direct", "hinge")


def test_spins_do_not_depend_on_the_number_of_samples():
    spins = {n: il.train(net(), *blobs(n), steps=60).max_spins for n in (300, 3000)}
    most = 2 * (2 * 1 + 4)
    assert all(0 < count <= most * 3 for count in spins.values()), spins


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_trains_a_small_task(name):
    shape = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    model = il.train(shape, *XOR, strategy=name, loss="square", time_limit=20)
    assert model.strategy == name
    assert model.loss <= 1


# -- validation ------------------------------------------------------------------------------------


def test_the_network_of_least_validation_loss_is_kept():
    X, y = blobs()
    seen = []
    model = il.train(net(), X, y, steps=150, validation=0.3, on_event=seen.append)
    least = model.validation_curve[:, 1].argmin()
    assert len(model.validation_curve) == 6
    assert [e.validation_loss for e in seen if e.validation_loss is not None] == (
        model.validation_curve[:, 1].tolist()
    )
    short = il.train(
        net(), X, y, steps=150, validation=0.3, on_event=_stop_at(model.validation_curve[least, 0])
    )
    assert same(model, short)


def _stop_at(step):
    return lambda event: event.step < step


def test_patience_ends_it():
    X, y = blobs()
    model = il.train(net(), X, y, steps=1000, validation=(X[:50], y[:50]), patience=2)
    assert model.finished
    assert model.steps < 1000


def test_a_time_limit_returns_the_best_so_far():
    X, y = blobs()
    model = il.train(net(), X, y, steps=10**6, time_limit=0.5)
    assert not model.finished
    assert model.seconds < 10


# -- checkpoints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [1, 7, 30, 59])
def test_a_stopped_run_goes_on_to_the_same_result(tmp_path, stop):
    X, y = blobs()
    whole = il.train(net(), X, y, steps=60, validation=0.2)
    path = tmp_path / "run.npz"
    part = il.train(net(), X, y, steps=60, validation=0.2, checkpoint=path, on_event=_stop_at(stop))
    assert part.steps == stop
    again = il.train(net(), X, y, steps=60, validation=0.2, checkpoint=path)
    assert again.steps == 60
    assert same(whole, again)
    assert np.array_equal(whole.loss_curve, again.loss_curve)
    assert np.array_equal(whole.validation_curve, again.validation_curve)


KILLED = """
import sys, numpy as np
sys.path.insert(0, {tests!r})
import isinglearn as il
from training.test_train import blobs, net
il.train(net(), *blobs(), steps=400, checkpoint={path!r}, checkpoint_every=1e-3)
print("done")
"""


def test_a_killed_run_goes_on_to_the_same_result(tmp_path):
    X, y = blobs()
    whole = il.train(net(), X, y, steps=400)
    path = tmp_path / "run.npz"
    folder = os.path.dirname(os.path.dirname(__file__))
    script = KILLED.format(tests=folder, path=str(path))
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not path.exists() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.15)
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert path.exists()
    again = il.train(net(), X, y, steps=400, checkpoint=path)
    assert same(whole, again)
    assert np.array_equal(whole.loss_curve, again.loss_curve)


def test_checkpoints_of_other_runs_are_refused(tmp_path):
    X, y = blobs()
    path = tmp_path / "run.npz"
    il.train(net(), X, y, steps=3, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(NetworkError, match="another run"):
        il.train(net(hidden=5), X, y, steps=3, checkpoint=path)
    with pytest.raises(NetworkError, match="another run"):
        il.train(net(), X, y, steps=4, checkpoint=path)
    with pytest.raises(NetworkError, match="another run"):
        il.train(net(), X, y, steps=3, seed=1, checkpoint=path)
    assert path.read_bytes() == before
    path.write_bytes(before[:100])
    with pytest.raises(DataError, match="cannot be read"):
        il.train(net(), X, y, steps=3, checkpoint=path)
    assert path.read_bytes() == before[:100]


# -- workers ---------------------------------------------------------------------------------------


def test_jobs_change_nothing():
    X, y = blobs()
    assert same(il.train(net(), X, y, steps=30), il.train(net(), X, y, steps=30, jobs=2))


def test_restarts_return_the_best_whoever_runs_them():
    X, y = blobs()
    alone = il.train(net(), X, y, steps=30, restarts=3)
    with joblib.parallel_config(backend="threading"):
        together = il.train(net(), X, y, steps=30, restarts=3, jobs=2)
    assert same(alone, together)
    assert alone.loss <= il.train(net(), X, y, steps=30).loss


def test_memory_mapped_inputs_are_not_copied(tmp_path):
    X, y = blobs(2000)
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    assert same(il.train(net(), X, y, steps=20), il.train(net(), mapped, y, steps=20))
    alone = il.train(net(), X, y, steps=10, restarts=2)
    assert same(alone, il.train(net(), mapped, y, steps=10, restarts=2))


def _cluster():
    distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )


def test_a_dask_cluster_gives_the_same_result_even_if_a_worker_is_killed():
    X, y = blobs(3000)
    settings = {"steps": 400, "restarts": 4}
    alone = il.train(net(), X, y, **settings)
    with _cluster() as cluster, cluster.get_client() as client:
        with joblib.parallel_config(backend="dask"):
            assert same(alone, il.train(net(), X, y, jobs=-1, **settings))
        pids = client.run(os.getpid)
        victim = next(iter(pids.values()))
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        with joblib.parallel_config(backend="dask"):
            assert same(alone, il.train(net(), X, y, jobs=-1, **settings))
        assert victim not in client.run(os.getpid).values()


# -- solvers of blocks -----------------------------------------------------------------------------


def test_blocks_can_be_solved_by_names_samplers_and_functions():
    from dwave.samplers import SteepestDescentSampler

    X, y = blobs(100)
    for solver in ("tabu", SteepestDescentSampler(), lambda matrix: np.zeros(len(matrix), int)):
        options = {"steps": 3} if solver == "tabu" else {"steps": 10}
        assert il.train(net(hidden=3), X, y, solver=solver, **options).steps == options["steps"]


def test_a_matrix_as_a_qubo_has_its_energies():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(6, 6))
    matrix = matrix + matrix.T
    qubo, unit = qubo_of_matrix(matrix)
    bits = rng.integers(0, 2, (20, 6))
    exact = np.einsum("ri,ij,rj->r", bits, matrix, bits)
    assert np.allclose(qubo.energy(bits) * unit, exact, atol=36 * unit)
    assert block_solver("treewidth")(matrix, 0).shape == (6,)


# -- bad input -------------------------------------------------------------------------------------

BAD = {
    "strategy": ({"strategy": "decompose"}, OptionError, "did you mean 'decomposed'"),
    "option": ({"strategy": "decomposed", "stepz": 3}, OptionError, "did you mean 'steps'"),
    "loss": ({"loss": "hings"}, OptionError, "did you mean 'hinge'"),
    "loss object": ({"loss": 3}, OptionError, "no loss"),
    "loss of direct": ({"strategy": "direct", "loss": "logistic"}, OptionError, "'square'"),
    "validation": ({"validation": 1.5}, OptionError, "between 0 and 1"),
    "patience alone": ({"patience": 3}, OptionError, "validation=0.1"),
    "jobs": ({"jobs": -7}, OptionError, "jobs"),
    "solver": ({"strategy": "decomposed", "solver": "cpsat"}, OptionError, "takes no QUBO"),
    "solver object": ({"strategy": "decomposed", "solver": 3}, SolverError, "no solver"),
    "too small a machine": (
        {"strategy": "direct", "max_spins": 3},
        ProblemRefused,
        "at most 3 spins",
    ),
    "labels": ({"y": [[[1]]]}, DataError, "no labels"),
    "classes": ({"y": [0, 1, 7, 2]}, DataError, "0 to 2"),
    "rows": ({"y": [0, 1]}, DataError, "2 labels"),
    "features": ({"X": [[1], [2], [3], [4]]}, DataError, "2"),
}


@pytest.mark.parametrize(("changes", "error", "text"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(changes, error, text):
    given = {"X": XOR[0], "y": [0, 1, 1, 2], **changes}
    with pytest.raises(error) as caught:
        il.train(net(), given.pop("X"), given.pop("y"), **given)
    assert text in str(caught.value)
    assert caught.value.remedy


def test_networks_without_blocks_are_refused_by_name():
    shape = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    with pytest.raises(IsingLearnError, match="ReLU"):
        il.train(shape, *XOR, strategy="decomposed")


def test_a_solver_that_returns_nothing_is_an_error():
    X, y = blobs(100)
    with pytest.raises(SolverError, match="unusable"):
        il.train(net(hidden=3), X, y, solver=lambda matrix: [], steps=50)


def test_an_error_hands_out_the_best_network_so_far(tmp_path):
    X, y = blobs()
    calls = []

    def failing(matrix):
        calls.append(1)
        if len(calls) > 30:
            raise RuntimeError("the machine is gone")
        return np.ones(len(matrix), int)

    path = tmp_path / "run.npz"
    with pytest.raises(RuntimeError) as caught:
        il.train(net(), X, y, solver=failing, steps=400, checkpoint=path, checkpoint_every=1e-3)
    assert (caught.value.best.predict(X) == y).mean() > 0.3
    assert "goes on from the state" in " ".join(caught.value.__notes__)
    again = il.train(net(), X, y, solver=lambda m: np.ones(len(m), int), steps=400, checkpoint=path)
    whole = il.train(net(), X, y, solver=lambda m: np.ones(len(m), int), steps=400)
    assert same(again, whole)


def test_inputs_may_come_in_chunks(tmp_path):
    X, y = blobs(2000)
    parts = []
    for number, chunk in enumerate(np.array_split(X, 3)):
        np.save(tmp_path / f"{number}.npy", chunk)
        parts.append(np.load(tmp_path / f"{number}.npy", mmap_mode="r"))
    assert same(il.train(net(), X, y, steps=20), il.train(net(), parts, y, steps=20))
    held_out = il.train(net(), X, y, steps=20, validation=0.3)
    assert same(held_out, il.train(net(), parts, y, steps=20, validation=0.3))
    together = il.train(net(), parts, y, steps=10, restarts=2, jobs=2)
    assert same(il.train(net(), X, y, steps=10, restarts=2), together)
    with pytest.raises(DataError, match="chunk"):
        il.train(net(), [X[:10], X[10:, :1]], y)
