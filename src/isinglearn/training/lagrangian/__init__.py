"""Augmented Lagrangian around the compiled QUBO: bounded penalties, multipliers where these do not suffice.

A weight that is proved to suffice is a weight for the worst case. Here every constraint begins with a small
one. Each step has the weighted QUBO solved as any Ising machine would, decodes the parameters of all reads,
scores them by a forward pass (so that every read is a network with its true loss), keeps the best, and
prices what the state of lowest energy breaks: ``multiplier += rate * rho * c``, ``rho = min(growth * rho,
largest_rho)``. Only these numbers change; the terms are compiled once (:mod:`relaxation`).

Measured (``benchmarks/lagrangian.py``): coefficients stay several times below those of weights proved
without knowing a good network, and on tasks I-III and MNIST success rises with that. Against plain weights of
``first_rho`` the multipliers make no difference beyond the errors of the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isinglearn.decode import decode_vectors
from isinglearn.errors import check_choice, check_count
from isinglearn.lowering.options import FORMULATIONS, ORDERS, SIGNS
from isinglearn.lowering.pipeline import INFEASIBLE
from isinglearn.nn import Parameters, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QUBO
from isinglearn.training.compiling import LOSSES, check_number, compiled_whole, loss_of_network
from isinglearn.training.lagrangian.relaxation import Prices, Relaxation
from isinglearn.training.machine import Machine, seed_of
from isinglearn.training.strategy import Progress, Strategy, Task

# Which of the seed's streams the solver's seeds come from.
_STREAM = 3


class Lagrangian(Strategy):
    """Train by one QUBO for all samples, whose weights are found on the way."""

    name = "lagrangian"
    losses: ClassVar[tuple[str, ...]] = tuple(LOSSES)

    @dataclass(frozen=True)
    class Options:
        """How long, how hard, and which form.

        Attributes
        ----------
        steps
            QUBOs to solve at most; it ends before if nothing can be better.
        reads, sweeps
            Of our annealer, in each step.
        first_rho, largest_rho
            Weights of the penalties at first and at most. Their unit is a loss of 1 of one sample: at 1,
            breaking a constraint costs as much as predicting 0 for a label of +-1.
        growth
            Factor on the weight of a constraint whenever it is broken.
        rate, decay
            Step ``t`` moves a multiplier by ``rate / (1 + t)^decay`` times its weight.
        formulation, order, signs, label_scale
            As for ``compile``. Products first (the default) makes all constraints linear, so that their
            weights need not make up for each other's.
        """

        steps: int = 40
        reads: int = 20
        sweeps: int = 1000
        first_rho: float = 4.0
        largest_rho: float = 8.0
        growth: float = 1.5
        rate: float = 1.0
        decay: float = 0.5
        formulation: str = "compact"
        order: str = "product"
        signs: str = "auto"
        label_scale: int = 1

        def __post_init__(self) -> None:
            for name in ("steps", "reads", "sweeps", "label_scale"):
                check_count(getattr(self, name), name)
            check_number(self.first_rho, "first_rho", 0.0)
            check_number(self.largest_rho, "largest_rho", self.first_rho)
            check_number(self.growth, "growth", 1.0)
            check_number(self.rate, "rate", 0.0)
            check_number(self.decay, "decay", 0.0)
            check_choice(self.formulation, FORMULATIONS, "formulation")
            check_choice(self.order, ORDERS, "order")
            check_choice(self.signs, SIGNS, "signs")

    options: Options

    def __init__(self, task: Task, options: Options) -> None:
        super().__init__(task, options)
        # The paper's form knows one order only.
        paper = options.formulation == "paper"
        self.problem = compiled_whole(
            task,
            formulation=options.formulation,
            order="auto" if paper else options.order,
            signs="auto" if paper else options.signs,
            label_scale=options.label_scale,
        )
        self.relaxation = Relaxation.of(self.problem)
        self.machine = Machine.of(task.solver, options.reads, options.sweeps)
        self.rho = np.full(len(self.relaxation), self.unit * options.first_rho)
        self.multiplier = np.zeros(len(self.relaxation))
        # Any network, so that there is one from the beginning.
        self.vector = self._first_vector()
        self.least = int(self.problem.scores(self.vector)[0])

    def _first_vector(self) -> IntArray:
        zeros = np.zeros((1, len(self.problem.free_domains)), dtype=np.int64)
        vector: IntArray = self.problem.vector_batch(zeros)[0]
        return vector

    @cached_property
    def unit(self) -> float:
        """A loss of 1 of one sample, as an energy."""
        return self.problem.qcbo.scale / float(self.problem.data.weights.sum())

    @cached_property
    def bound(self) -> NDArray[np.float64]:
        """Largest magnitude of every multiplier: no more than what is proved to suffice by itself."""
        certified = self.relaxation.certified.astype(np.float64)
        return np.maximum(certified, self.unit * self.options.largest_rho)

    @property
    def network(self) -> Sequential:
        """The network with every domain chosen."""
        return self.problem.network

    @property
    def parameters(self) -> Parameters:
        """The best network so far."""
        return self.problem.parameters(self.vector)

    def training_loss(self, parameters: Parameters, odds: float | None = None) -> float:
        """The problem's."""
        return loss_of_network(self.problem, parameters)

    @property
    def done(self) -> bool:
        """Whether all steps were taken, or no network can be better."""
        return self.counts["step"] >= self.options.steps or self.least <= 0

    @property
    def prices(self) -> Prices:
        """What the constraints weigh in the next step, in whole units of energy."""
        rho = np.maximum(np.rint(self.rho), 1)
        return Prices(rho.astype(np.int64), np.rint(self.multiplier).astype(np.int64))

    @property
    def qubo(self) -> QUBO:
        """What the next step has solved."""
        return self.relaxation.weighted(self.prices)

    def step(self) -> Progress:
        """Solve the QUBO of the present prices, keep the best network, price what is broken."""
        qubo = self.qubo
        seed = seed_of(self.task.seed, _STREAM, self.counts["step"])
        rows = self.machine.minimise(qubo, seed, self.task.left())
        if not len(rows):
            return Progress(self._loss, "the time was over before the first read")
        self.counts["step"] += 1
        self.counts["qubos"] += 1
        self.counts["spins"] = max(self.counts["spins"], qubo.num_variables)
        self.keep(rows)
        broken = self._price(qubo, rows)
        return Progress(self._loss, f"{broken} constraints broken in the state of lowest energy")

    def keep(self, rows: IntArray) -> None:
        """Repair all reads by a forward pass and keep the best network."""
        vectors = decode_vectors(self.problem, self.problem.qubo, rows)
        scores = self.problem.scores(vectors)
        best = int(scores.argmin())
        if scores[best] < self.least:
            self.vector, self.least = vectors[best], int(scores[best])

    def _price(self, qubo: QUBO, rows: IntArray) -> int:
        """Raise prices by what the state of lowest energy breaks; returns how much that is."""
        options = self.options
        found = self.relaxation.violations(rows[int(qubo.energy(rows).argmin())])
        # A row that is far off says no more than that it is off: its square already pulls the harder.
        pull = np.clip(found, -1, 1)
        rate = options.rate / self.counts["step"] ** options.decay
        moved = self.multiplier + rate * self.rho * pull
        kept = np.clip(moved, -self.bound, self.bound)
        self.multiplier = np.where(self.relaxation.signed, kept, 0.0)
        grown = np.where(found != 0, options.growth * self.rho, self.rho)
        self.rho = np.minimum(grown, self.unit * options.largest_rho)
        return int((found != 0).sum())

    @property
    def _loss(self) -> float | None:
        return None if self.least == INFEASIBLE else self.least / self.problem.qcbo.scale

    def own_state(self) -> dict[str, Any]:
        """Prices, and the best network."""
        return {
            "rho": self.rho,
            "multiplier": self.multiplier,
            "vector": self.vector,
            "least": self.least,
        }

    def take_own_state(self, state: Mapping[str, Any]) -> None:
        """Take up prices and the best network."""
        self.rho = np.asarray(state["rho"], dtype=np.float64)
        self.multiplier = np.asarray(state["multiplier"], dtype=np.float64)
        self.vector = np.asarray(state["vector"], dtype=np.int64)
        self.least = int(state["least"])
