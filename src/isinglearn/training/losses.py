"""Losses with derivatives, for trainers: value, slope and Gauss-Newton curvature per sample and output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.errors import DataError, check_choice

Floats = NDArray[Any]


class Loss(ABC):
    """A loss of outputs ``z``, which are output numerators times a positive scale.

    Attributes
    ----------
    name
        How it is asked for.
    scaled
        Whether predictions do not depend on that scale, so that it may be learned; else ``z`` are the
        network's true outputs.
    """

    name: ClassVar[str]
    scaled: ClassVar[bool] = True

    @abstractmethod
    def targets(self, y: ArrayLike, outputs: int) -> NDArray[Any]:
        """Turn labels into what the other methods take, or raise."""

    @abstractmethod
    def values(self, z: Floats, t: Floats) -> Floats:
        """Loss of every sample."""

    @abstractmethod
    def slopes(self, z: Floats, t: Floats) -> Floats:
        """Derivative of every sample's loss by its outputs."""

    @abstractmethod
    def curvature(self, z: Floats, t: Floats) -> Floats:
        """Diagonal of the second derivative by the outputs (for the square: the whole of it)."""

    def through(self, z: Floats, t: Floats, directions: Floats) -> Floats:
        """``v' F v`` of every sample for every row ``v`` of directions (count, outputs)."""
        return self.curvature(z, t) @ (directions.T * directions.T)

    def through_own(self, z: Floats, t: Floats) -> Floats:
        """``z' F z`` of every sample: the curvature by the logarithm of the outputs' scale."""
        return (self.curvature(z, t) * z * z).sum(axis=1)

    @abstractmethod
    def correct(self, z: Floats, t: Floats) -> NDArray[np.bool_]:
        """Whether every sample is predicted right."""


class CrossEntropy(Loss):
    """``-log softmax(z)[t]``; labels are the classes 0, 1, ..."""

    name = "cross_entropy"

    def targets(self, y: ArrayLike, outputs: int) -> NDArray[Any]:
        """Class numbers, shape (samples,)."""
        labels = _column(y, 1)[:, 0]
        whole = np.rint(labels)
        _refuse((whole != labels) | (whole < 0) | (whole >= outputs), labels, f"0..{outputs - 1}")
        return whole.astype(np.int64)

    @staticmethod
    def _shares(z: Floats) -> Floats:
        shares = np.exp(z - z.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def values(self, z: Floats, t: Floats) -> Floats:
        """``log sum exp z - z[t]``."""
        top = z.max(axis=1)
        total = np.log(np.exp(z - top[:, None]).sum(axis=1))
        return total + top - z[np.arange(len(z)), t]

    def slopes(self, z: Floats, t: Floats) -> Floats:
        """``p - onehot``."""
        shares = self._shares(z)
        shares[np.arange(len(z)), t] -= 1
        return shares

    def curvature(self, z: Floats, t: Floats) -> Floats:
        """``p (1 - p)``."""
        shares = self._shares(z)
        return shares * (1 - shares)

    def through(self, z: Floats, t: Floats, directions: Floats) -> Floats:
        """With the whole Fisher matrix: the variance of ``v`` under ``p``."""
        shares = self._shares(z)
        mean = shares @ directions.T
        return np.maximum(shares @ (directions.T * directions.T) - mean * mean, 0)

    def through_own(self, z: Floats, t: Floats) -> Floats:
        """The variance of ``z`` under ``p``."""
        shares = self._shares(z)
        mean = (shares * z).sum(axis=1)
        return np.maximum((shares * z * z).sum(axis=1) - mean * mean, 0)

    def correct(self, z: Floats, t: Floats) -> NDArray[np.bool_]:
        """The largest output, the first of equal ones, is the class."""
        return z.argmax(axis=1) == t


class _Margin(Loss):
    """Losses of ``t z`` with labels -1 and +1 for each output."""

    def targets(self, y: ArrayLike, outputs: int) -> NDArray[Any]:
        """Signs, shape (samples, outputs)."""
        labels = _column(y, outputs)
        _refuse(np.abs(labels) != 1, labels, "-1 or +1")
        return labels

    def correct(self, z: Floats, t: Floats) -> NDArray[np.bool_]:
        """The sign of every output, 0 counted as +1, is the label's."""
        return ((z >= 0) == (t > 0)).all(axis=1)


class Logistic(_Margin):
    """``log(1 + exp(-t z))``, summed over the outputs."""

    name = "logistic"

    def values(self, z: Floats, t: Floats) -> Floats:
        """Summed over the outputs."""
        return np.logaddexp(0, -t * z).sum(axis=1)

    def slopes(self, z: Floats, t: Floats) -> Floats:
        """``-t / (1 + exp(t z))``."""
        return -t * _logistic(-t * z)

    def curvature(self, z: Floats, t: Floats) -> Floats:
        """``p (1 - p)``."""
        share = _logistic(z)
        return share * (1 - share)


class Hinge(_Margin):
    """``max(0, 1 - t z)`` summed over the outputs, as in :class:`isinglearn.nn.Hinge`."""

    name = "hinge"
    scaled = False

    def values(self, z: Floats, t: Floats) -> Floats:
        """Summed over the outputs."""
        return np.maximum(1 - t * z, 0).sum(axis=1)

    def slopes(self, z: Floats, t: Floats) -> Floats:
        """``-t`` within the margin."""
        return -t * (t * z < 1)

    def curvature(self, z: Floats, t: Floats) -> Floats:
        """None."""
        return np.zeros_like(z)


class SquaredHinge(_Margin):
    """``max(0, 1 - t z)^2 / 2`` summed over the outputs: a hinge with curvature."""

    name = "squared_hinge"

    def values(self, z: Floats, t: Floats) -> Floats:
        """Summed over the outputs."""
        return (np.maximum(1 - t * z, 0) ** 2).sum(axis=1) / 2

    def slopes(self, z: Floats, t: Floats) -> Floats:
        """``-t max(0, 1 - t z)``."""
        return -t * np.maximum(1 - t * z, 0)

    def curvature(self, z: Floats, t: Floats) -> Floats:
        """1 within the margin."""
        return (t * z < 1).astype(z.dtype)


class Square(Loss):
    """``|z - t|^2`` summed over the outputs, as in :class:`isinglearn.nn.MSE`; for regression."""

    name = "square"
    scaled = False

    def targets(self, y: ArrayLike, outputs: int) -> NDArray[Any]:
        """Real labels, shape (samples, outputs)."""
        return _column(y, outputs)

    def values(self, z: Floats, t: Floats) -> Floats:
        """Summed over the outputs."""
        return ((z - t) ** 2).sum(axis=1)

    def slopes(self, z: Floats, t: Floats) -> Floats:
        """``2 (z - t)``."""
        return 2 * (z - t)

    def curvature(self, z: Floats, t: Floats) -> Floats:
        """2 everywhere."""
        return np.full_like(z, 2)

    def correct(self, z: Floats, t: Floats) -> NDArray[np.bool_]:
        """The signs agree, which means something where labels are -1 and +1."""
        return ((z >= 0) == (t > 0)).all(axis=1)


LOSSES: dict[str, type[Loss]] = {
    kind.name: kind for kind in (CrossEntropy, Logistic, Hinge, SquaredHinge, Square)
}


def loss_named(name: str) -> Loss:
    """Turn a name into its loss."""
    return LOSSES[check_choice(name, LOSSES, "loss")]()


def _logistic(z: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * z))


def _column(y: ArrayLike, outputs: int) -> NDArray[np.float64]:
    labels = np.asarray(y, dtype=np.float64)
    if labels.ndim == 1:
        labels = labels[:, None]
    if labels.ndim != 2 or labels.shape[1] != outputs or not np.isfinite(labels).all():
        raise DataError(
            "labels do not fit the network",
            where="y",
            rule=f"finite numbers of shape (samples, {outputs})",
            received=f"shape {labels.shape}",
            remedy="cross entropy takes class numbers, other losses a value for each output",
        )
    return labels


def _refuse(bad: NDArray[np.bool_], labels: NDArray[np.float64], rule: str) -> None:
    if bad.any():
        raise DataError(
            "a label is not one that this loss knows",
            where="y",
            rule=rule,
            received=labels[bad].flat[0],
            remedy="encode the labels that way, or choose another loss",
        )
