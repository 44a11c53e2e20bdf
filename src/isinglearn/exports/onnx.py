"""A trained network as an ONNX model, which computes exactly what the network computes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isinglearn import __version__
from isinglearn.errors import MissingPackage, NetworkError, OverflowRefused
from isinglearn.exports.onnx_graph import Graph, Value
from isinglearn.model import Model
from isinglearn.problem.exports.files import replacing

if TYPE_CHECKING:
    import onnx

# Read by runtimes since 2022; nothing newer is needed.
OPSET, IR_VERSION = 17, 8


def to_onnx(model: Model, path: str | os.PathLike[str] | None = None) -> onnx.ModelProto:
    """Turn a model into an ONNX model, and write it to ``path`` if one is given.

    Input ``X``: int64, (samples, features), or (samples, channels, rows, columns) for images. Outputs:
    ``outputs``, float64, (samples, outputs), equal to ``model.outputs(X)``; ``prediction``, int64,
    (samples,), equal to ``model.predict(X)``. Equal means ``==``, for inputs in ``[-2^B, 2^B]`` (the model's
    metadata has ``largest_input``), on whatever computes by IEEE 754; reduced precision (TF32, Winograd or
    fast-math kernels) gives this up.

    Inside it computes with whole numbers in float32 where all stay below ``2^24``, else in float64 below
    ``2^53``; beyond that it refuses.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingPackage(
            "this needs a package that is not installed here",
            where="to_onnx",
            rule="the package onnx",
            received=str(error),
            remedy="pip install 'isinglearn[onnx]'",
        ) from error
    if not isinstance(model, Model):
        raise NetworkError(
            "this is no model",
            where="to_onnx(model)",
            rule="an isinglearn.Model",
            received=repr(model),
            remedy="isinglearn.Model(network, parameters) is one",
        )
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
    kind = TensorProto.DOUBLE if double else TensorProto.FLOAT
    values = graph.node("Cast", "X", largest=model.largest_input, to=kind)
    numerators = graph.flat(network.to_onnx(graph, model.parameters, values))
    _outputs(graph, numerators, network.output_scale)
    _prediction(graph, numerators, network.out_features)

    info, shape = helper.make_tensor_value_info, ["samples", *network.input_shape]
    inputs = [info("X", TensorProto.INT64, shape)]
    outputs = [
        info("outputs", TensorProto.DOUBLE, ["samples", network.out_features]),
        info("prediction", TensorProto.INT64, ["samples"]),
    ]
    proto = helper.make_model(
        helper.make_graph(graph.nodes, "isinglearn", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="isinglearn",
        producer_version=__version__,
    )
    helper.set_model_props(proto, {"largest_input": str(model.largest_input)})
    return proto


def _outputs(graph: Graph, numerators: Value, scale: int) -> None:
    """Numerators over the scale of the outputs, one rounding, the same as that of NumPy."""
    from onnx import TensorProto

    wide = graph.node("Cast", numerators, largest=numerators.largest, to=TensorProto.DOUBLE)
    divisor = graph.tensor(np.array(float(scale)))
    graph.rename(graph.node("Div", wide, divisor, largest=numerators.largest), "outputs")


def _prediction(graph: Graph, numerators: Value, width: int) -> None:
    """The sign of a single output, or which of several is the largest."""
    if width > 1:
        found = graph.node("ArgMax", numerators, largest=0, axis=1, keepdims=0)
    else:
        plus, minus = (Value(graph.integers(sign), 1) for sign in (1, -1))
        signs = graph.choose(numerators, plus, minus)
        found = graph.node("Squeeze", signs, graph.integers(1), largest=1)
    graph.rename(found, "prediction")
