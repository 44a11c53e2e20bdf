"""What every export asks of a form: degree two, names of their own, integers that stay exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from isinglearn.errors import OptionError, OverflowRefused
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.polynomial import Polynomial
from isinglearn.problem.rows import PolynomialRows

# Integers below this are exact in a 64-bit float.
FLOAT_LIMIT = 2**53


def index_pairs(terms: Polynomial | PolynomialRows) -> IntArray:
    """Turn terms of degree two or less into a fresh array of two index columns, -1 for none."""
    if terms.degree > 2:
        raise refused("degree", "at most two variables in a term", f"degree {terms.degree}")
    rows = terms.as_rows() if isinstance(terms, Polynomial) else terms
    return rows.padded(2).astype(np.int64)


def refused(where: str, rule: str, received: str) -> OptionError:
    """Turn what the format cannot hold into the error that says so."""
    return OptionError(
        "the form does not fit the format it is exported to",
        where=where,
        rule=rule,
        received=received,
        remedy="export another form of the problem",
    )


def unique_names(names: Iterable[str]) -> list[str]:
    """Turn names into a list; two variables of one name would become one in the other library."""
    listed = list(names)
    if len(set(listed)) < len(listed):
        ((name, count),) = Counter(listed).most_common(1)
        raise refused("names", "every name only once", f"{name!r} {count} times")
    return listed


def check_exact(values: IntArray | list[int], limit: int, where: str) -> None:
    """Turn integers that a 64-bit float would round into an error."""
    largest = max(abs(int(np.max(values, initial=0))), abs(int(np.min(values, initial=0))))
    if largest >= limit:
        raise OverflowRefused(
            "an integer is too large to be exact as a 64-bit float",
            where=where,
            rule=f"magnitudes below 2^{limit.bit_length() - 1}",
            received=largest,
            remedy="use smaller inputs or weights; to_matrix() and files of a QUBO stay exact",
        )
