"""``isinglearn train``: a table to a model file."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import click

from isinglearn.cli.common import Common, output, with_common
from isinglearn.cli.data import read_labelled, table_argument, table_options
from isinglearn.cli.networks import network_options
from isinglearn.cli.parameters import COUNT, FILE, one_of, writable
from isinglearn.cli.printing import print_values
from isinglearn.lowering.options import FORMULATIONS

# As isinglearn.training has them; its import takes a second.
LOSSES = ("cross_entropy", "logistic", "hinge", "squared_hinge", "square")


@click.command("train")
@table_argument()
@table_options
@network_options(hidden="8", weight_bits=4)
@click.option(
    "--loss", **one_of(LOSSES), help="What is minimised; by default what suits labels and strategy."
)
@click.option("--strategy", default="auto", show_default=True, help="How to train.")
@click.option("--solver", default="auto", show_default=True, help="Who solves the QUBOs.")
@click.option(
    "--formulation",
    default="compact",
    show_default=True,
    **one_of(FORMULATIONS),
    help="How one problem for all rows is written.",
)
@click.option(
    "--steps", type=COUNT, metavar="N", help="Steps of the training, for strategies that take many."
)
@click.option(
    "--test",
    default=0.2,
    show_default=True,
    type=click.FloatRange(0, 0.9),
    metavar="SHARE",
    help="Share of the rows to hold out and test on; 0 for none.",
)
@output("model.json", "Where to write the model.")
@click.option(
    "--report",
    type=FILE,
    callback=writable,
    help="Write a report as one self-contained HTML page.",
)
@with_common(seed="Same seed, same model.", time_limit="Seconds; the best network so far is kept.")
def train_command(
    common: Common,
    data: Path,
    target: str | None,
    features: tuple[str, ...] | None,
    task: str,
    hidden: tuple[int, ...],
    strategy: str,
    solver: str,
    steps: int | None,
    test: float,
    output: Path,
    report: Path | None,
    **settings: Any,
) -> None:
    """Train a network on a table and write it to a file.

    The table (.csv, .npz, .parquet) has one row per sample and one column per feature. Ctrl-C and a time
    limit end the training; the best network so far is written.
    """
    from isinglearn.estimators import IsingClassifier, IsingRegressor

    table, kind = read_labelled(data, target, features, task)
    labels = table.labels(kind)
    estimator = (IsingRegressor if kind == "regress" else IsingClassifier)(
        hidden,
        strategy=strategy,
        solver=solver,
        max_iter=steps,
        time_limit=common.time_limit,
        random_state=common.seed,
        **settings,
    )
    kept, held = _split(labels, test, kind, common.seed)
    with common.progress("training", limit=common.time_limit) as bar, catch_warnings():
        # That many classes have one row each is no news to who asked for classes.
        simplefilter("ignore", UserWarning)
        estimator.fit(table.X[kept], labels[kept], on_event=bar.on_event)
    model = replace(estimator.model_, features=table.features)
    model.save(output)
    if report is not None:
        tests = (table.X[held], labels[held]) if len(held) else ()
        try:
            with common.progress("report"):
                model.report(
                    report,
                    table.X[kept],
                    labels[kept],
                    *tests,
                    title=f"{data.name}, target {table.target}",
                    command=shlex.join(["isinglearn", *sys.argv[1:]]),
                )
        except KeyboardInterrupt:
            # The model is there, and so is what is to be said of it.
            common.say("interrupted: no report was written")
            report = None
    record = {
        "task": "regression" if kind == "regress" else "classification",
        "rows": len(kept),
        "features": list(table.features),
        "score": "R2" if kind == "regress" else "accuracy",
        "train_score": _score(estimator, table.X[kept], labels[kept]),
        "test_rows": len(held),
        "test_score": _score(estimator, table.X[held], labels[held]),
        "always_the_commonest": _guessed(labels[kept], labels[held], kind),
        "strategy": estimator.model_.strategy,
        "loss": float(estimator.loss_),
        "bound": estimator.model_.bound,
        "steps": int(estimator.n_iter_),
        "spins": int(estimator.n_spins_),
        "qubos": int(estimator.n_qubos_),
        "seconds": float(estimator.model_.seconds),
        "interrupted": common.interrupts.seen,
        "verdict": str(estimator.verdict_),
        "model": str(output),
        "report": None if report is None else str(report),
    }
    common.answer({"train": record}, lambda: print_values(f"{data}, target {target}", record))


def _split(labels: Any, test: float, kind: str, seed: int) -> tuple[Any, Any]:
    """Turn rows into those to train on and those to hold out, of every class the same share."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(len(labels))
    groups = [order]
    if kind != "regress":
        numbers = np.unique(labels, return_inverse=True)[1][order]
        groups = [order[numbers == number] for number in range(numbers.max() + 1)]
    # At least one row of every class stays to be learned from.
    parts = [np.split(group, [min(round(test * len(group)), len(group) - 1)]) for group in groups]
    held, kept = (np.sort(np.concatenate(rows)) for rows in zip(*parts, strict=True))
    return kept, held


def _guessed(known: Any, asked: Any, kind: str) -> float | None:
    """The part of test rows that is right by guessing the commonest class of the training rows."""
    import numpy as np

    if kind == "regress" or not len(asked):
        return None
    classes, counts = np.unique(known, return_counts=True)
    return float((asked == classes[counts.argmax()]).mean())


def _score(estimator: Any, X: Any, y: Any) -> float | None:
    """Accuracy or R2, where there are rows enough to speak of it."""
    enough = len(y) >= (1 if hasattr(estimator, "classes_") else 2)
    return float(estimator.score(X, y)) if enough else None
