"""Effects of models whose dims are open: what depends on a size is said with one that fits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt


class Graph:
    def __init__(self):
        self.random, self.nodes, self.weights = np.random.default_rng(3), [], []

    def weight(self, values, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def normal(self, *shape, std=0.2):
        return self.weight(self.random.normal(0, std, shape))

    def add(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def save(self, inputs, result, file):
        infos = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        model = helper.make_model(helper.make_graph(self.nodes, "g", infos, [output], self.weights),
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, file)


def attention(g: Graph):
    """Scores with a mask that is made of integers, as exporters write it."""
    q, k, v = (g.add("MatMul", "x", g.normal(16, 16)) for _ in range(3))
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1]))
    kept = g.add("Unsqueeze", g.add("Cast", "mask", to=TensorProto.FLOAT), g.weight([1], np.int64))
    mask = g.add("Mul", g.add("Sub", g.weight(1.0), kept), g.weight(-10000.0))
    y = g.add("MatMul", g.add("Softmax", g.add("Add", scores, mask), axis=-1), v)
    return [("x", TensorProto.FLOAT, ["batch", "length", 16]), ("mask", TensorProto.INT64, ["batch", "length"])], y


def averages(g: Graph):
    """Heights and widths that a view merges."""
    x = g.add("Relu", g.add("Conv", "x", g.normal(8, 3, 3, 3), pads=[1] * 4))
    x = g.add("Reshape", x, g.weight([0, 8, -1], np.int64))
    scores = g.add("Softmax", g.add("MatMul", x, g.add("Transpose", x, perm=[0, 2, 1])), axis=-1)
    return [("x", TensorProto.FLOAT, ["N", 3, "height", "width"])], g.add("MatMul", scores, x)


def long_filters(g: Graph):
    """Frames of 400 samples: 64 of them make none."""
    x = g.add("Conv", "x", g.normal(16, 1, 400), strides=[160])
    scores = g.add("MatMul", g.add("Transpose", x, perm=[0, 2, 1]), x)
    return [("x", TensorProto.FLOAT, [1, 1, "samples"])], g.add("MatMul", x, g.add("Softmax", scores, axis=-1))


def effects_of(file: Path, *more: str):
    result = run_mpopt("--check", file, "--precision", "fp16", "--format", "json", *more)
    assert result.returncode in (0, 1), result.stderr
    [effect] = json.loads(result.stdout)["effects"]
    return effect


CASES = {"attention": (attention, {"batch": 1, "length": 64}),
         "averages": (averages, {"N": 1, "height": 64, "width": 64}),
         "long_filters": (long_filters, {"samples": 1024})}


@pytest.mark.parametrize("name", CASES)
def test_an_assumed_size_says_what_that_size_does(name: str, tmp_path: Path):
    build, sizes = CASES[name]
    graph, file = Graph(), tmp_path / "model.onnx"
    inputs, result = build(graph)
    graph.save(inputs, result, file)
    effect = effects_of(file)
    assert effect["expected_error"] is not None and effect["assumed_dims"] == sizes, effect
    given = effects_of(file, *[option for dim, size in sizes.items() for option in ("--dim", f"{dim}={size}")])
    assert "assumed_dims" not in given
    for key in ("expected_error", "expected_rms"):
        assert effect[key] == pytest.approx(given[key], rel=0.05), (effect, given)
    assert [tensor["tensor"] for tensor in effect["tensors"]] == [tensor["tensor"] for tensor in given["tensors"]]
    text = run_mpopt("--check", file, "--precision", "fp16").stdout
    said = ", ".join(f"{dim} {size}" for dim, size in sizes.items() if size != 1)
    assert f"%, with {said}: " in text, text


def test_nothing_is_assumed_where_sizes_do_not_matter(tmp_path: Path):
    graph, file = Graph(), tmp_path / "model.onnx"
    y = graph.add("Relu", graph.add("MatMul", "x", graph.normal(16, 8)))
    graph.save([("x", TensorProto.FLOAT, ["batch", "length", 16])], y, file)
    effect = effects_of(file)
    assert effect["expected_error"] is not None and "assumed_dims" not in effect, effect


def test_findings_are_judged_with_it(tmp_path: Path):
    """A cancellation behind attention loses the output: an error that names its tensor."""
    graph, file = Graph(), tmp_path / "model.onnx"
    inputs, y = attention(graph)
    large = graph.weight(8192.0)
    graph.save(inputs, graph.add("Sub", graph.add("Add", y, large), large), file)
    result = run_mpopt("--check", file, "--precision", "fp16", "--format", "json")
    report = json.loads(result.stdout)
    assert result.returncode == 1 and report["effects"][0]["expected_error"] > 0.25, report["effects"]
    loud = [finding for finding in report["findings"] if finding["severity"] == "error"]
    assert loud and all(finding["effect"]["expected_error"] > 0.25 for finding in loud), report["findings"]
