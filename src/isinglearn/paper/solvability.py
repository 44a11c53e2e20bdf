"""The paper's third verification: digits 6 and 9 as a QUBO that an annealer solves, again and again.

As in the paper: two images of each digit, four inputs, one hidden unit, one output, in the paper's form and
in the compact one. Beyond the paper: all training images as one QUBO, whose least loss is not 0. Of every
problem the optimum is proved first, so that a success is a fact; then it is annealed in many reads.

Thresholds and images are chosen on training data only (``mnist_choice``); test images are only scored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from isinglearn import nn
from isinglearn.data import Dataset
from isinglearn.errors import OptionError
from isinglearn.lowering.budget import spin_budget
from isinglearn.lowering.pipeline import Problem
from isinglearn.lowering.pipeline import compile as compile_problem
from isinglearn.metrics import Measurement, Outcome, confusion, measure
from isinglearn.nn.module import Parameters
from isinglearn.paper.mnist import (
    WHITE_LEVEL,
    Digits,
    load_six_nine,
    normalise,
    patch_counts,
)
from isinglearn.paper.mnist_choice import (
    Selection,
    select_training_set,
)
from isinglearn.paper.mnist_files import Directory, find_files
from isinglearn.paper.mnist_spread import (
    PAPER_ACCURACY,
    Labelled,
    spread_over_images,
    spread_over_thresholds,
)
from isinglearn.solvers.annealer.reads import thread_count
from isinglearn.solvers.base import Answer, Form, Solver, Status, solver_named
from isinglearn.solvers.reading import read
from isinglearn.solvers.run import Run, solve
from isinglearn.solvers.session import Event, OnEvent

# As printed: Fixstars Amplify AE, 100 runs.
PAPER: dict[str, Any] = {
    "solver": "Fixstars Amplify AE",
    "spins": 108,
    "reads": 100,
    "anneal_ms": 700.0,
    "success_probability": 0.72,
    "tts_seconds": 2.53,
    "test_accuracy": PAPER_ACCURACY,
    "test_images": 1967,
}
# Three ways that have little in common: all networks, all activation patterns, constraint programming.
PROVERS = ("brute", "patterns", "cpsat")
FORMULATIONS = ("paper", "compact")
# Tempering makes 16 times as many proposals as annealing: minutes on thousands of spins.
_MOST_SPINS_TO_TEMPER = 1000
# How solvers call the number of their independent reads.
_READS = ("num_reads", "agents")


# -- images ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Images:
    """Sixes and nines to train on and to test on.

    Attributes
    ----------
    name, source
        What they are, and where they are from.
    train, test
        The images and labels.
    white_level
        The smallest value of a white pixel.
    """

    name: str
    source: str
    train: Digits
    test: Digits
    white_level: int = WHITE_LEVEL


def load_mnist(directory: Directory = None, *, download: bool = False) -> Images:
    """Turn the MNIST files into 11,867 training and 1,967 test images; see ``mnist_files``."""
    folder = find_files("train", directory, download=download)[0].parent
    train, test = (
        load_six_nine(split, directory, download=download) for split in ("train", "test")
    )
    return Images("MNIST", str(folder), train, test)


def load_small_digits(seed: int = 0) -> Images:
    """Turn scikit-learn's 8x8 digits into training and test images, half of each digit by this seed.

    They are not MNIST: another source, 361 images of 6 and 9, values up to 16. White is half of that.
    """
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    every = load_digits()
    chosen = np.isin(every.target, (6, 9))
    images = every.images[chosen].astype(np.uint8)
    labels = np.where(every.target[chosen] == 6, 1, -1).astype(np.int64)
    halves = train_test_split(
        np.arange(len(labels)), test_size=0.5, random_state=seed, stratify=labels
    )
    train, test = (Digits(images[np.sort(half)], labels[np.sort(half)]) for half in halves)
    name = "scikit-learn digits (not MNIST)"
    return Images(name, "sklearn.datasets.load_digits", train, test, white_level=8)


# -- the problems ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """A form of a training set, compiled, with its proved optimum.

    Attributes
    ----------
    train
        The training images as inputs and labels, equal ones and all.
    facts
        What its rows have in common, as plain values.
    """

    problem: Problem
    train: Labelled
    optimum: Fraction
    facts: dict[str, Any]


def network() -> nn.Sequential:
    """The paper's network 4-1-1."""
    return nn.paper_network(4, 1, 2, 1, 0)


def compile_cases(four: Labelled, whole: Labelled, seed: int = 0) -> Iterator[Case]:
    """Turn two training sets, inputs and labels, into the problems of both forms, proved."""
    for train in (four, whole):
        for formulation in FORMULATIONS:
            yield _case(formulation, train, seed)


def _case(formulation: str, train: Labelled, seed: int) -> Case:
    every = Dataset.of(*train)
    merged = every.merged()
    # The paper's form has variables for every sample, 24 each; that equal ones are one of more weight is
    # our step, and the loss is the same. The compact form does so by itself.
    data = merged if formulation == "paper" else every
    given: dict[str, Any] = {"formulation": formulation, "sample_weight": data.weights}
    # Once before, so that loading the compiler's kernels is not counted.
    compile_problem(network(), data.X, data.y, **given).qubo  # noqa: B018
    started = time.perf_counter()
    problem = compile_problem(network(), data.X, data.y, **given)
    spins = problem.qubo.num_variables
    compiled = time.perf_counter() - started
    proofs = {name: solve(problem, name, seed=seed) for name in PROVERS}
    assert proofs["brute"].status is Status.OPTIMAL
    facts = {
        "formulation": formulation,
        "train_images": len(every),
        "distinct_samples": len(merged),
        "spins": spins,
        "qcbo": problem.qcbo.num_bits,
        # Without the step above, for the paper's form.
        "qcbo_unmerged": (
            spin_budget(network(), train[0]).paper_qcbo if formulation == "paper" else None
        ),
        "compile_ms": 1e3 * compiled,
        "optimum": str(proofs["brute"].best.loss),
        "optimal_networks": len(proofs["brute"].result.vectors),
        "proofs": {name: run.status.value for name, run in proofs.items()},
        "proof_ms": {name: 1e3 * run.seconds for name, run in proofs.items()},
        "networks": math.prod(map(len, problem.free_domains)),
    }
    return Case(problem, train, proofs["brute"].best.loss, facts)


# -- annealing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moves:
    """A way to use a solver: its name in tables, and the options that make it."""

    label: str
    options: dict[str, Any]


# The annealer's own move changes a parameter and all that follows from it: it knows the network. The other
# two know nothing but the QUBO, as a machine would.
ANNEALER_MOVES = (
    Moves("walk", {"moves": "auto"}),
    Moves("flips", {"moves": "single"}),
    Moves("tempering", {"moves": "single", "method": "temper"}),
)


def ways(solver: Solver, spins: int) -> list[Moves]:
    """Turn a solver and a problem's size into the ways it is run."""
    if solver.name != "annealer":
        return [Moves(solver.name, {})]
    large = spins > _MOST_SPINS_TO_TEMPER
    return [moves for moves in ANNEALER_MOVES if not (large and "method" in moves.options)]


def effort(solver: Solver, reads: int, sweeps: int) -> dict[str, Any]:
    """Turn reads and sweeps into the options of a solver; sweeps only where it has such."""
    known = [field.name for field in fields(solver.Options)]
    counts = [name for name in _READS if name in known]
    if solver.traits.exact or not counts:
        raise OptionError(
            "success in many reads cannot be counted with this solver",
            where=f"solver={solver.name!r}",
            rule=f"a heuristic with one of the options {', '.join(_READS)}",
            received="an exact one" if solver.traits.exact else f"options {', '.join(known)}",
            remedy="choose another one: isinglearn solvers lists them",
        )
    return {counts[0]: reads} | ({"num_sweeps": sweeps} if "num_sweeps" in known else {})


def anneal(
    case: Case,
    solver: Solver,
    moves: Moves,
    test: Labelled,
    *,
    reads: int,
    sweeps: int,
    seed: int,
    on_event: OnEvent | None = None,
) -> dict[str, Any]:
    """Turn a problem and a way to solve it into success, times and the network found, as plain values."""
    given = effort(solver, reads, sweeps) | moves.options
    threads = thread_count(None) if solver.name == "annealer" else 1
    # Kernels are loaded in a run that is not counted.
    solve(case.problem, solver, seed=seed, **effort(solver, 1, 1) | moves.options)
    run = solve(case.problem, solver, seed=seed, on_event=on_event, **given)
    # The walk drops reads that never came into the ranges of the paper's form.
    measured = measure(run, case.optimum, reads=reads, threads=threads, dropped_fail=True)
    return {
        **case.facts,
        "solver": run.solver,
        "label": moves.label,
        "options": given,
        "seed": seed,
        **_success(measured),
        "decode_ms": _decode_ms(run),
        **_found(run, case.train, test),
    }


def _success(measured: Measurement) -> dict[str, Any]:
    """Turn a measurement into figures: on the loss after repair, and with ``_raw`` on the energy."""

    def figures(outcome: Outcome, suffix: str = "") -> dict[str, Any]:
        success, times = outcome.success.to_dict(), outcome.per_read.to_dict()
        return {
            f"success_probability{suffix}": success["estimate"],
            f"success_interval{suffix}": [success["low"], success["high"]],
            f"tts_seconds{suffix}": times["estimate"],
            f"tts_interval{suffix}": [times["low"], times["high"]],
        }

    assert measured.raw is not None
    repaired = measured.repaired
    return {
        "reads": repaired.success.reads,
        **figures(repaired),
        **figures(measured.raw, "_raw"),
        "anneal_ms": 1e3 * repaired.per_read.seconds_per_read,
        "threads": measured.threads,
        "seconds": measured.seconds,
        "losses": [[str(loss), count] for loss, count in measured.losses],
    }


def _decode_ms(run: Run) -> float | None:
    """Turn a run into the time of turning one read's bits back into a network with its loss."""
    if run.result.bits is None or not len(run.result.bits):
        return None
    started = time.perf_counter()
    read(run.problem, Form.QUBO, Answer(run.result.bits))
    return 1e3 * (time.perf_counter() - started) / len(run.result.bits)


# What is None where a run found no network at all.
_FOUND = (
    "loss",
    "train_accuracy",
    "test_accuracy",
    "test_right",
    "confusion",
    "parameters",
    "consistent",
)


def _found(run: Run, train: Labelled, test: Labelled) -> dict[str, Any]:
    """Turn a run into its best network and how that does on the images."""
    if not len(run.result.vectors):
        return dict.fromkeys(_FOUND) | {"test_images": len(test[1])}
    best: Parameters = run.best.parameters
    trained, tested = (confusion(run.problem.network, best, *data) for data in (train, test))
    return {
        "loss": str(run.best.loss),
        "train_accuracy": float(trained.accuracy),
        "test_accuracy": float(tested.accuracy),
        "test_right": tested.right,
        "test_images": tested.samples,
        # Rows are true digits, columns predicted ones; 9 first, then 6.
        "confusion": [list(row) for row in tested.matrices[0]],
        "parameters": {name: values.tolist() for name, values in best.items()},
        "consistent": run.verdict.consistent,
    }


# -- all of it -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Verified:
    """What was trained on and what came out, as plain values.

    Attributes
    ----------
    images
        Where the images are from.
    choice
        Thresholds, the four training images, the function that they determine, and how other choices
        would have done.
    samples
        The four images as rows of pixels.
    rows
        A record for each problem and way to anneal it; the paper's form with four images first.
    """

    images: str
    choice: dict[str, Any]
    samples: list[list[list[int]]]
    rows: list[dict[str, Any]]

    def record(self) -> dict[str, Any]:
        """Everything, as plain JSON values."""
        return dict(vars(self))


def verify_solvability(
    images: Images,
    solver: str = "annealer",
    *,
    reads: int = 100,
    sweeps: int = 1000,
    seed: int = 0,
    on_event: OnEvent | None = None,
) -> Verified:
    """Turn images into problems, proofs and annealing runs, in both forms and for both training sets.

    Parameters
    ----------
    images
        From `load_mnist` or `load_small_digits`.
    solver
        A heuristic that makes independent reads.
    reads, sweeps
        For each run; sweeps are rounds when tempering.
    seed
        Of all solvers.
    on_event
        Told what is under way. It cannot stop a run: a read cut short would be counted as a failure.
    """
    chosen = solver_named(solver)
    effort(chosen, reads, sweeps)
    counts = patch_counts(images.train.images, images.white_level)
    tell = _stages(on_event)
    tell("choosing thresholds and images")
    selection = select_training_set(counts, images.train.labels)
    four = np.array(selection.inputs), np.array(selection.labels)
    whole = normalise(counts, selection.thresholds), images.train.labels
    test_counts = patch_counts(images.test.images, images.white_level)
    test = normalise(test_counts, selection.thresholds), images.test.labels
    rows = []
    for case in compile_cases(four, whole, seed):
        for moves in ways(chosen, case.facts["spins"]):
            name = f"{case.facts['formulation']} form, {len(case.train[1])} images, {moves.label}"
            news = tell(name)
            rows.append(
                anneal(
                    case, chosen, moves, test, reads=reads, sweeps=sweeps, seed=seed, on_event=news
                )
            )
    samples = [images.train.images[place].tolist() for place in selection.indices]
    tell("spread over other choices")
    trained, tested = (counts, images.train.labels), (test_counts, images.test.labels)
    choice = _choice(selection) | {
        "white_level": images.white_level,
        "spread_over_images": spread_over_images(selection.thresholds, trained, tested),
        "spread_over_thresholds": spread_over_thresholds(trained, tested),
    }
    return Verified(images.name, choice, samples, rows)


def _stages(on_event: OnEvent | None) -> Callable[[str], OnEvent]:
    """Turn a listener into one that hears what is under way, and whose answer is not asked for."""

    def tell(stage: str) -> OnEvent:
        def news(event: Event) -> None:
            if on_event is not None:
                on_event(replace(event, message=stage))

        news(Event(0.0))
        return news

    return tell


def _choice(selection: Selection) -> dict[str, Any]:
    return {
        "thresholds": [selection.thresholds.low, selection.thresholds.high],
        "training_images": list(selection.indices),
        "inputs": [list(row) for row in selection.inputs],
        "labels": list(selection.labels),
        "parameters": selection.parameters._asdict(),
        "train_right": selection.correct,
        "train_images": selection.total,
        "distinct_inputs": selection.distinct_inputs,
    }
