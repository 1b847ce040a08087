"""`--diff` of two quantised files: scales, zero points and excluded ops, the worst by effect first."""

from __future__ import annotations

import json

import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import QuantType
from quantized_networks import make_network, quantize
from tool import run_mpopt


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    network, *paths = (folder / f"{name}.onnx" for name in ("net", "right", "small", "excluded"))
    make_network(network)
    for path, how in zip(paths, ({}, {"factor": 0.1}, {"nodes_to_exclude": ["gemm1"]}), strict=True):
        quantize(network, path, weight_type=QuantType.QInt8, per_channel=True, **how)
    return network, *paths


def compare(a, b, form: str = "json") -> str:
    done = run_mpopt("--diff", str(a), str(b), "--format", form, "--fail-on", "never", "--dim", "N=16", "--input", "x~0,1",
                     "--input", "x=-10:10")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_scales(files):
    _, right, small, _ = files
    diff = json.loads(compare(right, small))
    first = diff["codes"][0]
    assert first["tensor"] == "x" and first["a"]["scale"][1] == pytest.approx(10 * first["b"]["scale"][1], rel=0.01)
    assert first["b"]["expected_error"] > 20 * first["a"]["expected_error"]
    scales = {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(small).graph.initializer}
    assert first["b"]["scale"][0] == pytest.approx(float(scales["x_scale"])) and first["b"]["codes"] == "i8"
    # Weights have the same codes in both.
    assert not [entry for entry in diff["codes"] if entry["tensor"].endswith("_quantized") and entry["tensor"].startswith("w")]
    assert diff["left_out"] == diff["taken_in"] == []
    text = compare(right, small, "text")
    assert "codes that changed" in text and "x: i8 of scale" in text


def test_exclusion(files):
    _, right, _, excluded = files
    diff = json.loads(compare(right, excluded))
    assert [pair["a"]["name"] for pair in diff["left_out"]] == ["gemm1"] and diff["taken_in"] == []
    gone = {entry["tensor"] for entry in diff["codes"] if entry["b"] is None}
    assert "w1_quantized" in gone and "w0_quantized" not in gone
    back = json.loads(compare(excluded, right))
    assert [pair["a"]["name"] for pair in back["taken_in"]] == ["gemm1"]


def test_same(files):
    _, right, _, _ = files
    diff = json.loads(compare(right, right))
    assert diff["codes"] == diff["left_out"] == []


def test_float_model(files):
    network, right, _, _ = files
    assert json.loads(compare(network, right))["codes"] == []
