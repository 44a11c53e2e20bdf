"""``isinglearn bench``."""

import json

import pytest

import isinglearn as il
from isinglearn.paper.instances import TASKS


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    path = tmp_path_factory.mktemp("problems") / "task.qubo"
    il.compile(TASKS[0].network, TASKS[0].X, TASKS[0].y).qubo.write(path)
    return path


def rows_of(record):
    return {row["solver"]: row for row in record["solvers"]}


def test_an_instance_is_measured_by_its_proved_loss(answer):
    words = ("--solvers", "annealer,annealer:moves=single,treewidth", "--time-limit", 0.3)
    record = answer("bench", "--instance", "I", *words)
    assert record["figure"] == "loss"
    assert record["proved_by"]
    task = TASKS[0]
    truth = il.solve(il.compile(task.network, task.X, task.y), "brute").best.loss
    assert record["best_known"] == float(truth)
    assert list(rows_of(record)) == ["annealer", "annealer:moves=single", "treewidth"]
    ours = rows_of(record)["annealer"]
    assert ours["above_best_known"] == 0
    assert 0 < ours["success_interval"][0] <= ours["success"] <= ours["success_interval"][1] <= 1
    assert ours["successes"] == round(ours["success"] * ours["reads"])
    assert ours["seconds_per_read"] == pytest.approx(ours["seconds"] / ours["reads"])
    low, high = ours["tts_interval"]
    assert 0 < low <= ours["tts"] <= high
    proof = rows_of(record)["treewidth"]
    assert proof["proof_seconds"] > 0
    assert "tts" not in proof


def test_a_file_is_measured_by_its_energy(answer, problem):
    words = ("--solvers", "dwave-sa,steepest-descent", "--time-limit", 0.3, "--sweeps", 100)
    record = answer("bench", problem, *words)
    assert (record["figure"], record["proved_by"], record["sweeps"]) == ("energy", "treewidth", 100)
    solved = answer("solve", problem, "--solver", "treewidth")
    assert record["best_known"] == solved["energy"]
    for row in rows_of(record).values():
        assert row["best"] >= record["best_known"]
        assert row["above_best_known"] == row["best"] - record["best_known"]


def test_without_a_proof_the_best_found_is_what_counts(answer, monkeypatch, problem):
    monkeypatch.setattr("isinglearn.cli.bench.cases.FORESEEN_SPINS", 0)
    record = answer("bench", problem, "--solvers", "annealer,dwave-sa", "--time-limit", 0.2)
    assert record["proved_by"] is None
    assert record["best_known"] == min(row["best"] for row in rows_of(record).values())


def test_the_table_says_what_was_not_reached(invoke, tmp_path):
    # One sweep does not find the optimum.
    words = ("--solvers", "dwave-sa,treewidth:max_bytes=1", "--sweeps", 1, "--time-limit", 0.1)
    done = invoke("bench", "--instance", "III", *words)
    assert done.exit_code == 0, done.output
    assert "> " in done.stdout
    assert "treewidth:max_bytes=1: the tables would need more memory" in done.stdout.replace(
        "\n", " "
    )


def test_a_read_that_takes_too_long_is_not_counted(answer):
    words = ("--solvers", "annealer:moves=single", "--sweeps", 10**7, "--time-limit", 0.2)
    (row,) = answer("bench", "--instance", "II", *words)["solvers"]
    assert row["reads"] == 0
    assert row["note"] == "no read was done in 0.2 s"
    assert "success" not in row
    assert row["best"] is not None


def test_where_nobody_finds_anything_the_exit_code_is_3(invoke, problem):
    done = invoke("bench", problem, "--solvers", "treewidth:max_bytes=1", "--time-limit", 0.1)
    assert done.exit_code == 3
    assert "more memory than allowed" in done.stdout.replace("\n", " ")


def test_reads_that_cannot_be_counted_are_refused(invoke, monkeypatch):
    from isinglearn.cli.bench.measuring import default_labels
    from isinglearn.solvers.base import SOLVERS

    monkeypatch.setattr(SOLVERS["qaoa"], "requires", ())
    assert "qaoa" not in default_labels(network=False)
    done = invoke("bench", "--instance", "I", "--solvers", "qaoa")
    assert done.exit_code == 2
    assert "cannot be counted" in done.stderr


def test_ctrl_c_keeps_what_was_measured(terminal):
    words = ("--instance", "I", "--solvers", "annealer,dwave-sa", "--time-limit", 3, "--sweeps", 10)
    running = terminal("bench", *words)
    running.wait_for("1/2")
    running.interrupt()
    code, output = running.end()
    assert code == 0
    assert "annealer" in output
    assert "Interrupted: this is the best so far." in running.screen


def test_by_default_all_local_solvers_compete():
    from isinglearn.cli.bench.measuring import default_labels

    labels = default_labels(network=True)
    assert labels[0] == "annealer:moves=single"
    assert {"annealer", "dwave-sa", "tabu", "treewidth"} <= set(labels)
    assert not {"dwave", "amplify", "cpsat"} & set(labels)


MISTAKES = {
    "no such instance": (["--instance", "moon50"], "Did you mean 'moons50'"),
    "no such solver": (["--instance", "I", "--solvers", "tabo"], "did you mean 'tabu'"),
    "no QUBO": (["--instance", "I", "--solvers", "cpsat"], "takes no QUBO"),
    "no option": (["--instance", "I", "--solvers", "annealer:moves"], "annealer:moves=single"),
    "a wrong option": (["--instance", "I", "--solvers", "annealer:mves=single"], "'moves'"),
}


@pytest.mark.parametrize(("words", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told(invoke, words, says):
    done = invoke("bench", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_json_has_no_infinities(invoke):
    words = ("--solvers", "steepest-descent", "--time-limit", 0.1, "--json")
    done = invoke("bench", "--instance", "III", *words)
    (row,) = json.loads(done.stdout, parse_constant=pytest.fail)["bench"]["solvers"]
    assert row["tts"] is None or row["tts"] > 0
