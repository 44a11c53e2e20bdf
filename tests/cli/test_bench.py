"""``isinglearn bench``."""

import json

import dimod
import numpy as np
import pytest

import isinglearn as il
from isinglearn.cli.bench.cases import case_of_file
from isinglearn.cli.bench.measuring import Entry, Tally, measure
from isinglearn.cli.bench.showing import show
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


@pytest.fixture
def real(tmp_path):
    """A QUBO whose rounded form has energy 0 where its own has -1e-06."""
    linear, pairs = {0: 1e12, 1: -1e-6, 2: 3}, {(0, 1): -1e12, (1, 2): 1e-6}
    model = dimod.BinaryQuadraticModel(linear, pairs, 0, "BINARY")
    path = tmp_path / "real.json"
    path.write_text(json.dumps(model.to_serializable()))
    return path


def test_rounded_coefficients_are_measured_by_their_own_energies_without_a_proof(answer, real):
    record = answer("bench", real, "--solvers", "annealer,treewidth", "--time-limit", 0.2)
    assert (record["best_known"], record["proved_by"]) == (-1e-06, None)
    assert "rounded" in record["note"]
    annealer, treewidth = record["solvers"]
    assert (annealer["best"], annealer["above_best_known"]) == (-1e-06, 0)
    assert 0 < annealer["success"] < 1
    assert treewidth["proof_seconds"] is None
    assert "rounded" in treewidth["note"]


def test_the_table_says_that_coefficients_are_rounded(invoke, real):
    done = invoke("bench", real, "--solvers", "annealer,treewidth", "--time-limit", 0.2)
    told = " ".join(done.stdout.split())
    assert "-1e-06, the best of all solvers here, not proved" in told
    assert "rounded to 2^20 steps of the largest; the energies are those of the file" in told
    assert "proved by" not in told


def test_energies_that_differ_by_float_noise_alone_are_alike():
    tally = Tally()
    tally.count(np.array([0.1 + 0.2, 0.3, 0.31]), 3, 1.0)
    assert tally.successes(0.3) == 2
    whole = Tally()
    whole.count(np.array([10**12, 10**12 + 1]), 2, 1.0)
    assert whole.successes(10**12) == 1


def a_record(**row):
    known = {"solver": "annealer:moves=single", "proof_seconds": None, "note": "", "reads": 4321}
    figures = {
        "best": -112400.0,
        "above_best_known": 0.0,
        "success": 1.0,
        "success_interval": [0.9812, 1.0],
        "seconds_per_read": 0.00123,
        "tts": 0.0123,
        "tts_interval": [0.0105, 1.5],
    }
    return {
        "case": "problem.qubo",
        "spins": 100,
        "couplers": 200,
        "figure": "energy",
        "best_known": -112400.0,
        "proved_by": "treewidth",
        "note": "",
        "sweeps": 1000,
        "target": 0.99,
        "seconds_per_solver": 5.0,
        "cores": 2,
        "solvers": [known | figures | row, known | figures | {"solver": "simulated-bifurcation"}],
    }


def test_the_table_is_readable_in_80_columns(capsys):
    show(a_record())
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    first, second = (line.split() for line in lines[4:6])
    assert first == ["annealer", "-112400", "0", "4321", "100", "%", "1.2", "ms", "12", "ms"]
    assert second == ["moves=single", "98.1-100", "10", "ms-1.5", "s"]
    assert "best known energy, -112400, proved by treewidth" in shown
    assert "e+" not in shown
    assert "…" not in shown


def test_figures_that_are_too_wide_for_the_terminal_stay_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    show(a_record(best=-123456789012.0, success=0.00002, success_interval=[0.0, 0.12345]))
    shown = capsys.readouterr().out
    for text in ("-123456789012", "0.002 %", "0-12.3", "simulated-bifurcation", "10 ms-1.5 s"):
        assert text in shown
    assert "…" not in shown


def test_a_best_of_reads_that_do_not_count_is_told_apart(problem):
    case = case_of_file(problem)
    tally = Tally()
    tally.count(np.array([7, 9]), 2, 1.0)
    tally.see(np.array([7, 9]))
    assert tally.figures(case, 7, 0.99)["note"] == ""
    tally.see(np.array([5]))
    row = tally.figures(case, 5, 0.99)
    assert (row["success"], row["above_best_known"]) == (0, 0)
    assert "its best is of reads that do not count" in row["note"]


@pytest.mark.parametrize(
    ("label", "stopped", "says"),
    [
        ("annealer", True, "stopped before a read was done"),
        ("annealer", False, "no read was done in 1e-06 s"),
        ("treewidth", True, "stopped before the proof"),
        ("treewidth", False, "no proof in 1e-06 s"),
    ],
)
def test_what_ended_too_soon_says_why(problem, label, stopped, says):
    tally, case = Tally(), case_of_file(problem)
    known = {"sweeps": 1000, "seconds": 1e-6, "seed": 0}
    measure(tally, Entry.of(label), case, **known, stopped=lambda: stopped)
    assert (tally.reads, tally.proof, tally.note) == (0, None, says)


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
    "twice": (["--instance", "I", "--solvers", "tabu,annealer,tabu"], "'tabu' is named twice"),
    "nothing": ([], "Give a file with a QUBO, or --instance."),
    "a wrong option": (["--instance", "I", "--solvers", "annealer:mves=single"], "'moves'"),
}


@pytest.mark.parametrize(("words", "says"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told(invoke, words, says):
    done = invoke("bench", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert says in done.stderr


def test_a_file_and_an_instance_do_not_go_together(invoke, problem):
    done = invoke("bench", problem, "--instance", "I")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "not both" in done.stderr
    for formulation in ("paper", "compact"):
        done = invoke("bench", problem, "--formulation", formulation)
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--formulation is how an --instance is compiled" in done.stderr


def test_json_has_no_infinities(invoke):
    words = ("--solvers", "steepest-descent", "--time-limit", 0.1, "--json")
    done = invoke("bench", "--instance", "III", *words)
    (row,) = json.loads(done.stdout, parse_constant=pytest.fail)["bench"]["solvers"]
    assert row["tts"] is None or row["tts"] > 0
