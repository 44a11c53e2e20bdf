"""``isinglearn estimate``."""

import json

import pytest

PNG = b"\x89PNG\r\n\x1a\n"


def test_it_prints_table_2_and_the_compact_form(invoke):
    done = invoke("estimate", "-n", 2, "-H", 1, "-L", 2, "-B", 2, "-N", 6)
    assert done.exit_code == 0
    # Task I of the paper.
    assert "137" in done.stdout
    assert "QUBO at most" in done.stdout


@pytest.mark.parametrize(
    ("shape", "qcbo"),
    [
        (["-n", "2", "-H", "1", "-L", "2", "-B", "2", "-N", "6"], 137),
        (["-n", "2", "-H", "2", "-L", "2", "-B", "2", "-N", "7"], 303),
        (["-n", "2", "-H", "2", "-L", "3", "-B", "2", "-N", "6"], 351),
        (["-n", "2", "-H", "2,2", "-B", "2", "-N", "6"], 351),
        (["-n", "4", "-H", "1", "-L", "2", "-B", "0", "-N", "4"], 84),
        ([], 3839),
    ],
)
def test_it_gives_the_printed_figures_as_json(answer, shape, qcbo):
    estimate = answer("estimate", *shape)
    assert estimate["paper_qcbo"] == sum(estimate["paper"].values()) == qcbo
    assert estimate["compact_qubo"] == sum(estimate["compact"].values())
    assert estimate["compact_exact"] is False
    assert 0 < estimate["compact_qubo"] < estimate["paper_qubo_estimate"]
    assert estimate["complexity"] > 0


@pytest.mark.parametrize("words", [[], ["--hidden", "2,2"], ["--order", "square"], ["--box"]])
def test_a_table_is_counted_as_it_will_be_compiled(answer, xor, tmp_path, words):
    same = (xor, "--target", "answer", "-B", 0, *words)
    estimate = answer("estimate", *same)
    assert estimate["compact_exact"] is True
    compiled = answer("compile", *same, "-o", tmp_path / "p.qubo")
    assert estimate["compact_qubo"] == compiled["spins"]


def test_a_table_needs_its_target_and_no_letters(invoke, xor):
    done = invoke("estimate", xor)
    assert done.exit_code == 2
    assert "left, right, answer" in done.stderr
    done = invoke("estimate", xor, "--target", "answer", "-N", 3)
    assert done.exit_code == 2
    assert "--samples is for an estimate without a table" in done.stderr


def test_it_draws_the_growth(invoke, tmp_path):
    picture = tmp_path / "growth.png"
    done = invoke("estimate", "--plot", picture)
    assert done.exit_code == 0
    assert picture.name in done.stdout.replace("\n", "")
    assert picture.read_bytes().startswith(PNG)


def test_it_prints_nothing_but_json_with_json(invoke, tmp_path):
    picture = tmp_path / "growth.png"
    assert "estimate" in json.loads(invoke("estimate", "--json", "--plot", picture).output)
    assert picture.exists()
