"""Casts to FP8: those that saturate against numpy's clip, those behind a quantiser that the graph itself computes, and the formats of
other targets, against ml_dtypes and against sums that cut off as tensor cores do."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

FORMATS = {"FLOAT8E4M3FN": ("float8_e4m3fn", 448), "FLOAT8E4M3FNUZ": ("float8_e4m3fnuz", 240),
           "FLOAT8E5M2": ("float8_e5m2", 57344), "FLOAT8E5M2FNUZ": ("float8_e5m2fnuz", 57344)}
ROWS, WIDTH = 16, 64


def save(path, nodes, constants=(), width=WIDTH, out=WIDTH):
    value = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, size])  # noqa: E731
    graph = helper.make_graph(nodes, "net", [value("x", width)], [value("y", out)],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(constants).items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return path


def check(model, *options, bound=1000, mean=0.0, deviation=1.0) -> dict:
    done = run_mpopt("--check", model, "--input", f"x={-bound}:{bound}", "--input", f"x~{mean},{deviation}", "--format", "json",
                     "--fail-on", "never", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def casts(kind: str, saturate: int) -> list:
    return [helper.make_node("Cast", ["x"], ["c"], to=TensorProto.DataType.Value(kind), saturate=saturate),
            helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT)]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("part", [0.1, 0.5, 1.0])
def test_saturating_cast(tmp_path, kind, part):
    """`part`: the deviation, of the largest number."""
    dtype, last = FORMATS[kind]
    deviation = part * last
    report = check(save(tmp_path / "m.onnx", casts(kind, 1)), bound=8 * last, deviation=deviation)
    x = np.random.default_rng(0).normal(0, deviation, 1 << 18)
    stored = np.clip(x, -last, last).astype("f4").astype(getattr(ml_dtypes, dtype)).astype("f8")
    true = np.sqrt(((stored - x) ** 2).mean() / (x ** 2).mean())
    assert report["effects"][0]["expected_rms"] == pytest.approx(true, rel=0.3)
    assert not {"MP211", "MP213"} & {finding["rule"] for finding in report["findings"]}


@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E4M3FNUZ"])
def test_cast_without_saturation(tmp_path, kind):
    report = check(save(tmp_path / "m.onnx", casts(kind, 0)), deviation=FORMATS[kind][1] / 2)
    assert "MP213" in [finding["rule"] for finding in report["findings"]]


#: `m` is the largest magnitude, `q` what is cast.
QUANTISERS = {
    "quotient": [("Clip", "m", "eps", "g"), ("Div", "g", "last", "s"), ("Div", "x", "s", "q")],
    "guard behind": [("Div", "m", "last", "d"), ("Max", "d", "eps", "s"), ("Div", "x", "s", "q")],
    "product": [("Clip", "m", "eps", "g"), ("Div", "last", "g", "s"), ("Mul", "x", "s", "q")],
    "inverse": [("Clip", "m", "eps", "g"), ("Reciprocal", "g", "r"), ("Mul", "r", "last", "s"), ("Mul", "x", "s", "q")],
    "share first": [("Clip", "m", "eps", "g"), ("Div", "x", "g", "p"), ("Mul", "p", "last", "q")],
    "power of two": [("Clip", "m", "eps", "g"), ("Div", "g", "last", "d"), ("Log", "d", "l"), ("Div", "l", "ln2", "w"), ("Ceil", "w", "e"),
                     ("Pow", "two", "e", "s"), ("Div", "x", "s", "q")],
    "inverse of a power": [("Clip", "m", "eps", "g"), ("Div", "g", "last", "d"), ("Log", "d", "l"), ("Mul", "l", "log2e", "w"), ("Ceil", "w", "e"),
                           ("Pow", "two", "e", "s"), ("Reciprocal", "s", "r"), ("Mul", "x", "r", "q")],
    "no guard": [("Div", "m", "last", "s"), ("Div", "x", "s", "q")],
    "choice": [("Div", "m", "last", "d"), ("Equal", "d", "zero", "e"), ("Where", "e", "one", "d", "s"), ("Div", "x", "s", "q")],
    "choice of what is above": [("Div", "m", "last", "d"), ("Greater", "d", "zero", "e"), ("Where", "e", "d", "one", "s"), ("Div", "x", "s", "q")],
    "headroom": [("Clip", "m", "eps", "g"), ("Mul", "g", "room", "d"), ("Div", "d", "last", "s"), ("Div", "x", "s", "q")],
}


@pytest.mark.parametrize("axes", [None, [1]])
@pytest.mark.parametrize("form", QUANTISERS)
def test_quantiser_of_the_graph(tmp_path, form, axes):
    nodes = [helper.make_node("Abs", ["x"], ["a"]),
             helper.make_node("ReduceMax", ["a", "axes"] if axes else ["a"], ["m"], keepdims=1),
             *(helper.make_node(name, operands, [result]) for name, *operands, result in QUANTISERS[form]),
             helper.make_node("Cast", ["q"], ["c"], to=TensorProto.FLOAT8E4M3FN, saturate=0),
             helper.make_node("Cast", ["c"], ["y"], to=TensorProto.FLOAT)]
    constants = {"eps": np.float32(1e-12), "last": np.float32(448), "room": np.float32(2), "one": np.float32(1), "zero": np.float32(0),
                 "two": np.float32(2), "ln2": np.float32(np.log(2)), "log2e": np.float32(1 / np.log(2)), **({"axes": np.asarray(axes)} if axes else {})}
    report = check(save(tmp_path / "m.onnx", nodes, constants), bound=100)
    assert not {"MP211", "MP213"} & {finding["rule"] for finding in report["findings"]}
    assert report["effects"][0]["expected_error"] < 0.2
    # The largest elements overflow at half the magnitude.
    nodes[1].op_type = "ReduceMean"
    report = check(save(tmp_path / "n.onnx", nodes, constants), bound=100)
    assert form == "headroom" or "MP213" in [finding["rule"] for finding in report["findings"]]


def product(path, length: int, mean: float, columns: int = 32):
    """A product of that length, and its weight."""
    w = np.random.default_rng(1).normal(mean, 1, (length, columns)).astype("f4")
    return save(path, [helper.make_node("MatMul", ["x", "w"], ["y"], "mm")], {"w": w}, width=length, out=columns), w


def rounded(values: np.ndarray, dtype, last: float, axis: int) -> np.ndarray:
    scale = np.abs(values).max(axis, keepdims=True) / last
    return (values / scale).astype("f4").astype(dtype).astype("f8") * scale


def add_cutting(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x w as Hopper adds it: 32 products and the sum before them, aligned to the largest and cut off behind 14 digits."""
    total = np.zeros((x.shape[0], w.shape[1]))
    for start in range(0, x.shape[1], 32):
        terms = x[:, start:start + 32, None] * w[None, start:start + 32]
        unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(terms).max(1), np.abs(total)))) - 13)
        total = unit * (np.trunc(terms / unit[:, None]).sum(1) + np.trunc(total / unit))
    return total


@pytest.mark.parametrize("length, mean", [(1 << 16, 0.5), (1 << 14, 0.5), (1 << 14, 0.0)])
def test_accumulator_of_the_target(tmp_path, length, mean):
    model, w = product(tmp_path / "m.onnx", length, mean)
    options = "--precision", "fp8-e4m3:row", "--target"
    errors = {target: check(model, *options, target, bound=8, mean=mean)["effects"][0]["expected_rms"]
              for target in ("hopper", "ada", "blackwell", "gpu-tensorcore")}
    x = np.random.default_rng(2).normal(mean, 1, (ROWS, length))
    codes = [rounded(x, ml_dtypes.float8_e4m3fn, 448, 1), rounded(w, ml_dtypes.float8_e4m3fn, 448, 0)]
    exact = x @ w
    error = lambda y: float(np.sqrt(((y - exact) ** 2).mean() / (exact ** 2).mean()))  # noqa: E731
    assert errors["ada"] == errors["hopper"] and errors["blackwell"] == errors["gpu-tensorcore"]
    # Products of two codes have eight digits, and lose less than others would.
    assert error(add_cutting(*codes)) / 1.25 < errors["hopper"] < 2.2 * error(add_cutting(*codes))
    assert 0.4 < errors["blackwell"] / error(codes[0] @ codes[1]) < 2.5
    # Scales of blocks are multiplied in FP32, each behind 128 products.
    block = check(model, "--precision", "fp8-e4m3:block128", "--target", "hopper", bound=8, mean=mean)
    assert block["effects"][0]["expected_rms"] < max(2 * errors["blackwell"], 0.004)


def test_bound_holds_for_an_accumulator_that_cuts_off(tmp_path):
    """The largest sum of one sign is smaller than in FP32, never larger than its bound."""
    length = 4096
    model, w = product(tmp_path / "m.onnx", length, 0.5)
    ranges = tmp_path / "r.json"
    check(model, "--precision", "fp8-e4m3:row", "--target", "hopper", "--dump-ranges", str(ranges), bound=8)
    known = json.loads(ranges.read_text())["tensors"]["y"]
    for x in (np.full((1, length), 8.0), 8 * np.sign(w[:, :1].T)):
        y = add_cutting(rounded(x, ml_dtypes.float8_e4m3fn, 448, 1), rounded(w, ml_dtypes.float8_e4m3fn, 448, 0))
        assert known["lo"] <= y.min() and y.max() <= known["hi"]


def test_fnuz_of_the_target(tmp_path):
    model, _ = product(tmp_path / "m.onnx", 64, 0)
    scales = {}
    for target in ("hopper", "mi300"):
        path = tmp_path / f"{target}.json"
        report = check(model, "--precision", "fp8-e4m3", "--target", target, "--scales", str(path), bound=8)
        scales[target] = json.loads(path.read_text())["tensors"]["x"]
        assert report["precision"] == {"hopper": "fp8-e4m3:tensor", "mi300": "fp8-e4m3fnuz:tensor"}[target]
    assert scales["mi300"]["scale"] * 240 == pytest.approx(scales["hopper"]["scale"] * 448, rel=1e-6)
    # The same without a target; in blocks of 32, which the device does not have, as ever.
    assert check(model, "--precision", "fp8-e4m3fnuz:row")["precision"] == "fp8-e4m3fnuz:row"
    assert check(model, "--precision", "mxfp8", "--target", "mi300")["precision"] == "fp8-e4m3:mx"


def test_scale_of_what_is_transposed(tmp_path):
    """A cache stores keys as they are made, and the product reads them transposed: one scale, under both names."""
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["y"], "scores")]
    path = tmp_path / "scales.json"
    check(save(tmp_path / "m.onnx", nodes, out=ROWS), "--precision", "fp8-e4m3", "--scales", str(path), bound=8)
    known = json.loads(path.read_text())["tensors"]
    assert list(known) == ["x", "t"] and known["x"]["certainty"] == "proved"
    nodes.insert(0, helper.make_node("Tanh", ["x"], ["k"]))
    nodes[1].input[0] = "k"
    check(save(tmp_path / "n.onnx", nodes, out=ROWS), "--precision", "fp8-e4m3", "--scales", str(path), bound=8)
    known = json.loads(path.read_text())["tensors"]
    assert list(known) == ["x", "t", "k"] and known["k"] == known["t"]


def test_aim_of_a_quantised_file(tmp_path):
    """FP8's rounding passes the 2 % of files, and not the 18 % of float models; the message says which is taken."""
    w = np.random.default_rng(1).normal(0, 0.1, (WIDTH, WIDTH)).astype("f4")
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["c"]), helper.make_node("DequantizeLinear", ["c", "s", "z"], ["q"]),
             helper.make_node("MatMul", ["q", "w"], ["y"])]
    save(tmp_path / "m.onnx", nodes, {"w": w, "s": np.float32(4 / 448), "z": np.zeros((), ml_dtypes.float8_e4m3fn)})
    for options, aim in (((), "(aim: 2 %)"), (("--set", "effect-warning=0.18"), None)):
        found = [f["message"] for f in check(tmp_path / "m.onnx", *options, bound=4)["findings"] if f["rule"] == "MP615"]
        assert (len(found) == 1 and aim in found[0]) if aim else not found
