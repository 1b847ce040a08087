"""Samples of an input: --input NAME=@FILE.npz."""

import json

import numpy
from onnx import parser
from tool import run_mpopt


def test_filters_see_how_neighbours_of_a_sample_vary(tmp_path):
    """Integral images of one deviation: those of noise stay small, those of smooth pictures overflow."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 128, 128] x) => (float[1, 128, 128] y) <int64 down = {1}, int64 right = {2}> {
      rows = CumSum (x, down)
      y = CumSum (rows, right)
    }"""
    file = tmp_path / "m.onnx"
    file.write_bytes(parser.parse_model(text).SerializeToString())
    noise = 30 * numpy.random.default_rng(0).standard_normal((8, 1, 128, 128)).astype(numpy.float32)
    waves = numpy.sin(numpy.linspace(0, 3, 128, dtype=numpy.float32))
    smooth = 30 * numpy.broadcast_to(waves[:, None] * waves, (8, 1, 128, 128))
    status = {}
    for name, values in (("noise", noise), ("smooth", smooth - smooth.mean() + 6)):
        numpy.savez(tmp_path / f"{name}.npz", x=values)
        done = run_mpopt("--check", file, "--precision", "fp16", "--input", f"x=@{tmp_path / name}.npz", "--format", "json")
        status[name] = [finding["rule"] for finding in json.loads(done.stdout)["findings"] if finding["severity"] == "error"]
    assert "MP201" not in status["noise"]
    assert "MP201" in status["smooth"]
