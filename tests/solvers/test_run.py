"""``solve``: named solvers and dimod samplers, decoded, repaired, verified and saved."""

from __future__ import annotations

import json
from fractions import Fraction

import dimod
import numpy as np
import pytest
from dwave.samplers import TreeDecompositionSolver

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import IsingLearnError, NetworkError, OptionError, SolverError
from isinglearn.paper.instances import TASKS
from isinglearn.solvers.base import Answer, Form, Solver, Status
from isinglearn.solvers.session import MOST_EVENTS

TASK = TASKS[1]


def tiny(formulation: str = "compact", X=((0,), (1,)), y=(-1, 1), **options) -> il.Problem:
    net = nn.Sequential(nn.Linear(len(X[0]), 1), nn.Sign(), nn.Linear(1, 1))
    return il.compile(net, X, y, formulation=formulation, **options)


@pytest.fixture(scope="module")
def task() -> il.Problem:
    return il.compile(TASK.network, TASK.X, TASK.y)


class Wrapped(dimod.Sampler):
    """Every assignment, then whatever ``change`` makes of the answer."""

    properties: dict = {}  # noqa: RUF012
    parameters: dict = {}  # noqa: RUF012

    def __init__(self, change):
        self.change = change

    def sample(self, bqm, **parameters):
        return self.change(dimod.ExactSolver().sample(bqm))


# -- dimod samplers --------------------------------------------------------------------------------

SMALL = {
    "two points": {},
    "three points": {"X": [[0], [1], [2]], "y": [1, -1, 1]},
    "by slack": {"signs": "slack"},
    "boxed": {"X": [[0], [2]], "y": [1, -1], "box": True},
    "symmetric inputs": {"X": [[-1], [1]], "y": [-1, 1]},
    "logical or": {"X": [[-1, -1], [-1, 1], [1, -1], [1, 1]], "y": [-1, 1, 1, 1]},
    "exclusive or": {"X": [[-1, -1], [-1, 1], [1, -1], [1, 1]], "y": [-1, 1, 1, -1]},
}


@pytest.mark.parametrize("options", SMALL.values(), ids=SMALL)
def test_the_ground_state_of_the_qubo_is_an_optimal_network(options):
    problem = tiny(**options)
    run = il.solve(problem, TreeDecompositionSolver())
    best = il.solve(problem, "brute")
    assert run.solver == "TreeDecompositionSolver"
    assert Fraction(int(run.result.energies[0]), problem.qubo.scale) == best.best.loss
    assert run.best.loss == best.best.loss
    assert run.result.vectors[0].tolist() in best.result.vectors.tolist()
    assert run.verdict.consistent


def test_an_exhaustive_sampler_is_read_in_full():
    problem = tiny()
    run = il.solve(problem, dimod.ExactSolver())
    assert run.solver == "ExactSolver"
    # A loss of 0 is its own proof, whoever found it.
    assert (run.best.loss, run.bound, run.gap, run.status) == (0, 0, 0, Status.OPTIMAL)
    assert run.result.bits.shape == (2**problem.qubo.num_variables, problem.qubo.num_variables)
    assert run.verdict.consistent
    assert run.accuracy == 1


def test_reads_are_sorted_by_true_loss_then_energy():
    problem = tiny()
    result = il.solve(problem, dimod.ExactSolver()).result
    losses = problem.scores(result.vectors)
    keys = list(zip(losses.tolist(), result.energies.tolist(), strict=True))
    assert keys == sorted(keys)
    assert (result.energies == problem.qubo.energy(result.bits)).all()


def test_a_random_sampler_gives_true_losses(task):
    run = il.solve(task, dimod.RandomSampler(), num_reads=20, seed=5)
    assert len(run.result.vectors) == 20
    for vector, bits in zip(run.result.vectors, run.result.bits, strict=True):
        assert task.qubo.decode(bits)[0, : len(vector)].tolist() == vector.tolist()
    assert run.best.loss == run.verdict.loss_from_forward
    # Random bits are no network's bits; the network is repaired and named with its violations.
    assert not run.verdict.consistent
    assert run.verdict.violations


CHANGES = {
    "as spins": lambda answer: answer.change_vartype("SPIN", inplace=False),
    "in another order": lambda answer: dimod.SampleSet.from_samples_bqm(
        (answer.record.sample[:, ::-1], list(answer.variables)[::-1]), tiny().qubo.to_bqm()
    ),
    "with repeats": lambda answer: dimod.concatenate([answer, answer]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_answers_of_any_shape_are_read_alike(change):
    plain = il.solve(tiny(), dimod.ExactSolver())
    changed = il.solve(tiny(), Wrapped(change))
    assert changed.best.loss == plain.best.loss
    assert set(changed.result.energies) == set(plain.result.energies)
    assert changed.verdict.consistent


def test_every_read_counts():
    once = il.solve(tiny(), dimod.ExactSolver()).result.energies
    for change in (CHANGES["with repeats"], lambda a: CHANGES["with repeats"](a).aggregate()):
        twice = il.solve(tiny(), Wrapped(change)).result.energies
        assert sorted(twice) == sorted([*once, *once])


def test_an_answer_without_reads_is_none_found():
    run = il.solve(tiny(), Wrapped(lambda answer: answer.slice(0)))
    assert run.status is Status.NONE_FOUND
    with pytest.raises(SolverError, match=r"no network was found.*NONE_FOUND.*Remedy"):
        _ = run.best


@pytest.mark.parametrize("nothing", [None, 3, dimod])
def test_what_cannot_sample_is_refused(nothing):
    with pytest.raises(
        SolverError, match=r"known name, a Solver or a dimod sampler.*sample\(bqm\)"
    ):
        il.solve(tiny(), nothing)


BAD_ANSWERS = {
    "a list": (lambda answer: [0, 1], "a dimod SampleSet.*Received: list"),
    "nothing": (lambda answer: None, "a dimod SampleSet.*Received: NoneType"),
    "too few variables": (
        lambda answer: dimod.SampleSet.from_samples(
            answer.record.sample[:, 1:], "BINARY", answer.record.energy
        ),
        "a value for each of the 9 variables.*nothing for 'layer2/unit0",
    ),
    "other numbers": (
        lambda answer: dimod.SampleSet.from_samples(
            (answer.record.sample + 3, answer.variables),
            "INTEGER",
            answer.record.energy,
        ),
        r"bits \(BINARY\) or spins \(SPIN\).*INTEGER",
    ),
}


@pytest.mark.parametrize("change", BAD_ANSWERS)
def test_what_no_sampler_should_return_is_refused(change):
    make, message = BAD_ANSWERS[change]
    with pytest.raises(SolverError, match=f"answer of Wrapped.*{message}"):
        il.solve(tiny(), Wrapped(make))


def test_news_need_a_listener():
    for solver in ("brute", "auto"):
        with pytest.raises(OptionError, match=r"on_event.*Received: 3"):
            il.solve(tiny(), solver, on_event=3)


# -- named solvers ---------------------------------------------------------------------------------


def test_simulated_annealing_is_reproducible_by_its_seed(task):
    def anneal(seed: int):
        return il.solve(task, "dwave-sa", seed=seed, num_reads=5, num_sweeps=20)

    first, again, other = anneal(3), anneal(3), anneal(4)
    assert np.array_equal(first.result.bits, again.result.bits)
    assert np.array_equal(first.result.vectors, again.result.vectors)
    assert np.array_equal(first.result.energies, again.result.energies)
    assert first.best.loss == again.best.loss
    assert not np.array_equal(first.result.bits, other.result.bits)


def test_simulated_annealing_never_claims_a_proof(task):
    run = il.solve(task, "dwave-sa", num_reads=2, num_sweeps=5)
    assert run.best.loss > 0
    assert (run.solver, run.seed, run.status) == ("dwave-sa", 0, Status.FEASIBLE)
    assert run.seconds > 0


@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_simulated_annealing_finds_a_tiny_optimum(formulation):
    run = il.solve(tiny(formulation), "dwave-sa", seed=1, num_reads=50, num_sweeps=200)
    assert run.best.loss == il.solve(tiny(formulation), "brute").best.loss == 0


@pytest.mark.parametrize(
    "options",
    [{"num_reads": 0}, {"num_sweeps": -1}, {"num_reads": "many"}, {"seed": -1}],
    ids=str,
)
def test_bad_values_of_options_are_refused_in_our_words(options):
    with pytest.raises(IsingLearnError) as caught:
        il.solve(tiny(), "dwave-sa", **options)
    assert next(iter(options)) in str(caught.value)


def test_a_network_without_free_parameters_is_refused():
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1)).freeze(
        {"layer1.weight": 1, "layer1.bias": 0, "layer2.weight": 1, "layer2.bias": 0}
    )
    with pytest.raises(NetworkError, match="nothing to train"):
        il.compile(net, [[0], [-1]], [1, 1])


@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_an_optimal_network_can_be_the_next_incumbent(formulation):
    X, y = [[0], [1]], [1, 1]
    for vector in il.solve(tiny(formulation, X, y), "brute").result.vectors[:4]:
        known = tiny(formulation, X, y).parameters(vector)
        assert tiny(formulation, X, y, incumbent=known).incumbent[1] == 0


# -- records ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["brute", "dwave-sa"])
def test_a_saved_run_can_be_read_back(tmp_path, solver):
    run = il.solve(tiny(), solver, seed=7)
    run.save(tmp_path / "run.json")
    record = json.loads((tmp_path / "run.json").read_text())
    assert record == run.record()
    assert (record["format"], record["version"]) == ("isinglearn-run", 1)
    assert (record["solver"], record["seed"]) == (solver, 7)
    assert (record["status"], record["bound"]) == ("OPTIMAL", 0.0)
    assert record["formulation"] == "compact"
    assert Fraction(record["loss_fraction"]) == run.best.loss == Fraction(record["loss"])
    assert record["accuracy"] == 1.0
    assert record["consistent"] is True
    assert record["violations"] == []


def test_saved_parameters_are_the_network(task, tmp_path):
    run = il.solve(task, "brute")
    run.save(tmp_path / "run.json")
    record = json.loads((tmp_path / "run.json").read_text())
    parameters = {name: np.array(value) for name, value in record["parameters"].items()}
    assert task.vector(parameters).tolist() == run.result.vectors[0].tolist()
    outputs = task.network.forward(parameters, TASK.X)
    assert (np.where(outputs >= 0, 1, -1).ravel() == TASK.y).all()


def test_samples_of_weight_0_are_as_if_not_given():
    # Confined to the box, the second sample would forbid the best network.
    net = nn.paper_network(1, 1, 2, 1, 0).freeze(
        {"layer1.weight": 1, "layer1.bias": 0, "layer2.bias": 2}
    )
    for formulation in ("compact", "paper"):
        options = {"formulation": formulation, "box": formulation == "compact"}
        given = il.compile(net, [[-1], [0]], [0, 1], sample_weight=[1, 0], **options)
        alone = il.compile(net, [[-1]], [0], **options)
        losses = {
            il.solve(problem, solver).best.loss
            for problem in (given, alone)
            for solver in ("brute", "patterns", "cpsat")
        }
        assert losses == {0}
        assert il.solve(given, "cpsat").verdict.consistent


def test_reads_outside_the_box_are_no_networks():
    net = nn.Sequential(nn.Linear(1, 2), nn.Sign(), nn.Linear(2, 1))
    problem = il.compile(net, [[-3], [0], [2]], [1, -1, 1], formulation="paper")

    class Zeros(dimod.Sampler):
        properties: dict = {}  # noqa: RUF012
        parameters: dict = {}  # noqa: RUF012

        def sample(self, bqm, **parameters):
            return dimod.SampleSet.from_samples_bqm(dict.fromkeys(bqm.variables, 0), bqm)

    run = il.solve(problem, Zeros())
    assert (run.status, run.gap, len(run.result.vectors)) == (Status.NONE_FOUND, None, 1)
    assert "parameters" not in run.record()
    with pytest.raises(SolverError, match="leave the form's box"):
        _ = run.best


def test_a_start_beyond_the_range_that_matters_is_used():
    problem = tiny(X=[[0], [1], [2]], y=[1, -1, 1])
    start = problem.parameters([values[-1] for values in problem.free_domains])
    run = il.solve(problem, "cpsat", start=start, time_limit=1e-9)
    assert run.status is Status.FEASIBLE


def test_a_dimod_sampler_gets_the_seed(task):
    def bits(seed: int):
        return il.solve(
            task, il.AnnealingSampler(), seed=seed, num_reads=2, num_sweeps=5
        ).result.bits

    assert np.array_equal(bits(1), bits(1))
    assert not np.array_equal(bits(1), bits(2))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"problem": 3}, "compile"),
        ({"start": 5}, "start"),
        ({"form": "QUBO"}, "did you mean 'qubo'"),
        ({"solver": dimod.ExactSolver}, "no solver"),
    ],
    ids=str,
)
def test_wrong_kinds_are_refused_in_our_words(arguments, word):
    given = {"problem": tiny(), "solver": "annealer", **arguments}
    with pytest.raises(IsingLearnError, match=word):
        il.solve(**given)


def test_large_energies_keep_their_proof():
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
    problem = il.compile(net, [[0], [1], [2]], [0.377, -0.999, 0.513], label_scale=1000)
    run = il.solve(problem, "cpsat", start=None)
    assert run.status is Status.OPTIMAL
    assert run.result.bound > 10**6


# -- what a run remembers --------------------------------------------------------------------------


def figures(run: il.Run) -> list[tuple[Fraction | None, Fraction | None]]:
    return [(event.loss, event.bound) for event in run.events]


@pytest.mark.parametrize(
    "solver", ["annealer", "brute", "cpsat", "dwave-sa", "patterns", "treewidth"]
)
def test_a_run_remembers_its_news_though_nobody_listens(task, solver):
    run = il.solve(task, solver)
    assert figures(run)[-1] == (run.best.loss, run.bound)
    assert run.events[-1].seconds == run.seconds
    seconds = [event.seconds for event in run.events]
    assert seconds == sorted(seconds)
    bounds = [bound for _, bound in figures(run) if bound is not None]
    assert bounds == sorted(bounds)


def test_what_is_heard_is_remembered_without_the_messages(task):
    heard: list[il.Event] = []
    run = il.solve(task, "treewidth", on_event=heard.append)
    assert any(event.message for event in heard)
    assert [event for event in heard if not event.message] == list(run.events[:-1])


class Talker(Solver):
    """Tells many messages and ever lower energies."""

    accepts = (Form.PROBLEM,)

    def __init__(self, energies):
        self.name, self.energies = "talker", energies

    def solve(self, form, options, session):
        for number, energy in enumerate(self.energies):
            session.tell(message=f"message {number}")
            session.tell(energy=energy)
        return Answer(np.array([[values[0] for values in form.free_domains]]))


def test_talk_does_not_fill_the_memory():
    few = il.solve(tiny(), Talker([10**6] * 50_000))
    assert len(few.events) == 2
    many = il.solve(tiny(), Talker(range(10**6, 10**6 - 5 * MOST_EVENTS, -1)))
    assert MOST_EVENTS / 4 < len(many.events) <= MOST_EVENTS + 1
    losses = [event.loss for event in many.events]
    assert losses[0] == Fraction(10**6, many.problem.qcbo.scale)
    assert losses[-2] == Fraction(10**6 - 5 * MOST_EVENTS + 1, many.problem.qcbo.scale)
    assert losses == sorted(losses, reverse=True)


def test_the_last_event_is_the_answer_though_an_energy_promised_more():
    run = il.solve(tiny(), Talker([-5]))
    promised, true = (event.loss for event in run.events)
    assert promised < 0 <= true == run.best.loss


def test_energies_of_a_rounded_qubo_are_no_losses(task):
    heard: list[il.Event] = []
    run = il.solve(task, "treewidth", bits=4, on_event=heard.append)
    assert any(event.bound is not None for event in heard)
    assert figures(run) == [(run.best.loss, 0)]


def test_polishing_is_news(task):
    rough = il.solve(task, "annealer", num_reads=1, num_sweeps=1, moves="single")
    fine = rough.polished(1)
    assert fine.best.loss < rough.best.loss
    assert figures(fine) == [*figures(rough), (fine.best.loss, fine.bound)]
    assert il.solve(task, "brute", polish=2).arguments == {"polish": 2}


def test_a_run_knows_what_was_asked(task):
    assert il.solve(task, "brute").arguments == {}
    run = il.solve(task, "annealer", num_reads=2, time_limit=9, start=None, form="hubo")
    assert run.arguments == {"num_reads": 2, "time_limit": 9.0, "start": None, "form": "hubo"}


def test_a_report_from_the_run_itself(task, tmp_path):
    run = il.solve(task, "annealer", num_reads=2)
    run.report(
        tmp_path / "report.html",
        TASK.X,
        TASK.y,
        title="Mine",
        feature_names=["a", "b"],
        yardstick=False,
    )
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>Mine</h1>" in page
    assert "test accuracy" in page
    wrong: list[tuple[dict, str]] = [
        ({"prove_second": 3}, "did you mean 'prove_seconds'"),
        ({"feature_names": ["a"]}, "2 names, one for each feature.*1 names"),
        ({"X_test": TASK.X}, "y_test.*X_test alone"),
        ({"y_test": TASK.y}, "X_test.*y_test alone"),
    ]
    for choices, message in wrong:
        with pytest.raises(IsingLearnError, match=message):
            run.report(tmp_path / "other.html", **choices)
    assert not (tmp_path / "other.html").exists()
