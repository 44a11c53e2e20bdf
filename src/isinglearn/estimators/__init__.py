"""Estimators: training on Ising machines with the face of scikit-learn."""

from __future__ import annotations

from isinglearn.estimators.classifier import IsingClassifier as IsingClassifier
from isinglearn.estimators.regressor import IsingRegressor as IsingRegressor
