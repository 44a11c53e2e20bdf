"""Two independent programs that run ONNX models."""

import os

import pytest

# Before it is imported: it reports home otherwise.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def in_reference(proto, feeds):
    reference = pytest.importorskip("onnx.reference", reason="needs isinglearn[onnx]")
    return reference.ReferenceEvaluator(proto).run(None, feeds)


def in_runtime(proto, feeds):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = runtime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


RUNNERS = {"reference": in_reference, "runtime": in_runtime}
runners = pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS)
