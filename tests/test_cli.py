"""The command line, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import isinglearn
from isinglearn.cli import app, main

PNG = b"\x89PNG\r\n\x1a\n"
TASKS = ["I", "II", "III", "MNIST", "moons"]
PAPER_QCBO = dict(zip(TASKS, [137, 303, 351, 84, 3839], strict=True))
PAPER_QUBO = dict(zip(TASKS, [183, 431, 530, 108, None], strict=True))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture
def run_main(monkeypatch, tmp_path):
    """The program's entry point, with errors turned into exit codes; returns the exit code."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["isinglearn", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0)

    return run


# -- help and mistakes -----------------------------------------------------------------------------


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_lists_the_commands(flag):
    result = invoke(flag)
    assert result.exit_code == 0
    for command in (
        "demo",
        "train",
        "predict",
        "estimate",
        "compile",
        "solve",
        "solvers",
        "reproduce",
    ):
        assert command in result.output


@pytest.mark.parametrize(
    "command",
    [
        ["demo"],
        ["estimate"],
        ["solvers"],
        ["train"],
        ["predict"],
        ["compile"],
        ["solve"],
        ["reproduce"],
        *(["reproduce", name] for name in ("counts", "moons", "identity", "modules", "mnist")),
    ],
)
def test_every_command_has_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert "Usage:" in result.output


def test_version():
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.output == f"isinglearn, version {isinglearn.__version__}\n"


@pytest.mark.parametrize(
    ("command", "near"),
    [(["estimat"], "estimate"), (["reprduce"], "reproduce"), (["reproduce", "count"], "counts")],
)
def test_a_misspelt_command_names_the_nearest(command, near):
    result = invoke(*command)
    assert result.exit_code == 2
    assert f"Did you mean '{near}'?" in result.output


def test_a_command_like_no_other_is_refused_without_a_guess():
    result = invoke("xyzzy")
    assert result.exit_code == 2
    assert "No such command 'xyzzy'" in result.output
    assert "Did you mean" not in result.output


BAD_VALUES = {
    "no units": (["estimate", "-H", "0"], "Shape(H)"),
    "one layer": (["estimate", "-L", "1"], "Shape(L)"),
    "no samples": (["estimate", "--samples", "0"], "Shape(N)"),
    "no number": (["estimate", "-n", "two"], "'two' is not a valid integer"),
    "demo without samples": (["demo", "--samples", "0"], "samples"),
    "demo without reads": (["demo", "--samples", "4", "--reads", "0"], "reads"),
    "demo with a bad seed": (["demo", "--samples", "4", "--reads", "1", "--seed", "-1"], "seed"),
}


@pytest.mark.parametrize(("arguments", "word"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_one_message_and_exit_code_2(run_main, capsys, arguments, word):
    assert run_main(*arguments) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert word in output.err


def test_a_file_that_cannot_be_written_is_one_message(run_main, capsys):
    assert run_main("estimate", "--plot", "missing/growth.png") == 1
    assert capsys.readouterr().err == "Error: No such file or directory: missing/growth.png\n"


def test_a_shell_sees_no_traceback():
    command = [sys.executable, "-m", "isinglearn", "estimate", "-H", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: Shape(H): ")
    assert "Traceback" not in done.stderr


# -- estimate --------------------------------------------------------------------------------------


def test_estimate_prints_table_2_and_the_compact_form():
    result = invoke("estimate", "-n", "2", "-H", "1", "-L", "2", "-B", "2", "-N", "6")
    assert result.exit_code == 0
    # Task I of the paper.
    assert "137" in result.output
    assert "QUBO at most" in result.output


@pytest.mark.parametrize(
    ("shape", "qcbo"),
    [
        (["-n", "2", "-H", "1", "-L", "2", "-B", "2", "-N", "6"], 137),
        (["-n", "2", "-H", "2", "-L", "2", "-B", "2", "-N", "7"], 303),
        (["-n", "2", "-H", "2", "-L", "3", "-B", "2", "-N", "6"], 351),
        (["-n", "4", "-H", "1", "-L", "2", "-B", "0", "-N", "4"], 84),
        ([], 3839),
    ],
)
def test_estimate_gives_the_printed_figures_as_json(shape, qcbo):
    result = invoke("estimate", *shape, "--json")
    assert result.exit_code == 0
    estimate = json.loads(result.output)["estimate"]
    assert estimate["paper_qcbo"] == sum(estimate["paper"].values()) == qcbo
    assert estimate["compact_qubo"] == sum(estimate["compact"].values())
    assert estimate["compact_exact"] is False
    assert 0 < estimate["compact_qubo"] < estimate["paper_qubo_estimate"]
    assert estimate["complexity"] > 0


def test_estimate_draws_the_growth(tmp_path):
    picture = tmp_path / "growth.png"
    result = invoke("estimate", "--plot", str(picture))
    assert result.exit_code == 0
    assert picture.name in result.output.replace("\n", "")
    assert picture.read_bytes().startswith(PNG)


def test_estimate_prints_nothing_but_json_with_json(tmp_path):
    picture = tmp_path / "growth.png"
    assert "estimate" in json.loads(invoke("estimate", "--json", "--plot", str(picture)).output)
    assert picture.exists()


# -- reproduce counts ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts() -> list[dict]:
    result = invoke("reproduce", "counts", "--json")
    assert result.exit_code == 0
    record = json.loads(result.output)
    assert list(record) == ["counts"]
    return record["counts"]


def qubo_spins(counts: list[dict], formulation: str) -> dict[str, int]:
    return {row["task"]: row["qubo"] for row in counts if row["formulation"] == formulation}


def test_counts_have_the_stated_schema(counts):
    keys = {"task", "formulation", "qcbo", "qubo", "paper_qcbo", "paper_qubo"}
    assert all(set(row) == keys for row in counts)
    seen = [(row["task"], row["formulation"]) for row in counts]
    assert sorted(seen) == sorted((t, f) for t in TASKS for f in ("compact", "paper"))


def test_counts_carry_what_the_paper_prints(counts):
    for row in counts:
        assert row["paper_qcbo"] == PAPER_QCBO[row["task"]]
        assert row["paper_qubo"] == PAPER_QUBO[row["task"]]


def test_the_paper_form_has_exactly_the_printed_counts(counts):
    for row in counts:
        if row["formulation"] == "paper":
            assert row["qcbo"] == row["paper_qcbo"]
            assert row["paper_qubo"] in (None, row["qubo"])


def test_the_compact_form_is_small(counts):
    paper, compact = qubo_spins(counts, "paper"), qubo_spins(counts, "compact")
    for task in TASKS:
        assert compact[task] <= 0.30 * paper[task], task
    assert sum(compact.values()) <= 0.22 * sum(paper.values())


def test_counts_as_a_table(counts, monkeypatch):
    # Counted once, above; here only the table is of interest.
    monkeypatch.setattr("isinglearn.paper.counts.count_spins", lambda: counts)
    result = invoke("reproduce", "counts")
    assert result.exit_code == 0
    for figure in [*TASKS, *PAPER_QCBO.values(), 183, 431, 530, 108]:
        assert str(figure) in result.output


# -- solvers ---------------------------------------------------------------------------------------


def test_solvers_lists_all_with_what_they_take():
    rows = json.loads(invoke("solvers", "--json").output)["solvers"]
    names = {row["name"] for row in rows}
    assert {"annealer", "brute", "cpsat", "dwave-sa", "patterns", "treewidth"} <= names
    for row in rows:
        assert row["accepts"]
        assert "pip install" in row["install"]
    result = invoke("solvers")
    assert all(name in result.output for name in names)


def test_solvers_names_the_command_for_what_is_missing(monkeypatch):
    from isinglearn.solvers.base import SOLVERS

    monkeypatch.setattr(SOLVERS["cpsat"], "requires", ("no_such_package",))
    rows = json.loads(invoke("solvers", "--json").output)["solvers"]
    assert {row["name"]: row["installed"] for row in rows}["cpsat"] is False
    assert "pip install" in invoke("solvers").output


# -- the paper's verifications ---------------------------------------------------------------------


def test_moons_prints_our_figures_beside_the_papers(tmp_path):
    picture = tmp_path / "moons.png"
    # Too short for CP-SAT's proof, long enough for the other one.
    arguments = ["reproduce", "moons", "--time-limit", "5", "--output", str(picture)]
    record = json.loads(invoke(*arguments, "--json").output)["moons"]
    assert (record["loss_fraction"], record["accuracy"]) == ("68/225", 0.98)
    assert record["qcbo"] == record["paper"]["qcbo"] == 3839
    assert record["bound"] <= record["loss"]
    proved = [row for row in record["runs"] if row["solver"] == "patterns"]
    assert [row["loss_fraction"] for row in proved] == ["68/225", "61/225"]
    assert {row["status"] for row in proved} == {"OPTIMAL"}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_identity_counts_runs_and_proves_the_rest(tmp_path):
    picture = tmp_path / "identity.png"
    arguments = ["reproduce", "identity", "--runs", "2", "--output", str(picture)]
    rows = json.loads(invoke(*arguments, "--json").output)["identity"]
    assert [row["task"] for row in rows] == ["I", "II", "III"]
    assert [row["optimal_up_to_exchange"] for row in rows] == [1, 1, 2]
    for row in rows:
        assert (row["runs"], row["identical"], row["optimal_qcbo"]) == (2, 2, 2)
        assert set(row["proofs"].values()) == {"OPTIMAL"}
        assert row["loss_qcbo"] == row["loss_qubo"]
        assert round(row["loss_qcbo"], 2) == row["paper"]["loss"]
        assert round(row["accuracy"], 3) == row["paper"]["accuracy"]
        assert (row["qcbo"], row["qubo"]) == (row["paper"]["qcbo"], row["paper"]["qubo"])
    assert picture.read_bytes().startswith(b"\x89PNG")
    table = invoke(*arguments).output
    assert "Table 5" in table
    assert "100% | 100%" in table


# -- demo ------------------------------------------------------------------------------------------


def test_demo_trains_verifies_and_draws(tmp_path):
    picture = tmp_path / "demo.png"
    result = invoke("demo", "--samples", "6", "--reads", "5", "--output", str(picture))
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(PNG)
    for word in ("spins", "loss", "accuracy", "verdict", "certificate"):
        assert word in result.output


def test_demo_gives_the_run_as_json(tmp_path):
    picture = tmp_path / "demo.png"
    arguments = ["demo", "--samples", "6", "--reads", "5", "--output", str(picture), "--json"]
    first, second = (json.loads(invoke(*arguments).output)["demo"] for _ in range(2))
    assert first["format"] == "isinglearn-run"
    assert first["solver"] == "annealer"
    assert first["spins"] > 0
    assert 0 <= first["accuracy"] <= 1
    assert first["loss"] >= 0
    assert set(first["parameters"]) == {
        "layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias"
    }  # fmt: skip
    # The same seed gives the same network.
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


def test_demo_writes_only_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke("demo", "--samples", "4", "--reads", "2").exit_code == 0
    assert [path.name for path in Path().iterdir()] == ["demo.png"]
