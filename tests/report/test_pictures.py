"""Pictures: labels that do not cover each other, and what is drawn of which record."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from isinglearn.report import network_pictures
from isinglearn.report.network_pictures import draw_network
from isinglearn.report.progress_pictures import draw_progress, draw_reads
from isinglearn.report.qubo_pictures import spread

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("count", [1, 2, 7, 20])
def test_labels_are_spread_within_the_length(count: int) -> None:
    middles = np.sort(np.random.default_rng(count).uniform(90, 100, count))
    places = spread(middles, 5.0, 100.0)
    assert (np.diff(places) >= 5 - 1e-9).all()
    assert places[-1] <= 100
    assert places[0] >= 0


def test_labels_with_room_stay_where_they_belong() -> None:
    middles = np.array([10.0, 30.0, 80.0])
    assert spread(middles, 5.0, 100.0).tolist() == middles.tolist()


def network(*widths: int, names: list[str] | None = None) -> dict:
    """A record of a network of these widths, with the parts that its picture needs."""
    rng, rows, layers = np.random.default_rng(0), [], []
    for number, (before, after) in enumerate(pairwise(widths), start=1):
        layers.append(f"layer{number}")
        for kind, shape in (("weight", (after, before)), ("bias", (after,))):
            values = rng.integers(-3, 4, shape).tolist()
            name = f"layer{number}.{kind}"
            rows.append({"name": name, "shape": list(shape), "exact": True, "values": values})
    network = {"parameters": rows, "layers": layers}
    return {"result": {}, "network": network, "data": {"feature_names": names}}


@pytest.mark.parametrize(
    ("widths", "drawn"),
    [
        ((2, 3, 1), True),
        ((2, 2, 2, 1), True),
        ((8, 1), True),
        ((1, 1), True),
        ((4, 8, 3), False),
        ((2, 2, 2, 2, 1), False),
        ((30, 2, 1), False),
    ],
)
def test_lines_while_their_values_can_be_read(
    widths: tuple[int, ...], drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables: list[dict] = []
    whole = network_pictures._tables
    monkeypatch.setattr(
        network_pictures, "_tables", lambda record: tables.append(record) or whole(record)
    )
    picture = draw_network(network(*widths, names=["$x" * 9] * widths[0]))
    assert picture is not None
    assert picture.startswith(PNG)
    assert bool(tables) is not drawn


def test_values_of_a_layer_are_apart() -> None:
    at, gap = network_pictures._place(np.ones((3, 2)))
    target, source = np.array([[1.0], [0], [-1]]), np.array([[0.5, -0.5]])
    places = np.sort((source + at * (target - source)).ravel())
    assert np.diff(places).min() == pytest.approx(gap)
    assert gap > 0.2


def progress(losses: list, bounds: list, **yardstick) -> dict:
    curve = {"unit": "seconds", "x": list(range(len(losses))), "loss": losses, "bound": bounds}
    return {"progress": {"curve": curve, "reads": None}, "yardstick": yardstick or None}


def test_loss_over_time_needs_a_loss_or_a_bound() -> None:
    assert draw_progress(progress([None], [None])) is None
    one = draw_progress(progress([0.5], [0.0], bound=0.0, tight=False))
    assert one is not None
    assert one.startswith(PNG)
    falling = draw_progress(progress([50.0, 1.0, 0.5], [None, 0.1, 0.2], bound=0.5, tight=True))
    assert falling is not None
    # The proof that came from elsewhere is a line more than the curve has.
    without = draw_progress(progress([50.0, 1.0, 0.5], [None, 0.1, 0.2], bound=0.2, tight=True))
    assert falling != without


def test_one_answer_is_no_histogram() -> None:
    reads = {"total": 1, "outside": 0, "loss": [0.5], "count": [1]}
    record = {"progress": {"reads": reads}, "yardstick": None}
    assert draw_reads(record) is None
    record["progress"]["reads"] = {"total": 9, "outside": 0, "loss": [0.5], "count": [9]}
    drawn = draw_reads(record)
    assert drawn is not None
    assert drawn.startswith(PNG)
