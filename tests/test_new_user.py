"""A new user's path: a fresh environment, ``pip install .``, every command of the README in order."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What every command's output must show; a command of the README that is not here fails the test.
SHOWN = {
    "python3 -m venv env": "",
    ". env/bin/activate": "",
    "pip install .": "Successfully installed",
    "isinglearn demo": r"spins +│ +546 (.|\n)*accuracy +│ +9\d\.\d%",
    "isinglearn estimate": r"The compact form",
    "isinglearn compile": r"every ground state is an optimal network(.|\n)*Written to xor\.qubo",
    "isinglearn solve xor.qubo": r"OPTIMAL(.|\n)*energy +│ 0 ",
    "isinglearn bench": r"annealer(.|\n)*treewidth +0\.666667 +0 +proof",
    "isinglearn solvers": r"annealer(.|\n)*cpsat",
    "isinglearn reproduce counts": r"3839(.|\n)*5543",
    "isinglearn train": r"test_score +│ (0\.[89]|1)",
    "isinglearn predict": r"1[34]\d of 150 right",
}
WRITTEN = {
    "demo.png": b"\x89PNG",
    "model.json": b'{"format": "isinglearn-model"',
    "report.html": b"<!DOCTYPE html>",
    "predictions.csv": b"prediction\n",
    "xor.qubo": b"c ",
}


def commands() -> list[str]:
    """Lines of the README's shell blocks, without comments, and without those that set up this very test."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line.split("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("make ")]


def key_of(command: str) -> str:
    """The longest entry that a command begins with."""
    fitting = [key for key in SHOWN if command.startswith(key)]
    assert fitting, f"the README's command {command!r} has no check here"
    return max(fitting, key=len)


def test_every_check_is_for_a_command():
    assert {key_of(command) for command in commands()} == set(SHOWN)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """What is needed of the project, as a new user has it, and what its commands printed."""
    place = tmp_path_factory.mktemp("clone")
    for name in ("src", "examples"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, place)
    probe = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", "probe"]
    online = subprocess.run([*probe, "hatchling"], cwd=place, capture_output=True, check=False)
    if online.returncode:
        pytest.skip("the Python package index cannot be reached")
    # One shell for all, as a user has it; each command's output and exit code in files of its own.
    lines = [
        f"{command} > {number}.out 2>&1; echo $? > {number}.code"
        for number, command in enumerate(commands())
    ]
    subprocess.run(["sh"], input="\n".join(lines), text=True, cwd=place, timeout=900, check=True)
    return place


@pytest.mark.parametrize("number", range(len(commands())), ids=lambda number: commands()[number])
def test_command(clone, number):
    printed, code = ((clone / f"{number}.{end}").read_text() for end in ("out", "code"))
    assert code.strip() == "0", printed
    assert "Traceback" not in printed
    assert re.search(SHOWN[key_of(commands()[number])], printed), printed


@pytest.mark.parametrize("name", WRITTEN)
def test_file(clone, name):
    assert (clone / name).read_bytes().startswith(WRITTEN[name])
