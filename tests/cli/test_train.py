"""``isinglearn train``."""

import json
import os

import numpy as np
import pytest

import isinglearn as il

QUICK = ("--steps", 20)


def test_it_writes_a_model_that_knows_its_columns(answer, flowers, tmp_path):
    model = tmp_path / "model.json"
    record = answer("train", flowers, "--target", "kind", "-o", model)
    assert (record["task"], record["rows"], record["test_rows"]) == ("classification", 120, 30)
    assert record["test_score"] > 0.8
    assert 0 < record["spins"] <= 256
    assert record["interrupted"] is False
    assert il.load(model).features == tuple(record["features"])
    assert record["features"][0] == "sepal_length"


def test_the_same_seed_gives_the_same_file_and_quiet_says_nothing(invoke, flowers, tmp_path):
    files = [tmp_path / f"{number}.json" for number in range(3)]
    for file, seed in zip(files, (1, 1, 2), strict=True):
        words = ("--target", "kind", "-o", file, "--seed", seed, "--quiet", *QUICK)
        done = invoke("train", flowers, *words)
        assert (done.exit_code, done.output) == (0, "")
    texts = [file.read_bytes() for file in files]
    assert texts[0] == texts[1] != texts[2]


def test_a_table_of_figures_is_printed(invoke, flowers, tmp_path):
    done = invoke("train", flowers, "--target", "kind", "-o", tmp_path / "m.json", *QUICK)
    for word in ("classification", "test_score", "verdict", "model"):
        assert word in done.stdout
    assert done.stderr == ""


def test_features_can_be_chosen(answer, flowers, tmp_path):
    words = ("--features", "petal_width,petal_length", "-o", tmp_path / "m.json", *QUICK)
    record = answer("train", flowers, "--target", "kind", *words)
    assert record["features"] == ["petal_width", "petal_length"]


def test_numbers_are_regressed(answer, line, tmp_path):
    record = answer("train", line, "--target", "b", "--test", 0, "-o", tmp_path / "m.json")
    assert (record["task"], record["score"], record["test_score"]) == ("regression", "R2", None)
    assert record["train_score"] > 0.7


def test_the_task_can_be_said(answer, tmp_path):
    table = tmp_path / "rates.csv"
    table.write_text("a,b\n" + "".join(f"{i},{i % 3 + 0.5}\n" for i in range(30)))
    words = ("train", table, "--target", "b", "-o", tmp_path / "m.json", *QUICK)
    assert answer(*words)["task"] == "regression"
    assert answer(*words, "--task", "classify")["task"] == "classification"
    assert il.load(tmp_path / "m.json").classes == ("0.5", "1.5", "2.5")


def test_one_problem_has_a_bound(answer, xor, tmp_path):
    words = ("--hidden", 2, "--weight-bits", 1, "-B", 0, "--test", 0, "--strategy", "direct")
    record = answer("train", xor, "--target", "answer", "-o", tmp_path / "m.json", *words)
    assert record["strategy"] == "direct"
    assert record["loss"] == pytest.approx(record["bound"])
    assert "proved optimal" in record["verdict"]


def test_a_time_limit_keeps_the_best_so_far(answer, flowers, tmp_path):
    words = ("-o", tmp_path / "m.json", "--steps", 10**6, "--time-limit", 1)
    record = answer("train", flowers, "--target", "kind", *words)
    assert record["steps"] < 10**6
    assert record["interrupted"] is False
    assert (tmp_path / "m.json").exists()


def test_ctrl_c_keeps_the_best_so_far(terminal, flowers, tmp_path):
    words = ("--target", "kind", "--steps", 10**6, "-o", "m.json")
    training = terminal("train", flowers, *words)
    training.wait_for(" left")
    assert "loss" in training.screen
    training.interrupt()
    code, output = training.end()
    assert code == 0
    assert "interrupted" in output
    assert "Interrupted: this is the best so far." in training.screen
    assert il.load(tmp_path / "m.json").classes == ("setosa", "versicolor", "virginica")


def test_npz_is_read_as_well(answer, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    np.savez(tmp_path / "t.npz", X=X, y=(X[:, 0] > 0) * 2.0 - 1)
    words = ("--target", "y", "-o", tmp_path / "m.json", *QUICK)
    record = answer("train", tmp_path / "t.npz", *words)
    assert (record["features"], record["task"]) == (["X0", "X1"], "classification")


def test_it_writes_a_report(answer, flowers, tmp_path):
    page = tmp_path / "report.html"
    words = ("--target", "kind", "-o", tmp_path / "m.json", "--report", page)
    assert answer("train", flowers, *words)["report"] == str(page)
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "setosa" in text
    assert "data:image/png;base64" in text


MISTAKES = {
    "no target": ([], "The columns of flowers.csv: sepal_length, sepal_width"),
    "no such target": (["--target", "knd"], "did you mean 'kind'"),
    "no such feature": (
        ["--target", "kind", "--features", "petal_widht"],
        "did you mean 'petal_width'",
    ),
    "no such strategy": (["--target", "kind", "--strategy", "direkt"], "did you mean 'direct'"),
    "no such solver": (["--target", "kind", "--solver", "anealer"], "did you mean 'annealer'"),
    "no such loss": (["--target", "kind", "--loss", "hing"], "Did you mean 'hinge'"),
    "texts as numbers": (["--target", "kind", "--task", "regress"], "no numbers"),
    "no widths": (["--target", "kind", "--hidden", "x"], "for example 16,8"),
    "too much held out": (["--target", "kind", "--test", "0.95"], "--test"),
}


@pytest.mark.parametrize(("words", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told_and_nothing_is_written(invoke, flowers, tmp_path, words, says):
    done = invoke("train", flowers, *words, "-o", tmp_path / "m.json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert not (tmp_path / "m.json").exists()


def test_one_class_alone_is_refused(invoke, tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n1,x\n2,x\n3,x\n")
    done = invoke("train", tmp_path / "one.csv", "--target", "b", "-o", tmp_path / "m.json")
    assert done.exit_code == 2
    assert "all of one class" in done.stderr


def test_json_is_one_line_of_plain_values(invoke, flowers, tmp_path):
    words = ("--target", "kind", "-o", tmp_path / "m.json", "--json", *QUICK)
    done = invoke("train", flowers, *words)
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.fixture
def lopsided(tmp_path):
    path = tmp_path / "lopsided.csv"
    rows = [f"{a},{(7 * a) % 11},{'rare' if a == 60 else 'common'}" for a in range(100)]
    path.write_text("\n".join(["a,b,kind", *rows]))
    return path


@pytest.mark.parametrize("seed", range(5))
def test_every_class_stays_in_the_training(answer, lopsided, tmp_path, seed):
    words = ("--target", "kind", "--steps", 5, "--seed", seed, "-o", tmp_path / "m.json")
    done = answer("train", lopsided, *words)
    assert done["test_rows"] == 20
    assert done["always_the_commonest"] == 1.0


def test_a_file_has_one_role(invoke, lopsided):
    before = lopsided.read_bytes()
    done = invoke("train", lopsided, "--target", "kind", "-o", lopsided)
    assert done.exit_code == 2
    assert "named twice" in done.stderr
    assert lopsided.read_bytes() == before


def test_only_files_are_written_over(invoke, lopsided):
    done = invoke("train", lopsided, "--target", "kind", "-o", os.devnull)
    assert done.exit_code == 2
    assert "is a device" in done.stderr


def test_what_was_said_of_the_rows_is_in_the_report(answer, lopsided, tmp_path):
    page = tmp_path / "r.html"
    words = ("--target", "kind", "--steps", 5, "-o", tmp_path / "m.json", "--report", page)
    answer("train", lopsided, *words)
    assert "always the commonest class" in page.read_text()
