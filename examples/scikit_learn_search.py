"""A quantised network as a scikit-learn classifier: in a pipeline, searched over, beside a familiar one.

python examples/scikit_learn_search.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import isinglearn as il


def main() -> None:
    """Choose width and precision by cross-validation, then test on rows that nothing has seen."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    ours = make_pipeline(
        StandardScaler(),
        PCA(8, random_state=0),
        il.IsingClassifier(max_iter=150, random_state=0),
    )
    choices = {
        "isingclassifier__hidden": [(), (4,), (8,)],
        "isingclassifier__weight_bits": [1, 4],
    }
    search = GridSearchCV(ours, choices, cv=3).fit(X, y)
    familiar = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    best = search.best_estimator_[-1]
    shares = search.predict_proba(X_test)[:, 1]
    sure = np.maximum(shares, 1 - shares) > 0.9
    print(f"chosen               {search.best_params_}")
    print(f"test accuracy        {search.score(X_test, y_test):.1%}")
    print(
        f"where it is sure     {(search.predict(X_test) == y_test)[sure].mean():.1%} ({sure.sum()} rows)"
    )
    print(
        f"logistic regression  {familiar.score(X_test, y_test):.1%}, with weights in floating point"
    )
    print(f"largest QUBO         {best.n_spins_} spins, {best.n_qubos_} solved")


if __name__ == "__main__":
    main()
