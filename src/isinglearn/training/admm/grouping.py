"""Grouping: all samples for the true loss, and groups of them that fit the largest QUBO allowed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isinglearn.data import Dataset
from isinglearn.decode import true_losses
from isinglearn.errors import DataError, NetworkError, ProblemRefused
from isinglearn.lowering.options import Options
from isinglearn.lowering.pipeline import Problem
from isinglearn.nn import Module, Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.training.admm.consensus import Group
from isinglearn.training.compiling import compiled, loss_of
from isinglearn.training.strategy import Task
from isinglearn.training.tasks import run

# Largest QUBO where none is given.
MOST_SPINS = 256


@dataclass(frozen=True, eq=False)
class Whole:
    """All samples: a problem that is only evaluated, never lowered.

    Attributes
    ----------
    problem, data
        The resolved network and all samples.
    input_bits
        Range of the inputs, the same for every group, so that all have the same domains.
    """

    problem: Problem
    data: Dataset
    input_bits: int

    @classmethod
    def of(cls, task: Task, label_scale: int) -> Whole:
        """Turn a task into its data, checked, and its network, resolved."""
        loss = loss_of(task.loss)
        _check_modules(task)
        data = Dataset.of(
            np.asarray(task.X),
            task.y,
            sample_weight=task.weights,
            label_scale=label_scale,
            shape=task.network.input_shape,
        ).weighted()
        loss.check_labels(data)
        given = task.network.input_bits
        bits = data.input_bits if given is None else given
        if data.y.shape[1] != task.network.out_features:
            raise DataError(
                "the data does not fit the network",
                where="y",
                rule=f"{task.network.out_features} columns",
                received=f"{data.y.shape[1]} columns",
                remedy="change the network's last layer or the data",
            )
        return cls(Problem(task.network.resolved(bits), data, loss, Options()), data, bits)

    def part(self, rows: IntArray) -> Dataset:
        """Some of the samples."""
        data = self.data
        return Dataset(data.X[rows], data.y[rows], data.weights[rows], data.label_scale)

    @property
    def scale(self) -> int:
        """Integer loss over loss."""
        return self.problem.loss.scale(self.data, self.problem.network.output_scale)

    def scores(self, vectors: IntArray) -> IntArray:
        """Turn networks into integer losses of all samples, one after the other to bound the memory."""
        return np.array([true_losses(self.problem, vector)[0][0] for vector in vectors])

    def snapped(self, vectors: NDArray[np.number]) -> IntArray:
        """Turn any numbers into the nearest networks."""
        return self.problem.vector_batch(np.rint(vectors).astype(np.int64))

    def metric(self, rho: float) -> NDArray[np.float64]:
        """Turn a strength into that of every parameter's tie, by the width of its domain."""
        unit = self.scale / float(self.data.weights.sum())
        widths = np.array([max(1, d[-1] - d[0]) for d in self.problem.free_domains], float)
        return rho * unit * (2.0 / widths) ** 2


def make_groups(task: Task, whole: Whole, order: IntArray, samples: int) -> list[Group]:
    """Turn samples, in an order, into groups of equal size; one that does not fit is halved."""
    most = task.max_spins or MOST_SPINS
    waiting = [order[at : at + samples] for at in range(0, len(order), samples)]
    groups: list[Group] = []
    while waiting:
        # Workers get the rows of their group and nothing else of the data.
        tasks = [
            (task.network, task.loss, whole.part(rows), rows, whole.input_bits) for rows in waiting
        ]
        waiting = []
        for group in run(_group, tasks, task.parallel):
            if group.qubo.num_variables <= most:
                groups.append(group)
            elif len(group.samples) == 1:
                raise _too_large(group, most)
            else:
                waiting += np.array_split(group.samples, 2)
    return groups


def _group(net: Sequential, loss: str, data: Dataset, rows: IntArray, input_bits: int) -> Group:
    """Turn some samples into their group."""
    problem = compiled(
        net,
        loss,
        data.X.reshape(len(data), *net.input_shape),
        data.y / data.label_scale,
        sample_weight=data.weights,
        # A parameter needs bits of its own for a tie.
        signs="slack",
        order="product",
        label_scale=data.label_scale,
        input_bits=input_bits,
    )
    return Group.of(problem, rows, int(data.weights.sum()))


def _check_modules(task: Task) -> None:
    for module in task.network.modules:
        if type(module).observe is not Module.observe:
            raise NetworkError(
                "this module takes figures from the data, which every group would have others of",
                where=repr(module),
                rule="modules that look at one sample at a time",
                received=repr(task.network),
                remedy="use another strategy, or a network without it",
            )


def _too_large(group: Group, max_spins: int) -> ProblemRefused:
    return ProblemRefused(
        "the QUBO of a single sample is larger than allowed",
        where=f"X[{int(group.samples[0])}], max_spins",
        rule=f"at most {max_spins} spins",
        received=f"{group.qubo.num_variables} spins",
        remedy="raise max_spins, use a smaller network, or strategy='decomposed'",
    )
