"""``read_samples``: bits and sample sets from elsewhere, to networks."""

from __future__ import annotations

import html

import dimod
import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import OptionError, SolverError
from isinglearn.metrics import successes
from isinglearn.solvers.base import Status


@pytest.fixture(scope="module")
def problem() -> il.Problem:
    net = nn.Sequential(nn.Linear(2, 2), nn.Sign(), nn.Linear(2, 1))
    return il.compile(net, [[-1, -1], [-1, 1], [1, -1], [1, 1]], [-1, 1, 1, -1])


def sampled(form) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 2, (20, form.num_variables))


def test_what_a_solver_found_is_read_as_the_solver_itself_was(problem):
    solved = il.solve(problem, "annealer", num_reads=20, moves="single", seed=2)
    run = il.read_samples(problem, solved.result.bits[::-1])
    assert (run.solver, run.seconds, run.reason) == ("samples", 0.0, "")
    assert run.best.loss == solved.best.loss
    assert run.status is solved.status
    assert run.result.energies.tolist() == solved.result.energies.tolist()
    assert np.array_equal(problem.scores(run.result.vectors), problem.scores(solved.result.vectors))
    assert run.verdict.consistent == solved.verdict.consistent
    assert run.events[-1].loss == run.best.loss


def test_reads_are_ranked_repaired_and_counted(problem):
    bits = sampled(problem.qubo)
    run = il.read_samples(problem, bits, solver="my machine", seconds=3)
    scores = problem.scores(run.result.vectors)
    assert (run.solver, run.seconds) == ("my machine", 3.0)
    assert scores.tolist() == sorted(scores)
    assert sorted(run.result.energies) == sorted(problem.qubo.energy(bits))
    assert run.record()["solver"] == "my machine"
    assert successes(problem, run, 0, reads=20).repaired.reads == 20


def test_a_report_says_how_the_samples_are_read(problem, tmp_path):
    run = il.read_samples(problem, sampled(problem.qubo), solver="my machine")
    assert (run.seed, run.record()["seed"]) == (None, None)
    run.report(tmp_path / "report.html", yardstick=False, prove_seconds=0)
    page = html.unescape((tmp_path / "report.html").read_text())
    assert "run = il.read_samples(problem, samples, solver='my machine')" in page
    assert "il.solve(" not in page


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_sample_sets_of_any_kind_and_order_are_read(problem, vartype):
    bits = sampled(problem.qubo)
    order = np.random.default_rng(0).permutation(bits.shape[1])
    names = list(problem.qubo.variables)
    # Further variables, of an embedding perhaps, are nobody's.
    values = np.column_stack([bits[:, order], np.zeros(len(bits), dtype=int)])
    values = 2 * values - 1 if vartype == "SPIN" else values
    counts = np.arange(1, len(bits) + 1)
    given = dimod.SampleSet.from_samples(
        (values, [*(names[i] for i in order), "another"]),
        vartype,
        energy=np.zeros(len(bits)),
        num_occurrences=counts,
    )
    run = il.read_samples(problem, given)
    expected = il.read_samples(problem, np.repeat(bits, counts, axis=0))
    assert run.result.energies.tolist() == expected.result.energies.tolist()
    assert run.result.vectors.tolist() == expected.result.vectors.tolist()


def test_bits_of_the_hubo_are_read_as_such(problem):
    good = problem.hubo.complete(problem.complete(il.solve(problem, "brute").result.vectors[:1]))
    run = il.read_samples(problem, good, form="hubo")
    assert run.best.loss == 0
    assert run.status is Status.OPTIMAL
    names = list(problem.hubo.variables)
    given = dimod.SampleSet.from_samples((good, names), "BINARY", energy=[0])
    assert il.read_samples(problem, given, form="hubo").best.loss == 0


def test_nothing_read_is_no_network(problem):
    none = np.zeros((0, problem.qubo.num_variables))
    assert il.read_samples(problem, none).status is Status.NONE_FOUND


def test_samples_that_do_not_fit_are_refused(problem):
    bits = sampled(problem.qubo)
    with pytest.raises(SolverError, match=r"samples.*such as -1.*\(1 \+ s\) / 2"):
        il.read_samples(problem, 2 * bits - 1)
    with pytest.raises(SolverError, match=r"samples.*shape \(20, "):
        il.read_samples(problem, bits[:, 1:])
    names = list(problem.qubo.variables)[1:]
    given = dimod.SampleSet.from_samples((bits[:, 1:], names), "BINARY", energy=np.zeros(20))
    with pytest.raises(SolverError, match=problem.qubo.variables[0].replace("[", r"\[")):
        il.read_samples(problem, given)
    for wrong in ({"form": "qcbo"}, {"form": "qub"}, {"seconds": -1}):
        with pytest.raises(OptionError):
            il.read_samples(problem, bits, **wrong)
    with pytest.raises(OptionError, match="compile"):
        il.read_samples(problem.qubo, bits)
