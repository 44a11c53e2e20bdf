"""Integer encodings: writing and reading are inverse, and reach exactly the documented values."""

from __future__ import annotations

from itertools import pairwise, product
from math import floor, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglearn.errors import OptionError
from isinglearn.problem.coding import BitCode, Definition, encode_integers
from isinglearn.problem.encodings import ENCODINGS, bit_count, encoding_named, layout
from isinglearn.problem.rows import PolynomialRows
from isinglearn.problem.variables import Block, VariableTable, grid

RANGES = [(lo, lo + span) for lo in (-5, -4, -1, 0, 3) for span in range(9)]
GENERAL = [name for name in ENCODINGS if name != "spin"]

examples = settings(deadline=None, max_examples=50)


def every_value(name: str, lo: int, hi: int) -> np.ndarray:
    return np.array([-1, 1]) if name == "spin" else np.arange(lo, hi + 1)


def is_valid(name: str, bits: tuple[int, ...]) -> bool:
    rule = ENCODINGS[name].validity
    if rule == "ordered":
        return all(a >= b for a, b in pairwise(bits))
    return rule == "any" or sum(bits) == 1


def reachable(name: str, lo: int, hi: int) -> list[int]:
    """Values of all valid bit patterns, with repeats."""
    offset, weights = layout(name, lo, hi)
    patterns = product((0, 1), repeat=weights.size)
    return sorted(int(offset + np.dot(p, weights)) for p in patterns if is_valid(name, p))


@pytest.mark.parametrize("name", ENCODINGS)
def test_what_is_written_is_read_back(name):
    for ends in RANGES if name != "spin" else [(-1, 1)]:
        values = every_value(name, *ends)
        offset, weights = layout(name, *ends)
        bits = ENCODINGS[name].write(values, *ends)
        assert bits.shape == (len(values), weights.size)
        assert set(np.unique(bits)) <= {0, 1}
        assert (offset + bits @ weights == values).all()
        assert all(is_valid(name, tuple(pattern)) for pattern in bits.tolist())


@pytest.mark.parametrize("name", ["bounded", "unary", "one_hot"])
def test_these_reach_exactly_the_range(name):
    for lo, hi in RANGES:
        values = reachable(name, lo, hi)
        assert sorted(set(values)) == list(range(lo, hi + 1))
        # Where not every pattern is valid, every value has one pattern.
        assert name == "bounded" or len(values) == hi - lo + 1


def test_binary_has_the_bit_count_of_the_paper():
    for lo, hi in RANGES:
        span = hi - lo
        bits = floor(log2(span)) + 1 if span else 0
        assert bit_count(span) == bits
        assert reachable("binary", lo, hi) == list(range(lo, lo + 2**bits))


def test_twos_complement_is_the_smallest_that_holds_the_range():
    for lo, hi in RANGES:
        values = reachable("twos_complement", lo, hi)
        k = layout("twos_complement", lo, hi)[1].size - 1
        assert values == list(range(-(2**k), 2**k))
        assert values[0] <= lo <= hi <= values[-1]
        assert k == 0 or lo < -(2 ** (k - 1)) or hi > 2 ** (k - 1) - 1


def test_bounded_needs_no_more_bits_than_binary():
    for lo, hi in RANGES:
        assert layout("bounded", lo, hi)[1].size == layout("binary", lo, hi)[1].size


def test_spin_is_one_bit_and_only_minus_and_plus_one():
    assert reachable("spin", -1, 1) == [-1, 1]
    with pytest.raises(OptionError, match=r"\[0, 1\].*bounded"):
        layout("spin", 0, 1)


@pytest.mark.parametrize(("value", "bits"), [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (2**40, 41)])
def test_bit_count(value, bits):
    assert bit_count(value) == bits


def test_unknown_names_and_empty_ranges_are_refused():
    with pytest.raises(OptionError, match=r"encoding.*'bounded'.*'bouned'.*did you mean 'bounded'"):
        encoding_named("bouned")
    with pytest.raises(OptionError, match=r"lo <= hi.*lo=3, hi=2"):
        layout("binary", 3, 2)


# -- tables of integers and their bits -------------------------------------------------------------


def block(name: str | None, lo: list[int], hi: list[int], label: str = "v") -> Block:
    entries = grid(len(lo))
    return Block("here", label, ("unit",), entries, "weight", np.array(lo), np.array(hi), name)


def code_of(*blocks: Block) -> tuple[VariableTable, BitCode]:
    integers = VariableTable(blocks)
    written = np.concatenate([np.full(len(b), b.encoding is not None) for b in blocks])
    bits, values = encode_integers(integers, written)
    return bits, BitCode(integers, values, (), len(integers), written)


@pytest.mark.parametrize("name", GENERAL)
def test_tables_of_different_ranges_round_trip(name):
    lo, hi = [-2, 0, 3, -2], [2, 0, 7, 2]
    bits, code = code_of(block(name, lo, hi))
    sizes = [layout(name, a, b)[1].size for a, b in zip(lo, hi, strict=True)]
    assert len(bits) == sum(sizes)
    values = np.array(list(product(*(range(a, b + 1) for a, b in zip(lo, hi, strict=True)))))
    written = code.encode(values)
    assert written.shape == (len(values), len(bits))
    assert (code.decode(written) == values).all()


@examples
@given(st.data())
def test_mixed_tables_round_trip(data):
    blocks, values = [], []
    for number in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(list(ENCODINGS)))
        count = data.draw(st.integers(1, 3))
        lo = [-1 if name == "spin" else data.draw(st.integers(-9, 9)) for _ in range(count)]
        hi = [1 if name == "spin" else a + data.draw(st.integers(0, 12)) for a in lo]
        blocks.append(block(name, lo, hi, f"v{number}"))
        for a, b in zip(lo, hi, strict=True):
            choice = every_value(name, a, b).tolist()
            values.append(data.draw(st.sampled_from(choice)))
    # A variable of at least one bit, so that there is something to write.
    blocks.append(block("spin", [-1], [1], "last"))
    values.append(1)
    bits, code = code_of(*blocks)
    assert len(set(bits)) == len(bits)
    assert code.decode(code.encode(values)).tolist() == [values]


def test_bits_are_named_after_their_integer():
    bits, _ = code_of(block("bounded", [0, 0], [3, 1], "b"), block("spin", [-1], [1], "w"))
    assert list(bits) == ["here/unit0/b[0]", "here/unit0/b[1]", "here/unit1/b[0]", "here/unit0/w"]
    assert bits.count_by_role() == {"weight": 4}


def test_codes_outside_the_range_are_snapped_into_it():
    _, binary = code_of(block("binary", [1], [5]))
    assert binary.decode([[1, 1, 1], [0, 0, 1], [0, 0, 0]]).ravel().tolist() == [5, 5, 1]
    _, one_hot = code_of(block("one_hot", [1], [3]))
    assert one_hot.decode([[0, 0, 0], [0, 1, 1]]).ravel().tolist() == [1, 3]


def test_integers_without_bits_follow_from_the_others():
    # z = x + 2 y has no bits of its own: an expression in those of x and y, filled by its definition.
    integers = VariableTable([block("bounded", [0, 0], [2, 1]), block(None, [0], [4], "z")])
    written = np.array([True, True, False])
    _, values = encode_integers(integers, written)
    rule = PolynomialRows.of(1, [0, 0], [[0], [1]], [1, 2])
    z = rule.substitute(values)
    values = values + PolynomialRows.of(3, z.rows + 2, z.monomials, z.coefficients)
    code = BitCode(integers, values, (Definition(np.array([2]), "value", rule),), 2, written)
    every = np.array(list(product(range(3), range(2))))
    bits = code.encode(every)
    assert bits.shape == (6, 3)
    assert (code.decode(bits) == every).all()
    assert (values.evaluate(bits)[:, 2] == every @ [1, 2]).all()


@pytest.mark.parametrize(
    ("rule", "divisor", "expected"),
    [
        ("value", None, [-3, 0, 4]),
        ("sign", None, [-1, 1, 1]),
        ("step", None, [0, 1, 1]),
        ("divide", np.array([2]), [-2, 0, 2]),
    ],
)
def test_definitions(rule, divisor, expected):
    values = np.array([[-3, 99], [0, 99], [4, 99]])
    Definition(np.array([1]), rule, PolynomialRows.variables([0]), divisor).apply(values)
    assert values[:, 1].tolist() == expected
