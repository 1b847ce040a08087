"""The effect of storage in FP16 or BF16 on ONNX text, by ONNX Runtime."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy
import onnx
import onnxruntime
import storage
from evaluations import EVALUATIONS, Errors, Extremes, draw
from onnx import TensorProto
from table import Input, Model

# Tensors of a network whose extremes are kept.
WATCHED = 12
ELEMENTS = {"fp16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}


def session(model: onnx.ModelProto, names: list[str]):
    """A session of ONNX Runtime that fuses nothing, with these tensors as outputs."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])


def feeds(model: Model, proto: onnx.ModelProto) -> Iterator[dict[str, numpy.ndarray]]:
    random = numpy.random.RandomState(model.seed + 1)
    weights = {tensor.name for tensor in proto.graph.initializer}
    for _ in range(EVALUATIONS):
        feed = {}
        for value in proto.graph.input:
            if value.name in weights:
                continue
            tensor = value.type.tensor_type
            shape = tuple(dim.dim_value for dim in tensor.shape.dim)
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            feed[value.name] = draw(model.inputs.get(value.name, Input()), shape, dtype, random)
        yield feed


def watched_tensors(stored: onnx.ModelProto, outputs: list[str]) -> list[str]:
    """Results of nodes before they are rounded: evenly spread, outputs among them."""
    floats = [name for node in stored.graph.node for name in node.output if name.endswith(".computed")]
    spread = floats[:: math.ceil(len(floats) / WATCHED)]
    return list(dict.fromkeys(spread + [f"{name}.computed" for name in outputs if f"{name}.computed" in floats]))


def measure_network(model: Model, row: str) -> dict:
    """Errors of outputs and extremes of tensors under storage in the row's format."""
    proto = model.proto()
    stored = storage.with_storage(model.proto(model.kernels), element=ELEMENTS[row])
    outputs = [output.name for output in proto.graph.output]
    computed = {f"{name}.computed" for node in proto.graph.node for name in node.output}
    watched = [name for name in watched_tensors(stored, outputs) if name in computed]
    exact, rounded = session(proto, outputs), session(stored, outputs + watched)
    errors, extremes = {name: Errors() for name in outputs}, Extremes()
    for feed in feeds(model, proto):
        results = dict(zip(outputs + watched, rounded.run(None, feed)))
        for name, values in zip(outputs, exact.run(None, feed)):
            if values.dtype == numpy.float32:
                errors[name].see(values, results[name])
        for name in watched:
            extremes.see(name.removesuffix(".computed"), results[name])
    return {"outputs": {name: found.summary() for name, found in errors.items() if found.seen},
            "extremes": extremes.summary()}
