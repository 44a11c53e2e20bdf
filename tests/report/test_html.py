"""The page of a report: whole, self-contained, escaped; looked at in a browser where there is one."""

from __future__ import annotations

import base64
import copy
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError
from isinglearn.report.html import page_of, write_report
from isinglearn.report.record import record_of_run, record_of_training

if TYPE_CHECKING:
    from conftest import Browser

X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
Y = np.array([-1, 1, 1, -1])
SECTIONS = (
    "How good is it",
    "Data",
    "Network",
    "Spin budget",
    "Penalty proofs",
    "Solver and progress",
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
    return record_of_run(run, X, Y, title="XOR", show_data=True)


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
        "The network is right on 4 of 4 training samples",
        "This is the best network of its shape",
        "straight-through gradient (STE)",
        "proved optimum",
        "every ground state is an optimal network",
        "An independent recheck agrees",
        "il.solve(problem, 'annealer', seed=0, num_reads=20)",
        "which of its thresholds a unit's bias reaches",
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
    page = Page(page_of(record_of_training(model, X, Y, yardstick=False)))
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


# -- in a real browser -----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1200, 390])
def test_it_renders(browser: Browser, page: str, width: int) -> None:
    image = browser.shot(page, width, 2400)
    assert image.shape[1] == width
    # Text and pictures down the page, not only a heading at its top.
    assert all(part.std() > 0.01 for part in np.array_split(image, 3))


@pytest.mark.parametrize("width", [1200, 390, 320])
def test_all_pictures_are_there_and_nothing_sticks_out(
    browser: Browser, page: str, width: int
) -> None:
    seen = browser.look(page, width)
    assert (seen.width, seen.needed) == (width, width)
    assert len(seen.pictures) == 8
    assert min(seen.pictures) > 400
    assert seen.text > 1000
    assert seen.complaints == []


def test_a_page_of_long_words_fits_a_phone(browser: Browser, record: dict) -> None:
    long = "x" * 300
    changed = copy.deepcopy(record)
    changed["title"] = long
    changed["data"]["feature_names"] = [long, long]
    changed["data"]["classes"][0]["name"] = long
    changed["solver"].update(name=long, note=long, reason=long)
    changed["verdict"].update(text=long, consistent=False, violations=[long])
    changed["repeat"]["code"] = long
    seen = browser.look(page_of(changed), 390)
    assert (seen.width, seen.needed) == (390, 390)


def test_the_browser_tells_what_is_wrong(browser: Browser) -> None:
    broken = (
        '<body><div style="width: 999px">wide</div><img src="data:image/png;base64,AAAA">'
        "<script>no_such_function()</script></body>"
    )
    seen = browser.look(broken, 390)
    assert seen.needed > seen.width == 390
    assert seen.pictures == [0]
    assert "no_such_function" in seen.complaints[0]
    assert browser.shot("<body></body>", 390, 600).std() == 0


def test_in_the_dark(browser: Browser, page: str) -> None:
    dark = page.replace("@media (prefers-color-scheme: dark)", "@media all")
    assert dark != page
    light, dark_page = (browser.shot(one, 600, 300) for one in (page, dark))
    assert light[0, 0].min() > 0.9
    assert dark_page[0, 0].max() < 0.2
    assert dark_page.max() > 0.8
