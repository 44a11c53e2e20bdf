"""The pictures of a report, from its record only: PNG bytes, or ``None`` where it lacks the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isinglearn.report.drawing import label, plain_axes, png
from isinglearn.report.figures import NEGATIVE, POSITIVE, _network, _panels
from isinglearn.report.qubo_pictures import draw_coefficients, draw_matrix, draw_spins
from isinglearn.report.stored import Record

# Units of the widest layer, layers, and lines, up to which a network can be drawn with its values readable.
_WIDEST, _DEEPEST, _LINES = 8, 4, 30
# Classes up to which a confusion matrix shows its numbers.
_READABLE = 12


def _names(record: Record) -> list[str]:
    return [label(one["name"]) for one in record["data"]["classes"]]


def draw_regions(record: Record) -> bytes | None:
    """What a network of two features predicts, on a grid."""
    regions = record["regions"]
    if regions is None:
        return None
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    figure, axes = plain_axes(5.2, 4.4)
    values, names = np.array(regions["values"]), _names(record)
    x, y = np.array(regions["x"]), np.array(regions["y"])
    if names:
        many = len(names) > 2
        colours = list(colormaps["tab20"].colors) if many else [NEGATIVE, POSITIVE]  # type: ignore[attr-defined]
        chosen = [colours[index % len(colours)] for index in range(len(names))]
        axes.pcolormesh(
            x,
            y,
            values,
            cmap=ListedColormap(chosen),
            vmin=-0.5,
            vmax=len(names) - 0.5,
            alpha=0.35,
            shading="nearest",
        )
        cells = np.array(regions.get("cells", [])).reshape(-1, 4)
        for index, (name, colour) in enumerate(zip(names, chosen, strict=True)):
            own = cells[cells[:, 2] == index]
            sizes = 18 + 10 * np.sqrt(own[:, 3])
            axes.scatter(own[:, 0], own[:, 1], s=sizes, color=colour, edgecolor="white", zorder=3)
            # The legend shows the class also where no data is drawn.
            axes.scatter([], [], s=40, marker="s", color=colour, label=name)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    else:
        image = axes.pcolormesh(x, y, values, cmap="viridis", shading="nearest")
        figure.colorbar(image, label="prediction")
    features = record["data"]["feature_names"] or ["$x_1$", "$x_2$"]
    given = record["data"]["feature_names"] is not None
    first, second = (label(name) if given else name for name in features[:2])
    axes.set(xlabel=first, ylabel=second)
    return png(figure)


def _layers(record: Record) -> list[tuple[Any, Any]] | None:
    """Weights and biases of every layer where all are plain tables, else ``None``."""
    values = {row["name"]: row for row in record["network"]["parameters"]}
    layers = []
    for layer in record["network"]["layers"]:
        weight = values.get(f"{layer}.weight")
        if weight is None or not weight.get("exact") or len(weight["shape"]) != 2:
            return None
        table = np.array(weight["values"])
        bias = values.get(f"{layer}.bias")
        layers.append((table, np.array(bias["values"]) if bias else np.zeros(len(table))))
    return layers or None


def draw_network(record: Record) -> bytes | None:
    """A small network with its trained values, a large one's weights as heat maps."""
    if record["result"] is None:
        return None
    layers = _layers(record)
    widest = max(max(table.shape) for table, _ in layers) if layers else _WIDEST + 1
    lines = sum(table.size for table, _ in layers or ())
    if layers and widest <= _WIDEST and len(layers) <= _DEEPEST and lines <= _LINES:
        figure, axes = plain_axes(2.4 + 2.2 * len(layers), 1.2 + 0.75 * widest)
        _network(axes, [table for table, _ in layers], [bias for _, bias in layers])
        return png(figure)
    shown = [row for row in record["network"]["parameters"] if row["name"].endswith("weight")]
    if not shown:
        return None
    from matplotlib.ticker import MaxNLocator

    # One below the other, so that they stay readable on a narrow page.
    figure, columns = _panels(len(shown), 1, 5.2, 2.6)
    for (axes,), row in zip(columns, shown, strict=True):
        table = np.array(row["values"])
        table = table.reshape(table.shape[0], -1) if table.ndim > 1 else table[None]
        largest = float(np.abs(table).max()) or 1.0
        image = axes.imshow(table, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
        title = row["name"] if row["exact"] else f"{row['name']} (means of neighbours)"
        axes.set(title=label(title, 60), xlabel="input", ylabel="unit")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        figure.colorbar(image, ax=axes)
    return png(figure)


def draw_reads(record: Record) -> bytes | None:
    """How often each loss came among the reads."""
    reads = record["progress"]["reads"]
    if reads is None or not reads["loss"]:
        return None
    figure, axes = plain_axes()
    low, high = min(reads["loss"]), max(reads["loss"])
    # A single loss is a line, not a range.
    edges = np.linspace(low, high, 41) if high > low else np.array([low - 0.02, low + 0.02])
    if high <= low:
        axes.set_xlim(low - 0.5, low + 0.5)
    axes.hist(reads["loss"], bins=edges.tolist(), weights=reads["count"], color=NEGATIVE)
    bound = (record["yardstick"] or {}).get("bound")
    baseline = ((record["yardstick"] or {}).get("baseline") or {}).get("loss")
    _marks(axes.axvline, bound, baseline)
    axes.set(xlabel="loss of the network", ylabel="reads")
    if bound is not None or baseline is not None:
        axes.legend(fontsize="small")
    return png(figure)


def _marks(line: Callable[..., Any], bound: float | None, baseline: float | None) -> None:
    if bound is not None:
        line(bound, color="0.2", linestyle="--", label="proved bound")
    if baseline is not None:
        line(baseline, color=POSITIVE, linestyle=":", linewidth=2, label="STE baseline")


def draw_progress(record: Record) -> bytes | None:
    """Loss over time or steps, with the bound and the validation data."""
    curve, validation = record["progress"]["curve"], record["progress"].get("validation")
    if curve is None or len(curve["x"]) < 2:
        return None
    figure, axes = plain_axes()
    for name, colour in (("loss", NEGATIVE), ("bound", "0.2")):
        values = np.array(curve[name], dtype=np.float64)
        known = np.isfinite(values)
        # A solver's best stays until it has a better one.
        style = "steps-post" if curve["unit"] == "seconds" else "default"
        if known.any():
            axes.plot(
                np.array(curve["x"])[known],
                values[known],
                color=colour,
                drawstyle=style,
                marker="." if known.sum() < 30 else None,
                label="training loss" if name == "loss" else "proved bound",
            )
    if validation is not None:
        axes.plot(
            validation["x"], validation["loss"], color=POSITIVE, marker="o", label="validation loss"
        )
    axes.set(xlabel=curve["unit"], ylabel="loss")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return png(figure)


def draw_confusion(record: Record) -> bytes | None:
    """Which classes were predicted as which, for the training data and the test data."""
    result, names = record["result"] or {}, _names(record)
    panels = [(part, result.get(part)) for part in ("train", "test")]
    shown = [(part, found["confusion"]) for part, found in panels if found and "confusion" in found]
    if not shown:
        return None
    figure, (row,) = _panels(1, len(shown), 3.8, 3.6)
    for axes, (part, matrix) in zip(row, shown, strict=True):
        table = np.array(matrix)
        axes.imshow(table, cmap="Blues", vmin=0, vmax=max(int(table.max()), 1))
        if len(names) <= _READABLE:
            for (truth, guess), count in np.ndenumerate(table):
                dark = count > table.max() / 2
                colour = "white" if dark else "black"
                axes.text(guess, truth, str(count), ha="center", va="center", color=colour)
            axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
            axes.set_yticks(range(len(names)), names)
        title = "training data" if part == "train" else "test data"
        axes.set(xlabel="predicted", ylabel="true", title=title)
    return png(figure)


@dataclass(frozen=True)
class Picture:
    """What is drawn, its caption of one sentence, and how."""

    title: str
    caption: str
    draw: Callable[[Record], bytes | None]


PICTURES: dict[str, Picture] = {
    "regions": Picture(
        "Decision regions",
        "What the network predicts for every pair of values of its two features.",
        draw_regions,
    ),
    "network": Picture(
        "The trained network",
        "The trained values: orange or red is positive, blue is negative.",
        draw_network,
    ),
    "confusion": Picture(
        "Confusion matrix",
        "Each row is a true class, each column what was predicted; right ones are on the diagonal.",
        draw_confusion,
    ),
    "progress": Picture(
        "Loss while training",
        "How the loss fell; a proved bound, where there is one, is what no network goes below.",
        draw_progress,
    ),
    "reads": Picture(
        "Losses of the reads",
        "How many of the solver's answers had which loss: the further left, the better.",
        draw_reads,
    ),
    "spins": Picture(
        "Spins by role",
        "What the spins of the QUBO stand for.",
        draw_spins,
    ),
    "matrix": Picture(
        "The matrix Q",
        "The QUBO as an image, variables in blocks by layer and role; white is no coefficient.",
        draw_matrix,
    ),
    "coefficients": Picture(
        "Coefficients by size",
        "How many bits the coefficients need, which is the resolution that a machine must have.",
        draw_coefficients,
    ),
}
