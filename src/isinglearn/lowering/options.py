"""The choices a user has when compiling, checked once."""

from __future__ import annotations

from dataclasses import dataclass

from isinglearn.errors import OptionError, check_choice, check_count

FORMULATIONS = ("compact", "paper")
ORDERS = ("auto", "mixed", "square", "product")
SIGNS = ("auto", "slack", "threshold")


@dataclass(frozen=True)
class Options:
    """How to lower.

    Attributes
    ----------
    formulation
        ``compact``: fewest spins; ``paper``: appendix C and D to the letter.
    order
        ``square``: square all rows, then reduce; ``product``: give all products their bits, then square;
        ``mixed``: products first in penalties, square first in the objective; ``auto``: ``mixed`` or
        ``product``, whichever needs fewer spins. The paper form is always ``square``.
    signs
        How sign units of the compact form are written: ``slack`` (two's complement), ``threshold``
        (one bit per distinct behaviour, where a unit has few settings), or ``auto``, the smaller by an
        estimate.
    box
        Confine predictions to the paper's range; always so in the paper form.
    penalty, product_weight
        Weights set by hand, in integer energy units; not certified then.
    """

    formulation: str = "compact"
    order: str = "auto"
    signs: str = "auto"
    box: bool = False
    penalty: int | None = None
    product_weight: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.formulation, FORMULATIONS, "formulation")
        check_choice(self.order, ORDERS, "order")
        check_choice(self.signs, SIGNS, "signs")
        if not isinstance(self.box, bool):
            raise OptionError(
                "box is a switch",
                where="box",
                rule="True or False",
                received=repr(self.box),
                remedy="box=True confines predictions to the paper's range",
            )
        if self.paper:
            check_choice(self.order, ("auto", "square"), "order with formulation='paper'")
            check_choice(self.signs, ("auto",), "signs with formulation='paper'")
            object.__setattr__(self, "order", "square")
        for name in ("penalty", "product_weight"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, check_count(value, name, 1, 2**61))

    @property
    def paper(self) -> bool:
        """Whether the paper's form is wanted."""
        return self.formulation == "paper"

    @property
    def repairable(self) -> bool:
        """Whether every parameter setting is feasible, so that a forward pass repairs any assignment."""
        return not (self.paper or self.box)
