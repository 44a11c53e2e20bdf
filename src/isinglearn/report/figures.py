"""Pictures, drawn from plain arrays and records only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from isinglearn.problem.encodings import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colour-blind safe: blue for -1, orange for +1.
NEGATIVE, POSITIVE = "#2166ac", "#d95f02"


def _figure(width: float, height: float) -> tuple[Figure, Axes]:
    # Figure without pyplot: no global state and no display needed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def draw_decision_regions(
    predict: Callable[[IntArray], IntArray],
    X: IntArray,
    y: NDArray[np.integer],
    title: str,
    path: Path,
) -> None:
    """Turn a classifier of two integer features and its data into a picture of regions and points."""
    from matplotlib.colors import ListedColormap

    figure, axes = _figure(5.2, 4.6)
    reach = int(np.abs(X).max()) + 1
    ticks = np.arange(-reach, reach + 1)
    first, second = np.meshgrid(ticks, ticks)
    labels = predict(np.stack([first.ravel(), second.ravel()], axis=1)) >= 0
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
        own = np.sign(y.ravel()) == sign
        axes.scatter(*X[own].T, color=colour, edgecolor="white", label=f"label {name}", zorder=3)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", title=title, aspect="equal")
    axes.legend(loc="upper right")
    figure.savefig(path, dpi=150)


def draw_growth(curves: dict[str, dict[str, list[tuple[int, int]]]], path: Path) -> None:
    """Turn ``{letter: {formulation: [(value, spins), ...]}}`` into one panel per letter."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0 * len(curves), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    names = {"N": "samples N", "H": "hidden units H", "L": "layers L"}
    for place, (letter, lines) in enumerate(curves.items(), start=1):
        axes = figure.add_subplot(1, len(curves), place)
        for formulation, points in lines.items():
            axes.plot(*zip(*points, strict=True), marker="o", label=formulation)
        values = [value for value, _ in next(iter(lines.values()))]
        axes.set(xlabel=names[letter], ylabel="spins", xscale="log", yscale="log")
        axes.set_xticks(values, map(str, values))
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=150)
