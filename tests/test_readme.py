"""Every Python block of the README runs, in order, in one session."""

import re
from pathlib import Path

import pytest

from isinglearn.solvers.base import SOLVERS

README = Path(__file__).parents[1] / "README.md"


def test_python_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len(blocks) >= 3
    session: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), session)
    printed = capsys.readouterr().out
    assert printed.startswith("OPTIMAL 0 0 ")
    shown = re.search(r"```text\n(.*?)```", README.read_text(), re.DOTALL)
    assert shown is not None
    assert shown.group(1) in printed
    assert (tmp_path / "problem.lp").exists()


def test_the_two_commands_are_there():
    text = README.read_text()
    assert "make demo" in text
    assert "make test" in text


DOCS = [
    page
    for page in sorted((README.parent / "docs").glob("*.md"))
    if "```python" in page.read_text()
]


@pytest.fixture
def _registry():
    """A solver that a page registers is gone afterwards."""
    known = dict(SOLVERS)
    yield
    SOLVERS.clear()
    SOLVERS.update(known)


@pytest.mark.usefixtures("_registry")
@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.stem)
def test_python_blocks_of_the_documentation_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(block, page.name, "exec"), session)
