"""isinglearn: train multi-layer neural networks on Ising machines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isinglearn import nn as nn
    from isinglearn.data import quantise as quantise
    from isinglearn.errors import IsingLearnError as IsingLearnError
    from isinglearn.estimators import IsingClassifier as IsingClassifier
    from isinglearn.estimators import IsingRegressor as IsingRegressor
    from isinglearn.exports.onnx import to_onnx as to_onnx
    from isinglearn.exports.torch import to_torch as to_torch
    from isinglearn.lowering.budget import Shape as Shape
    from isinglearn.lowering.budget import spin_budget as spin_budget
    from isinglearn.lowering.pipeline import Problem as Problem
    from isinglearn.lowering.pipeline import compile as compile
    from isinglearn.model import Model as Model
    from isinglearn.model import load as load
    from isinglearn.nn.symmetry import canonical as canonical
    from isinglearn.nn.symmetry import relation as relation
    from isinglearn.solvers.annealer.sampler import AnnealingSampler as AnnealingSampler
    from isinglearn.solvers.optima import OptimalSet as OptimalSet
    from isinglearn.solvers.optima import all_optimal as all_optimal
    from isinglearn.solvers.run import Run as Run
    from isinglearn.solvers.run import solve as solve
    from isinglearn.solvers.samples import read_samples as read_samples
    from isinglearn.solvers.session import Event as Event
    from isinglearn.training.train import train as train
    from isinglearn.training.trained import Trained as Trained

__version__ = "0.1.0"

# Public names and where they live; loaded on first use, so that importing costs next to nothing.
_PUBLIC = {
    "compile": "isinglearn.lowering.pipeline",
    "Problem": "isinglearn.lowering.pipeline",
    "spin_budget": "isinglearn.lowering.budget",
    "Shape": "isinglearn.lowering.budget",
    "solve": "isinglearn.solvers.run",
    "Run": "isinglearn.solvers.run",
    "read_samples": "isinglearn.solvers.samples",
    "Event": "isinglearn.solvers.session",
    "AnnealingSampler": "isinglearn.solvers.annealer.sampler",
    "canonical": "isinglearn.nn.symmetry",
    "relation": "isinglearn.nn.symmetry",
    "all_optimal": "isinglearn.solvers.optima",
    "OptimalSet": "isinglearn.solvers.optima",
    "Model": "isinglearn.model",
    "load": "isinglearn.model",
    "to_onnx": "isinglearn.exports.onnx",
    "to_torch": "isinglearn.exports.torch",
    "quantise": "isinglearn.data",
    "IsingLearnError": "isinglearn.errors",
    "train": "isinglearn.training.train",
    "Trained": "isinglearn.training.loop",
    "IsingClassifier": "isinglearn.estimators",
    "IsingRegressor": "isinglearn.estimators",
    "nn": "isinglearn.nn",
}

__all__ = [
    "AnnealingSampler",
    "Event",
    "IsingClassifier",
    "IsingLearnError",
    "IsingRegressor",
    "Model",
    "OptimalSet",
    "Problem",
    "Run",
    "Shape",
    "Trained",
    "__version__",
    "all_optimal",
    "canonical",
    "compile",
    "load",
    "nn",
    "quantise",
    "read_samples",
    "relation",
    "solve",
    "spin_budget",
    "to_onnx",
    "to_torch",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'isinglearn' has no attribute {name!r}")
    module = import_module(_PUBLIC[name])
    value = module if name == "nn" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
