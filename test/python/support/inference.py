"""What mpopt infers of ONNX models, and how it compares with the truth.

Models are stripped of what their files declare about computed values, so that every
dtype and shape compared is one that mpopt found itself.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt


Shape = list[int] | None
DTYPES = {
    TensorProto.FLOAT: "f32", TensorProto.UINT8: "ui8", TensorProto.INT8: "i8",
    TensorProto.UINT16: "ui16", TensorProto.INT16: "i16", TensorProto.INT32: "i32",
    TensorProto.INT64: "i64", TensorProto.STRING: "string", TensorProto.BOOL: "i1",
    TensorProto.FLOAT16: "f16", TensorProto.DOUBLE: "f64", TensorProto.UINT32: "ui32",
    TensorProto.UINT64: "ui64", TensorProto.COMPLEX64: "complex<f32>",
    TensorProto.COMPLEX128: "complex<f64>", TensorProto.BFLOAT16: "bf16",
    TensorProto.FLOAT8E4M3FN: "f8E4M3FN", TensorProto.FLOAT8E4M3FNUZ: "f8E4M3FNUZ",
    TensorProto.FLOAT8E5M2: "f8E5M2", TensorProto.FLOAT8E5M2FNUZ: "f8E5M2FNUZ",
    TensorProto.FLOAT8E8M0: "f8E8M0FNU", TensorProto.FLOAT4E2M1: "f4E2M1FN",
    TensorProto.UINT4: "ui4", TensorProto.INT4: "i4", TensorProto.UINT2: "ui2",
    TensorProto.INT2: "i2",
}


@dataclass
class Inferred:
    """One run of mpopt --check."""

    status: int
    error: str
    tensors: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    ops: int = 0
    unmodelled: dict[str, int] = field(default_factory=dict)


def infer(model: onnx.ModelProto) -> Inferred:
    with tempfile.TemporaryDirectory() as folder:
        file, ranges = Path(folder, "model.onnx"), Path(folder, "ranges.json")
        file.write_bytes(model.SerializeToString())
        run = run_mpopt("--check", file, "--precision", "as-is", "--format", "json",
                        "--dump-ranges", ranges)
        result = Inferred(run.returncode, run.stderr.strip())
        if run.returncode in (0, 1):
            result.tensors = {name: (tensor["dtype"], tensor["shape"])
                              for name, tensor in json.loads(ranges.read_text())["tensors"].items()}
            coverage = json.loads(run.stdout)["coverage"]
            result.ops, result.unmodelled = coverage["ops"], coverage["unmodelled"]
        return result


def infer_all(models: Iterable[onnx.ModelProto]) -> list[Inferred]:
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(infer, models))


def strip_declarations(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy that says nothing about the types of computed values."""
    stripped = onnx.ModelProto()
    stripped.CopyFrom(model)
    del stripped.graph.value_info[:]
    known = {value.name for value in [*model.graph.input, *model.graph.initializer]}
    for output in stripped.graph.output:
        if output.name not in known:
            output.ClearField("type")
    return stripped


def bind_inputs(model: onnx.ModelProto, values: dict[str, np.ndarray]) -> onnx.ModelProto:
    """A copy in which these inputs are initializers."""
    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    kept = [value for value in bound.graph.input if value.name not in values]
    del bound.graph.input[:]
    bound.graph.input.extend(kept)
    bound.graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in values.items())
    return bound


def read_type(value: onnx.ValueInfoProto) -> tuple[str, Shape]:
    """The dtype and shape of a declared tensor, -1 for an open dim."""
    tensor = value.type.tensor_type
    shape = None
    if tensor.HasField("shape"):
        shape = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
    return DTYPES[tensor.elem_type], shape


def disagreement(result: Inferred, name: str, dtype: str, shape: Shape, *,
                 exact: bool = False) -> str:
    """Why what was inferred is wrong; empty if it is not.

    Dims that `shape` leaves open may be anything. With `exact` mpopt must know what
    `shape` knows, otherwise it may leave a dim or the rank open.
    """
    if name not in result.tensors:
        return f"{name}: not in the dump"
    actual_dtype, actual = result.tensors[name]
    text = f"{name}: inferred {actual_dtype}{actual}, is {dtype}{shape}"
    if actual_dtype != dtype:
        return text
    if actual is None or shape is None:
        return text if exact and shape is not None else ""
    if len(actual) != len(shape):
        return text
    for left, right in zip(actual, shape):
        if right >= 0 and left != right and (left >= 0 or exact):
            return text
    return ""


def make_model(nodes, inputs, outputs, opset: int = 0, initializers=(), domains=()) -> onnx.ModelProto:
    """`inputs` are value infos; `outputs` names."""
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=name) for name in outputs],
                              initializers)
    opsets = [helper.make_opsetid("", opset or onnx.defs.onnx_opset_version())]
    opsets += [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
