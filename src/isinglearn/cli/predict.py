"""``isinglearn predict``: a model file and a table to predictions."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.common import Common, output, with_common
from isinglearn.cli.data import table_argument
from isinglearn.cli.parameters import FILE, existing
from isinglearn.errors import DataError

if TYPE_CHECKING:
    from isinglearn.model import Model
    from isinglearn.tables import Table


@click.command("predict")
@click.argument("model", type=FILE, callback=existing)
@table_argument()
@click.option("--target", metavar="COLUMN", help="Column of labels to compare with.")
@click.option("--proba", is_flag=True, help="Give the probability of every class as well.")
@output(None, "Write the predictions as CSV; by default to the terminal.")
@with_common()
def predict_command(
    common: Common,
    model: Path,
    data: Path,
    target: str | None,
    proba: bool,
    output: Path | None,
) -> None:
    """Predict with a model file.

    The model takes the columns of its training by their names, whatever else the table has.
    """
    import isinglearn as il
    from isinglearn.tables import read_table

    with common.progress("predicting") as bar:
        loaded = il.load(model)
        bar.step(1, 3, "reading the table")
        table = read_table(data, target, loaded.features)
        _check_width(loaded, table, data)
        bar.step(2, 3, "predicting")
        found = loaded.predict(table.X)
        chances = loaded.predict_proba(table.X) if proba else None
    record: dict[str, Any] = {"predictions": found.tolist()}
    columns = [record["predictions"]]
    header = ["prediction"]
    if chances is not None:
        names = _classes(loaded)
        record["classes"], record["probabilities"] = names, chances.tolist()
        header += [f"probability_{name}" for name in names]
        columns += chances.T.tolist()
    if target is not None:
        record |= _compared(loaded, found, table)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *zip(*columns, strict=True)])
    if output is not None:
        from isinglearn.problem.exports.files import replacing

        with replacing(output) as file:
            file.write(text.getvalue().encode())
        record["output"] = str(output)
    common.answer(
        {"predict": record},
        lambda: None if output is not None else click.echo(text.getvalue(), nl=False),
    )
    if "right" in record:
        common.say(f"{record['right']} of {len(found)} right ({record['accuracy']:.1%})")
    elif record.get("R2") is not None:
        common.say(f"R2 {record['R2']:.4f}")


def _check_width(model: Model, table: Table, data: Path) -> None:
    """Refuse a table whose columns cannot be told by name and are not as many as the model takes."""
    if model.features is None and table.X.shape[1] != model.network.in_features:
        raise DataError(
            "the table has another number of features",
            where=str(data),
            rule=f"{model.network.in_features} columns; this model file has no names to find them by",
            received=f"{table.X.shape[1]}: {', '.join(table.features)}",
            remedy="leave the others out; --target takes the labels out",
        )


def _classes(model: Model) -> list[str]:
    """Names of the classes, in the order of their probabilities."""
    count = model.network.out_features
    return [str(name) for name in model.classes or ((-1, 1) if count == 1 else range(count))]


def _compared(model: Model, found: Any, table: Table) -> dict[str, Any]:
    """How good predictions are: R2 of numbers, else how many are right."""
    if model.target_range is not None:
        truth = table.labels("regress")
        spread = float(((truth - truth.mean()) ** 2).sum())
        return {"R2": 1 - float(((truth - found) ** 2).sum()) / spread if spread else None}
    assert table.y is not None
    pairs = zip(found.tolist(), table.y.tolist(), strict=True)
    right = sum(_named(a) == _named(b) for a, b in pairs)
    known = {_named(name) for name in _classes(model)}
    if not any(_named(label) in known for label in table.y.tolist()):
        raise DataError(
            "none of these labels is a class of the model",
            where=f"column {table.target}",
            rule="some of " + ", ".join(sorted(known)[:10]),
            received=f"labels such as {_named(table.y.tolist()[0])!r}",
            remedy="name the column that the model was trained on",
        )
    return {"right": right, "accuracy": right / len(found)}


def _named(label: Any) -> str:
    """Turn a class into one text: 1, 1.0, "1" and "1.0" are the same, wherever they come from."""
    try:
        number = float(label)
    except ValueError:
        return str(label).strip()
    return str(int(number)) if number.is_integer() else str(number)
