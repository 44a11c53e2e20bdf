"""Exact solve by elimination: right on every QUBO, with and without fixed spins, and planned beforehand."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from exact_minimum import minimum
from hypothesis import given, settings
from hypothesis import strategies as st

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import (
    MemoryRefused,
    OptionError,
    OverflowRefused,
    ProblemRefused,
)
from isinglearn.paper.instances import MNIST, TASKS, two_moons
from isinglearn.problem.forms import QUBO, Energy, Products
from isinglearn.problem.polynomial import Polynomial
from isinglearn.problem.variables import Positions, VariableTable, bit_block
from isinglearn.solvers import buckets, treewidth
from isinglearn.solvers.base import Status
from isinglearn.solvers.elimination import plan
from isinglearn.solvers.session import Session
from isinglearn.solvers.treewidth import Treewidth

ROOMY = 1 << 30


def qubo_of(count: int, terms: dict[tuple[int, ...], int]) -> QUBO:
    """Any QUBO at all: ``terms`` over ``count`` bits."""
    rows = Polynomial.from_terms(terms).as_rows()
    place = Positions("", "energy", (), np.zeros((1, 0), dtype=np.int64))
    energy = Energy(place, rows, "linear", np.ones(1, dtype=np.int64))
    bits = bit_block("", "x", "weight", ("bit",), np.arange(count))
    none = np.zeros(0, dtype=np.int64)
    products = Products(none, none, none, none, none.astype(np.uint8))
    return QUBO(VariableTable([bits]), (energy,), (), None, 1, products)


def coupled(count: int, pairs, seed: int = 0) -> QUBO:
    """Random terms on all bits and the given pairs."""
    draw = np.random.default_rng(seed)
    terms = [(i,) for i in range(count)] + sorted(map(tuple, pairs))
    return qubo_of(count, {term: int(draw.integers(-9, 10)) or 1 for term in terms})


def grid_pairs(height: int, width: int) -> list[tuple[int, int]]:
    number = np.arange(height * width).reshape(height, width)
    across = zip(number[:, :-1].ravel(), number[:, 1:].ravel(), strict=True)
    down = zip(number[:-1].ravel(), number[1:].ravel(), strict=True)
    return [(int(a), int(b)) for pairs in (across, down) for a, b in pairs]


def least(qubo: QUBO) -> int:
    bits = (np.arange(2**qubo.num_variables)[:, None] >> np.arange(qubo.num_variables)) & 1
    return int(qubo.energy(bits).min())


def check(qubo: QUBO, expected: int, **options) -> None:
    answer = Treewidth().solve(qubo, Treewidth.Options(**options), Session(1))
    assert answer.rows.shape == (1, qubo.num_variables)
    assert answer.rows.dtype == np.int64
    assert answer.bound == expected
    assert qubo.energy(answer.rows).tolist() == [expected]


# -- the answer ------------------------------------------------------------------------------------


@st.composite
def qubos(draw: st.DrawFn, most: int) -> QUBO:
    count = draw(st.integers(1, most))
    possible = [t for degree in range(3) for t in combinations(range(count), degree)]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True, max_size=3 * count))
    # The larger ones need 64 bits.
    factor = draw(st.sampled_from([1, 2**40]))
    return qubo_of(count, {term: factor * draw(st.integers(-9, 9)) for term in chosen})


@settings(deadline=None, max_examples=150)
@given(qubos(most=14))
def test_any_small_qubo_has_the_minimum_of_its_enumeration(qubo):
    check(qubo, least(qubo))


@settings(deadline=None, max_examples=100)
@given(qubos(most=9), st.integers(1, 60))
def test_any_memory_limit_gives_the_same_minimum(qubo, room):
    # So small that bits are fixed, all of them in the end.
    check(qubo, least(qubo), max_bytes=room)


@pytest.mark.parametrize("seed", range(3))
def test_larger_qubos_have_the_minimum_that_dwaves_solver_finds(seed):
    draw = np.random.default_rng(seed)
    near = [(i, i + j) for i in range(40) for j in range(1, 16) if i + j < 40]
    qubo = coupled(40, [pair for pair in near if draw.random() < 0.7], seed)
    # Tables of several blocks of the kernel, and up to nine fixed bits.
    assert plan(qubo, ROOMY).width > buckets.BLOCK
    for room in (ROOMY, 1 << 16, 1 << 15):
        check(qubo, minimum(qubo.to_bqm()), max_bytes=room)


def test_parts_that_share_no_term_add_up():
    parts = [coupled(6, grid_pairs(2, 3), seed) for seed in range(4)]
    terms = {
        tuple(6 * number + i for i in term): value
        for number, part in enumerate(parts)
        for term, value in part.polynomial.to_terms().items()
    }
    # Two bits besides that are in no term at all.
    qubo = qubo_of(26, terms | {(): 7})
    for room in (ROOMY, 150, 100):
        check(qubo, 7 + sum(map(least, parts)), max_bytes=room)


@pytest.mark.parametrize("terms", [{}, {(): -3}, {(0,): 2, (1,): -2}], ids=str)
def test_bits_without_couplings_are_settled_alone(terms):
    qubo = qubo_of(3, terms)
    assert plan(qubo).width == 0
    check(qubo, least(qubo))


@pytest.mark.parametrize("instance", [*TASKS, MNIST], ids=lambda i: i.name)
@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_the_papers_tasks_are_proved(instance, formulation):
    problem = il.compile(instance.network, instance.X, instance.y, formulation=formulation)
    # Tasks II and III need some bits fixed for that; without a limit: tests/lowering/test_exactness.py.
    run = il.solve(problem, "treewidth", max_bytes=16 << 20, start=None)
    assert run.status is Status.OPTIMAL
    assert run.best.loss == run.bound == il.solve(problem, "brute").best.loss
    assert run.result.energies[0] == run.result.bound
    assert run.verdict.consistent


# -- the plan --------------------------------------------------------------------------------------

GRAPHS = {
    "path": ([(i, i + 1) for i in range(19)], 1),
    "star": ([(0, i) for i in range(1, 20)], 1),
    "cycle": ([(i, (i + 1) % 20) for i in range(20)], 2),
    "ladder": (grid_pairs(2, 10), 2),
    "grid": (grid_pairs(4, 5), 4),
    "clique": (combinations(range(20), 2), 19),
}


@pytest.mark.parametrize(("pairs", "width"), GRAPHS.values(), ids=GRAPHS)
def test_graphs_of_known_treewidth_are_planned_with_it(pairs, width):
    assert plan(coupled(20, pairs)).width == width


def naive_width(qubo: QUBO, order, cut) -> int:
    around = {int(bit): set() for bit in order}
    for term in qubo.polynomial.to_terms():
        if len(term) == 2 and not set(term) & set(cut):
            around[term[0]].add(term[1])
            around[term[1]].add(term[0])
    width = 0
    for bit in order:
        left = around.pop(int(bit))
        width = max(width, len(left))
        for other in left:
            around[other] |= left
            around[other] -= {int(bit), other}
    return width


@pytest.mark.parametrize("room", [ROOMY, 1 << 20, 1 << 17])
@pytest.mark.parametrize("instance", TASKS, ids=lambda i: i.name)
def test_the_planned_order_has_the_planned_width_and_memory(instance, room):
    qubo = il.compile(instance.network, instance.X, instance.y, order="product").qubo
    made = plan(qubo, room)
    assert sorted([*made.order, *made.cut]) == list(range(qubo.num_variables))
    assert made.width == naive_width(qubo, made.order, made.cut)
    assert made.bytes <= room
    tables = treewidth._Tables(qubo, made)
    assert tables.tables.nbytes + tables.choices.nbytes == made.bytes


def test_no_more_memory_is_used_than_was_planned():
    task = TASKS[2]
    problem = il.compile(task.network, task.X, task.y, box=True)
    need = plan(problem.qubo).bytes
    assert need > 4 << 20
    tracemalloc.start()
    try:
        il.solve(problem, "treewidth")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert need <= peak <= need + (4 << 20)


def test_less_memory_means_more_fixed_spins():
    task = TASKS[1]
    qubo = il.compile(task.network, task.X, task.y).qubo
    plans = [plan(qubo, room) for room in (ROOMY, 1 << 26, 1 << 22, 1 << 18)]
    assert [len(made.cut) for made in plans] == sorted({len(made.cut) for made in plans})
    # What a change in the cut does not touch is kept, so that the first ones are nearly free.
    assert plans[1].seconds < 1.5 * plans[0].seconds


def test_the_plan_is_the_same_every_time():
    task = TASKS[2]
    qubo = il.compile(task.network, task.X, task.y, formulation="paper").qubo
    first, second = (plan(qubo, 1 << 22) for _ in range(2))
    assert np.array_equal(first.order, second.order)
    assert np.array_equal(first.cut, second.cut)
    assert (first.bytes, first.seconds) == (second.bytes, second.seconds)


# -- refusals --------------------------------------------------------------------------------------


@pytest.fixture
def no_tables(monkeypatch):
    def begin(*arguments):
        raise AssertionError("work began before the refusal")

    monkeypatch.setattr(treewidth, "_Tables", begin)


@pytest.fixture(scope="module")
def second() -> il.Problem:
    return il.compile(TASKS[1].network, TASKS[1].X, TASKS[1].y)


@pytest.mark.usefixtures("no_tables")
def test_too_little_memory_is_refused_beforehand(second):
    with pytest.raises(MemoryRefused, match=r"treewidth.*more memory.*1 KiB.*Received.*max_bytes"):
        il.solve(second, "treewidth", max_bytes=1024, max_seconds=1.5)


@pytest.mark.usefixtures("no_tables")
def test_too_little_time_is_refused_beforehand(second):
    with pytest.raises(ProblemRefused, match=r"longer than allowed.*0.01 s.*width.*max_seconds"):
        il.solve(second, "treewidth", max_seconds=0.01)


@pytest.mark.usefixtures("no_tables")
def test_memory_that_the_machine_does_not_have_is_refused(second, monkeypatch):
    monkeypatch.setattr(treewidth, "available_memory", lambda: 1024)
    with pytest.raises(MemoryRefused, match="at most 1 KiB"):
        il.solve(second, "treewidth", max_seconds=1.5)


def test_dense_and_large_qubos_are_given_up_at_once():
    with pytest.raises(ProblemRefused, match=r"too entangled.*2\^40 entries"):
        plan(coupled(60, combinations(range(60), 2)))
    with pytest.raises(ProblemRefused, match=r"at most 5000 spins.*5001 spins"):
        plan(qubo_of(5001, {(0, 5000): 1}))


def test_sums_beyond_64_bits_are_refused():
    with pytest.raises(OverflowRefused, match="sum of all terms"):
        plan(qubo_of(3, {(0,): 2**61, (1,): 2**61, (2,): -(2**61)}))


@pytest.mark.parametrize(
    "options",
    [{"max_bytes": 0}, {"max_bytes": 1.5}, {"max_seconds": 0}, {"max_seconds": "long"}],
    ids=str,
)
def test_bad_limits_are_refused(options):
    with pytest.raises(OptionError, match=next(iter(options))):
        Treewidth.Options(**options)


# -- ending early ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first() -> il.Problem:
    # Its best loss is above 0, which no bound gives away.
    return il.compile(TASKS[0].network, TASKS[0].X, TASKS[0].y)


def test_a_deadline_that_has_passed_leaves_the_start_or_nothing(first):
    run = il.solve(first, "treewidth", time_limit=1e-9)
    assert run.status is Status.FEASIBLE
    assert run.best.loss == Fraction(first.incumbent[1], first.qcbo.scale)
    run = il.solve(first, "treewidth", time_limit=1e-9, start=None)
    assert run.status is Status.NONE_FOUND
    assert run.note == "stopped before it began"


def test_it_stops_between_two_settings_with_the_best_so_far(first):
    def stop(event: il.Event) -> bool:
        return event.loss is None

    made = plan(first.qubo, 500)
    assert len(made.cut) >= 2
    run = il.solve(first, "treewidth", max_bytes=500, start=None, on_event=stop)
    assert run.status is Status.FEASIBLE
    assert run.note == f"stopped in setting 2 of {2 ** len(made.cut)}"
    assert len(run.result.bits) == 1
    assert run.result.energies[0] >= il.solve(first, "treewidth").result.bound


def test_it_stops_within_one_table(monkeypatch):
    pieces = []

    def eliminate(*arguments):
        pieces.append(arguments)
        session.stop()

    monkeypatch.setattr(buckets, "eliminate", eliminate)
    monkeypatch.setattr(treewidth, "_PIECE", 1)
    session = Session(1)
    answer = Treewidth().solve(
        coupled(16, combinations(range(16), 2)), Treewidth.Options(), session
    )
    assert len(pieces) == 1
    assert answer.rows.shape == (0, 16)
    assert answer.bound is None
    assert answer.note == "stopped in setting 1 of 1"


def test_it_tells_its_plan_its_energy_and_its_bound(first):
    events: list[il.Event] = []
    run = il.solve(first, "treewidth", on_event=events.append)
    assert any(event.message.startswith("width 9, about") for event in events)
    assert events[-1].bound == events[-1].loss == run.best.loss


# -- the forecast ----------------------------------------------------------------------------------


def test_the_forecast_is_the_plan(second):
    forecast = Treewidth.forecast(second)
    made = plan(second.qubo)
    assert (forecast.seconds, forecast.bytes) == (made.seconds, made.bytes)
    assert forecast.why == f"width {made.width}"


def test_there_is_no_forecast_for_what_would_be_refused():
    moons = two_moons(16)
    assert Treewidth.forecast(il.compile(moons.network, moons.X, moons.y)) is None


def test_there_is_no_forecast_where_it_would_take_long(monkeypatch):
    def lower(self):
        raise AssertionError("lowered")

    monkeypatch.setattr(il.Problem, "qubo", property(lower))
    inputs = np.eye(40, dtype=int)
    wide = il.compile(nn.paper_network(40, 8, 2, 1, 0), inputs, np.ones(40))
    assert Treewidth.forecast(wide) is None


def test_there_is_no_forecast_where_there_is_no_qubo():
    frozen = {"layer1.weight": 1, "layer2.weight": 2, "layer2.bias": 2}
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1)).freeze(frozen)
    assert Treewidth.forecast(il.compile(net, [[1]], [1], box=True)) is None
