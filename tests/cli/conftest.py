"""What the tests of the command line share: how to call it, a terminal to call it in, and tables."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from isinglearn.cli import app


@pytest.fixture
def invoke():
    """The program, called in this process: words to a result with exit code, output and errors."""

    def call(*words):
        # Nothing may reach this: the program turns every error into a message and an exit code.
        return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)

    return call


@pytest.fixture
def answer(invoke):
    """The JSON that a command prints."""

    def call(*words):
        done = invoke(*words, "--json")
        assert done.exit_code == 0, done.output
        (name,) = json.loads(done.stdout)
        return json.loads(done.stdout)[name]

    return call


# Whoever runs the tests in the background has Ctrl-C ignored, and so would this process.
_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from isinglearn.cli import main
main()
"""


class Terminal:
    """The program in a process of its own, its standard error a terminal."""

    def __init__(self, *words, cwd):
        main, screen = pty.openpty()
        self._main = main
        self.screen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=screen,
            text=True,
            cwd=cwd,
            env=os.environ | {"COLUMNS": "160", "TERM": "xterm"},
        )
        os.close(screen)

    def wait_for(self, text, seconds=60):
        """Read what is drawn until a text appears."""
        until = time.monotonic() + seconds
        while text not in self.screen:
            assert time.monotonic() < until, f"no {text!r} on the screen:\n{self.screen}"
            assert self._read() or self.process.poll() is None, f"it ended:\n{self.screen}"

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self, seconds=60):
        """Turn the end into exit code and standard output."""
        output, _ = self.process.communicate(timeout=seconds)
        while self._read():
            pass
        return self.process.returncode, output

    def _read(self):
        ready, _, _ = select.select([self._main], [], [], 0.1)
        try:
            read = os.read(self._main, 1 << 16).decode(errors="replace") if ready else ""
        except OSError:
            # The other side is closed.
            return False
        self.screen += read
        return bool(read)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        os.close(self._main)


@pytest.fixture
def terminal(tmp_path):
    """Start the program in a terminal; it is ended with the test."""
    started = []

    def start(*words):
        started.append(Terminal(*words, cwd=tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def xor(tmp_path):
    path = tmp_path / "xor.csv"
    path.write_text("left,right,answer\n-1,-1,no\n-1,1,yes\n1,-1,yes\n1,1,no\n")
    return path


@pytest.fixture(scope="session")
def flowers(tmp_path_factory):
    from sklearn.datasets import load_iris

    data = load_iris()
    path = tmp_path_factory.mktemp("data") / "flowers.csv"
    names = [name.split(" (")[0].replace(" ", "_") for name in data.feature_names]
    lines = [",".join([*names, "kind"])]
    for row, label in zip(data.data, data.target, strict=True):
        lines.append(",".join([*map(str, row), data.target_names[label]]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def line(tmp_path_factory):
    """Numbers that lie on a line, to be regressed."""
    path = tmp_path_factory.mktemp("data") / "line.csv"
    path.write_text("a,b\n" + "".join(f"{i},{0.5 * i + 0.25}\n" for i in range(60)))
    return path
