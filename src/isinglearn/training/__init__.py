"""Training: strategies that turn data of any size into problems of a bounded one."""

from __future__ import annotations

from isinglearn.training.admm import Admm as Admm
from isinglearn.training.decomposed import Decomposition as Decomposition
from isinglearn.training.direct import Direct as Direct
from isinglearn.training.lagrangian import Lagrangian as Lagrangian
from isinglearn.training.strategy import STRATEGIES as STRATEGIES
from isinglearn.training.train import train as train
from isinglearn.training.trained import OnTraining as OnTraining
from isinglearn.training.trained import Trained as Trained
from isinglearn.training.trained import TrainingEvent as TrainingEvent
