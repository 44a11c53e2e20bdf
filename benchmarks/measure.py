"""How things are measured: the best of a few timings here, time and memory in a fresh process.

Run as a script, this is that fresh process; `in_process` starts it and reads its answer.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FORMULATIONS = ("paper", "compact")
# A timing longer than this is taken once.
LONG = 10.0


def best_of(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Turn work into (shortest time, last result); work that takes long is done once."""
    shortest, result = float("inf"), None
    for _ in range(repeats):
        result = None
        gc.collect()
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
        if shortest > LONG:
            break
    return shortest, result


def compiled(instance: Any, formulation: str) -> Any:
    """An instance compiled down to the QUBO's polynomial."""
    import isinglearn as il

    problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
    _ = problem.qubo.polynomial
    return problem


def warm_up() -> None:
    """Compile something tiny in both forms, so that every kernel is loaded."""
    from isinglearn.paper.instances import TASKS

    for formulation in FORMULATIONS:
        compiled(TASKS[0], formulation)


def peak_memory() -> int:
    """Largest resident size of this process in bytes.

    Not ``ru_maxrss`` on Linux: that is inherited from the parent across fork and exec.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def image_task(samples: int) -> Any:
    """A small convolutional network and random images of 14 x 14 pixels in -1, 0, 1."""
    import numpy as np

    from isinglearn import nn

    network = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.Sign(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(144, 1, weight=nn.Spin(), bias=nn.Int(-1, 1)),
        input_shape=(1, 14, 14),
    )
    rng = np.random.default_rng(0)
    images, labels = rng.integers(-1, 2, (samples, 1, 14, 14)), rng.choice([-1, 1], samples)
    return SimpleNamespace(network=network, X=images, y=labels)


def child_growth(task: str, formulation: str, samples: int) -> dict[str, Any]:
    """Compile one size here and now; for a fresh process."""
    import isinglearn as il
    from isinglearn.paper.instances import two_moons

    warm_up()
    instance = {"moons": two_moons, "images": image_task}[task](samples)
    before = peak_memory()

    times: list[tuple[float, float]] = []
    peak = 0
    while len(times) < 3 and (not times or times[-1][0] < LONG):
        problem = None
        gc.collect()
        start = time.perf_counter()
        problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
        _ = problem.qcbo
        searching = time.perf_counter()
        _ = problem.certificate
        search = time.perf_counter() - searching
        _ = problem.qubo.polynomial
        elapsed = time.perf_counter() - start
        times.append((elapsed, elapsed - search))
        # Later rounds would count what the allocator keeps of earlier ones.
        peak = peak or peak_memory() - before
    assert problem is not None
    return {
        "task": task,
        "formulation": formulation,
        "samples": samples,
        "seconds": min(total for total, _ in times),
        "seconds_without_search": min(rest for _, rest in times),
        "peak_bytes": peak,
        "terms": problem.hubo.polynomial.num_terms,
        "hubo_spins": problem.hubo.num_variables,
        "spins": problem.qubo.num_variables,
        "couplers": problem.qubo.num_couplers,
    }


def child_kernels() -> dict[str, Any]:
    """First compile of a tiny instance in both forms, less the second: what kernels cost this process."""
    import numba  # noqa: F401  # its import is no kernel
    import scipy.sparse.csgraph  # noqa: F401

    import isinglearn  # noqa: F401

    start = time.perf_counter()
    warm_up()
    first = time.perf_counter() - start
    again, _ = best_of(warm_up)
    return {"seconds": first - again}


def in_process(*arguments: str, cache: str | None = None) -> dict[str, Any]:
    """Turn a child's arguments into what it measured."""
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    answer = subprocess.run(
        [sys.executable, __file__, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


def main() -> None:
    """Turn the arguments of a child into JSON."""
    kind, *rest = sys.argv[1:]
    record = child_kernels() if kind == "kernels" else child_growth(*rest[:2], int(rest[2]))
    print(json.dumps(record))


if __name__ == "__main__":
    main()
