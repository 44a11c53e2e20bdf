"""Ctrl-C: whether it was pressed, whoever dealt with it."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class Interrupts:
    """Watches for Ctrl-C beside whatever handler is in place.

    Solvers and trainers turn the first Ctrl-C into a request to stop and return what they have; the command
    has to know, to say so. Python writes the number of every signal it handles into a descriptor, which is
    all that is used here.
    """

    def __enter__(self) -> Self:
        self._pressed = False
        self._read, self._write = os.pipe()
        for end in (self._read, self._write):
            os.set_blocking(end, False)
        # Signals are the main thread's.
        self._watches = threading.current_thread() is threading.main_thread()
        if self._watches:
            self._before = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._watches:
            signal.set_wakeup_fd(self._before)
        os.close(self._read)
        os.close(self._write)

    @property
    def seen(self) -> bool:
        """Whether Ctrl-C was pressed so far."""
        # Without anything new there is nothing to read.
        with suppress(BlockingIOError):
            self._pressed = self._pressed or signal.SIGINT in os.read(self._read, 1 << 12)
        return self._pressed
