"""The pictures of the MNIST experiment: PNG files, drawn from plain values only."""

from __future__ import annotations

import json

import pytest

from isinglearn.report.mnist_figures import draw_solvability

PNG = b"\x89PNG\r\n\x1a\n"


def row(formulation: str, label: str, losses: list[list], **changes: object) -> dict:
    return {
        "formulation": formulation,
        "label": label,
        "solver": "annealer",
        "train_images": 4,
        "spins": 108,
        "reads": 10,
        "success_probability": 0.7,
        "compile_ms": 31.2,
        "anneal_ms": 1234.5,
        "decode_ms": 0.02,
        "loss": "0",
        "losses": losses,
        "test_accuracy": 0.75,
        "test_right": 3,
        "test_images": 4,
        "confusion": [[2, 0], [1, 1]],
        "parameters": {
            "layer1.weight": [[1, 1, -1, -1]],
            "layer1.bias": [0],
            "layer2.weight": [[-1]],
            "layer2.bias": [0],
        },
        **changes,
    }


def record(rows: list[dict]) -> dict:
    image = [[0, 0, 0, 0], [0, 9, 9, 0], [0, 0, 9, 0], [0, 0, 0, 0]]
    choice = {"labels": [1, -1], "inputs": [[0, 1, -1, 1], [-1, 0, 1, 0]], "white_level": 1}
    return {"images": "toy", "samples": [image, image[::-1]], "choice": choice, "rows": rows}


NOTHING = {"loss": None, "test_accuracy": None, "test_right": None, "confusion": None}
CASES = {
    "all ways": [
        row("paper", "walk", [["0", 7], ["1/3", 3]]),
        row("paper", "flips", [["1", 10]]),
        row("paper", "tempering", [["0", 1], ["2", 9]]),
        row("compact", "walk", [["0", 10]]),
        row("paper", "walk", [["5", 10]], train_images=100),
    ],
    "another solver": [row("paper", "tabu", [["0", 2]]), row("compact", "tabu", [["0", 2]])],
    "nothing found": [row("paper", "walk", [], decode_ms=None, parameters=None, **NOTHING)],
}


@pytest.mark.parametrize("rows", CASES.values(), ids=CASES)
def test_a_record_becomes_a_picture(tmp_path, rows):
    path = tmp_path / "mnist.png"
    # What has been through JSON has nothing left but plain values.
    draw_solvability(json.loads(json.dumps(record(rows))), path)
    assert path.read_bytes().startswith(PNG)
