"""What all pictures of a report share: axes without global state, PNG bytes, harmless labels."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from isinglearn.report.figures import _panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plain_axes(width: float = 5.2, height: float = 3.8) -> tuple[Figure, Axes]:
    """Turn a size in inches into a figure and its axes."""
    figure, ((axes,),) = _panels(1, 1, width, height)
    return figure, axes


def png(figure: Figure) -> bytes:
    """Turn a figure into a PNG file, the same bytes for the same figure."""
    data = io.BytesIO()
    with warnings.catch_warnings():
        # A label in a script that the font lacks is drawn as boxes; the page itself has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        # Without the version of the drawing program: same record, same bytes.
        figure.savefig(data, format="png", dpi=150, metadata={"Software": None})
    return data.getvalue()


def label(text: str, most: int = 24) -> str:
    """Turn a user's word into one that is not read as a formula, and fits."""
    short = text if len(text) <= most else text[: most - 1] + "…"
    return " ".join(short.split()).replace("$", r"\$")
