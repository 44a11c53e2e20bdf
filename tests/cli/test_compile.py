"""``isinglearn compile``."""

import dimod
import numpy as np
import pytest

from isinglearn.problem.exports.reading import read_bqm


def test_lp_files_hold_the_constrained_problem(invoke, xor, tmp_path):
    done = invoke("compile", xor, "--target", "answer", "-o", tmp_path / "problem.lp")
    assert done.exit_code == 0
    assert "certificate" in done.stdout
    assert (tmp_path / "problem.lp").read_text().startswith("\\ minimise")


@pytest.mark.parametrize("ending", [".qubo", ".coo", ".npz", ".json"])
def test_every_ending_holds_the_same_qubo(answer, xor, tmp_path, ending):
    path = tmp_path / f"problem{ending}"
    words = ("--target", "answer", "--hidden", 1, "-B", 0, "-o", path)
    record = answer("compile", xor, *words)
    model = read_bqm(path)
    assert (model.num_variables, model.num_interactions) == (record["spins"], record["couplers"])
    assert record["output"] == str(path)
    assert record["certified"] is True


def test_classes_and_numbers_as_labels(answer, tmp_path):
    words = ("--target", "b", "-B", 1, "--hidden", 1, "-o", tmp_path / "p.npz")
    three = tmp_path / "three.csv"
    three.write_text("a,b\n" + "".join(f"{i},{'uvw'[i % 3]}\n" for i in range(6)))
    two = tmp_path / "two.csv"
    two.write_text("a,b\n" + "".join(f"{i},{'uv'[i % 2]}\n" for i in range(6)))
    spins = [answer("compile", table, *words)["spins"] for table in (two, three)]
    # Three classes have an output each.
    assert spins[1] > spins[0]
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("a,b\n" + "".join(f"{i},{i * i / 7}\n" for i in range(12)))
    coarse = answer("compile", numbers, *words, "--label-scale", 4)
    fine = answer("compile", numbers, *words)
    assert fine["resolution_bits"] > coarse["resolution_bits"]


def test_it_is_the_problem_that_training_solves(answer, xor, tmp_path):
    network = ("--hidden", 2, "-B", 0, "--weight-bits", 1, "--target", "answer")
    compiled = answer("compile", xor, *network, "-o", tmp_path / "p.qubo")
    direct = ("--strategy", "direct", "--solver", "treewidth", "--test", 0)
    trained = answer("train", xor, *network, *direct, "-o", tmp_path / "m.json")
    solved = answer("solve", tmp_path / "p.qubo", "--solver", "treewidth")
    assert trained["spins"] == compiled["spins"]
    assert trained["loss"] == pytest.approx(solved["energy"] / compiled["scale"])


def test_options_reach_the_compiler(answer, xor, tmp_path):
    words = ("--target", "answer", "-B", 0, "-o", tmp_path / "p.npz")
    compact = answer("compile", xor, *words, "--hidden", 2)
    paper = answer("compile", xor, *words, "--hidden", 2, "--formulation", "paper")
    assert paper["spins"] > compact["spins"]
    assert answer("compile", xor, *words, "--hidden", "2,2")["spins"] > compact["spins"]
    assert answer("compile", xor, *words, "--hidden", 2, "--order", "square")["order"] == "square"
    by_hand = answer("compile", xor, *words, "--hidden", 2, "--penalty", 7, "--product-weight", 9)
    assert by_hand["certified"] is False
    hinge = answer("compile", xor, *words, "--hidden", 1, "--loss", "hinge")
    assert hinge["scale"] != compact["scale"] or hinge["spins"] != compact["spins"]


def test_a_real_table_keeps_its_ranges(answer, tmp_path):
    table = tmp_path / "t.npz"
    rng = np.random.default_rng(0)
    np.savez(table, X=rng.normal(size=(5, 2)) * 1e6, y=rng.choice(["a", "b"], 5))
    words = ("--target", "y", "--hidden", 1, "-B", 1, "-o", tmp_path / "p.json")
    answer("compile", table, *words)
    assert isinstance(read_bqm(tmp_path / "p.json"), dimod.BinaryQuadraticModel)


MISTAKES = {
    "ending": (["--target", "answer", "-o", "p.qbo"], "Did you mean '.qubo'"),
    "column": (["--target", "answr", "-o", "p.lp"], "did you mean 'answer'"),
    "no target": (["-o", "p.lp"], "The columns of xor.csv: left, right, answer"),
    "no output": (["--target", "answer"], "--output"),
    "order": (
        ["--target", "answer", "-o", "p.lp", "--formulation", "paper", "--order", "product"],
        "order with formulation='paper'",
    ),
}


@pytest.mark.parametrize(("words", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told(invoke, xor, monkeypatch, tmp_path, words, says):
    monkeypatch.chdir(tmp_path)
    done = invoke("compile", xor, *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr
    assert not list(tmp_path.glob("p.*"))
