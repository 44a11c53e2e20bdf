"""Pictures of how a result came about, from the record of a report: loss over time, losses of the reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from isinglearn.report.drawing import NEGATIVE, POSITIVE, QUIET, legend_above, plain_axes, png
from isinglearn.report.stored import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points of a curve up to which each is marked.
_MARKED = 30
# Bars of a histogram at most.
_BARS = 40
# How many times the least loss the largest is before both can be seen on a scale of powers only.
_WIDE = 20


def _yardsticks(line: Callable[..., Any], record: Record, *, bound: bool = True) -> None:
    """Draw what the result is measured by as lines across."""
    measured = record["yardstick"] or {}
    proved, baseline = measured.get("bound"), (measured.get("baseline") or {}).get("loss")
    if bound and proved is not None:
        name = "proved optimum" if measured.get("tight") else "proved lower bound"
        line(proved, color=QUIET, linestyle="--", linewidth=1.2, label=name)
    if baseline is not None:
        line(baseline, color=POSITIVE, linestyle=":", linewidth=2, label="gradient baseline (STE)")


def draw_progress(record: Record) -> bytes | None:
    """Loss over time or steps, with the bound, the baseline and the validation data."""
    curve, validation = record["progress"]["curve"], record["progress"].get("validation")
    if curve is None:
        return None
    figure, axes = plain_axes()
    timed = curve["unit"] == "seconds"
    bounds = [bound for bound in curve["bound"] if bound is not None]
    _line(axes, curve, "loss", NEGATIVE, "best loss so far" if timed else "training loss")
    if len(set(bounds)) > 1:
        _line(axes, curve, "bound", QUIET, "proved bound so far")
    if validation is not None:
        _line(axes, {**validation, "unit": "steps"}, "loss", "0.55", "validation loss")
    losses = [loss for loss in curve["loss"] if loss is not None]
    if losses and max(losses) > _WIDE * min(losses) > 0:
        axes.set_yscale("log")
    # Where the bound came with time, its curve says it.
    last = (record["yardstick"] or {}).get("bound")
    seen = len(set(bounds)) > 1 and bounds[-1] == last
    hidden = axes.get_yscale() == "log" and last is not None and last <= 0
    _yardsticks(axes.axhline, record, bound=not (seen or hidden))
    if not axes.lines:
        return None
    axes.set(xlabel=curve["unit"], ylabel="loss")
    axes.set_xlim(left=0)
    if axes.get_yscale() == "linear":
        # From 0 on, with a little room so that a loss of 0 is seen.
        axes.set_ylim(bottom=-0.03 * max(axes.get_ylim()[1], 1e-9))
    axes.grid(alpha=0.25)
    legend_above(axes)
    return png(figure)


def _line(axes: Axes, curve: dict[str, Any], name: str, colour: str, title: str) -> None:
    """Draw one column of a curve, where it is known at all."""
    values = np.array(curve[name], dtype=np.float64)
    known = np.isfinite(values)
    if not known.any():
        return
    axes.plot(
        np.array(curve["x"])[known],
        values[known],
        color=colour,
        # A solver's best stays until it has a better one.
        drawstyle="steps-post" if curve["unit"] == "seconds" else "default",
        marker="o" if known.sum() <= _MARKED else None,
        markersize=4,
        label=title,
    )


def draw_reads(record: Record) -> bytes | None:
    """How often each loss came among the reads."""
    reads = record["progress"]["reads"]
    # An exact solver returns the best only: one bar says nothing.
    if reads is None or not reads["loss"] or reads["total"] < 2:
        return None
    figure, axes = plain_axes()
    low, high = min(reads["loss"]), max(reads["loss"])
    # A single loss is a line, not a range.
    edges = np.linspace(low, high, _BARS + 1) if high > low else np.array([low - 0.02, low + 0.02])
    if high <= low:
        axes.set_xlim(low - 0.5, low + 0.5)
    axes.hist(reads["loss"], bins=edges.tolist(), weights=reads["count"], color=NEGATIVE)
    _yardsticks(axes.axvline, record)
    axes.set(xlabel="loss", ylabel="reads")
    if axes.get_legend_handles_labels()[1]:
        legend_above(axes)
    return png(figure)
