"""``isinglearn demo``."""

import os

PNG = b"\x89PNG\r\n\x1a\n"
SMALL = ("demo", "--samples", 6, "--reads", 5)


def test_it_trains_verifies_and_draws(invoke, tmp_path):
    picture = tmp_path / "demo.png"
    done = invoke(*SMALL, "--output", picture)
    assert done.exit_code == 0
    assert picture.read_bytes().startswith(PNG)
    for word in ("spins", "loss", "accuracy", "verdict", "certificate"):
        assert word in done.stdout


def test_it_gives_the_run_as_json(answer, tmp_path):
    words = (*SMALL, "--output", tmp_path / "demo.png")
    first, second = (answer(*words) for _ in range(2))
    assert first["format"] == "isinglearn-run"
    assert first["solver"] == "annealer"
    assert first["spins"] > 0
    assert 0 <= first["accuracy"] <= 1
    assert first["loss"] >= 0
    assert set(first["parameters"]) == {
        "layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias"
    }  # fmt: skip
    # The same seed gives the same network.
    assert first["parameters"] == second["parameters"]
    assert first["loss"] == second["loss"]


def test_it_writes_only_where_it_is_told(invoke, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke("demo", "--samples", 4, "--reads", 2, "--quiet")
    assert (done.exit_code, done.output) == (0, "")
    assert os.listdir() == ["demo.png"]
