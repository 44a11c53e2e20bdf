"""Estimators with default settings on the data sets that scikit-learn ships, beside baselines.

    python benchmarks/estimators.py [--json] [--seeds 3]

iris, wine, breast cancer
    Five stratified folds: ``IsingClassifier()``; straight-through gradient (STE) on the same quantised
    network and features, learning rate and epochs chosen on held-out training data, the best of three
    seeds by training loss; logistic regression on standardised features.
moons
    Two moons of 100 rows and noise 0.2: training accuracy and time of one ``fit``.
diabetes
    Five folds: ``IsingRegressor()``, STE, linear regression; the figures are R^2.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_moons,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from isinglearn import IsingClassifier, IsingRegressor, Model, nn
from isinglearn.baselines import tuned_straight_through

FOLDS = 5
# Of the baseline. Its steps are few on so little data, so they must be able to be large.
RATES = (0.01, 0.03, 0.1, 0.3)


def straight_through(fitted: Any, X: Any, y: Any, seed: int) -> Model:
    """The baseline on the network and the quantised features of a fitted estimator."""
    model: Model = fitted.model_
    layers = [
        nn.Linear(m.in_features, m.out_features, weight=m.weight, bias=m.bias)
        if isinstance(m, nn.Linear)
        else m
        for m in model.network.modules
    ]
    network = nn.Sequential(*layers, input_bits=model.network.input_bits)
    assert model.quantiser is not None
    inputs = model.quantiser(X)
    if model.target_range is not None:
        low, high = model.target_range
        labels, loss = 2 * (y - low) / (high - low) - 1, "square"
    else:
        number = np.searchsorted(fitted.classes_, y)
        two = len(fitted.classes_) == 2
        labels, loss = (2 * number - 1, "logistic") if two else (number, "cross_entropy")
    found = tuned_straight_through(
        network,
        inputs,
        labels,
        loss=loss,
        learning_rates=RATES,
        epochs=(20, 60),
        batch=16,
        seeds=3,
        seed=seed,
    )
    faces = {"classes": model.classes, "target_range": model.target_range}
    return Model(found.network, found.parameters, quantiser=model.quantiser, **faces)


def compared(X: Any, y: Any, train: Any, test: Any, made: Any, plain: Any, seed: int) -> Any:
    """One fold: scores on training and test rows by method, and seconds of ours."""
    score = r2_score if is_regressor(made) else accuracy_score
    started = time.perf_counter()
    made.fit(X[train], y[train])
    seconds = time.perf_counter() - started
    methods = {
        "ising": made,
        "ste": straight_through(made, X[train], y[train], seed),
        "linear": plain.fit(X[train], y[train]),
    }
    scores = {
        name: [float(score(y[rows], method.predict(X[rows]))) for rows in (train, test)]
        for name, method in methods.items()
    }
    return scores, seconds


def folds(name: str, seeds: int) -> dict[str, Any]:
    """Mean scores over folds and seeds; the spread is that of the folds' test scores."""
    load = {
        "iris": load_iris,
        "wine": load_wine,
        "breast cancer": load_breast_cancer,
        "diabetes": load_diabetes,
    }[name]
    X, y = load(return_X_y=True)
    numbers = name == "diabetes"
    splitter = (KFold if numbers else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)
    found, seconds = [], []
    for seed in range(seeds):
        for train, test in splitter.split(X, y):
            made: Any = (IsingRegressor if numbers else IsingClassifier)(random_state=seed)
            last: Any = LinearRegression() if numbers else LogisticRegression(max_iter=1000)
            plain = make_pipeline(StandardScaler(), last)
            scores, time_taken = compared(X, y, train, test, made, plain, seed)
            found.append(scores)
            seconds.append(time_taken)
    return {"data": name, "rows": len(X), "seconds": float(np.mean(seconds)), **summary(found)}


def summary(found: list[dict[str, list[float]]]) -> dict[str, Any]:
    """Turn scores into means, and the standard deviation of those on test rows."""
    return {
        method: {
            "train": float(np.mean([one[method][0] for one in found])),
            "test": float(np.mean([one[method][1] for one in found])),
            "spread": float(np.std([one[method][1] for one in found])),
        }
        for method in found[0]
    }


def moons(seeds: int) -> dict[str, Any]:
    """Two moons, all rows for training; 1000 others for the test."""
    X, y = make_moons(100, noise=0.2, random_state=0)
    others = make_moons(1000, noise=0.2, random_state=1)
    X, y = np.concatenate([X, others[0]]), np.concatenate([y, others[1]])
    train, test = np.arange(100), np.arange(100, 1100)
    found, seconds = [], []
    for seed in range(seeds):
        plain = make_pipeline(StandardScaler(), LogisticRegression())
        made = IsingClassifier(random_state=seed)
        scores, time_taken = compared(X, y, train, test, made, plain, seed)
        found.append(scores)
        seconds.append(time_taken)
    # The longest: the first one also loads compiled kernels.
    return {"data": "moons", "rows": 100, "seconds": max(seconds), **summary(found)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    rows = [moons(given.seeds)]
    rows += [folds(name, given.seeds) for name in ("iris", "wine", "breast cancer", "diabetes")]
    if given.json:
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    sys.stdout.write("| data | isinglearn | STE | linear | s per fit |\n|---|---|---|---|---|\n")
    for row in rows:
        cells = [
            f"{row[m]['test']:.3f} ± {row[m]['spread']:.3f} ({row[m]['train']:.3f})"
            for m in ("ising", "ste", "linear")
        ]
        sys.stdout.write(f"| {row['data']} | {' | '.join(cells)} | {row['seconds']:.1f} |\n")


if __name__ == "__main__":
    main()
