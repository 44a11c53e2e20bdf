"""``isinglearn solvers``."""


def test_it_lists_all_with_what_they_take(invoke, answer):
    rows = answer("solvers")
    names = {row["name"] for row in rows}
    assert {"annealer", "brute", "cpsat", "dwave-sa", "patterns", "treewidth"} <= names
    for row in rows:
        assert row["accepts"]
        assert "pip install" in row["install"]
    shown = invoke("solvers").stdout
    assert all(name in shown for name in names)


def test_it_names_the_command_for_what_is_missing(invoke, answer, monkeypatch):
    from isinglearn.solvers.base import SOLVERS

    monkeypatch.setattr(SOLVERS["openjij"], "requires", ("no_such_package",))
    assert {row["name"]: row["installed"] for row in answer("solvers")}["openjij"] is False
    # Brackets are part of the command, no markup.
    assert "isinglearn[openjij]" in invoke("solvers", "openjij").stdout


def test_it_lists_the_options_of_one(invoke, answer):
    (row,) = answer("solvers", "annealer")
    assert row["options"]["num_reads"] == 100
    shown = invoke("solvers", "annealer").stdout
    assert "num_sweeps" in shown
    assert "1000" in shown


def test_an_unknown_one_names_the_nearest(invoke):
    done = invoke("solvers", "tabo")
    assert done.exit_code == 2
    assert "did you mean 'tabu'" in done.stderr
