"""Integer encodings: an integer in ``[lo, hi]`` is written as ``offset + sum_j c_j * bit_j``.

Every encoding here is affine, so a polynomial in integers becomes a polynomial in bits by substitution.
Encodings whose bit patterns are not all valid (unary, one-hot) name the rule that makes them so; the
lowering turns that rule into penalties.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import OptionError, check_choice

IntArray = NDArray[np.int64]
Validity = Literal["any", "ordered", "exactly_one"]


@dataclass(frozen=True)
class Encoding:
    """One way to write an integer in bits.

    Attributes
    ----------
    name
        How a user asks for it.
    layout
        ``(lo, hi) -> (offset, coefficients)``.
    write
        ``(values, lo, hi) -> bits``, the inverse, of shape ``(len(values), number of bits)``.
    validity
        Which bit patterns are values: ``any``, ``ordered`` (1...10...0) or ``exactly_one``.
    """

    name: str
    layout: Callable[[int, int], tuple[int, IntArray]]
    write: Callable[[IntArray, int, int], IntArray]
    validity: Validity = "any"


def bit_count(value: int) -> int:
    """Turn a largest value ``v >= 1`` into ``floor(log2 v) + 1``, the paper's number of bits (0 for 0)."""
    return int(value).bit_length()


def _powers(count: int) -> IntArray:
    return np.left_shift(np.int64(1), np.arange(count, dtype=np.int64))


def _binary(lo: int, hi: int) -> tuple[int, IntArray]:
    """Paper's protocol: all powers of two, so values above ``hi`` exist when ``hi - lo + 1`` is no power."""
    return lo, _powers(bit_count(hi - lo))


def _bounded(lo: int, hi: int) -> tuple[int, IntArray]:
    """Powers of two with the last coefficient cut down, so that the largest value is exactly ``hi``."""
    span = hi - lo
    coefficients = _powers(bit_count(span))
    if coefficients.size:
        coefficients[-1] = span - int(coefficients[:-1].sum())
    return lo, coefficients


def _twos_complement(lo: int, hi: int) -> tuple[int, IntArray]:
    """Sign bit of weight ``-2^k``: covers ``[-2^k, 2^k - 1]``, the smallest such range that holds all."""
    magnitude = max(bit_count(max(hi, 0)), bit_count(max(-lo - 1, 0)))
    coefficients = _powers(magnitude + 1)
    coefficients[-1] *= -1
    return 0, coefficients


def _unary(lo: int, hi: int) -> tuple[int, IntArray]:
    """Domain wall: bit ``j`` says "value > lo + j"; no carries, one bit per step."""
    return lo, np.ones(hi - lo, dtype=np.int64)


def _one_hot(lo: int, hi: int) -> tuple[int, IntArray]:
    return 0, np.arange(lo, hi + 1, dtype=np.int64)


def _spin(lo: int, hi: int) -> tuple[int, IntArray]:
    if (lo, hi) != (-1, 1):
        raise OptionError(
            "the spin encoding has exactly the values -1 and +1",
            where="encoding='spin'",
            rule="lo = -1 and hi = +1",
            received=f"[{lo}, {hi}]",
            remedy="use encoding='bounded' for a range of integers",
        )
    return -1, np.array([2], dtype=np.int64)


def _write_places(values: IntArray, count: int) -> IntArray:
    return (values[:, None] >> np.arange(count, dtype=np.int64)) & 1


def _write_binary(values: IntArray, lo: int, hi: int) -> IntArray:
    return _write_places(values - lo, bit_count(hi - lo))


def _write_bounded(values: IntArray, lo: int, hi: int) -> IntArray:
    """The last bit only where the powers below it do not reach, so that the code is unique."""
    _, coefficients = _bounded(lo, hi)
    if not coefficients.size:
        return np.zeros((len(values), 0), dtype=np.int64)
    rest = values - lo
    last = rest > int(coefficients[:-1].sum())
    low = _write_places(rest - last * coefficients[-1], coefficients.size - 1)
    return np.concatenate([low, last[:, None].astype(np.int64)], axis=1)


def _write_twos_complement(values: IntArray, lo: int, hi: int) -> IntArray:
    return _write_places(values, _twos_complement(lo, hi)[1].size)


def _write_unary(values: IntArray, lo: int, hi: int) -> IntArray:
    return (values[:, None] - lo > np.arange(hi - lo)).astype(np.int64)


def _write_one_hot(values: IntArray, lo: int, hi: int) -> IntArray:
    return (values[:, None] == np.arange(lo, hi + 1)).astype(np.int64)


def _write_spin(values: IntArray, lo: int, hi: int) -> IntArray:
    return ((values + 1) // 2)[:, None]


ENCODINGS: dict[str, Encoding] = {
    encoding.name: encoding
    for encoding in (
        Encoding("binary", _binary, _write_binary),
        Encoding("bounded", _bounded, _write_bounded),
        Encoding("twos_complement", _twos_complement, _write_twos_complement),
        Encoding("unary", _unary, _write_unary, "ordered"),
        Encoding("one_hot", _one_hot, _write_one_hot, "exactly_one"),
        Encoding("spin", _spin, _write_spin),
    )
}


# Encodings that use every code, so that they fit a range only if it is as large as theirs.
FULL_RANGE = ("binary", "twos_complement", "spin")


def encoding_named(name: str) -> Encoding:
    """Turn a name into its encoding, or into an error that names the nearest one."""
    return ENCODINGS[check_choice(name, ENCODINGS, "encoding")]


def layout(name: str, lo: int, hi: int) -> tuple[int, IntArray]:
    """Turn an encoding's name and a range into ``(offset, coefficients)``."""
    if lo > hi:
        raise OptionError(
            "an integer range is empty",
            where=f"encoding={name!r}",
            rule="lo <= hi",
            received=f"lo={lo}, hi={hi}",
            remedy="swap or widen the ends",
        )
    return encoding_named(name).layout(lo, hi)
