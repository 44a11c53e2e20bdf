"""Our annealer: exact energies, the same answer on any number of threads, the moves networks need."""

from __future__ import annotations

import time

import dimod
import dimod.testing
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import IsingLearnError, OptionError
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.problem.polynomial import Polynomial
from isinglearn.solvers.annealer import models
from isinglearn.solvers.annealer.follow import Program
from isinglearn.solvers.annealer.search import Effort, flip_spins, follow_parameters
from isinglearn.solvers.session import Session

EFFORT = Effort(reads=8, sweeps=60, threads=2)


def compiled(instance, **options) -> il.Problem:
    return il.compile(instance.network, instance.X, instance.y, **options)


# -- single flips ----------------------------------------------------------------------------------


@st.composite
def polynomials(draw: st.DrawFn) -> tuple[Polynomial, int]:
    size = draw(st.integers(1, 9))
    degree = draw(st.integers(1, 4))
    indices = st.lists(st.integers(0, size - 1), max_size=degree, unique=True)
    terms = draw(st.lists(indices, min_size=1, max_size=20))
    padded = np.array([[*term, *[-1] * (4 - len(term))] for term in terms])
    values = draw(
        st.lists(st.integers(-50, 50), min_size=len(terms), max_size=len(terms)),
    )
    return Polynomial.of(padded, np.array(values)), size


def everything(size: int) -> np.ndarray:
    return (np.arange(2**size)[:, None] >> np.arange(size)) & 1


@settings(deadline=None, max_examples=60)
@given(polynomials(), st.integers(0, 2**32), st.booleans())
def test_energies_are_exact_and_small_optima_are_found(case, seed, tempering):
    polynomial, size = case
    model = models.model_of(polynomial, size)
    effort = Effort(reads=8, sweeps=60, threads=1, replicas=4 if tempering else 0)
    found = flip_spins(model, effort, Session(1, seed=seed), None)
    assert (polynomial.evaluate(found.rows) == found.energies).all()
    assert found.energies.min() == polynomial.evaluate(everything(size)).min()


def random_pairs(size: int, share: float, seed: int = 0) -> Polynomial:
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(np.triu(rng.random((size, size)) < share, 1))
    linear = np.column_stack([np.full(size, -1), np.arange(size)])
    terms = np.concatenate([linear, pairs])
    return Polynomial.of(terms, rng.integers(-9, 10, len(terms)))


def test_dense_sparse_and_higher_agree(monkeypatch):
    polynomial = random_pairs(40, 0.5)
    dense = models.model_of(polynomial, 40)
    monkeypatch.setattr(models, "_DENSE_SPINS", 0)
    sparse = models.model_of(polynomial, 40)
    higher = models._higher(polynomial, 40)
    kinds = [type(model) for model in (dense, sparse, higher)]
    assert kinds == [models.Dense, models.Sparse, models.Higher]
    rows = [
        flip_spins(model, EFFORT, Session(1, seed=3), None).rows
        for model in (dense, sparse, higher)
    ]
    # The same random numbers and the same costs: the same reads, bit by bit.
    assert np.array_equal(rows[0], rows[1])
    assert np.array_equal(rows[0], rows[2])


@pytest.mark.parametrize("largest", [1, 10**6, 10**14])
def test_integers_of_any_width(largest):
    polynomial = random_pairs(30, 0.5) * largest
    model = models.model_of(polynomial, 30)
    assert model.linear.dtype.itemsize == {1: 2, 10**6: 4, 10**14: 8}[largest]
    found = flip_spins(model, EFFORT, Session(1), None)
    assert (polynomial.evaluate(found.rows) == found.energies).all()


def test_what_64_bits_do_not_hold_is_refused():
    with pytest.raises(IsingLearnError, match="64 bits"):
        models.model_of(Polynomial.of(np.array([[0, 1], [0, 2]]), np.array([2**60, 2**60])), 3)


@pytest.mark.parametrize("seed", range(5))
def test_a_plateau_is_left(seed):
    # A ring of equal neighbours: walls between the two values move at no cost until they meet.
    size = 30
    bqm = dimod.BinaryQuadraticModel({}, {(i, (i + 1) % size): -1 for i in range(size)}, 0, "SPIN")
    sampler = il.AnnealingSampler()
    answer = sampler.sample(bqm, num_reads=10, num_sweeps=2000, hot=0.3, cold=0.2, seed=seed)
    assert answer.first.energy == -size


@pytest.mark.parametrize("options", [{}, {"moves": "single"}, {"method": "temper"}], ids=str)
def test_the_answer_does_not_depend_on_the_threads(options):
    problem = compiled(TASKS[1])
    effort = {"num_reads": 11, "num_sweeps": 50, **options}
    answers = [
        il.solve(problem, "annealer", seed=4, threads=threads, **effort).result
        for threads in (1, 2, 5)
    ]
    for other in answers[1:]:
        assert np.array_equal(answers[0].bits, other.bits)
    another = il.solve(problem, "annealer", seed=5, threads=2, **effort).result
    assert not np.array_equal(answers[0].bits, another.bits)


def test_fewer_reads_are_the_first_of_more():
    model = models.model_of(random_pairs(20, 0.5), 20)
    few, many = (
        flip_spins(model, Effort(reads, 5, 1), Session(1, seed=2), None).rows for reads in (3, 9)
    )
    assert np.array_equal(few, many[:3])


def test_it_stops_at_the_target():
    problem = compiled(two_moons(20))
    target = 60
    run = il.solve(problem, "annealer", num_reads=2000, threads=1, target_energy=target)
    assert problem.scores(run.result.vectors[:1])[0] <= target
    assert len(run.result.vectors) < 2000


@pytest.mark.parametrize("moves", ["single", "follow"])
def test_a_deadline_ends_long_reads(moves):
    problem = compiled(two_moons(20))
    il.solve(problem, "annealer", moves=moves, num_reads=1, num_sweeps=1)
    begun = time.perf_counter()
    run = il.solve(
        problem, "annealer", moves=moves, num_reads=10_000, num_sweeps=2000, time_limit=0.3
    )
    assert time.perf_counter() - begun < 10
    assert 0 < len(run.result.vectors) < 10_000


# -- following what depends on a parameter ---------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"box": True}, {"formulation": "paper"}], ids=str)
@pytest.mark.parametrize("instance", [*TASKS, MNIST, two_moons(10)], ids=lambda i: i.name)
def test_states_of_the_walk_are_consistent(instance, options):
    problem = compiled(instance, **options)
    found = follow_parameters(Program.of(problem.qcbo), EFFORT, Session(1, seed=1), None)
    assert len(found.rows)
    assert (problem.qcbo.energy(found.rows) == found.energies).all()
    assert (problem.complete(found.rows[:, : len(problem.free_domains)]) == found.rows).all()
    assert all(problem.qcbo.violations(row) == [] for row in found.rows)


@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda i: i.name)
@pytest.mark.parametrize("form", ["qubo", "hubo"])
def test_the_papers_tasks_are_solved(instance, form):
    problem = compiled(instance)
    run = il.solve(problem, "annealer", form=form, num_reads=200, num_sweeps=300)
    assert run.best.loss == il.solve(problem, "brute").best.loss
    assert run.verdict.consistent


def test_two_moons_reach_the_proved_optimum():
    problem = compiled(two_moons(50))
    run = il.solve(problem, "annealer", num_reads=100, num_sweeps=300)
    assert run.best.loss * 450 == 122
    assert run.verdict.consistent


def test_a_start_is_used():
    problem = compiled(two_moons(20))
    best = il.solve(problem, "patterns").best.parameters
    for moves in ("single", "follow"):
        run = il.solve(
            problem,
            "annealer",
            moves=moves,
            start=best,
            num_reads=1,
            num_sweeps=1,
            hot=0.01,
            cold=0.01,
        )
        assert run.best.loss * 180 == 60


def test_integers_with_many_values_and_deep_networks():
    net = nn.Sequential(
        nn.Linear(2, 2, weight=nn.Int(-3, 3), bias=nn.Int(-5, 5)),
        nn.Sign(),
        nn.Linear(2, 2, weight=nn.Spin(), bias=nn.Int(-1, 1)),
        nn.Sign(),
        nn.Linear(2, 1, weight=nn.Fixed(-2, 2, 2), bias=nn.Fixed(-2, 2, 2)),
    )
    problem = il.compile(net, [[-2, 1], [0, 3], [2, 2], [1, -1]], [1, -1, 1, -1])
    run = il.solve(problem, "annealer", num_reads=100, num_sweeps=300)
    assert run.best.loss == il.solve(problem, "cpsat").best.loss
    assert run.verdict.consistent


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"num_reads": 0},
        {"num_sweeps": 1.5},
        {"method": "quench"},
        {"moves": "double"},
        {"hot": -1},
        {"cold": "warm"},
        {"replicas": 1},
        {"threads": 0},
        {"moves": "follow", "method": "temper"},
        {"hot": 1.0, "cold": 2.0, "moves": "single"},
    ],
    ids=str,
)
def test_bad_options_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        il.solve(compiled(TASKS[0]), "annealer", **options)


def test_a_form_that_it_does_not_take_is_refused():
    with pytest.raises(OptionError, match="form"):
        il.solve(compiled(TASKS[0]), "annealer", form="qcbo")


# -- as a dimod sampler ----------------------------------------------------------------------------


def test_it_is_a_dimod_sampler():
    sampler = il.AnnealingSampler()
    dimod.testing.assert_sampler_api(sampler)
    for vartype in ("SPIN", "BINARY"):
        bqm = dimod.generators.gnp_random_bqm(12, 0.5, vartype, random_state=3)
        answer = sampler.sample(bqm, num_reads=20, seed=1)
        dimod.testing.assert_response_energies(answer, bqm)
        assert answer.first.energy == pytest.approx(dimod.ExactSolver().sample(bqm).first.energy)


@pytest.mark.parametrize("scale", [1, 0.5, 0.1, 1e-9, 1e9, 0.0])
def test_biases_of_any_size(scale):
    bqm = dimod.BinaryQuadraticModel(
        {"a": scale, "b": -scale / 3}, {("a", "b"): -scale}, 1.5, "SPIN"
    )
    answer = il.AnnealingSampler().sample(bqm, num_reads=5)
    dimod.testing.assert_response_energies(answer, bqm)
    assert answer.first.energy == dimod.ExactSolver().sample(bqm).first.energy


def test_samples_are_reproducible_and_may_start_somewhere():
    bqm = dimod.generators.gnp_random_bqm(30, 0.5, "SPIN", random_state=3)
    sampler = il.AnnealingSampler()
    first, again, tempered = (
        sampler.sample(bqm, num_reads=3, num_sweeps=20, seed=7, **options)
        for options in ({}, {"threads": 1}, {"method": "temper"})
    )
    assert np.array_equal(first.record.sample, again.record.sample)
    assert tempered.record.sample.shape == (3, 30)
    best = dict(first.first.sample)
    cold = sampler.sample(bqm, num_reads=1, num_sweeps=1, initial_state=best, hot=1e-6, cold=1e-6)
    assert cold.first.energy <= first.first.energy


def test_an_empty_model_has_an_empty_answer():
    assert len(il.AnnealingSampler().sample(dimod.BinaryQuadraticModel("SPIN"))) == 0


@pytest.mark.parametrize("moves", ["single", "follow"])
def test_one_long_read_ends_at_the_deadline(moves):
    problem = compiled(two_moons(20))
    il.solve(problem, "annealer", moves=moves, num_reads=1, num_sweeps=1)
    run = il.solve(
        problem, "annealer", moves=moves, num_reads=2, num_sweeps=10_000_000, time_limit=0.3
    )
    assert run.seconds < 10
    assert len(run.result.vectors)


def test_tempering_does_not_depend_on_its_blocks(monkeypatch):
    model = models.model_of(random_pairs(30, 0.5), 30)
    effort = Effort(reads=3, sweeps=40, threads=1, replicas=5)
    whole = flip_spins(model, effort, Session(1, seed=6), None).rows
    monkeypatch.setattr("isinglearn.solvers.annealer.search.BLOCK", 1)
    assert np.array_equal(whole, flip_spins(model, effort, Session(1, seed=6), None).rows)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"initial_state": {"a": 7, "b": 1}}, "initial_state"),
        ({"initial_state": {"a": 1}}, "initial_state"),
        ({"target_energy": 3}, "target_energy"),
        ({"beta_range": [1, 2]}, "beta_range"),
        ({"seed": -1}, "seed"),
        ({"time_limit": -1}, "time_limit"),
    ],
    ids=str,
)
def test_bad_arguments_of_the_sampler_are_refused(options, word):
    bqm = dimod.BinaryQuadraticModel({"a": 1}, {("a", "b"): 1}, 0, "SPIN")
    with pytest.raises(IsingLearnError, match=word):
        il.AnnealingSampler().sample(bqm, **options)


def test_temperatures_may_be_numpy_numbers_and_tiny():
    bqm = dimod.BinaryQuadraticModel({"a": 1}, {("a", "b"): 1}, 0, "SPIN")
    given = {"hot": np.float32(5), "cold": 1e-50, "method": "temper", "time_limit": np.int64(9)}
    assert il.AnnealingSampler().sample(bqm, **given).first.energy == -2
