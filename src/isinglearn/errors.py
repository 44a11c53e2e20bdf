"""One exception family; every message: what failed, where, the rule, what was received, the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral


class IsingLearnError(Exception):
    """Base of everything this library raises on purpose.

    Parameters
    ----------
    what
        What went wrong, as a full clause.
    where
        The argument, layer or file concerned.
    rule
        What would have been accepted.
    received
        What was given instead.
    remedy
        What the user can do about it.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        rule: str = "",
        received: object = None,
        remedy: str = "",
    ) -> None:
        self.what, self.where, self.rule, self.remedy = what, where, rule, remedy
        self.received = received
        parts = [f"{where}: {what}" if where else what]
        if rule:
            parts.append(f"Rule: {rule}.")
        if received is not None:
            parts.append(f"Received: {received}.")
        if remedy:
            parts.append(f"Remedy: {remedy}")
        super().__init__(" ".join(p if p.endswith((".", "?")) else f"{p}." for p in parts))


class DataError(IsingLearnError, ValueError):
    """The training data breaks a rule."""


class NetworkError(IsingLearnError, ValueError):
    """A network is impossible as declared, or parameters do not fit it."""


class OptionError(IsingLearnError, ValueError):
    """An option has a value that is not known or not allowed."""


class OverflowRefused(IsingLearnError, OverflowError):
    """An exact integer would not fit into 64 bits."""


class MemoryRefused(IsingLearnError, MemoryError):
    """The work would need more memory than there is, known before it starts."""


class MissingPackage(IsingLearnError, ImportError):
    """Something needs a package that is not installed here."""


class SolverError(IsingLearnError, RuntimeError):
    """A solver is not there, or returned something unusable."""


class ProblemRefused(SolverError):
    """A solver cannot take this problem, known before it starts."""


def check_count(
    value: object,
    where: str,
    least: int = 1,
    most: int = 2**31 - 1,
    error: type[IsingLearnError] = OptionError,
) -> int:
    """Turn a value into itself if it is a whole number within limits, else into an error."""
    whole = int(value) if isinstance(value, Integral) else None
    if whole is not None and least <= whole <= most:
        return whole
    raise error(
        "this is not a whole number in its limits",
        where=where,
        rule=f"a whole number from {least} to {most}",
        received=repr(value),
        remedy="give a number in that range",
    )


def check_choice(value: str, choices: Iterable[str], where: str) -> str:
    """Turn ``value`` into itself if it is one of ``choices``, else into an error naming the nearest."""
    known = list(choices)
    if value in known:
        return value
    near = get_close_matches(str(value).lower(), known, n=1)
    raise OptionError(
        "this choice is not known",
        where=where,
        rule="one of " + ", ".join(repr(str(choice)) for choice in known),
        received=repr(value),
        remedy=f"did you mean {str(near[0])!r}?" if near else "choose one of these",
    )
