"""Exports are read back by the libraries they are meant for, with exactly the same energies."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import dimod
import dimod.serialization.coo
import highspy
import numpy as np
import pyscipopt
import pytest

from isinglearn import nn
from isinglearn.errors import OptionError, OverflowRefused
from isinglearn.lowering.pipeline import Problem, compile
from isinglearn.problem.forms import QCBO, QUBO, Constraint, Energy
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import Block, Positions, VariableTable

X = [[-4, -3], [0, 1], [-4, 4], [3, -4], [-3, 1], [4, 4]]
Y = [-1, 1, 1, 1, -1, -1]
BEST_LOSS = 4 / 6


def task(formulation: str = "compact", order: str = "square") -> Problem:
    return compile(nn.paper_network(2, 1, 2, 1, 2), X, Y, formulation=formulation, order=order)


@pytest.fixture(scope="module", params=["compact", "paper"])
def problem(request) -> Problem:
    return task(request.param)


@pytest.fixture(
    scope="module", params=[("compact", "square"), ("compact", "product"), ("paper", "square")]
)
def qubo(request) -> QUBO:
    return task(*request.param).qubo


def random_bits(num_variables: int, reads: int = 50) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2, (reads, num_variables))


# -- QUBO ------------------------------------------------------------------------------------------


def test_bqm_has_the_energies_and_the_names(qubo):
    bits = random_bits(qubo.num_variables)
    bqm = qubo.to_bqm()
    assert list(bqm.variables) == list(qubo.variables)
    assert bqm.num_interactions == qubo.num_couplers
    assert (bqm.energies((bits, list(qubo.variables))) == qubo.energy(bits)).all()


def test_matrix_is_exact_and_upper_triangular(qubo):
    bits = random_bits(qubo.num_variables)
    matrix = qubo.to_matrix()
    assert matrix.dtype == np.int64
    dense = matrix.toarray()
    assert not np.tril(dense, -1).any()
    assert ((bits @ dense * bits).sum(axis=1) + qubo.offset == qubo.energy(bits)).all()


def test_ising_has_the_energies(qubo):
    bits = random_bits(qubo.num_variables)
    fields, couplings, offset = qubo.to_ising()
    entries = couplings.tocoo()
    pairs = zip(entries.row.tolist(), entries.col.tolist(), strict=True)
    assert (entries.row < entries.col).all()
    bqm = dimod.BinaryQuadraticModel.from_ising(
        dict(enumerate(fields)), dict(zip(pairs, entries.data, strict=True)), offset
    )
    spins = (2 * bits - 1, range(qubo.num_variables))
    assert (bqm.energies(spins) == qubo.energy(bits)).all()


def test_coo_file_is_read_by_dimod(qubo, tmp_path):
    path = tmp_path / "problem.coo"
    qubo.write(path)
    with path.open() as file:
        bqm = dimod.serialization.coo.load(file)
    bits = random_bits(qubo.num_variables)
    assert bqm.vartype is dimod.BINARY
    assert list(bqm.variables) == list(range(qubo.num_variables))
    energies = bqm.energies((bits, range(qubo.num_variables)))
    assert (energies + qubo.offset == qubo.energy(bits)).all()
    assert f"# offset={qubo.offset}\n# scale={qubo.scale}\n" in path.read_text()


def test_qbsolv_file_keeps_its_format(qubo, tmp_path):
    path = tmp_path / "problem.qubo"
    qubo.write(path)
    lines = [line.split() for line in path.read_text().splitlines()]
    comments = {key: int(value) for c, key, value in (w for w in lines if w[0] == "c")}
    (header,) = [words for words in lines if words[0] == "p"]
    entries = np.array([words for words in lines if words[0] not in "cp"], dtype=np.int64)
    size, diagonals, elements = map(int, header[3:])
    assert header[:3] == ["p", "qubo", "0"]
    assert (size, diagonals + elements) == (qubo.num_variables, len(entries))
    assert (entries[:diagonals, 0] == entries[:diagonals, 1]).all()
    assert (entries[diagonals:, 0] < entries[diagonals:, 1]).all()
    row, column, value = entries.T
    bits = random_bits(size)
    energies = bits[:, row] * bits[:, column] @ value + comments["offset"]
    assert (energies == qubo.energy(bits)).all()
    assert comments["scale"] == qubo.scale


def test_npz_file_loads_without_pickle(qubo, tmp_path):
    path = tmp_path / "problem.npz"
    qubo.write(path)
    with np.load(path, allow_pickle=False) as file:
        row, column, data, names = (file[key] for key in ("row", "col", "data", "names"))
        offset, scale = int(file["offset"]), int(file["scale"])
    bits = random_bits(qubo.num_variables)
    energies = bits[:, row] * bits[:, column] @ data + offset
    assert (energies == qubo.energy(bits)).all()
    assert names.tolist() == list(qubo.variables)
    assert scale == qubo.scale


def test_json_file_is_read_by_dimod(qubo, tmp_path):
    path = tmp_path / "problem.json"
    qubo.write(path)
    read = dimod.BinaryQuadraticModel.from_serializable(json.loads(path.read_text()))
    assert read == qubo.to_bqm()


@pytest.mark.parametrize("suffix", [".qubo", ".coo", ".npz", ".json"])
def test_the_same_problem_gives_the_same_bytes(suffix, tmp_path):
    paths = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for path in paths:
        task().qubo.write(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_unknown_ending_names_the_nearest(qubo, tmp_path):
    with pytest.raises(OptionError, match=r"did you mean '\.qubo'"):
        qubo.write(tmp_path / "problem.qbo")
    assert not list(tmp_path.iterdir())


def with_repeated_names(qubo: QUBO) -> QUBO:
    blocks = [block for block in qubo.variables.blocks for _ in range(2)]
    return replace(qubo, variables=VariableTable(blocks))


def test_repeated_names_are_refused_and_a_failed_write_loses_nothing(tmp_path):
    path = tmp_path / "problem.npz"
    path.write_bytes(b"precious")
    broken = with_repeated_names(task().qubo)
    with pytest.raises(OptionError, match="every name only once"):
        broken.write(path)
    with pytest.raises(OptionError, match="every name only once"):
        broken.to_bqm()
    assert path.read_bytes() == b"precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_an_error_of_the_system_names_the_path_that_was_given(tmp_path, folder):
    (tmp_path / "file").write_text("no folder")
    path = tmp_path / folder / "problem.qubo"
    with pytest.raises(OSError, match="directory") as caught:
        task().qubo.write(path)
    assert caught.value.filename == str(path)
    assert ".part" not in str(caught.value)


def test_a_folder_in_the_place_of_the_file_is_named_and_no_draft_is_left(tmp_path):
    path = tmp_path / "problem.qubo"
    path.mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        task().qubo.write(path)
    assert caught.value.filename == str(path)
    assert ".part" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]


def test_weights_that_floats_cannot_hold_are_refused_but_the_matrix_keeps_them():
    qubo = task().qubo.with_weights(penalty=2**54)
    assert abs(qubo.to_matrix()).max() >= 2**54
    with pytest.raises(OverflowRefused, match=r"2\^53"):
        qubo.to_bqm()
    with pytest.raises(OverflowRefused):
        qubo.to_ising()


# -- HUBO ------------------------------------------------------------------------------------------


def test_polynomial_has_the_energies(problem):
    hubo = problem.hubo
    bits = random_bits(hubo.num_variables)
    polynomial = hubo.to_polynomial()
    assert polynomial.degree == hubo.polynomial.degree
    assert (polynomial.energies((bits, list(hubo.variables))) == hubo.energy(bits)).all()


# -- QCBO ------------------------------------------------------------------------------------------


def random_assignments(problem: Problem, reads: int = 20) -> np.ndarray:
    """Networks with all that follows from them, restricted to those within every range."""
    rng = np.random.default_rng(0)
    vectors = np.stack([rng.choice(domain, reads) for domain in problem.free_domains], axis=1)
    values = problem.complete(np.clip(vectors, *ranges(problem, len(problem.free_domains))))
    lo, hi = ranges(problem, values.shape[1])
    inside = values[((values >= lo) & (values <= hi)).all(axis=1)]
    assert len(inside)
    return inside


def ranges(problem: Problem, count: int) -> tuple[np.ndarray, np.ndarray]:
    return problem.qcbo.variables.lo[:count], problem.qcbo.variables.hi[:count]


def test_cqm_accepts_completed_networks_and_no_others(problem):
    qcbo, names = problem.qcbo, list(problem.qcbo.variables)
    cqm = qcbo.to_cqm()
    assert list(cqm.variables) == names
    for values in random_assignments(problem):
        sample = dict(zip(names, values.tolist(), strict=True))
        assert cqm.check_feasible(sample)
        assert cqm.objective.energy(sample) == qcbo.energy(values)[0]
        activation = "layer1/unit0/sample0/a"
        assert not cqm.check_feasible(sample | {activation: -sample[activation]})
        output = "layer2/unit0/sample3/y"
        assert not cqm.check_feasible(sample | {output: sample[output] + 1})


def test_cqm_names_what_is_violated():
    problem = task()
    values = problem.complete(problem.incumbent[0])[0]
    names = list(problem.qcbo.variables)
    values[names.index("layer1/unit0/sample0/a")] *= -1
    cqm = problem.qcbo.to_cqm()
    broken = cqm.violations(dict(zip(names, values.tolist(), strict=True)), skip_satisfied=True)
    labels = {label.removesuffix("/on").removesuffix("/off") for label in broken}
    assert labels == set(problem.qcbo.violations(values))


def solve_with_scip(qcbo: QCBO, path: Path) -> float | None:
    """Optimum of the LP file, or None if it is infeasible."""
    qcbo.write_lp(path)
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    if model.getStatus() == "infeasible":
        return None
    assert model.getStatus() == "optimal"
    return model.getObjVal()


def test_scip_solves_the_lp_file_to_the_known_optimum(problem, tmp_path):
    best = solve_with_scip(problem.qcbo, tmp_path / "problem.lp")
    assert best == pytest.approx(BEST_LOSS * problem.qcbo.scale, abs=1e-6)


def test_lp_file_says_what_its_columns_and_rows_are(tmp_path):
    paths = [tmp_path / "first.lp", tmp_path / "second.lp"]
    for path in paths:
        task().qcbo.write_lp(path)
    lines = paths[0].read_text().splitlines()
    assert r"\ 2 x0 - 1 = layer1/unit0/input0/weight" in lines
    assert r"\ x2 = layer1/unit0/bias" in lines
    assert r"\ c0 = layer1/unit0/sample0/sign/on" in lines
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_highs_reads_an_lp_file_with_linear_constraints(tmp_path):
    qcbo = compile(nn.Sequential(nn.Linear(2, 1)), X, Y).qcbo
    path = tmp_path / "linear.lp"
    qcbo.write_lp(path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    model = highs.getModel()
    assert highs.getNumCol() == len(qcbo.variables)
    assert highs.getNumRow() == sum(constraint.rows.num_rows for constraint in qcbo.constraints)
    # HiGHS numbers the columns as it meets them.
    order = [int(highs.getColName(column)[1][1:]) for column in range(highs.getNumCol())]
    assert (np.array(model.lp_.col_lower_) == qcbo.variables.lo[order]).all()
    assert (np.array(model.lp_.col_upper_) == qcbo.variables.hi[order]).all()
    assert model.lp_.offset_ == qcbo.energy(np.zeros(len(qcbo.variables)))[0]


def random_qcbo(seed: int) -> QCBO:
    """Spins, bits and integers under every kind of constraint, with all products and squares."""
    rng = np.random.default_rng(seed)
    every = np.array([(i, j) for i in range(-1, 6) for j in range(i, 6)])

    def block(label, lo, hi, encoding):
        ends = np.ones(2, dtype=np.int64)
        entries = np.arange(2)[:, None]
        return Block("", label, ("unit",), entries, label, lo * ends, hi * ends, encoding)

    def rows(terms, count):
        chosen = terms[rng.integers(0, len(terms), (count, 4))]
        owner = np.repeat(np.arange(count), 4)
        values = rng.integers(-4, 5, count * 4)
        return PolynomialRows.of(count, owner, chosen.reshape(-1, 2), values)

    def places(label, count):
        return Positions("", label, ("row",), np.arange(count)[:, None])

    table = VariableTable(
        [block("spin", -1, 1, "spin"), block("bit", 0, 1, "bounded"), block("int", -3, 2, None)]
    )
    weights = rng.integers(1, 4, 2)
    objective = (
        Energy(places("loss", 2), rows(every[every[:, 0] < 0], 2), "square", weights),
        Energy(places("extra", 2), rows(every, 2), "linear", weights),
    )
    constraints = (
        Constraint(places("sign", 2), "sign", rows(every, 2), np.array([0, 1])),
        Constraint(places("at_least", 2), "at_least", rows(every, 2)),
        Constraint(places("defined", 1), "equal", rows(every, 1), np.array([4])),
        Constraint(places("zero", 1), "equal", PolynomialRows.constants([0])),
    )
    return QCBO(table, objective, constraints, (), 1)


@pytest.mark.parametrize("seed", range(6))
def test_every_kind_of_constraint_agrees_with_enumeration(seed, tmp_path):
    qcbo = random_qcbo(seed)
    axes = [(-1, 1)] * 2 + [(0, 1)] * 2 + [range(-3, 3)] * 2
    values = np.array(list(product(*axes)))
    violated = [constraint.violated(values) for constraint in qcbo.constraints]
    feasible = ~np.concatenate(violated, axis=1).any(axis=1)
    energy = qcbo.energy(values)
    cqm, names = qcbo.to_cqm(), list(qcbo.variables)
    samples = [dict(zip(names, row, strict=True)) for row in values.tolist()]
    assert [cqm.check_feasible(sample) for sample in samples] == feasible.tolist()
    assert (cqm.objective.energies((values, names)) == energy).all()
    best = solve_with_scip(qcbo, tmp_path / "problem.lp")
    if feasible.any():
        assert best == pytest.approx(energy[feasible].min(), abs=1e-6)
    else:
        assert best is None


def test_a_form_of_higher_degree_is_refused(tmp_path):
    qcbo = random_qcbo(0)
    (loss, extra), positions = qcbo.objective, qcbo.objective[0].positions
    quartic = Energy(positions, extra.rows, "square", loss.weights)
    with pytest.raises(OptionError, match="degree 4"):
        replace(qcbo, objective=(quartic,)).to_cqm()
    with pytest.raises(OptionError, match="degree 4"):
        replace(qcbo, objective=(quartic,)).write_lp(tmp_path / "problem.lp")
    assert not list(tmp_path.iterdir())
