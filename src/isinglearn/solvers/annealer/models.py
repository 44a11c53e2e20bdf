"""Polynomials as the arrays that the kernels run on: dense or sparse pairs, or terms of any degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import ProblemRefused
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.polynomial import Polynomial

# A dense row is added eight values at a time, a sparse one value by value through an index: dense pays
# up to about this many times the neighbours, and up to a size whose rows stay in the cache.
_DENSE_RATIO = 12
_DENSE_SPINS = 4096


# Magnitudes of all coefficients together: energies stay clear of the marks for "none found".
LARGEST_TOTAL = 2.0**61

# Without a sign: for an index that might be negative the compiled code would check every time.
Indices = NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Dense:
    """``E = offset + sum_i linear_i x_i + sum_(i<j) pairs_ij x_i x_j``; ``pairs`` symmetric, diagonal 0."""

    linear: NDArray[Any]
    pairs: NDArray[Any]
    offset: int

    @property
    def size(self) -> int:
        """Number of spins."""
        return len(self.linear)


@dataclass(frozen=True, eq=False)
class Sparse:
    """The same energy with the neighbours of spin ``i`` at ``pointers[i]:pointers[i + 1]``."""

    linear: NDArray[Any]
    pointers: Indices
    neighbours: Indices
    values: NDArray[Any]
    offset: int

    @property
    def size(self) -> int:
        """Number of spins."""
        return len(self.linear)


@dataclass(frozen=True, eq=False)
class Higher:
    """Terms of any degree: ``members`` of term ``t`` at ``ends[t]:ends[t + 1]``, and terms by spin."""

    ends: Indices
    members: Indices
    coefficients: IntArray
    pointers: Indices
    terms: Indices
    offset: int

    @property
    def size(self) -> int:
        """Number of spins."""
        return len(self.pointers) - 1


Model = Dense | Sparse | Higher


class Kind(NamedTuple):
    """What kernels are compiled for: the arrays of a model, and the integers of its coefficients."""

    model: type[Model]
    integers: type[np.signedinteger[Any]]


def kind_of(polynomial: Polynomial, size: int) -> Kind:
    """Turn a polynomial into the kind of model that suits it, without making the model."""
    if polynomial.degree > 2:
        return Kind(Higher, np.int64)
    return _pair_kind(*_pairs(polynomial, size))


def model_of(polynomial: Polynomial, size: int) -> Model:
    """Turn a polynomial over ``size`` bits into the arrays that suit it best."""
    if polynomial.degree > 2:
        return _higher(polynomial, size)
    return pair_model(*_pairs(polynomial, size), polynomial.offset)


def _pairs(polynomial: Polynomial, size: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Linear terms by bit, and pairs: first bits, second bits and values."""
    terms = polynomial.as_rows()
    padded = terms.padded(2).astype(np.int64)
    single = (padded >= 0).sum(axis=1) == 1
    double = (padded >= 0).all(axis=1)
    linear = np.zeros(size, dtype=np.int64)
    linear[padded[single].max(axis=1)] = terms.coefficients[single]
    first, second = padded[double].T
    return linear, first, second, terms.coefficients[double]


def pair_model(
    linear: IntArray, first: IntArray, second: IntArray, values: IntArray, offset: int
) -> Dense | Sparse:
    """Turn linear terms and distinct pairs into a dense or a sparse model."""
    size = len(linear)
    model, kind = _pair_kind(linear, first, second, values)
    if model is Dense:
        pairs = np.zeros((size, size), dtype=kind)
        pairs[first, second] = pairs[second, first] = values
        return Dense(linear.astype(kind), pairs, offset)
    owner = np.concatenate([first, second])
    order = np.argsort(owner, kind="stable")
    return Sparse(
        linear.astype(kind),
        _pointers(owner, size),
        np.concatenate([second, first])[order].astype(np.uint32),
        np.concatenate([values, values])[order].astype(kind),
        offset,
    )


def _pair_kind(linear: IntArray, first: IntArray, second: IntArray, values: IntArray) -> Kind:
    size = len(linear)
    reach = (
        np.abs(linear)
        + _sum_by(first, np.abs(values), size)
        + _sum_by(second, np.abs(values), size)
    )
    _check_total(np.abs(linear.astype(np.float64)).sum() + np.abs(values.astype(np.float64)).sum())
    narrowest = _narrowest(int(reach.max(initial=0)))
    if size <= _DENSE_SPINS and size * size <= 2 * _DENSE_RATIO * max(len(values), size):
        return Kind(Dense, narrowest)
    # 16 bits are only worth it where values are added in a row.
    return Kind(Sparse, np.int32 if narrowest is np.int16 else narrowest)


def _higher(polynomial: Polynomial, size: int) -> Higher:
    terms = polynomial.as_rows()
    padded = terms.padded(terms.degree).astype(np.int64)
    some = (padded >= 0).any(axis=1)
    padded, coefficients = padded[some], terms.coefficients[some]
    _check_total(np.abs(coefficients.astype(np.float64)).sum())
    inside = padded >= 0
    members = padded[inside]
    term = np.nonzero(inside)[0]
    order = np.argsort(members, kind="stable")
    return Higher(
        _pointers(term, len(padded)),
        members.astype(np.uint32),
        coefficients.astype(np.int64),
        _pointers(members, size),
        term[order].astype(np.uint32),
        polynomial.offset,
    )


def _narrowest(largest: int) -> type[np.signedinteger[Any]]:
    """The smallest integers that hold every local field, with room to add two."""
    fitting = (kind for kind in (np.int16, np.int32) if 2 * largest < np.iinfo(kind).max)
    return next(fitting, np.int64)


def _check_total(total: float) -> None:
    """Refuse what could overflow: no energy and no field exceeds the sum of all coefficients."""
    if total >= LARGEST_TOTAL:
        raise ProblemRefused(
            "the energies of this problem do not fit into 64 bits",
            where="solver='annealer'",
            rule="coefficients that sum to less than 2^61 in magnitude",
            received=f"{total:.3g}",
            remedy="use smaller penalty weights or inputs",
        )


def _sum_by(group: IntArray, values: NDArray[Any], count: int) -> IntArray:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, group, values.astype(np.int64))
    return sums


def _pointers(group: IntArray, count: int) -> Indices:
    """Where each group begins once its members are sorted by it."""
    return np.concatenate([[0], np.cumsum(np.bincount(group, minlength=count))]).astype(np.uint32)
