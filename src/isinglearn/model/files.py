"""Model files: a model as JSON. Reading one builds known modules from plain arguments and runs nothing else.

    {"format": "isinglearn-model", "version": 1, "sha256": ...,
     "network": {"input_bits": 4, "input_shape": [2], "modules": [{"module": "Linear", ...}, ...]},
     "parameters": {"layer1.weight": [[1, -1], ...], ...},
     "quantiser": null | {"low": [...], "high": [...], "bits": 4},
     "classes": null | [...], "target_range": null | [low, high],
     "features": null | [...], "odds": null | number}

What a module writes of itself is its ``config``, so a new one needs nothing here.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from isinglearn.errors import DataError, IsingLearnError
from isinglearn.model.quantiser import Quantiser
from isinglearn.nn import Sequential
from isinglearn.nn.records import built, plain, whole
from isinglearn.problem.exports.files import replacing

if TYPE_CHECKING:
    # Above this file: models write and read themselves by it.
    from isinglearn.model import Model

FORMAT, VERSION = "isinglearn-model", 1


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Turn a model into a file, whole or not at all; the same model gives the same bytes."""
    body = described(model)
    head = {"format": FORMAT, "version": VERSION, "sha256": _digest(body)}
    lines = [f'"{name}": {_json(value)}' for name, value in (head | body).items()]
    with replacing(Path(path)) as file:
        file.write(("{" + ",\n ".join(lines) + "}\n").encode())
        file.flush()
        os.fsync(file.fileno())


def read(path: str | os.PathLike[str], model: type[Model]) -> Model:
    """Turn a file that ``save`` wrote into a ``model`` again."""
    name = os.fspath(path)
    if not Path(path).is_file():
        raise _refused(
            "there is no such file",
            name,
            "an existing file",
            "nothing",
            "check the name and the folder",
        )
    try:
        text = Path(path).read_text(encoding="utf-8")
        record = json.loads(text, parse_constant=_no_number)
    except (OSError, ValueError, RecursionError) as error:
        raise _refused(
            "this file cannot be read as a model", name, "JSON", _short(error), _AGAIN
        ) from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        received = record.get("format") if isinstance(record, dict) else type(record).__name__
        raise _refused("this is no model file", name, f"format {FORMAT!r}", received, _OTHER)
    version = record.get("version")
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        what = "this file was written by a newer isinglearn" if newer else _DAMAGED
        remedy = "update isinglearn" if newer else _AGAIN
        raise _refused(what, name, f"version {VERSION}", version, remedy)
    # A key that the file does not have is none that its sum counted.
    body = {key: record[key] for key in _KEYS if key in record}
    if record.get("sha256", _digest(body)) != _digest(body):
        rule = "the sha256 that it carries; a file written by hand may leave it out"
        raise _refused(_DAMAGED, name, rule, "another", _AGAIN)
    with _in_file(name):
        return rebuilt(body, model)


_KEYS = ("network", "parameters", "quantiser", "classes", "target_range", "features", "odds")
_AGAIN = "get the file again from where it came"
_OTHER = "pass a file that Model.save wrote"
_DAMAGED = "this model file is damaged"


# -- models and plain values -----------------------------------------------------------------------


def described(model: Model) -> dict[str, Any]:
    """Turn a model into plain JSON values."""
    network, quantiser = model.network, model.quantiser
    return {
        "network": {
            "input_bits": network.input_bits,
            "input_shape": list(network.input_shape),
            "modules": [plain(module) for module in network.modules],
        },
        "parameters": {name: value.tolist() for name, value in model.parameters.items()},
        "quantiser": None
        if quantiser is None
        else {
            "low": quantiser.low.tolist(),
            "high": quantiser.high.tolist(),
            "bits": quantiser.bits,
        },
        "classes": None if model.classes is None else list(model.classes),
        "target_range": None if model.target_range is None else list(model.target_range),
        "features": None if model.features is None else list(model.features),
        "odds": model.odds,
    }


def rebuilt(body: Mapping[str, Any], model: type[Model]) -> Model:
    """Turn what ``described`` gave into the model; anything else raises, in many ways."""
    given = body["network"]
    modules = [built(module) for module in given["modules"]]
    parameters = {name: whole(value) for name, value in body["parameters"].items()}
    _check_size(modules, sum(value.size for value in parameters.values()))
    network = Sequential(*modules, input_shape=tuple(given["input_shape"]))
    network = network.resolved(given["input_bits"])
    quantiser, classes, ends = map(body.get, ("quantiser", "classes", "target_range"))
    features, odds = body.get("features"), body.get("odds")
    if not all(isinstance(one, str | int | float) for one in classes or ()):
        raise ValueError("classes that are neither text nor numbers")
    if not all(isinstance(one, str) for one in features or ()):
        raise ValueError("names of features that are no text")
    low, high = ends or (0.0, 0.0)
    made = model(
        network,
        parameters,
        quantiser=None if quantiser is None else Quantiser(**quantiser),
        classes=None if classes is None else tuple(classes),
        target_range=None if ends is None else (float(low), float(high)),
        features=None if features is None else tuple(features),
        odds=None if odds is None else float(odds),
    )
    # One sample goes through: whatever does not fit together shows here and not later.
    network.reach(float(made.largest_input))
    network.forward(made.parameters, np.zeros((1, network.in_features), dtype=np.int64))
    return made


def _check_size(modules: Iterable[Any], count: int) -> None:
    """Raise before arrays are made for weights that the file does not have: a few digits can ask for much."""
    for module in modules:
        asked = math.prod(getattr(module, "weight_shape", (0,)))
        if asked > count:
            raise ValueError(f"{module} has {asked} weights, the file {count} numbers")
        _check_size(getattr(module, "modules", ()), count)


# -- texts and errors ------------------------------------------------------------------------------


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(_json(dict(body)).encode()).hexdigest()


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number here")


def _short(error: object) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _refused(what: str, where: str, rule: str, received: object, remedy: str) -> DataError:
    return DataError(what, where=where, rule=rule, received=repr(received), remedy=remedy)


@contextmanager
def _in_file(name: str) -> Iterator[None]:
    """Turn whatever a file's contents cause into one error that names the file."""
    wrong = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
    try:
        yield
    except (IsingLearnError, RecursionError, AssertionError, *wrong) as error:
        raise _refused(
            "the contents of this model file do not fit together",
            name,
            "a network, its parameters and what belongs to them",
            f"{type(error).__name__}: {_short(error)}",
            _AGAIN,
        ) from error
