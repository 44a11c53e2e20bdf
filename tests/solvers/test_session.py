"""The line between a running solver and its caller."""

from __future__ import annotations

import os
import signal
import threading
import time
from fractions import Fraction

import pytest

import isinglearn as il
from isinglearn.errors import OptionError
from isinglearn.paper.instances import TASKS
from isinglearn.solvers.session import LONGEST, Event, Session, check_seconds

TASK = il.compile(TASKS[0].network, TASKS[0].X, TASKS[0].y)


@pytest.mark.parametrize("value", [0, -1, True, "long", float("nan"), float("inf"), 2 * LONGEST])
def test_what_is_no_time_is_refused(value):
    with pytest.raises(OptionError, match=r"time_limit.*seconds above 0"):
        il.solve(TASK, "cpsat", time_limit=value)


def test_times_are_taken_as_they_are():
    assert [check_seconds(value) for value in (1, 0.5, LONGEST)] == [1.0, 0.5, LONGEST]


def test_only_news_are_told_and_in_losses():
    events: list[Event] = []
    session = Session(scale=4, on_event=events.append)
    for energy, bound in ((10, None), (12, 1), (8, 0), (8, 1), (None, 3), (None, None)):
        session.tell(energy, bound)
    session.tell(message="half done")
    figures = [(event.loss, event.bound) for event in events]
    assert figures == [
        (Fraction(10, 4), None),
        (Fraction(10, 4), Fraction(1, 4)),
        (2, Fraction(1, 4)),
        (2, Fraction(3, 4)),
        (2, Fraction(3, 4)),
    ]
    assert [event.gap for event in events][-2:] == [Fraction(5, 4)] * 2
    assert events[-1].message == "half done"


def test_the_deadline_counts_from_the_start():
    session = Session(scale=1, seconds=0.02)
    assert not session.stopped
    assert 0 < session.left <= 0.02
    time.sleep(0.03)
    assert session.stopped
    assert session.left == 0
    assert not Session(scale=1).stopped


def test_only_false_stops():
    for answer, stops in ((None, False), (True, False), (0, False), (False, True)):
        session = Session(scale=1, on_event=lambda event, answer=answer: answer)
        session.tell(energy=1)
        assert session.stopped is stops


def background(session: Session, work=None) -> list[str]:
    """Run until halted, and list what was called."""
    calls: list[str] = []
    halted = threading.Event()

    def halt() -> None:
        calls.append("halt")
        halted.set()

    session.run_in_background(
        work or (lambda: halted.wait(10)), halt, lambda: session.tell(message="news")
    )
    return calls


def test_work_in_the_background_is_halted_at_the_deadline():
    session = Session(scale=1, seconds=0.1)
    assert background(session)[0] == "halt"
    assert session.elapsed < 5


def test_news_come_in_the_callers_thread():
    threads = set()

    def on_event(event: Event) -> bool:
        threads.add(threading.current_thread())
        return False

    background(Session(scale=1, on_event=on_event))
    assert threads == {threading.current_thread()}


def test_errors_of_the_work_reach_the_caller():
    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        background(Session(scale=1), fail)


def test_errors_of_the_callback_leave_nothing_running():
    def fail(event: Event) -> None:
        raise ZeroDivisionError

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        background(Session(scale=1, on_event=fail))
    assert threading.active_count() == before


def test_a_second_ctrl_c_leaves_nothing_running():
    # The first one, without a handler of ours, raises inside the wait.
    halted, ended = threading.Event(), threading.Event()

    def work() -> None:
        halted.wait(10)
        ended.set()

    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        Session(scale=1).run_in_background(work, halted.set, lambda: None)
    assert ended.is_set()


def test_what_is_done_in_a_pause_is_not_counted():
    session = Session(1, seconds=100)
    with session.paused():
        time.sleep(0.2)
    assert session.elapsed < 0.1
    time.sleep(0.2)
    assert 0.2 <= session.elapsed < 0.4
