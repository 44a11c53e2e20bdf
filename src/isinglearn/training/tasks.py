"""Tasks: independent pieces of a step, run in order or over the workers of a ``joblib.Parallel``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

Parallel = Callable[[Iterable[Any]], Any]


def run(function: Callable[..., Any], tasks: list[Any], parallel: Parallel | None) -> list[Any]:
    """Turn tasks (arguments of the function) into results, in the tasks' order.

    BLAS is kept on one thread: tasks share the cores already, and sums come out the same wherever they
    are taken.
    """
    with _controller().limit(limits=1, user_api="blas"):
        if parallel is None:
            return [function(*task) for task in tasks]
        from joblib import delayed

        here = os.getpid()
        return list(parallel(delayed(_one)(function, task, here) for task in tasks))


def _one(function: Callable[..., Any], task: tuple[Any, ...], home: int) -> Any:
    """Turn a task into its result, in a thread of the process ``home`` or in another process."""
    if os.getpid() != home:
        _limit_worker()
    return function(*task)


@lru_cache(maxsize=1)
def _limit_worker() -> None:
    # For good: taking it back after a task would do so under another that runs beside it.
    _controller().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
