from __future__ import annotations

import pickle

import numpy as np
import pytest

from isinglearn import nn
from isinglearn.errors import NetworkError, OverflowRefused
from isinglearn.training.batches import SHARD, Batches, Source
from isinglearn.training.chain import Chain
from isinglearn.training.decomposed.memory import blank_memories, random_parameters
from isinglearn.training.decomposed.slopes import Pass, Slopes, shard_losses, shard_slopes
from isinglearn.training.losses import loss_named

RANDOM = np.random.default_rng(2)
X = RANDOM.integers(-20, 20, (60, 5))
Y = RANDOM.integers(0, 3, 60)


def network():
    return nn.Sequential(
        nn.Linear(5, 4, weight=nn.Spin(), bias=nn.Int(-200, 200)),
        nn.Sign(),
        nn.Linear(4, 6, weight=nn.Spin(), bias=nn.Int(-4, 4)),
        nn.Sign(),
        nn.Linear(6, 3, weight=nn.Fixed(-8, 7, 4), bias=nn.Fixed(-8, 7, 8)),
    )


def setting(scale=0.1):
    chain = Chain.of(network(), X)
    memories = blank_memories(chain, Source(X))
    parameters = random_parameters(chain, memories, 0)
    shifts = [memory.shift.astype(chain.dtype) for memory in memories]
    loss = loss_named("cross_entropy")
    return parameters, Pass(chain, loss, chain.arrays(parameters), scale, [50.0, 3.0], shifts)


def test_the_chain_is_the_network():
    parameters, given = setting()
    expected = given.chain.network.forward(parameters, X)
    assert np.array_equal(given.chain.forward(parameters, X), expected)
    losses, right = shard_losses(given, Source(X), Source(Y), np.arange(60))
    assert np.array_equal(right, expected.argmax(axis=1) == Y)
    assert np.allclose(losses, loss_named("cross_entropy").values(expected * 0.1, Y), atol=1e-5)


def test_output_slopes_and_curvature_are_those_of_the_loss():
    parameters, given = setting()
    seen = Slopes.total([shard_slopes(given, Source(X), Source(Y), np.arange(60))[0]])
    layer, last = seen.layers[-1], given.chain.last
    network_of = given.chain.network

    def mean_loss(name, index, change):
        moved = {key: value.astype(float) for key, value in parameters.items()}
        moved[name][index] += change
        return given.loss.values(network_of.forward(moved, X) * 0.1, Y).mean()

    for name, index, place in (
        ("layer3.weight", (1, 2), (1, 2)),
        ("layer3.weight", (0, 5), (0, 5)),
        ("layer3.bias", (2,), (2, 6)),
    ):
        ends = [mean_loss(name, index, change) for change in (1e-3, 0, -1e-3)]
        assert layer.slope[place] == pytest.approx((ends[0] - ends[2]) / 2e-3, rel=1e-3, abs=1e-6)
    # A bias has the same curvature for all samples: there the two factors are exact.
    ends = [mean_loss("layer3.bias", (2,), change) for change in (1e-2, 0, -1e-2)]
    bend = (ends[0] - 2 * ends[1] + ends[2]) / 1e-4
    assert layer.curvature[2] * last.bias_factor**2 == pytest.approx(bend, rel=1e-3)
    assert layer.moments[-1, -1] == last.bias_factor**2
    assert seen.loss == pytest.approx(ends[1], rel=1e-5)


def test_shards_add_up():
    _, given = setting()
    whole = Slopes.total([shard_slopes(given, Source(X), Source(Y), np.arange(60))[0]])
    parts = Slopes.total(
        [shard_slopes(given, Source(X), Source(Y), r)[0] for r in np.array_split(np.arange(60), 7)]
    )
    for one, other in zip(whole.layers, parts.layers, strict=True):
        assert np.allclose(one.slope, other.slope, atol=1e-5)
        assert np.allclose(one.moments, other.moments)
    assert whole.scale_slope == pytest.approx(parts.scale_slope, rel=1e-4)


def test_every_pass_has_every_row_once():
    batches = Batches(10 * SHARD, 2 * SHARD, 5)
    seen = np.concatenate([batches.chosen(step) for step in range(5)])
    assert np.array_equal(np.sort(seen), np.arange(10 * SHARD))
    assert not np.array_equal(batches.chosen(0), batches.chosen(5))
    assert [len(part) for part in batches.shards(3)] == [SHARD, SHARD]


def test_a_memory_map_travels_as_its_name(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    source = Source(np.load(path, mmap_mode="r"))
    sent = pickle.dumps(source)
    assert len(sent) < X.nbytes / 4
    assert np.array_equal(pickle.loads(sent).array, X)
    part = pickle.loads(pickle.dumps(Source(source.array[7:])))
    assert np.array_equal(part.array, X[7:])


def test_float_types_hold_every_sum():
    assert Chain.of(network(), X).dtype == np.float32
    assert Chain.of(network(), X * 2**20).dtype == np.float64
    with pytest.raises(OverflowRefused, match="layer1"):
        Chain.of(network(), X * 2**50)


def test_parameters_are_checked():
    parameters, given = setting()
    with pytest.raises(NetworkError, match=r"layer1\.bias"):
        given.chain.check({**parameters, "layer1.bias": np.full(4, 999)})
    with pytest.raises(NetworkError, match="nothing"):
        given.chain.check({"layer1.weight": parameters["layer1.weight"]})
