"""Model files: every module comes back as it was, and what is no such file is refused in words."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import DataError, NetworkError
from isinglearn.model import load
from isinglearn.model.files import VERSION, _digest, described
from isinglearn.model.quantiser import Quantiser
from isinglearn.nn.records import built, plain

TRIALS = [
    pytest.param(trial, id=f"{name}-{number}")
    for name, module in nn.MODULES.items()
    if module.__module__.startswith("isinglearn.")
    for number, trial in enumerate(module.trials())
]


def random_model(network: nn.Sequential, X: np.ndarray, **faces) -> il.Model:
    """A network with what it takes from data, and random values in its domains."""
    random = np.random.default_rng(0)
    bits = int(np.abs(X).max()).bit_length()
    ready = network.resolved(bits).observed(X, np.ones(len(X), dtype=np.int64))
    values = {
        name: np.where(spec.free, random.choice(spec.domain.values, spec.shape), spec.frozen)
        for name, spec in ready.parameters.items()
    }
    return il.Model(ready, values, **faces)


def small_model(**faces) -> il.Model:
    network = nn.Sequential(nn.Linear(2, 3), nn.Sign(), nn.Linear(3, 2), nn.Sign(), nn.Linear(2, 1))
    return random_model(network, np.array([[2, -1], [0, 1]]), **faces)


def again(model: il.Model, tmp_path) -> il.Model:
    """Saved, loaded, and the same bytes when saved again."""
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    model.save(first)
    loaded = load(first)
    loaded.save(second)
    assert first.read_bytes() == second.read_bytes()
    return loaded


def test_every_module_has_a_trial():
    seen = {name for param in TRIALS for name in [param.id.rpartition("-")[0]]}
    own = {n for n, m in nn.MODULES.items() if m.__module__.startswith("isinglearn.")}
    assert seen == own


@pytest.mark.parametrize("trial", TRIALS)
def test_round_trip_of_every_module(trial, tmp_path):
    network = nn.Sequential(*trial.modules, input_shape=trial.input_shape)
    model = random_model(network, trial.X)
    loaded = again(model, tmp_path)
    assert repr(loaded.network) == repr(model.network)
    assert loaded.network.input_shape == model.network.input_shape
    assert (loaded.outputs(trial.X) == model.outputs(trial.X)).all()
    assert (loaded.predict(trial.X) == model.predict(trial.X)).all()
    for name, spec in model.network.parameters.items():
        other = loaded.network.parameters[name]
        assert (other.domain, other.shape) == (spec.domain, spec.shape)
        assert (other.free == spec.free).all()
        assert (other.frozen[~spec.free] == spec.frozen[~spec.free]).all()
        assert (loaded.parameters[name] == model.parameters[name]).all()


def test_arguments_that_trials_leave_alone(tmp_path):
    network = nn.Sequential(
        nn.Conv2d(1, 2, 2, stride=2, padding=1, weight=nn.Int(-1, 2), use_bias=False),
        nn.LeakyReLU(0.1),
        nn.MaxPool2d(2, stride=1),
        nn.Staircase([Fraction(-1, 3), 0.5], [-1, 0, 0.5], denominator=2),
        nn.BatchNorm(mean=[1, 0], deviation=[2, 1], gain=nn.Spin()),
        nn.Flatten(),
        nn.Linear(2, 2, weight=nn.Fixed(-3, 3, 7)).freeze(weight=[[np.nan, 3 / 7], [0, np.nan]]),
        nn.LayerNorm(denominator=3),
        nn.PReLU(nn.Fixed(1, 2, 3)),
        nn.Linear(2, 3),
        input_shape=(1, 3, 3),
    )
    X = np.random.default_rng(1).integers(-2, 3, (20, 9))
    model = random_model(network, X)
    assert (again(model, tmp_path).outputs(X) == model.outputs(X)).all()


def test_blocks_within_blocks(tmp_path):
    block = nn.Residual(nn.Residual(nn.Linear(2, 2), nn.Sign()).freeze(**{"layer1.bias": 1}))
    network = nn.Sequential(nn.Linear(2, 2), nn.Sign(), block, nn.Linear(2, 1))
    X = np.array([[1, 0], [-1, 1], [0, 0]])
    model = random_model(network, X)
    assert (again(model, tmp_path).outputs(X) == model.outputs(X)).all()


def test_quantiser_classes_and_range_are_part_of_the_model(tmp_path):
    X = np.array([[0.1, 5.0], [0.7, -3.0], [0.30000000000000004, 1e9]])
    quantiser = Quantiser.of(X, 1)
    named = again(small_model(quantiser=quantiser, classes=("ja", "nein")), tmp_path)
    assert set(named.predict(X)) <= {"ja", "nein"}
    assert (named.outputs(X) == small_model().outputs(quantiser(X))).all()
    numbers = again(small_model(quantiser=quantiser, target_range=(10.0, 20.0)), tmp_path)
    assert numbers.predict(X) == pytest.approx(15 + 5 * named.outputs(X)[:, 0])


def test_a_trained_model_is_saved_too(tmp_path):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    trained = il.train(net, X, np.array([-1, 1, 1, -1]), strategy="decomposed", steps=20)
    assert (again(trained, tmp_path).predict(X) == trained.predict(X)).all()


@pytest.mark.parametrize(
    ("faces", "name"),
    [
        ({"classes": ("a", "a")}, "classes"),
        ({"classes": ("a", "b", "c")}, "classes"),
        ({"target_range": (0.0, np.inf)}, "target_range"),
        ({"quantiser": Quantiser(np.zeros(3), np.ones(3), 1)}, "quantiser"),
        ({"quantiser": Quantiser(np.zeros(2), np.ones(2), 9)}, "quantiser"),
        ({"features": ("a",)}, "features"),
        ({"features": ("a", "a")}, "features"),
        ({"odds": 0.0}, "odds"),
        ({"odds": np.nan}, "odds"),
    ],
)
def test_what_does_not_fit_the_network_is_refused(faces, name):
    with pytest.raises(NetworkError, match=name):
        small_model(**faces)


# -- files that are none ---------------------------------------------------------------------------


def written(tmp_path, change):
    """A file whose record was changed, without the sum that would tell."""
    record = {"format": "isinglearn-model", "version": VERSION, **described(small_model())}
    path = tmp_path / "changed.json"
    other = change(record)
    path.write_text(json.dumps([record] if other == [record] else record))
    return path


def test_a_file_written_by_hand_needs_no_sum(tmp_path):
    path = written(tmp_path, lambda record: None)
    assert (load(path).predict([[1, 0]]) == small_model().predict([[1, 0]])).all()


def test_a_truncated_file_at_every_length(tmp_path):
    path = tmp_path / "m.json"
    small_model().save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"m\.json.*Rule.*Received.*Remedy"):
            load(path)


def test_a_changed_digit_is_noticed(tmp_path):
    path = tmp_path / "m.json"
    small_model().save(path)
    text = path.read_text()
    at = text.index("layer1.weight")
    path.write_text(text[:at] + text[at:].replace("-1", "1", 1))
    with pytest.raises(DataError, match=r"damaged.*sha256"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(version=VERSION + 1), "newer isinglearn.*update"),
        (lambda r: r.update(version="x"), "damaged"),
        (lambda r: r.update(format="other"), "no model file"),
        (lambda r: [r], "no model file"),
        (lambda r: r.pop("network"), "do not fit together"),
        (lambda r: r["network"]["modules"][0].update(module="Linaer"), "Linear"),
        (lambda r: r["network"]["modules"][0].update(module="os.system"), "not known"),
        (lambda r: r["network"]["modules"][0].update(module="_Affine"), "not known"),
        (lambda r: r["network"]["modules"][0]["arguments"].update(extra=1), "extra"),
        (lambda r: r["network"]["modules"][0]["arguments"].update(weight=[1]), "domain"),
        (lambda r: r["network"]["modules"][0].update(frozen={"self": 1}), "do not fit"),
        (lambda r: r["network"]["modules"][0].update(seen={"mean": [1]}), "takes from data"),
        (lambda r: r["network"].update(modules=[]), "at least one"),
        (lambda r: r["network"]["modules"][0]["arguments"].update(out_features=10**9), "weights"),
        (lambda r: r["network"].update(input_bits=None), "do not fit"),
        (lambda r: r["network"].update(input_shape=[3]), "do not fit|does not fit"),
        (lambda r: r["parameters"].pop("layer1.bias"), "not the parameters"),
        (lambda r: r["parameters"].update({"layer1.bias": [1, 2]}), "layer1.bias"),
        (lambda r: r["parameters"].update({"layer1.bias": [1e9, 2, 3]}), "whole"),
        (lambda r: r["parameters"].update({"layer1.bias": [10**30, 2, 3]}), "do not fit"),
        (lambda r: r.update(quantiser={"low": [0, 0], "high": [1, "x"], "bits": 1}), "ranges"),
        (lambda r: r.update(quantiser={"low": [0]}), "do not fit"),
        (lambda r: r.update(classes=[[1], [2]]), "classes"),
        (lambda r: r.update(target_range=[1]), "do not fit"),
    ],
)
def test_changed_contents_are_refused_in_words(change, message, tmp_path):
    path = written(tmp_path, change)
    with pytest.raises(DataError, match=message) as caught:
        load(path)
    assert "changed.json" in str(caught.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"none\.json"):
        load(tmp_path / "none.json")
    for content in (b"\x80\x04pickle", b"[" * 100_000, b'{"a": NaN}', b"1" * 5000, b"\xff"):
        path = tmp_path / "other"
        path.write_bytes(content)
        with pytest.raises(DataError, match="other"):
            load(path)


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    small_model().save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda number: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        small_model(classes=(0, 1)).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_only_registered_modules_and_plain_arguments_are_written():
    with pytest.raises(DataError, match="cannot be written"):
        plain(object())
    local = type("_Local", (nn.Sign,), {})
    with pytest.raises(DataError, match="not registered"):
        plain(local())
    record = plain(nn.Residual(nn.Linear(2, 2), nn.Sign()))
    assert json.loads(json.dumps(record)) == record
    assert repr(built(record)) == "Residual(Linear(2, 2), Sign())"


def test_names_of_features_and_odds_are_part_of_the_model(tmp_path):
    loaded = again(small_model(features=("width", "height"), odds=2.5), tmp_path)
    assert loaded.features == ("width", "height")
    shares = loaded.predict_proba([[2, -1], [0, 1]])
    assert shares == pytest.approx(small_model(odds=2.5).predict_proba([[2, -1], [0, 1]]))
    assert shares[:, 1] == pytest.approx(1 / (1 + np.exp(-2.5 * loaded.margins([[2, -1], [0, 1]]))))


def test_files_from_before_there_were_names_and_odds(tmp_path):
    path = tmp_path / "model.json"
    body = {k: v for k, v in described(small_model()).items() if k not in ("features", "odds")}
    head = {"format": "isinglearn-model", "version": VERSION, "sha256": _digest(body)}
    path.write_text(json.dumps(head | body))
    assert load(path).features is None


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="there is no such file"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize("X", [[[1.0, 2.0, 3.0]], [[1.0]], [1.0, 2.0]])
def test_another_number_of_features_is_refused(X):
    model = small_model(quantiser=Quantiser([0.0, 0.0], [1.0, 1.0], 1))
    with pytest.raises(DataError, match="not the number of features"):
        model.predict(X)
