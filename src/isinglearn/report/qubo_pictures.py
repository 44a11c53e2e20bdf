"""Pictures of a QUBO, from the record of a report: spins by role, the matrix, the coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.report.drawing import (
    NEGATIVE,
    POSITIVE,
    QUIET,
    WIDTH,
    label,
    legend_above,
    plain_axes,
    png,
    signed_colours,
)
from isinglearn.report.stored import Record

# Blocks of the matrix that get a label, the largest ones, and how far labels are apart, as a share of the
# height.
_LABELS, _APART = 24, 0.04


def draw_spins(record: Record) -> bytes | None:
    """Spins by role."""
    roles = (record["spins"] or {}).get("spins_by_role")
    if not roles:
        return None
    figure, axes = plain_axes(height=0.8 + 0.3 * len(roles))
    bars = axes.barh([label(role) for role in roles], list(roles.values()), color=NEGATIVE)
    axes.bar_label(bars, padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set(xlabel="spins")
    return png(figure)


def draw_matrix(record: Record) -> bytes | None:
    """The matrix Q as an image, its blocks of variables labelled."""
    matrix = record["matrix"]
    if matrix is None or not matrix["level"]:
        return None
    figure, axes = plain_axes(WIDTH, 4.4, square=True)
    axes.spines[:].set_visible(True)
    size, count = matrix["size"], matrix["variables"]
    image = np.full((size, size), np.nan)
    image[matrix["row"], matrix["column"]] = matrix["level"]
    most = int(np.nanmax(np.abs(image)))
    drawn = axes.imshow(
        image,
        cmap=signed_colours(),
        vmin=-most,
        vmax=most,
        extent=(0, count, count, 0),
        aspect="equal",
        interpolation="nearest",
    )
    for block in matrix["blocks"]:
        axes.axhline(block["stop"], color=QUIET, linewidth=0.4)
        axes.axvline(block["stop"], color=QUIET, linewidth=0.4)
    _label_blocks(axes, matrix["blocks"], count)
    bar = figure.colorbar(
        drawn, location="bottom", label="bits of the coefficient, with its sign", shrink=0.7
    )
    bar.ax.tick_params(labelsize="small")
    return png(figure)


def _label_blocks(axes: Any, blocks: list[dict[str, Any]], count: int) -> None:
    """Write the blocks' names to the left, spread where they would cover each other, with lines to them."""
    largest = sorted(blocks, key=lambda block: block["start"] - block["stop"])[:_LABELS]
    shown = sorted(largest, key=lambda block: block["start"])
    middles = np.array([(block["start"] + block["stop"]) / 2 for block in shown])
    places = spread(middles, _APART * count, count)
    names = [label(f"{one['label']} ({one['stop'] - one['start']})", 30) for one in shown]
    axes.set_yticks(places, names, fontsize=7)
    # Room for the lines between the image and the labels.
    axes.tick_params("y", length=0, pad=16)
    for middle, place in zip(middles, places, strict=True):
        line = ([-0.065 * count, 0], [place, middle])
        axes.plot(*line, color=QUIET, linewidth=0.5, clip_on=False, scalex=False, scaley=False)
    axes.set_xticks([])


def spread(middles: NDArray[np.float64], apart: float, length: float) -> NDArray[np.float64]:
    """Turn ascending places into ones that are at least ``apart``, within the length where they fit."""
    steps = apart * np.arange(len(middles))
    down = np.maximum.accumulate(middles - steps) + steps
    # What was pushed beyond the end is pushed back, as far as there is room.
    last = max(length, apart * (len(middles) - 1))
    return np.minimum(down, last - steps[::-1])


def draw_coefficients(record: Record) -> bytes | None:
    """Coefficients by the bits of their magnitudes, and the bits that hold them all."""
    found = record["coefficients"]
    if found is None or not found["bits"]:
        return None
    from matplotlib.ticker import MaxNLocator

    figure, axes = plain_axes()
    bits, fields, needed = found["bits"], found["fields"], found["resolution_bits"]
    axes.bar(bits, found["couplings"], color=NEGATIVE, label="couplings, of two spins")
    axes.bar(bits, fields, bottom=found["couplings"], color=POSITIVE, label="fields, of one spin")
    axes.axvline(bits[-1] + 0.5, color=QUIET, linestyle="--", linewidth=1.2)
    axes.annotate(
        f"{bits[-1]} bits and the sign:\na machine needs {needed} bits",
        (bits[-1] + 0.5, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-6, -2),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1},
    )
    axes.set(xlabel="bits of the magnitude (k bits: below $2^k$)", ylabel="coefficients")
    axes.set_xlim(left=0.4)
    # Room for what is written above the bars.
    axes.set_ylim(top=1.2 * axes.get_ylim()[1])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_above(axes)
    return png(figure)
