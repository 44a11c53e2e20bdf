"""Files of QUBOs, ours and others': read with the energies they stand for, or refused in words."""

from __future__ import annotations

import warnings

import dimod
import dimod.serialization.coo
import numpy as np
import pytest
import scipy.sparse

from isinglearn.errors import DataError
from isinglearn.problem.exports.reading import read_bqm

BITS = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1).T
GENERAL = np.array([[1.0, 2.0, 0.0], [0.0, -3.0, 4.5], [5.0, 0.0, 0.0]])
MATRICES = {
    "general": GENERAL,
    "symmetric": GENERAL + GENERAL.T,
    "upper": np.triu(GENERAL + 1),
    "whole": (2 * GENERAL).astype(np.int64),
}


def energies_of(path):
    model = read_bqm(path)
    assert model.vartype is dimod.BINARY
    return model.energies((BITS, [0, 1, 2]))


# -- npz -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix", "bsr_array"])
def test_sparse_matrices_of_scipy_are_read(tmp_path, kind, matrix):
    path = tmp_path / "matrix.npz"
    scipy.sparse.save_npz(path, getattr(scipy.sparse, kind)(matrix))
    assert (energies_of(path) == (BITS @ matrix * BITS).sum(axis=1)).all()


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_a_single_square_matrix_is_read_whatever_its_name(tmp_path, matrix):
    path = tmp_path / "matrix.npz"
    np.savez(path, anything=matrix)
    assert (energies_of(path) == (BITS @ matrix * BITS).sum(axis=1)).all()


def test_entries_of_a_sparse_matrix_that_repeat_add_up(tmp_path):
    path = tmp_path / "matrix.npz"
    entries = ([1.0, 2.0, 4.0], ([0, 0, 2], [1, 1, 2]))
    scipy.sparse.save_npz(path, scipy.sparse.coo_array(entries, shape=(3, 3)))
    model = read_bqm(path)
    assert model.get_quadratic(0, 1) == 3
    assert model.get_linear(2) == 4


OTHERS = {
    "no names": ({"row": [0], "col": [0], "data": [1]}, "arrays col, data, row"),
    "two arrays": ({"a": GENERAL, "b": GENERAL}, "arrays a, b"),
    "nothing": ({}, "no arrays"),
    "not square": ({"Q": GENERAL[:2]}, r"shape \(2, 3\)"),
    "complex": ({"Q": 1j * GENERAL}, "complex128"),
    "texts": ({"Q": np.array([["a"]])}, "of the type"),
    "rounded": ({"Q": np.array([[2**53 + 1]])}, "would round"),
    "outside": (
        {"row": [0], "col": [1], "data": [1], "offset": 0, "names": ["a"]},
        "outside of 0 to 0",
    ),
    "negative": (
        {"row": [-1], "col": [0], "data": [1], "offset": 0, "names": ["a", "b"]},
        "outside of 0 to 1",
    ),
}


@pytest.mark.parametrize(("arrays", "says"), OTHERS.values(), ids=OTHERS)
def test_other_arrays_are_refused_with_what_is_wanted(tmp_path, arrays, says):
    path = tmp_path / "other.npz"
    np.savez(path, **arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=says) as caught:
            read_bqm(path)
    assert "scipy.sparse.save_npz" in caught.value.rule
    assert "row, col, data, offset and names" in caught.value.rule


def test_sparse_matrices_that_are_no_qubo_are_refused(tmp_path):
    path = tmp_path / "matrix.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(1j * GENERAL))
    with pytest.raises(DataError, match="complex128"):
        read_bqm(path)
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(GENERAL[:2]))
    with pytest.raises(DataError, match=r"shape \(2, 3\)"):
        read_bqm(path)


def test_damaged_pointers_of_a_sparse_matrix_are_not_followed(tmp_path):
    path = tmp_path / "matrix.npz"
    np.savez(path, format=b"csr", shape=[2, 2], indptr=[0, 10**9, 1], indices=[0], data=[1.0])
    with pytest.raises(DataError, match="non-decreasing"):
        read_bqm(path)


# -- text ------------------------------------------------------------------------------------------


def test_a_qbsolv_file_is_read_as_its_manual_has_it(tmp_path):
    path = tmp_path / "problem.qubo"
    path.write_text(
        "cglued\nC other\np  qubo  unconstrained  4 2 1\n0 0 3.4\n3 3 -2\nc\n0  3  1e-6\n"
    )
    model = read_bqm(path)
    assert list(model.variables) == [0, 1, 2, 3]
    assert model.energy([1, 0, 0, 1]) == pytest.approx(1.400001)


CONTRADICTIONS = {
    "fewer nodes": ("p qubo 0 2 2 0\n0 0 1\n", "lines of nodes: 2, .* Received: 1"),
    "more nodes": ("p qubo 0 2 1 0\n0 0 1\n1 1 1\n", "lines of nodes: 1, .* Received: 2"),
    "fewer couplers": ("p qubo 0 2 1 1\n0 0 1\n", "lines of couplers: 1, .* Received: 0"),
    "more couplers": ("p qubo 0 2 0 0\n0 1 1\n", "lines of couplers: 0, .* Received: 1"),
    "a node beyond": ("p qubo 0 2 1 0\n2 2 1\n", "from 0 to 1, .* Received: an entry 2 2"),
    "a negative node": ("p qubo 0 2 1 0\n-1 -1 1\n", "from 0 to 1"),
    "no header": ("0 0 1\n", "one line 'p qubo"),
    "a short header": ("p qubo 0 2\n", "one line 'p qubo"),
    "two headers": ("p qubo 0 1 0 0\np qubo 0 1 0 0\n", "one line 'p qubo"),
    "a rounded number": ("p qubo 0 1 1 0\n0 0 9007199254740993\n", "would round"),
}


@pytest.mark.parametrize(("text", "says"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_qbsolv_file_that_contradicts_its_header_is_refused(tmp_path, text, says):
    path = tmp_path / "problem.qubo"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        read_bqm(path)


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_coordinates_of_dimod_are_read(tmp_path, vartype):
    path = tmp_path / "problem.coo"
    model = dimod.BinaryQuadraticModel({0: 1, 3: -2.5}, {(0, 3): 4}, vartype)
    with path.open("w") as file:
        dimod.serialization.coo.dump(model, file, vartype_header=True)
    assert read_bqm(path) == model
    with path.open("w") as file:
        dimod.serialization.coo.dump(model, file)
    with pytest.raises(DataError, match="# vartype=BINARY") as caught:
        read_bqm(path)
    assert "# vartype=BINARY" in caught.value.remedy


def test_coordinates_with_exponents_are_not_left_out(tmp_path):
    path = tmp_path / "problem.coo"
    path.write_text("# vartype=BINARY\n0 0 -1e-06\n0 1 2\n")
    assert read_bqm(path).get_linear(0) == -1e-06
    path.write_text("# vartype=BINARY\n0 0 one\n0 1 2\n")
    with pytest.raises(DataError, match="one"):
        read_bqm(path)


def test_an_unknown_vartype_is_told(tmp_path):
    path = tmp_path / "problem.coo"
    path.write_text("# vartype=TRIT\n0 0 1\n")
    with pytest.raises(DataError, match="Received: TRIT"):
        read_bqm(path)
