"""Where the MNIST files are looked for, and how they are fetched: whole and original, or not at all."""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from isinglearn.errors import DataError, OptionError
from isinglearn.paper import mnist, mnist_files

# A port that nothing listens on: below 1024 and never given out.
UNREACHABLE = "http://127.0.0.1:1/"


def idx(values: list[int], *shape: int) -> bytes:
    """Bytes as a gzip-compressed IDX file."""
    header = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
    return gzip.compress(header + bytes(values), mtime=0)


CONTENT = {
    "train-images-idx3-ubyte.gz": idx([9, 0, 0, 9], 2, 1, 2),
    "train-labels-idx1-ubyte.gz": idx([6, 9], 2),
    "t10k-images-idx3-ubyte.gz": idx([1, 0, 0, 1, 1, 1], 3, 1, 2),
    "t10k-labels-idx1-ubyte.gz": idx([9, 4, 6], 3),
}


def write(directory: Path, names: list[str] | None = None) -> Path:
    folder = directory / "mnist"
    folder.mkdir(parents=True, exist_ok=True)
    for name in CONTENT if names is None else names:
        (folder / name).write_bytes(CONTENT[name])
    return folder


@pytest.fixture
def cache(monkeypatch, tmp_path) -> Path:
    """An empty cache; nothing is named, and no mirror can be reached."""
    monkeypatch.delenv(mnist_files.DATA_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(mnist_files, "MIRRORS", (UNREACHABLE,))
    return tmp_path / "cache" / "isinglearn"


class Mirror:
    """A server on this machine that gives what it is told to, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.files = dict(CONTENT)
        self.asked: list[str] = []
        # Declared beyond what is sent, as a connection that breaks off.
        self.missing_bytes = 0
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.strip("/")
                mirror.asked.append(name)
                if name not in mirror.files:
                    self.send_error(404)
                    return
                content = mirror.files[name]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content) + mirror.missing_bytes))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def mirror(cache, monkeypatch):
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(mnist_files, "CHECKSUMS", sums)
    made = Mirror()
    monkeypatch.setattr(mnist_files, "MIRRORS", (made.address,))
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


# -- finding ---------------------------------------------------------------------------------------


def test_the_argument_counts_before_the_environment_before_the_cache(cache, monkeypatch, tmp_path):
    named, environment = tmp_path / "named", tmp_path / "environment"
    monkeypatch.setenv(mnist_files.DATA_VARIABLE, str(environment))
    for directory in (cache, environment, named):
        folder = write(directory)
        given = named if directory is named else None
        assert mnist_files.find_files("train", given)[0].parent == folder


def test_the_cache_helps_out_where_the_named_directory_lacks_a_file(cache, tmp_path):
    write(tmp_path / "named", ["train-images-idx3-ubyte.gz"])
    folder = write(cache)
    images, labels = mnist_files.find_files("train", tmp_path / "named")
    # Both from one place: halves of different sets would not belong together.
    assert (images.parent, labels.parent) == (folder, folder)


@pytest.mark.parametrize("download", [False, True])
def test_files_that_are_nowhere_are_an_error_with_a_way_out(cache, tmp_path, download):
    with pytest.raises(
        DataError, match="are missing" if not download else "could not be fetched"
    ) as raised:
        mnist_files.find_files("test", tmp_path / "named", download=download)
    assert "--digits" in str(raised.value)
    assert (UNREACHABLE if download else str(tmp_path / "named" / "mnist")) in str(raised.value)
    assert not cache.exists()


def test_an_empty_name_is_none(cache, monkeypatch):
    monkeypatch.setenv(mnist_files.DATA_VARIABLE, "")
    folder = write(cache)
    assert mnist_files.find_files("test")[0].parent == folder


def test_an_unknown_split_names_the_nearest(cache):
    with pytest.raises(OptionError, match="did you mean 'train'"):
        mnist_files.find_files("trian")


@pytest.mark.parametrize(
    ("platform", "xdg", "place"),
    [
        ("linux", None, ".cache/isinglearn"),
        ("linux", "relative", ".cache/isinglearn"),
        ("darwin", None, "Library/Caches/isinglearn"),
        ("linux", "/elsewhere", "/elsewhere/isinglearn"),
        ("darwin", "/elsewhere", "/elsewhere/isinglearn"),
    ],
)
def test_the_cache_is_where_the_platform_has_it(monkeypatch, tmp_path, platform, xdg, place):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if xdg is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert mnist_files.cache_directory() == tmp_path / place


# -- fetching --------------------------------------------------------------------------------------


def test_what_is_missing_is_fetched_once(mirror, cache):
    for _ in range(2):
        digits = mnist.load_six_nine("test", download=True)
        # The 4 is left out.
        assert digits.labels.tolist() == [-1, 1]
        assert digits.images.tolist() == [[[1, 0]], [[1, 1]]]
    assert mirror.asked == ["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
    found = {path.name: path.read_bytes() for path in (cache / "mnist").iterdir()}
    assert found == {name: CONTENT[name] for name in mirror.asked}


def test_nothing_is_fetched_unless_asked(mirror, cache):
    with pytest.raises(DataError, match="missing"):
        mnist.load_six_nine("test")
    assert mirror.asked == []


def test_what_is_here_is_not_fetched(mirror, tmp_path):
    write(tmp_path / "named")
    mnist.load_six_nine("train", tmp_path / "named", download=True)
    assert mirror.asked == []


@pytest.mark.parametrize("fault", ["other content", "cut short", "not there"])
def test_a_bad_mirror_is_a_clear_error_and_leaves_nothing(mirror, cache, fault):
    name = "train-labels-idx1-ubyte.gz"
    if fault == "other content":
        mirror.files[name] = b"<html>Sign in to the network</html>"
    elif fault == "cut short":
        mirror.files[name], mirror.missing_bytes = CONTENT[name][:-4], 4
    else:
        del mirror.files[name]
    word = "404" if fault == "not there" else "wrong sha256|IncompleteRead"
    with pytest.raises(DataError, match=word) as raised:
        mnist_files.fetch(name)
    assert mirror.address in str(raised.value)
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_the_next_mirror_is_tried(mirror, cache, monkeypatch):
    other = mirror.address + "not-here/"
    monkeypatch.setattr(mnist_files, "MIRRORS", (UNREACHABLE, other, mirror.address))
    name = "train-labels-idx1-ubyte.gz"
    assert mnist_files.fetch(name).read_bytes() == CONTENT[name]
    assert mirror.asked == [f"not-here/{name}", name]


def test_an_interrupted_write_leaves_nothing(mirror, cache, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mnist_files.fetch("train-labels-idx1-ubyte.gz")
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_mirrors_and_checksums_are_of_the_four_files():
    names = {name for pair in mnist_files.FILES.values() for name in pair}
    assert set(mnist_files.CHECKSUMS) == names == set(CONTENT)
    assert all(url.startswith("https://") and url.endswith("/") for url in mnist_files.MIRRORS)


def test_the_checksums_are_those_of_the_original_files():
    named = os.environ.get(mnist_files.DATA_VARIABLE)
    data = Path(named) if named else Path(__file__).parents[2].parent / "shared" / "data"
    if not (data / "mnist").is_dir():
        pytest.skip(f"MNIST is not here: {mnist_files.DATA_VARIABLE} is not set")
    for name, expected in mnist_files.CHECKSUMS.items():
        content = (data / "mnist" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == expected


# -- reading ---------------------------------------------------------------------------------------


def test_idx_files_are_arrays(tmp_path):
    path = tmp_path / "values.gz"
    path.write_bytes(idx(list(range(6)), 3, 2))
    assert np.array_equal(mnist_files.read_idx(path), [[0, 1], [2, 3], [4, 5]])


DAMAGED = {
    "no gzip": (b"plain", "gzip"),
    "cut gzip": (idx([1, 2], 2)[:-5], "gzip"),
    "no IDX": (gzip.compress(b"plain text"), "not an IDX file"),
    "other type": (gzip.compress(bytes([0, 0, 13, 1, 0, 0, 0, 0])), "type"),
    "other dimensions": (idx([1, 2], 2, 1), "dimensions"),
    "cut header": (gzip.compress(bytes([0, 0, 8, 1, 0])), "header"),
    "cut data": (gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 5, 1])), "length"),
}


@pytest.mark.parametrize(("content", "word"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files_say_what_is_wrong(tmp_path, content, word):
    path = tmp_path / "values.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=word):
        mnist_files.read_idx(path, ndim=1)


def test_images_and_labels_have_to_belong_together(cache):
    folder = write(cache)
    (folder / "train-labels-idx1-ubyte.gz").write_bytes(idx([6], 1))
    with pytest.raises(DataError, match="belong together"):
        mnist.load_six_nine("train")
