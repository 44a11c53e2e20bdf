"""``isinglearn predict``."""

import json
from dataclasses import replace

import pytest

import isinglearn as il


@pytest.fixture(scope="module")
def model(flowers, tmp_path_factory):
    from click.testing import CliRunner

    from isinglearn.cli import app

    path = tmp_path_factory.mktemp("models") / "model.json"
    words = ["train", str(flowers), "--target", "kind", "-o", str(path), "--quiet"]
    assert CliRunner().invoke(app, words).exit_code == 0
    return path


def test_predictions_go_to_the_terminal_or_to_a_file(invoke, answer, model, flowers, tmp_path):
    done = invoke("predict", model, flowers)
    lines = done.stdout.splitlines()
    assert lines[0] == "prediction"
    assert set(lines[1:]) == {"setosa", "versicolor", "virginica"}
    file = tmp_path / "answers.csv"
    assert invoke("predict", model, flowers, "-o", file).stdout == ""
    assert file.read_text() == done.stdout
    assert answer("predict", model, flowers)["predictions"] == lines[1:]
    assert invoke("predict", model, flowers, "--quiet").output == ""


def test_labels_are_compared(invoke, answer, model, flowers):
    record = answer("predict", model, flowers, "--target", "kind")
    assert record["right"] > 0.85 * 150
    assert record["accuracy"] == record["right"] / 150
    done = invoke("predict", model, flowers, "--target", "kind")
    assert f"{record['right']} of 150 right" in done.stderr


def test_other_columns_and_another_order_do_no_harm(invoke, model, flowers, tmp_path):
    rows = [line.split(",") for line in flowers.read_text().splitlines()]
    other = tmp_path / "other.csv"
    # Backwards, with a text in front.
    lines = [["name", *reversed(rows[0])], *(["a flower", *reversed(row)] for row in rows[1:])]
    other.write_text("\n".join(map(",".join, lines)) + "\n")
    assert invoke("predict", model, other).stdout == invoke("predict", model, flowers).stdout


def test_a_missing_column_names_the_nearest(invoke, model, flowers, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(flowers.read_text().replace("petal_width", "petal_widht"))
    done = invoke("predict", model, other)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "did you mean 'petal_widht'" in done.stderr


def test_a_model_without_names_takes_columns_as_they_are(invoke, model, flowers, tmp_path):
    nameless = tmp_path / "nameless.json"
    replace(il.load(model), features=None).save(nameless)
    done = invoke("predict", nameless, flowers, "--target", "kind")
    assert done.stdout == invoke("predict", model, flowers).stdout
    other = tmp_path / "other.csv"
    other.write_text("a,b,c,d,e\n1,2,3,4,5\n")
    done = invoke("predict", nameless, other)
    assert done.exit_code == 2
    assert "another number of features" in done.stderr
    assert "a, b, c, d, e" in done.stderr


def test_probabilities(invoke, answer, model, flowers):
    record = answer("predict", model, flowers, "--proba")
    assert record["classes"] == ["setosa", "versicolor", "virginica"]
    for chances, predicted in zip(record["probabilities"], record["predictions"], strict=True):
        assert sum(chances) == pytest.approx(1)
        assert record["classes"][chances.index(max(chances))] == predicted
    header = invoke("predict", model, flowers, "--proba").stdout.splitlines()[0]
    assert header.split(",")[1] == "probability_setosa"


def test_probabilities_of_a_model_that_has_none(invoke, model, flowers, tmp_path):
    silent = tmp_path / "silent.json"
    replace(il.load(model), odds=None).save(silent)
    done = invoke("predict", silent, flowers, "--proba")
    assert done.exit_code == 2
    assert "knows no probabilities" in done.stderr


def test_numbers_are_compared_by_r2(invoke, answer, line, tmp_path):
    model = tmp_path / "m.json"
    trained = answer("train", line, "--target", "b", "--test", 0, "-o", model)
    record = answer("predict", model, line, "--target", "b")
    assert record["R2"] == pytest.approx(trained["train_score"])
    assert f"R2 {record['R2']:.4f}" in invoke("predict", model, line, "--target", "b").stderr


def test_classes_that_are_numbers_are_compared_as_such(invoke, answer, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "".join(f"{i},{int(i > 15)}\n" for i in range(30)))
    invoke("train", table, "--target", "b", "-o", tmp_path / "m.json", "--quiet")
    other = tmp_path / "u.csv"
    other.write_text("a,b\n" + "".join(f"{i},{float(i > 15)}\n" for i in range(30)))
    assert answer("predict", tmp_path / "m.json", other, "--target", "b")["right"] > 25


def test_missing_and_damaged_models(invoke, model, flowers, tmp_path):
    done = invoke("predict", tmp_path / "none.json", flowers)
    assert done.exit_code == 2
    assert "there is no such file" in done.stderr
    record = json.loads(model.read_text())
    (tmp_path / "bad.json").write_text(json.dumps(record | {"sha256": "0"}))
    done = invoke("predict", tmp_path / "bad.json", flowers)
    assert done.exit_code == 2
    assert "damaged" in done.stderr


def test_classes_are_compared_one_by_one_whatever_else_is_in_the_table(answer, tmp_path):
    rows = [(a, b, "1.0" if a + b > 0 else "0.5") for a in range(-3, 4) for b in range(-3, 4)]
    table, model = tmp_path / "all.csv", tmp_path / "model.json"
    lines = [f"{a},{b},{kind}" for a, b, kind in rows]
    table.write_text("\n".join(["a,b,kind", *lines]))
    answer("train", table, "--target", "kind", "--task", "classify", "--test", 0, "-o", model)
    every = answer("predict", model, table, "--target", "kind")["right"]
    apart = 0
    for kind in ("1.0", "0.5"):
        part = tmp_path / f"{kind}.csv"
        part.write_text("\n".join(["a,b,kind", *(line for line in lines if line.endswith(kind))]))
        apart += answer("predict", model, part, "--target", "kind")["right"]
    assert every == apart > 40
