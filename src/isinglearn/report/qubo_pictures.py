"""Pictures of a QUBO, from the record of a report: spins by role, the matrix, the coefficients."""

from __future__ import annotations

import numpy as np

from isinglearn.report.drawing import label, plain_axes, png
from isinglearn.report.figures import NEGATIVE, POSITIVE
from isinglearn.report.stored import Record

# Share of the variables below which a block is too narrow for its label.
_NARROW = 0.025


def draw_spins(record: Record) -> bytes | None:
    """Spins by role."""
    roles = (record["spins"] or {}).get("spins_by_role")
    if not roles:
        return None
    figure, axes = plain_axes(5.2, 1.2 + 0.4 * len(roles))
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
    figure, axes = plain_axes(6.2, 5.4)
    size, count = matrix["size"], matrix["variables"]
    image = np.full((size, size), np.nan)
    image[matrix["row"], matrix["column"]] = matrix["level"]
    most = int(np.nanmax(np.abs(image)))
    drawn = axes.imshow(
        image, cmap="RdBu_r", vmin=-most, vmax=most, extent=(0, count, count, 0), aspect="equal"
    )
    figure.colorbar(drawn, label="bits of the coefficient, with its sign", shrink=0.8)
    places, labels = [], []
    for block in matrix["blocks"]:
        axes.axhline(block["stop"], color="0.4", linewidth=0.5)
        axes.axvline(block["stop"], color="0.4", linewidth=0.5)
        if block["stop"] - block["start"] >= _NARROW * count:
            places.append((block["start"] + block["stop"]) / 2)
            labels.append(label(block["label"]))
    axes.set_yticks(places, labels, fontsize="small")
    axes.set_xticks(places, labels, fontsize="small", rotation=45, ha="right")
    return png(figure)


def draw_coefficients(record: Record) -> bytes | None:
    """Coefficients by the bits of their magnitudes."""
    found = record["coefficients"]
    if found is None or not found["bits"]:
        return None
    from matplotlib.ticker import MaxNLocator

    figure, axes = plain_axes()
    bits, fields = found["bits"], found["fields"]
    axes.bar(bits, found["couplings"], color=NEGATIVE, label="couplings")
    axes.bar(bits, fields, bottom=found["couplings"], color=POSITIVE, label="fields")
    axes.set(xlabel="bits of the magnitude", ylabel="coefficients")
    axes.set_title(f"{found['resolution_bits']} bits with the sign hold all", fontsize="medium")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize="small")
    return png(figure)
