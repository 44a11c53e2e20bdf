"""Table 6 of the paper, with what is checked here of every module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isinglearn.conformance import added_spins, enumerate_example, enumerate_loss
from isinglearn.lowering.pipeline import Problem
from isinglearn.lowering.pipeline import compile as compile_problem
from isinglearn.nn import LOSSES, MODULES, Loss, Module, Sequential, trials
from isinglearn.nn.module import Trial
from isinglearn.solvers.base import Status
from isinglearn.solvers.run import solve

# Called with a name, how many are done and how many there are.
OnModule = Callable[[str, int, int], None]

# The paper's names where ours differ, and what its table lists without a formulation.
PAPER_NAMES = {
    "Conv2d": "Convolution",
    "AvgPool2d": "Pooling",
    "MaxPool2d": "Pooling",
    "BatchNorm": "Normalization",
    "LayerNorm": "Normalization",
    "LeakyReLU": "Leaky ReLU",
    "Abs": "Absolute",
    "Hinge": "Hinge loss",
}
OPEN = {
    "layer": ("Recurrent", "Attention"),
    "activation": ("Tanh", "Sigmoid", "ELU"),
    "loss": ("Cross entropy",),
}
# Not in the table: ours, needed for real networks.
BEYOND = ("Flatten", "Residual", "Staircase")


def check_modules(seed: int = 0, on_module: OnModule | None = None) -> list[dict[str, Any]]:
    """Enumerate and train every module and loss; a row for each, and for what is still open.

    ``on_module`` is told the name of each before its turn, how many are done, and how many there are.
    """
    rows = []
    for done, name in enumerate((*MODULES, *LOSSES)):
        if on_module is not None:
            on_module(name, done, len(MODULES) + len(LOSSES))
        module = MODULES.get(name)
        rows.append(
            _module_row(name, module, seed) if module else _loss_row(name, LOSSES[name], seed)
        )
    ordered = []
    for kind, names in OPEN.items():
        ordered += [row for row in rows if row["kind"] == kind]
        ordered += [_open_row(kind, name) for name in names]
    return ordered


def _module_row(name: str, module: type[Module], seed: int) -> dict[str, Any]:
    forms = ["paper", "compact"] if module.in_paper() else ["compact"]
    examples = module.examples()
    return {
        "kind": module.kind,
        "name": name,
        "paper": name not in BEYOND,
        "paper_name": None if name in BEYOND else PAPER_NAMES.get(name, name),
        "formulations": forms,
        "spins": {form: added_spins(examples[0], paper=form == "paper") for form in forms},
        "enumerated": all(
            enumerate_example(example, paper=form == "paper").holds
            for example in examples
            for form in forms
        ),
        "trained": all(
            trains_to_the_optimum(trial, None, form, seed)
            for trial in module.trials()
            for form in forms
        ),
    }


def _loss_row(name: str, loss: type[Loss], seed: int) -> dict[str, Any]:
    trial = trials.on_points(trials.hidden(), trials.make("Sign"), trials.readout())
    forms = ["paper", "compact"]
    return {
        "kind": "loss",
        "name": name,
        "paper": True,
        "paper_name": PAPER_NAMES.get(name, name),
        "formulations": forms,
        "spins": None,
        "enumerated": all(enumerate_loss(loss(), paper=form == "paper").holds for form in forms),
        "trained": all(trains_to_the_optimum(trial, loss(), form, seed) for form in forms),
    }


def _open_row(kind: str, name: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "paper": False,
        "paper_name": name,
        "formulations": [],
        "spins": None,
        "enumerated": False,
        "trained": False,
    }


def problem_of(trial: Trial, loss: Loss | None, formulation: str) -> Problem:
    """Turn a trial into a problem."""
    network = Sequential(*trial.modules, input_shape=trial.input_shape)
    return compile_problem(network, trial.X, trial.y, loss, formulation)


def trains_to_the_optimum(trial: Trial, loss: Loss | None, formulation: str, seed: int) -> bool:
    """Whether CP-SAT on the constraints and our annealer on the QUBO give the brute-force optimum."""
    problem = problem_of(trial, loss, formulation)
    truth = solve(problem, "brute")
    proved = solve(problem, "cpsat", time_limit=60, seed=seed, start=None)
    found = solve(problem, "annealer", seed=seed, start=None)
    return (
        truth.status is Status.OPTIMAL
        and proved.status is Status.OPTIMAL
        and truth.best.loss == proved.best.loss == found.best.loss
        and found.verdict.consistent
    )
