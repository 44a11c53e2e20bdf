"""Options that describe a network and how it is lowered, and a table as what the compiler takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from isinglearn.cli.parameters import one_of, widths
from isinglearn.errors import DataError
from isinglearn.lowering.options import ORDERS, SIGNS

if TYPE_CHECKING:
    from isinglearn.nn import Sequential
    from isinglearn.tables import Table, Task

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# As isinglearn.estimators has them; its import takes a second.
ACTIVATIONS = ("sign", "relu", "leaky_relu", "abs")
INPUT_BITS = click.IntRange(0, 30)
WEIGHT_BITS = click.IntRange(1, 16)


def network_options(*, hidden: str, weight_bits: int | None) -> Decorator:
    """Give a command the options of a network, with these defaults."""
    options = (
        click.option(
            "-H",
            "--hidden",
            default=hidden,
            show_default=True,
            metavar="H,...",
            callback=widths,
            help="Widths of the hidden layers.",
        ),
        click.option(
            "--activation",
            default="sign",
            show_default=True,
            **one_of(ACTIVATIONS),
            help="Behind every hidden layer.",
        ),
        click.option(
            "-B",
            "--input-bits",
            default=4,
            show_default=True,
            type=INPUT_BITS,
            metavar="N",
            help="Features become whole numbers from -2^B to 2^B.",
        ),
        click.option(
            "--weight-bits",
            default=weight_bits,
            show_default=weight_bits is not None,
            type=WEIGHT_BITS,
            metavar="N",
            help="Bits of the weights; 1 is a sign."
            + ("" if weight_bits else " By default the paper's: signs in hidden layers."),
        ),
    )

    return _all_of(options)


def lowering_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of the compiler that change the number of spins."""
    options = (
        click.option(
            "--order",
            default="auto",
            show_default=True,
            **one_of(ORDERS),
            help="Products before squaring, or after; by default what needs fewer spins.",
        ),
        click.option(
            "--signs",
            default="auto",
            show_default=True,
            **one_of(SIGNS),
            help="How sign units of the compact form are written.",
        ),
        click.option("--box", is_flag=True, help="Confine predictions to the paper's range."),
    )
    return _all_of(options)(function)


def _all_of(options: tuple[Decorator, ...]) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


@dataclass(frozen=True, eq=False)
class Samples:
    """A network with the integer inputs and the labels in [-1, 1] that it is to be compiled with."""

    network: Sequential
    X: Any
    y: Any


def samples_of(
    table: Table,
    task: Task,
    hidden: tuple[int, ...],
    *,
    activation: str,
    input_bits: int,
    weight_bits: int | None,
    loss: str = "square",
    label_scale: int = 1,
) -> Samples:
    """Turn a table into what ``isinglearn train --strategy direct`` would compile all of it to.

    Two classes are -1 and +1, of several each has an output, and numbers lie between -1 and 1 in steps of
    ``1 / label_scale``.
    """
    import numpy as np

    from isinglearn.estimators.networks import network_of
    from isinglearn.model.quantiser import Quantiser
    from isinglearn.training.labels import class_targets, labels_for, on_grid

    labels = table.labels(task)
    outputs = 1
    if task == "regress":
        low, high = float(labels.min()), float(labels.max())
        y: Any = on_grid(labels, low, high, label_scale) / label_scale
    else:
        classes, number = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                "the samples are all of one class",
                where=f"column {table.target}",
                rule="at least two classes",
                received=f"the class {classes[0]} alone",
                remedy="add rows of another class, or name another target",
            )
        targets, outputs, signs = class_targets(number, len(classes))
        y = labels_for(loss, targets, outputs, signs)
    network = network_of(
        table.X.shape[1],
        hidden,
        outputs,
        activation=activation,
        input_bits=input_bits,
        weight_bits=weight_bits,
        numbers=task == "regress",
    )
    return Samples(network, Quantiser.of(table.X, input_bits)(table.X), y)
