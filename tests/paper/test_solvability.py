"""The MNIST experiment as its command runs it: proofs, success, times, accuracy, tables, mistakes."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from isinglearn.cli.reproduce.mnist import mnist as command
from isinglearn.errors import DataError, OptionError
from isinglearn.paper import mnist, mnist_choice, mnist_files, mnist_spread, solvability
from isinglearn.paper.instances import MNIST

PNG = b"\x89PNG\r\n\x1a\n"
# Not reproducible: what a clock says.
TIMES = {"anneal_ms", "compile_ms", "decode_ms", "proof_ms", "seconds"}
TIMES |= {"tts_seconds", "tts_seconds_raw", "tts_interval", "tts_interval_raw"}


def data_directory() -> Path | None:
    """Where MNIST may be: named by the environment, or in the folder beside the repository."""
    named = os.environ.get(mnist_files.DATA_VARIABLE)
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(named) if named else beside
    return folder if (folder / "mnist").is_dir() else None


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(word) for word in arguments], catch_exceptions=False)


def without_times(row: dict) -> dict:
    return {name: value for name, value in row.items() if name not in TIMES}


# -- MNIST -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def on_mnist(tmp_path_factory) -> dict:
    directory = data_directory()
    if directory is None:
        name = mnist_files.DATA_VARIABLE
        pytest.skip(f"MNIST is not here: {name} is not set and ../shared/data has none")
    picture = tmp_path_factory.mktemp("mnist") / "mnist.png"
    result = invoke("--data", directory, "--reads", 12, "--output", picture, "--json")
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(PNG)
    return json.loads(result.output)


def rows_of(record: dict, label: str) -> dict[tuple[str, int], dict]:
    rows = [row for row in record["mnist"] if row["label"] == label]
    return {(row["formulation"], row["train_images"]): row for row in rows}


def test_both_forms_and_both_training_sets_are_annealed(on_mnist):
    spins = {key: row["spins"] for key, row in rows_of(on_mnist, "walk").items()}
    assert spins["paper", 4] == on_mnist["paper"]["spins"] == MNIST.paper_qubo
    assert spins["compact", 4] < 0.3 * spins["paper", 4]
    assert spins["compact", 11867] < 0.1 * spins["paper", 11867]
    assert list(spins) == list(rows_of(on_mnist, "flips"))
    # The first row is the paper's own setting.
    assert on_mnist["mnist"][0]["formulation"] == "paper"
    assert on_mnist["mnist"][0]["train_images"] == 4


def test_the_network_found_is_as_good_as_the_papers(on_mnist):
    for row in rows_of(on_mnist, "walk").values():
        assert row["solver"] == "annealer"
        assert row["loss"] == row["optimum"]
        assert row["test_images"] == on_mnist["paper"]["test_images"] == 1967
        assert row["test_accuracy"] >= on_mnist["paper"]["test_accuracy"]
        assert row["test_right"] == 1938
        (nine, nine_as_six), (six_as_nine, six) = row["confusion"]
        assert (nine + nine_as_six, six + six_as_nine) == (1009, 958)
        assert nine + six == row["test_right"]
        assert row["consistent"]


def test_the_walk_succeeds_more_often_and_sooner_than_the_paper(on_mnist):
    paper = on_mnist["paper"]
    for formulation in ("paper", "compact"):
        row = rows_of(on_mnist, "walk")[formulation, 4]
        assert row["success_probability"] >= paper["success_probability"]
        assert row["tts_seconds"] < paper["tts_seconds"]
        assert row["anneal_ms"] < paper["anneal_ms"]


def test_every_optimum_is_proved_in_three_ways(on_mnist):
    for row in on_mnist["mnist"]:
        assert row["proofs"] == dict.fromkeys(("brute", "patterns", "cpsat"), "OPTIMAL")
        assert (row["networks"], row["optimal_networks"]) == (4096, 1)
        assert row["optimum"] == ("0" if row["train_images"] == 4 else "600/11867")


def test_figures_of_a_row_fit_together(on_mnist):
    for row in on_mnist["mnist"]:
        low, high = row["success_interval"]
        assert 0 <= low <= row["success_probability"] <= high <= 1
        assert row["success_probability_raw"] <= row["success_probability"]
        losses = {Fraction(loss): count for loss, count in row["losses"]}
        best = losses.get(Fraction(row["optimum"]), 0)
        assert best == round(row["success_probability"] * row["reads"])
        assert sum(losses.values()) <= row["reads"] == 12
        assert (row["tts_seconds"] is None) == (best == 0)


def test_the_choice_is_that_of_the_instance_and_its_spread_is_reported(on_mnist):
    choice = on_mnist["choice"]
    assert choice["inputs"] == MNIST.X.tolist()
    assert choice["labels"] == MNIST.y.tolist()
    images, pairs = choice["spread_over_images"], choice["spread_over_thresholds"]
    assert (images["quartets"], images["functions"]) == (295361, 86)
    assert images["test"]["least"] < images["test"]["mean"] < images["test"]["most"]
    assert (pairs["possible"], pairs["pairs"]) == (4527, 4656)
    assert pairs["best"][0][:2] == choice["thresholds"]
    assert pairs["best"][0][2] == pairs["train"][-1] == choice["train_right"] / 11867


# -- the same on small digits ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("digits")


def test_digits_run_everywhere_and_are_not_called_mnist(small):
    picture = small / "digits.png"
    result = invoke("--digits", "--reads", 5, "--output", picture)
    assert result.exit_code == 0
    assert picture.read_bytes().startswith(PNG)
    assert "scikit-learn digits (not MNIST): 180 training images" in result.output
    for word in ("paper, printed", "walk", "flips", "tempering", "brute, patterns, cpsat"):
        assert word in result.output
    # The last line names the picture's file, of any length.
    assert max(map(len, result.output.splitlines()[:-1])) <= 80


def test_another_solver_has_one_row_for_each_problem(small):
    given = ["--digits", "--solver", "dwave-sa", "--reads", 3, "--sweeps", 20, "--json"]
    rows = json.loads(invoke(*given, "--output", small / "other.png").output)["mnist"]
    assert [row["solver"] for row in rows] == ["dwave-sa"] * 4
    assert [row["options"] for row in rows] == [{"num_reads": 3, "num_sweeps": 20}] * 4


def test_a_seed_splits_the_digits():
    first, again, other = (solvability.load_small_digits(seed) for seed in (1, 1, 2))
    assert np.array_equal(first.train.images, again.train.images)
    assert not np.array_equal(first.train.images, other.train.images)
    assert len(first.train.labels) + len(first.test.labels) == 361
    assert abs(int(first.train.labels.sum())) <= 1


def test_the_spread_is_what_listing_everything_gives():
    images = solvability.load_small_digits()
    train, test = (
        (mnist.patch_counts(half.images, images.white_level), half.labels)
        for half in (images.train, images.test)
    )
    spread = mnist_spread.spread_over_thresholds(train, test)
    pairs, tables = mnist_choice.threshold_histograms(*train)
    is_six = mnist_choice.classifiers() > 0
    best = []
    for table in tables:
        right = is_six @ table[0] + ~is_six @ table[1]
        able = [len(mnist_choice.available_quartets(f, table)) > 0 for f in range(len(right))]
        best += [right[able].max() / table.sum()] if any(able) else []
    assert (spread["pairs"], spread["possible"]) == (len(pairs), len(best))
    assert spread["train"] == pytest.approx(np.quantile(best, [0, 0.25, 0.5, 0.75, 1]))


def test_the_same_seed_gives_the_same_answers_whatever_a_listener_says():
    heard = []

    def listen(event):
        heard.append(event.message)
        # Asks to stop, which would leave reads cut short.
        return False

    images = solvability.load_small_digits()
    given = {"reads": 3, "sweeps": 20, "seed": 5}
    told = solvability.verify_solvability(images, on_event=listen, **given)
    quiet = solvability.verify_solvability(images, **given)
    assert [*map(without_times, told.rows)] == [*map(without_times, quiet.rows)]
    assert told.choice == quiet.choice
    assert {row["seed"] for row in told.rows} == {5}
    assert heard[0] == "choosing thresholds and images"
    assert "compact form, 180 images, flips" in heard


# -- mistakes --------------------------------------------------------------------------------------


def test_without_files_and_network_the_digits_are_offered(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(mnist_files, "MIRRORS", ("http://127.0.0.1:1/",))
    with pytest.raises(DataError, match="could not be fetched") as raised:
        invoke("--data", tmp_path)
    assert "isinglearn reproduce mnist --digits" in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("solver", "word"),
    [("brute", "an exact one"), ("dwave-as", "did you mean 'dwave-sa'")],
)
def test_a_solver_without_reads_is_refused_before_anything_runs(solver, word, tmp_path):
    picture = tmp_path / "mnist.png"
    with pytest.raises(OptionError, match=word):
        invoke("--digits", "--solver", solver, "--output", picture)
    assert not picture.exists()
