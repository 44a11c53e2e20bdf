"""Estimators: scikit-learn's own checks, weights, labels, proofs, and work within its tools."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import isinglearn as il
from isinglearn import nn
from isinglearn.baselines import tuned_straight_through
from isinglearn.errors import IsingLearnError
from isinglearn.estimators import IsingClassifier, IsingRegressor
from isinglearn.estimators.samples import merged
from isinglearn.training.weights import whole

# Few steps: the checks fit hundreds of times.
CHECKED = [
    IsingClassifier(max_iter=25, random_state=0),
    IsingRegressor(max_iter=60, random_state=0),
]
# None. One is skipped, by scikit-learn itself: ``check_array_api_input`` runs only where SCIPY_ARRAY_API is
# set before anything is imported (with it set, it passes).
EXPECTED_FAILURES: dict[str, str] = {}

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
WORDS = np.array(["no", "yes", "yes", "no"])
PROVABLE = {"strategy": "direct", "input_bits": 0, "weight_bits": 1, "random_state": 0}


@parametrize_with_checks(CHECKED, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn(estimator, check):
    check(estimator)


def moons():
    return make_moons(100, noise=0.2, random_state=0)


# -- what they learn -------------------------------------------------------------------------------


def test_default_settings_on_two_moons_beside_straight_through():
    X, y = moons()
    classifier = IsingClassifier(random_state=0).fit(X, y)
    net = classifier.model_.network
    blank = nn.Sequential(
        *[
            nn.Linear(m.in_features, m.out_features, weight=m.weight, bias=m.bias)
            if hasattr(m, "weight")
            else m
            for m in net.modules
        ],
        input_bits=4,
    )
    signs, inputs = 2 * y - 1, classifier.model_.quantiser(X)
    other = tuned_straight_through(blank, inputs, signs, loss="logistic", epochs=(20, 100), seeds=1)
    theirs = il.Model(other.network, other.parameters).predict(inputs) == signs
    assert classifier.score(X, y) >= 0.95 * theirs.mean()
    assert classifier.score(X, y) >= 0.9


def test_several_classes_with_names():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    classifier = IsingClassifier(max_iter=150, random_state=0).fit(X, names)
    assert classifier.score(X, names) > 0.9
    assert classifier.classes_.tolist() == sorted(set(names))
    shares = classifier.predict_proba(X)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert (classifier.classes_[shares.argmax(axis=1)] == classifier.predict(X)).all()
    assert classifier.decision_function(X).shape == shares.shape


@pytest.mark.parametrize("loss", ["square", "hinge", "logistic", nn.MSE(), nn.Hinge()])
def test_losses(loss):
    X, y = load_iris(return_X_y=True)
    classifier = IsingClassifier(loss=loss, max_iter=100, random_state=0).fit(X, y)
    assert classifier.score(X, y) > 0.6
    assert hasattr(classifier, "predict_proba") == (loss == "logistic")


def test_a_curve_is_followed():
    X = np.linspace(-1, 1, 60)[:, None]
    y = 100 + 40 * np.sin(3 * X[:, 0])
    regressor = IsingRegressor(max_iter=300, random_state=0).fit(X, y)
    assert regressor.score(X, y) > 0.6
    assert regressor.target_range_ == (y.min(), y.max())
    assert regressor.model_.predict(X) == pytest.approx(regressor.predict(X))


def test_a_constant_target_is_predicted_exactly():
    X = np.arange(6.0)[:, None]
    regressor = IsingRegressor(max_iter=5, random_state=0).fit(X, np.full(6, 7.25))
    assert (regressor.predict(X) == 7.25).all()


# -- proofs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [None, "hinge"])
def test_direct_proves_the_optimum(loss):
    classifier = IsingClassifier((2,), loss=loss, **PROVABLE).fit(XOR, WORDS)
    assert (classifier.predict(XOR) == WORDS).all()
    assert classifier.optimality_gap_ == 0.0
    assert classifier.verdict_.startswith("proved optimal (")
    assert classifier.n_spins_ > 0
    assert not hasattr(classifier, "predict_proba")


def test_blocks_prove_nothing():
    classifier = IsingClassifier(max_iter=20, random_state=0).fit(XOR, WORDS)
    assert classifier.optimality_gap_ is None
    assert "nothing is proved" in classifier.verdict_
    assert len(classifier.loss_curve_) == classifier.n_iter_ == 20
    assert classifier.n_qubos_ > 0
    assert 0 < classifier.n_spins_ <= 256


def test_a_proved_regression_is_as_good_as_its_loss_says():
    regressor = IsingRegressor((2,), **{**PROVABLE, "weight_bits": None}).fit(XOR, [0, 0.5, 0.5, 1])
    assert regressor.optimality_gap_ == 0.0
    error = np.mean((2 * regressor.predict(XOR) - np.array([0, 1, 1, 2])) ** 2)
    assert error == pytest.approx(regressor.loss_)


def test_other_activations_go_to_one_problem():
    settings = {"activation": "relu", "input_bits": 0, "weight_bits": 1, "random_state": 0}
    classifier = IsingClassifier((1,), time_limit=10, **settings).fit(XOR, ["a", "b", "b", "b"])
    assert classifier.score(XOR, ["a", "b", "b", "b"]) >= 0.75
    with pytest.raises(IsingLearnError, match=r"block by block.*'relu'.*direct"):
        IsingClassifier(strategy="decomposed", **settings).fit(XOR, WORDS)


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"max_iter": 30}, PROVABLE], ids=["blocks", "direct"])
@pytest.mark.parametrize("kind", [IsingClassifier, IsingRegressor])
def test_weights_are_repetitions_and_zero_is_absence(kind, settings):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 3, (12, 2)).astype(float), random.integers(0, 2, 12)
    weights = random.integers(0, 4, 12)
    # What is left out may be anything, even another class.
    X[weights == 0], y[weights == 0] = 1000, 9
    order = random.permutation(12)
    made = {
        "hidden": (2,),
        "random_state": 3,
        **{k: v for k, v in settings.items() if k != "random_state"},
    }
    weighted = kind(**made).fit(X[order], y[order], 0.3 * weights[order])
    repeated = kind(**made).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert (weighted.predict(X) == repeated.predict(X)).all()
    assert weighted.loss_ == repeated.loss_


def test_direct_minimises_the_weighted_loss():
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1])
    for weights, expected in (([5, 1, 1], 0), ([1, 5, 1], 1)):
        fitted = IsingClassifier((1,), **PROVABLE).fit(X, y, weights)
        assert fitted.predict([[0.0]]) == expected


def test_class_weights():
    X, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.array([0] * 8 + [1] * 12)
    X[:] = 0
    for class_weight, expected in ((None, 1), ({0: 3}, 0), ({1: 0.1}, 0)):
        classifier = IsingClassifier(max_iter=30, class_weight=class_weight, random_state=0)
        assert classifier.fit(X, y).predict([[0.0]]) == expected
    balanced = IsingClassifier(max_iter=30, class_weight="balanced", random_state=0).fit(X, y)
    assert balanced.predict_proba([[0.0]]) == pytest.approx(0.5, abs=0.1)
    for wrong in ("equal", {0: -1.0}, {0: np.nan}):
        with pytest.raises(IsingLearnError, match="class_weight"):
            IsingClassifier(class_weight=wrong).fit(X, y)


def test_whole_proportions():
    assert whole(np.array([0.5, 1.0, 1.5]), 100).tolist() == [1, 2, 3]
    assert whole(np.array([0.1, 0.1, 0.3]) * 7, 100).tolist() == [1, 1, 3]
    assert whole(np.array([2.0, 2.0]), 100).tolist() == [1, 1]
    rounded = whole(np.array([1.0, np.pi, np.e]), 1000)
    assert rounded.sum() == 1000
    assert rounded / 1000 == pytest.approx(
        np.array([1, np.pi, np.e]) / (1 + np.pi + np.e), abs=1e-3
    )
    X, y, sums = merged(np.array([[1], [0], [1]]), np.array([1, 0, 1]), np.array([0.5, 1.0, 2.0]))
    assert (X.tolist(), y.tolist(), sums.tolist()) == ([[0], [1]], [0, 1], [1.0, 2.5])


# -- within scikit-learn's tools -------------------------------------------------------------------


def test_pipeline_search_and_cross_validation():
    X, y = moons()
    pipeline = make_pipeline(StandardScaler(), IsingClassifier(max_iter=40, random_state=0))
    pipeline.set_output(transform="default")
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    search = GridSearchCV(pipeline, {"isingclassifier__hidden": [(2,), (4,)]}, cv=2).fit(X, y)
    assert search.best_params_["isingclassifier__hidden"] in ((2,), (4,))


def test_set_output_of_a_transformer_in_front():
    pandas = pytest.importorskip("pandas")
    X, y = moons()
    frame = pandas.DataFrame(X, columns=["left", "right"])
    pipeline = make_pipeline(StandardScaler(), IsingClassifier(max_iter=20, random_state=0))
    pipeline.set_output(transform="pandas").fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == ["left", "right"]
    assert len(pipeline.predict(frame)) == len(y)


def test_same_seed_same_network_and_clones_agree():
    X, y = moons()
    first = IsingClassifier(max_iter=30, random_state=5).fit(X, y)
    second = clone(first).fit(X, y)
    assert (first.decision_function(X) == second.decision_function(X)).all()


def test_warm_start_never_loses():
    X, y = moons()
    classifier = IsingClassifier(max_iter=40, random_state=0, warm_start=True).fit(X, y)
    losses = [classifier.loss_]
    for seed in range(3):
        losses.append(classifier.set_params(random_state=seed).fit(X, y).loss_)
    assert losses == sorted(losses, reverse=True)
    with pytest.raises(IsingLearnError, match="other classes"):
        classifier.fit(X, y + 1)
    direct = IsingClassifier((1,), warm_start=True, **PROVABLE).fit(XOR, WORDS)
    assert direct.fit(XOR, WORDS).loss_ == direct.loss_


def test_time_limit_keeps_what_there_is():
    X, y = moons()
    classifier = IsingClassifier(max_iter=10**6, time_limit=0.5, random_state=0).fit(X, y)
    assert 0 < classifier.n_iter_ < 10**6
    assert classifier.score(X, y) > 0.5


def test_verbose_writes_and_silence_is_silent(capsys):
    IsingClassifier(max_iter=5, random_state=0).fit(XOR, WORDS)
    assert capsys.readouterr().out == ""
    IsingClassifier(max_iter=5, random_state=0, verbose=1).fit(XOR, WORDS)
    assert "[IsingClassifier] step 1 loss" in capsys.readouterr().out


def test_the_model_is_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    classifier = IsingClassifier(max_iter=20, random_state=0).fit(X, names)
    classifier.model_.save(tmp_path / "m.json")
    assert (il.load(tmp_path / "m.json").predict(X) == classifier.predict(X)).all()
    two = IsingClassifier(max_iter=20, random_state=0).fit(XOR, WORDS == "yes")
    two.model_.save(tmp_path / "m.json")
    assert (il.load(tmp_path / "m.json").predict(XOR) == two.predict(XOR)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": 8}, "hidden"),
        ({"hidden": (0,)}, "hidden"),
        ({"activation": "sine"}, "activation.*sign"),
        ({"strategy": "driect"}, "direct"),
        ({"input_bits": 99}, "input_bits"),
        ({"weight_bits": 0}, "weight_bits"),
        ({"loss": "absolute"}, "loss"),
        ({"loss": "logistic", "strategy": "direct"}, "loss of this strategy"),
        ({"formulation": "paper"}, "formulation.*direct"),
        ({"max_iter": 0}, "max_iter"),
        ({"time_limit": -1}, "time"),
        ({"solver": "anealer"}, "annealer"),
    ],
)
def test_settings_that_cannot_be_say_so(settings, message):
    with pytest.raises(IsingLearnError, match=message):
        IsingClassifier(**{"random_state": 0, **settings}).fit(XOR, WORDS)


def test_labels_and_weights_that_cannot_be_say_so():
    with pytest.raises(IsingLearnError, match="one class"):
        IsingClassifier().fit(XOR, [1, 1, 1, 1])
    for weights in ([0, 0, 0, 0], [1, -1, 1, 1]):
        # Whoever looks first, scikit-learn or we.
        with pytest.raises(ValueError, match=r"(?i)sample.weight"):
            IsingClassifier().fit(XOR, WORDS, weights)
    with pytest.raises(IsingLearnError, match="loss"):
        IsingRegressor(loss="hinge").fit(XOR, [1, 2, 3, 4])
