"""Whole numbers in floats: quotients and roots rounded down exactly, up to the limits and not beyond."""

import numpy as np
import pytest
from onnx_runners import runners

from isinglearn.errors import OverflowRefused
from isinglearn.exports.onnx_graph import Graph, Value

onnx = pytest.importorskip("onnx", reason="needs isinglearn[onnx]")


def ran(graph, run, result, **feeds):
    """A graph of our own, with the given arrays as inputs."""
    kind = onnx.TensorProto.DOUBLE if graph.double else onnx.TensorProto.FLOAT
    info = onnx.helper.make_tensor_value_info
    graph.rename(result, "result")
    proto = onnx.helper.make_model(
        onnx.helper.make_graph(
            graph.nodes,
            "test",
            [info(name, kind, ["n"]) for name in feeds],
            [info("result", kind, ["n"])],
            graph.constants,
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    (found,) = run(proto, {name: values.astype(graph.kind) for name, values in feeds.items()})
    return found.astype(np.int64)


@runners
@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
def test_quotients_are_exact_up_to_the_limit(double, run):
    graph, rng = Graph(double=double), np.random.default_rng(0)
    limit = 1 << graph.digits
    half = graph.digits // 2
    # Just below, at and just above multiples, large by small, small by large, and like by like.
    divisor = np.concatenate([rng.integers(1, 1 << bits, 3000) for bits in (2, half, half + 1, 23)])
    times = (limit - 2 * divisor) // divisor
    times = np.where(rng.random(len(times)) < 0.5, times, rng.integers(0, times + 1))
    value = times * divisor + rng.integers(-1, 2, len(divisor))
    value = np.where(rng.random(len(value)) < 0.5, value, -value)
    largest = int(np.abs(value).max()), int(divisor.max())
    names = Value("a", min(largest[0], limit - largest[1])), Value("b", largest[1])
    found = ran(graph, run, graph.floor_divide(*names), a=value, b=divisor)
    np.testing.assert_array_equal(found, value // divisor)


@runners
@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
def test_roots_are_exact_up_to_the_limit(double, run):
    graph, rng = Graph(double=double), np.random.default_rng(0)
    most = 1 << graph.digits // 2
    roots = np.concatenate([[1, 2, most - 1, most], rng.integers(1, most, 5000)])
    value = np.concatenate([roots[roots < most] ** 2, roots**2 - 1])
    found = ran(graph, run, graph.root(Value("a", int(value.max()))), a=value)
    expected = np.concatenate([roots[roots < most], roots - 1])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(OverflowRefused):
        graph.root(Value("a", most * most))
