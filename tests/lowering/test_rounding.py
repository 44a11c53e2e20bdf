"""Rounded QUBOs: within the machine's range, as close as said, and judged as enumeration judges them."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.decode import decode_vectors
from isinglearn.errors import IsingLearnError, OptionError, OverflowRefused, SolverError
from isinglearn.lowering.rounding import (
    CONVENTIONS,
    effect_of_rounding,
    round_coefficients,
    with_polynomial,
)
from isinglearn.problem.polynomial import Polynomial
from isinglearn.solvers.base import Form, Status
from isinglearn.solvers.reading import read
from isinglearn.solvers.session import Session
from isinglearn.solvers.treewidth import Treewidth


def tiny(X=((0,), (1,)), y=(-1, 1), **options) -> il.Problem:
    net = nn.Sequential(nn.Linear(len(X[0]), 1), nn.Sign(), nn.Linear(1, 1))
    return il.compile(net, X, y, **options)


# 9 to 13 spins: small enough to list every assignment.
PROBLEMS = {
    "two points": tiny(),
    "three points": tiny([[0], [1], [2]], [1, -1, 1]),
    "symmetric inputs": tiny([[-1], [1]], [-1, 1]),
}
SMALL = PROBLEMS["two points"].qubo
SIZE = SMALL.num_variables
INDICES = st.integers(0, SIZE - 1)


def all_bits(count):
    return (np.arange(2**count)[:, None] >> np.arange(count)) & 1


def brute(qubo):
    """One ground state, by listing all assignments."""
    bits = all_bits(qubo.num_variables)
    return bits[np.argmin(qubo.energy(bits))]


def refuse(qubo):
    return None


def optimum(problem):
    return il.solve(problem, "brute").best.loss


def any_qubo(terms, factor=1):
    """The small QUBO with other energies."""
    polynomial = Polynomial.from_terms({term: value * factor for term, value in terms.items()})
    return with_polynomial(SMALL, polynomial, 1)


TERMS = st.dictionaries(
    st.one_of(st.just(()), st.tuples(INDICES), st.sets(INDICES, min_size=2, max_size=2).map(tuple)),
    st.integers(-300, 300),
    max_size=20,
)
BITS = all_bits(SIZE)


@given(TERMS, st.sampled_from([1, 6]), st.integers(2, 12), st.sampled_from(CONVENTIONS))
@settings(max_examples=100, deadline=None)
def test_coefficients_fit_and_energies_are_as_close_as_said(terms, factor, bits, convention):
    qubo = any_qubo(terms, factor)
    rounded = round_coefficients(qubo, bits, convention)
    most = 2 ** (bits - 1) - 1
    if convention == "qubo":
        machine = [rounded.form.to_matrix().toarray()]
        exact, unit = [qubo.to_matrix().toarray()], rounded.unit
    else:
        # The form's fields and couplings are halves of the machine's integers.
        machine = [2 * part for part in dense_ising(rounded.form)]
        exact, unit = dense_ising(qubo), rounded.unit / 2
    largest = Fraction(0)
    for integers, values in zip(machine, exact, strict=True):
        assert (integers == np.rint(integers)).all()
        assert np.abs(integers).max() <= most
        for integer, value in zip(integers.ravel(), values.ravel(), strict=True):
            largest = max(largest, abs(int(integer) * unit - Fraction(value)))
    assert largest == rounded.largest_error <= unit / 2
    # What is bounded is the change of every difference between two energies.
    before, after = qubo.energy(BITS), rounded.form.energy(BITS)
    pairs = set(zip(after.tolist(), before.tolist(), strict=True))
    change = [new * rounded.unit - old for new, old in pairs]
    assert max(change) - min(change) <= rounded.worst_change
    assert (rounded.worst_change == 0) == (largest == 0)
    if rounded.keeps_gap:
        assert set(np.flatnonzero(after == after.min())) <= set(
            np.flatnonzero(before == before.min())
        )


def dense_ising(qubo):
    fields, couplings, _ = qubo.to_ising()
    return [fields, couplings.toarray()]


def test_an_error_as_large_as_the_gap_is_too_large():
    # With the values -1, 0 and 1 nothing is left of the smaller coefficient.
    qubo = any_qubo({(0,): 10, (1,): 1})
    rounded = round_coefficients(qubo, 2)
    assert rounded.worst_change == rounded.gap == 1
    assert not rounded.keeps_gap
    flipped = np.eye(SIZE, dtype=int)[1]
    assert rounded.form.energy(flipped) == rounded.form.energy(0 * flipped)
    assert qubo.energy(flipped) > qubo.energy(0 * flipped)


@given(TERMS, st.sampled_from(CONVENTIONS))
@settings(max_examples=50, deadline=None)
def test_enough_bits_change_nothing(terms, convention):
    qubo = any_qubo(terms)
    # Fields in quarters: at most 2 * 300 + 20 * 300.
    rounded = round_coefficients(qubo, 14, convention)
    assert rounded.worst_change == 0
    assert rounded.keeps_gap
    after, before = rounded.form.energy(BITS), qubo.energy(BITS)
    assert ((after - after[0]) * rounded.unit == before - before[0]).all()


@given(TERMS, st.integers(2, 8), st.sampled_from(CONVENTIONS), st.booleans())
@settings(max_examples=60, deadline=None)
def test_broken_ties_leave_the_ground_states_of_extreme_energy(terms, bits, convention, highest):
    qubo = any_qubo(terms)
    rounded = round_coefficients(qubo, bits, convention)
    after, before = rounded.form.energy(BITS), qubo.energy(BITS)
    extreme = (np.max if highest else np.min)(before[after == after.min()])
    wanted = (after == after.min()) & (before == extreme)
    energies = rounded.tie_broken(highest=highest).energy(BITS)
    assert ((energies == energies.min()) == wanted).all()


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_verdict_is_that_of_all_ground_states(problem, convention):
    qubo, best = problem.qubo, optimum(problem)
    bits = all_bits(qubo.num_variables)
    verdicts = set()
    for resolution in range(2, 12):
        effect = effect_of_rounding(problem, resolution, convention, best, brute)
        energies = round_coefficients(qubo, resolution, convention).form.energy(bits)
        grounds = bits[energies == energies.min()]
        losses = problem.scores(decode_vectors(problem, qubo, grounds))
        optimal = losses == best * qubo.scale
        if effect.optimum_kept is None:
            # Not shown: some bits are inconsistent, though the two that were looked at decode well.
            assert (qubo.energy(grounds) > best * qubo.scale).any()
            assert optimal.any()
        else:
            assert effect.optimum_kept == optimal.all()
        present = {Fraction(int(loss), qubo.scale) for loss in losses}
        assert {effect.loss_after, effect.best_loss_after} <= present
        assert effect.best_loss_after <= effect.loss_after
        assert effect.how == "exact"
        verdicts.add(effect.optimum_kept)
    # Few bits destroy it and many do not: both kinds were seen.
    assert {True, False} <= verdicts


def test_one_ground_state_that_is_worse_is_enough_to_lose():
    problem = PROBLEMS["three points"]
    best = il.solve(problem, "brute").result.vectors[:1]
    other = np.array([[domain[0] for domain in problem.free_domains]])
    good, bad = (problem.qubo.complete(problem.complete(each))[0] for each in (best, other))
    found = iter([bad, good])
    effect = effect_of_rounding(problem, 3, "qubo", optimum(problem), lambda qubo: next(found))
    assert effect.optimum_kept is False
    assert effect.loss_after > effect.best_loss_after == effect.optimum


def test_without_a_solver_the_errors_decide():
    problem = PROBLEMS["three points"]
    best = optimum(problem)
    fine = effect_of_rounding(problem, 12, "qubo", best, refuse)
    assert (fine.optimum_kept, fine.how, fine.worst_change) == (True, "bound", 0)
    coarse = effect_of_rounding(problem, 3, "qubo", best, refuse)
    assert (coarse.optimum_kept, coarse.how) == (None, "none")
    assert coarse.loss_after is None
    assert coarse.worst_change > 0


def test_energies_too_large_for_two_in_one_fall_back_to_the_bound():
    problem = PROBLEMS["two points"]

    def overflow(qubo):
        raise OverflowRefused("too large")

    assert effect_of_rounding(problem, 3, "qubo", optimum(problem), overflow).how == "none"
    huge = any_qubo({(0,): 2**40, (0, 1): -(2**40) + 1})
    with pytest.raises(OverflowRefused):
        round_coefficients(huge, 30, "qubo").tie_broken(highest=True)


def test_weights_by_hand_are_never_said_to_keep_the_optimum():
    free = tiny(penalty=1, product_weight=1)
    effect = effect_of_rounding(free, 12, "qubo", optimum(free), brute)
    assert effect.worst_change == 0
    assert effect.optimum_kept is not True
    assert effect_of_rounding(free, 12, "qubo", optimum(free), refuse).optimum_kept is None


def test_a_false_optimum_is_noticed():
    problem = PROBLEMS["two points"]
    with pytest.raises(SolverError, match="better than the optimum"):
        effect_of_rounding(problem, 12, "qubo", optimum(problem) + 1, brute)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_rounded_form_is_solved_and_read_like_any_qubo(convention):
    problem = PROBLEMS["symmetric inputs"]
    rounded = round_coefficients(problem.qubo, 5, convention)
    form = rounded.form
    assert list(form.variables) == list(problem.qubo.variables)
    assert form.source is None
    answer = Treewidth().solve(form, Treewidth.Options(), Session(form.scale))
    assert answer.bound == form.energy(all_bits(form.num_variables)).min()
    # What is proved of the rounded energies is not proved of the problem.
    result = read(problem, Form.QUBO, replace(answer, bound=None))
    assert result.status in (Status.FEASIBLE, Status.OPTIMAL)
    assert (result.bits == answer.rows).all()
    values = problem.complete(problem.incumbent[0])
    completed = form.complete(values)
    assert (completed == problem.qubo.complete(values)).all()
    assert (form.decode(completed) == problem.qubo.decode(completed)).all()
    broken = 1 - completed[0]
    assert form.violations(broken) == problem.qubo.violations(broken) != []


def test_an_effect_is_plain_json():
    problem = PROBLEMS["two points"]
    effect = effect_of_rounding(problem, 3, "ising", optimum(problem), brute)
    plain = json.loads(json.dumps(effect.to_dict()))
    assert Fraction(plain["worst_change"]) == effect.worst_change
    assert plain["bits"] == 3
    assert plain["optimum_kept"] == effect.optimum_kept


@pytest.mark.parametrize(
    ("bits", "convention", "match"),
    [(1, "qubo", "bits"), (63, "qubo", "bits"), (8, "isign", "did you mean 'ising'")],
)
def test_unknown_resolutions_and_conventions_are_refused(bits, convention, match):
    with pytest.raises(IsingLearnError, match=match) as caught:
        round_coefficients(SMALL, bits, convention)
    assert isinstance(caught.value, OptionError)
