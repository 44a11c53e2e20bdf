"""Networks of the estimators: a shape and a precision to layers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from isinglearn.errors import OptionError, check_choice, check_count
from isinglearn.nn import (
    Abs,
    Domain,
    Fixed,
    Int,
    LeakyReLU,
    Linear,
    Module,
    ReLU,
    Sequential,
    Sign,
    Spin,
)

ACTIVATIONS: dict[str, type[Module]] = {
    "sign": Sign,
    "relu": ReLU,
    "leaky_relu": LeakyReLU,
    "abs": Abs,
}
# A bias can move a unit's threshold as far as this many inputs together.
_REACH = 4
# Coarser outputs than this tell too few things apart.
_LAST_BITS = 4


def network_of(
    features: int,
    hidden: Any,
    outputs: int,
    *,
    activation: str,
    input_bits: int,
    weight_bits: int | None,
    numbers: bool = False,
) -> Sequential:
    """Turn widths and precisions into a network.

    Weights of ``b`` bits are whole numbers in ``[-(2^(b-1) - 1), 2^(b-1) - 1]``, or -1 and +1 for one bit. In
    the last layer there are at least 4 bits, and the largest weight stands for 1. Where outputs are
    ``numbers`` in ``[-1, 1]``, and not only compared, it has two bits more, and all its weights together
    reach about 2. ``None`` leaves all domains to the paper.
    """
    widths = [features, *_widths(hidden), outputs]
    between = ACTIVATIONS[check_choice(activation, ACTIVATIONS, "activation")]
    if weight_bits is not None:
        check_count(weight_bits, "weight_bits", 1, 16)
    modules: list[Module] = []
    for number, (before, after) in enumerate(pairwise(widths), start=1):
        first, last = number == 1, number == len(widths) - 1
        domains: dict[str, Domain] = {}
        if weight_bits is not None:
            # Behind a sign all values are -1 and +1; in front of it they are inputs.
            largest = 2**input_bits if first or activation != "sign" else 1
            span = min(before, _REACH) * largest
            if last and numbers:
                domains = _numbers(weight_bits, max(1, before // 2) * largest)
            else:
                domains = _compared(weight_bits, span) if last else _inner(weight_bits, span)
        modules += [Linear(before, after, **domains), between()]  # type: ignore[arg-type]
    return Sequential(*modules[:-1], input_bits=input_bits)


def _inner(bits: int, span: int) -> dict[str, Domain]:
    most = max(2 ** (bits - 1) - 1, 1)
    weight = Spin() if bits == 1 else Int(-most, most)
    return {"weight": weight, "bias": Int(-most * span, most * span)}


def _compared(bits: int, span: int) -> dict[str, Domain]:
    most = 2 ** (max(bits, _LAST_BITS) - 1) - 1
    return {"weight": Fixed(-most, most, most), "bias": Fixed(-most * span, most * span, most)}


def _numbers(bits: int, inputs: int) -> dict[str, Domain]:
    most = 2 ** (max(bits, _LAST_BITS) + 1) - 1
    unit = most * inputs
    return {"weight": Fixed(-most, most, unit), "bias": Fixed(-unit, unit, unit)}


def _widths(hidden: Any) -> list[int]:
    try:
        if isinstance(hidden, str):
            raise TypeError
        return [check_count(width, "hidden") for width in hidden]
    except TypeError:
        raise OptionError(
            "these are no widths of layers",
            where="hidden",
            rule="whole numbers in a tuple, one for each hidden layer",
            received=repr(hidden),
            remedy="for one layer of 8 units hidden=(8,)",
        ) from None
