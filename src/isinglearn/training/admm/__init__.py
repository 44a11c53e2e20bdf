"""ADMM: groups of samples train copies of the parameters, a consensus holds the copies together.

The paper proposes it as the way to more samples than fit one QUBO. Every group ``g`` has its own copy
``theta_g``, multipliers ``u_g`` (scaled by the strength of the ties), and a QUBO of its own samples, whose
size has nothing to do with how many other groups there are. A step solves the QUBOs of some groups,

    theta_g = argmin f_g(theta) + rho |theta - z + u_g|^2,

rounds ``z = mean_g (theta_g + u_g)`` into the domains, and moves ``u_g += theta_g - z``. Consensus and copies
are scored by the true loss of all samples and the best is kept. If nothing better is found for a while, the
consensus is refused: it goes back to the best, and the multipliers to 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isinglearn.errors import check_count
from isinglearn.nn import Parameters, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.training.admm.consensus import solve_group
from isinglearn.training.admm.grouping import Whole, make_groups
from isinglearn.training.compiling import LOSSES, check_number, loss_of_network
from isinglearn.training.machine import Machine, seed_of
from isinglearn.training.strategy import Progress, Strategy, Task
from isinglearn.training.tasks import run

# Streams of the seed: order of the samples, first consensus, order of the groups, solvers.
_SAMPLES, _FIRST, _ORDER, _SOLVERS = 10, 11, 12, 13


class Admm(Strategy):
    """Train by small QUBOs, one for every group of samples."""

    name = "admm"
    losses: ClassVar[tuple[str, ...]] = tuple(LOSSES)

    @dataclass(frozen=True)
    class Options:
        """How long, how hard, and how closely tied.

        Attributes
        ----------
        steps
            Rounds; it ends before if nothing can be better.
        samples
            Samples of a group, fewer where they do not fit ``max_spins``.
        groups
            Groups that a step looks at, in turn.
        reads, sweeps
            Of our annealer, for every QUBO.
        first_rho, largest_rho
            Strength of the ties at first and at most. At 1, a parameter at the other end of its range costs
            four times what a sample loses that is predicted as 0 instead of +-1.
        growth
            Factor on the strength in every step.
        patience
            Steps without a better network after which the consensus goes back to the best one.
        label_scale
            As for ``compile``.
        """

        steps: int = 60
        samples: int = 4
        groups: int = 32
        reads: int = 20
        sweeps: int = 300
        first_rho: float = 0.1
        largest_rho: float = 2.0
        growth: float = 1.1
        patience: int = 10
        label_scale: int = 1

        def __post_init__(self) -> None:
            names = ("steps", "samples", "groups", "reads", "sweeps", "patience", "label_scale")
            for name in names:
                check_count(getattr(self, name), name)
            check_number(self.first_rho, "first_rho", 1e-6)
            check_number(self.largest_rho, "largest_rho", self.first_rho)
            check_number(self.growth, "growth", 1.0)

    options: Options

    def __init__(self, task: Task, options: Options) -> None:
        super().__init__(task, options)
        self.whole = Whole.of(task, options.label_scale)
        # Our annealer on one thread: groups share the cores already.
        self.machine = Machine.of(task.solver, options.reads, options.sweeps, threads=1)
        order = self._random(_SAMPLES).permutation(len(self.whole.data))
        self.groups = make_groups(task, self.whole, order, options.samples)
        self.best = self._first_vector()
        self.least = int(self.whole.scores(self.best[None])[0])
        self._begin()

    def _random(self, *place: int) -> np.random.Generator:
        sequence = np.random.SeedSequence(self.task.seed, spawn_key=place)
        return np.random.default_rng(sequence)

    def _first_vector(self) -> IntArray:
        """Any network, at random: units that begin as equals would not know who is who."""
        random = self._random(_FIRST)
        domains = self.whole.problem.free_domains
        vector = np.array([random.choice(values) for values in domains], dtype=np.int64)
        # Ranges of integers follow the paper, which is wider than what can matter.
        lo = np.min([group.lo for group in self.groups], axis=0)
        hi = np.max([group.hi for group in self.groups], axis=0)
        return self.whole.snapped(np.clip(vector, lo, hi)[None])[0]

    def _begin(self) -> None:
        """Everything at the best network, multipliers 0."""
        self.consensus = self.best.copy()
        self.copies = np.array([group.near(self.best) for group in self.groups])
        self.multipliers = np.zeros(self.copies.shape)
        self.rho = self.options.first_rho
        self.waited = 0

    @property
    def network(self) -> Sequential:
        """The network with every domain chosen."""
        return self.whole.problem.network

    @property
    def parameters(self) -> Parameters:
        """The best network so far."""
        return self.whole.problem.parameters(self.best)

    def training_loss(self, parameters: Parameters, odds: float | None = None) -> float:
        """The problem's."""
        return loss_of_network(self.whole.problem, parameters)

    @property
    def done(self) -> bool:
        """Whether all steps were taken, or no network can be better."""
        return self.counts["step"] >= self.options.steps or self.least <= 0

    def step(self) -> Progress:
        """Solve the QUBOs of some groups, agree, judge."""
        chosen = self._chosen()
        found = self._solved(chosen)
        if found is None:
            return Progress(self._loss, "the time was over within a step, which was left undone")
        self.counts["step"] += 1
        self.counts["qubos"] += len(chosen)
        spins = max(self.groups[i].qubo.num_variables for i in chosen)
        self.counts["spins"] = max(self.counts["spins"], spins)
        self.copies[chosen] = found
        self._agree(chosen)
        refused = self._judge(found)
        return Progress(self._loss, "back to the best network" if refused else "")

    def _chosen(self) -> IntArray:
        """Groups of the next step: all of them in a new order whenever they are used up."""
        count = min(self.options.groups, len(self.groups))
        turn, place = divmod(self.counts["step"], max(1, len(self.groups) // count))
        order = self._random(_ORDER, turn).permutation(len(self.groups))
        return np.sort(order[place * count : (place + 1) * count])

    def _solved(self, chosen: IntArray) -> IntArray | None:
        """New copies of the chosen groups, or nothing if the time is over."""
        metric = self.whole.metric(self.rho)
        seconds = self.task.left()
        tasks = []
        for i in chosen:
            group, seed = self.groups[i], seed_of(self.task.seed, _SOLVERS, self.counts["step"], i)
            centre = group.near(self.consensus) - self.multipliers[i]
            known = np.stack([self.copies[i], self.consensus])
            tasks.append((group, self.machine, centre, metric, known, seed, seconds))
        found = run(solve_group, tasks, self.task.parallel)
        return None if self.task.stopped() else np.array(found, dtype=np.int64)

    def _agree(self, chosen: IntArray) -> None:
        """Round the mean of the copies into the domains, and charge the groups that differ."""
        away = np.array([self.consensus - group.near(self.consensus) for group in self.groups])
        # A consensus beyond a group's range is, to that group, the end of the range.
        lifted = self.copies + away
        mean = (lifted + self.multipliers).mean(axis=0)
        self.consensus = self.whole.snapped(np.rint(mean)[None])[0]
        self.multipliers[chosen] += lifted[chosen] - self.consensus
        stronger = min(self.rho * self.options.growth, self.options.largest_rho)
        # Multipliers are in units of the strength.
        self.multipliers *= self.rho / stronger
        self.rho = stronger

    def _judge(self, copies: IntArray) -> bool:
        """Keep the best of consensus and copies by the true loss; returns whether to go back to it."""
        candidates = self.whole.snapped(np.concatenate([self.consensus[None], copies]))
        candidates = np.unique(candidates, axis=0)
        scores = self.whole.scores(candidates)
        best = int(scores.argmin())
        self.waited += 1
        if scores[best] < self.least:
            self.best, self.least, self.waited = candidates[best], int(scores[best]), 0
        if self.waited < self.options.patience:
            return False
        self._begin()
        return True

    @property
    def _loss(self) -> float:
        return self.least / self.whole.scale

    def own_state(self) -> dict[str, Any]:
        """Consensus, copies, multipliers, and the best network."""
        names = ("best", "least", "consensus", "copies", "multipliers", "rho", "waited")
        values: dict[str, NDArray[Any]] = {n: np.array(getattr(self, n)) for n in names}
        return values

    def take_own_state(self, state: Mapping[str, Any]) -> None:
        """Take up what ``own_state`` gave."""
        for name in ("best", "consensus", "copies"):
            setattr(self, name, np.array(state[name], dtype=np.int64))
        self.multipliers = np.array(state["multipliers"], dtype=np.float64)
        self.rho = float(state["rho"])
        self.least, self.waited = int(state["least"]), int(state["waited"])
