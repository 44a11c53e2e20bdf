"""``isinglearn reproduce``: the paper's figures beside ours."""

import json

import pytest
from click.testing import CliRunner

from isinglearn.cli import app
from isinglearn.cli import reproduce as experiments
from isinglearn.errors import DataError

PNG = b"\x89PNG"
TASKS = ["I", "II", "III", "MNIST", "moons"]
PAPER_QCBO = dict(zip(TASKS, [137, 303, 351, 84, 3839], strict=True))
PAPER_QUBO = dict(zip(TASKS, [183, 431, 530, 108, None], strict=True))


# -- counts ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts() -> list[dict]:
    from isinglearn.paper.counts import count_spins

    return count_spins()


@pytest.fixture
def counted(counts, monkeypatch):
    """Counted once, above; here only what becomes of it is of interest."""
    monkeypatch.setattr("isinglearn.paper.counts.count_spins", lambda: counts)


def qubo_spins(counts: list[dict], formulation: str) -> dict[str, int]:
    return {row["task"]: row["qubo"] for row in counts if row["formulation"] == formulation}


def test_counts_have_the_stated_schema(answer, counted):
    counts = answer("reproduce", "counts")
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


def test_counts_as_a_table(invoke, counted):
    done = invoke("reproduce", "counts")
    assert done.exit_code == 0
    for figure in [*TASKS, *PAPER_QCBO.values(), 183, 431, 530, 108]:
        assert str(figure) in done.stdout


# -- verifications ---------------------------------------------------------------------------------


def reproduced(folder, *words):
    """What one experiment gives, which takes its time: once for all tests."""
    path = ["--output", str(folder / "picture.png"), "--json"]
    done = CliRunner().invoke(app, ["reproduce", *words, *path], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert (folder / "picture.png").read_bytes().startswith(PNG)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def moons(tmp_path_factory):
    # Too short for CP-SAT's proof, long enough for the other one.
    return reproduced(tmp_path_factory.mktemp("moons"), "moons", "--time-limit", "5")


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    return reproduced(tmp_path_factory.mktemp("identity"), "identity", "--runs", "2")


def test_moons_prints_our_figures_beside_the_papers(moons, capsys):
    record = moons["moons"]
    assert (record["loss_fraction"], record["accuracy"]) == ("68/225", 0.98)
    assert record["qcbo"] == record["paper"]["qcbo"] == 3839
    assert record["bound"] <= record["loss"]
    proved = [row for row in record["runs"] if row["solver"] == "patterns"]
    assert [row["loss_fraction"] for row in proved] == ["68/225", "61/225"]
    assert {row["status"] for row in proved} == {"OPTIMAL"}
    experiments.moons.show(moons)
    table = capsys.readouterr().out
    assert "Gurobi" in table
    assert f"Picture of figure 5: {moons['picture']}" in table


def test_identity_counts_runs_and_proves_the_rest(identity, capsys):
    rows = identity["identity"]
    assert [row["task"] for row in rows] == ["I", "II", "III"]
    assert [row["optimal_up_to_exchange"] for row in rows] == [1, 1, 2]
    for row in rows:
        assert (row["runs"], row["identical"], row["optimal_qcbo"]) == (2, 2, 2)
        assert set(row["proofs"].values()) == {"OPTIMAL"}
        assert row["loss_qcbo"] == row["loss_qubo"]
        assert round(row["loss_qcbo"], 2) == row["paper"]["loss"]
        assert round(row["accuracy"], 3) == row["paper"]["accuracy"]
        assert (row["qcbo"], row["qubo"]) == (row["paper"]["qcbo"], row["paper"]["qubo"])
    experiments.identity.show(identity)
    table = capsys.readouterr().out
    assert "Table 5" in table
    assert "100% | 100%" in table


ROW = {
    "kind": "layer",
    "name": "Linear",
    "paper": True,
    "formulations": ["compact"],
    "spins": {"compact": 1.0},
    "enumerated": True,
    "trained": True,
}


@pytest.fixture
def checked(monkeypatch):
    """Every module as it is said to be; checking them all takes a minute and is tested elsewhere."""

    def arrange(*rows):
        def check(seed, on_module):
            on_module("Linear", 0, len(rows))
            return list(rows)

        monkeypatch.setattr("isinglearn.paper.modules.check_modules", check)

    return arrange


def test_a_module_that_is_wrong_is_a_fault_of_ours(invoke, checked):
    checked(ROW)
    assert invoke("reproduce", "modules").exit_code == 0
    checked(ROW, ROW | {"name": "Sign", "trained": False})
    done = invoke("reproduce", "modules")
    assert done.exit_code == 4
    assert "NO" in done.stdout


# -- all of them -----------------------------------------------------------------------------------


@pytest.fixture
def everything(counted, checked, moons, identity, monkeypatch):
    """All experiments as they came out above, but for MNIST, which is not there."""
    checked(ROW)

    def missing(*arguments, **given):
        raise DataError("no images here")

    monkeypatch.setattr(experiments.moons, "measure", lambda common, picture: moons)
    monkeypatch.setattr(experiments.identity, "measure", lambda common, picture: identity)
    monkeypatch.setattr("isinglearn.paper.solvability.load_mnist", missing)


def test_all_leave_their_files_and_one_that_fails_harms_no_other(invoke, everything, tmp_path):
    folder = tmp_path / "all"
    done = invoke("reproduce", "--folder", folder, "--json")
    # As mnist alone would end.
    assert done.exit_code == 2
    assert "mnist: no images here" in done.stderr
    records = json.loads(done.stdout)["reproduce"]
    assert list(records) == ["counts", "moons", "identity", "modules"]
    for name, record in records.items():
        assert json.loads((folder / f"{name}.json").read_text()) == record
        assert (folder / f"{name}.txt").read_text()
    shown = invoke("reproduce", "--folder", folder)
    assert "Table 6: modules" in shown.stdout
    assert f"Tables, figures and pictures: {folder}" in shown.stdout
