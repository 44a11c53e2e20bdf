"""The five instances of the paper: tasks I to III, MNIST 6/9 on four images, two moons.

The paper shows its data only as pictures. Tasks I to III: found by the seeded search of
``isinglearn.paper.task_search`` such that everything the paper states of them holds. MNIST: chosen by the
rule of ``isinglearn.paper.mnist_choice`` from the training images alone. Two moons: scikit-learn's, see
:func:`two_moons`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isinglearn import nn
from isinglearn.data import quantise
from isinglearn.problem.encodings import IntArray


@dataclass(frozen=True, eq=False)
class Instance:
    """Data and shape of one experiment, with the figures that the paper prints (None: not printed)."""

    name: str
    X: IntArray
    y: IntArray
    hidden: int
    layers: int
    input_bits: int
    paper_qcbo: int | None
    paper_qubo: int | None

    @property
    def network(self) -> nn.Sequential:
        """The paper's network of this shape."""
        features = self.X.shape[1]
        return nn.paper_network(features, self.hidden, self.layers, 1, self.input_bits)


def _instance(
    name: str,
    X: list[list[int]],
    y: list[int],
    shape: tuple[int, int, int],
    figures: tuple[int, int],
) -> Instance:
    return Instance(name, np.array(X), np.array(y), *shape, *figures)


def two_moons(samples: int = 50) -> Instance:
    """Two moons as in the paper's first verification.

    ``make_moons(samples, noise=0.05, random_state=0)``, each feature scaled from its range to [-16, 16]
    and rounded, labels -1 and +1.
    """
    from sklearn.datasets import make_moons

    points, labels = make_moons(samples, noise=0.05, random_state=0)
    figure = 3839 if samples == 50 else None
    return Instance("moons", quantise(points, 4), 2 * labels - 1, 3, 2, 4, figure, None)


TASKS = (
    _instance(
        "I",
        [[-4, -3], [0, 1], [-4, 4], [3, -4], [-3, 1], [4, 4]],
        [-1, 1, 1, 1, -1, -1],
        (1, 2, 2),
        (137, 183),
    ),
    _instance(
        "II",
        [[4, -1], [-2, 4], [2, -4], [-1, -4], [-2, -1], [3, 3], [1, 0]],
        [-1, 1, 1, -1, -1, -1, 1],
        (2, 2, 2),
        (303, 431),
    ),
    _instance(
        "III",
        [[0, 4], [2, -3], [-3, 4], [4, 0], [-1, -4], [1, 1]],
        [-1, -1, 1, 1, 1, -1],
        (2, 3, 2),
        (351, 530),
    ),
)

MNIST = _instance(
    "MNIST",
    [[-1, -1, 0, -1], [1, -1, 1, 1], [-1, 0, -1, 0], [1, 1, 0, -1]],
    [1, 1, -1, -1],
    (1, 2, 0),
    (84, 108),
)


def instances() -> list[Instance]:
    """All five, in the order of the paper's tables."""
    return [*TASKS, MNIST, two_moons()]
