from __future__ import annotations

import numpy as np
import pytest

from isinglearn.errors import DataError, OptionError
from isinglearn.training.losses import LOSSES, loss_named

RANDOM = np.random.default_rng(0)
Z = RANDOM.normal(size=(20, 3))
LABELS = {
    "cross_entropy": RANDOM.integers(0, 3, 20),
    "logistic": RANDOM.choice([-1, 1], (20, 3)),
    "hinge": RANDOM.choice([-1, 1], (20, 3)),
    "squared_hinge": RANDOM.choice([-1, 1], (20, 3)),
    "square": RANDOM.normal(size=(20, 3)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_are_those_of_the_values(name):
    loss = loss_named(name)
    t = loss.targets(LABELS[name], 3)
    small = 1e-4
    slopes, curvature = loss.slopes(Z, t), loss.curvature(Z, t)
    for k in range(3):
        up, down = Z.copy(), Z.copy()
        up[:, k] += small
        down[:, k] -= small
        rise = (loss.values(up, t) - loss.values(down, t)) / (2 * small)
        bend = (loss.values(up, t) - 2 * loss.values(Z, t) + loss.values(down, t)) / small**2
        assert np.allclose(rise, slopes[:, k], atol=1e-4)
        assert np.allclose(bend, curvature[:, k], atol=1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_curvature_along_directions(name):
    loss = loss_named(name)
    t = loss.targets(LABELS[name], 3)
    directions = RANDOM.normal(size=(5, 3))
    small = 1e-3
    for k, direction in enumerate(directions):
        ends = [loss.values(Z + s * small * direction, t) for s in (1, 0, -1)]
        bend = (ends[0] - 2 * ends[1] + ends[2]) / small**2
        assert np.allclose(bend, loss.through(Z, t, directions)[:, k], atol=1e-2)
    own = [loss.through(Z[i : i + 1], t[i : i + 1], Z[i : i + 1])[0, 0] for i in range(len(Z))]
    assert np.allclose(own, loss.through_own(Z, t))


def test_labels_that_do_not_fit():
    with pytest.raises(DataError, match="-1 or"):
        loss_named("hinge").targets([0, 1], 1)
    with pytest.raises(DataError, match=r"0\.\.2"):
        loss_named("cross_entropy").targets([0, 3], 3)
    with pytest.raises(DataError, match="shape"):
        loss_named("square").targets([[1, 2]], 3)
    with pytest.raises(OptionError, match="'square'"):
        loss_named("squares")
