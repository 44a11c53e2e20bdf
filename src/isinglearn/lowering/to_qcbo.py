"""Network and data to QCBO: all parameters first, then the modules in order, then the loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from isinglearn.data import Dataset, first_appearances, sum_by
from isinglearn.errors import OptionError
from isinglearn.lowering.builder import Builder
from isinglearn.nn.activations import Sign
from isinglearn.nn.layers import Linear
from isinglearn.nn.losses import Loss
from isinglearn.nn.sequential import Sequential
from isinglearn.problem.encodings import IntArray
from isinglearn.problem.forms import QCBO


@dataclass(frozen=True, eq=False)
class Training:
    """A QCBO with what the later passes need to know of the network.

    ``worst`` is the largest integer loss that a sample can have over all networks; it bounds what a
    repair of that sample can cost. Keys are the sample numbers of the variables' names. ``lowest`` is a
    bound of the objective over all assignments, inconsistent ones included.
    """

    qcbo: QCBO
    samples: IntArray
    worst: IntArray
    lowest: int
    output_scale: int
    output_range: tuple[int, int]
    has_box: bool


def to_qcbo(
    network: Sequential, data: Dataset, loss: Loss, *, paper: bool, box: bool = False
) -> Training:
    """Turn a resolved network, data and loss into the constrained problem over integers.

    Outside the paper form equal inputs share all their variables. ``box`` confines the predictions to
    the paper's range (always so in the paper form).
    """
    if paper:
        inputs, which = data.X, np.arange(len(data))
        samples = which
    else:
        samples, which = first_appearances(data.X)
        inputs = data.X[samples]
    builder = Builder(paper=paper, samples=samples)
    values = network.lower(builder, builder.constants(inputs))
    limits = _paper_box(network, values.scale)
    *_, (builder.origin, _) = network
    if not paper:
        lo, hi = values.lo, values.hi
        if box and limits is None:
            raise OptionError(
                "this network has no box",
                where="box=True",
                rule="a last Linear layer with the paper's domains behind a Sign",
                received=str(network),
                remedy="leave box out, or unset the last layer's domains",
            )
        if box and limits is not None:
            lo, hi = np.maximum(lo, limits[0]), np.minimum(hi, limits[1])
        values = builder.equal("y", "output", values, lo, hi, encoding="bounded" if box else None)
    builder.origin = ""
    outputs = values.shape[1]
    entries = (which[:, None] * outputs + np.arange(outputs)).ravel()
    scale = loss.lower(builder, values.take(entries, (len(data), outputs)), data, samples[which])
    lo = values.lo.reshape(-1, outputs)[which]
    hi = values.hi.reshape(-1, outputs)[which]
    each = loss.worst(data, lo, hi, values.scale)
    worst = sum_by(which, each, len(inputs))
    qcbo = builder.build(scale)
    reach = int(values.lo.min()), int(values.hi.max())
    lowest = _lowest(qcbo)
    return Training(qcbo, samples, worst, lowest, values.scale, reach, limits is not None)


def _lowest(qcbo: QCBO) -> int:
    """What the objective cannot go below, whatever the variables are; squares not below 0."""
    total = 0
    for part in qcbo.objective:
        if part.shape == "linear":
            low, _ = part.rows.bounds(qcbo.variables.lo, qcbo.variables.hi)
            total += int((low * part.weights).sum())
    return total


def _paper_box(network: Sequential, scale: int) -> tuple[int, int] | None:
    """Range of predictions that the paper's encoding of y has, on the grid of the outputs, if any."""
    *_, before, last = (None, *network.modules)
    ranges = last.paper_ranges(type(before) is Sign) if isinstance(last, Linear) else None
    if ranges is None:
        return None
    step = max(1, ranges["scale"] // scale)
    return -(-ranges["lo"] // step), ranges["hi"] // step
