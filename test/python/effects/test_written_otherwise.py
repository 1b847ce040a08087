"""The same network, written as other exporters write it, has about the same expected errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt


class Graph:
    def __init__(self, x: list[int], opset: int = 17):
        self.nodes, self.weights, self.opset = [], [], opset
        self.inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)]

    def weight(self, values, dtype=np.float32) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def model(self, output: str) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "g", self.inputs,
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def run(self, output: str, x: np.ndarray) -> np.ndarray:
        session = onnxruntime.InferenceSession(self.model(output).SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        return session.run(None, {"x": x})[0]


def expected_error(graph: Graph, output: str, folder: Path) -> float | None:
    path, report = folder / "model.onnx", folder / "report.json"
    path.write_bytes(graph.model(output).SerializeToString())
    run = run_mpopt("--check", path, "--precision", "fp16", "--input", "x=-6:6", "--input", "x~0,1", "--fail-on", "never",
                    "--format", "json", "-o", report)
    assert run.returncode == 0, run.stderr
    return json.loads(report.read_text())["effects"][0]["expected_error"]


def gated(fold: bool, blocks: int = 3, channels: int = 640) -> tuple[Graph, str]:
    """Depthwise convolutions with norms whose statistics are those of a run, and gates of channels."""
    random = np.random.default_rng(1)
    graph = Graph([1, 32, 7, 7])
    x = random.normal(size=(16, 32, 7, 7)).astype(np.float32)
    graph.inputs[0].type.tensor_type.shape.dim[0].Clear()

    def conv(value: str, weights: np.ndarray, group: int) -> str:
        pads = [weights.shape[-1] // 2] * 4
        plain = graph.add("Conv", value, graph.weight(weights), group=group, pads=pads)
        seen = graph.run(plain, x)
        mean, variance = seen.mean((0, 2, 3)), seen.var((0, 2, 3))
        if not fold:
            ones = np.ones_like(mean)
            return graph.add("BatchNormalization", plain, graph.weight(ones), graph.weight(0 * ones),
                             graph.weight(mean), graph.weight(variance))
        graph.nodes.pop()
        graph.weights.pop()
        factor = 1 / np.sqrt(variance + 1e-5)
        return graph.add("Conv", value, graph.weight(weights * factor[:, None, None, None]),
                         graph.weight(-mean * factor), group=group, pads=pads)

    def silu(value: str) -> str:
        return graph.add("Mul", value, graph.add("Sigmoid", value))

    y = "x"
    for _ in range(blocks):
        # Filters of one channel differ much in size, and so do the statistics behind them.
        wide = silu(conv(y, random.normal(0, 0.2, (channels, 32, 1, 1)), 1))
        wide = silu(conv(wide, random.normal(0, 0.05, (channels, 1, 3, 3)), channels))
        mean = graph.add("GlobalAveragePool", wide)
        narrow = silu(graph.add("Conv", mean, graph.weight(random.normal(0, 0.2, (16, channels, 1, 1)))))
        gate = graph.add("Sigmoid", graph.add("Conv", narrow, graph.weight(random.normal(0, 0.2, (channels, 16, 1, 1)))))
        y = graph.add("Add", y, conv(graph.add("Mul", wide, gate), random.normal(0, 0.1, (32, channels, 1, 1)), 1))
    graph.inputs[0].type.tensor_type.shape.dim[0].dim_value = 1
    return graph, y


def test_norms_that_are_folded(tmp_path):
    errors = [expected_error(*gated(fold), tmp_path) for fold in (True, False)]
    assert max(errors) < 2 * min(errors), errors


def test_norms_that_nobody_trained(tmp_path):
    """Of a mean of 0 and a variance of 1 in all channels nothing follows: all of these values become 0."""
    random = np.random.default_rng(2)
    graph, y = Graph([1, 16, 8, 8]), "x"
    for _ in range(4):
        y = graph.add("Conv", y, graph.weight(random.normal(0, 1e-3, (16, 16, 3, 3))), pads=[1] * 4)
        y = graph.add("BatchNormalization", y, *(graph.weight(np.full(16, v)) for v in (1, 0, 0, 1)))
    assert expected_error(graph, y, tmp_path) > 0.5


@pytest.mark.parametrize("shapes", [[], [[64, 4]], [[64, 4], [1, 64, 1, 4]]])
def test_filters_of_another_shape(tmp_path, shapes):
    """A filter that is kept in another shape is known all the same."""
    def build(shapes) -> tuple[Graph, str]:
        random = np.random.default_rng(3)
        graph = Graph([1, 64, 32])
        weights = random.normal(0, 1, (64, 1, 4)) * 10.0 ** random.uniform(-3, 0, (64, 1, 1))
        kept = graph.weight(weights)
        for shape in shapes:
            kept = graph.add("Reshape", kept, graph.weight(shape, np.int64))
        if shapes:
            kept = graph.add("Reshape", kept, graph.weight([64, 1, 4], np.int64))
        y = graph.add("Conv", "x", kept, group=64, pads=[3, 0])
        return graph, graph.add("Mul", y, graph.weight(1 / np.abs(weights).sum(2)[None]))

    plain, other = (expected_error(*build(s), tmp_path) for s in ([], shapes))
    assert 0.99 * plain < other < 1.01 * plain, (plain, other)


@pytest.mark.parametrize("masked", [False, True])
def test_scores_with_a_bias(tmp_path, masked):
    """What is added to the scores of fused attention is rounded, too: as by a product of its own."""
    def build(fused: bool) -> tuple[Graph, str]:
        random = np.random.default_rng(4)
        graph = Graph([1, 4, 16, 32], opset=23)
        query, key, value = (graph.add("MatMul", "x", graph.weight(random.normal(0, 0.18, (32, 32)))) for _ in range(3))
        # A table of distances, as T5 has.
        table = graph.add("Mul", graph.weight(random.normal(0, 1, (4, 16, 16))), graph.weight(2.0))
        bias = graph.add("Reshape", table, graph.weight([1, 4, 16, 16], np.int64))
        if masked:
            seen = numpy_helper.from_array(np.tril(np.ones((1, 1, 16, 16), bool)), "seen")
            graph.weights.append(seen)
            bias = graph.add("Where", "seen", bias, graph.weight(np.finfo(np.float32).min))
        if fused:
            return graph, graph.add("Attention", query, key, value, bias, scale=0.25)
        scores = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
        scores = graph.add("Add", graph.add("Mul", scores, graph.weight(0.25)), bias)
        return graph, graph.add("MatMul", graph.add("Softmax", scores, axis=-1), value)

    written, fused = (expected_error(*build(f), tmp_path) for f in (False, True))
    assert written is not None and fused is not None
    assert max(written, fused) < 2.5 * min(written, fused), (written, fused)


def test_filters_that_are_standardised(tmp_path):
    """Filters that a graph scales, as nets without norms do, against the same ones stored; more channels than are told apart."""
    def build(stored: bool) -> tuple[Graph, str]:
        random = np.random.default_rng(5)
        graph, y, width = Graph([1, 16, 8, 8]), "x", 16
        for channels in (1536, 16):
            weights = random.normal(0, 0.3, (channels, width, 1, 1))
            scaled = weights / weights.std((1, 2, 3), keepdims=True) * width ** -0.5
            bias = graph.weight(random.normal(0, 0.1, channels))
            if stored:
                y = graph.add("Conv", y, graph.weight(scaled), bias)
            else:
                kept = graph.weight(weights)
                mean = graph.add("ReduceMean", kept, axes=[1, 2, 3])
                own = graph.add("Sub", kept, mean)
                variance = graph.add("ReduceMean", graph.add("Mul", own, own), axes=[1, 2, 3])
                norm = graph.add("Div", own, graph.add("Sqrt", graph.add("Add", variance, graph.weight(1e-6))))
                y = graph.add("Conv", y, graph.add("Mul", norm, graph.weight(width ** -0.5)), bias)
            width, y = channels, graph.add("Relu", y)
        return graph, y

    stored, scaled = (expected_error(*build(s), tmp_path) for s in (True, False))
    assert stored is not None and scaled is not None
    assert max(stored, scaled) < 3 * min(stored, scaled), (stored, scaled)
