"""Plan: one training with everything it needs, which can be sent to a worker; and several of them at once."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isinglearn.errors import IsingLearnError, SolverError
from isinglearn.solvers.session import Event, Session, check_listener
from isinglearn.training.batches import Source
from isinglearn.training.chunks import Chunks
from isinglearn.training.loop import Data, Loop
from isinglearn.training.strategy import STRATEGIES, Task
from isinglearn.training.trained import OnTraining, Trained

# Seconds for a training whose turn comes when the time is over: its first network counts, too.
_SHORTEST = 1e-3
# Where errors come from that speak of workers and not of the work.
_OF_WORKERS = ("joblib", "concurrent", "multiprocessing", "distributed", "dask", "tornado")
# Inputs of more bytes than this go to workers as a file that all of them read.
LARGE = 1 << 20


@dataclass(frozen=True, eq=False)
class Plan:
    """A training that has not begun.

    Attributes
    ----------
    strategy, options, task
        Which strategy, its options, and what is trained.
    held_out, patience
        Validation data, and how many looks without a gain end it.
    seconds, checkpoint, every, reason
        As in :func:`isinglearn.train`.
    deadline
        When several trainings share their time: its end, by the clock on the wall, which workers have too.
    """

    strategy: str
    options: Any
    task: Task
    held_out: Data | None
    patience: int | None
    seconds: float | None
    checkpoint: Path | None
    every: float
    reason: str
    deadline: float | None = None

    def run(self, on_event: OnTraining | None = None, jobs: int = 1) -> Trained:
        """Train, here and now."""
        check_listener(on_event)
        self.prepare()
        seconds = self.seconds
        if self.deadline is not None:
            seconds = max(self.deadline - time.time(), _SHORTEST)
        clock = Session(1, self.task.seed, seconds)

        def tell(event: Event) -> bool:
            # The loop is built around the strategy, which is built with this.
            return loop.relay(event)

        task = replace(
            self.task,
            parallel=_parallel(jobs),
            stopped=lambda: clock.stopped,
            left=lambda: clock.left,
            tell=tell,
        )
        strategy = STRATEGIES[self.strategy](task, self.options)
        loop = Loop(strategy, self.held_out, self.patience, clock, on_event)
        if self.checkpoint is not None:
            loop.save_into(self.checkpoint, self.every)
        return loop.run(self.reason)

    def prepare(self) -> None:
        """Do what the strategy does once per process, which is not counted."""
        STRATEGIES[self.strategy].prepare(self.task)

    def restart(self, number: int) -> Plan:
        """The same with another seed, and a checkpoint of its own."""
        if not number:
            return self
        sequence = np.random.SeedSequence(self.task.seed, spawn_key=(4, number))
        seed = int(sequence.generate_state(1)[0]) >> 1
        path = self.checkpoint
        if path is not None:
            path = path.with_name(f"{path.stem}.{number}{path.suffix}")
        return replace(self, task=replace(self.task, seed=seed), checkpoint=path)


def best_restart(plan: Plan, restarts: int, jobs: int) -> Trained:
    """Run a plan with several seeds, through joblib, and return the best of what comes back."""
    import joblib

    # Here, where the time is not counted yet; workers then find compiled kernels in the cache.
    plan.prepare()
    if plan.seconds is not None:
        plan = replace(plan, deadline=time.time() + plan.seconds)
    with _shared(plan) as light:
        work = [joblib.delayed(_run)(light.restart(number)) for number in range(restarts)]
        try:
            found: list[Trained] = list(joblib.Parallel(n_jobs=jobs)(work))
        except IsingLearnError:
            raise
        except Exception as error:
            if type(error).__module__.split(".")[0] not in _OF_WORKERS:
                raise
            raise SolverError(
                "the workers were lost",
                where=f"jobs={jobs}",
                rule="a cluster that keeps at least one worker",
                received=repr(error),
                remedy="run it again; with checkpoint= it goes on from what was saved",
            ) from error
    return min(found, key=_rank)


def _run(plan: Plan) -> Trained:
    """In a worker: inputs come as the name of their file."""
    X = plan.task.X
    opened = X.array if isinstance(X, Source) else X
    return replace(plan, task=replace(plan.task, X=opened)).run()


def _rank(trained: Trained) -> float:
    """The least validation loss, or else the training loss."""
    if len(trained.validation_curve):
        return float(trained.validation_curve[:, 1].min())
    return trained.loss


@contextmanager
def _shared(plan: Plan) -> Iterator[Plan]:
    """Large inputs as one file that every worker reads, so that none gets a copy."""
    X = plan.task.X
    if isinstance(X, np.memmap | Chunks):
        yield replace(plan, task=replace(plan.task, X=Source(X)))  # type: ignore[arg-type]
        return
    if X.nbytes <= LARGE:
        yield plan
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inputs.npy"
        np.save(path, X)
        mapped = np.load(path, mmap_mode="r")
        yield replace(plan, task=replace(plan.task, X=Source(mapped)))  # type: ignore[arg-type]


def _parallel(jobs: int) -> Any:
    if jobs == 1:
        return None
    import joblib

    # Threads: blocks and batches are small, and the kernels let go of the interpreter. A backend that
    # ``joblib.parallel_config`` names takes precedence.
    return joblib.Parallel(n_jobs=jobs, prefer="threads")
