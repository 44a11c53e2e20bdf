"""A training's clock starts once its kernels are there."""

from __future__ import annotations

import time

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError
from isinglearn.training.decomposed import Decomposition
from isinglearn.training.decomposed.quadratic import DenseAnnealer

X = np.random.default_rng(0).integers(-8, 9, (60, 2))
Y = (X.sum(axis=1) > 0).astype(int)


def net() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(2, 4, weight=nn.Int(-3, 3), bias=nn.Int(-16, 16)),
        nn.Sign(),
        nn.Linear(4, 2, weight=nn.Int(-4, 3), bias=nn.Int(-4, 3)),
    )


@pytest.mark.parametrize("restarts", [1, 2])
def test_what_is_prepared_is_not_counted(monkeypatch, restarts):
    prepared = []

    def slow(task) -> None:
        prepared.append(task)
        if len(prepared) == 1:
            time.sleep(0.6)

    monkeypatch.setattr(Decomposition, "prepare", slow)
    trained = il.train(net(), X, Y, strategy="decomposed", time_limit=0.5, restarts=restarts)
    assert prepared
    assert trained.steps > 1


def test_only_our_own_kernels_are_run_beforehand(monkeypatch):
    seen = []
    original = DenseAnnealer.__call__

    def watched(self, matrix, seed):
        seen.append(matrix.shape)
        return original(self, matrix, seed)

    def paid(Q):
        assert len(Q) > 2, "a user's function is not called for practice"
        return np.zeros(len(Q), dtype=int)

    monkeypatch.setattr(DenseAnnealer, "__call__", watched)
    il.train(net(), X, Y, strategy="decomposed", steps=1)
    assert seen[0] == (2, 2)
    seen.clear()
    il.train(net(), X, Y, strategy="decomposed", steps=1, solver=paid)
    assert not seen


def test_news_need_a_listener():
    with pytest.raises(OptionError, match="on_event"):
        il.train(net(), X, Y, on_event=3)
