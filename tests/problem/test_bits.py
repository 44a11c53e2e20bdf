"""Only bits are taken for bits: values, shapes and types, wherever they come in."""

from __future__ import annotations

import numpy as np
import pytest

import isinglearn as il
from isinglearn import nn
from isinglearn.errors import SolverError
from isinglearn.problem.bits import as_bits
from isinglearn.solvers.base import Answer, Form, Solver
from isinglearn.training.machine import Machine


@pytest.fixture(scope="module")
def problem() -> il.Problem:
    net = nn.Sequential(nn.Linear(1, 1), nn.Sign(), nn.Linear(1, 1))
    return il.compile(net, [[0], [1]], [-1, 1])


WRONG = {
    "spins": (lambda bits: 2 * bits - 1, "such as -1"),
    "sevens": (lambda bits: 7 * bits, "such as 7"),
    "halves": (lambda bits: 0.5 * bits, "such as 0.5"),
    "missing": (lambda bits: np.where(bits, np.nan, 0), "such as nan"),
    "too wide": (lambda bits: np.repeat(bits, 2, axis=1), r"shape \(3"),
    "too narrow": (lambda bits: bits[:, 1:], r"shape \(3"),
    "three axes": (lambda bits: bits[None], r"shape \(1, 3"),
    "words": (lambda bits: bits.astype(str), "values of type"),
    "ragged": (lambda bits: [list(bits[0]), list(bits[1, 1:])], "different lengths"),
}
RIGHT = [bool, np.int8, np.uint8, np.int64, np.uint64, np.float64]


def some_bits(form) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (3, form.num_variables))


@pytest.mark.parametrize("method", ["energy", "decode", "violations"])
@pytest.mark.parametrize("kind", ["qubo", "hubo", "reduced"])
@pytest.mark.parametrize("change", WRONG)
def test_what_is_no_bit_is_refused(problem, kind, method, change):
    form = problem.fixed()[0] if kind == "reduced" else getattr(problem, kind)
    if not form.num_variables:
        pytest.skip("nothing is left of it")
    make, received = WRONG[change]
    with pytest.raises(SolverError, match=rf"no bits.*{received}.*\(1 \+ s\) / 2"):
        getattr(form, method)(make(some_bits(form)))


@pytest.mark.parametrize("dtype", RIGHT)
def test_bits_of_any_type_are_the_same_bits(problem, dtype):
    bits = some_bits(problem.qubo)
    expected = problem.qubo.polynomial.evaluate(bits)
    assert problem.qubo.energy(bits.astype(dtype)).tolist() == expected.tolist()
    assert problem.qubo.energy(bits[0].astype(dtype)).tolist() == expected[:1].tolist()
    again = as_bits(np.asfortranarray(bits.astype(dtype)), bits.shape[1], "here")
    assert again.dtype == np.int64
    assert np.array_equal(again, bits)


def test_integers_of_a_qcbo_are_no_bits_and_stay_as_they_are(problem):
    values = problem.complete(problem.incumbent[0])
    assert problem.qcbo.energy(values)[0] == problem.incumbent[1]
    assert not np.isin(values, (0, 1)).all()


class Answering(Solver):
    """Answers whatever it was made with makes of random bits."""

    def __init__(self, form: Form, change) -> None:
        self.name, self.change = "mine", change
        self.accepts = (form,)

    def solve(self, form, options, session) -> Answer:
        return Answer(self.change(some_bits(form)))


@pytest.mark.parametrize("form", [Form.QUBO, Form.HUBO])
@pytest.mark.parametrize("change", WRONG)
def test_an_answer_without_bits_names_its_solver(problem, form, change):
    make, received = WRONG[change]
    with pytest.raises(SolverError, match=rf"solver='mine'.*no bits.*{received}"):
        il.solve(problem, Answering(form, make))
    if form is Form.QUBO:
        with pytest.raises(SolverError, match=rf"solver='mine'.*no bits.*{received}"):
            Machine.of(Answering(form, make)).minimise(problem.qubo, 0, 1.0)


def test_bits_as_floats_are_read_as_bits(problem):
    run = il.solve(problem, Answering(Form.QUBO, lambda bits: bits.astype(float)))
    assert run.result.bits.dtype == np.int64
    assert len(run.result.bits) == 3
