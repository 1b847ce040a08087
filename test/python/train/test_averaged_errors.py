"""The gradient of what attention averages: all positions of a sample have nearly one error, so that the sum over them, the bias's gradient, is as far
off as the sum of the errors, in FP8 as PyTorch rounds."""

import json

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from tool import run_mpopt  # noqa: E402

BATCH, POSITIONS, WIDTH = 4, 64, 48


def rounded(values, dtype):
    scale = values.abs().max() / torch.finfo(dtype).max
    return (values / scale).to(dtype).float() * scale


@pytest.mark.parametrize("spread", [0.1, 1.0])  # of the scores: probabilities are nearly even, or not
def test_bias_of_averaged_values(tmp_path, spread):
    draw = numpy.random.default_rng(3).normal
    held = {"v.weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH)), "v.bias": draw(0, 0.1, WIDTH), "out.weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH))}
    nodes = [helper.make_node("MatMul", ["x", "v.weight"], ["u"]), helper.make_node("Add", ["u", "v.bias"], ["v"]),
             helper.make_node("Softmax", ["s"], ["p"], axis=-1), helper.make_node("MatMul", ["p", "v"], ["o"]),
             helper.make_node("MatMul", ["o", "out.weight"], ["y"])]
    shape = [BATCH, POSITIONS, WIDTH]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
                                           helper.make_tensor_value_info("s", TensorProto.FLOAT, [BATCH, POSITIONS, POSITIONS])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
                              [numpy_helper.from_array(w.astype("f4"), name) for name, w in held.items()])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    done = run_mpopt("--check", tmp_path / "m.onnx", "--train", "--precision", "fp8:current", "--loss", "mse:y", "--input", f"s~0,{spread}",
                     "--input", "x~0,1", "--format", "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    said = {g["parameter"]: g["expected_error"] for g in json.loads(done.stdout)["training"]["gradients"]}["v.bias"]

    weights = {name: torch.tensor(w, dtype=torch.float32) for name, w in held.items()}
    errors = []
    for seed in range(4):
        torch.manual_seed(seed)
        x, t = torch.randn(shape), torch.randn(shape)
        p = torch.softmax(spread * torch.randn(BATCH, POSITIONS, POSITIONS), -1)
        y = p @ (x @ weights["v.weight"] + weights["v.bias"]) @ weights["out.weight"]
        exact = (y - t) @ weights["out.weight"].T
        stored = rounded(y - t, torch.float8_e5m2) @ rounded(weights["out.weight"], torch.float8_e4m3fn).T
        sums = [(p.mT @ gradient).sum((0, 1)) for gradient in (exact, stored)]
        errors.append(float((sums[1] - sums[0]).norm() / sums[0].norm()))
    true = float(numpy.mean(errors))
    assert true / 2 < said < true * 2, (said, errors)
