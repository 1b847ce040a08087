"""A large channel that no output reads has no part in its error, however the others are cut out."""

import json

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper
from tool import run_mpopt

CUTS = {
    "split": lambda n: helper.make_node("Split", ["h"], ["unused", "c"], axis=2, num_outputs=2),
    "slice": lambda n: helper.make_node("Slice", ["h", "half", "end", "axis"], ["c"]),
    "gather": lambda n: helper.make_node("Gather", ["h", "numbers"], ["c"], axis=2),
}


@pytest.mark.parametrize("channels", [64, 256])
@pytest.mark.parametrize("cut", CUTS)
def test_a_large_channel_that_is_cut_off(cut, channels, tmp_path):
    rng = numpy.random.default_rng(0)
    w, v = (rng.normal(0, size[0] ** -0.5, size).astype(numpy.float32) for size in ((channels, channels), (channels // 2, 32)))
    w[:, 5] *= 6000
    half = channels // 2
    weights = {"w": w, "v": v, "half": numpy.array([half]), "end": numpy.array([channels]), "axis": numpy.array([2]),
               "numbers": numpy.arange(half, channels)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), CUTS[cut](channels), helper.make_node("MatMul", ["c", "v"], ["y"])]
    path = tmp_path / "cut.onnx"
    onnx.save(helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 32, channels])], [helper.make_tensor_value_info("y", 1, [1, 32, 32])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()]),
        opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    run = run_mpopt("--check", path, "--precision", "fp16", "--format", "json", "--input", "x~0,1")
    assert run.returncode == 0, run.stdout
    # As without that channel: rounding x, w, h, v and y.
    assert json.loads(run.stdout)["effects"][0]["expected_error"] < 0.002
