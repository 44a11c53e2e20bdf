"""Variable tables: names, roles, ranges and indexing, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from isinglearn.problem.variables import (
    Block,
    Positions,
    VariableTable,
    bit_block,
    bits_needed,
    grid,
)


def integers(label: str, role: str, lo: list[int], hi: list[int], name: str | None) -> Block:
    entries = grid(len(lo))
    return Block("layer1", label, ("unit",), entries, role, np.array(lo), np.array(hi), name)


@pytest.fixture
def table() -> VariableTable:
    return VariableTable(
        [
            bit_block("layer1", "weight", "weight", ("unit", "input"), grid(2, 2)),
            bit_block(
                "layer1", "slack", "slack", ("unit", "sample", "bit"), [[0, 7, 0], [0, 7, 1]]
            ),
            integers("bias", "bias", [0, -3], [5, 3], "bounded"),
            bit_block("", "product", "product", ("bit_", "bit_"), [[3, 4]]),
        ]
    )


NAMES = [
    "layer1/unit0/input0/weight",
    "layer1/unit0/input1/weight",
    "layer1/unit1/input0/weight",
    "layer1/unit1/input1/weight",
    "layer1/unit0/sample7/slack[0]",
    "layer1/unit0/sample7/slack[1]",
    "layer1/unit0/bias",
    "layer1/unit1/bias",
    "bit_3/bit_4/product",
]


def test_names_say_origin_position_and_kind(table):
    assert list(table) == NAMES
    assert len(set(table)) == len(table) == 9


def test_indexing_agrees_with_iteration_from_both_ends(table):
    assert [table[i] for i in range(9)] == NAMES
    assert [table[i] for i in range(-9, 0)] == NAMES
    assert table[np.int64(4)] == NAMES[4]
    assert [table.index(name) for name in NAMES] == list(range(9))
    assert "layer1/unit5/bias" not in table


@pytest.mark.parametrize("index", [9, -10, 100])
def test_indices_beyond_the_table_are_refused(table, index):
    with pytest.raises(IndexError):
        table[index]


def test_roles_are_counted_and_found(table):
    assert table.count_by_role() == {"weight": 4, "slack": 2, "bias": 2, "product": 1}
    assert table.indices("weight").tolist() == [0, 1, 2, 3]
    assert table.indices("product", "weight").tolist() == [0, 1, 2, 3, 8]
    assert table.indices("nothing").tolist() == []


def test_ranges_and_samples_of_every_variable(table):
    assert table.lo.tolist() == [0] * 6 + [0, -3] + [0]
    assert table.hi.tolist() == [1] * 6 + [5, 3] + [1]
    assert table.samples.tolist() == [-1] * 4 + [7, 7] + [-1] * 3


def test_extending_appends_and_leaves_the_original(table):
    longer = table.extended(bit_block("new", "x", "weight", ("unit",), [[0]]))
    assert list(longer) == [*NAMES, "new/unit0/x"]
    assert len(table) == 9
    assert longer.count_by_role()["weight"] == 5


def test_empty_tables_and_empty_blocks():
    nothing = bit_block("a", "b", "weight", ("unit",), np.zeros((0, 1), dtype=np.int64))
    table = VariableTable([nothing])
    assert list(table) == []
    assert len(table) == 0
    assert table.lo.size == table.samples.size == 0
    assert table.count_by_role() == {}
    with pytest.raises(IndexError):
        table[0]


def test_grid_runs_fastest_over_the_last_axis():
    assert grid(2, 3).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert grid(0, 3).shape == (0, 2)


def test_blocks_are_restricted_by_a_mask():
    block = integers("bias", "bias", [0, 1, 2], [5, 6, 7], "bounded").only(
        np.array([True, False, True])
    )
    assert [block.name(i) for i in range(len(block))] == ["layer1/unit0/bias", "layer1/unit2/bias"]
    assert (block.lo.tolist(), block.hi.tolist()) == ([0, 2], [5, 7])


def test_places_are_taken_and_renamed():
    places = Positions("layer2", "sign", ("unit", "sample"), grid(2, 2))
    chosen = places.take(np.array([3, 0]), "tie")
    assert [chosen.name(i) for i in range(2)] == [
        "layer2/unit1/sample1/tie",
        "layer2/unit0/sample0/tie",
    ]
    assert places.take(np.array([1])).name(0) == "layer2/unit0/sample1/sign"
    assert chosen.samples.tolist() == [1, 0]


def test_bits_needed_follows_the_encoding():
    lo, hi = [0, 0, 2], [5, 0, 9]
    assert bits_needed(integers("b", "bias", lo, hi, "bounded")).tolist() == [3, 0, 3]
    assert bits_needed(integers("b", "bias", lo, hi, "unary")).tolist() == [5, 0, 7]
    assert bits_needed(integers("b", "bias", lo, hi, None)).tolist() == [0, 0, 0]
