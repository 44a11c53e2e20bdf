"""The progress bar: what is done, loss, bound, gap, time passed and time left, on one line of a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isinglearn.solvers.session import Event
    from isinglearn.training import TrainingEvent

# Lines drawn per second, and characters of the bar.
_RATE = 8
_WIDTH = 20


class Bar:
    """What is known of something that takes time.

    Parameters
    ----------
    title
        What is being done.
    limit
        Seconds that it may take, if there is a limit.
    figure
        What is minimised.
    stop
        Whether the user asked to stop.
    """

    def __init__(
        self,
        title: str,
        limit: float | None = None,
        figure: str = "loss",
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.title, self.limit, self.figure, self.stop = title, limit, figure, stop
        self.started = time.perf_counter()
        self.best: float | None = None
        self.bound: float | None = None
        self.done, self.total = 0.0, 0.0
        self.message = ""

    def on_event(self, event: Event | TrainingEvent) -> bool:
        """Take in a solver's or a training's news; False once the user asked to stop."""
        self.best = self.best if event.loss is None else float(event.loss)
        self.bound = self.bound if event.bound is None else float(event.bound)
        total = getattr(event, "total", None)
        if total is not None:
            self.done, self.total = float(getattr(event, "step", 0)), float(total)
        self.message = event.message or self.message
        return not self.stop()

    def step(self, done: float, total: float, message: str = "") -> None:
        """Take in that so many of so many steps are done."""
        self.done, self.total, self.message = done, total, message

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def left(self) -> float | None:
        """Seconds to go at most, by the limit and by the pace so far; ``None`` where neither says."""
        by_limit = [] if self.limit is None else [self.limit - self.elapsed]
        by_pace = [self.elapsed * (self.total / self.done - 1)] if self.done > 0 else []
        return max(0.0, min([*by_limit, *by_pace])) if by_limit or by_pace else None

    @property
    def share(self) -> float | None:
        """How much is done, from 0 to 1; ``None`` where that is not known."""
        if self.left is None:
            return None
        whole = self.elapsed + self.left
        return self.elapsed / whole if whole > 0 else 1.0

    @property
    def words(self) -> str:
        """Title, figures and message."""
        gap = None if self.best is None or self.bound is None else self.best - self.bound
        figures = ((self.figure, self.best), ("bound", self.bound), ("gap", gap))
        known = [f"{name} {value:.6g}" for name, value in figures if value is not None]
        steps = [f"{self.done:g}/{self.total:g}"] if self.total > 1 else []
        return "  ".join(part for part in (self.title, *known, *steps, self.message) if part)

    @property
    def times(self) -> str:
        """Time passed, and time left where it is known."""
        left = "" if self.left is None else f", {_clock(self.left)} left"
        return f"{_clock(self.elapsed)}{left}"


@contextmanager
def drawn(bar: Bar, *, silent: bool) -> Iterator[Bar]:
    """Draw a bar on standard error while the work goes on, if that is a terminal; it is gone afterwards."""
    if silent or not sys.stderr.isatty():
        yield bar
        return
    from rich.console import Console
    from rich.live import Live

    # Standard output may lead into a file: it is left alone.
    with Live(
        _Line(bar),
        console=Console(stderr=True),
        transient=True,
        refresh_per_second=_RATE,
        redirect_stdout=False,
    ):
        yield bar


class _Line:
    """A bar as rich draws it, anew each time."""

    def __init__(self, bar: Bar) -> None:
        from rich.spinner import Spinner

        self.bar = bar
        self.spinner = Spinner("dots")

    def __rich__(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        share = self.bar.share
        words = Text(self.bar.words, overflow="ellipsis", no_wrap=True)
        known = [] if share is None else [ProgressBar(total=1.0, completed=share, width=_WIDTH)]
        line = Table.grid(padding=(0, 1))
        line.add_row(self.spinner, words, *known, Text(self.bar.times, no_wrap=True))
        return line


def _clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are some."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
