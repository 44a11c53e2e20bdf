"""A model and labelled data to plain figures: accuracy, confusion, regions, values by layer."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isinglearn.model import Model
from isinglearn.nn import Parameters, Sequential
from isinglearn.nn.domains import Domain
from isinglearn.problem.encodings import IntArray

# Points along each side of the picture of regions.
_GRID = 101
# Cells along each side where it is counted how much data lies: too coarse to give samples back.
_CELLS = 24
# Parameters of more numbers are kept as means over at most so many rows and columns.
_NUMBERS, _SIDE = 4096, 64
# Outputs up to which every combination of signs is a class of its own.
_PATTERNS = 4

Rule = Literal["names", "sign", "largest", "signs", "numbers"]


def number(value: Any) -> float | None:
    """Turn a figure into one that JSON has; NaN and infinity are ``None``."""
    return None if value is None or not math.isfinite(value) else float(value)


@dataclass(frozen=True)
class Judge:
    """How outputs and labels are compared: one way for all data of a report.

    Attributes
    ----------
    rule
        Class names of the model, the sign of its output, the largest output, all signs, or numbers.
    names
        Classes in the order of their numbers; none for numbers.
    """

    rule: Rule
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: Model, y: ArrayLike) -> Judge:
        """Turn a model and its training labels into the way to judge it."""
        labels, outputs = _table(y), model.network.out_features
        if model.target_range is not None:
            return cls("numbers")
        if model.classes is not None:
            return cls("names", tuple(map(_name, model.classes)))
        if outputs > 1 and labels.shape[1] == 1:
            return cls("largest", tuple(map(str, range(outputs))))
        if not np.isin(labels, (-1, 1)).all():
            return cls("numbers")
        if outputs == 1:
            return cls("sign", ("-1", "+1"))
        if ((labels > 0).sum(axis=1) == 1).all():
            return cls("largest", tuple(map(str, range(outputs))))
        few = product("-+", repeat=outputs) if outputs <= _PATTERNS else ()
        return cls("signs", tuple(" ".join(signs) for signs in few))

    def truth(self, y: ArrayLike) -> NDArray[Any]:
        """Turn labels into class numbers, -1 for one that the model does not know; or into numbers."""
        labels = _table(y)
        match self.rule:
            case "names":
                known = {name: index for index, name in enumerate(self.names)}
                return np.array([known.get(_name(one), -1) for one in labels[:, 0].tolist()])
            case "largest":
                alone = labels.shape[1] == 1
                return labels[:, 0].astype(np.int64) if alone else labels.argmax(axis=1)
            case "sign" | "signs":
                return _pattern(labels >= 0)
            case _:
                return labels.astype(np.float64)

    def guess(self, model: Model, X: ArrayLike) -> NDArray[Any]:
        """Turn inputs into what ``truth`` gives of their labels."""
        if model.target_range is not None:
            return model.predict(X)[:, None]
        outputs = model.outputs(X)
        if self.rule == "numbers":
            return outputs
        if self.rule == "largest" or (self.rule == "names" and outputs.shape[1] > 1):
            return outputs.argmax(axis=1)
        return _pattern(outputs >= 0)

    def result(self, model: Model, X: ArrayLike, y: ArrayLike) -> dict[str, Any]:
        """Turn a model and data into its accuracy and confusion, or into its errors."""
        truth, guess = self.truth(y), self.guess(model, X)
        if self.rule == "numbers":
            square = ((guess - truth) ** 2).sum(axis=1)
            spread = ((truth - truth.mean(axis=0)) ** 2).sum()
            return {
                "samples": len(truth),
                "rmse": number(np.sqrt(square.mean())),
                # Of labels that are all equal there is nothing to explain.
                "r2": number(1 - square.sum() / spread) if spread > 0 else None,
            }
        found: dict[str, Any] = {
            "samples": len(truth),
            "right": int((truth == guess).sum()),
            "accuracy": float((truth == guess).mean()),
        }
        if self.names:
            count, known = len(self.names), (truth >= 0) & (truth < len(self.names))
            cells = truth[known] * count + guess[known]
            matrix = np.bincount(cells, minlength=count * count).reshape(count, count)
            found["confusion"] = matrix.tolist()
        return found


def _name(value: Any) -> str:
    """Turn a class into its name; 1.0 and 1 are the same one."""
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _table(y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(y)
    return labels[:, None] if labels.ndim == 1 else labels


def _pattern(signs: NDArray[np.bool_]) -> IntArray:
    return signs @ (1 << np.arange(signs.shape[1], dtype=np.int64)[::-1])


def data_record(
    judge: Judge, X: ArrayLike, y: ArrayLike, features: list[str] | None
) -> dict[str, Any]:
    """Turn data into its sizes and a fingerprint; no sample is kept."""
    inputs, labels = np.asarray(X), _table(y)
    truth = judge.truth(labels)
    digest = hashlib.sha256()
    for part in (inputs, labels):
        # Numbers by value, so that their type and layout in memory do not matter.
        plain = part.astype(np.float64) if part.dtype.kind in "iufb" else part.astype(np.str_)
        digest.update(repr(plain.shape).encode() + np.ascontiguousarray(plain).tobytes())
    record: dict[str, Any] = {
        "samples": len(inputs),
        "features": int(np.prod(inputs.shape[1:])),
        "feature_names": features,
        "task": "regression" if judge.rule == "numbers" else "classification",
        "rule": judge.rule,
        "classes": [],
        "sha256": digest.hexdigest(),
    }
    if judge.rule == "numbers":
        record["label_range"] = [float(truth.min()), float(truth.max())]
    elif judge.names:
        counts = Counter(truth.tolist())
        record["classes"] = [
            {"name": name, "count": counts[index]} for index, name in enumerate(judge.names)
        ]
    return record


def network_record(network: Sequential, parameters: Parameters | None) -> dict[str, Any]:
    """Turn a network, with trained values if there are some, into modules and parameters by layer."""
    rows = []
    for name, spec in network.parameters.items():
        row = {
            "name": name,
            "shape": list(spec.shape),
            "domain": _domain(spec.domain),
            "free": int(spec.free.sum()),
        }
        if parameters is not None:
            values = np.asarray(parameters[name]) / spec.domain.denominator
            row["exact"] = values.size <= _NUMBERS
            row["values"] = (values if row["exact"] else _coarse(values)).tolist()
        rows.append(row)
    return {
        "text": str(network),
        "input_bits": network.input_bits,
        "outputs": network.out_features,
        "modules": [{"layer": origin, "module": str(module)} for origin, module in network],
        "layers": [origin for origin, module in network if module.starts_layer],
        "parameters": rows,
        "free_parameters": sum(row["free"] for row in rows),
    }


def _domain(domain: Domain) -> str:
    between = "or" if domain.encoding == "spin" else "to"
    text = f"{domain.lo} {between} {domain.hi}"
    return text if domain.denominator == 1 else f"({text}) / {domain.denominator}"


def _coarse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn many numbers into means over a table of at most ``_SIDE`` rows and columns."""
    table = values.reshape(values.shape[0], -1) if values.ndim > 1 else values[None]
    for axis in (0, 1):
        count = table.shape[axis]
        edges = np.arange(min(count, _SIDE)) * count // min(count, _SIDE)
        sizes = np.diff([*edges.tolist(), count])
        sums = np.add.reduceat(table, edges, axis=axis)
        table = sums / (sizes[:, None] if axis == 0 else sizes)
    return table


def regions_record(
    model: Model, judge: Judge, X: ArrayLike, y: ArrayLike, *, show_data: bool
) -> dict[str, Any] | None:
    """Turn a model of two features into its predictions on a grid; ``None`` for any other.

    With ``show_data`` the classes of the samples are counted in coarse cells, else nothing of them is kept.
    """
    inputs = np.asarray(X)
    several = judge.rule == "numbers" and model.network.out_features > 1
    if model.network.in_features != 2 or inputs.ndim != 2 or several or not len(inputs):
        return None
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    if model.quantiser is None:
        # Whole inputs: every point of the grid is one, and the border shows a little of what is outside.
        largest = model.largest_input
        ends = [np.clip([a - 1, b + 1], -largest, largest) for a, b in zip(low, high, strict=True)]
        axes = [np.unique(np.linspace(a, b, min(_GRID, int(b - a) + 1)).round()) for a, b in ends]
        axes = [axis.astype(np.int64) for axis in axes]
    else:
        axes = [np.linspace(a, b, _GRID) for a, b in zip(low, high, strict=True)]
    first, second = np.meshgrid(*axes)
    guess = judge.guess(model, np.stack([first.ravel(), second.ravel()], axis=1))
    record: dict[str, Any] = {
        "x": axes[0].tolist(),
        "y": axes[1].tolist(),
        "values": guess.reshape(first.shape).tolist(),
    }
    if show_data and judge.names:
        spans = np.where(high > low, high - low, 1)
        cells = np.minimum((inputs - low) / spans * _CELLS, _CELLS - 1).astype(np.int64)
        centres = low + (cells + 0.5) * spans / _CELLS
        places = Counter(
            zip(*centres.T.round(6).tolist(), judge.truth(y).tolist(), strict=True)
        ).items()
        record["cells"] = [[*place, count] for place, count in sorted(places)]
    return record
