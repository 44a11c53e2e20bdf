"""The recheck: right bits pass, and every corruption is named."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import isinglearn as il
from isinglearn.decode import decode_vectors
from isinglearn.paper.instances import TASKS
from isinglearn.verify import Verdict, forward_loss, verify

FORMS = {
    "compact": {},
    "slack": {"signs": "slack"},
    "product": {"order": "product"},
    "box": {"box": True},
    "paper": {"formulation": "paper"},
}


@pytest.fixture(scope="module", params=FORMS.values(), ids=list(FORMS))
def problem(request) -> il.Problem:
    task = TASKS[0]
    return il.compile(task.network, task.X, task.y, **request.param)


@pytest.fixture(scope="module")
def run(problem) -> il.Run:
    return il.solve(problem, "brute")


@pytest.fixture(scope="module")
def bits(problem, run) -> np.ndarray:
    return problem.qubo.complete(problem.complete(run.result.vectors[0]))[0]


def energy(problem: il.Problem, bits: np.ndarray) -> int:
    return int(problem.qubo.energy(bits)[0])


def check(problem: il.Problem, bits: np.ndarray) -> Verdict:
    """A verdict on bits as a sampler would report them."""
    vector = decode_vectors(problem, problem.qubo, bits)[0]
    return verify(problem, problem.parameters(vector), bits, energy(problem, bits))


def test_a_network_without_bits_is_consistent(problem, run):
    verdict = run.verdict
    assert verdict.consistent
    assert verdict.violations == ()
    assert verdict.claimed_energy is verdict.recomputed_energy is verdict.loss_from_bits is None
    assert verdict.loss_from_forward == run.best.loss == Fraction(2, 3)
    assert str(verdict) == "consistent: loss 0.666667"


def test_the_bits_of_a_network_are_consistent(problem, run, bits):
    verdict = verify(problem, run.best.parameters, bits, energy(problem, bits))
    assert verdict.consistent
    assert verdict.violations == ()
    assert verdict.claimed_energy == verdict.recomputed_energy
    assert verdict.loss_from_bits == verdict.loss_from_forward == Fraction(2, 3)
    assert Fraction(verdict.recomputed_energy, problem.qubo.scale) == Fraction(2, 3)


def test_bits_without_a_claimed_energy_can_be_consistent(problem, run, bits):
    verdict = verify(problem, run.best.parameters, bits)
    assert verdict.claimed_energy is None
    assert verdict.consistent


def test_a_false_energy_is_found(problem, run, bits):
    verdict = verify(problem, run.best.parameters, bits, energy(problem, bits) - 1)
    assert not verdict.consistent
    assert verdict.violations == ()
    assert verdict.recomputed_energy == verdict.claimed_energy + 1


def test_parameters_that_are_not_those_of_the_bits_are_found(problem, run, bits):
    other = {**run.best.parameters, "layer2.bias": run.best.parameters["layer2.bias"] + 1}
    verdict = verify(problem, other, bits, energy(problem, bits))
    assert not verdict.consistent
    assert verdict.loss_from_forward != verdict.loss_from_bits
    assert str(verdict).startswith("inconsistent")


def test_a_broken_product_is_named(problem, bits):
    for auxiliary in problem.qubo.products.auxiliary:
        broken = bits.copy()
        broken[auxiliary] ^= 1
        verdict = check(problem, broken)
        assert not verdict.consistent
        assert problem.qubo.variables[int(auxiliary)] in verdict.violations
        assert verdict.violations[0] in str(verdict)


def test_every_single_flip_is_another_network_or_is_named(problem, bits):
    names = set(problem.qubo.variables) | {
        part.positions.name(row)
        for part in problem.qubo.penalties
        for row in range(len(part.positions))
    }
    named = 0
    for place in range(len(bits)):
        flipped = bits.copy()
        flipped[place] ^= 1
        verdict = check(problem, flipped)
        # The energy summed entry by entry is that of the polynomial.
        assert verdict.claimed_energy == verdict.recomputed_energy
        assert verdict.consistent == (not verdict.violations)
        assert {v for v in verdict.violations if not v.endswith("outside the box")} <= names
        named += bool(verdict.violations)
    assert named > 0


def test_random_bits_that_break_nothing_are_a_network(problem):
    rng = np.random.default_rng(0)
    for guess in rng.integers(0, 2, (20, problem.qubo.num_variables)):
        verdict = check(problem, guess)
        assert verdict.claimed_energy == verdict.recomputed_energy
        if not verdict.violations:
            assert verdict.loss_from_bits == verdict.loss_from_forward


def test_forward_loss_is_the_mean_squared_error(problem, run):
    task = TASKS[0]
    outputs = problem.network.forward(run.best.parameters, task.X).ravel().tolist()
    scale = problem.network.output_scale
    errors = [(Fraction(a, scale) - b) ** 2 for a, b in zip(outputs, task.y.tolist(), strict=True)]
    assert forward_loss(problem, run.best.parameters) == sum(errors) / len(errors)
