"""Products whose operands are stored with scales, against the same network with operands that are rounded: E4M3 by
ml_dtypes, integers by ONNX Runtime's quantiser. Scales that are said to be proved are tried on corners of the box."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import InferenceSession
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from tool import run_mpopt

WIDTH, BATCHES = 64, 6
#: The tolerance of an estimate of one run's largest error.
FACTOR = 3
INPUT = ["--input", "x=-8:8", "--input", "x~0,1", "--dim", "N=16"]
LAST = 448.0


def make_network(path, outlier: float = 1.0) -> None:
    """Three layers and a residual sum; `outlier`: one column of the first weight times as much."""
    random = np.random.default_rng(1)
    weights, nodes, x = [], [], "x"
    for layer in range(3):
        w = random.normal(0, WIDTH ** -0.5, (WIDTH, WIDTH)).astype("f4")
        w[:, 5] *= outlier if layer == 0 else 1
        weights += [numpy_helper.from_array(w, f"w{layer}"), numpy_helper.from_array(np.full(WIDTH, 0.1, "f4"), f"b{layer}")]
        nodes.append(helper.make_node("Gemm", [x, f"w{layer}", f"b{layer}"], [f"h{layer}"], f"gemm{layer}"))
        if layer < 2:
            x = f"r{layer}"
            nodes.append(helper.make_node("Relu", [f"h{layer}"], [x], f"relu{layer}"))
    nodes.append(helper.make_node("Add", ["h2", "r0"], ["y"], "sum"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", WIDTH])  # noqa: E731
    graph = helper.make_graph(nodes, "net", [value("x")], [value("y")], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def draw(seed: int, count: int = BATCHES) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.normal(0, 1, (16, WIDTH)).astype("f4") for _ in range(count)]


class Batches(CalibrationDataReader):
    def __init__(self):
        self.rest = iter(draw(7, 32))

    def get_next(self):
        return next(({"x": x} for x in self.rest), None)


def run(path) -> list[np.ndarray]:
    session = InferenceSession(path, providers=["CPUExecutionProvider"])
    return [session.run(None, {"x": x})[0] for x in draw(3)]


def check(tmp_path, model, *options: str) -> dict:
    report = tmp_path / "report.json"
    run_mpopt("--check", model, *INPUT, "--format", "json", "-o", report, "--fail-on", "never", *options)
    return json.loads(report.read_text())


def to_codes(x: np.ndarray, scale) -> np.ndarray:
    """What E4M3 makes of x / scale, saturating, times scale."""
    codes = np.clip(x / scale, -LAST, LAST).astype(ml_dtypes.float8_e4m3fn)
    return codes.astype(np.float32) * scale


class Network:
    """The network of test_quantization with operands in E4M3: by `scales` of tensors, else by their own magnitude."""

    def __init__(self, path, scales: dict | None = None, exact: bool = False):
        self.weights = {w.name: numpy_helper.to_array(w) for w in onnx.load(path).graph.initializer}
        self.scales, self.exact, self.reached = scales or {}, exact, {}

    def read(self, name: str, x: np.ndarray, axis=None) -> np.ndarray:
        if self.exact:
            return x
        scale = self.scales.get(name, {}).get("scale")
        if scale is None:
            scale = np.abs(x).max(axis=axis, keepdims=axis is not None) / LAST
        scale = np.asarray(scale, np.float32)
        self.reached[name] = max(self.reached.get(name, 0.0), float((np.abs(x) / (LAST * scale)).max()))
        return to_codes(x, scale)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        name, kept = "x", None
        for layer in range(3):
            w = self.weights[f"w{layer}"]
            x = self.read(name, x) @ self.read(f"w{layer}", w) + self.weights[f"b{layer}"]
            if layer < 2:
                x, name = np.maximum(x, 0), f"r{layer}"
                kept = x if kept is None else kept
        return x + kept


def error_of(path, network: Network) -> float:
    exact = Network(path, exact=True)
    pairs = [(exact(x), network(x)) for x in draw(3)]
    square = sum(np.square(a - b).sum() for a, b in pairs)
    return float(np.sqrt(square / sum(np.square(a).sum() for a, _ in pairs)))


def test_error_of_floats(tmp_path):
    make_network(tmp_path / "float.onnx")
    report = check(tmp_path, tmp_path / "float.onnx", "--precision", "fp8-e4m3:dynamic")
    measured = error_of(tmp_path / "float.onnx", Network(tmp_path / "float.onnx"))
    assert report["effects"][0]["expected_rms"] == pytest.approx(measured, rel=0.5)
    # Two operands of 31.5 dB each.
    assert [g["snr_db"] for g in report["fp8"]["gemms"]] == pytest.approx([28.5] * 3, abs=1)
    assert report["fp8"]["recommended"]["recipe"] == "tensor"
    assert report["fp8"]["recommended"]["keep"] == []


def test_flushed_weights(tmp_path):
    """Of one scale for all: a column that is 2^17 times larger makes 0 of the others."""
    make_network(tmp_path / "wide.onnx", outlier=2.0 ** 17)
    shares = {}
    for recipe in ("tensor", "row"):
        report = check(tmp_path, tmp_path / "wide.onnx", "--precision", f"fp8-e4m3:{recipe}")
        shares[recipe] = report["fp8"]["gemms"][0]["operands"][1]["flushed"]
    weight = Network(tmp_path / "wide.onnx", exact=True).weights["w0"]
    read = to_codes(weight, np.abs(weight).max() / LAST)
    assert shares["tensor"] == pytest.approx(np.mean(read == 0), abs=1e-9)
    assert shares["row"] == 0


def test_proved_scales(tmp_path):
    """No element passes the last number at any corner of the box, in the network as it runs with those scales."""
    path = tmp_path / "float.onnx"
    make_network(path)
    run_mpopt(path, "--scales", tmp_path / "scales.json", "--precision", "fp8-e4m3", "--fail-on", "never", *INPUT)
    content = json.loads((tmp_path / "scales.json").read_text())
    assert (content["schema"], content["precision"]) == ("mpopt-scales/1", "fp8-e4m3")
    scales = content["tensors"]
    proved = {name for name, row in scales.items() if row["certainty"] == "proved"}
    assert {"x", "r0"} <= proved
    network = Network(path, scales)
    random = np.random.default_rng(5)
    first = network.weights["w0"]
    for column in range(WIDTH):  # corners that make an element of r0 as large as it can be
        network(8 * np.sign(first[:, column]).astype("f4")[None])
    for _ in range(50):
        network(random.choice([-8.0, 8.0], (16, WIDTH)).astype("f4"))
    assert max(network.reached[name] for name in proved) <= 1 + 1e-6
    # Headroom costs next to nothing of what spans less than the format.
    assert error_of(path, Network(path, scales)) <= 1.3 * error_of(path, Network(path))


def test_headroom(tmp_path):
    make_network(tmp_path / "float.onnx")
    scales = {}
    for options in ((), ("--headroom", "2"), ("--powers-of-two",)):
        run_mpopt(tmp_path / "float.onnx", "--scales", tmp_path / "s.json", "--precision", "fp8-e4m3", "--fail-on",
                  "never", *INPUT, *options)
        scales[options[:1]] = json.loads((tmp_path / "s.json").read_text())["tensors"]["r0"]["scale"]
    plain, wide, power = scales.values()
    assert wide == pytest.approx(4 * plain)
    assert plain <= power < 2 * plain and np.log2(power) == round(np.log2(power))


def test_readiness_for_integers(tmp_path):
    make_network(tmp_path / "float.onnx")
    report = check(tmp_path, tmp_path / "float.onnx", "--precision", "int8", "--keep-fp32", str(tmp_path / "keep.json"))
    quantize_static(tmp_path / "float.onnx", tmp_path / "int8.onnx", Batches(), quant_format=QuantFormat.QDQ,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True,
                    op_types_to_quantize=["Gemm"])
    exact, read = run(tmp_path / "float.onnx"), run(tmp_path / "int8.onnx")
    measured = max(np.abs(a - b).max() for a, b in zip(exact, read)) / max(np.abs(a).max() for a in exact)
    expected = report["effects"][0]["expected_error"]
    assert measured / FACTOR <= expected <= measured * FACTOR
    errors = [row["expected_error"] for row in report["sensitivity"]]
    assert {row["op"] for row in report["sensitivity"]} == {"gemm0", "gemm1", "gemm2"}
    assert errors == sorted(errors, reverse=True) and 0 < errors[-1]
    # Squares add up: the list leaves an error that is below the aim of 1 %.
    kept = {op["name"] for op in json.loads((tmp_path / "keep.json").read_text())["ops"]}
    left = [row["expected_error"] for row in report["sensitivity"] if row["op"] not in kept]
    assert kept and sum(e * e for e in left) ** 0.5 <= 0.01


def test_aim(tmp_path):
    """A stricter aim keeps more products."""
    make_network(tmp_path / "float.onnx")
    counts = []
    for aim in ("0.9", "0.02", "0.001"):
        report = check(tmp_path, tmp_path / "float.onnx", "--precision", "fp8-e4m3", "--max-error", aim)
        counts.append(len(report["fp8"]["recommended"]["keep"]))
    assert counts[0] == 0 and counts[2] == 3 and counts == sorted(counts)
