"""The command line: arguments in, public API, tables or JSON out. One file per command."""

from __future__ import annotations

import sys

import click

from isinglearn import __version__
from isinglearn.cli.common import Group
from isinglearn.cli.compile import compile_command
from isinglearn.cli.demo import demo
from isinglearn.cli.estimate import estimate
from isinglearn.cli.reproduce import reproduce
from isinglearn.cli.solve import solve_command
from isinglearn.cli.solvers import solvers
from isinglearn.cli.train import predict_command, train_command
from isinglearn.errors import IsingLearnError


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="isinglearn")
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
    reproduce,
):
    app.add_command(command)


def main() -> None:
    """Run the command line; errors of ours are one line and exit code 2, without a traceback."""
    try:
        app()
    except IsingLearnError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        click.echo(f"Error: {error.strerror}: {error.filename}", err=True)
        sys.exit(1)
