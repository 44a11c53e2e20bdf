"""What a user writes: networks of quantised modules."""

from __future__ import annotations

from itertools import pairwise

from isinglearn.errors import NetworkError, check_count
from isinglearn.nn.activations import Sign as Sign
from isinglearn.nn.domains import Domain as Domain
from isinglearn.nn.domains import Fixed as Fixed
from isinglearn.nn.domains import Int as Int
from isinglearn.nn.domains import Spin as Spin
from isinglearn.nn.layers import Linear as Linear
from isinglearn.nn.losses import MSE as MSE
from isinglearn.nn.module import MODULES as MODULES
from isinglearn.nn.module import Module as Module
from isinglearn.nn.module import Parameters as Parameters
from isinglearn.nn.module import Sequential as Sequential


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
