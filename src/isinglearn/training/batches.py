"""Batches: which rows every step looks at, in shards that any worker can read for itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray

# Rows of a shard: what one task works on. Sums are taken shard by shard in a fixed order, so that the number
# of workers changes nothing.
SHARD = 1024


class Source:
    """Rows of an array; a memory-mapped one travels to another process as its file's name."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __reduce__(self) -> tuple[Any, ...]:
        array = self.array
        # A view of a memory map has another place in the file, which it does not know.
        if (
            isinstance(array, np.memmap)
            and array.filename
            and not isinstance(array.base, np.memmap)
        ):
            order = "C" if array.flags.c_contiguous else "F"
            name = str(array.filename)
            return _reopen, (name, array.dtype.str, array.offset, array.shape, order)
        return Source, (array,)

    def rows(self, chosen: IntArray, kind: np.dtype[Any] | None = None) -> NDArray[Any]:
        """Turn row numbers into these rows, in another type if asked."""
        found = np.asarray(self.array[chosen])
        return found if kind is None else found.astype(kind)


def _reopen(name: str, kind: str, offset: int, shape: tuple[int, ...], order: Any) -> Source:
    return Source(np.memmap(name, kind, "r", offset, shape, order))


@lru_cache(maxsize=2)
def _order(rows: int, seed: int, turn: int) -> IntArray:
    sequence = np.random.SeedSequence(seed, spawn_key=(1, turn))
    return np.random.default_rng(sequence).permutation(rows)


@dataclass(frozen=True)
class Batches:
    """All rows in random order, ``size`` at a time, in a new order whenever they are used up.

    Step ``t`` depends on nothing but the seed and ``t``, so that any step can be taken again.
    """

    rows: int
    size: int
    seed: int

    @property
    def per_pass(self) -> int:
        """Batches in one pass through the data; rows that are left over come in another pass."""
        return max(1, self.rows // self.size)

    def chosen(self, step: int) -> IntArray:
        """Turn a step's number into its row numbers, ascending."""
        turn, place = divmod(step, self.per_pass)
        order = _order(self.rows, self.seed, turn)
        return np.sort(order[place * self.size : (place + 1) * self.size])

    def shards(self, step: int) -> list[IntArray]:
        """Turn a step's number into its rows, cut into shards."""
        chosen = self.chosen(step)
        count = -(-len(chosen) // SHARD)
        return [np.asarray(part) for part in np.array_split(chosen, count)]
