"""BitCode: how a form's integers are written in its bits, both ways; plain arrays, no code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.problem.encodings import IntArray, encoding_named, layout
from isinglearn.problem.rows import PolynomialRows, stack_rows
from isinglearn.problem.variables import Block, VariableTable, bits_needed

Rule = Literal["value", "sign", "step", "positive", "divide"]


@dataclass(frozen=True, eq=False)
class Definition:
    """How dependent variables follow from earlier ones: ``target = rule(row)``.

    Rules: ``value`` the row itself, ``sign`` +1 or -1, ``step`` 1 where the row is >= 0 else 0,
    ``positive`` the row where it is >= 0 else 0, ``divide`` the row divided by ``divisor``, rounded down.
    """

    target: IntArray
    rule: Rule
    rows: PolynomialRows
    divisor: IntArray | None = None

    def apply(self, values: IntArray) -> None:
        """Fill the target columns of ``values`` (reads, variables) in place."""
        row = self.rows.evaluate(values)
        if self.rule == "sign":
            row = np.where(row >= 0, 1, -1)
        elif self.rule == "step":
            row = (row >= 0).astype(np.int64)
        elif self.rule == "positive":
            row = np.maximum(row, 0)
        elif self.divisor is not None:
            row = row // self.divisor
        values[:, self.target] = row


@dataclass(frozen=True, eq=False)
class BitCode:
    """``integers = values(bits)``, a polynomial each, and back through the blocks' encodings.

    Attributes
    ----------
    integers
        The table of integers; the QCBO's come first, then those that the lowering added.
    values
        One row per integer, over bits.
    definitions
        How the added integers follow from the QCBO's.
    visible
        Number of integers that belong to the QCBO.
    written
        Which integers have bits of their own; the others are expressions in the bits.
    """

    integers: VariableTable
    values: PolynomialRows
    definitions: tuple[Definition, ...]
    visible: int
    written: NDArray[np.bool_]

    def decode(self, bits: ArrayLike) -> IntArray:
        """Turn bits into the QCBO's integers, snapped into their ranges if the bits are no valid code."""
        given = np.atleast_2d(np.asarray(bits, dtype=np.int64))
        values = self.values.evaluate(given)[:, : self.visible]
        lo, hi = self.integers.lo[: self.visible], self.integers.hi[: self.visible]
        return np.clip(values, lo, hi)

    def encode(self, values: ArrayLike) -> IntArray:
        """Turn the QCBO's integers into bits."""
        given = np.atleast_2d(np.asarray(values, dtype=np.int64))
        full = np.zeros((len(given), len(self.integers)), dtype=np.int64)
        full[:, : self.visible] = given
        for definition in self.definitions:
            definition.apply(full)
        parts = [
            _write(block, full[:, indices])
            for indices, block in written_blocks(self.integers, self.written)
        ]
        return np.concatenate(parts, axis=1)


def _ranges(block: Block) -> tuple[IntArray, IntArray]:
    """Distinct ``(lo, hi)`` of a block, and which of them each variable has."""
    pairs = np.stack([block.lo, block.hi], axis=1)
    ranges, inverse = np.unique(pairs, axis=0, return_inverse=True)
    return ranges, inverse.ravel()


def _write(block: Block, values: IntArray) -> IntArray:
    assert block.encoding is not None
    counts = bits_needed(block)
    ends = np.cumsum(counts)
    bits = np.zeros((len(values), int(ends[-1])), dtype=np.int64)
    ranges, inverse = _ranges(block)
    write = encoding_named(block.encoding).write
    for which, (lo, hi) in enumerate(ranges):
        members = np.flatnonzero(inverse == which)
        count = int(counts[members[0]])
        if count:
            columns = (ends[members] - count)[:, None] + np.arange(count)
            flat = write(values[:, members].ravel(), int(lo), int(hi))
            bits[:, columns] = flat.reshape(len(values), len(members), count)
    return bits


def bits_of(block: Block, first_bit: int) -> tuple[Block, PolynomialRows]:
    """Turn an integer block into its block of bits, and each integer into an affine row over them."""
    assert block.encoding is not None
    counts = bits_needed(block)
    ends = np.cumsum(counts)
    owner = np.repeat(np.arange(len(block)), counts)
    place = np.arange(len(owner)) - (ends - counts)[owner]
    weights = np.zeros(len(owner), dtype=np.int64)
    offsets = np.zeros(len(block), dtype=np.int64)
    ranges, inverse = _ranges(block)
    for which, (lo, hi) in enumerate(ranges):
        offset, coefficients = layout(block.encoding, int(lo), int(hi))
        offsets[inverse == which] = offset
        if coefficients.size:
            weights[inverse[owner] == which] = np.tile(coefficients, int((inverse == which).sum()))
    rows = PolynomialRows.of(
        len(block),
        np.concatenate([np.arange(len(block)), owner]),
        np.concatenate([np.full(len(block), -1), first_bit + np.arange(len(owner))]),
        np.concatenate([offsets, weights]),
    )
    zeros = np.zeros(len(owner), dtype=np.int64)
    single = len(owner) == len(block) and (counts == 1).all()
    entries = block.entries if single else np.column_stack([block.entries[owner], place])
    axes = block.axes if single else (*block.axes, "bit")
    bits = Block(block.origin, block.label, axes, entries, block.role, zeros, zeros + 1, "bounded")
    return bits, rows


def written_blocks(
    integers: VariableTable, written: NDArray[np.bool_]
) -> Iterator[tuple[IntArray, Block]]:
    """Turn a table into (indices, block) pairs restricted to the integers that have bits of their own."""
    for start, block in zip(integers.starts, integers.blocks, strict=False):
        mask = written[start : start + len(block)]
        if mask.any():
            yield start + np.flatnonzero(mask), (block if mask.all() else block.only(mask))


def encode_integers(
    integers: VariableTable, written: NDArray[np.bool_]
) -> tuple[VariableTable, PolynomialRows]:
    """Turn integers into a table of bits and affine rows over them (empty rows for those not written)."""
    bit_blocks: list[Block] = []
    pieces: list[PolynomialRows] = []
    places: list[IntArray] = []
    first = 0
    for indices, block in written_blocks(integers, written):
        bits, affine = bits_of(block, first)
        bit_blocks.append(bits)
        pieces.append(affine)
        places.append(indices)
        first += len(bits)
    stacked = stack_rows(pieces)
    rows = np.concatenate(places)[stacked.rows] if places else stacked.rows
    values = PolynomialRows.of(len(integers), rows, stacked.monomials, stacked.coefficients)
    return VariableTable(bit_blocks), values
