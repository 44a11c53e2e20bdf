"""Activations: functions of one value."""

from __future__ import annotations

from isinglearn.nn.activations.rectifiers import Abs as Abs
from isinglearn.nn.activations.rectifiers import LeakyReLU as LeakyReLU
from isinglearn.nn.activations.rectifiers import PReLU as PReLU
from isinglearn.nn.activations.rectifiers import ReLU as ReLU
from isinglearn.nn.activations.sign import Sign as Sign
from isinglearn.nn.activations.staircase import Staircase as Staircase
