"""How to repeat a result: calls, seed and versions."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

import isinglearn
from isinglearn.solvers.run import Run
from isinglearn.training.loop import Trained


def repeat_record(seed: int | None, code: str) -> dict[str, Any]:
    """Turn a seed and code into how to repeat a result, with the versions it came from."""
    return {
        "seed": seed,
        "code": code,
        "versions": {
            "isinglearn": isinglearn.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": f"{platform.system()} {platform.machine()}",
        },
    }


def calls_of_run(run: Run) -> str:
    """Turn a run into the calls that lead to it."""
    problem, options = run.problem, run.problem.options
    loss = f"nn.{problem.loss!r}"
    return "\n".join(
        [
            "import isinglearn as il",
            "from isinglearn import nn",
            "",
            f"# net: {problem.network}",
            f"problem = il.compile(net, X, y, loss={loss}, formulation={options.formulation!r})",
            "# with the options of the solver, if there were any",
            f"run = il.solve(problem, {run.solver!r}, seed={run.seed})",
        ]
    )


def calls_of_training(trained: Trained, solver: str, seed: int | None) -> str:
    """Turn a training into the calls that lead to it."""
    named = [f"strategy={trained.strategy!r}", f"loss={trained.loss_name!r}"]
    named += [f"solver={solver!r}"] if solver else []
    named += [] if seed is None else [f"seed={seed}"]
    return "\n".join(
        [
            "import isinglearn as il",
            "from isinglearn import nn",
            "",
            f"# net: {trained.network}",
            "# with the options of the strategy, if there were any",
            f"model = il.train(net, X, y, {', '.join(named)})",
        ]
    )
