"""Shares of groups of zeros in the operands of layers in FP8: rows that a mask hides, and the first row of causal attention."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

TOKENS, WIDTH = 32, 64


def save(path, nodes, inputs, weights) -> None:
    graph = helper.make_graph([helper.make_node(op, operands, [result], name=result, **attributes) for op, operands, result, attributes in nodes], "net",
                              [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, TOKENS, WIDTH])],
                              [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def layers(path, recipe: str) -> dict:
    done = run_mpopt("--check", path, "--train", "--loss", "sum:y", "--precision", f"fp8:{recipe}", "--input", "x~0,1", "--format", "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    return {layer["output"]: layer for layer in json.loads(done.stdout)["training"]["fp8"]["gemms"]}


X = ("x", TensorProto.FLOAT, [4, TOKENS, WIDTH])


def weight(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, WIDTH ** -0.5, (WIDTH, WIDTH)).astype("f4")


@pytest.mark.parametrize("axes, is_found", [([4, TOKENS, 1], True), ([4, TOKENS, WIDTH], False)])
def test_masked_rows(tmp_path, axes, is_found):
    nodes = [("Cast", ["mask"], "m", {"to": TensorProto.FLOAT}), ("Mul", ["x", "m"], "xm", {}), ("MatMul", ["xm", "a"], "h", {}), ("Relu", ["h"], "r", {}),
             ("MatMul", ["r", "b"], "o", {}), ("Add", ["o", "xm"], "s", {}), ("MatMul", ["s", "c"], "y", {})]
    save(tmp_path / "m.onnx", nodes, [X, ("mask", TensorProto.BOOL, axes)], {"a": weight(1), "b": weight(2), "c": weight(3)})
    found = layers(tmp_path / "m.onnx", "rowwise")
    for output in ("h", "o", "y"):
        assert (found[output]["fprop"]["x"]["zero"] > 0.1) == is_found
        # A channel is not 0 in each of the rows.
        assert found[output]["wgrad"]["x"]["zero"] < 1e-9


def test_a_bias_ends_zeros(tmp_path):
    nodes = [("Cast", ["mask"], "m", {"to": TensorProto.FLOAT}), ("Mul", ["x", "m"], "xm", {}), ("MatMul", ["xm", "a"], "h", {}), ("Add", ["h", "bias"], "r", {}),
             ("MatMul", ["r", "b"], "y", {})]
    save(tmp_path / "m.onnx", nodes, [X, ("mask", TensorProto.BOOL, [4, TOKENS, 1])], {"a": weight(1), "b": weight(2), "bias": weight(3)[0]})
    found = layers(tmp_path / "m.onnx", "rowwise")
    assert found["h"]["fprop"]["x"]["zero"] > 0.1 and found["y"]["fprop"]["x"]["zero"] == 0


@pytest.mark.parametrize("form", ["added", "chosen", "none"])
def test_first_row_of_causal_attention(tmp_path, form):
    """It has one key, of probability 1: the gradient of its query is 0, one row in 32."""
    later = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
    masked = {"added": [("Add", ["scores", "mask"], "z", {})], "chosen": [("Where", ["mask", "least", "scores"], "z", {})],
              "none": [("Identity", ["scores"], "z", {})]}[form]
    nodes = [("MatMul", ["x", "wx"], "h", {}), *(("MatMul", ["h", f"w{name}"], name, {}) for name in "qkv"), ("Transpose", ["k"], "kt", {"perm": [0, 2, 1]}), ("MatMul", ["q", "kt"], "qk", {}),
             ("Mul", ["qk", "eighth"], "scores", {}), *masked, ("Softmax", ["z"], "p", {"axis": -1}), ("MatMul", ["p", "v"], "o", {}), ("MatMul", ["o", "wo"], "y", {})]
    mask = np.where(later, np.float32(-1e9), np.float32(0)) if form == "added" else later
    save(tmp_path / "m.onnx", nodes, [X], {"wx": weight(5), "wq": weight(1), "wk": weight(2), "wv": weight(3), "wo": weight(4), "eighth": np.float32(0.125), "mask": mask,
                                           "least": np.float32(-np.inf)})
    for recipe in ("rowwise", "mxfp8"):
        found = layers(tmp_path / "m.onnx", recipe)
        assert found["q"]["dgrad"]["dy"]["zero"] == pytest.approx(0 if form == "none" else 1 / TOKENS)
        assert found["q"]["wgrad"]["dy"]["zero"] == 0
        assert found["v"]["dgrad"]["dy"]["zero"] == 0
