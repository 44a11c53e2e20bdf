"""MNIST files to the paper's 2x2 images of 6 and 9.

The paper gives its preprocessing in words (crop, split, count, normalise) and does not name the two
thresholds; ``mnist_choice`` chooses them. This module fixes the words:

* A pixel is white if its value is at least `WHITE_LEVEL`; everything darker is black.
* Cropping keeps the smallest rectangle that holds all white pixels.
* Splitting cuts that rectangle in halves; of an odd number of rows (columns) the middle one goes
  to the lower (right) half.
* Counting is absolute: white pixels per patch, whatever the size of the patch.
* Normalising: below `low` gives -1, from `low` up to `high - 1` gives 0, from `high` on gives +1.

An input is the row (upper left, upper right, lower left, lower right). Label +1 is digit 6, label
-1 is digit 9. All arithmetic is exact: counts and scores are integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError
from isinglearn.paper.mnist_files import (
    DATA_VARIABLE,  # noqa: F401 - named here by those who look for the data
    Directory,
    Split,
    find_files,
    read_idx,
)
from isinglearn.problem.encodings import IntArray

WHITE_LEVEL = 1
# Order of the two classes wherever an array has an axis "class": digit 6 first, then digit 9.
CLASSES = (1, -1)
_DIGITS = (6, 9)

# Patch sums run in uint8 over one axis, so a side must not exceed what uint8 can count.
_MAX_SIDE = 255


# --------------------------------------------------------------------------------------------
# Images
# --------------------------------------------------------------------------------------------


class Digits(NamedTuple):
    """Images (count, rows, columns) of uint8 and their labels, +1 for digit 6, -1 for digit 9."""

    images: NDArray[np.uint8]
    labels: IntArray


def load_six_nine(split: Split, directory: Directory = None, *, download: bool = False) -> Digits:
    """Turn the MNIST files of one split into the images of 6 and 9 with labels +1 and -1.

    Parameters
    ----------
    split, directory, download
        As in ``mnist_files.find_files``.

    Returns
    -------
    Digits
        In file order: 11,867 images for "train", 1,967 for "test".
    """
    image_path, label_path = find_files(split, directory, download=download)
    images, digits = read_idx(image_path, ndim=3), read_idx(label_path, ndim=1)
    if len(images) != len(digits):
        raise DataError(
            "these MNIST files do not belong together",
            where=str(image_path.parent),
            rule=f"{image_path.name} and {label_path.name} have equally many entries",
            received=f"{len(images)} images and {len(digits)} labels",
            remedy="take both from the same source",
        )
    chosen = np.isin(digits, _DIGITS)
    six, nine = CLASSES
    labels = np.where(digits[chosen] == _DIGITS[0], six, nine).astype(np.int64)
    return Digits(images[chosen], labels)


# --------------------------------------------------------------------------------------------
# Preprocessing: crop, split, count, normalise
# --------------------------------------------------------------------------------------------


@dataclass(frozen=True, order=True)
class Thresholds:
    """White-pixel counts at which an entry becomes 0 (`low`) and +1 (`high`)."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 1 <= self.low < self.high:
            raise DataError(
                "these are no thresholds",
                where="Thresholds(low, high)",
                rule="1 <= low < high, so that each of -1, 0 and +1 can occur",
                received=f"low={self.low}, high={self.high}",
                remedy="pass two increasing positive integers",
            )


def preprocess(images: NDArray[np.uint8], thresholds: Thresholds) -> IntArray:
    """Turn images into inputs (count, 4) with entries -1, 0, +1: the paper's four steps."""
    return normalise(patch_counts(images), thresholds)


def patch_counts(images: NDArray[np.uint8], white_level: int = WHITE_LEVEL) -> IntArray:
    """Turn images into white-pixel counts of their four patches: crop, split, count.

    Parameters
    ----------
    images : ndarray of uint8, shape (count, rows, columns)
        Every image needs at least one white pixel.
    white_level : int
        The smallest value of a white pixel; it decides the margin as well as the counts.

    Returns
    -------
    ndarray of int64, shape (count, 4)
        Upper left, upper right, lower left, lower right.
    """
    _check_images(images)
    white = images >= white_level
    row_used: NDArray[np.bool_] = np.any(white, axis=2)
    column_used: NDArray[np.bool_] = np.any(white, axis=1)
    _check_not_blank(row_used, white_level)
    # Summing selected rows, then selected columns, is one product with 0/1 matrices per side.
    rows, columns = _halves(row_used), _halves(column_used)
    row_sums = rows @ white.view(np.uint8)
    counts = row_sums.astype(np.int64) @ columns.transpose(0, 2, 1).astype(np.int64)
    return counts.reshape(len(images), 4)


def _check_images(images: NDArray[np.uint8]) -> None:
    """Turn an array that is no stack of byte images into an error."""
    if images.dtype != np.uint8 or images.ndim != 3:
        raise DataError(
            "this is no stack of byte images",
            where="images",
            rule="a uint8 array of shape (count, rows, columns)",
            received=f"{images.dtype} of shape {images.shape}",
            remedy="pass what load_six_nine returns, or convert to that form",
        )
    if max(images.shape[1:]) > _MAX_SIDE:
        raise DataError(
            "the images are too large",
            where="images",
            rule=f"at most {_MAX_SIDE} rows and columns",
            received=f"shape {images.shape}",
            remedy="reduce the images first",
        )


def _check_not_blank(row_used: NDArray[np.bool_], white_level: int) -> None:
    """Turn an image without a white pixel, which has nothing to crop to, into an error."""
    blank = np.flatnonzero(~row_used.any(axis=1))
    if blank.size:
        raise DataError(
            "an image is blank",
            where="images",
            rule=f"every image has a pixel of at least {white_level} to crop to",
            received=f"{blank.size} without, the first at index {blank[0]}",
            remedy="remove those images or lower white_level",
        )


def _halves(used: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Turn the used rows (count, length) into 0/1 selectors (count, 2, length) of both halves."""
    length = used.shape[1]
    first = used.argmax(axis=1)
    stop = length - used[:, ::-1].argmax(axis=1)
    edges = np.stack([first, (first + stop) // 2, stop], axis=1)[:, :, None]
    position = np.arange(length)
    inside = (edges[:, :-1] <= position) & (position < edges[:, 1:])
    return inside.view(np.uint8)


def normalise(counts: IntArray, thresholds: Thresholds) -> IntArray:
    """Turn white-pixel counts into -1, 0 or +1 by the two thresholds."""
    above_low = (counts >= thresholds.low).astype(np.int64)
    return above_low + (counts >= thresholds.high) - 1
