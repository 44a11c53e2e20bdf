"""Tables: what can be read, and what is refused how."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from isinglearn.errors import DataError, MissingPackage
from isinglearn.tables import Table, read_table


def write(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_has_features_and_labels(tmp_path):
    path = write(tmp_path, "\ufeffwidth,kind,height\n1,cat,2.5\n3,dog,4\n\n")
    table = read_table(path, "kind")
    assert table.features == ("width", "height")
    assert table.X.tolist() == [[1, 2.5], [3, 4]]
    assert table.y.tolist() == ["cat", "dog"]


def test_chosen_features_come_in_their_order_and_others_may_be_anything(tmp_path):
    path = write(tmp_path, "name,width,kind,height\nTom,1,cat,2.5\nRex,3,dog,4\n")
    table = read_table(path, "kind", ("height", "width"))
    assert table.features == ("height", "width")
    assert table.X.tolist() == [[2.5, 1], [4, 3]]
    with pytest.raises(DataError, match="did you mean 'height'"):
        read_table(path, "kind", ("hight",))


def test_labels_keep_their_type(tmp_path):
    assert read_table(write(tmp_path, "a,b\n1,0\n2,1\n"), "b").y.dtype.kind == "i"
    assert read_table(write(tmp_path, "a,b\n1,0.5\n2,1\n"), "b").y.dtype.kind == "f"
    assert read_table(write(tmp_path, "a,b\n1,2\n")).y is None


def test_npz_by_columns_and_by_matrix(tmp_path):
    np.savez(tmp_path / "columns.npz", a=[1, 2], b=[3.0, 4.0], label=["x", "y"])
    table = read_table(tmp_path / "columns.npz", "label")
    assert table.features == ("a", "b")
    assert table.y.tolist() == ["x", "y"]
    np.savez(tmp_path / "matrix.npz", X=np.eye(2), y=[[0], [1]])
    assert read_table(tmp_path / "matrix.npz", "y").features == ("X0", "X1")
    np.savez(tmp_path / "images.npz", X=np.zeros((3, 2, 2)), y=[0, 1, 0])
    assert read_table(tmp_path / "images.npz", "y").X.shape == (3, 4)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": [1, 2], "b": ["u", "v"]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "b")
    assert table.X.tolist() == [[1], [2]]
    assert table.y.tolist() == ["u", "v"]


def test_parquet_columns_may_have_gaps(tmp_path, monkeypatch):
    # What pyarrow gives, whether it is installed or not.
    class Arrow(dict):
        column_names = property(list)

        def __getitem__(self, name):
            return SimpleNamespace(to_pylist=lambda: super(Arrow, self).__getitem__(name))

    arrow = Arrow(a=[1, 2], b=["u", None], c=[1, None])
    parquet = SimpleNamespace(read_table=lambda file: arrow)
    monkeypatch.setitem(sys.modules, "pyarrow", SimpleNamespace(parquet=parquet))
    path = write(tmp_path, "", "t.parquet")
    assert read_table(path, features=("a",)).X.tolist() == [[1], [2]]
    for target, features, says in (
        ("b", ("a",), "a label is missing"),
        (None, ("c",), "nan in row 2"),
    ):
        with pytest.raises(DataError, match=says):
            read_table(path, target, features)


def test_parquet_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(MissingPackage, match=r"isinglearn\[parquet\]"):
        read_table(tmp_path / "t.parquet")


LABELS = {
    "texts": (["a", "b", "c"], "classify", ["a", "b", "c"]),
    "few whole numbers": ([3, 1, 2], "classify", [3, 1, 2]),
    "whole numbers as floats": ([1.0, 2.0, 3.0], "classify", [1, 2, 3]),
    "two values": ([0.5, 1.5], "classify", ["0.5", "1.5"]),
    "switches": ([True, False], "classify", [1, 0]),
    "fractions": ([0.5, 1.0, 2.0], "regress", [0.5, 1.0, 2.0]),
    "many whole numbers": (list(range(21)), "regress", list(range(21))),
    "as many classes as can be": (list(range(20)), "classify", list(range(20))),
}


@pytest.mark.parametrize(("values", "task", "labels"), LABELS.values(), ids=LABELS)
def test_labels_are_numbers_or_classes(values, task, labels):
    table = Table(("a",), np.zeros((len(values), 1)), "y", np.array(values))
    assert table.task == task
    assert table.labels(task).tolist() == labels


def test_labels_are_what_they_are_asked_for():
    whole = Table(("a",), np.zeros((3, 1)), "y", np.array([1, 2, 3]))
    assert whole.labels("regress").dtype == np.float64
    fractions = Table(("a",), np.zeros((3, 1)), "y", np.array([0.5, 1.0, 2.0]))
    assert fractions.labels("classify").tolist() == ["0.5", "1.0", "2.0"]
    texts = Table(("a",), np.zeros((2, 1)), "y", np.array(["u", "v"]))
    with pytest.raises(DataError, match="no numbers"):
        texts.labels("regress")


def test_names_with_underscores_are_no_numbers(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1,1_0\n2,2_0\n"), "b")
    assert table.y.tolist() == ["1_0", "2_0"]


def test_numbers_too_large_for_64_bits_are_floats(tmp_path):
    assert read_table(write(tmp_path, f"a\n{2**70}\n1\n")).X[0, 0] == 2.0**70


BAD = {
    "ending": ("a\n1\n", "data.txt", None, "no table"),
    "column": ("height,width\n1,2\n", "data.csv", "hieght", "did you mean 'height'"),
    "no rows": ("a,b\n", "data.csv", "b", "no rows"),
    "short line": ("a,b\n1,2\n3\n", "data.csv", "b", "line 3"),
    "same names": ("a,a\n1,2\n", "data.csv", None, "same name"),
    "text feature": ("a,b\n1,1\nx,1\n", "data.csv", "b", "column a"),
    "a text among numbers": ("a,b\n1,1\nx,1\n", "data.csv", "b", "'x' in row 2"),
    "missing value": ("a,b\nnan,1\n", "data.csv", "b", "row 1"),
    "empty value": ("a,b\n1,1\n,1\n", "data.csv", "b", "nothing in row 2"),
    "missing label": ("a,b\n1,1\n2,\n", "data.csv", "b", "a label is missing"),
    "infinite label": ("a,b\n1,1.5\n2,inf\n", "data.csv", "b", "inf in row 2"),
    "only labels": ("b\n1\n", "data.csv", "b", "nothing to learn from"),
}


@pytest.mark.parametrize(("text", "name", "target", "says"), BAD.values(), ids=BAD)
def test_bad_tables_are_refused(tmp_path, text, name, target, says):
    with pytest.raises(DataError) as caught:
        read_table(write(tmp_path, text, name), target)
    assert says in str(caught.value)
    assert caught.value.remedy


def test_files_that_are_not_there_or_damaged(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "bad.npz")
    np.savez(tmp_path / "uneven.npz", a=[1, 2], b=[1])
    with pytest.raises(DataError, match="differ in length"):
        read_table(tmp_path / "uneven.npz")
    np.savez(tmp_path / "empty.npz", a=[])
    with pytest.raises(DataError, match="no rows"):
        read_table(tmp_path / "empty.npz")
    (tmp_path / "latin.csv").write_bytes("a,b\n1,süß\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        read_table(tmp_path / "latin.csv")


def test_lines_are_counted_with_the_empty_ones(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n\n1,2\n\n3\n")
    with pytest.raises(DataError, match="line 5"):
        read_table(path)


def test_columns_of_a_matrix_may_not_hide_others(tmp_path):
    path = tmp_path / "table.npz"
    np.savez(path, X=np.ones((3, 2)), X0=np.zeros(3))
    with pytest.raises(DataError, match="same name"):
        read_table(path)
    np.savez(path, X=np.ones((0, 2)))
    with pytest.raises(DataError, match="no rows"):
        read_table(path)


@pytest.mark.parametrize(("sign", "word"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators_are_named(tmp_path, sign, word):
    path = tmp_path / "table.csv"
    path.write_text(f"a{sign}b\n1{sign}2\n")
    with pytest.raises(DataError, match=word):
        read_table(path)


def test_a_column_without_a_name_is_no_feature_by_accident(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",a,b\n0,1,2\n1,3,4\n")
    with pytest.raises(DataError, match="has no name"):
        read_table(path, "b")
    assert read_table(path, "b", ("a",)).features == ("a",)


def test_the_target_is_no_feature(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="feature and target"):
        read_table(path, "b", ("a", "b"))
