"""Records of runs and trainings: plain, complete, without the samples; and the pictures drawn from them."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, OptionError
from isinglearn.model.quantiser import Quantiser
from isinglearn.problem.forms import QUBO
from isinglearn.report.coefficients import MOST_CELLS, coefficients_record
from isinglearn.report.pictures import PICTURES
from isinglearn.report.progress import MOST_POINTS
from isinglearn.report.record import load_record, record_of_run, record_of_training, save_record
from isinglearn.solvers.base import SOLVERS, Answer, Form, Solver

PNG = b"\x89PNG\r\n\x1a\n"
X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
Y = np.array([-1, 1, 1, -1])


def net(hidden: int = 2) -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, hidden), nn.Sign(), nn.Linear(hidden, 1))


class Fixed(Solver):
    """Answers with the parameters it was made with."""

    accepts = (Form.PROBLEM,)

    def __init__(self, rows: np.ndarray) -> None:
        self.name, self.rows = "fixed", rows

    def solve(self, form, options, session) -> Answer:
        return Answer(self.rows)


@pytest.fixture(scope="module")
def solved() -> il.Run:
    return il.solve(il.compile(net(), X, Y), "annealer", seed=0, num_reads=20)


@pytest.fixture(scope="module")
def run_record(solved: il.Run) -> dict:
    return record_of_run(solved, X, Y, title="XOR")


@pytest.fixture(scope="module")
def training_record() -> dict:
    model = il.train(
        net(3), X, Y, strategy="decomposed", steps=60, validation=(X, Y), seed=0, loss="logistic"
    )
    return record_of_training(model, X, Y, X_test=X, y_test=Y)


def test_run_record(solved: il.Run, run_record: dict) -> None:
    assert run_record["kind"] == "run"
    assert run_record["data"]["samples"] == 4
    assert [one["count"] for one in run_record["data"]["classes"]] == [2, 2]
    assert run_record["result"]["loss"] == float(solved.best.loss) == 0
    assert run_record["result"]["train"]["confusion"] == [[2, 0], [0, 2]]
    assert run_record["result"]["train"]["accuracy"] == float(solved.accuracy)
    assert run_record["result"]["test"]["loss"] == 0
    summary = solved.problem.summary()
    assert sum(run_record["spins"]["spins_by_role"].values()) == summary.spins
    assert run_record["proofs"]["certified"]
    assert run_record["coefficients"]["resolution_bits"] == summary.resolution_bits
    assert run_record["progress"]["reads"]["total"] == sum(run_record["progress"]["reads"]["count"])
    assert run_record["yardstick"]["optimal"]
    assert run_record["yardstick"]["baseline"]["train"]["samples"] == 4
    assert run_record["verdict"]["consistent"]
    curve = run_record["progress"]["curve"]
    assert curve["x"] == [event.seconds for event in solved.events]
    assert (curve["loss"][-1], curve["bound"][-1]) == (0, 0)
    assert run_record["solver"]["form"] == "qubo"


def test_training_record(training_record: dict) -> None:
    assert training_record["kind"] == "training"
    assert len(training_record["progress"]["curve"]["x"]) == 60
    assert training_record["progress"]["validation"]["x"][-1] == 60
    assert training_record["solver"]["strategy"] == "decomposed"
    assert training_record["spins"]["qubos"] > 0
    assert training_record["yardstick"]["bound"] == 0
    assert "could still be gained" in training_record["verdict"]["text"]


@pytest.mark.parametrize("name", ["run_record", "training_record"])
def test_json_round_trip(name: str, request: pytest.FixtureRequest, tmp_path) -> None:
    record = request.getfixturevalue(name)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    save_record(record, tmp_path / "record.json")
    assert load_record(tmp_path / "record.json") == record


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "isinglearn-report", "version": 99}'])
def test_other_files_are_refused(text: str, tmp_path) -> None:
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(DataError, match="no record of a report"):
        load_record(tmp_path / "record.json")


def test_samples_are_kept_on_request_only(solved: il.Run, run_record: dict) -> None:
    assert "cells" not in run_record["regions"]
    shown = record_of_run(solved, yardstick=False, show_data=True)
    assert sum(cell[3] for cell in shown["regions"]["cells"]) == 4


def test_same_data_has_the_same_fingerprint(run_record: dict, training_record: dict) -> None:
    assert run_record["data"]["sha256"] == training_record["data"]["sha256"]
    other = il.solve(il.compile(net(), X, -Y), "annealer", seed=0, num_reads=5)
    changed = record_of_run(other, yardstick=False)
    assert changed["data"]["sha256"] != run_record["data"]["sha256"]


def test_a_run_without_a_network_has_a_record(solved: il.Run) -> None:
    from dataclasses import replace

    from isinglearn.solvers.base import Status

    empty = replace(solved.result, status=Status.NONE_FOUND, vectors=solved.result.vectors[:0])
    record = record_of_run(replace(solved, result=empty, note="out of time"))
    assert record["result"] is None
    assert "out of time" in record["verdict"]["text"]
    json.dumps(record, allow_nan=False)
    assert PICTURES["network"].draw(record) is None


@pytest.fixture(scope="module")
def line() -> il.Run:
    # No network of one line and these labels is right everywhere, so 0 is no proof.
    problem = il.compile(nn.Sequential(nn.Linear(2, 1)), X, Y)
    return il.solve(problem, "annealer", seed=0, num_reads=10)


def test_a_cheap_proof_is_part_of_a_record(line: il.Run) -> None:
    assert line.bound == 0
    found = record_of_run(line, yardstick=False)["yardstick"]
    assert (found["bound"], found["gap"]) == (float(line.best.loss), 0)
    assert found["tight"]
    assert found["optimal"]
    assert SOLVERS[found["bound_by"]].traits.exact


def test_a_proof_can_be_left_out_and_asked_for(
    line: il.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = record_of_run(line, yardstick=False, prove_seconds=0)["yardstick"]
    assert (none["bound"], none["tight"], none["optimal"]) == (0, False, False)
    # Where no solver foresees a proof, none is tried by itself, and CP-SAT where it is asked for.
    monkeypatch.setattr("isinglearn.solvers.auto.foresee", lambda problem: {})
    assert record_of_run(line, yardstick=False)["yardstick"]["bound"] == 0
    asked = record_of_run(line, yardstick=False, prove_seconds=10)["yardstick"]
    assert (asked["optimal"], asked["bound_by"]) == (True, "cpsat")
    with pytest.raises(OptionError, match="prove_seconds"):
        record_of_run(line, yardstick=False, prove_seconds=-1)


def test_the_box_is_part_of_the_verdict() -> None:
    boxed = il.solve(il.compile(net(), X, Y, box=True), "brute")
    assert "do not count" in record_of_run(boxed, yardstick=False)["verdict"]["text"]


def test_what_a_better_network_proves() -> None:
    # All weights +1: far from XOR's optimum of 0, which any exact solver finds.
    problem = il.compile(net(), X, Y)
    vector = np.array([[values[-1] for values in problem.free_domains]])
    poor = il.solve(problem, Fixed(vector))
    assert poor.best.loss > 0
    found = record_of_run(poor, yardstick=False)["yardstick"]
    assert (found["bound"], found["tight"], found["optimal"]) == (0, True, False)
    assert found["gap"] == float(poor.best.loss)
    assert "has a training loss of 0, which is proved" in found["words"]
    assert "do not count" not in found["words"]


def test_classes_and_quantiser_of_a_model() -> None:
    rng = np.random.default_rng(0)
    real = rng.normal(size=(30, 2))
    names = np.where(real[:, 0] + real[:, 1] > 0, "$a", "<b>")
    quantiser = Quantiser.of(real, 2)
    trained = il.train(
        nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1), input_bits=2),
        quantiser(real),
        np.where(names == "$a", 1, -1),
        strategy="decomposed",
        steps=20,
    )
    model = replace(trained, quantiser=quantiser, classes=("<b>", "$a"))
    record = record_of_training(model, real, names, show_data=True)
    assert [one["name"] for one in record["data"]["classes"]] == ["<b>", "$a"]
    right = float((model.predict(real) == names).mean())
    assert record["result"]["train"]["accuracy"] == right
    assert PICTURES["regions"].draw(record).startswith(PNG)
    assert PICTURES["confusion"].draw(record).startswith(PNG)


def test_regression() -> None:
    inputs = np.arange(-2, 3)[:, None]
    labels = np.array([-1, -0.5, 0, 0.5, 1])
    problem = il.compile(nn.Sequential(nn.Linear(1, 1)), inputs, labels, label_scale=2)
    record = record_of_run(il.solve(problem, seed=0))
    assert record["data"]["task"] == "regression"
    assert record["result"]["train"]["r2"] <= 1
    assert record["data"]["label_range"] == [-1, 1]
    json.dumps(record, allow_nan=False)


def test_large_problems_have_small_records() -> None:
    rng = np.random.default_rng(0)
    inputs = rng.integers(-1, 2, size=(40, 4))
    problem = il.compile(
        nn.Sequential(nn.Linear(4, 3), nn.Sign(), nn.Linear(3, 1)),
        inputs,
        np.sign(inputs[:, 0] - 0.5),
    )
    run = il.solve(problem, "annealer", seed=0, num_reads=4, num_sweeps=20)
    record = record_of_run(run, yardstick=False)
    matrix = record["matrix"]
    qubo: QUBO = problem.qubo
    assert qubo.num_variables > MOST_CELLS == matrix["size"]
    assert max(matrix["row"]) < MOST_CELLS
    assert matrix["blocks"][-1]["stop"] == qubo.num_variables
    counts = coefficients_record(qubo)
    assert sum(counts["couplings"]) == qubo.num_couplers
    assert record["regions"] is None
    assert len(json.dumps(record)) < 1_000_000
    assert len(record["progress"]["reads"]["loss"]) <= MOST_POINTS


@pytest.mark.parametrize("key", PICTURES)
def test_every_picture_is_a_png(key: str, run_record: dict, training_record: dict) -> None:
    from matplotlib.image import imread

    # What the other record lacks, one of the two has.
    drawn = [PICTURES[key].draw(json.loads(json.dumps(r))) for r in (run_record, training_record)]
    pictures = [one for one in drawn if one is not None]
    assert pictures
    for picture in pictures:
        assert picture.startswith(PNG)
        image = imread(io.BytesIO(picture))
        assert image.std() > 0.01
    assert drawn[0] == PICTURES[key].draw(run_record)


def test_pictures_leave_no_state_behind(run_record: dict) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    for picture in PICTURES.values():
        picture.draw(run_record)
    assert pyplot.get_fignums() == before


def test_wide_networks_are_heat_maps(training_record: dict) -> None:
    rows = [
        {"name": "layer1.weight", "shape": [100, 90], "exact": False, "values": [[0.5, -0.5]] * 3}
    ]
    wide = {**training_record, "network": {**training_record["network"], "parameters": rows}}
    assert PICTURES["network"].draw(wide).startswith(PNG)
