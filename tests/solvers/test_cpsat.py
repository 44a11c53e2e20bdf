"""CP-SAT against brute force: same optimum, with and without an incumbent, with and without symmetry."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.problem.forms import QCBO, Constraint, Energy
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import Block, Positions, VariableTable
from isinglearn.solvers import cpsat
from isinglearn.solvers.base import Status
from isinglearn.solvers.exchange import interchangeable, sort_units
from isinglearn.solvers.session import Session

FORMS = [{}, {"box": True}, {"formulation": "paper"}]


def compiled(instance, **options) -> il.Problem:
    return il.compile(instance.network, instance.X, instance.y, **options)


def prove(problem: il.Problem, start=None, seed: int = 0) -> tuple[np.ndarray, int]:
    """Assignment and bound of CP-SAT itself, from a start or none."""
    session = Session(problem.qcbo.scale, seed=seed, start=start)
    answer = cpsat.CPSAT().solve(problem.qcbo, cpsat.CPSAT.Options(), session)
    assert not answer.infeasible
    return answer.rows[0], answer.bound


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda instance: instance.name)
def test_the_papers_small_instances_have_the_optimum_of_brute_force(instance, options):
    problem = compiled(instance, **options)
    expected = il.solve(problem, "brute").best.loss * problem.qcbo.scale
    for start in (None, problem.complete(problem.incumbent[0])[0]):
        values, bound = prove(problem, start)
        assert problem.qcbo.energy(values) == bound == expected
        assert problem.qcbo.violations(values) == []


def test_two_moons_are_proved_within_a_minute():
    run = il.solve(compiled(two_moons(50)), "cpsat")
    assert run.status is Status.OPTIMAL
    assert run.best.loss * 450 == run.result.bound == 122


# -- drawn networks --------------------------------------------------------------------------------

domains = st.sampled_from([nn.Spin(), nn.Int(-1, 1), nn.Int(0, 2), nn.Fixed(-1, 2, 2)])


@st.composite
def networks(draw: st.DrawFn) -> nn.Sequential:
    widths = draw(st.lists(st.integers(1, 3), min_size=3, max_size=4))
    modules: list[nn.Module] = []
    for before, after in pairwise(widths):
        layer = nn.Linear(
            before, after, weight=draw(domains), bias=draw(domains), use_bias=draw(st.booleans())
        )
        if draw(st.integers(0, 3)) == 0:
            # One row free, one frozen: these two units are not interchangeable.
            frozen = np.full((after, before), np.nan)
            frozen[0] = 1
            layer = layer.freeze(weight=frozen)
        modules += [layer, nn.Sign()]
    return nn.Sequential(*(modules if draw(st.booleans()) else modules[:-1]))


def poorest(problem: il.Problem):
    """The worst of a few networks, as an incumbent; without a box every network is feasible."""
    ends = np.array([[values[0], values[-1]] for values in problem.used_domains])
    some = np.concatenate([ends.T, np.random.default_rng(0).permuted(ends, axis=1).T])
    return problem.complete(some[np.argmax(problem.scores(some))])[0]


STARTS = {
    "compiler": lambda problem: problem.complete(problem.incumbent[0])[0],
    "none": lambda problem: None,
    "poor": poorest,
}


@settings(deadline=None, max_examples=100)
@given(networks(), st.data(), st.sampled_from(sorted(STARTS)))
def test_drawn_networks_have_the_optimum_of_brute_force(net, data, start):
    assume(any(spec.free.any() for spec in net.resolved(1).parameters.values()))
    samples = data.draw(st.integers(1, 4))
    X = [[data.draw(st.integers(-2, 2)) for _ in range(net.in_features)] for _ in range(samples)]
    y = [[data.draw(st.integers(-1, 1)) for _ in range(net.out_features)] for _ in range(samples)]
    weights = [data.draw(st.integers(1, 3)) for _ in range(samples)]
    problem = il.compile(net, X, y, sample_weight=weights)
    try:
        expected = il.solve(problem, "brute", max_values=1 << 20, max_networks=1).best.loss
    except il.IsingLearnError:
        assume(False)
    values, bound = prove(problem, STARTS[start](problem))
    assert problem.qcbo.violations(values) == []
    assert problem.qcbo.energy(values) == bound == expected * problem.qcbo.scale


@pytest.mark.parametrize("least", [0, 1, 2])
def test_any_incumbent_leads_to_the_optimum(least):
    # The energy is the square of the bias: the next better network is just within what is searched.
    net = nn.Sequential(nn.Linear(1, 1, weight=nn.Spin(), bias=nn.Int(least, least + 2)))
    problem = il.compile(net, [[0]], [0])
    for vector in product(*problem.free_domains):
        values, bound = prove(problem, problem.complete(vector)[0])
        assert problem.qcbo.energy(values) == bound == least**2


# -- symmetry --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_exchanging_units_keeps_energy_and_feasibility(options):
    problem = compiled(TASKS[2], **options)
    swaps = interchangeable(problem.qcbo)
    # Two hidden layers of two units.
    assert len(swaps) == 2
    vector = problem.incumbent[0]
    values = problem.complete(vector)[0]
    for swap in swaps:
        other = values[swap.image]
        assert problem.qcbo.violations(other) == []
        assert problem.qcbo.energy(other) == problem.qcbo.energy(values)


def test_every_class_of_optimal_networks_keeps_a_member():
    """The order demanded of units loses no network: each has an equivalent one that keeps it."""
    problem = compiled(TASKS[2])
    swaps = interchangeable(problem.qcbo)
    for vector in il.solve(problem, "brute").result.vectors:
        values = np.clip(vector, problem.qcbo.variables.lo[: len(vector)], None)
        values = problem.complete(values)[0]
        in_order = sort_units(values, swaps)
        assert problem.qcbo.energy(in_order) == problem.qcbo.energy(values)
        for swap in swaps:
            assert in_order[list(swap.first)].tolist() <= in_order[list(swap.second)].tolist()


def test_units_that_differ_are_not_interchangeable():
    free = nn.Sequential(nn.Linear(2, 3), nn.Sign(), nn.Linear(3, 1))
    frozen = nn.Sequential(
        nn.Linear(2, 3).freeze(weight=[[np.nan] * 2, [1, 1], [np.nan] * 2]),
        nn.Sign(),
        nn.Linear(3, 1),
    )
    X, y = [[0, 1], [1, 0], [1, 1]], [1, 1, -1]
    swaps = [interchangeable(il.compile(net, X, y).qcbo) for net in (free, frozen)]
    assert [len(found) for found in swaps] == [2, 1]


def test_outputs_with_their_own_labels_are_not_interchangeable():
    net = nn.Sequential(nn.Linear(1, 2, weight=nn.Spin(), bias=nn.Int(-1, 1)))
    assert not interchangeable(il.compile(net, [[0], [1]], [[1, -1], [1, 1]]).qcbo)
    assert interchangeable(il.compile(net, [[0], [1]], [[1, 1], [-1, -1]]).qcbo)


# -- parts of a QCBO that networks do not have yet ----------------------------------------------------


def rows(*terms) -> PolynomialRows:
    """One row of (variables, coefficient)."""
    padded = [[-1] * (2 - len(term)) + list(term) for term, _ in terms]
    return PolynomialRows.of(1, [0] * len(terms), padded, [value for _, value in terms])


def answer(constraints, objective, encodings=("bounded", "bounded", "spin")) -> tuple[str, int]:
    """Status and energy of a QCBO over two integers in -3..4 and a spin."""
    place = Positions("", "c", ("row",), np.zeros((1, 1), dtype=np.int64))
    ends = [(-1, 1) if encoding == "spin" else (-3, 4) for encoding in encodings]
    blocks = [
        Block("", f"x{i}", ("row",), np.array([[0]]), "x", np.array([a]), np.array([b]), encoding)
        for i, ((a, b), encoding) in enumerate(zip(ends, encodings, strict=True))
    ]
    qcbo = QCBO(
        VariableTable(blocks),
        tuple(Energy(place, row, shape, np.array([weight])) for row, shape, weight in objective),
        tuple(Constraint(place, kind, row, target) for row, kind, target in constraints),
        (),
        1,
    )
    found = cpsat.CPSAT().solve(qcbo, cpsat.CPSAT.Options(), Session(1))
    if found.infeasible:
        return "INFEASIBLE", 0
    assert qcbo.violations(found.rows[0]) == []
    assert qcbo.energy(found.rows[0]) == found.bound
    return "OPTIMAL", found.bound


def test_at_least_pairs_and_products_of_integers():
    # x0 * x1 >= 5 and x0 + x1 == 0 has no solution; >= -5 with a least sum has.
    both, total = ((0, 1), 1), [((0,), 1), ((1,), 1)]
    impossible = [(rows(both, ((), -5)), "at_least", None), (rows(*total), "equal", None)]
    assert answer(impossible, [(rows(*total), "linear", 1)])[0] == "INFEASIBLE"
    possible = [(rows(both, ((), -5)), "at_least", None)]
    assert answer(possible, [(rows(*total), "linear", 1)]) == ("OPTIMAL", -6)
    assert answer(possible, [(rows(*total), "pairs", 1)]) == ("OPTIMAL", 10)


@pytest.mark.parametrize(("shape", "expected"), [("square", -64), ("pairs", -28), ("linear", -8)])
def test_negative_weights_are_exact(shape, expected):
    assert answer([], [(rows(((0,), 1), ((1,), 1)), shape, -1)]) == ("OPTIMAL", expected)


def test_squares_of_integers_and_spins_and_signs_of_products():
    # The spin is the sign of x0 * x1 - x0^2 - s^2; s = +1 costs less.
    row = rows(((0, 1), 1), ((0, 0), -1), ((2, 2), -1))
    cost = [(rows(((2,), -3)), "linear", 1), (rows(((0,), 1)), "square", 1)]
    assert answer([(row, "sign", np.array([2]))], cost) == ("OPTIMAL", -2)


@pytest.mark.parametrize(("constant", "spin"), [(0, -1), (-1, 1)])
def test_a_sign_without_variables_is_decided(constant, spin):
    row = rows(((), constant)) if constant else PolynomialRows.constants([0])
    cost = [(rows(((2,), -spin)), "linear", -1)]
    assert answer([(row, "sign", np.array([2]))], cost) == ("OPTIMAL", -1)


def test_wide_residuals_are_squared_without_tangents(monkeypatch):
    monkeypatch.setattr(cpsat, "MOST_TANGENTS", 2)
    for shape, expected in (("square", 1), ("pairs", 0)):
        cost = [(rows(((0,), 2), ((1,), 4), ((), -1)), shape, 1)]
        assert answer([], cost) == ("OPTIMAL", expected)


# -- limits ----------------------------------------------------------------------------------------


def test_a_deadline_leaves_the_best_network_and_a_bound():
    problem = compiled(two_moons(50))
    run = il.solve(problem, "cpsat", time_limit=1.0)
    assert run.status is Status.FEASIBLE
    assert 0 <= run.bound < run.best.loss
    assert run.seconds < 5


def test_a_deadline_before_the_first_network():
    qcbo = compiled(two_moons(50)).qcbo
    answer = cpsat.CPSAT().solve(qcbo, cpsat.CPSAT.Options(), Session(1, seconds=1e-3))
    assert answer.rows.shape == (0, len(qcbo.variables))
    assert "before a first network" in answer.note


def test_one_worker_is_reproducible_by_its_seed():
    problem = compiled(TASKS[1])
    (first, _), (second, _) = (prove(problem, seed=5) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_proves(workers):
    run = il.solve(compiled(TASKS[0]), "cpsat", workers=workers)
    assert run.status is Status.OPTIMAL


@pytest.mark.parametrize(
    "options",
    [{"workers": 0}, {"workers": 1.5}, {"linearization_level": 3}],
    ids=str,
)
def test_bad_options_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        il.solve(compiled(TASKS[0]), "cpsat", **options)


def test_solving_in_a_thread():
    found: list[Status] = []
    thread = threading.Thread(
        target=lambda: found.append(il.solve(compiled(TASKS[0]), "cpsat").status)
    )
    thread.start()
    thread.join()
    assert found == [Status.OPTIMAL]


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_ends_with_what_was_found_and_still_works_afterwards():
    script = """
        import signal, isinglearn as il
        from isinglearn.paper.instances import two_moons
        i = two_moons(200)
        problem = il.compile(i.network, i.X, i.y)
        problem.incumbent
        print("ready", flush=True)
        print(il.solve(problem, "cpsat", time_limit=300).status.value, flush=True)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print("handled")
    """
    code = textwrap.dedent(script)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # Long enough for the search to begin, far from its end.
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output.split() == ["FEASIBLE", "handled"]
