"""A trained network as an ONNX model, which computes exactly what the network computes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isinglearn import __version__
from isinglearn.errors import OverflowRefused
from isinglearn.exports.checks import check_exportable
from isinglearn.exports.onnx_graph import Graph, Value
from isinglearn.model import Model
from isinglearn.model.quantiser import Quantiser
from isinglearn.nn.module import Shape
from isinglearn.problem.exports.files import replacing

if TYPE_CHECKING:
    import onnx

# Read by runtimes since 2022; nothing newer is needed.
OPSET, IR_VERSION = 17, 8


def to_onnx(model: Model, path: str | os.PathLike[str] | None = None) -> onnx.ModelProto:
    """Turn a model into an ONNX model, and write it to ``path`` if one is given.

    Input ``X``: (samples, features), or (samples, channels, rows, columns) for images; int64, or, where the
    model has a quantiser, real features in float64. Outputs: ``outputs``, float64, (samples, outputs), equal
    to ``model.outputs(X)``; ``prediction``, (samples,), equal to ``model.predict(X)``: int64, the sign or the
    index of the largest output; with ``classes`` always an index into them; with ``target_range`` a float64
    number of it.

    Equal means ``==``, on whatever computes by IEEE 754, for whole inputs in ``[-2^B, 2^B]`` and for all real
    ones; reduced precision (TF32, Winograd or fast-math kernels) gives this up. A graph refuses nothing: what
    it makes of NaN or of larger whole numbers means nothing.

    The metadata has ``largest_input``, the ``2^B``, where inputs are whole numbers, and as JSON lists the
    names of ``classes`` and ``features``, where the model has them.

    Inside it computes with whole numbers in float32 where all stay below ``2^24``, else in float64 below
    ``2^53``; beyond that it refuses.
    """
    check_exportable(model, "onnx")
    import onnx

    try:
        proto = _written(model, double=False)
    except OverflowRefused:
        proto = _written(model, double=True)
    onnx.checker.check_model(proto, full_check=True)
    if path is not None:
        with replacing(Path(path)) as file:
            file.write(proto.SerializeToString(deterministic=True))
    return proto


def _written(model: Model, *, double: bool) -> onnx.ModelProto:
    """The whole model, computing in one of the two floating types."""
    from onnx import TensorProto, helper

    network, graph = model.network, Graph(double=double)
    whole = Value("X", model.largest_input)
    if model.quantiser is not None:
        whole = _quantised(graph, model.quantiser, network.input_shape)
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    values = graph.node("Cast", whole, largest=whole.largest, to=kind)
    numerators = graph.flat(network.to_onnx(graph, model.parameters, values))
    outputs = _outputs(graph, numerators, network.output_scale)
    graph.rename(_prediction(graph, model, numerators, outputs), "prediction")

    info, shape = helper.make_tensor_value_info, ["samples", *network.input_shape]
    real, number = model.quantiser is not None, model.target_range is not None
    proto = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "isinglearn",
            [info("X", TensorProto.DOUBLE if real else TensorProto.INT64, shape)],
            [
                info("outputs", TensorProto.DOUBLE, ["samples", network.out_features]),
                info("prediction", TensorProto.DOUBLE if number else TensorProto.INT64, shape[:1]),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="isinglearn",
        producer_version=__version__,
    )
    helper.set_model_props(proto, _metadata(model))
    return proto


def _metadata(model: Model) -> dict[str, str]:
    """What a reader of the file cannot see in the graph."""
    known = {} if model.quantiser else {"largest_input": str(model.largest_input)}
    for name in ("classes", "features"):
        if getattr(model, name) is not None:
            known[name] = json.dumps(getattr(model, name))
    return known


def _quantised(graph: Graph, quantiser: Quantiser, shape: Shape) -> Value:
    """Real features as whole numbers, by the operations of the quantiser in float64."""
    graph.scope = "quantiser/"
    # ONNX Runtime leaves out the difference with, or the quotient by, a single number that is 0 or 1 in
    # float32, whatever it is in float64; so a single feature is computed twice.
    copies = 2 if quantiser.low.size == 1 else 1
    low, high, factor, start, span = (
        graph.reals(np.repeat(numbers, copies).reshape(*shape[:-1], -1))
        for numbers in quantiser.steps
    )
    zero, one, two = map(graph.reals, (0.0, 1.0, 2.0))
    clipped = graph.real("Min", graph.real("Max", "X", low), high)
    ahead = graph.real("Sub", graph.real("Mul", factor, clipped), start)
    unit = graph.real("Min", graph.real("Max", graph.real("Div", ahead, span), zero), one)
    around = graph.real("Sub", graph.real("Mul", two, unit), one)
    largest = 1 << quantiser.bits
    scaled = graph.real("Mul", around, graph.reals(float(largest)))
    # To the even one of two that are as near, as NumPy rounds.
    whole = graph.node("Round", scaled, largest=largest)
    if copies > 1:
        whole = graph.node("Gather", whole, graph.integers(0), largest=largest, axis=-1)
    graph.scope = ""
    return whole


def _outputs(graph: Graph, numerators: Value, scale: int) -> Value:
    """Numerators over the scale of the outputs, one rounding, the same as that of NumPy."""
    from onnx import TensorProto

    wide = graph.node("Cast", numerators, largest=numerators.largest, to=TensorProto.DOUBLE)
    outputs = graph.node("Div", wide, graph.reals(scale), largest=numerators.largest)
    graph.rename(outputs, "outputs")
    return outputs


def _prediction(graph: Graph, model: Model, numerators: Value, outputs: Value) -> Value:
    """What ``model.predict`` gives, with the index of a class for its name."""
    if model.target_range is not None:
        return _in_range(graph, outputs, *model.target_range)
    if model.network.out_features > 1:
        return graph.node("ArgMax", numerators, largest=0, axis=1, keepdims=0)
    below = -1 if model.classes is None else 0
    chosen = graph.choose(numerators, *(Value(graph.integers(n), 1) for n in (1, below)))
    return graph.node("Squeeze", chosen, graph.integers(1), largest=1)


def _in_range(graph: Graph, outputs: Value, low: float, high: float) -> Value:
    """Outputs from -1 to 1 as numbers from ``low`` to ``high``, by the operations of ``model.predict``."""
    one, two = map(graph.reals, (1.0, 2.0))
    share = graph.real("Div", graph.real("Add", outputs, one), two)
    shares = graph.node("Concat", graph.real("Sub", one, share), share, largest=0, axis=1)
    # Both ends in one constant, for the reason above.
    parts = graph.real("Mul", shares, graph.reals([low, high]))
    return graph.node("ReduceSum", parts, graph.integers(1), largest=0, keepdims=0)
