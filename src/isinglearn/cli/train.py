"""``isinglearn train`` and ``isinglearn predict``: a table to a model file, a model file to predictions."""

from __future__ import annotations

import csv
import io
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import SEED, as_json, print_json, print_table, watching

if TYPE_CHECKING:
    from isinglearn.tables import Table

# Labels of more different values than this are numbers to predict, not classes.
MOST_CLASSES = 20


def _widths(context: click.Context, option: click.Parameter, value: str) -> tuple[int, ...]:
    """Turn "16,8" into widths."""
    try:
        widths = tuple(int(part) for part in value.split(",") if part.strip())
    except ValueError as error:
        raise click.BadParameter("whole numbers with commas, for example 16,8") from error
    if any(width < 1 for width in widths):
        raise click.BadParameter("every width is at least 1")
    return widths


@click.command("train")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", required=True, help="Column of the labels.")
@click.option(
    "--task",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "classify", "regress"]),
    help="By default what the labels look like.",
)
@click.option(
    "--hidden", default="8", show_default=True, callback=_widths, help="Widths of hidden layers."
)
@click.option("--input-bits", default=4, show_default=True, help="Bits of the quantised features.")
@click.option("--strategy", default="auto", show_default=True, help="How to train.")
@click.option("--solver", default="auto", show_default=True, help="Who solves the QUBOs.")
@click.option("--time-limit", type=float, help="Seconds; the best network so far is kept.")
@click.option("--seed", default=0, show_default=True, type=SEED, help="Same seed, same model.")
@click.option(
    "--test",
    default=0.2,
    show_default=True,
    type=click.FloatRange(0, 0.9),
    help="Share of the rows to hold out and test on; 0 for none.",
)
@click.option(
    "-o",
    "--output",
    default=Path("model.json"),
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the model.",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a report as one self-contained HTML page.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@as_json
def train_command(
    data: Path,
    target: str,
    task: str,
    hidden: tuple[int, ...],
    input_bits: int,
    strategy: str,
    solver: str,
    time_limit: float | None,
    seed: int,
    test: float,
    output: Path,
    report: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Train a quantised network on a table (.csv, .npz, .parquet) and write it to a file."""
    import numpy as np

    from isinglearn.estimators import IsingClassifier, IsingRegressor
    from isinglearn.tables import read_table

    table = read_table(data, target)
    assert table.y is not None
    regress = task == "regress" or (task == "auto" and _are_numbers(table))
    settings: dict[str, Any] = {
        "input_bits": input_bits,
        "strategy": strategy,
        "solver": solver,
        "time_limit": time_limit,
        "random_state": seed,
    }
    kind = IsingRegressor if regress else IsingClassifier
    estimator = kind(hidden, **settings)
    order = np.random.default_rng(seed).permutation(len(table.y))
    held, kept = np.split(order, [round(test * len(order))])
    with watching("training"):
        estimator.fit(table.X[kept], table.y[kept])
    estimator.model_.save(output)
    if report is not None:
        from isinglearn.report.html import write_report
        from isinglearn.report.record import record_of_training

        test_data = (table.X[held], table.y[held]) if len(held) else (None, None)
        page = record_of_training(
            estimator.trained_,
            table.X[kept],
            table.y[kept],
            X_test=test_data[0],
            y_test=test_data[1],
            model=estimator.model_,
            feature_names=list(table.features),
            verdict=estimator.verdict_,
            gap=estimator.optimality_gap_,
            solver=solver,
            seed=seed,
            title=f"{data.name}, target {target}",
            command=shlex.join(["isinglearn", *sys.argv[1:]]),
        )
        write_report(page, report)
    record = {
        "task": "regression" if regress else "classification",
        "rows": len(kept),
        "features": list(table.features),
        "train_score": float(estimator.score(table.X[kept], table.y[kept])),
        "test_rows": len(held),
        "test_score": float(estimator.score(table.X[held], table.y[held])) if len(held) else None,
        "score": "R2" if regress else "accuracy",
        "loss": float(estimator.loss_),
        "spins": int(estimator.n_spins_),
        "qubos": int(estimator.n_qubos_),
        "verdict": str(estimator.verdict_),
        "model": str(output),
        "report": None if report is None else str(report),
    }
    if as_json:
        print_json({"train": record})
    elif not quiet:
        rows = [[name, _shown(value)] for name, value in record.items() if value is not None]
        print_table(f"{data}, target {target}", ["", "value"], rows, wide=["value"])


def _are_numbers(table: Table) -> bool:
    """Whether labels look like numbers to predict."""
    import numpy as np

    assert table.y is not None
    return table.y.dtype.kind == "f" or (
        table.y.dtype.kind == "i" and len(np.unique(table.y)) > MOST_CLASSES
    )


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(value) if isinstance(value, list) else str(value)


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--target", help="Column of the labels, if the table has it: to compare with.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a CSV file with the column 'prediction'; by default to the terminal.",
)
@as_json
def predict_command(
    model: Path, data: Path, target: str | None, output: Path | None, as_json: bool
) -> None:
    """Predict with a model file; the table has the features of the training, in the same order."""
    import isinglearn as il
    from isinglearn.problem.exports.files import replacing
    from isinglearn.tables import read_table

    loaded, table = il.load(model), read_table(data, target)
    found = loaded.predict(table.X).tolist()
    right = None
    if table.y is not None and loaded.target_range is None:
        right = sum(str(a) == str(b) for a, b in zip(found, table.y.tolist(), strict=True))
    if as_json:
        print_json({"predict": {"predictions": found, "right": right}})
        return
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["prediction"], *([value] for value in found)])
    if output is None:
        click.echo(text.getvalue(), nl=False)
    else:
        with replacing(output) as file:
            file.write(text.getvalue().encode())
    if right is not None:
        click.echo(f"{right} of {len(found)} right ({right / len(found):.1%})", err=True)
