"""A network with convolution, ReLU and pooling, trained to the proved optimum on real images.

scikit-learn's digits, 8 x 8 pixels, two classes and few samples. ``solver="auto"`` finds that the networks of
this shape can be enumerated, so that the result is not only good but optimal.

    python examples/digits_convolution.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

import isinglearn as il
from isinglearn import nn

SAMPLES = 40


def images(first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels as 0 or 1, classes as -1 or +1, in a random order that is always the same."""
    digits = load_digits()
    chosen = np.flatnonzero(np.isin(digits.target, (first, second)))
    chosen = np.random.default_rng(0).permutation(chosen)
    labels = np.where(digits.target[chosen] == second, 1, -1)
    return (digits.images[chosen] >= 8).astype(np.int64), labels


def main() -> None:
    """Train on the first samples, test on all others."""
    X, y = images(6, 9)
    network = nn.Sequential(
        nn.Conv2d(1, 1, 3, weight=nn.Spin(), bias=nn.Int(-3, 0)),
        nn.ReLU(),
        nn.MaxPool2d(3),
        nn.Flatten(),
        nn.Linear(4, 1, weight=nn.Fixed(-2, 1, 2), bias=nn.Int(-1, 1)),
        input_shape=(1, 8, 8),
    )
    problem = il.compile(network, X[:SAMPLES], y[:SAMPLES])
    run = il.solve(problem, solver="auto", time_limit=300, seed=0)
    model = il.Model(problem.network, run.best.parameters)
    right = model.predict(X[SAMPLES:]) == y[SAMPLES:]
    print(f"solver         {run.solver}")
    print(f"training loss  {float(run.best.loss):.4f} ({run.status.value}, {SAMPLES} images)")
    print(f"test accuracy  {right.mean():.1%} ({len(right)} images)")
    print(f"as a QUBO      {problem.qubo.num_variables} spins")


if __name__ == "__main__":
    main()
