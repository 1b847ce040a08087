"""A small float network, what ONNX Runtime's quantisers make of it, the error of that by running both, and mpopt's report."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from tool import run_mpopt

WIDTH, BATCHES = 64, 6
#: The tolerance of an estimate of one run's largest error.
FACTOR = 4


class Batches(CalibrationDataReader):
    def __init__(self, factor: float = 1.0):
        random = np.random.default_rng(7)
        self.rest = iter([{"x": (factor * random.normal(0, 1, (16, WIDTH))).astype("f4")} for _ in range(16)])

    def get_next(self):
        return next(self.rest, None)


def make_network(path, outlier: float = 1.0, divided: bool = False) -> None:
    """Three layers of 64 with a residual sum; `outlier`: one channel of the first weight times as much; `divided`:
    the second layer takes the factor away again, and the columns of the input are unlike."""
    random = np.random.default_rng(1)
    weights, nodes, x = [], [], "x"
    if divided:
        weights.append(numpy_helper.from_array(np.geomspace(0.1, 10, WIDTH).astype("f4"), "spread"))
        nodes.append(helper.make_node("Mul", ["x", "spread"], ["scaled"], "mul"))
        x = "scaled"
    for layer in range(3):
        w = random.normal(0, WIDTH ** -0.5, (WIDTH, WIDTH)).astype("f4")
        if layer == 0:
            w[:, 5] *= outlier
        if layer == 1 and divided:
            w[5] /= outlier
        weights += [numpy_helper.from_array(w, f"w{layer}"),
                    numpy_helper.from_array(random.normal(0, 0.1, WIDTH).astype("f4"), f"b{layer}")]
        nodes.append(helper.make_node("Gemm", [x, f"w{layer}", f"b{layer}"], [f"h{layer}"], f"gemm{layer}"))
        x = f"h{layer}"
        if layer < 2:
            nodes.append(helper.make_node("Relu", [x], [f"r{layer}"], f"relu{layer}"))
            x = f"r{layer}"
    nodes.append(helper.make_node("Add", [x, "h1" if divided else "r0"], ["y"], "sum"))
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", WIDTH])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def run(path) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(3)
    return [session.run(None, {"x": random.normal(0, 1, (16, WIDTH)).astype("f4")})[0] for _ in range(BATCHES)]


def measure(floats, codes) -> float:
    exact, seen = np.stack(run(floats)), np.stack(run(codes))
    return float(np.abs(seen - exact).max() / np.abs(exact).max())


def judge(path, *more) -> dict:
    size = () if "--dim" in more else ("--dim", "N=16")
    done = run_mpopt("--check", str(path), "--format", "json", "--fail-on", "never", *size,
                     "--input", "x~0,1", "--input", "x=-10:10", *more)
    return json.loads(done.stdout)


def quantize(source, target, **how):
    quantize_static(source, target, Batches(how.pop("factor", 1.0)), **how)
