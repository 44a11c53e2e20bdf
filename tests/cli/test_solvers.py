"""``isinglearn solvers``."""

import pytest

from isinglearn.errors import OptionError
from isinglearn.solvers.base import SOLVERS


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


@pytest.mark.parametrize("name", SOLVERS)
def test_every_option_has_a_meaning(invoke, answer, name):
    (row,) = answer("solvers", name)
    assert row["meanings"].keys() == row["options"].keys()
    shown = " ".join(invoke("solvers", name).stdout.split())
    for option, meaning in row["meanings"].items():
        assert f"{option}=" in shown
        assert meaning
        assert meaning in shown


@pytest.mark.parametrize("name", SOLVERS)
def test_choices_are_those_that_the_solver_takes(answer, name):
    (row,) = answer("solvers", name)
    for option, choices in row["choices"].items():
        with pytest.raises(OptionError) as caught:
            SOLVERS[name].Options(**{option: "no such choice"})
        taken = {text.strip("'") for text in caught.value.rule.removeprefix("one of ").split(", ")}
        assert set(choices) == taken
        assert row["options"][option] in taken


def test_choices_and_defaults_are_shown(invoke):
    shown = invoke("solvers", "annealer").stdout
    assert "method=anneal (or temper)" in shown
    assert "num_reads=100, num_sweeps=1000" in shown
    assert "hot=none" in shown


def test_the_list_fits_a_terminal(invoke):
    lines = invoke("solvers").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 4 * len(SOLVERS) + 3
    assert "annealer               qubo, hubo  no      yes" in lines
