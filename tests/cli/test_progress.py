"""The progress bar, and what is known of Ctrl-C."""

import signal
from fractions import Fraction

import pytest

from isinglearn.cli.interrupts import Interrupts
from isinglearn.cli.progress import Bar, drawn
from isinglearn.solvers.session import Event
from isinglearn.training import TrainingEvent


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return lambda seconds: now.__setitem__(0, 100.0 + seconds)


def test_a_solvers_news_are_loss_bound_and_gap():
    bar = Bar("solving")
    assert bar.on_event(Event(1.0, Fraction(3, 4), Fraction(1, 4), "presolve")) is True
    assert bar.words == "solving  loss 0.75  bound 0.25  gap 0.5  presolve"
    bar.on_event(Event(2.0, Fraction(1, 2)))
    assert bar.words == "solving  loss 0.5  bound 0.25  gap 0.25  presolve"


def test_time_left_follows_from_the_limit(clock):
    bar = Bar("solving", limit=60.0)
    clock(45)
    assert bar.left == 15
    assert bar.share == 0.75
    assert bar.times == "0:45, 0:15 left"
    clock(4000)
    assert (bar.left, bar.share) == (0, 1)
    assert bar.times == "1:06:40, 0:00 left"


def test_time_left_follows_from_the_pace(clock):
    bar = Bar("training")
    clock(10)
    assert (bar.left, bar.share, bar.times) == (None, None, "0:10")
    bar.on_event(TrainingEvent(step=25, seconds=10.0, loss=0.5, total=100))
    assert bar.left == pytest.approx(30)
    assert bar.share == pytest.approx(0.25)
    assert "25/100" in bar.words
    # The limit comes first.
    bar.limit = 15.0
    assert bar.left == 5


def test_an_event_tells_whether_to_go_on():
    pressed = []
    bar = Bar("solving", stop=lambda: bool(pressed))
    assert bar.on_event(Event(1.0)) is True
    pressed.append(True)
    assert bar.on_event(Event(2.0)) is False


@pytest.mark.parametrize("silent", [True, False])
def test_nothing_is_drawn_where_nobody_looks(capsys, silent):
    # Standard error is no terminal here.
    with drawn(Bar("working"), silent=silent) as bar:
        bar.step(1, 2, "half")
    assert capsys.readouterr() == ("", "")


def test_it_is_drawn_in_a_terminal_and_gone_afterwards(terminal, xor):
    words = ("--target", "answer", "-o", "p.qubo")
    compiling = terminal("compile", xor, *words)
    code, output = compiling.end()
    assert code == 0
    assert "compiling" in compiling.screen
    # Erased, line by line.
    assert "\x1b[2K" in compiling.screen
    assert "compiling" not in output


@pytest.mark.parametrize("flag", ["--quiet", "--json"])
def test_quiet_and_json_draw_nothing(terminal, xor, flag):
    compiling = terminal("compile", xor, "--target", "answer", "-o", "p.qubo", flag)
    code, _ = compiling.end()
    assert code == 0
    assert compiling.screen == ""


# -- Ctrl-C ----------------------------------------------------------------------------------------


def test_ctrl_c_is_seen_whoever_deals_with_it():
    with Interrupts() as interrupts:
        assert interrupts.seen is False
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, before)
        assert interrupts.seen is True
        assert interrupts.seen is True
    # Nothing is left behind.
    assert signal.set_wakeup_fd(-1) == -1


def test_other_signals_are_no_ctrl_c():
    with Interrupts() as interrupts:
        before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert interrupts.seen is False


def test_before_there_is_anything_ctrl_c_ends_with_130(terminal):
    running = terminal("reproduce", "identity", "--runs", 100000)
    running.wait_for("task I")
    running.interrupt()
    code, output = running.end()
    assert (code, output) == (130, "")
    assert "interrupted before there was anything to keep" in running.screen
    assert "Traceback" not in running.screen
