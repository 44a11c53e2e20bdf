"""Tables: what can be read, and what is refused how."""

import numpy as np
import pytest

from isinglearn.errors import DataError, MissingPackage
from isinglearn.tables import read_table


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
    assert table.select(("height",)).tolist() == [[2.5], [4]]


def test_labels_keep_their_type(tmp_path):
    assert read_table(write(tmp_path, "a,b\n1,0\n2,1\n"), "b").y.dtype.kind == "i"
    assert read_table(write(tmp_path, "a,b\n1,0.5\n2,1\n"), "b").y.dtype.kind == "f"
    assert read_table(write(tmp_path, "a,b\n1,2\n")).y is None


def test_npz_by_columns_and_by_matrix(tmp_path):
    np.savez(tmp_path / "columns.npz", a=[1, 2], b=[3.0, 4.0], label=["x", "y"])
    table = read_table(tmp_path / "columns.npz", "label")
    assert table.features == ("a", "b")
    assert table.y.tolist() == ["x", "y"]
    np.savez(tmp_path / "matrix.npz", X=np.eye(2), y=[0, 1])
    assert read_table(tmp_path / "matrix.npz", "y").features == ("X0", "X1")


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"a": [1, 2], "b": ["u", "v"]}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "b")
    assert table.X.tolist() == [[1], [2]]
    assert table.y.tolist() == ["u", "v"]


def test_parquet_without_its_package_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"")
    with pytest.raises(MissingPackage, match=r"isinglearn\[parquet\]"):
        read_table(tmp_path / "t.parquet")


BAD = {
    "ending": ("a\n1\n", "data.txt", None, "no table"),
    "column": ("height,width\n1,2\n", "data.csv", "hieght", "did you mean 'height'"),
    "no rows": ("a,b\n", "data.csv", "b", "no rows"),
    "short line": ("a,b\n1,2\n3\n", "data.csv", "b", "line 3"),
    "same names": ("a,a\n1,2\n", "data.csv", None, "same name"),
    "text feature": ("a,b\nx,1\n", "data.csv", "b", "column a"),
    "missing value": ("a,b\nnan,1\n", "data.csv", "b", "row 1"),
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
