"""VariableTable: every variable has a name, a role, an origin and a range, stored block by block.

A block holds variables that differ only in their position (unit, sample, bit), so that a table of a
million bits costs a few arrays; names are spelled out only when somebody reads them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray, layout


@dataclass(frozen=True, eq=False)
class Positions:
    """Named places of one kind: ``origin/axis0 i/axis1 j/label``.

    Attributes
    ----------
    origin, label
        Where it comes from ("layer1") and what it is ("slack").
    axes
        Names of the coordinates, e.g. ``("unit", "sample")``; "bit" is written in brackets.
    entries
        Integer coordinates, one row per place.
    """

    origin: str
    label: str
    axes: tuple[str, ...]
    entries: IntArray

    def __len__(self) -> int:
        return len(self.entries)

    def name(self, position: int) -> str:
        """Turn a position within the block into a name like ``layer1/unit3/sample17/slack[2]``."""
        parts, bracket = [self.origin] if self.origin else [], ""
        for axis, value in zip(self.axes, self.entries[position], strict=True):
            if axis == "bit":
                bracket = f"[{value}]"
            else:
                parts.append(f"{axis}{value}")
        return "/".join([*parts, self.label]) + bracket

    def take(self, chosen: IntArray, label: str = "") -> Positions:
        """The places ``chosen``, under another label if one is given."""
        return Positions(self.origin, label or self.label, self.axes, self.entries[chosen])

    @property
    def samples(self) -> IntArray:
        """Sample each place belongs to, -1 where it belongs to none (a parameter)."""
        if "sample" in self.axes:
            return self.entries[:, self.axes.index("sample")]
        return np.full(len(self), -1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Block(Positions):
    """Integer variables at such places, with a role and a range each.

    Attributes
    ----------
    role
        Kind of variable, for counts: weight, bias, activation, output, slack, choice, product, ...
    lo, hi
        Range of each variable.
    encoding
        How it is written in bits; ``None`` for a variable that is substituted by an expression.
    """

    role: str
    lo: IntArray
    hi: IntArray
    encoding: str | None

    def only(self, mask: NDArray[np.bool_]) -> Block:
        """The variables where ``mask`` is set."""
        return replace(self, entries=self.entries[mask], lo=self.lo[mask], hi=self.hi[mask])


def grid(*sizes: int) -> IntArray:
    """Turn axis lengths into all positions, last axis fastest, shape ``(prod(sizes), len(sizes))``."""
    return np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T.copy()


def bit_block(
    origin: str, label: str, role: str, axes: tuple[str, ...], entries: NDArray[np.integer]
) -> Block:
    """Turn positions into a block of 0/1 variables."""
    positions = np.asarray(entries, dtype=np.int64).reshape(-1, len(axes))
    zeros = np.zeros(len(positions), dtype=np.int64)
    return Block(origin, label, axes, positions, role, zeros, zeros + 1, "bounded")


class VariableTable(Sequence[str]):
    """All variables of a form, in order; as a sequence it gives their names."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.blocks = tuple(block for block in blocks if len(block))
        self.starts = np.cumsum([0, *(len(block) for block in self.blocks)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        which = int(np.searchsorted(self.starts, index, side="right")) - 1
        return self.blocks[which].name(index - int(self.starts[which]))

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks:
            for position in range(len(block)):
                yield block.name(position)

    def extended(self, *blocks: Block) -> VariableTable:
        """The table with more variables at its end."""
        return VariableTable([*self.blocks, *blocks])

    def _joined(self, attribute: str) -> IntArray:
        if not self.blocks:
            return np.zeros(0, dtype=np.int64)
        return np.concatenate([getattr(block, attribute) for block in self.blocks])

    @cached_property
    def lo(self) -> IntArray:
        """Smallest value of each variable."""
        return self._joined("lo")

    @cached_property
    def hi(self) -> IntArray:
        """Largest value of each variable."""
        return self._joined("hi")

    @cached_property
    def samples(self) -> IntArray:
        """Sample of each variable, -1 for those shared by all."""
        return self._joined("samples")

    def count_by_role(self) -> dict[str, int]:
        """Turn the table into ``{role: number of variables}``, in order of appearance."""
        counts: Counter[str] = Counter()
        for block in self.blocks:
            counts[block.role] += len(block)
        return dict(counts)

    def indices(self, *roles: str) -> IntArray:
        """Indices of all variables whose role is among ``roles``."""
        chosen = [
            np.arange(start, start + len(block))
            for start, block in zip(self.starts, self.blocks, strict=False)
            if block.role in roles
        ]
        return np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64)


def bits_needed(block: Block) -> IntArray:
    """Turn an integer block into the number of bits of each of its variables (0 if substituted)."""
    counts = np.zeros(len(block), dtype=np.int64)
    if block.encoding is None:
        return counts
    ranges, inverse = np.unique(np.stack([block.lo, block.hi], axis=1), axis=0, return_inverse=True)
    sizes = [layout(block.encoding, int(lo), int(hi))[1].size for lo, hi in ranges]
    return np.asarray(sizes, dtype=np.int64)[inverse.ravel()]
