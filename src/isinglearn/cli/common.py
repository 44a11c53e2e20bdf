"""What all commands share: five options, how to speak, and what becomes of Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from isinglearn.cli import parameters
from isinglearn.cli.exits import DEBUG, reporting_errors
from isinglearn.cli.interrupts import Interrupts
from isinglearn.cli.parameters import FILE, nearest
from isinglearn.cli.printing import print_json
from isinglearn.cli.progress import Bar, drawn
from isinglearn.errors import SolverError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True, eq=False)
class Common:
    """What every command is told, and how it answers.

    Attributes
    ----------
    seed, time_limit
        Of whatever is random, and of whatever takes time.
    as_json, quiet
        How the answer is printed: as JSON, as tables, or (quiet without JSON) not at all.
    interrupts
        Whether Ctrl-C was pressed.
    """

    seed: int
    time_limit: float | None
    as_json: bool
    quiet: bool
    interrupts: Interrupts

    def answer(self, record: dict[str, Any], show: Callable[[], None]) -> None:
        """Print the record as JSON, or show it, or be quiet."""
        if self.as_json:
            print_json(record)
        elif not self.quiet:
            show()
        if self.interrupts.seen:
            self.say("Interrupted: this is the best so far.")

    def stop_if_interrupted(self) -> None:
        """Raise what Ctrl-C usually raises, where a solver took it for a wish to end early."""
        if self.interrupts.seen:
            raise KeyboardInterrupt

    def say(self, text: str) -> None:
        """Tell something beside the answer, on standard error."""
        if not self.quiet:
            click.echo(text, err=True)

    def progress(
        self, title: str, *, limit: float | None = None, figure: str = "loss"
    ) -> AbstractContextManager[Bar]:
        """Show a bar while work is under way, where somebody looks at it."""
        bar = Bar(title, limit, figure, lambda: self.interrupts.seen)
        return drawn(bar, silent=self.quiet or self.as_json)


def with_common(
    *, seed: str | None = None, time_limit: str | None = None, seconds: float | None = None
) -> Decorator:
    """Give a command the options that all have, and their values as its first argument.

    Parameters
    ----------
    seed, time_limit
        What these do, for the help; ``None`` where they have no effect: scripts may pass them all the same.
    seconds
        The time limit where none is given.
    """
    effects = [text or "No effect on this command." for text in (seed, time_limit)]
    options = [
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables."),
        click.option(
            "--seed",
            default=0,
            show_default=bool(seed),
            metavar="N",
            callback=parameters.seed,
            help=effects[0],
        ),
        click.option(
            "--time-limit",
            default=seconds,
            show_default=seconds is not None,
            type=float,
            metavar="SECONDS",
            callback=parameters.seconds,
            help=effects[1],
        ),
        click.option("--quiet", is_flag=True, help="Print nothing but errors, and JSON if asked."),
        debug,
    ]

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(
            *, seed: int, time_limit: float | None, as_json: bool, quiet: bool, **given: Any
        ) -> Any:
            parameters.check_apart(given.values())
            with Interrupts() as interrupts:
                try:
                    common = Common(seed, time_limit, as_json, quiet, interrupts)
                    return function(common, **given)
                except SolverError as error:
                    if interrupts.seen:
                        # It was stopped before it had anything.
                        raise KeyboardInterrupt from error
                    raise

        decorated: Callable[..., Any] = command
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _note_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[DEBUG] = True


debug = click.option(
    "--debug",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_note_debug,
    help="Show the traceback of an error.",
)


def output(
    name: str | None,
    text: str,
    *,
    required: bool = False,
    callback: parameters.Callback = parameters.writable,
) -> Decorator:
    """Turn a default name into the option that says where a command writes."""
    # A default of None would count as given where it is required.
    default: dict[str, Any] = {} if name is None else {"default": name, "show_default": True}
    return click.option(
        "-o",
        "--output",
        type=FILE,
        required=required,
        callback=callback,
        help=text,
        **default,
    )


def picture(name: str) -> Decorator:
    """Turn a default name into the option that says where a command draws."""
    return output(name, "Where to write the picture.", callback=parameters.picture_to_write)


class Group(click.Group):
    """Lists its commands in the order of their use, and suggests the nearest for a misspelt one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order in which they were added."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Turn arguments into a command, or into an error that names the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = nearest(args[0], self.list_commands(ctx))
            raise click.UsageError(f"{error.message.rstrip('.')}.{hint}", ctx=ctx) from error


class App(Group):
    """The whole program: every error is one message and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with reporting_errors(ctx):
            return super().invoke(ctx)
