"""A running solver's clock and its line to the caller: seed, start, deadline, events, Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np

from isinglearn.errors import OptionError
from isinglearn.problem.encodings import IntArray

# What counts as a number, NumPy's own included.
Number = int | float | np.integer | np.floating
# The longest time limit, about 30 years: some solvers count in doubles.
LONGEST = 1e9
# How often a solver that runs in the background is looked after, in seconds.
_POLL = 0.05
# Events that are remembered at most; of more, every other one is let go.
MOST_EVENTS = 2000


@dataclass(frozen=True)
class Event:
    """News of a running solver.

    Attributes
    ----------
    seconds
        Since the solver was started.
    loss, bound
        The best loss so far, and what is proved to be a lower bound; ``None`` where not known.
    message
        What cannot be said in figures.
    """

    seconds: float
    loss: Fraction | None = None
    bound: Fraction | None = None
    message: str = ""

    @property
    def gap(self) -> Fraction | None:
        """Difference of loss and bound; 0 is a proof."""
        return None if self.loss is None or self.bound is None else self.loss - self.bound


# Returning False stops the solver; it then returns what it has.
OnEvent = Callable[[Event], bool | None]


@dataclass(eq=False)
class Session:
    """What a solver is given besides the form and its options.

    Attributes
    ----------
    scale
        Energy over loss, so that events speak of losses.
    seed
        Same seed, same answer.
    seconds
        Time limit, counted from the construction; ``None`` for no limit.
    on_event
        Called with every piece of news, in the caller's thread; returning False stops the solver.
    start
        A known assignment of the form, if there is one and the solver can use it.
    events
        Better losses and bounds so far, whether anybody listens or not; messages are not remembered.
    """

    scale: int
    seed: int = 0
    seconds: float | None = None
    on_event: OnEvent | None = None
    start: IntArray | None = None
    started: float = field(default_factory=time.perf_counter)
    best: int | None = None
    bound: int | None = None
    events: list[Event] = field(default_factory=list)
    _asked_to_stop: bool = False

    def __post_init__(self) -> None:
        check_listener(self.on_event)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float:
        """Seconds until the deadline, at most ``LONGEST``."""
        return LONGEST if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    @property
    def stopped(self) -> bool:
        """Whether to end: the time is over, or the caller or Ctrl-C asked for it."""
        return self._asked_to_stop or self.left <= 0.0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time of what is done within: once per process something is compiled."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self.started += time.perf_counter() - before

    def stop(self) -> None:
        """Ask the solver to end."""
        self._asked_to_stop = True

    def tell(self, energy: int | None = None, bound: int | None = None, message: str = "") -> None:
        """Pass on a better energy, a better bound, or a message; news that is none is dropped."""
        better = energy is not None and (self.best is None or energy < self.best)
        tighter = bound is not None and (self.bound is None or bound > self.bound)
        self.best = energy if better else self.best
        self.bound = bound if tighter else self.bound
        if not (better or tighter or message):
            return
        event = Event(self.elapsed, self._loss(self.best), self._loss(self.bound), message)
        if better or tighter:
            self._remember(event)
        if self.on_event is not None and self.on_event(event) is False:
            self.stop()

    def _loss(self, energy: int | None) -> Fraction | None:
        return None if energy is None else Fraction(energy, self.scale)

    def _remember(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) > MOST_EVENTS:
            # The first and the newest stay.
            del self.events[1:-1:2]

    @contextmanager
    def catching_interrupts(self) -> Iterator[None]:
        """Turn the first Ctrl-C into a request to stop, of a session around this one as well.

        The second one raises as usual.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        stopper = _Stopper(self, before)
        signal.signal(signal.SIGINT, stopper)
        try:
            yield
        finally:
            # Once pressed, the handlers of all sessions around this one are gone already.
            if signal.getsignal(signal.SIGINT) is stopper:
                signal.signal(signal.SIGINT, before)

    def run_in_background(
        self, work: Callable[[], None], halt: Callable[[], None], news: Callable[[], None]
    ) -> None:
        """Run ``work`` in a thread while this one passes on ``news`` and, when stopped, calls ``halt``.

        For compiled solvers: they hold their thread until they end, and Python's signals and the caller's
        callback belong into this one. An exception of ``work`` or of the callback is raised here, the
        latter after the solver has ended.
        """
        errors: list[BaseException] = []
        # Not the thread's own state: after a Ctrl-C in join() Python takes a running thread for ended.
        done = threading.Event()

        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        try:
            threading.Thread(target=guarded, daemon=True).start()
            while not done.wait(_POLL):
                news()
                if self.stopped:
                    halt()
            news()
        finally:
            # Also when the callback or Ctrl-C raised: nothing is left running behind the caller's back.
            while not done.is_set():
                halt()
                done.wait(_POLL)
        if errors:
            raise errors[0]


@dataclass(frozen=True, eq=False)
class _Stopper:
    """The handler of a session's Ctrl-C, and the handler before it."""

    session: Session
    before: Any

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.session.stop()
        signal.signal(signal.SIGINT, self.before)
        if isinstance(self.before, _Stopper):
            self.before(number, frame)


def check_seconds(value: object, where: str = "time_limit") -> float:
    """Turn a value into itself if it is a number of seconds, else into an error."""
    if not isinstance(value, bool) and isinstance(value, Number) and 0 < value <= LONGEST:
        return float(value)
    raise OptionError(
        "this is no time",
        where=where,
        rule=f"a number of seconds above 0, at most {LONGEST:g}",
        received=repr(value),
        remedy="give a number in that range",
    )


def check_listener(value: object, where: str = "on_event") -> None:
    """Raise unless the value can be called with news, or is None."""
    if value is None or callable(value):
        return
    raise OptionError(
        "news cannot be told to this",
        where=where,
        rule="a function of one event, or None",
        received=repr(value),
        remedy="for example on_event=print",
    )
