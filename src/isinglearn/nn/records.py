"""Records: a module as plain JSON values, and back; what it writes of itself is its ``config``."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction
from typing import Any

import numpy as np

from isinglearn.errors import DataError
from isinglearn.nn.domains import Domain
from isinglearn.nn.module import MODULES, Module
from isinglearn.problem.encodings import IntArray


def plain(value: Any) -> Any:
    """Turn an argument of a module into JSON values; kinds that JSON lacks are objects of one key."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.generic() | np.ndarray():
            return plain(value.tolist())
        case list() | tuple():
            return [plain(one) for one in value]
        case Fraction():
            return {"fraction": [value.numerator, value.denominator]}
        case Domain():
            return {"domain": [value.lo, value.hi, value.denominator, value.encoding]}
        case Module():
            return _described_module(value)
    raise DataError(
        "this cannot be written into a model file",
        where="Model.save",
        rule="numbers, text, fractions, domains, modules, and lists of these",
        received=repr(value),
        remedy="let config() of the module give such values",
    )


def _described_module(module: Module) -> dict[str, Any]:
    name = type(module).__name__
    if MODULES.get(name) is not type(module):
        raise DataError(
            "this module is not registered",
            where="Model.save",
            rule="modules of nn.MODULES",
            received=name,
            remedy="give the class a name of its own, without a leading underscore",
        )
    record: dict[str, Any] = {"module": name, "arguments": _plain_items(module.config())}
    frozen = {key: np.asarray(value, dtype=np.float64) for key, value in module.frozen.items()}
    if frozen:
        record["frozen"] = {key: _with_holes(value.tolist()) for key, value in frozen.items()}
    if module.seen():
        record["seen"] = _plain_items(module.seen())
    return record


def _plain_items(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: plain(value) for name, value in values.items()}


def _with_holes(value: Any) -> Any:
    """Turn nested floats into JSON: NaN, an entry that is free, into null."""
    if isinstance(value, list):
        return [_with_holes(one) for one in value]
    if np.isnan(value):
        return None
    return int(value) if value == int(value) else value


def _object(value: Any) -> Any:
    """Turn JSON values into an argument of a module."""
    if isinstance(value, list):
        return [_object(one) for one in value]
    match value:
        case {"fraction": [int(numerator), int(denominator)]}:
            return Fraction(numerator, denominator)
        case {"domain": [lo, hi, denominator, str(encoding)]}:
            return Domain(lo, hi, denominator, encoding)
        case dict():
            return built(value)
    return value


def built(record: Any) -> Module:
    """Turn the record of a module into the module; only registered ones are built."""
    name = record["module"]
    if not isinstance(name, str) or name not in MODULES:
        near = get_close_matches(str(name), MODULES, n=1)
        raise DataError(
            "this module is not known here",
            where="network",
            rule="one of " + ", ".join(MODULES),
            received=repr(name),
            remedy=f"did you mean {near[0]!r}?" if near else "import the package that defines it",
        )
    arguments = {key: _object(value) for key, value in record["arguments"].items()}
    module = MODULES[name].from_config(arguments)
    frozen = {
        key: np.array(value, dtype=np.float64) for key, value in record.get("frozen", {}).items()
    }
    seen = {key: whole(value) for key, value in record.get("seen", {}).items()}
    module = module.with_seen(seen) if seen else module
    return module.freeze(**frozen) if frozen else module


def whole(value: Any) -> IntArray:
    """Turn nested whole numbers into an array, or raise."""
    array = np.array(value)
    if array.dtype.kind != "i" and array.size:
        raise ValueError(f"numbers of type {array.dtype} where whole ones belong")
    return array.astype(np.int64)
