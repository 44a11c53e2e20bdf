"""Training on real data: QUBOs whose size does not depend on the number of samples, beside baselines.

    python benchmarks/scale.py [--json] [--data DIR] [--only PARTS]

All in one run, ours and the baselines side by side, on the same data and the same quantised network:

mnist10, fashion
    All 60,000 training images, 14 x 14 whole pixels, network 196-128-10: hidden weights -1 and +1, whole
    biases, output weights of 4 bits. ``isinglearn.train`` with its defaults; straight-through gradient
    (STE) with its learning rate chosen on held-out training data, the best of three seeds.
mnist69
    Digits 6 against 9 at 28 x 28 pixels, 32 hidden units, beside STE and logistic regression.
growth
    The same network on 1,000, 10,000 and 60,000 images: the largest QUBO, time per pass, peak memory.
moons
    Two moons with 3 and 8 hidden units, as one problem by our annealer: loss against the proved optimum,
    where there is a proof, and against STE.
small
    scikit-learn's iris, wine, breast cancer, digits in five folds: beside STE and logistic regression.
cluster
    Two restarts on a Dask cluster of two workers of one thread, against one worker.

Every accuracy is that of whole-number forward passes (``network.forward``) on test data.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from measure import peak_memory

import isinglearn as il
from isinglearn import nn
from isinglearn.baselines import tuned_straight_through
from isinglearn.paper.mnist_files import read_idx

# For small data: steps are few, so larger ones are tried as well.
SMALL_RATES = (0.01, 0.03, 0.1, 0.3)

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def network(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """One hidden layer of signs with weights of -1 and +1; output weights of 4 bits."""
    return nn.Sequential(
        nn.Linear(inputs, hidden, weight=nn.Spin(), bias=nn.Int(-(2**17), 2**17)),
        nn.Sign(),
        nn.Linear(hidden, outputs, weight=nn.Int(-8, 7), bias=nn.Int(-128, 127)),
    )


def images(folder: Path, name: str, pool: int) -> Data:
    """Training and test images, ``pool`` x ``pool`` pixels averaged and rounded, and their labels."""
    found: list[np.ndarray] = []
    for part in ("train", "t10k"):
        pixels = read_idx(folder / name / f"{part}-images-idx3-ubyte.gz").astype(np.int64)
        labels = read_idx(folder / name / f"{part}-labels-idx1-ubyte.gz").astype(np.int64)
        side = 28 // pool
        sums = pixels.reshape(-1, side, pool, side, pool).sum(axis=(2, 4)).reshape(-1, side**2)
        found += [(sums + pool**2 // 2) // pool**2, labels]
    return found[0], found[1], found[2], found[3]


def accuracy(model: il.Model, X: np.ndarray, y: np.ndarray) -> float:
    """Part that is predicted right."""
    return float((model.predict(X) == y).mean())


def ten_classes(folder: Path, name: str, seeds: int) -> dict[str, Any]:
    """All images of all classes; further seeds of ours for the spread."""
    X, y, test_X, test_y = images(folder, name, 2)
    net = network(196, 128, 10)
    start, used = time.perf_counter(), time.process_time()
    trained = il.train(net, X, y)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    others = [il.train(net, X, y, seed=seed) for seed in range(1, seeds)]
    start = time.perf_counter()
    ste = tuned_straight_through(net, X, y)
    return {
        "test_accuracy": accuracy(trained, test_X, test_y),
        "other_seeds": [accuracy(other, test_X, test_y) for other in others],
        "train_accuracy": accuracy(trained, X, y),
        "ste_accuracy": accuracy(il.Model(ste.network, ste.parameters), test_X, test_y),
        "max_spins": trained.max_spins,
        "qubos": trained.qubos,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "ste_learning_rate": ste.learning_rate,
        "ste_window": ste.window,
        "ste_seconds": time.perf_counter() - start,
        "strategy": trained.strategy,
    }


def six_or_nine(folder: Path) -> dict[str, Any]:
    """Two digits at full resolution."""
    from sklearn.linear_model import LogisticRegression

    X, y, test_X, test_y = images(folder, "mnist", 1)
    mine, theirs = np.isin(y, (6, 9)), np.isin(test_y, (6, 9))
    X, test_X = X[mine], test_X[theirs]
    y, test_y = (np.where(labels == 6, 1, -1) for labels in (y[mine], test_y[theirs]))
    net = network(784, 32, 1)
    start = time.perf_counter()
    trained = il.train(net, X, y, steps=400)
    seconds = time.perf_counter() - start
    ste = tuned_straight_through(net, X, y, loss="logistic")
    logistic = LogisticRegression(max_iter=2000).fit(X / 255, y)
    return {
        "test_accuracy": accuracy(trained, test_X, test_y),
        "ste_accuracy": accuracy(il.Model(ste.network, ste.parameters), test_X, test_y),
        "logistic_regression": float(logistic.score(test_X / 255, test_y)),
        "max_spins": trained.max_spins,
        "qubos": trained.qubos,
        "seconds": seconds,
    }


def growth(folder: Path) -> list[dict[str, Any]]:
    """The same network on more and more images, each size in a process of its own."""
    X, y, _, _ = images(folder, "mnist", 2)
    rows = []
    with tempfile.TemporaryDirectory() as place:
        for count in (1_000, 10_000, 60_000):
            np.save(Path(place) / "X.npy", X[:count].astype(np.uint8))
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
                rows.append(fresh.submit(_grown, Path(place) / "X.npy", y[:count]).result())
    return rows


def _grown(path: Path, y: np.ndarray, batch: int = 500, steps: int = 240) -> dict[str, Any]:
    """As many steps on batches of the same size, from a memory-mapped file; a pass sees every image once."""
    X, net = np.load(path, mmap_mode="r"), network(196, 128, 10)
    # Kernels are loaded before anything is timed.
    il.train(net, X[:1000], y[:1000], steps=2, batch=batch)
    before, start = peak_memory(), time.process_time()
    trained = il.train(net, X, y, steps=steps, batch=batch)
    seconds = time.process_time() - start
    return {
        "samples": len(y),
        "max_spins": trained.max_spins,
        "qubos": trained.qubos,
        "cpu_seconds_per_step": seconds / steps,
        "cpu_seconds_per_pass": seconds / steps * len(y) / batch,
        "peak_mib": peak_memory() / 2**20,
        "more_mib_for_training": (peak_memory() - before) / 2**20,
    }


def two_moons(seeds: int = 10) -> list[dict[str, Any]]:
    """Losses beside the proved optimum and STE."""
    from isinglearn.paper.instances import two_moons as instance

    rows = []
    for samples in (50, 200, 1000):
        data = instance(samples)
        for hidden in (3, 8):
            net = nn.paper_network(n=2, H=hidden, L=2, B=4)
            problem = il.compile(net, data.X, data.y)
            proof = il.solve(problem, time_limit=20) if hidden == 3 else None
            start = time.perf_counter()
            tries = seeds if (samples, hidden) == (50, 3) else 1
            how: dict[str, Any] = {"strategy": "direct", "solver": "annealer", "time_limit": 15}
            losses = [il.train(net, data.X, data.y, seed=seed, **how).loss for seed in range(tries)]
            seconds = (time.perf_counter() - start) / tries
            ste = tuned_straight_through(
                net,
                data.X,
                np.ravel(data.y),
                loss="square",
                learning_rates=SMALL_RATES,
                epochs=(100, 300),
                batch=max(10, samples // 5),
            )
            outputs = il.Model(ste.network, ste.parameters).outputs(data.X)
            proved = proof is not None and proof.status.value == "OPTIMAL"
            optimum = float(proof.best.loss) if proof is not None and proved else None
            rows.append(
                {
                    "samples": samples,
                    "hidden": hidden,
                    "loss": min(losses),
                    "optimum": optimum,
                    "at_optimum": None
                    if optimum is None
                    else sum(abs(loss - optimum) < 1e-9 for loss in losses),
                    "runs": tries,
                    "ste_loss": float(((outputs - data.y.reshape(len(outputs), -1)) ** 2).mean()),
                    "seconds": seconds,
                }
            )
    return rows


def small_sets() -> list[dict[str, Any]]:
    """Five folds of the sets that scikit-learn ships."""
    from sklearn import datasets
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = []
    for name in ("iris", "wine", "breast_cancer", "digits"):
        real, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        scores: dict[str, list[float]] = {"ours": [], "ste": [], "logistic_regression": []}
        start = time.perf_counter()
        for kept, left in StratifiedKFold(5, shuffle=True, random_state=0).split(real, y):
            ends = {"low": real[kept].min(axis=0), "high": real[kept].max(axis=0)}
            X, test_X = (il.quantise(real[rows_], 5, **ends) for rows_ in (kept, left))
            net = network(X.shape[1], 32, int(y.max()) + 1)
            trained = il.train(net, X, y[kept], steps=300, validation=0.2, restarts=3)
            ste = tuned_straight_through(
                net, X, y[kept], batch=32, epochs=(20, 60), learning_rates=SMALL_RATES
            )
            peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
            scores["ours"].append(accuracy(trained, test_X, y[left]))
            scores["ste"].append(accuracy(il.Model(ste.network, ste.parameters), test_X, y[left]))
            scores["logistic_regression"].append(
                peer.fit(real[kept], y[kept]).score(real[left], y[left])
            )
        rows.append(
            {
                "data": name,
                **{who: float(np.mean(values)) for who, values in scores.items()},
                "seconds": time.perf_counter() - start,
            }
        )
    return rows


def _warm(X: np.ndarray, y: np.ndarray) -> None:
    il.train(network(196, 128, 10), X, y, steps=5)


def cluster(folder: Path) -> list[dict[str, Any]]:
    """Two restarts, on one worker and on two; with Dask's own settings of memory, and with ours.

    By its own, workers give back every little piece of memory, which two of them pay for dearly.
    """
    import dask

    X, y, _, _ = images(folder, "mnist", 2)
    ours = {
        f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 1 << 30
        for name in ("TRIM", "MMAP")
    }
    rows = []
    for memory, settings in (("Dask's", {}), ("kept", ours)):
        with dask.config.set(settings):
            (one, loss), (two, other) = (_on_workers(count, X, y) for count in (1, 2))
        rows.append(
            {
                "memory": memory,
                "one_worker_seconds": one,
                "two_workers_seconds": two,
                "speed_up": one / two,
                "same_loss": loss == other,
            }
        )
    return rows


def _on_workers(count: int, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Seconds and loss of two restarts on so many workers."""
    import joblib
    from distributed import LocalCluster

    with (
        LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
        ) as machines,
        machines.get_client() as client,
        joblib.parallel_config(backend="dask"),
    ):
        # Kernels are loaded by every worker before anything is timed.
        client.run(_warm, X[:2000], y[:2000])
        start = time.perf_counter()
        trained = il.train(network(196, 128, 10), X, y, steps=200, restarts=2, jobs=-1)
        return time.perf_counter() - start, trained.loss


def main() -> int:
    """Turn the command line into JSON or lines of text."""
    parts = ("mnist10", "fashion", "mnist69", "growth", "moons", "small", "cluster")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument("--seeds", type=int, default=1, help="of ours, for mnist10 and fashion")
    parser.add_argument("--only", default=",".join(parts), help="which parts, with commas")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("ISINGLEARN_DATA", ".")),
        help="folder that has mnist and fashion-mnist; by default ISINGLEARN_DATA",
    )
    arguments = parser.parse_args()
    work: dict[str, Any] = {
        "mnist10": lambda: ten_classes(arguments.data, "mnist", arguments.seeds),
        "fashion": lambda: ten_classes(arguments.data, "fashion-mnist", arguments.seeds),
        "mnist69": lambda: six_or_nine(arguments.data),
        "growth": lambda: growth(arguments.data),
        "moons": two_moons,
        "small": small_sets,
        "cluster": lambda: cluster(arguments.data),
    }
    found: dict[str, Any] = {"load": [round(value, 2) for value in os.getloadavg()]}
    for name in arguments.only.split(","):
        found[name] = work[name]()
        print(f"{name}: {json.dumps(found[name])}", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps(found, indent=2))
        return 0
    for name, result in found.items():
        for row in result if isinstance(result, list) and name != "load" else [result]:
            print(name, row)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
