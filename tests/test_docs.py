"""The documentation builds without a warning, and every public name has its place in it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import isinglearn as il
from isinglearn import nn

DOCS = Path(__file__).parents[1] / "docs"


def test_it_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    pytest.importorskip("myst_parser", reason="the extra docs is not installed")
    pytest.importorskip("furo", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", DOCS, tmp_path / "html"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "html" / "index.html").exists()


@pytest.mark.parametrize("name", sorted({*nn.MODULES, *nn.LOSSES}))
def test_every_module_is_in_the_table_and_in_the_reference(name):
    assert f"`{name}(" in (DOCS / "modules.md").read_text()
    assert f"isinglearn.nn.{name}" in (DOCS / "api.md").read_text()


def test_every_page_is_reachable():
    index = (DOCS / "index.md").read_text()
    for page in DOCS.glob("*.md"):
        assert page.stem == "index" or re.search(rf"^{page.stem}$", index, re.MULTILINE), page.name


@pytest.mark.parametrize("name", ["compile", "solve", "train", "Model", "to_onnx", "quantise"])
def test_the_main_names_are_in_the_reference(name):
    assert hasattr(il, name)
    assert f".{name}" in (DOCS / "api.md").read_text()
