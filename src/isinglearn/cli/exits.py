"""Exit codes, and errors as one message each."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import click

from isinglearn.errors import IsingLearnError, MemoryRefused, SolverError

# Where --debug is noted, in what all contexts of one call share.
DEBUG = "isinglearn.debug"


class Exit(IntEnum):
    """What a shell can tell a call's outcomes apart by."""

    DONE = 0
    OUTSIDE = 1
    INPUT = 2
    NO_ANSWER = 3
    FAULT = 4
    INTERRUPTED = 130


MEANINGS = {
    Exit.DONE: "done; after a time limit or Ctrl-C with the best so far",
    Exit.OUTSIDE: "the system failed: no permission, disk full, out of memory",
    Exit.INPUT: "bad input or options, files or packages that are not there",
    Exit.NO_ANSWER: "no answer: the solver found none, refused the problem as too large, or is not available",
    Exit.FAULT: "a fault of isinglearn; --debug shows the traceback",
    Exit.INTERRUPTED: "interrupted before there was anything to keep",
}


@contextmanager
def reporting_errors(context: click.Context) -> Iterator[None]:
    """Turn whatever is raised within into one message and an exit code; with --debug a traceback as well."""
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
        # Click knows what to do with these.
        raise
    except (Exception, KeyboardInterrupt) as error:
        if context.meta.get(DEBUG):
            traceback.print_exception(error)
        code, message = outcome(error)
        click.echo(f"Error: {message}", err=True)
        context.exit(code)


def outcome(error: BaseException) -> tuple[Exit, str]:
    """Turn an exception into its exit code and message."""
    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED, "interrupted before there was anything to keep."
        case SolverError() | MemoryRefused():
            return Exit.NO_ANSWER, str(error)
        case IsingLearnError():
            return Exit.INPUT, str(error)
        case OSError(strerror=str(reason)):
            where = "" if error.filename is None else f": {error.filename}"
            return Exit.OUTSIDE, f"{reason}{where}"
        case OSError():
            return Exit.OUTSIDE, str(error) or type(error).__name__
        case MemoryError():
            return Exit.OUTSIDE, "there is not enough memory for this."
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    return Exit.FAULT, (
        f"this is a fault of isinglearn ({told}). Run the same command with --debug to see the "
        "traceback, and please report it."
    )
