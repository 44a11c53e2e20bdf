"""Every module and loss trains to the brute-force optimum, and no state of its QUBO lies below it."""

import numpy as np
import pytest
from exact_minimum import minimum, width

import isinglearn as il
from isinglearn import nn
from isinglearn.nn import trials
from isinglearn.paper.modules import problem_of, trains_to_the_optimum

# Two to this many numbers are held at once.
MOST_WIDTH = 16
ON_POINTS = trials.on_points(trials.hidden(), trials.make("Sign"), trials.readout())
CASES = [
    pytest.param(trial, loss, form, id=f"{name}-{number}-{form}")
    for name, number, trial, loss in (
        *((n, i, t, None) for n, m in nn.MODULES.items() for i, t in enumerate(m.trials())),
        *((name, 0, ON_POINTS, loss()) for name, loss in nn.LOSSES.items()),
    )
    for form in ("compact", "paper")
]


def test_every_module_has_a_trial():
    assert all(module.trials() for module in nn.MODULES.values())


@pytest.mark.parametrize(("trial", "loss", "form"), CASES)
def test_training_reaches_the_optimum(trial, loss, form):
    assert trains_to_the_optimum(trial, loss, form, seed=0)


@pytest.mark.parametrize(("trial", "loss", "form"), CASES)
def test_no_state_lies_below_the_optimum(trial, loss, form):
    """With the bits of the parameters fixed samples fall apart, and an oracle finds each minimum."""
    problem = problem_of(trial, loss, form)
    qubo = problem.qubo
    best = il.solve(problem, "brute").result.vectors[0]
    rng = np.random.default_rng(0)
    random = [[rng.choice(list(values)) for values in problem.free_domains] for _ in range(3)]
    optimum = int(problem.scores(best)[0])
    bqm = qubo.to_bqm()
    names = list(qubo.variables)
    # Bits of no sample, and products of such bits.
    shared = qubo.variables.samples < 0
    size = qubo.num_variables - len(qubo.products)
    shared[size:] = shared[qubo.products.left] & shared[qubo.products.right]
    for vector in (best, *random):
        if problem.scores(vector)[0] == np.iinfo(np.int64).max:
            continue
        bits = qubo.complete(problem.complete(vector))[0]
        rest = bqm.copy()
        rest.fix_variables({names[i]: int(bits[i]) for i in np.flatnonzero(shared)})
        if width(rest) > MOST_WIDTH:
            pytest.skip(f"{width(rest)} bits at once, too many for the oracle")
        least = minimum(rest)
        assert least >= optimum
        if vector is best:
            assert least == optimum
