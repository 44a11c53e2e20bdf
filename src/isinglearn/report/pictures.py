"""The pictures of a report, from its record only: PNG bytes, or ``None`` where it lacks the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from isinglearn.report.drawing import (
    HEIGHT,
    NEGATIVE,
    POSITIVE,
    WIDTH,
    label,
    panels,
    plain_axes,
    png,
)
from isinglearn.report.network_pictures import draw_network
from isinglearn.report.progress_pictures import draw_progress, draw_reads
from isinglearn.report.qubo_pictures import draw_coefficients, draw_matrix, draw_spins
from isinglearn.report.stored import Record

# Classes up to which a confusion matrix shows its numbers, up to which two have room side by side, and
# characters up to which names lie flat.
_READABLE, _BESIDE, _FLAT = 12, 5, 6


def _names(record: Record) -> list[str]:
    return [label(one["name"]) for one in record["data"]["classes"]]


def draw_regions(record: Record) -> bytes | None:
    """What a network of two features predicts, on a grid."""
    regions = record["regions"]
    if regions is None:
        return None
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    figure, axes = plain_axes(height=HEIGHT + 0.6)
    axes.spines[:].set_visible(True)
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
        axes.legend(
            title="class",
            loc="upper left",
            bbox_to_anchor=(1, 1),
            fontsize="small",
            frameon=False,
        )
    else:
        image = axes.pcolormesh(x, y, values, cmap="viridis", shading="nearest")
        figure.colorbar(image, label="prediction")
    features = record["data"]["feature_names"] or ["$x_1$", "$x_2$"]
    given = record["data"]["feature_names"] is not None
    first, second = (label(name) if given else name for name in features[:2])
    axes.set(xlabel=first, ylabel=second)
    return png(figure)


def draw_confusion(record: Record) -> bytes | None:
    """Which classes were predicted as which, for the training data and the test data."""
    result, names = record["result"] or {}, _names(record)
    parts = [(part, result.get(part)) for part in ("train", "test")]
    shown = [(part, found["confusion"]) for part, found in parts if found and "confusion" in found]
    if not shown:
        return None
    # Many classes need the whole width, one matrix below the other.
    many = len(names) > _BESIDE
    rows, columns = (len(shown), 1) if many else (1, len(shown))
    figure, grid = panels(rows, columns, WIDTH / columns, 3.8 if many else 2.7, square=True)
    for axes, (part, matrix) in zip(chain.from_iterable(grid), shown, strict=True):
        table = np.array(matrix)
        axes.imshow(table, cmap="Blues", vmin=0, vmax=max(int(table.max()), 1))
        if len(names) <= _READABLE:
            for (truth, guess), count in np.ndenumerate(table):
                dark = count > table.max() / 2
                colour = "white" if dark else "black"
                axes.text(guess, truth, str(count), ha="center", va="center", color=colour)
            axes.set_xticks(range(len(names)), names)
            axes.set_yticks(range(len(names)), names)
            if max(map(len, names)) > _FLAT:
                axes.set_xticklabels(names, rotation=35, ha="right", rotation_mode="anchor")
        title = "training data" if part == "train" else "test data"
        axes.set_xlabel("predicted class")
        if many or part == "train":
            axes.set_ylabel("true class")
        else:
            axes.set_yticks([])
        axes.set_title(title, fontsize="medium")
    return png(figure)


@dataclass(frozen=True)
class Picture:
    """What is drawn, in which section, its caption, and how."""

    title: str
    section: str
    caption: str
    draw: Callable[[Record], bytes | None]


PICTURES: dict[str, Picture] = {
    "regions": Picture(
        "Decision regions",
        "quality",
        "What the network predicts for every pair of values of its two features.",
        draw_regions,
    ),
    "confusion": Picture(
        "Confusion matrix",
        "quality",
        "Each row is a true class, each column what was predicted; right ones are on the diagonal.",
        draw_confusion,
    ),
    "network": Picture(
        "The trained network",
        "network",
        "Weights on the lines, or in the cells; biases in the circles, or in the last column. Orange is "
        "positive, blue is negative.",
        draw_network,
    ),
    "progress": Picture(
        "Loss over time",
        "solver",
        "How the loss fell, beside what is proved and what gradient training reaches. Of a solver of spins "
        "it is the energy, up to the last point: the network that came of it.",
        draw_progress,
    ),
    "reads": Picture(
        "Losses of the reads",
        "solver",
        "How many of the solver's answers had which loss: the further left, the better.",
        draw_reads,
    ),
    "spins": Picture(
        "Spins by role",
        "spins",
        "What the spins stand for; the table says what each role means.",
        draw_spins,
    ),
    "coefficients": Picture(
        "Coefficients by size",
        "spins",
        "How many coefficients need how many bits. The largest sets the resolution that a machine must have.",
        draw_coefficients,
    ),
    "matrix": Picture(
        "The matrix Q",
        "spins",
        "The whole problem as one image: a coloured dot couples two spins, on the diagonal it acts on one. "
        "Spins are ordered in blocks, downwards as from left to right; white is no coefficient.",
        draw_matrix,
    ),
}
