"""A network with its values as a picture: lines and circles while they can be read, else tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.report.drawing import (
    NEGATIVE,
    POSITIVE,
    WIDTH,
    label,
    panels,
    plain_axes,
    png,
    signed_colours,
)
from isinglearn.report.stored import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Values = NDArray[np.float64]

# Units of the widest layer and layers up to which lines and circles are drawn, and how far the values on
# the lines of a layer must be apart, in distances of two units.
_WIDEST, _DEEPEST, _APART = 8, 3, 0.22
# Columns of a table up to which its numbers can be read, and its rows.
_COLUMNS, _ROWS = 10, 24
# Places of the values on their lines, from the source to the unit, the middle first: circles cover the ends.
_PLACES = np.array(sorted(np.linspace(0.24, 0.76, 53), key=lambda at: abs(at - 0.5)))


def _heights(count: int) -> Values:
    """Where the units of a column are drawn: one apart, about 0."""
    return (count - 1) / 2 - np.arange(count, dtype=np.float64)


def _place(weight: Values) -> tuple[float, float]:
    """How far along the lines of a layer their values are furthest apart, and how far."""
    target, source = _heights(weight.shape[0])[:, None], _heights(weight.shape[1])[None]
    lines = source + _PLACES[:, None, None] * (target - source)
    sorted_lines = np.sort(lines.reshape(len(_PLACES), -1), axis=1)
    if sorted_lines.shape[1] == 1:
        return 0.5, 1.0
    gaps = np.diff(sorted_lines, axis=1).min(axis=1)
    # No further from the middle than it takes to be read.
    best = int(np.minimum(gaps, 1.5 * _APART).argmax())
    return float(_PLACES[best]), float(gaps[best])


def draw_graph(
    axes: Axes, weights: list[Values], biases: list[Values], names: Sequence[str] | None = None
) -> None:
    """Units as circles with their biases, weights as lines: colour for the sign, value beside it."""
    widths = [weights[0].shape[1], *(len(weight) for weight in weights)]
    inputs = names or [f"$x_{{{number}}}$" for number in range(1, widths[0] + 1)]
    for layer, weight in enumerate(weights):
        at, _ = _place(weight)
        largest = float(np.abs(weight).max()) or 1.0
        for (unit, source), value in np.ndenumerate(weight):
            start, end = _heights(widths[layer])[source], _heights(widths[layer + 1])[unit]
            colour = POSITIVE if value > 0 else NEGATIVE if value < 0 else "0.75"
            thick = 0.8 + 1.6 * abs(value) / largest
            axes.plot([layer, layer + 1], [start, end], color=colour, linewidth=thick, zorder=1)
            axes.annotate(
                _signed(value),
                (layer + at, start + at * (end - start)),
                fontsize=8,
                ha="center",
                va="center",
                bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
                zorder=2,
            )
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "0.3"}
    for name, height in zip(inputs, _heights(widths[0]), strict=True):
        axes.text(0, height, name, fontsize=9, ha="right", va="center", bbox=frame, zorder=4)
    for layer, bias in enumerate(biases, start=1):
        for value, height in zip(bias, _heights(widths[layer]), strict=True):
            # Circles of one size, whatever is written in them.
            axes.scatter(layer, height, s=800, color="white", edgecolor="0.3", zorder=3)
            text = _signed(value)
            axes.text(layer, height, text, fontsize=8, ha="center", va="center", zorder=4)
    reach = max(widths) / 2 + 0.1
    # Inches that the names and half a circle take of the width, in distances of two layers.
    letters = max(map(len, names)) if names else 2
    before, after = 0.15 + 0.08 * letters, 0.3
    inch = len(weights) / (WIDTH - before - after)
    axes.set(xlim=(-before * inch, len(weights) + after * inch), ylim=(-reach, reach))
    axes.axis("off")


def _signed(value: float) -> str:
    return f"{value:+.3g}" if value else "0"


def _layers(record: Record) -> list[tuple[Values, Values]] | None:
    """Weights and biases of every layer where all are plain tables, else ``None``."""
    values = {row["name"]: row for row in record["network"]["parameters"]}
    layers = []
    for layer in record["network"]["layers"]:
        weight = values.get(f"{layer}.weight")
        if weight is None or not weight.get("exact") or len(weight["shape"]) != 2:
            return None
        table = np.array(weight["values"], dtype=np.float64)
        bias = values.get(f"{layer}.bias")
        layers.append((table, np.array(bias["values"]) if bias else np.zeros(len(table))))
    return layers or None


def draw_network(record: Record) -> bytes | None:
    """A small network with its trained values, a larger one's weights as tables in colour."""
    if record["result"] is None:
        return None
    layers = _layers(record)
    if layers is not None and len(layers) <= _DEEPEST:
        widest = max(max(table.shape) for table, _ in layers)
        apart = min(_place(table)[1] for table, _ in layers)
        if widest <= _WIDEST and apart >= _APART:
            given = record["data"]["feature_names"]
            names = None if given is None else [label(name, 9) for name in given]
            figure, axes = plain_axes(WIDTH, max(1.6, 0.4 + 0.62 * widest))
            draw_graph(axes, [table for table, _ in layers], [bias for _, bias in layers], names)
            return png(figure)
    return _tables(record)


def _tables(record: Record) -> bytes | None:
    """Every weight as a table in colour, one below the other so that they stay readable."""
    rows = {row["name"]: row for row in record["network"]["parameters"]}
    shown = [row for name, row in rows.items() if name.endswith("weight")]
    if not shown:
        return None
    tables = [_as_table(row["values"]) for row in shown]
    heights = [0.9 + 0.22 * min(max(len(table), 3), 12) for table in tables]
    figure, columns = panels(len(shown), 1, WIDTH, sum(heights) / len(heights), heights)
    for (axes,), row, table in zip(columns, shown, tables, strict=True):
        bias = rows.get(row["name"].removesuffix("weight") + "bias")
        plain = row["exact"] and bias is not None and bias.get("exact")
        biases = np.array(bias["values"]) if bias is not None and plain else None
        fits = biases is not None and biases.shape == (len(table),)
        _table(figure, axes, table, biases if fits else None)
        title = row["name"] if row["exact"] else f"{row['name']} (means of neighbours)"
        axes.set_title(label(title, 60), fontsize="small", loc="left")
    return png(figure)


def _as_table(values: list[Any]) -> Values:
    array = np.array(values, dtype=np.float64)
    return array.reshape(array.shape[0], -1) if array.ndim > 1 else array[None]


def _table(figure: Figure, axes: Axes, table: Values, biases: Values | None) -> None:
    from matplotlib.ticker import MaxNLocator

    largest = float(np.abs(table).max()) or 1.0
    readable = table.shape[1] <= _COLUMNS and len(table) <= _ROWS
    if readable and biases is not None:
        # Biases are of another size: they stay without a colour.
        table = np.column_stack([table, np.full(len(table), np.nan)])
    image = axes.imshow(table, cmap=signed_colours(), vmin=-largest, vmax=largest, aspect="auto")
    axes.set(xlabel="input", ylabel="unit")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    if not readable:
        # Counted from 1, as where there are labels.
        image.set_extent((0.5, table.shape[1] + 0.5, len(table) + 0.5, 0.5))
        figure.colorbar(image, ax=axes)
        return
    for (unit, source), value in np.ndenumerate(table):
        text = _signed(float(biases[unit] if biases is not None and np.isnan(value) else value))
        dark = abs(value) > 0.75 * largest
        colour = "white" if dark else "black"
        axes.text(source, unit, text, ha="center", va="center", fontsize=7, color=colour)
    numbers = list(map(str, range(1, table.shape[1] + 1)))
    if biases is not None:
        numbers[-1] = "bias"
    axes.set_xticks(range(table.shape[1]), numbers, fontsize="small")
    axes.set_yticks(range(len(table)), map(str, range(1, len(table) + 1)), fontsize="small")
