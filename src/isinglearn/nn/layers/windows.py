"""Windows: which inputs of an image lie under a kernel at each of its places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn.module import DoesNotFit, Shape
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.variables import grid


@dataclass(frozen=True)
class Windows:
    """A square kernel that moves over the rows and columns of an image.

    Attributes
    ----------
    kernel, stride, padding
        Its size, its step, and how many rows and columns of zeros are put around the image.
    """

    kernel: int
    stride: int
    padding: int = 0

    @classmethod
    def of(cls, name: str, kernel: object, stride: object, padding: object = 0) -> Windows:
        """Check the three numbers of a layer."""
        checked = cls(
            check_count(kernel, f"{name}(kernel_size)", error=NetworkError),
            check_count(stride, f"{name}(stride)", error=NetworkError),
            check_count(padding, f"{name}(padding)", 0, error=NetworkError),
        )
        if checked.padding >= checked.kernel:
            raise NetworkError(
                "some windows would lie in the padding alone",
                where=f"{name}(padding)",
                rule=f"less than kernel_size = {checked.kernel}",
                received=checked.padding,
                remedy="use a smaller padding or a larger kernel",
            )
        return checked

    def out_shape(self, incoming: Shape) -> tuple[int, int]:
        """Number of places in rows and columns, or raise."""
        if len(incoming) != 3:
            raise DoesNotFit(
                "an image (channels, rows, columns)", "pass input_shape=(channels, rows, columns)"
            )
        room = [size + 2 * self.padding - self.kernel for size in incoming[1:]]
        if min(room) < 0:
            raise DoesNotFit(
                f"images of at least {self.kernel - 2 * self.padding} rows and columns",
                "use a smaller kernel, more padding or larger images",
            )
        return room[0] // self.stride + 1, room[1] // self.stride + 1

    def entries(self, incoming: Shape) -> IntArray:
        """Inputs under the kernel, shape (channels, places, kernel entries); -1 in the padding."""
        channels, rows, columns = incoming
        down, across = self.out_shape(incoming)
        place = grid(down, across) * self.stride - self.padding
        within = grid(self.kernel, self.kernel)
        row = place[:, None, 0] + within[None, :, 0]
        column = place[:, None, 1] + within[None, :, 1]
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        flat = np.where(inside, row * columns + column, 0)
        every = np.arange(channels)[:, None, None] * rows * columns + flat
        return np.where(inside, every, -1)


def gathered(values: IntArray, entries: IntArray) -> IntArray:
    """Turn values (..., units) into ``values[..., entries]``, 0 where the entry is -1."""
    if (entries >= 0).all():
        return values[..., entries]
    zero = np.zeros((*values.shape[:-1], 1), dtype=values.dtype)
    return np.concatenate([values, zero], axis=-1)[..., entries]
