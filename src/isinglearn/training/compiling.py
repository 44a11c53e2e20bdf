"""Compiling a task's samples, for strategies whose QUBOs come from the compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.decode import solution
from isinglearn.errors import OptionError, ProblemRefused, check_choice
from isinglearn.lowering.pipeline import Problem, compile
from isinglearn.nn import MSE, Hinge, Loss, Parameters, Sequential
from isinglearn.training.strategy import Task

# Losses that a QUBO can express, by the names that all trainers use.
LOSSES: dict[str, type[Loss]] = {"square": MSE, "hinge": Hinge}
# No option is as large as this.
_MOST = 1e9


def compiled(net: Sequential, loss: str, X: ArrayLike, y: ArrayLike, **options: Any) -> Problem:
    """Turn samples into a problem; the loss, by its name, must be one that a QUBO can express."""
    return compile(net, X, y, loss_of(loss), **options)


def loss_of(name: str) -> Loss:
    """Turn a loss's name into what is compiled."""
    return LOSSES[check_choice(name, LOSSES, "loss")]()


def compiled_whole(task: Task, **options: Any) -> Problem:
    """Turn all samples of a task into one problem, refused if its QUBO is larger than allowed."""
    problem = compiled(
        task.network, task.loss, np.asarray(task.X), task.y, sample_weight=task.weights, **options
    )
    if task.max_spins is not None:
        # Order reduction only adds spins: the cheaper count first.
        for form in ("hubo", "qubo"):
            check_spins(getattr(problem, form).num_variables, task.max_spins)
    return problem


def loss_of_network(problem: Problem, parameters: Parameters) -> float:
    """Turn a network into the loss of a problem's samples."""
    return float(solution(problem, problem.vector(parameters)).loss)


def check_spins(spins: int, most: int) -> None:
    """Raise if a QUBO is larger than allowed."""
    if spins > most:
        raise ProblemRefused(
            "the problem does not fit the machine",
            where="max_spins",
            rule=f"at most {most} spins",
            received=f"{spins} spins",
            remedy="use strategy='decomposed' or 'admm', fewer samples, or a larger max_spins",
        )


def check_number(value: object, where: str, least: float) -> None:
    """Raise if a value is no number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < _MOST:
        raise OptionError(
            "this number is out of its limits",
            where=where,
            rule=f"a number from {least:g} to below {_MOST:g}",
            received=repr(value),
            remedy="leave it out for the default",
        )
