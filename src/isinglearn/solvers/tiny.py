"""The smallest network there is, for solvers to run their kernels on before the clock starts."""

from __future__ import annotations

from isinglearn import nn
from isinglearn.lowering.pipeline import Problem, compile


def tiny_problem() -> Problem:
    """One hidden unit on two samples, compiled."""
    network = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
    return compile(network, [[0], [1]], [-1, 1])
