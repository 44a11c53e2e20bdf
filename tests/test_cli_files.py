"""Commands that read and write files: compile and solve."""

import json

import dimod
import numpy as np
import pytest
from click.testing import CliRunner
from exact_minimum import minimum

import isinglearn as il
from isinglearn import nn
from isinglearn.cli import app
from isinglearn.errors import DataError, OptionError
from isinglearn.problem.exports.reading import read_bqm


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("left,right,answer\n-1,-1,no\n-1,1,yes\n1,-1,yes\n1,1,no\n")
    return path


def invoke(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


@pytest.mark.parametrize("ending", [".qubo", ".coo", ".npz", ".json"])
def test_what_is_compiled_is_solved_to_its_minimum(table, tmp_path, ending):
    problem, answer = tmp_path / f"problem{ending}", tmp_path / "answer.json"
    done = invoke(
        "compile",
        table,
        "--target",
        "answer",
        "--hidden",
        2,
        "--input-bits",
        0,
        "-o",
        problem,
        "--json",
    )
    assert done.exit_code == 0
    spins = json.loads(done.output)["compile"]["spins"]
    model = read_bqm(problem)
    assert model.num_variables == spins
    lowest = minimum(model)
    done = invoke("solve", problem, "--solver", "tree-decomposition", "--json", "-o", answer)
    record = json.loads(done.output)["solve"]
    assert (record["energy"], record["proved"], record["spins"]) == (lowest, True, spins)
    bits = json.loads(answer.read_text())
    assert model.energy({name: bits[str(name)] for name in model.variables}) == lowest
    assert invoke("solve", problem, "--reads", 5).exit_code == 0


def test_lp_files_hold_the_constrained_problem(table, tmp_path):
    done = invoke("compile", table, "--target", "answer", "-o", tmp_path / "problem.lp")
    assert done.exit_code == 0
    assert "certificate" in done.output
    assert (tmp_path / "problem.lp").read_text().startswith("\\ minimise")


def test_classes_and_numbers_as_labels(tmp_path):
    three = tmp_path / "three.csv"
    three.write_text("a,b\n" + "".join(f"{i},{'uvw'[i % 3]}\n" for i in range(6)))
    done = invoke("compile", three, "--target", "b", "-o", tmp_path / "p.npz", "--json")
    assert done.exit_code == 0
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("a,b\n" + "".join(f"{i},{i * i / 7}\n" for i in range(12)))
    done = invoke("compile", numbers, "--target", "b", "-o", tmp_path / "q.npz", "--json")
    assert done.exit_code == 0


@pytest.mark.parametrize("ending", [".qubo", ".coo", ".npz"])
def test_files_are_read_back_with_the_same_energies(tmp_path, ending):
    net = nn.Sequential(nn.Linear(2, 1), nn.Sign(), nn.Linear(1, 1))
    problem = il.compile(net, [[1, 0], [0, 1], [-1, 1]], [1, -1, 1])
    problem.qubo.write(tmp_path / f"p{ending}")
    model = read_bqm(tmp_path / f"p{ending}")
    bits = np.random.default_rng(0).integers(0, 2, (20, problem.qubo.num_variables))
    energies = model.energies((bits, list(model.variables)))
    assert (energies == problem.qubo.energy(bits)).all()


def test_files_of_others_are_read(tmp_path):
    path = tmp_path / "other.qubo"
    path.write_text("c made by hand\np qubo 0 3 2 1\n0 0 -1\n2 2 3\n0 2 2\n")
    model = read_bqm(path)
    assert model.num_variables == 3
    assert model.energy({0: 1, 1: 0, 2: 1}) == 4
    assert isinstance(model, dimod.BinaryQuadraticModel)


@pytest.mark.parametrize("ending", [".qubo", ".coo", ".npz", ".json"])
def test_damaged_files_are_refused(tmp_path, ending):
    path = tmp_path / f"bad{ending}"
    path.write_text("no such thing 1 2")
    with pytest.raises(DataError, match="cannot be read"):
        read_bqm(path)


def test_unknown_endings_are_refused(table, tmp_path):
    with pytest.raises(OptionError, match=r"did you mean '\.qubo'"):
        read_bqm(tmp_path / "problem.quboo")
    with pytest.raises(OptionError, match="--output"):
        invoke("compile", table, "--target", "answer", "-o", tmp_path / "problem.txt")
    with pytest.raises(DataError, match="did you mean 'answer'"):
        invoke("compile", table, "--target", "answr", "-o", tmp_path / "problem.lp")


# -- train and predict -----------------------------------------------------------------------------


@pytest.fixture
def flowers(tmp_path):
    from sklearn.datasets import load_iris

    data = load_iris()
    path = tmp_path / "flowers.csv"
    names = [name.split(" (")[0].replace(" ", "_") for name in data.feature_names]
    lines = [",".join([*names, "kind"])]
    for row, label in zip(data.data, data.target, strict=True):
        lines.append(",".join([*map(str, row), data.target_names[label]]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_trained_model_predicts_from_its_file(flowers, tmp_path):
    model, answers = tmp_path / "model.json", tmp_path / "answers.csv"
    done = invoke("train", flowers, "--target", "kind", "-o", model, "--json")
    record = json.loads(done.output)["train"]
    assert (record["task"], record["rows"], record["test_rows"]) == ("classification", 120, 30)
    assert record["test_score"] > 0.8
    assert 0 < record["spins"] <= 256
    done = invoke("predict", model, flowers, "--target", "kind", "-o", answers)
    assert done.exit_code == 0
    lines = answers.read_text().splitlines()
    assert lines[0] == "prediction"
    assert set(lines[1:]) == {"setosa", "versicolor", "virginica"}
    told = json.loads(invoke("predict", model, flowers, "--target", "kind", "--json").output)
    assert told["predict"]["predictions"] == lines[1:]
    assert told["predict"]["right"] > 0.85 * 150
    again = tmp_path / "again.json"
    invoke("train", flowers, "--target", "kind", "-o", again, "--quiet")
    assert again.read_bytes() == model.read_bytes()


def test_training_writes_a_report(flowers, tmp_path):
    page = tmp_path / "report.html"
    done = invoke(
        "train", flowers, "--target", "kind", "-o", tmp_path / "m.json", "--report", page, "--json"
    )
    assert json.loads(done.output)["train"]["report"] == str(page)
    text = page.read_text()
    assert text.startswith("<!DOCTYPE html>")
    assert "setosa" in text
    assert "data:image/png;base64" in text


def test_numbers_are_regressed(tmp_path):
    path = tmp_path / "line.csv"
    path.write_text("a,b\n" + "".join(f"{i},{0.5 * i + 0.25}\n" for i in range(60)))
    model = tmp_path / "model.json"
    done = invoke("train", path, "--target", "b", "--test", 0, "-o", model, "--json")
    record = json.loads(done.output)["train"]
    assert (record["task"], record["test_score"]) == ("regression", None)
    assert record["train_score"] > 0.7
    assert invoke("predict", model, path, "--target", "b").exit_code == 0


def test_mistakes_in_training_are_told(flowers, tmp_path):
    assert (
        "for example 16,8" in invoke("train", flowers, "--target", "kind", "--hidden", "x").output
    )
    with pytest.raises(DataError, match="did you mean 'kind'"):
        invoke("train", flowers, "--target", "knd", "-o", tmp_path / "m.json")
    with pytest.raises(OptionError, match="strategy"):
        invoke(
            "train", flowers, "--target", "kind", "--strategy", "magic", "-o", tmp_path / "m.json"
        )
    assert not (tmp_path / "m.json").exists()
