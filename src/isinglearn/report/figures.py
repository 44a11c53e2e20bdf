"""Pictures, drawn from plain arrays and records only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isinglearn.lowering.pipeline import Problem
from isinglearn.nn.module import Parameters
from isinglearn.problem.encodings import IntArray
from isinglearn.report.drawing import NEGATIVE, POSITIVE, panels
from isinglearn.report.network_pictures import draw_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Turns integer points (points, 2) into output numerators; their sign is the class.
Predict = Callable[[IntArray], IntArray]


@dataclass(frozen=True, eq=False)
class Trained:
    """What a picture of a trained classifier of two features is drawn from.

    Attributes
    ----------
    predict
        The network on any points.
    X, y
        The data.
    weights, biases
        Values by layer, shapes (units, inputs) and (units,).
    """

    predict: Predict
    X: IntArray
    y: NDArray[np.integer]
    weights: list[NDArray[np.float64]]
    biases: list[NDArray[np.float64]]


def trained(problem: Problem, parameters: Parameters) -> Trained:
    """Turn a problem and parameters into what its picture is drawn from."""
    network = problem.network
    layers = [origin for origin, module in network if module.starts_layer]
    values = {
        name: parameters[name] / spec.domain.denominator
        for name, spec in network.parameters.items()
    }
    return Trained(
        lambda points: network.forward(parameters, points),
        problem.data.X,
        problem.data.y,
        [values[f"{layer}.weight"] for layer in layers],
        [values.get(f"{layer}.bias", np.zeros(len(values[f"{layer}.weight"]))) for layer in layers],
    )


def draw_decision_regions(trained: Trained, title: str, path: Path) -> None:
    """Turn a trained classifier into a picture of its regions and the data."""
    figure, ((axes,),) = panels(1, 1, 5.2, 4.6)
    _regions(axes, trained, title)
    figure.savefig(path, dpi=150)


def draw_classifiers(columns: list[tuple[str, Trained]], path: Path) -> None:
    """Turn titled classifiers into one column each: regions and data above, the network below."""
    figure, (above, below) = panels(2, len(columns), 4.4, 3.5, [1.5, 1.0])
    for top, bottom, (title, trained) in zip(above, below, columns, strict=True):
        _regions(top, trained, title)
        draw_graph(bottom, trained.weights, trained.biases)
        bottom.set_title("weights on the lines, biases in the units", fontsize="small")
    figure.savefig(path, dpi=150)


def _regions(axes: Axes, trained: Trained, title: str) -> None:
    from matplotlib.colors import ListedColormap

    X = trained.X
    reach = int(np.abs(X).max()) + 1
    ticks = np.arange(-reach, reach + 1)
    first, second = np.meshgrid(ticks, ticks)
    labels = trained.predict(np.stack([first.ravel(), second.ravel()], axis=1)) >= 0
    axes.pcolormesh(
        ticks,
        ticks,
        labels.reshape(first.shape),
        cmap=ListedColormap([NEGATIVE, POSITIVE]),
        vmin=0,
        vmax=1,
        alpha=0.25,
        shading="nearest",
    )
    for sign, colour, name in ((-1, NEGATIVE, "-1"), (1, POSITIVE, "+1")):
        own = np.sign(trained.y.ravel()) == sign
        axes.scatter(*X[own].T, color=colour, edgecolor="white", label=f"label {name}", zorder=3)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", title=title, aspect="equal")
    axes.legend(loc="best", fontsize="small")


def draw_growth(curves: dict[str, dict[str, list[tuple[int, int]]]], path: Path) -> None:
    """Turn ``{letter: {formulation: [(value, spins), ...]}}`` into one panel per letter."""
    figure, (row,) = panels(1, len(curves), 4.0, 3.6)
    names = {"N": "samples N", "H": "hidden units H", "L": "layers L"}
    for axes, (letter, lines) in zip(row, curves.items(), strict=True):
        for formulation, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=formulation)
        values = [value for value, _ in next(iter(lines.values()))]
        axes.set(xlabel=names[letter], ylabel="spins", xscale="log", yscale="log")
        axes.set_xticks(values, map(str, values))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=150)
