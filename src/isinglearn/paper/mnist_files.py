"""The four MNIST files: found in a named directory or the user's cache, else fetched from a mirror.

A file that is fetched is checked against its published content before it gets its name, so that what lies
in the cache is always whole.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import sys
import tempfile
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import Literal
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import DataError, check_choice

Split = Literal["train", "test"]
Directory = str | os.PathLike[str] | None

DATA_VARIABLE = "ISINGLEARN_DATA"
# Tried in this order.
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
FILES: dict[Split, tuple[str, str]] = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
# sha256 of the original files.
CHECKSUMS = {
    "train-images-idx3-ubyte.gz": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
    ),
    "train-labels-idx1-ubyte.gz": (
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
    ),
    "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}

_FOLDER = "mnist"
# Of waiting for a mirror, not of the whole transfer.
_SECONDS = 15
# The largest file has 9.5 MiB; whatever is longer is something else and not read to its end.
_LARGEST = 1 << 24
_IDX_UINT8 = 0x08


# --------------------------------------------------------------------------------------------
# Finding
# --------------------------------------------------------------------------------------------


def find_files(
    split: Split, directory: Directory = None, *, download: bool = False
) -> tuple[Path, Path]:
    """Turn a split's name into the paths of its image file and its label file.

    They are looked for in the folder ``mnist`` of the directory named by the argument or else by the
    environment variable ``ISINGLEARN_DATA``, then in that of the user's cache.

    Parameters
    ----------
    split : {"train", "test"}
        Which half of MNIST.
    directory : path, optional
        The data directory.
    download
        Fetch what is in neither place from a public mirror into the cache.

    Raises
    ------
    OptionError
        The split is unknown.
    DataError
        The files are not there, and were not or could not be fetched.
    """
    check_choice(split, FILES, "split")
    folders = _folders(directory)
    for folder in folders:
        images, labels = (folder / name for name in FILES[split])
        if images.is_file() and labels.is_file():
            return images, labels
    if download:
        images, labels = (fetch(name) for name in FILES[split])
        return images, labels
    raise _not_found(
        "MNIST files are missing",
        f"the {split} split needs {' and '.join(FILES[split])}",
        f"not both in any of {', '.join(map(str, folders))}",
    )


def _folders(directory: Directory) -> list[Path]:
    """Turn the argument, or else the environment, into the folders to look into, in this order."""
    named = directory if directory is not None else os.environ.get(DATA_VARIABLE)
    # An empty value would silently mean the current directory.
    chosen = [Path(named)] if named is not None and os.fspath(named) else []
    return [folder / _FOLDER for folder in (*chosen, cache_directory())]


def cache_directory() -> Path:
    """Turn the platform's custom into the directory where this user's fetched data lies."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    if Path(named).is_absolute():
        return Path(named) / "isinglearn"
    custom = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return Path.home() / custom / "isinglearn"


def _not_found(what: str, rule: str, received: str) -> DataError:
    return DataError(
        what,
        where=_FOLDER,
        rule=rule,
        received=received,
        remedy=f"put the original files into a folder '{_FOLDER}' and name its parent (--data or "
        f"{DATA_VARIABLE}), or take the 8x8 digits that come with scikit-learn "
        "(isinglearn reproduce mnist --digits)",
    )


# --------------------------------------------------------------------------------------------
# Fetching
# --------------------------------------------------------------------------------------------


def fetch(name: str) -> Path:
    """Turn a file's name into its path in the user's cache, fetched from a mirror if it is not there.

    Raises
    ------
    DataError
        No mirror could be reached, or none had the original content. Nothing is left behind then.
    """
    path = cache_directory() / _FOLDER / name
    if path.is_file():
        return path
    reasons = []
    for mirror in MIRRORS:
        try:
            content = _download(mirror + name)
        except (OSError, HTTPException) as error:
            reasons.append(f"{mirror} gave '{error}'")
            continue
        found = hashlib.sha256(content).hexdigest()
        if found == CHECKSUMS[name]:
            _write(path, content)
            return path
        reasons.append(f"{mirror} gave {len(content)} bytes of the wrong sha256, {found}")
    raise _not_found(
        f"{name} is not here and could not be fetched",
        f"a mirror that gives the file of sha256 {CHECKSUMS[name]}",
        "; ".join(reasons),
    )


def _download(url: str) -> bytes:
    """Turn an address into the content there, in one piece: the files are small."""
    try:
        with urlopen(url, timeout=_SECONDS) as answer:
            content: bytes = answer.read(_LARGEST)
            return content
    except HTTPError as error:
        # Such an error is an open answer as well.
        error.close()
        raise


def _write(path: Path, content: bytes) -> None:
    """Turn content into a file that appears all at once, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False)  # noqa: SIM115
    try:
        with part:
            part.write(content)
        Path(part.name).replace(path)
    except BaseException:
        Path(part.name).unlink(missing_ok=True)
        raise


# --------------------------------------------------------------------------------------------
# Reading
# --------------------------------------------------------------------------------------------


def read_idx(path: str | os.PathLike[str], ndim: int | None = None) -> NDArray[np.uint8]:
    """Turn a gzip-compressed IDX file of unsigned bytes into an array.

    Parameters
    ----------
    path : path
        The compressed file.
    ndim : int, optional
        The number of dimensions the file must have; any if not given.

    Returns
    -------
    ndarray of uint8
        Read-only, in the shape the file declares.

    Raises
    ------
    DataError
        The file is missing, not gzip, not IDX, of another type or shape, or cut short.
    """
    content = _decompress(Path(path))
    shape = _idx_shape(content, Path(path), ndim)
    offset = 4 + 4 * len(shape)
    # math.prod, not numpy: a damaged header may declare more than int64 can hold.
    expected, received = math.prod(shape), len(content) - offset
    if received != expected:
        raise DataError(
            "the IDX data are of the wrong length",
            where=str(path),
            rule=f"a file of shape {shape} holds exactly {expected} bytes after its header",
            received=f"{received} bytes",
            remedy="fetch the file again; it is cut short or damaged",
        )
    return np.frombuffer(content, dtype=np.uint8, offset=offset).reshape(shape)


def _decompress(path: Path) -> bytes:
    """Turn a gzip file into its content."""
    if not path.is_file():
        raise DataError(
            "the MNIST file is missing",
            where=str(path),
            rule="an existing gzip-compressed IDX file",
            received="a path where no file is found",
            remedy="put the original file there, or correct the path",
        )
    try:
        with gzip.open(path, "rb") as stream:
            return stream.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            "the gzip file is unreadable",
            where=str(path),
            rule="an IDX file is a complete gzip stream",
            received=f"one that fails with '{error}'",
            remedy="fetch the original .gz file again, and do not unpack it",
        ) from error


def _idx_shape(content: bytes, path: Path, ndim: int | None) -> tuple[int, ...]:
    """Turn an IDX header into the declared shape, after checking magic, type and dimensions."""
    remedy = "use one of the four original MNIST files"
    if len(content) < 4 or content[:2] != b"\x00\x00":
        raise DataError(
            "this is not an IDX file",
            where=str(path),
            rule="two zero bytes, a type byte and a dimension byte at the beginning",
            received=content[:4].hex(" ") or "no bytes",
            remedy=remedy,
        )
    if content[2] != _IDX_UINT8:
        raise DataError(
            "the IDX type is wrong",
            where=str(path),
            rule=f"byte 2 is 0x{_IDX_UINT8:02x} (unsigned bytes)",
            received=f"0x{content[2]:02x}",
            remedy=remedy,
        )
    if content[3] == 0 or (ndim is not None and content[3] != ndim):
        rule = "at least 1" if ndim is None else str(ndim)
        raise DataError(
            "the number of dimensions is wrong",
            where=str(path),
            rule=f"byte 3 is {rule}",
            received=content[3],
            remedy=remedy,
        )
    end = 4 + 4 * content[3]
    if len(content) < end:
        raise DataError(
            "the IDX header is cut short",
            where=str(path),
            rule=f"{content[3]} dimensions need {end} bytes",
            received=f"{len(content)} bytes",
            remedy="fetch the file again",
        )
    return tuple(int.from_bytes(content[i : i + 4], "big") for i in range(4, end, 4))
