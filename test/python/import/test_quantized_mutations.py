"""Quantised models whose scales, zero points, types, axes and blocks are wrong, or whose bytes are: --check ends with status
0, 1 or 2, in time, and says what keeps it from judging, a line each. MPOPT_MUTATIONS=500 runs as many."""

from __future__ import annotations

import os
import random
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_mutations import mutate
from tool import MPOPT

COUNT = int(os.environ.get("MPOPT_MUTATIONS", "40"))
TARGETS = ["gpu-tensorcore", "ort-cpu-avx2", "openvino-gpu", "int32-sum"]
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float16]
ODD = [0.0, -1.0, 1e-42, 1e38, float("nan"), float("inf"), 1e-3]


def make_model() -> onnx.ModelProto:
    """A convolution with a pair in front, a product at run time, one of 4-bit blocks and an FP8 pair."""
    draw = np.random.default_rng(2)
    f8 = helper.make_tensor("f8_zero", TensorProto.FLOAT8E4M3FN, [], [0.0])
    values = {
        "s": np.float32(0.02), "z": np.uint8(128), "w": draw.integers(-127, 127, (4, 3, 3, 3)).astype("i1"),
        "ws": draw.uniform(0.001, 0.01, 4).astype("f4"), "wz": np.zeros(4, "i1"), "b": draw.integers(-999, 999, 4).astype("i4"),
        "bs": np.full(4, 1e-4, "f4"), "shape": np.array([2, -1], "i8"), "dw": draw.integers(-127, 127, (64, 8)).astype("i1"),
        "dz": np.int8(0), "ds": np.float32(0.01), "n": draw.integers(0, 255, (8, 1, 8)).astype("u1"), "ns": np.full(8, 0.1, "f4"),
        "fs": np.float32(0.01), "bw": draw.integers(-127, 127, (16, 8)).astype("i1"), "bws": np.full((2, 8), 0.01, "f4")}
    node = helper.make_node
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], "write"), node("DequantizeLinear", ["q", "s", "z"], ["a"], "read"),
        node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], "weight", axis=0),
        node("DequantizeLinear", ["b", "bs"], ["bd"], "bias", axis=0),
        node("Conv", ["a", "wd", "bd"], ["c"], "conv"), node("Relu", ["c"], ["r"], "relu"),
        node("QuantizeLinear", ["r", "fs", "f8_zero"], ["f8"], "narrow"), node("DequantizeLinear", ["f8", "fs"], ["f"], "wide"),
        node("Reshape", ["f", "shape"], ["m"], "view"),
        node("DynamicQuantizeLinear", ["m"], ["dq", "dscale", "dzero"], "dynamic"),
        node("MatMulInteger", ["dq", "dw", "dzero", "dz"], ["i"], "integer"),
        node("Cast", ["i"], ["if"], "cast", to=1), node("Mul", ["dscale", "ds"], ["both"], "scales"),
        node("Mul", ["if", "both"], ["p"], "scaled"), node("Concat", ["p", "p"], ["pp"], "join", axis=1),
        node("MatMulNBits", ["pp", "n", "ns"], ["o"], "blocks", domain="com.microsoft", K=16, N=8, bits=4, block_size=16),
        node("DequantizeLinear", ["bw", "bws"], ["bwd"], "block", axis=0, block_size=8),
        node("MatMul", ["pp", "bwd"], ["o2"], "product"), node("Add", ["o", "o2"], ["y"], "sum")]
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()] + [f8])
    return helper.make_model(graph, ir_version=10, opset_imports=[
        helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)])


def damage(model: onnx.ModelProto, rng: random.Random) -> None:
    """One wrong fact of a quantised file."""
    graph = model.graph
    tensor = rng.choice([t for t in graph.initializer if t.data_type != TensorProto.FLOAT8E4M3FN])
    node = rng.choice(graph.node)
    values = numpy_helper.to_array(tensor)
    kind = rng.randrange(8)
    if kind == 0:  # a number
        values = values.copy().astype(values.dtype)
        with np.errstate(all="ignore"):
            values.reshape(-1)[rng.randrange(values.size)] = np.float64(rng.choice(ODD)).astype(values.dtype)
    elif kind == 1:  # a type
        with np.errstate(all="ignore"):
            values = values.astype(rng.choice(TYPES))
    elif kind == 2:  # a count
        values = np.resize(values, rng.choice([(), (0,), (1,), (3,), (5, 2), (2, 8), (1 << 12,)]))
    elif kind == 3 and node.attribute:  # an attribute
        attribute = rng.choice(node.attribute)
        attribute.i = rng.choice([-9, -1, 0, 1, 2, 7, 1 << 40, -(1 << 63)])
    elif kind == 4:  # an operand that is missing, or another one
        at = rng.randrange(len(node.input))
        node.input[at] = rng.choice([""] + [name for other in graph.node for name in other.input])
    elif kind == 5:
        del node.input[-1]
    elif kind == 6:
        graph.node.remove(node)
    else:
        node.op_type = rng.choice(["QuantizeLinear", "DequantizeLinear", "MatMulInteger", "ConvInteger", "QLinearMatMul"])
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(values), tensor.name))


@pytest.mark.parametrize("seed", range(-1, COUNT))
def test_damaged(seed, tmp_path):
    rng = random.Random(seed)
    model = make_model()
    for _ in range(rng.randint(1, 3) if seed >= 0 else 0):
        damage(model, rng)
    data = model.SerializeToString()
    if seed >= 0 and seed % 4 == 3:
        data = mutate(data, rng)
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    run = subprocess.run([MPOPT, "--check", path, "--fail-on", "never", "--target", rng.choice(TARGETS),
                          "--min-certainty", "possible"], capture_output=True, timeout=60)
    error = run.stderr.decode(errors="replace")
    assert run.returncode in (0, 2), (seed, error)
    assert seed >= 0 or run.returncode == 0, error
    assert "internal error" not in error, (seed, error)
    lines = error.splitlines()
    assert all(line.startswith("mpopt: ") for line in lines), (seed, error)
    assert any(line.startswith("mpopt: error:") for line in lines) == (run.returncode == 2), (seed, error)
