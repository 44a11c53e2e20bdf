"""The page of a report: whole, self-contained, escaped; looked at in a browser where there is one."""

from __future__ import annotations

import base64
import copy
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError
from isinglearn.report.html import page_of, write_report
from isinglearn.report.record import record_of_run, record_of_training

X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
Y = np.array([-1, 1, 1, -1])
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SECTIONS = (
    "What was trained",
    "Data",
    "Network",
    "How good is it",
    "Spin budget",
    "Penalty proofs",
    "Solver and progress",
    "Pictures",
    "How to repeat it",
)
VOID = {"meta", "img"}


class Page(HTMLParser):
    """Tags, headings, images and text of a page; unbalanced tags are a fault."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict]] = []
        self.headings: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        if "style" not in self.open:
            self.text += data

    def images(self) -> list[dict]:
        return [attributes for tag, attributes in self.tags if tag == "img"]


@pytest.fixture(scope="module")
def record() -> dict:
    network = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    run = il.solve(il.compile(network, X, Y), "annealer", seed=0, num_reads=20)
    events = [il.Event(0.1, loss=1), il.Event(0.2, loss=0, bound=0)]
    return record_of_run(run, X, Y, events=events, title="XOR", show_data=True)


@pytest.fixture(scope="module")
def page(record: dict) -> str:
    return page_of(record)


def test_sections_in_order(page: str) -> None:
    assert tuple(Page(page).headings) == SECTIONS


def test_every_picture_is_inside_and_described(page: str) -> None:
    images = Page(page).images()
    assert len(images) == 8
    for image in images:
        assert len(image["alt"]) > 10
        kind, data = image["src"].split(",", 1)
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(b"\x89PNG")


def test_nothing_is_loaded_from_outside(page: str) -> None:
    assert not re.search(r"https?:|//[a-z]|@import|url\(", re.sub(r'base64,[^"]*', "", page))
    tags = Page(page).tags
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_links_lead_somewhere(page: str) -> None:
    tags = Page(page).tags
    places = {attributes.get("id") for _, attributes in tags}
    assert all(a["href"][1:] in places for tag, a in tags if tag == "a")


def test_small_screens_and_dark_ones(page: str) -> None:
    meta = [attributes for tag, attributes in Page(page).tags if tag == "meta"]
    assert any(one.get("name") == "viewport" for one in meta)
    assert "prefers-color-scheme: dark" in page
    assert "max-width" in page
    # Wide tables scroll by themselves, the page does not.
    assert page.count("<table>") == page.count('<div class="scroll"><table>')


def test_what_it_says(page: str) -> None:
    text = Page(page).text
    for words in (
        "the best that any network of this shape",
        "straight-through gradient (STE)",
        "proved optimum",
        "every ground state is an optimal network",
        "An independent recheck agrees",
        "il.solve(problem, 'annealer', seed=0)",
        "100.0%",
    ):
        assert words in text


def test_labels_cannot_inject(record: dict) -> None:
    evil = '<script>alert("1")</script>"\' onerror=x'
    changed = copy.deepcopy(record)
    changed["title"] = evil
    changed["data"]["feature_names"] = [evil, "$\\frac{"]
    changed["data"]["classes"][0]["name"] = evil
    changed["network"]["text"] = evil
    changed["network"]["modules"][0]["module"] = evil
    changed["solver"].update(name=evil, note=evil, reason=evil)
    changed["verdict"].update(text=evil, consistent=False, violations=[evil])
    changed["matrix"]["blocks"][0]["label"] = evil
    changed["spins"]["spins_by_role"] = {evil: 3}
    changed["repeat"]["code"] = evil
    changed["yardstick"]["baseline"]["name"] = evil
    changed["yardstick"]["baseline_note"] = evil
    page = page_of(changed)
    parsed = Page(page)
    assert "<script" not in page
    assert not any("onerror" in attributes for _, attributes in parsed.tags)
    assert parsed.text.count("alert(") > 8


def test_training_page() -> None:
    network = nn.Sequential(nn.Linear(2, 3), nn.Sign(), nn.Linear(3, 1))
    model = il.train(network, X, Y, strategy="decomposed", steps=30, seed=0)
    page = Page(page_of(record_of_training(model, X, Y, yardstick=False, gap=0.0)))
    assert tuple(page.headings) == SECTIONS
    assert "No test data was given" in page.text
    assert "Baseline: not asked for" in page.text


def test_page_without_a_network(record: dict) -> None:
    failed = {**record, "result": None, "yardstick": None, "regions": None}
    failed["progress"] = {"curve": None, "reads": None}
    failed["verdict"] = {**record["verdict"], "text": "No network was found.", "consistent": None}
    assert "No network was found." in Page(page_of(failed)).text


def test_written_whole_or_not_at_all(record: dict, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(record, path)
    first = path.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    with pytest.raises(DataError, match="no record of a report"):
        write_report({**record, "version": 99}, path)
    assert path.read_bytes() == first
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome here")
@pytest.mark.parametrize("width", [1200, 390])
def test_in_a_browser(record: dict, tmp_path: Path, width: int) -> None:
    from matplotlib.image import imread

    write_report(record, tmp_path / "report.html")
    shot = tmp_path / "shot.png"
    assert BROWSER is not None
    command = [
        BROWSER,
        "--headless",
        # A container has neither the rights for a sandbox nor a large /dev/shm.
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--window-size={width},2400",
        f"--screenshot={shot}",
        (tmp_path / "report.html").as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    # A browser writes what a script or the page's own loading did wrong as CONSOLE lines.
    assert "CONSOLE" not in done.stderr
    image = imread(shot)[..., :3]
    assert image.std() > 0.02
    # Text and pictures down the page, not only a heading at its top.
    thirds = np.array_split(image, 3)
    assert all(part.std() > 0.01 for part in thirds)
