"""Decomposed training: every step small QUBOs, one per unit, whose size does not depend on the data.

A step looks at one batch. For every unit it has a quadratic model of the loss (:mod:`memory`), which becomes
a QUBO over the moves of the unit's weights and bias (:mod:`blocks`), and a solver chooses. What all units
chose is then judged together, on a fresh batch, by the true loss, and taken unless that got worse beyond
the batch's own error. The price of a move rises with the steps, as a temperature falls, and with every
refusal, as the damping of Levenberg and Marquardt does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import check_count
from isinglearn.nn import Parameters, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.training.batches import Batches, Source
from isinglearn.training.chain import Chain, check_rows, inputs_of
from isinglearn.training.checkpoint import check_state, signature_of
from isinglearn.training.decomposed.blocks import solve_units
from isinglearn.training.decomposed.memory import blank_memories, random_parameters
from isinglearn.training.decomposed.options import Options
from isinglearn.training.decomposed.quadratic import BlockSolver, DenseAnnealer
from isinglearn.training.decomposed.slopes import (
    Pass,
    Slopes,
    shard_losses,
    shard_slopes,
    shard_trial,
)
from isinglearn.training.losses import loss_named
from isinglearn.training.tasks import Parallel, run

# Of what :meth:`Decomposed.state` gives.
FORMAT = 2
# Units whose QUBOs are one task.
_GROUP = 16
# Outputs begin with this scale, in units of the largest output weight.
_OUTPUT_SCALE = 0.3
# Newton steps of the scale's logarithm: half of each, at most this much, divided by no less than this.
_SCALE_PART, _SCALE_STEP, _SCALE_LEAST = 0.5, 0.2, 1e-6
# A refusal makes moves dearer by the first; a step that is taken makes them cheaper by the second, down to 1.
_DEARER, _CHEAPER = 1.5, 0.8


class Decomposed:
    """Training under way: call :meth:`step` until ``done``, then take ``result``.

    Parameters
    ----------
    network
        Linear, Sign, ..., Linear of any depth, with any domains and frozen parameters.
    X
        Integers (samples, features); may be memory-mapped, only the rows of a batch are read at a time.
    y
        Class numbers for ``"cross_entropy"``, -1 and +1 for ``"logistic"`` and ``"squared_hinge"``,
        numbers for ``"square"``.
    loss : {"cross_entropy", "logistic", "squared_hinge", "square"}
        What is minimised.
    options
        How long, and how boldly.
    seed
        Same seed, same result, whatever ``parallel`` is.
    solver
        Turns a symmetric matrix and a seed into bits; our annealer if not given.
    start
        Parameters to begin with instead of random ones.
    parallel
        A ``joblib.Parallel`` to run tasks through, one after the other if not given.
    """

    def __init__(
        self,
        network: Sequential,
        X: ArrayLike,
        y: ArrayLike,
        *,
        loss: str = "cross_entropy",
        options: Options | None = None,
        seed: int = 0,
        solver: BlockSolver | None = None,
        start: Mapping[str, IntArray] | None = None,
        parallel: Parallel | None = None,
    ) -> None:
        inputs = inputs_of(X)
        self.options = options or Options()
        self.seed = check_count(seed, "seed", 0)
        self.chain = Chain.of(network, inputs)
        self.loss = loss_named(loss)
        targets = self.loss.targets(y, self.chain.last.units)
        check_rows(self.chain, inputs, targets)
        self.X, self.targets = Source(inputs), Source(targets)
        self.solver, self.parallel = solver or DenseAnnealer(), parallel
        size = min(self.options.batch, len(inputs))
        self.batches = Batches(len(inputs), size, self.seed)
        self.memories = blank_memories(self.chain, self.X)
        self.parameters = (
            random_parameters(self.chain, self.memories, self.seed)
            if start is None
            else self.chain.check(start)
        )
        last = self.chain.last
        largest = max(last.weight.largest, 1.0) * last.weight_factor
        self.scale = (
            _OUTPUT_SCALE / largest if self.loss.scaled else 1 / self.chain.network.output_scale
        )
        self.damping = 1.0
        self.counts = {"step": 0, "qubos": 0, "spins": 0, "moves": 0, "taken": 0, "refused": 0}
        # Only where a batch is all there is: the least loss, and the parameters and scale that had it.
        self.least = np.inf
        self.best, self.best_scale = self.parameters, self.scale
        # Slopes of the batch that the next step looks at, left over from judging.
        self._ahead: Slopes | None = None

    @property
    def done(self) -> bool:
        """Whether all steps were taken."""
        return self.counts["step"] >= self.options.steps

    @property
    def result(self) -> Parameters:
        """The parameters to keep: the best where every batch is the whole data, else the present ones."""
        return self.best if self._sees_all else self.parameters

    @property
    def result_scale(self) -> float:
        """The scale of the outputs that belongs to ``result``."""
        return self.best_scale if self._sees_all else self.scale

    @property
    def _sees_all(self) -> bool:
        """Whether a batch is all there is, so that its loss is that of the data."""
        return self.batches.size == self.batches.rows

    def step(self) -> float:
        """Look at one batch, let every unit's QUBO choose, judge; returns the loss before."""
        number = self.counts["step"]
        seen = self._ahead or self._slopes(number)
        rate = max(1 - self.options.memory, 1 / (number + 1))
        for memory, layer in zip(self.memories, seen.layers, strict=True):
            memory.take(layer, rate)
        self._note(seen.loss, self.parameters)
        if self.loss.scaled:
            newton = seen.scale_slope / max(seen.scale_curvature, _SCALE_LEAST)
            self.scale *= float(np.exp(-_SCALE_PART * np.clip(newton, -_SCALE_STEP, _SCALE_STEP)))
        self._ahead = None
        self.counts["step"] += 1
        self._try(number)
        return seen.loss

    def evaluate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        parameters: Parameters | None = None,
        weights: IntArray | None = None,
        scale: float | None = None,
    ) -> tuple[float, float]:
        """Turn data into the mean loss of ``result`` (or others) and the part that is predicted right.

        ``scale`` is that of other parameters' outputs, if it is not the present one.
        """
        inputs = inputs_of(X)
        targets = self.loss.targets(y, self.chain.last.units)
        check_rows(self.chain, inputs, targets)
        if parameters is None:
            parameters, scale = self.result, self.result_scale
        given = self._pass(parameters, scale)
        shards = Batches(len(inputs), len(inputs), 0).shards(0)
        tasks = [(given, Source(inputs), Source(targets), shard) for shard in shards]
        judged = self._map(shard_losses, tasks)
        losses = np.concatenate([loss for loss, _ in judged])
        right = np.concatenate([right for _, right in judged])
        return float(np.average(losses, weights=weights)), float(right.mean())

    # -- a step ------------------------------------------------------------------------------------

    def _try(self, number: int) -> None:
        """Solve the QUBOs of all units and judge what they chose on the next batch."""
        candidate = {name: value.copy() for name, value in self.parameters.items()}
        chosen: list[list[Any]] = [[] for _ in self.memories]
        tasks = self._blocks(number)
        for (index, *_), changes in zip(
            tasks, self._map(solve_units, [task[1:] for task in tasks]), strict=True
        ):
            name = self.memories[index].layer.name
            chosen[index] += changes
            for change in changes:
                candidate[f"{name}.weight"][change.unit] = change.weight
                if change.bias is not None:
                    candidate[f"{name}.bias"][change.unit] = change.bias
                self.counts["qubos"] += 1
                self.counts["spins"] = max(self.counts["spins"], change.spins)
        moved = sum(int(np.count_nonzero(c.step)) for changes in chosen for c in changes)
        if not moved:
            return
        before, after = self._pass(self.parameters), self._pass(candidate)
        shards = self.batches.shards(number + 1)
        trials = self._map(
            shard_trial, [(before, after, self.X, self.targets, shard) for shard in shards]
        )
        rise = np.concatenate([new[0] - old[0] for old, new, _ in trials])
        if rise.mean() > self.options.tolerance * rise.std() / np.sqrt(len(rise)):
            self.damping *= _DEARER
            self.counts["refused"] += 1
            return
        self.damping = max(1.0, self.damping * _CHEAPER)
        self.counts["taken"] += 1
        self.counts["moves"] += moved
        self.parameters = candidate
        for memory, changes in zip(self.memories, chosen, strict=True):
            memory.carry(changes, self.options.stiffness)
        self._ahead = Slopes.total([slopes for *_, slopes in trials])
        self._note(self._ahead.loss, candidate)

    def _blocks(self, number: int) -> list[tuple[Any, ...]]:
        """The step's QUBOs as tasks: number of the layer, then what ``solve_units`` takes."""
        price = self.options.price(number) * self.damping
        tasks: list[tuple[Any, ...]] = []
        for index, memory in enumerate(self.memories):
            factor = self.options.output_price if memory.layer is self.chain.last else 1.0
            model = memory.model(self.parameters, price * factor, self.options.stiffness)
            sequence = np.random.SeedSequence(self.seed, spawn_key=(2, number, index))
            # Samplers take seeds of 31 bits.
            seeds = sequence.generate_state(memory.layer.units) >> 1
            for at in range(0, memory.layer.units, _GROUP):
                rows = slice(at, at + _GROUP)
                part = model.part(rows)
                tasks.append((index, part, self.solver, self.options.max_spins, seeds[rows]))
        return tasks

    def _slopes(self, number: int) -> Slopes:
        given = self._pass(self.parameters)
        tasks = [(given, self.X, self.targets, shard) for shard in self.batches.shards(number)]
        return Slopes.total([slopes for slopes, _ in self._map(shard_slopes, tasks)])

    def _pass(self, parameters: Parameters, scale: float | None = None) -> Pass:
        kind = self.chain.dtype
        return Pass(
            self.chain,
            self.loss,
            self.chain.arrays(parameters),
            self.scale if scale is None else scale,
            [self.options.window * memory.typical for memory in self.memories[:-1]],
            [memory.shift.astype(kind) for memory in self.memories],
        )

    def _note(self, loss: float, parameters: Parameters) -> None:
        if self._sees_all and loss < self.least:
            self.least, self.best, self.best_scale = loss, parameters, self.scale

    def _map(self, function: Callable[..., Any], tasks: list[Any]) -> list[Any]:
        return run(function, tasks, self.parallel)

    # -- checkpoints -------------------------------------------------------------------------------

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything that a step changes, as plain arrays; ``numpy.savez`` writes it as it is."""
        state: dict[str, Any] = {f"counts.{name}": count for name, count in self.counts.items()}
        state |= {"format": FORMAT, "signature": self.signature}
        state |= {"scale": self.scale, "damping": self.damping, "least": self.least}
        state |= {"best_scale": self.best_scale}
        for name in self.parameters:
            state[f"parameters.{name}"] = self.parameters[name].copy()
            state[f"best.{name}"] = self.best[name].copy()
        for memory in self.memories:
            state |= {f"memory.{name}": value for name, value in memory.state().items()}
        return {name: np.asarray(value) for name, value in state.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up what :meth:`state` gave; further steps are those of an undisturbed run."""
        check_state(state, FORMAT, self.signature)
        self.counts = {name: int(state[f"counts.{name}"]) for name in self.counts}
        self.scale, self.damping = float(state["scale"]), float(state["damping"])
        self.least, self.best_scale = float(state["least"]), float(state["best_scale"])
        names = list(self.parameters)
        self.parameters = self.chain.check({n: state[f"parameters.{n}"] for n in names})
        self.best = self.chain.check({n: state[f"best.{n}"] for n in names})
        mine = {n.removeprefix("memory."): v for n, v in state.items() if n.startswith("memory.")}
        for memory in self.memories:
            memory.restore(mine)
        self._ahead = None

    @property
    def signature(self) -> str:
        """What a checkpoint must agree with, as a short text."""
        about = (self.X.array.shape, self.loss.name, self.options, self.seed)
        return signature_of(self.chain.network, about)
