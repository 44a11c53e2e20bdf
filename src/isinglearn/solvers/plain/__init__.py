"""Problems that are not ours: QUBOs and constrained problems from files, by the same solvers."""

from __future__ import annotations

from isinglearn.solvers.plain.qubo import PlainQUBO as PlainQUBO
from isinglearn.solvers.plain.solving import Solved as Solved
from isinglearn.solvers.plain.solving import answer as answer
from isinglearn.solvers.plain.solving import solve as solve
from isinglearn.solvers.plain.solving import taker as taker
from isinglearn.solvers.plain.solving import takers as takers
