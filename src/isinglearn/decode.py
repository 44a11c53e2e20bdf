"""Bits to networks: decode the parameters, repair everything else by a forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import HUBO, QUBO


@dataclass(frozen=True, eq=False)
class Solution:
    """One network with its true loss.

    Attributes
    ----------
    parameters
        Integer numerators by name.
    loss
        Exact loss of the forward pass, whatever the bits claimed.
    bits
        The assignment it was decoded from, if there was one.
    """

    parameters: Parameters
    loss: Fraction
    bits: IntArray | None = None


def decode_vectors(problem: Problem, form: HUBO | QUBO, bits: ArrayLike) -> IntArray:
    """Turn reads (reads, n) into vectors of free parameters, snapped into their domains."""
    count = len(problem.free_domains)
    values = form.decode(bits)[:, :count]
    return problem.vector_batch(values)


def true_losses(problem: Problem, vectors: ArrayLike) -> tuple[IntArray, int]:
    """Turn vectors of free parameters into integer losses of the forward pass, and their scale."""
    data = problem.data
    outputs = problem.network.forward(problem.parameters(np.atleast_2d(vectors)), data.X)
    scale = problem.network.output_scale
    return problem.loss.evaluate(data, outputs, scale), problem.loss.scale(data, scale)


def solution(problem: Problem, vector: IntArray, bits: IntArray | None = None) -> Solution:
    """Turn one vector of free parameters into a network with its true loss."""
    losses, scale = true_losses(problem, vector)
    return Solution(problem.parameters(vector), Fraction(int(losses[0]), scale), bits)


def accuracy(problem: Problem, parameters: Parameters) -> Fraction:
    """Share of samples whose outputs all have the sign of their label (0 counts as +1)."""
    outputs = problem.network.forward(parameters, problem.data.X)
    right = ((outputs >= 0) == (problem.data.y >= 0)).all(axis=-1)
    return Fraction(int(right.sum()), len(right))
