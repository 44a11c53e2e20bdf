"""Who solved it and how it went: events, reads and steps to curves of bounded length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglearn.lowering.pipeline import INFEASIBLE
from isinglearn.report.measures import number
from isinglearn.solvers.base import SOLVERS, Form
from isinglearn.solvers.run import Run
from isinglearn.solvers.session import Event
from isinglearn.training.trained import Trained

# Points of a curve, and different losses of reads, that are kept at most.
MOST_POINTS = 1000


def solver_record(run: Run) -> dict[str, Any]:
    """Turn a run into who answered it, in which form, and how it ended."""
    # Of a solver that is none of ours it is known whether it gave the QUBO's bits.
    foreign = Form.PROBLEM if run.result.bits is None else Form.QUBO
    usual = SOLVERS[run.solver].accepts[0] if run.solver in SOLVERS else foreign
    return {
        "name": run.solver,
        "form": str(run.arguments.get("form") or usual.value),
        "reason": run.reason,
        "note": run.note,
        "status": run.status.value,
        "seconds": run.seconds,
    }


def curve_of_events(events: Iterable[Event]) -> dict[str, Any] | None:
    """Turn a solver's news into loss and bound over seconds; ``None`` if there was none."""
    told = [one for one in events if one.loss is not None or one.bound is not None]
    if not told:
        return None
    kept = [told[at] for at in _spread(len(told))]
    return {
        "unit": "seconds",
        "x": [one.seconds for one in kept],
        "loss": [number(one.loss) for one in kept],
        "bound": [number(one.bound) for one in kept],
    }


def curves_of_training(trained: Trained) -> dict[str, Any]:
    """Turn a training into its loss by step and what the validation data said."""
    losses = np.asarray(trained.loss_curve if trained.loss_curve is not None else [])
    looks = np.asarray(trained.validation_curve if trained.validation_curve is not None else [])
    rows = looks.reshape(-1, 3)
    kept, seen = _spread(len(losses)), _spread(len(rows))
    curve = {"unit": "steps", "x": [at + 1 for at in kept], "bound": [None] * len(kept)}
    curve["loss"] = [number(losses[at]) for at in kept]
    validation = {
        name: [number(value) for value in rows[seen, column]]
        for column, name in enumerate(("x", "loss", "accuracy"))
    }
    return {
        "curve": curve if kept else None,
        "validation": validation if seen else None,
        "reads": None,
    }


def reads_record(run: Run) -> dict[str, Any] | None:
    """Turn a run's reads into how often each loss came; ``None`` if there are none."""
    if not len(run.result.vectors):
        return None
    scores = run.problem.scores(run.result.vectors)
    inside = scores[scores != INFEASIBLE]
    losses, counts = np.unique(inside, return_counts=True)
    values, times = _binned(losses / run.problem.qcbo.scale, counts)
    return {
        "total": len(scores),
        # Networks that the form cannot express.
        "outside": len(scores) - len(inside),
        "loss": values.tolist(),
        "count": times.tolist(),
    }


def _binned(
    values: NDArray[np.float64], counts: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Turn losses into themselves; too many into the middles of as many bins as are kept."""
    if len(values) <= MOST_POINTS:
        return values, counts
    sums, edges = np.histogram(values, MOST_POINTS, weights=counts)
    some = sums > 0
    return ((edges[1:] + edges[:-1]) / 2)[some], sums[some].astype(np.int64)


def _spread(count: int) -> list[int]:
    """Positions of at most ``MOST_POINTS`` of so many points, the first and the last among them."""
    if count <= MOST_POINTS:
        return list(range(count))
    return np.unique(np.linspace(0, count - 1, MOST_POINTS).round().astype(int)).tolist()
