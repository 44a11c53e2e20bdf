"""The command line: arguments in, public API, tables or JSON out. One file per command."""

from __future__ import annotations

import click

from isinglearn import __version__
from isinglearn.cli.bench import bench_command
from isinglearn.cli.common import App, debug
from isinglearn.cli.compile import compile_command
from isinglearn.cli.demo import demo
from isinglearn.cli.estimate import estimate
from isinglearn.cli.exits import MEANINGS
from isinglearn.cli.predict import predict_command
from isinglearn.cli.reproduce import reproduce_command
from isinglearn.cli.solve import solve_command
from isinglearn.cli.solvers import solvers
from isinglearn.cli.train import train_command

# The mark keeps click from filling the lines.
_EXIT_CODES = "\b\nExit codes:\n" + "\n".join(
    f"  {code.value:>3}  {meaning}" for code, meaning in MEANINGS.items()
)


@click.group(cls=App, context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXIT_CODES)
@click.version_option(__version__, prog_name="isinglearn")
@debug
def app() -> None:
    """Train multi-layer neural networks on Ising machines."""


for command in (
    demo,
    train_command,
    predict_command,
    estimate,
    compile_command,
    solve_command,
    solvers,
    bench_command,
    reproduce_command,
):
    app.add_command(command)


def main() -> None:
    """Run the command line."""
    app()
