"""What a user writes: networks of quantised modules."""

from __future__ import annotations

from itertools import pairwise

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn.activations import Abs as Abs
from isinglearn.nn.activations import LeakyReLU as LeakyReLU
from isinglearn.nn.activations import PReLU as PReLU
from isinglearn.nn.activations import ReLU as ReLU
from isinglearn.nn.activations import Sign as Sign
from isinglearn.nn.activations import Staircase as Staircase
from isinglearn.nn.domains import Domain as Domain
from isinglearn.nn.domains import Fixed as Fixed
from isinglearn.nn.domains import Int as Int
from isinglearn.nn.domains import Spin as Spin
from isinglearn.nn.layers import AvgPool2d as AvgPool2d
from isinglearn.nn.layers import BatchNorm as BatchNorm
from isinglearn.nn.layers import Conv2d as Conv2d
from isinglearn.nn.layers import Flatten as Flatten
from isinglearn.nn.layers import LayerNorm as LayerNorm
from isinglearn.nn.layers import Linear as Linear
from isinglearn.nn.layers import MaxPool2d as MaxPool2d
from isinglearn.nn.layers import Residual as Residual
from isinglearn.nn.losses import LOSSES as LOSSES
from isinglearn.nn.losses import MSE as MSE
from isinglearn.nn.losses import Hinge as Hinge
from isinglearn.nn.losses import Loss as Loss
from isinglearn.nn.module import MODULES as MODULES
from isinglearn.nn.module import Module as Module
from isinglearn.nn.module import Parameters as Parameters
from isinglearn.nn.sequential import Sequential as Sequential


def paper_network(n: int, H: int, L: int, m: int = 1, B: int = 0) -> Sequential:
    """Turn the paper's shape into its network: ``L`` layers, ``H`` sign units each, ``m`` outputs.

    ``B`` is the bit width of the inputs, which lie in ``[-2^B, 2^B]``.
    """
    check_count(L, "paper_network(L)", error=NetworkError)
    widths = [n, *[H] * (L - 1), m]
    modules: list[Module] = []
    for before, after in pairwise(widths):
        modules += [Linear(before, after), Sign()]
    return Sequential(*modules[:-1], input_bits=B)
