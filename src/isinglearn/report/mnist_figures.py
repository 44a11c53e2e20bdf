"""The pictures of the paper's MNIST experiment (its figures 9 and 10), drawn from a plain record."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.report.drawing import NEGATIVE, POSITIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

_PATCHES = ("upper left", "upper right", "lower left", "lower right")
# Colours of the ways to anneal, in their order.
_WAYS = (NEGATIVE, POSITIVE, "0.6")
# Of a pixel -1, 0 or +1: colour-blind safe, and light enough for a number on it.
_SHADES = {-1: "#92b9dc", 0: "#f0f0f0", 1: "#f2b07f"}


def draw_solvability(record: dict[str, Any], path: Path) -> None:
    """Turn a record into one picture: the workflow with its times above, data and results below.

    Parameters
    ----------
    record
        ``samples``: the training images, rows of pixels each. ``choice``: their ``labels``, ``inputs`` and
        ``white_level``. ``rows``: results as ``isinglearn reproduce mnist --json`` prints them; the first
        gives the times, the network and the confusion matrix, all of its training set the histograms.
    path
        Where the PNG goes.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Figure without pyplot: no global state and no display needed.
    figure = Figure(figsize=(14, 7), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[1, 3]).ravel()
    main = record["rows"][0]
    _workflow(above.subplots(), main)
    parts = below.subfigures(1, 4, squeeze=False, width_ratios=[2.0, 1.3, 1.3, 1.2])
    data, net, losses, confusion = parts.ravel()
    data.suptitle(f"(a) {record['images']}: training images, their 2x2 pixels", fontsize="medium")
    _images(data, record["samples"], record["choice"])
    _network(net.subplots(), main)
    _histograms(losses, record["rows"])
    _confusion(confusion.subplots(), main)
    figure.savefig(path, dpi=150)


# -- figure 9 --------------------------------------------------------------------------------------


def _workflow(axes: Axes, row: dict[str, Any]) -> None:
    """The three steps as boxes, each with what it was measured to take."""
    success = f"{row['success_probability']:.0%} of {row['reads']} reads optimal"
    steps = [
        ("data and network", f"{row['train_images']} images\n4-1-1, 2 layers", "white"),
        ("CPU: compile", f"$Q$ of {row['spins']} spins\n{_time(row['compile_ms'])}", "#e8eef6"),
        (
            f"{row['solver']}: {row['label']}",
            f"{_time(row['anneal_ms'])} a read\n{success}",
            "#fbeadd",
        ),
        (
            "CPU: decode",
            f"$\\sigma \\to \\theta$, loss\n{_time(row['decode_ms'])} a read",
            "#e8eef6",
        ),
        ("network", _accuracy(row), "white"),
    ]
    for place, (name, text, colour) in enumerate(steps):
        axes.text(
            place,
            0,
            f"{name}\n{text}",
            ha="center",
            va="center",
            bbox={"boxstyle": "round,pad=0.6", "facecolor": colour, "edgecolor": "0.4"},
        )
        if place:
            axes.annotate(
                "",
                (place - 0.36, 0),
                (place - 0.64, 0),
                arrowprops={"arrowstyle": "->", "color": "0.3"},
            )
    axes.set(xlim=(-0.5, len(steps) - 0.5), ylim=(-1, 1))
    axes.set_title("Workflow and what each step takes", fontsize="medium")
    axes.axis("off")


def _time(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "not measured"
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3g} s"


def _accuracy(row: dict[str, Any]) -> str:
    if row["test_accuracy"] is None:
        return "none found"
    return f"loss {row['loss']}\n{row['test_accuracy']:.2%} on test images"


# -- figure 10 -------------------------------------------------------------------------------------


def _images(figure: SubFigure, samples: list[Any], choice: dict[str, Any]) -> None:
    """Each image with its crop and split above, and below its pixels with the counts they come from."""
    from isinglearn.paper.mnist import patch_counts

    images = np.array(samples, dtype=np.uint8)
    counts = patch_counts(images, choice["white_level"])
    panels = figure.subplots(2, len(images), squeeze=False)
    for place, image in enumerate(images):
        top, bottom = panels[:, place]
        top.imshow(image, cmap="gray")
        white = image >= choice["white_level"]
        _split(top, _edges(white.any(axis=1)), _edges(white.any(axis=0)))
        top.set_title(f"digit {6 if choice['labels'][place] > 0 else 9}", fontsize="small")
        _pixels(bottom, choice["inputs"][place], counts[place].tolist())
        for axes in (top, bottom):
            axes.set_xticks([])
            axes.set_yticks([])


def _edges(used: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Turn the used rows of an image into where its two halves begin and end, between pixels."""
    first, last = np.flatnonzero(used)[[0, -1]]
    return first - 0.5, (first + last + 1) // 2 - 0.5, last + 0.5


def _split(
    axes: Axes, rows: tuple[float, float, float], columns: tuple[float, float, float]
) -> None:
    style: dict[str, Any] = {"color": POSITIVE, "linewidth": 1.2}
    for row in rows:
        axes.plot([columns[0], columns[2]], [row, row], **style)
    for column in columns:
        axes.plot([column, column], [rows[0], rows[2]], **style)


def _pixels(axes: Axes, pixels: list[int], counts: list[int]) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(list(_SHADES.values()))
    axes.imshow(np.array(pixels).reshape(2, 2), cmap=colours, vmin=-1, vmax=1)
    for place, (value, count) in enumerate(zip(pixels, counts, strict=True)):
        row, column = divmod(place, 2)
        text = f"{value:+d}\n({count})" if value else f"0\n({count})"
        axes.annotate(text, (column, row), ha="center", va="center", fontsize="small")


def _network(axes: Axes, row: dict[str, Any]) -> None:
    """Four patches, a hidden unit and the output, with the weights found on the lines."""
    parameters = row["parameters"]
    axes.set_title("network found" if parameters else "no network found", fontsize="medium")
    axes.axis("off")
    if not parameters:
        return
    weights, (bias,) = parameters["layer1.weight"][0], parameters["layer1.bias"]
    ((last,), (offset,)) = parameters["layer2.weight"][0], parameters["layer2.bias"]
    heights = [1.5 - place for place in range(len(weights))]
    for height, weight, name in zip(heights, weights, _PATCHES, strict=True):
        _line(axes, (0, height), (1, 0), weight)
        _unit(axes, (0, height), name.replace(" ", "\n"))
    _line(axes, (1, 0), (2, 0), last)
    _unit(axes, (1, 0), f"sign\n{bias:+d}")
    _unit(axes, (2, 0), f"sum\n{offset:+d}")
    axes.text(
        2, -0.62, "6 if it is\nnot negative,\nelse 9", ha="center", va="top", fontsize="small"
    )
    axes.set(xlim=(-0.5, 2.5), ylim=(-2, 2))


def _line(axes: Axes, start: tuple[float, float], end: tuple[float, float], weight: int) -> None:
    colour = POSITIVE if weight > 0 else NEGATIVE if weight < 0 else "0.7"
    (left, low), (right, high) = start, end
    axes.plot([left, right], [low, high], color=colour, linewidth=1.8, zorder=1)
    axes.annotate(
        f"{weight:+d}",
        ((left + right) / 2, (low + high) / 2),
        fontsize="small",
        ha="center",
        va="center",
        bbox={"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"},
        zorder=2,
    )


def _unit(axes: Axes, place: tuple[float, float], text: str) -> None:
    axes.scatter(*place, s=1300, color="white", edgecolor="0.3", zorder=3)
    axes.annotate(text, place, ha="center", va="center", fontsize="x-small", zorder=4)


def _histograms(figure: SubFigure, rows: list[dict[str, Any]]) -> None:
    """How many reads have which loss: a panel for each form, a colour for each way to anneal it."""
    same = [row for row in rows if row["train_images"] == rows[0]["train_images"]]
    forms = list(dict.fromkeys(row["formulation"] for row in same))
    losses = sorted({Fraction(loss) for row in same for loss, _ in row["losses"]})
    figure.suptitle(f"(b) loss in {rows[0]['reads']} reads", fontsize="medium")
    panels = figure.subplots(len(forms), 1, squeeze=False, sharex=True).ravel()
    for axes, form in zip(panels, forms, strict=True):
        shown = [row for row in same if row["formulation"] == form]
        width = 0.8 / len(shown)
        for place, row in enumerate(shown):
            counts = {Fraction(loss): count for loss, count in row["losses"]}
            heights = [counts.get(loss, 0) for loss in losses]
            shift = (place - (len(shown) - 1) / 2) * width
            label = f"{row['label']}, {row['success_probability']:.0%}"
            colour = _WAYS[place % len(_WAYS)]
            axes.bar(np.arange(len(losses)) + shift, heights, width, label=label, color=colour)
        axes.set_title(f"{form} form, {shown[0]['spins']} spins", fontsize="small")
        axes.set_ylabel("reads")
        axes.legend(fontsize="x-small", title="way, share of least loss", title_fontsize="x-small")
    panels[-1].set_xticks(range(len(losses)), [f"{float(loss):.3g}" for loss in losses])
    panels[-1].set_xlabel("loss")


def _confusion(axes: Axes, row: dict[str, Any]) -> None:
    """Test images by true and predicted digit."""
    if row["confusion"] is None:
        axes.axis("off")
        return
    matrix = np.array(row["confusion"])
    axes.imshow(matrix, cmap="Blues")
    for (true, predicted), count in np.ndenumerate(matrix):
        colour = "white" if count > matrix.max() / 2 else "black"
        axes.annotate(str(count), (predicted, true), ha="center", va="center", color=colour)
    axes.set_xticks([0, 1], ["9", "6"])
    axes.set_yticks([0, 1], ["9", "6"])
    title = f"(c) {row['test_right']} of {row['test_images']} test images right"
    axes.set(xlabel="predicted digit", ylabel="true digit")
    axes.set_title(f"{title},\n{row['test_accuracy']:.2%}", fontsize="medium")
