"""The expected error of an output against runs of ONNX Runtime with every rounding put in:
weights, inputs and the result of each node are rounded to FP16, ops compute in FP32."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from rounded_model import rounded
from tool import run_mpopt

BATCH = 8
NETWORKS = {}


def network(build):
    NETWORKS[build.__name__] = build
    return build


class Graph:
    """Nodes one after another; `add` returns the name of the first result."""

    def __init__(self, seed: int = 0):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.opset = [], [], 17

    def weight(self, *shape, std=None, values=None):
        if values is None:
            std = std if std is not None else (shape[0] if len(shape) == 2 else np.prod(shape[1:])) ** -0.5
            values = self.random.normal(0, std, shape)
        return self.constant(values, np.float32)

    def constant(self, values, dtype):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def number(self, value):
        return self.weight(values=value)

    def integers(self, *values):
        """A list of several, a scalar of one."""
        return self.constant(values if len(values) > 1 else values[0], np.int64)

    def add(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, x, into, out, **how):
        return self.add("Add", self.add("MatMul", x, self.weight(into, out, **how)), self.weight(out, std=0.1))

    def norm(self, x, width):
        return self.add("LayerNormalization", x, self.weight(values=np.ones(width)), self.weight(width, std=0.1))

    def model(self, shape, result):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        return helper.make_model(helper.make_graph(self.nodes, "g", [x], [y], self.weights),
                                 opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8 if self.opset < 20 else 10)


@network
def mlp(g):
    x = g.add("Relu", g.linear("x", 32, 64))
    x = g.add("Relu", g.linear(x, 64, 64))
    return [BATCH, 32], g.linear(x, 64, 10)


@network
def residual(g):
    x = g.linear("x", 32, 48)
    for _ in range(4):
        x = g.add("Add", x, g.linear(g.add("Relu", g.linear(g.norm(x, 48), 48, 96)), 96, 48))
    return [BATCH, 32], g.norm(x, 48)


@network
def convolutions(g):
    x = "x"
    for into, out in ((3, 16), (16, 16), (16, 24)):
        x = g.add("Conv", x, g.weight(out, into, 3, 3), g.weight(out, std=0.1), pads=[1, 1, 1, 1])
        x = g.add("Relu", x)
    return [BATCH, 3, 16, 16], g.add("GlobalAveragePool", x)


@network
def attention(g):
    q, k, v = (g.linear("x", 32, 32) for _ in range(3))
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1]))
    scores = g.add("Mul", scores, g.number(32 ** -0.5))
    return [BATCH, 12, 32], g.add("Add", "x", g.add("MatMul", g.add("Softmax", scores, axis=-1), v))


def online_softmax(g, steps: int):
    """A weighted mean that is kept from step to step, beside the largest exponent so far: numerator,
    denominator, maximum."""
    keys, values = g.linear("x", 32, 16 * steps), g.linear("x", 32, 16 * steps)
    key, value = (g.add("Split", x, g.integers(*[16] * steps), axis=-1) for x in (keys, values))
    for node, name in ((g.nodes[-2], key), (g.nodes[-1], value)):
        node.output[:] = [f"{name}.{step}" for step in range(steps)]
    maximum, numerator, denominator = f"{key}.0", f"{value}.0", g.weight(values=np.ones(16))
    decay = g.weight(values=g.random.uniform(-1, 0, 16))
    for step in range(1, steps):
        kept = g.add("Add", maximum, decay)
        maximum = g.add("Max", kept, f"{key}.{step}")
        old = g.add("Exp", g.add("Sub", kept, maximum))
        new = g.add("Exp", g.add("Sub", f"{key}.{step}", maximum))
        numerator = g.add("Add", g.add("Mul", old, numerator), g.add("Mul", new, f"{value}.{step}"))
        denominator = g.add("Add", g.add("Mul", old, denominator), new)
    return numerator, denominator, maximum


@network
def linear_recurrence(g):
    numerator, denominator, _ = online_softmax(g, 16)
    return [BATCH, 32], g.linear(g.add("Div", numerator, denominator), 16, 10)


@network
def log_of_recurrence(g):
    _, denominator, maximum = online_softmax(g, 8)
    return [BATCH, 32], g.add("Add", g.add("Log", denominator), maximum)


@network
def maximum_of_recurrence(g):
    numerator, denominator, maximum = online_softmax(g, 2)
    return [BATCH, 32], g.add("Add", g.add("Div", numerator, denominator), maximum)


def fused(g, query_heads: int, key_heads: int, **attributes):
    """Attention in one op, its heads side by side in the last dim."""
    g.opset = 23
    q = g.linear("x", 32, 8 * query_heads, std=0.5)
    k, v = (g.linear("x", 32, 8 * key_heads, std=0.5) for _ in range(2))
    y = g.add("Attention", q, k, v, q_num_heads=query_heads, kv_num_heads=key_heads, **attributes)
    return [BATCH, 12, 32], g.linear(y, 8 * query_heads, 16)


@network
def fused_attention(g):
    return fused(g, 4, 4)


@network
def shared_keys(g):
    return fused(g, 4, 1, is_causal=1)


@network
def capped_scores(g):
    return fused(g, 4, 4, softcap=2.0)


@network
def spectrogram(g):
    x = g.add("Reshape", "x", g.integers(BATCH, 400, 1))
    window = g.weight(values=np.hanning(64))
    x = g.add("STFT", x, g.integers(16), window, g.integers(64))
    x = g.add("ReduceSumSquare", x, axes=[-1], keepdims=0)
    return [BATCH, 400], g.linear(g.add("Relu", g.linear(x, 33, 32)), 32, 16)


@network
def mixing_by_transforms(g):
    x = g.norm(g.linear("x", 32, 32), 32)
    y = g.add("Reshape", x, g.integers(BATCH, 12, 32, 1))
    g.opset = 20
    for axis in (2, 1):
        y = g.add("DFT", y, "", g.integers(axis))
    y = g.add("Gather", y, g.integers(0), axis=-1)
    x = g.norm(g.add("Add", x, y), 32)
    return [BATCH, 12, 32], g.linear(x, 32, 10)


@network
def gelu_written_out(g):
    x = g.linear("x", 32, 64, std=3.0)
    erf = g.add("Erf", g.add("Div", x, g.number(2 ** 0.5)))
    x = g.add("Mul", g.add("Mul", x, g.add("Add", erf, g.number(1.0))), g.number(0.5))
    return [BATCH, 32], g.linear(x, 64, 10)


@network
def cancellation(g):
    large = g.number(512.0)
    x = g.add("Sub", g.add("Add", g.linear("x", 32, 32), large), large)
    return [BATCH, 32], g.linear(x, 32, 10)


@network
def tiny_weights(g):
    x = g.add("MatMul", "x", g.weight(32, 32, std=2e-7))
    return [BATCH, 32], g.add("Mul", x, g.number(1024.0))


@network
def shared_scale(g):
    x = g.add("Mul", g.linear("x", 32, 32), g.number(0.1))
    return [BATCH, 32], g.add("Exp", g.add("Mul", x, g.number(3.3)))


@network
def resized(g):
    x = g.add("Relu", g.add("Conv", "x", g.weight(8, 3, 3, 3), pads=[1, 1, 1, 1]))
    x = g.add("Resize", x, "", g.number([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
              coordinate_transformation_mode="asymmetric")
    x = g.add("Relu", g.add("Conv", x, g.weight(8, 8, 3, 3), pads=[1, 1, 1, 1]))
    x = g.add("Resize", x, "", g.number([1, 1, 2, 2]), mode="linear")
    return [BATCH, 3, 8, 8], g.add("Conv", x, g.weight(4, 8, 3, 3), pads=[1, 1, 1, 1])


@network
def shrunk(g):
    x = g.add("Relu", g.add("Conv", "x", g.weight(8, 3, 3, 3), pads=[1, 1, 1, 1]))
    x = g.add("Resize", x, "", g.number([1, 1, 0.25, 0.5]), mode="linear")
    return [BATCH, 3, 16, 16], g.add("GlobalAveragePool", x)


@network
def reflected(g):
    x = g.linear("x", 16, 16)
    x = g.add("Pad", x, g.integers(0, 0, 5, 0, 0, 5), mode="reflect")
    return [BATCH, 4, 16], g.add("Tanh", g.linear(x, 26, 10))


@network
def detector(g):
    """Boxes in pixels beside scores: errors of few columns decide."""
    x = g.add("Relu", g.linear("x", 32, 64))
    boxes = g.add("Mul", g.add("Sigmoid", g.linear(x, 64, 4)), g.number(320.0))
    scores = g.add("Sigmoid", g.linear(x, 64, 60))
    return [BATCH, 32], g.add("Concat", boxes, scores, axis=-1)


@network
def limits_that_do_not_bind(g):
    x = "x"
    for _ in range(4):
        x = g.add("Max", g.add("Sigmoid", g.linear(x, 32, 32)), g.weight(values=[[-0.4]]))
        x = g.add("Min", x, g.number(7.0), g.number(6.0))
    return [BATCH, 32], x


@network
def hard_swishes_written_out(g):
    """Most arguments lie about the minimum, where the slopes of both factors cancel."""
    x = "x"
    for _ in range(5):
        x = g.add("Sub", g.linear(x, 32, 32, std=0.1), g.number(1.4))
        gate = g.add("Clip", g.add("Add", x, g.number(3.0)), g.number(0.0), g.number(6.0))
        x = g.add("Div", g.add("Mul", x, gate), g.number(6.0))
    return [BATCH, 32], g.linear(x, 32, 10)


@network
def norms_by_pooling(g):
    """Moments of rows by GlobalAveragePool, as tf2onnx writes them."""
    x = "x"
    for _ in range(3):
        x = g.linear(x, 32, 32)
        off = g.add("Sub", x, g.add("GlobalAveragePool", x))
        variance = g.add("GlobalAveragePool", g.add("Mul", off, off))
        root = g.add("Sqrt", g.add("Add", variance, g.number(1e-6)))
        x = g.add("Mul", off, g.add("Reciprocal", root))
    return [2, BATCH, 32], g.linear(x, 32, 10)


@network
def channels_of_their_own(g):
    """Filters of single channels, small ones enlarged behind them."""
    sizes = np.exp(g.random.normal(0, 2, (24, 1, 1)))
    x = g.add("Conv", "x", g.weight(24, 3, 1, 1), pads=[0, 0, 0, 0])
    x = g.add("Mul", g.add("Relu", x), g.weight(values=sizes))
    x = g.add("Conv", x, g.weight(24, 1, 3, 3), group=24, pads=[1, 1, 1, 1])
    return [BATCH, 3, 12, 12], g.add("Mul", x, g.weight(values=1 / sizes))


@network
def norms_of_smooth_channels(g):
    """Running statistics of what is there: some filters take away what neighbours have in common, and errors that
    come from before with it."""
    shape, scale = [BATCH, 3, 6, 6], g.number([1, 1, 4, 4])
    x = g.add("Resize", g.add("Tanh", "x"), "", scale, mode="linear")
    sample = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    into = 3
    for block in range(4):
        x = g.add("Conv", x, g.weight(16, into, 1, 1))
        filters = g.random.normal(0, 0.3, (16, 1, 3, 3))
        filters[::2] -= filters[::2].mean((2, 3), keepdims=True)
        x = g.add("Conv", x, g.weight(values=filters), group=16, pads=[1, 1, 1, 1])
        seen = run(g.model(shape, x), sample)
        mean, variance = seen.mean((0, 2, 3)), seen.var((0, 2, 3))
        x = g.add("BatchNormalization", x, g.weight(values=g.random.uniform(0.7, 1.3, 16)), g.weight(16, std=0.3),
                  g.weight(values=mean), g.weight(values=variance))
        x, into = g.add("Relu", x), 16
    return shape, x


@network
def gates_in_another_order(g):
    """An LSTM whose weights are put in order by ops."""
    def reordered(*shape):
        stacked = g.weight(2, *shape, std=0.3)
        parts = [g.add("Slice", stacked, *(g.constant([at], np.int64) for at in (8 * i, 8 * i + 8, 1)))
                 for i in (0, 3, 1, 2)]
        return g.add("Concat", *parts, axis=1)

    bias = g.add("Concat", reordered(32), reordered(32), axis=1)
    x = g.add("LSTM", "x", reordered(32, 16), reordered(32, 8), bias, hidden_size=8, direction="bidirectional")
    return [12, BATCH, 16], g.add("Identity", x)


def run(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def measure(model: onnx.ModelProto, shape: list[int]) -> tuple[float, float]:
    """Largest error of the largest magnitude, and root mean square of root mean square, over draws."""
    random = np.random.default_rng(7)
    stored, largest, squares = rounded(model), [], []
    for _ in range(6):
        x = np.clip(random.normal(0, 1, shape), -4, 4).astype(np.float32)
        exact, seen = run(model, x), run(stored, x)
        assert np.isfinite(seen).all()
        difference = (seen - exact).astype(np.float64)
        largest.append(np.abs(difference).max() / np.abs(exact).max())
        squares.append((difference ** 2).mean() / (exact.astype(np.float64) ** 2).mean())
    return float(np.median(largest)), float(np.mean(squares)) ** 0.5


def check(file: Path, *more: str) -> dict:
    result = run_mpopt("--check", file, "--precision", "fp16", "--input", "x=-4:4", "--input", "x~0,1",
                       "--format", "json", *more)
    assert result.returncode in (0, 1), result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", NETWORKS)
def test_expected_error_is_what_runs_show(name: str, tmp_path: Path):
    graph = Graph()
    shape, result = NETWORKS[name](graph)
    model = graph.model(shape, result)
    file = tmp_path / "model.onnx"
    onnx.save(model, file)
    [effect] = check(file)["effects"]
    error, rms = measure(model, shape)
    assert effect["output"] == result
    assert error / 4 <= effect["expected_error"] <= error * 4, (effect, error)
    assert rms / 4 <= effect["expected_rms"] <= rms * 4, (effect, rms)


def test_findings_and_exit_status_agree_with_the_sum(tmp_path: Path):
    """Every rounding is small, and together they pass a threshold: one finding says so."""
    graph = Graph()
    shape, result = NETWORKS["cancellation"](graph)
    file = tmp_path / "model.onnx"
    onnx.save(graph.model(shape, result), file)
    report = check(file, "--set", "effect-warning=1e-5")
    loud = [f for f in report["findings"] if f["severity"] != "note"]
    assert loud and report["summary"]["warning"] + report["summary"]["error"] == len(loud)
    arguments = ["--check", file, "--precision", "fp16", "--input", "x=-4:4", "--input", "x~0,1"]
    assert run_mpopt(*arguments, "--set", "effect-warning=1e-5").returncode == 1
    assert run_mpopt(*arguments, "--set", "effect-warning=0.9", "--set", "effect-error=0.95").returncode == 0


def test_a_declared_mask_holds_zero_and_one(tmp_path: Path):
    """Floats of a mask for which 0:1 is declared are exact in FP16; other floats are not."""
    graph = Graph()
    dropped = graph.add("Sub", graph.number(1), "mask")
    scores = graph.add("Sub", graph.linear("x", 16, 16), graph.add("Mul", dropped, graph.number(1e4)))
    model = graph.model([BATCH, 16], graph.add("Softmax", scores, axis=-1))
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, [BATCH, 16]))
    file = tmp_path / "model.onnx"
    onnx.save(model, file)
    [effect] = check(file, "--input", "mask=0:1")["effects"]
    assert effect["expected_error"] < 0.02
    [effect] = check(file, "--input", "mask=0:0.9")["effects"]
    assert effect["expected_error"] > 0.2
