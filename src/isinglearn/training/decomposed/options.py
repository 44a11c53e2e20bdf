"""Options of decomposed training."""

from __future__ import annotations

from dataclasses import dataclass

from isinglearn.errors import OptionError, check_count


@dataclass(frozen=True)
class Options:
    """How long, and how boldly.

    Attributes
    ----------
    steps
        Batches to look at; prices rise over them, so it is not a mere limit.
    batch
        Samples of a step; all, if there are fewer.
    max_spins
        Largest QUBO. A unit with more moves than that offers the most promising ones.
    memory
        Part of the running means that survives a step.
    window
        Half the width of the ramp that stands for a sign, in typical sums.
    stiffness
        Factor on the curvature of a unit by itself, since all units move at once.
    first_price, last_price
        What a change by 1 costs, in typical slopes of a batch, at the first and at the last step; in between
        it rises by equal ratios. Low prices explore, high ones settle.
    output_price
        Factor on the price for the last layer.
    tolerance
        Changes are refused if they raise the loss of a fresh batch by more than this many standard errors.
    """

    steps: int = 1500
    batch: int = 2000
    max_spins: int = 256
    memory: float = 0.9
    window: float = 1.0
    stiffness: float = 1.5
    first_price: float = 0.04
    last_price: float = 0.4
    output_price: float = 0.5
    tolerance: float = 2.0

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "max_spins"):
            check_count(getattr(self, name), name)
        for name in ("window", "stiffness", "first_price", "last_price", "output_price"):
            _check(getattr(self, name) > 0, name, "a number above 0", getattr(self, name))
        _check(0 <= self.memory < 1, "memory", "a number from 0 to below 1", self.memory)
        _check(self.tolerance >= 0, "tolerance", "a number of at least 0", self.tolerance)

    def price(self, step: int) -> float:
        """Turn a step's number into its price."""
        return self.first_price * (self.last_price / self.first_price) ** (step / self.steps)


def _check(holds: bool, where: str, rule: str, received: object) -> None:
    if not holds:
        raise OptionError(
            "this number is out of its limits",
            where=where,
            rule=rule,
            received=repr(received),
            remedy="leave it out for the default",
        )
