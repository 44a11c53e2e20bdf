"""How to repeat a result: calls, seed and versions."""

from __future__ import annotations

import platform
from dataclasses import fields
from typing import Any

import numpy as np

import isinglearn
from isinglearn.lowering.options import Options
from isinglearn.lowering.pipeline import Problem
from isinglearn.report.source import arguments_source, imports_source, network_source
from isinglearn.solvers.base import SOLVERS
from isinglearn.solvers.run import Run
from isinglearn.training.trained import Trained


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
    """Turn a run into the calls that lead to it, given the same ``X`` and ``y``."""
    problem = run.problem
    asked = arguments_source({"seed": run.seed, **run.arguments})
    call = f"il.solve(problem, {_solver_source(run.solver)}{asked})"
    if run.seed is None:
        call = f"il.read_samples(problem, samples{arguments_source(dict(run.arguments))})"
    return _program(
        f"net = {network_source(problem.network)}",
        f"problem = il.compile(net, X, y{_compile_source(problem)})",
        f"run = {call}",
    )


def _compile_source(problem: Problem) -> str:
    """What ``compile`` was given besides the network and the data, where it is not the default."""
    options, data = problem.options, problem.data
    usual = Options(options.formulation)
    given: dict[str, Any] = {
        field.name: getattr(options, field.name)
        for field in fields(Options)
        if getattr(options, field.name) != getattr(usual, field.name)
    }
    if options.formulation != Options().formulation:
        given = {"formulation": options.formulation, **given}
    if data.label_scale != 1:
        given["label_scale"] = data.label_scale
    loss = "" if type(problem.loss).__name__ == "MSE" else f", loss=nn.{problem.loss!r}"
    weighted = "" if (data.weights == 1).all() else ", sample_weight=sample_weight"
    return loss + arguments_source(given) + weighted


def calls_of_training(trained: Trained) -> str:
    """Turn a training into the calls that lead to it, given the same ``X`` and ``y``."""
    asked = arguments_source({"strategy": trained.strategy, "loss": trained.loss_name})
    asked += f", solver={_solver_source(trained.solver)}, seed={trained.seed}"
    return _program(
        f"net = {network_source(trained.network)}",
        "# with the options of the strategy, if there were any",
        f"model = il.train(net, X, y{asked})",
    )


def _solver_source(name: str) -> str:
    """Of a sampler or solver of somebody else's the name is known, how it was made is not."""
    return repr(name) if name in (*SOLVERS, "auto") else f"{name}(...)"


def _program(*lines: str) -> str:
    code = "\n".join(lines)
    return "\n".join([*imports_source(code), "", code])
