"""How good a heuristic is: success probability, time to solution, losses, confusion; exact counts in.

Every figure says how sure it is: probabilities have Clopper-Pearson intervals, whose coverage is never
below the confidence stated, and times the intervals that follow from these.
"""

from __future__ import annotations

from isinglearn.metrics.predictions import Confusion, confusion
from isinglearn.metrics.reads import Proportion, Successes, loss_histogram, successes
from isinglearn.metrics.rounding import rounding_effect
from isinglearn.metrics.times import Measurement, Outcome, TimeToSolution, measure, time_to_solution

__all__ = [
    "Confusion",
    "Measurement",
    "Outcome",
    "Proportion",
    "Successes",
    "TimeToSolution",
    "confusion",
    "loss_histogram",
    "measure",
    "rounding_effect",
    "successes",
    "time_to_solution",
]
