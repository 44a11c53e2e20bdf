"""Imports run downwards only, and a bare import stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import isinglearn

# Each may import itself and those before it.
ORDER = (
    "errors",
    "problem",
    "data",
    "tables",
    "nn",
    "lowering",
    "conformance",
    "decode",
    "verify",
    "model",
    "exports",
    "solvers",
    "metrics",
    "training",
    "baselines",
    "estimators",
    "paper",
    "report",
    "cli",
)
# The package itself and `python -m isinglearn` are the doors: they may name everything.
DOORS = ("__init__", "__main__")
# Faces: methods that a user looks for on an object, whose work lives above it. Each imports what it shows
# inside its own body, from one part only, and does nothing else with it. Nothing else may look upwards.
FACES = {
    ("solvers/run.py", "Run.report"): "report",
    ("training/trained.py", "Trained.report"): "report",
}
HEAVY = ("numba", "scipy", "sklearn", "dimod", "dwave", "ortools", "matplotlib")

PACKAGE = Path(isinglearn.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))


def part_of(module: str) -> str:
    """The part a module belongs to: ``isinglearn.nn.layers`` to ``nn``, the package itself to ''."""
    names = module.split(".")
    return names[1] if len(names) > 1 else ""


def is_type_checking(node: ast.If) -> bool:
    return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def imports(tree: ast.AST, package: list[str]) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported, at any depth, but not for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and is_type_checking(node):
            for other in node.orelse:
                yield from imports(other, package)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # `from isinglearn import nn` imports a part; deeper names do not change the part.
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        else:
            yield from imports(node, package)


def lines_of(tree: ast.AST, name: str) -> range:
    """Lines of a method by its qualified name: ``Run.report``."""
    body: list[ast.stmt] = getattr(tree, "body", [])
    first, _, rest = name.partition(".")
    kinds = (ast.ClassDef, ast.FunctionDef)
    (node,) = (one for one in body if isinstance(one, kinds) and one.name == first)
    assert node.end_lineno is not None
    return lines_of(node, rest) if rest else range(node.lineno, node.end_lineno + 1)


def is_face(path: Path, line: int, part: str) -> bool:
    """Whether an import is inside a method that may look up to this part."""
    return any(
        (PACKAGE / file, shown) == (path, part)
        and line in lines_of(ast.parse(path.read_text()), method)
        for (file, method), shown in FACES.items()
    )


def own_imports(path: Path) -> list[tuple[int, str]]:
    package = ["isinglearn", *path.relative_to(PACKAGE).parts[:-1]]
    found = imports(ast.parse(path.read_text()), package)
    return [(line, name) for line, name in found if name.split(".")[0] == "isinglearn"]


def upward(path: Path) -> list[str]:
    part = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if part in DOORS:
        return []
    assert part in ORDER, f"{part} has no place in the order of imports"
    allowed = ORDER[: ORDER.index(part) + 1]
    return [
        f"{path.relative_to(PACKAGE)}:{line} imports {name}"
        for line, name in own_imports(path)
        if part_of(name) in ORDER
        and part_of(name) not in allowed
        and not is_face(path, line, part_of(name))
    ]


@pytest.mark.parametrize(("file", "method"), FACES)
def test_every_face_is_needed_and_shows_one_part_only(file: str, method: str) -> None:
    path = PACKAGE / file
    lines = lines_of(ast.parse(path.read_text()), method)
    seen = {part_of(name) for line, name in own_imports(path) if line in lines}
    assert seen == {FACES[file, method]}


def test_no_import_runs_upwards():
    assert [fault for path in FILES for fault in upward(path)] == []


def test_nn_knows_data_only_as_a_type():
    # In the order data comes before nn, but a network is described without any.
    found = [
        f"{path.name}:{line}"
        for path in FILES
        if path.parent.name == "nn"
        for line, name in own_imports(path)
        if part_of(name) == "data"
    ]
    assert found == []


def test_the_reader_sees_what_it_should():
    source = """
from typing import TYPE_CHECKING
import isinglearn.cli
if TYPE_CHECKING:
    from isinglearn.solvers import base
def later():
    from isinglearn import report, __version__
    from ..lowering.pipeline import compile
    from . import layers
"""
    names = [name for _, name in imports(ast.parse(source), ["isinglearn", "nn"])]
    assert names == [
        "typing.TYPE_CHECKING",
        "isinglearn.cli",
        "isinglearn.report",
        "isinglearn.__version__",
        "isinglearn.lowering.pipeline.compile",
        "isinglearn.nn.layers",
    ]
    assert [part_of(name) for name in names[1:]] == [
        "cli",
        "report",
        "__version__",
        "lowering",
        "nn",
    ]


STATEMENTS = {
    "import": "import isinglearn",
    "help": """
import isinglearn.cli
try:
    isinglearn.cli.app(["--help"])
except SystemExit as end:
    assert end.code == 0
""",
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_heavy_packages_are_not_loaded(statement):
    code = f"{statement}\nimport sys\nprint('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split("LOADED")[1].split()}
    assert loaded.isdisjoint(HEAVY), loaded & set(HEAVY)


@pytest.mark.parametrize("first", ["solve", "compile"])
def test_public_names_are_the_same_whatever_was_used_before(first):
    # A submodule of the same name must not hide a function, in any order of use.
    code = f"""
import isinglearn as il
il.{first}
for name in il.__all__:
    getattr(il, name)
from isinglearn.solvers.run import solve
assert il.solve is solve, il.solve
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="slove"):
        isinglearn.slove  # noqa: B018
    assert dir(isinglearn) == sorted(isinglearn.__all__)
