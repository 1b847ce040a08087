"""Bounds of a product with weights that a converter limits, by the vector loops and one by one."""

import json

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper
from tool import run_mpopt

# The defaults of convert_np_to_float16: the least and the greatest magnitude.
LIMITS = {"onnxconverter-common-float16": (1e-7, 1e4), "onnxruntime-float16": (5.96e-8, 65504.0)}


def limited(weights, least, most):
    """As convert_np_to_float16 writes them."""
    sizes = numpy.clip(numpy.abs(weights), numpy.float32(least), numpy.float32(most))
    return numpy.where(weights == 0, 0, numpy.sign(weights) * sizes).astype(numpy.float16).astype(float)


@pytest.mark.parametrize("rows", [8, 128])
@pytest.mark.parametrize("policy", LIMITS)
def test_bounds_are_those_of_what_is_written(policy, rows, tmp_path):
    weights = numpy.random.default_rng(0).standard_normal((rows, 64)).astype(numpy.float32)
    weights[3, :5], weights[5, :5], weights[6], weights[7, 0] = 5e4, -7e4, 1e-9, 0
    path = tmp_path / "product.onnx"
    onnx.save(helper.make_model(helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", 1, [1, rows])], [helper.make_tensor_value_info("y", 1, [1, 64])],
        [numpy_helper.from_array(weights, "w")]), opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    run = run_mpopt("--check", path, "--precision", "fp16", "--policy", policy, "--input", "x=0:1", "--fail-on", "never",
                    "--dump-ranges", tmp_path / "ranges.json")
    assert run.returncode == 0, run.stderr
    bound = json.loads((tmp_path / "ranges.json").read_text())["tensors"]["y"]
    written = limited(weights, *LIMITS[policy])
    least, most = numpy.minimum(written, 0).sum(0).min(), numpy.maximum(written, 0).sum(0).max()
    assert bound["lo"] <= least and bound["lo"] == pytest.approx(least, rel=1e-3)
    assert bound["hi"] >= most and bound["hi"] == pytest.approx(most, rel=1e-3)
