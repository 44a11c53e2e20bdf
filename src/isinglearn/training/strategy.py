"""Strategy: the shape that all ways of training share, so that one loop drives them all.

A strategy builds a QUBO (or many small ones), has it solved, decodes, and accepts or rejects on the true
loss; that is a step. The loop around it (:mod:`loop`) knows the clock, the events, validation data and
checkpoints, and nothing of QUBOs. A strategy is added in one file: subclassing registers it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.data import whole_inputs
from isinglearn.nn import Parameters, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.solvers.run import Run
from isinglearn.solvers.session import OnEvent
from isinglearn.training.checkpoint import check_state, data_digest, signature_of
from isinglearn.training.losses import loss_named
from isinglearn.training.tasks import Parallel

STRATEGIES: dict[str, type[Strategy]] = {}

State = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Task:
    """What is trained, the same for all strategies.

    Attributes
    ----------
    network
        As the user wrote it.
    X, y
        Integer inputs (samples, ...), possibly memory-mapped, and labels as ``loss`` wants them.
    loss
        ``"cross_entropy"`` (class numbers), ``"logistic"``, ``"hinge"``, ``"squared_hinge"`` (-1 and +1) or
        ``"square"``.
    weights
        Sample weights, positive whole numbers, or ``None``.
    seed
        Same seed, same result.
    solver
        A solver's name, a dimod sampler, or ``"auto"`` for what the strategy thinks best.
    max_spins
        Largest QUBO that may be built; ``None`` for what the strategy thinks best.
    parallel
        A ``joblib.Parallel`` for independent pieces, or ``None``.
    stopped
        Whether the time is over; a step that takes long asks it now and then.
    left
        Seconds that are left; a step may hand it on to a solver.
    tell
        Takes a solver's news while a step is under way; ``False`` says that it shall end.
    start, start_odds
        A known network, which strategies that move from one to the next begin with, and its scale.
    """

    network: Sequential
    X: NDArray[Any]
    y: NDArray[Any]
    loss: str
    weights: NDArray[Any] | None = None
    seed: int = 0
    solver: Any = "auto"
    max_spins: int | None = None
    parallel: Parallel | None = None
    stopped: Callable[[], bool] = lambda: False
    left: Callable[[], float] = lambda: 1e9
    tell: OnEvent = lambda event: None
    start: Parameters | None = None
    start_odds: float | None = None


@dataclass(frozen=True)
class Progress:
    """What a step did.

    Attributes
    ----------
    loss
        True training loss, of a batch or of all data as the strategy has it; ``None`` if not known.
    message
        What cannot be said in figures.
    """

    loss: float | None = None
    message: str = ""


class Strategy(ABC):
    """One way of training, under way: call ``step`` until ``done``.

    Subclasses set ``name``, ``losses`` and, if they have any, ``Options``; ``counts`` has at least
    ``step``, ``qubos`` (QUBOs solved) and ``spins`` (the largest of them).
    """

    name: ClassVar[str]
    losses: ClassVar[tuple[str, ...]]
    # Number of the layout of ``state``; raised whenever that changes.
    format_number: ClassVar[int] = 1

    # A dataclass that checks its fields.
    Options: ClassVar[Any]
    # What answered the task, where it is one problem.
    run: Run | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__:
            STRATEGIES[cls.name] = cls

    def __init__(self, task: Task, options: Any) -> None:
        self.task, self.options = task, options
        self.counts = {"step": 0, "qubos": 0, "spins": 0}

    @classmethod  # noqa: B027 - most have nothing to prepare
    def prepare(cls, task: Task) -> None:
        """Do what is done once per process, such as compiling kernels; called before the clock starts."""

    @property
    @abstractmethod
    def network(self) -> Sequential:
        """The network with every domain chosen."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """The parameters to keep, were it to end now."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether there is nothing left to do."""

    @property
    def total(self) -> int | None:
        """Steps at most, where that is known."""
        return getattr(self.options, "steps", None)

    @property
    def odds(self) -> float | None:
        """What outputs are multiplied by to be logarithms of odds, where the loss speaks of such."""
        return None

    @abstractmethod
    def step(self) -> Progress:
        """Build, solve, decode, accept or reject, once."""

    def evaluate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        parameters: Parameters | None = None,
        weights: IntArray | None = None,
    ) -> tuple[float, float]:
        """Turn data into the mean loss of these or the present parameters, and the part that is right."""
        chosen = self.parameters if parameters is None else parameters
        loss = loss_named(self.task.loss)
        targets = loss.targets(y, self.network.out_features)
        inputs = whole_inputs(X, self.network.input_shape)
        outputs = self.network.forward(chosen, inputs) / self.network.output_scale
        losses, right = loss.values(outputs, targets), loss.correct(outputs, targets)
        return float(np.average(losses, weights=weights)), float(right.mean())

    def training_loss(self, parameters: Parameters, odds: float | None = None) -> float:
        """Turn parameters into the loss that is minimised: of all samples, by their weights.

        ``odds`` is the scale that belongs to them, where the loss has one and it is not the present one.
        """
        task = self.task
        return self.evaluate(task.X, task.y, parameters, task.weights)[0]

    # -- checkpoints -------------------------------------------------------------------------------

    @property
    def signature(self) -> str:
        """What a checkpoint must agree with, as a short text."""
        task = self.task
        about = (self.name, task.loss, task.seed, task.max_spins, self.options)
        known = () if task.start is None else tuple(task.start.values())
        return signature_of(self.network, about, data_digest(task.X, task.y, task.weights, *known))

    def state(self) -> State:
        """Everything that a step changes, as plain arrays."""
        state: dict[str, Any] = {f"counts.{name}": count for name, count in self.counts.items()}
        state |= {"format": self.format_number, "signature": self.signature, **self.own_state()}
        return {name: np.asarray(value) for name, value in state.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what ``state`` gave; further steps are those of an undisturbed run."""
        check_state(state, self.format_number, self.signature)
        self.counts = {name: int(state[f"counts.{name}"]) for name in self.counts}
        self.take_own_state(state)

    @abstractmethod
    def own_state(self) -> dict[str, Any]:
        """What a subclass changes in a step besides ``counts``."""

    @abstractmethod
    def take_own_state(self, state: Mapping[str, Any]) -> None:
        """Take up what ``own_state`` gave."""


def saved_parameters(parameters: Parameters, under: str) -> dict[str, Any]:
    """Turn parameters into entries of a state."""
    return {f"{under}.{name}": value.copy() for name, value in parameters.items()}


def loaded_parameters(state: Mapping[str, Any], network: Sequential, under: str) -> Parameters:
    """Turn entries of a state back into parameters."""
    return {name: np.asarray(state[f"{under}.{name}"]) for name in network.parameters}
