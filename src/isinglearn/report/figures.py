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

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour-blind safe: blue for -1, orange for +1.
NEGATIVE, POSITIVE = "#2166ac", "#d95f02"


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


def _panels(
    rows: int, columns: int, width: float, height: float, ratios: list[float] | None = None
) -> tuple[Figure, list[list[Axes]]]:
    # Figure without pyplot: no global state and no display needed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, height_ratios=ratios).tolist()


def draw_decision_regions(trained: Trained, title: str, path: Path) -> None:
    """Turn a trained classifier into a picture of its regions and the data."""
    figure, ((axes,),) = _panels(1, 1, 5.2, 4.6)
    _regions(axes, trained, title)
    figure.savefig(path, dpi=150)


def draw_classifiers(panels: list[tuple[str, Trained]], path: Path) -> None:
    """Turn titled classifiers into one column each: regions and data above, the network below."""
    figure, (above, below) = _panels(2, len(panels), 4.4, 3.5, [1.5, 1.0])
    for top, bottom, (title, trained) in zip(above, below, panels, strict=True):
        _regions(top, trained, title)
        _network(bottom, trained.weights, trained.biases)
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


def _network(
    axes: Axes, weights: list[NDArray[np.float64]], biases: list[NDArray[np.float64]]
) -> None:
    """Units as circles with their biases, weights as lines: colour for the sign, value beside it."""
    widths = [weights[0].shape[1], *(len(weight) for weight in weights)]
    heights = [[(count - 1) / 2 - unit for unit in range(count)] for count in widths]
    for layer, weight in enumerate(weights):
        for (unit, source), value in np.ndenumerate(weight):
            start, end = heights[layer][source], heights[layer + 1][unit]
            colour = POSITIVE if value > 0 else NEGATIVE if value < 0 else "0.7"
            axes.plot([layer, layer + 1], [start, end], color=colour, linewidth=1.5, zorder=1)
            # A third of the way: lines that cross keep their labels apart.
            at = 0.36
            axes.annotate(
                f"{value:+.3g}",
                (layer + at, start + at * (end - start)),
                fontsize="x-small",
                ha="center",
                va="center",
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
                zorder=2,
            )
    for layer, column in enumerate(heights):
        for unit, height in enumerate(column):
            text = f"$x_{unit + 1}$" if layer == 0 else f"{biases[layer - 1][unit]:+.3g}"
            axes.scatter(layer, height, s=620, color="white", edgecolor="0.3", zorder=3)
            axes.annotate(
                text, (layer, height), ha="center", va="center", fontsize="small", zorder=4
            )
    axes.set(
        xlim=(-0.4, len(weights) + 0.4),
        ylim=(-max(widths) / 2, max(widths) / 2),
        title="weights on the lines, biases in the units",
    )
    axes.title.set_fontsize("small")
    axes.axis("off")


def draw_growth(curves: dict[str, dict[str, list[tuple[int, int]]]], path: Path) -> None:
    """Turn ``{letter: {formulation: [(value, spins), ...]}}`` into one panel per letter."""
    figure, (panels,) = _panels(1, len(curves), 4.0, 3.6)
    names = {"N": "samples N", "H": "hidden units H", "L": "layers L"}
    for axes, (letter, lines) in zip(panels, curves.items(), strict=True):
        for formulation, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=formulation)
        values = [value for value, _ in next(iter(lines.values()))]
        axes.set(xlabel=names[letter], ylabel="spins", xscale="log", yscale="log")
        axes.set_xticks(values, map(str, values))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=150)
