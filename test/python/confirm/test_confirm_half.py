"""Models that were converted to FP16, from the converter to the verdict: mpopt.half on a
few small ones, and on a zoo where MPOPT_ZOO names one."""

import json
import os
import subprocess
import sys

import mpopt
import numpy
import onnx
import pytest
from mpopt import half
from mpopt.report import STATUSES
from onnx import parser
from tool import ROOT, ZOOS

RUNS = half.RUNS[1:]
HEAD = '<ir_version: 8, opset_import: ["" : 17]>'

# name: (model, magnitude of x, what becomes of the findings on tensors, by run)
MODELS = {
    "overflow": (HEAD + """
        g (float[4, 8] x) => (float[4, 8] y) { p = Mul (x, x)  q = Neg (p)  y = Add (q, x) }""",
                 300, {"fp16": {"p": "confirmed"}, "fp16-saved": {"y": "confirmed"},
                       "fp16-rounded": {"p": "confirmed"}}),
    "no-overflow": (HEAD + """
        g (float[4, 8] x) => (float[4, 8] y) { p = Mul (x, x)  q = Neg (p)  y = Add (q, x) }""",
                    3, {run: {"p": "refuted"} for run in ("fp16", "fp16-rounded")}),
    # e^-18 is 0 in FP16; the runtime hands on what FP32 has.
    "log-of-flushed": (HEAD + """
        g (float[4, 8] x) => (float[4, 8] y) { s = Exp (x)  y = Log (s) }""",
                       18, {"fp16": {"y": "confirmed"}, "fp16-saved": {
                           "InsertedPrecisionFreeCast_y": "refuted"},
                              "fp16-rounded": {"y.stored.computed": "confirmed"}}),
    # Max stays in FP32 between casts.
    "kept": (HEAD + """
        g (float[4, 8] x) => (float[4, 8] y) <float zero = {0}> {
          e = Exp (x)  m = Max (e, zero)  s = ReduceSum (m)  y = Div (m, s) }""",
             20, {"fp16": {"e": "confirmed"}}),
}


def write_model(folder, text):
    onnx.save(parser.parse_model(text), folder / "model.onnx")
    return folder / "model.onnx"


def check(model, arrays, run, inputs, dims=None):
    result = half.confirm_run(model, arrays, run=run, inputs=inputs, dims=dims)
    assert result.exceeded == () and result.outside_assumptions == ()
    assert all(finding.status in STATUSES for finding in result.findings)
    return result


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", MODELS)
def test_converted(name, run, tmp_path):
    text, size, statuses = MODELS[name]
    x = numpy.random.default_rng(0).uniform(-size, size, (3, 4, 8)).astype(numpy.float32)
    x[:, 0, 0], x[:, 0, 1] = -size, size
    result = check(write_model(tmp_path, text), {"x": x}, run,
                   {"x": [mpopt.Normal(0, size), (-1000, 1000)]})
    assert result.findings and result.raw["confirmation"]["comparable"] > 0
    for tensor, status in statuses.get(run, {}).items():
        found = {finding.status for finding in result.by_rule("MP2") if finding.tensor == tensor}
        assert status in found, result.findings


def test_every_rounding_is_put_back(tmp_path):
    """The log of what FP16 stores: -Inf where the runtime's own way gives -18."""
    import onnxruntime

    text, size, _ = MODELS["log-of-flushed"]
    model = write_model(tmp_path, text)
    feed = {"x": numpy.full((4, 8), -size, numpy.float16)}
    results = {}
    for mode in ([], ["--saved"], ["--rounded"]):
        out = tmp_path / f"{mode}.onnx"
        subprocess.run([sys.executable, "-m", "mpopt.half", *mode, model, out], check=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(out, options, providers=["CPUExecutionProvider"])
        results[str(mode)], = session.run(None, feed)
    for result in results.values():
        assert result.dtype == numpy.float16
    for mode in ("[]", "['--saved']"):
        assert (results[mode] == -size).all(), results[mode]
    assert (results["['--rounded']"] == -numpy.inf).all()


def test_box_holds_what_is_fed():
    for value in (0.1, -0.3, 65503.0, 65520.0, -1e9, 1e-9):
        lo, hi = half.round_box(value, value)
        assert lo == hi == float(numpy.float16(numpy.clip(value, -65504, 65504)))


ZOO = sorted(file for zoo in ZOOS for file in zoo.glob("*/truth.json"))


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("truth", ZOO, ids=lambda path: path.parent.name)
def test_zoo(truth, run):
    known = json.loads(truth.read_text())
    inputs = {name: (box["lo"], box["hi"]) for name, box in known["inputs"].items()}
    for name, box in known["inputs"].items():
        if box["dtype"].startswith("float"):
            inputs[name] = [mpopt.Normal(box["mean"], box["std"]), inputs[name]]
    with numpy.load(truth.with_name("feeds.npz")) as feeds:
        check(truth.with_name("model.onnx"), dict(feeds), run, inputs, known["dims"])
