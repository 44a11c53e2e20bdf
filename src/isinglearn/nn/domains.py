"""Domains: the values a parameter may take. A value is an integer numerator over a fixed denominator."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from isinglearn.errors import NetworkError
from isinglearn.problem.encodings import FULL_RANGE, IntArray, bit_count, encoding_named, layout
from isinglearn.problem.terms import check_overflow


@dataclass(frozen=True)
class Domain:
    """Integers ``lo..hi`` over ``denominator``, written in bits by ``encoding``.

    Use the named ones: :func:`Spin`, :func:`Int`, :func:`Fixed`.
    """

    lo: int
    hi: int
    denominator: int = 1
    encoding: str = "bounded"

    def __post_init__(self) -> None:
        ends = (self.lo, self.hi, self.denominator)
        whole = all(isinstance(end, Integral) for end in ends)
        if not whole or self.lo > self.hi or self.denominator < 1:
            raise NetworkError(
                "a parameter domain is not a range of whole numbers over a positive denominator",
                where="domain",
                rule="whole numbers lo <= hi and denominator >= 1",
                received=f"lo={self.lo}, hi={self.hi}, denominator={self.denominator}",
                remedy="swap the ends or widen the range",
            )
        check_overflow(float(max(abs(self.lo), abs(self.hi))), "domain")
        encoding_named(self.encoding)
        if self.encoding in FULL_RANGE:
            self._check_range()

    def _check_range(self) -> None:
        """Raise if the encoding has codes for values that the domain has not."""
        offset, coefficients = layout(self.encoding, self.lo, self.hi)
        lowest = offset + int(np.minimum(coefficients, 0).sum())
        highest = offset + int(np.maximum(coefficients, 0).sum())
        if (lowest, highest) != (self.lo, self.hi):
            raise NetworkError(
                "this encoding has values outside the domain",
                where=f"domain with encoding={self.encoding!r}",
                rule=f"the whole range of its bits, here [{lowest}, {highest}]",
                received=f"[{self.lo}, {self.hi}]",
                remedy="use encoding='bounded', or that range",
            )

    @property
    def numerators(self) -> range:
        """All numerators, ascending, without listing them."""
        return range(self.lo, self.hi + 1, 2 if self.encoding == "spin" else 1)

    @property
    def values(self) -> IntArray:
        """All numerators as an array."""
        return np.array(self.numerators, dtype=np.int64)

    def contains(self, numerators: IntArray) -> bool:
        """Whether all these numerators belong to the domain."""
        step = self.numerators.step
        inside = (numerators >= self.lo) & (numerators <= self.hi)
        return bool((inside & ((numerators - self.lo) % step == 0)).all())

    def snap(self, numerators: IntArray) -> IntArray:
        """Turn any integers into the nearest numerators of the domain (0 becomes +1 for spins)."""
        if self.encoding == "spin":
            return np.where(numerators >= 0, 1, -1)
        return np.clip(numerators, self.lo, self.hi)


def Spin() -> Domain:
    """The values -1 and +1, one bit."""
    return Domain(-1, 1, encoding="spin")


def Int(lo: int, hi: int, *, encoding: str = "bounded") -> Domain:
    """All integers from ``lo`` to ``hi``."""
    return Domain(lo, hi, encoding=encoding)


def Fixed(lo: int, hi: int, denominator: int, *, encoding: str = "bounded") -> Domain:
    """The fractions ``lo/denominator, (lo+1)/denominator, ..., hi/denominator``."""
    return Domain(lo, hi, denominator, encoding)


def offset_binary(lo: int, largest: int, denominator: int = 1) -> Domain:
    """The paper's encoding: ``lo`` plus all numbers of ``floor(log2 largest) + 1`` bits."""
    return Domain(lo, lo + 2 ** bit_count(largest) - 1, denominator)


def check_domain(domain: object, where: str) -> None:
    """Raise if this is no domain."""
    if not isinstance(domain, Domain):
        raise NetworkError(
            "this is no domain",
            where=where,
            rule="nn.Spin(), nn.Int(lo, hi) or nn.Fixed(lo, hi, denominator)",
            received=repr(domain),
            remedy="to fix a value use freeze",
        )
