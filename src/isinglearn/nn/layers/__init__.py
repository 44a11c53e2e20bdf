"""Layers: maps between arrays of values."""

from __future__ import annotations

from isinglearn.nn.layers.batch_norm import BatchNorm as BatchNorm
from isinglearn.nn.layers.convolution import Conv2d as Conv2d
from isinglearn.nn.layers.flatten import Flatten as Flatten
from isinglearn.nn.layers.layer_norm import LayerNorm as LayerNorm
from isinglearn.nn.layers.linear import Linear as Linear
from isinglearn.nn.layers.pooling import AvgPool2d as AvgPool2d
from isinglearn.nn.layers.pooling import MaxPool2d as MaxPool2d
from isinglearn.nn.layers.residual import Residual as Residual
