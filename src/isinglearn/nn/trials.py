"""Small tasks around one module, small enough to enumerate every network."""

from __future__ import annotations

from typing import Any

import numpy as np

from isinglearn.nn.domains import Int, Spin
from isinglearn.nn.module import MODULES, Module, Trial


def make(name: str, *given: Any, **options: Any) -> Module:
    """Another module by its name, so that no module has to import the others."""
    return MODULES[name](*given, **options)


def hidden() -> Module:
    """A first layer of signs and small biases for two features."""
    return make("Linear", 2, 2, weight=Spin(), bias=Int(-1, 1))


def readout() -> Module:
    """A last layer of few values."""
    return make("Linear", 2, 1, weight=Int(-1, 1), bias=Int(-1, 1))


def pixelwise() -> Module:
    """A layer that does the same to every pixel."""
    return make("Conv2d", 1, 1, 1, weight=Int(-1, 1), bias=Int(-1, 1))


def on_points(*modules: Module) -> Trial:
    """Modules on five points of the plane that no single line separates."""
    points = np.array([[-1, -2], [2, 1], [1, -1], [-1, 1], [0, 2]])
    return Trial(modules, points, np.array([1, 1, -1, -1, 1]), (2,))


def on_images(*modules: Module) -> Trial:
    """Modules on four images of two rows and four columns."""
    images = np.array(
        [
            [0, 1, 0, 0, 1, 1, 0, -1],
            [1, 0, 1, 1, 0, 0, 1, 0],
            [-1, 0, 0, 1, 0, -1, 1, 1],
            [0, 0, -1, -1, 1, 0, 0, 0],
        ]
    )
    return Trial(modules, images, np.array([1, -1, -1, 1]), (1, 2, 4))
