"""A network and labelled data to its confusion matrix and accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from isinglearn.data import Dataset
from isinglearn.errors import (
    DataError,
)
from isinglearn.nn.module import Parameters
from isinglearn.nn.sequential import Sequential


@dataclass(frozen=True)
class Confusion:
    """Which labels were predicted as which.

    Attributes
    ----------
    matrices
        One for each output: ``matrix[true][predicted]`` samples, -1 first and then +1.
    right, samples
        Samples whose outputs are all predicted right, of how many.
    """

    matrices: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    right: int
    samples: int

    @property
    def accuracy(self) -> Fraction:
        """Share of the samples that are predicted right."""
        return Fraction(self.right, self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "matrices": [[list(row) for row in matrix] for matrix in self.matrices],
            "right": self.right,
            "samples": self.samples,
            "accuracy": float(self.accuracy),
        }


def confusion(network: Sequential, parameters: Parameters, X: ArrayLike, y: ArrayLike) -> Confusion:
    """Turn a network and labelled data into counts of predictions, by sign; 0 counts as +1.

    Parameters
    ----------
    network, parameters
        ``problem.network``, and numerators by name such as ``run.best.parameters``.
    X, y
        Integer inputs as for ``isinglearn.compile``, and labels whose sign is the class.
    """
    data = Dataset.of(X, y, shape=network.input_shape)
    if network.out_features != data.y.shape[1]:
        raise DataError(
            "the data does not fit the network",
            where="y",
            rule=f"{network.out_features} labels per sample, as {network} has",
            received=f"{data.y.shape[1]} labels",
            remedy="change the data",
        )
    predicted = network.forward(parameters, data.X) >= 0
    actual = data.y >= 0
    matrices = []
    for truth, guess in zip(actual.T, predicted.T, strict=True):
        negative, positive = (
            (int((~guess[own]).sum()), int(guess[own].sum())) for own in (~truth, truth)
        )
        matrices.append((negative, positive))
    right = int((predicted == actual).all(axis=1).sum())
    return Confusion(tuple(matrices), right, len(data))
