"""A network, and the arguments of a call, to the Python that writes them down again."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any

import numpy as np

from isinglearn.nn import Domain, Module, Sequential, Spin

# Characters beyond which the numbers of one argument are not written out.
_LONGEST = 400
# What the written values need, by the word that tells.
_IMPORTS = {"Fraction(": "from fractions import Fraction", "nan": "from math import nan"}


def network_source(network: Sequential) -> str:
    """Turn a network into the call that builds it, domains and frozen values included."""
    lines = [f"    {value_source(module)}," for module in network.modules]
    lines += [] if network.input_bits is None else [f"    input_bits={network.input_bits},"]
    if not hasattr(network.modules[0], "in_features"):
        lines += [f"    input_shape={network.input_shape},"]
    return "\n".join(["nn.Sequential(", *lines, ")"])


def arguments_source(arguments: Mapping[str, Any]) -> str:
    """Turn keyword arguments into how they are written in a call, a comma before each."""
    return "".join(f", {name}={value_source(value, name)}" for name, value in arguments.items())


def imports_source(code: str) -> list[str]:
    """Turn code into the imports that it needs."""
    usual = ["import isinglearn as il", "from isinglearn import nn"]
    return [line for word, line in _IMPORTS.items() if word in code] + usual


def value_source(value: Any, name: str = "value") -> str:
    """Turn a value into its Python, or into ``name`` where it is nothing that can be written in a line."""
    match value:
        case Domain() if value == Spin():
            return "nn.Spin()"
        case Domain():
            kind = "Int" if value.denominator == 1 else "Fixed"
            ends = [value.lo, value.hi, *([] if kind == "Int" else [value.denominator])]
            how = "" if value.encoding == "bounded" else f", encoding={value.encoding!r}"
            return f"nn.{kind}({', '.join(map(str, ends))}{how})"
        case Module():
            return _module_source(value)
        case np.ndarray() | np.generic():
            return value_source(value.tolist(), name)
        case list() | tuple():
            text = "[" + ", ".join(value_source(one) for one in value) + "]"
            return text if len(text) <= _LONGEST else name
        case float() if value.is_integer():
            return repr(int(value))
        case None | bool() | int() | float() | str() | Fraction():
            return repr(value)
    return name


def _module_source(module: Module) -> str:
    given = []
    for name, value in module.config().items():
        parameter = signature(type(module)).parameters[name]
        if parameter.kind is Parameter.VAR_POSITIONAL:
            given += [value_source(one) for one in value]
        elif parameter.default is Parameter.empty:
            given.append(value_source(value, name))
        elif value != parameter.default:
            given.append(f"{name}={value_source(value, name)}")
    frozen = arguments_source({name: np.asarray(value) for name, value in module.frozen.items()})
    freeze = f".freeze({frozen[2:]})" if frozen else ""
    return f"nn.{type(module).__name__}({', '.join(given)}){freeze}"
