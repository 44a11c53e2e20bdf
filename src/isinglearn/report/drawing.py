"""What all pictures share: colours, axes without global state, PNG bytes, harmless labels."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Colour-blind safe: blue for -1, orange for +1.
NEGATIVE, POSITIVE = "#2166ac", "#d95f02"
# Of lines that are no data: frames, grids, bounds.
QUIET = "0.35"
# Inches of a picture of a report: a page shows it at about that width, so that text keeps its size.
WIDTH, HEIGHT = 4.8, 3.4


def signed_colours() -> Colormap:
    """The colours of values from negative over 0, which is white, to positive."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("signed", [NEGATIVE, "white", POSITIVE])


def panels(
    rows: int,
    columns: int,
    width: float,
    height: float,
    ratios: list[float] | None = None,
    *,
    square: bool = False,
) -> tuple[Figure, list[list[Axes]]]:
    """Turn a grid and the size of one cell in inches into a figure and its axes, row by row.

    ``square`` is for axes of a fixed aspect: only so their labels find the room that they need.
    """
    # Figure without pyplot: no global state and no display needed.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width * columns, height * rows), layout="compressed" if square else "constrained"
    )
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, height_ratios=ratios).tolist()


def plain_axes(
    width: float = WIDTH, height: float = HEIGHT, *, square: bool = False
) -> tuple[Figure, Axes]:
    """Turn a size in inches into a figure and its axes, open above and to the right."""
    figure, ((axes,),) = panels(1, 1, width, height, square=square)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def legend_above(axes: Axes) -> None:
    """Explain the colours above the axes, where no data can be hidden."""
    _, names = axes.get_legend_handles_labels()
    # Two to a row: three do not fit.
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.01),
        ncols=min(len(names), 2),
        frameon=False,
        fontsize="small",
        borderaxespad=0,
        columnspacing=1.2,
    )


def png(figure: Figure) -> bytes:
    """Turn a figure into a PNG file, the same bytes for the same figure."""
    data = io.BytesIO()
    with warnings.catch_warnings():
        # A label in a script that the font lacks is drawn as boxes; the page itself has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # Without the version of the drawing program: same record, same bytes.
        figure.savefig(data, format="png", dpi=180, metadata={"Software": None})
    return data.getvalue()


def label(text: str, most: int = 24) -> str:
    """Turn a user's word into one that is not read as a formula, and fits."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return " ".join(short.split()).replace("$", r"\$")
