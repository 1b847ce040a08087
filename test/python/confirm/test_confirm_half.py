"""Models that were converted to FP16, from the converter to the verdict: mpopt.half and
bench/confirm_zoo.py on a few small ones, and on a zoo where MPOPT_ZOO names one."""

import json
import sys

import numpy
import onnx
import pytest
from onnx import parser


import confirm_zoo
from tool import MPOPT, ROOT, ZOOS
from mpopt import half

RUNS = ("fp16", "fp16-saved", "fp16-rounded")
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


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))


def write_case(folder, text, size):
    """A model as the zoo has it."""
    onnx.save(parser.parse_model(text), folder / "model.onnx")
    x = numpy.random.default_rng(0).uniform(-size, size, (3, 4, 8)).astype(numpy.float32)
    x[:, 0, 0], x[:, 0, 1] = -size, size
    numpy.savez(folder / "feeds.npz", x=x)
    (folder / "truth.json").write_text(json.dumps({
        "dims": {}, "constants": {}, "tensors": {},
        "inputs": {"x": {"lo": -1000, "hi": 1000, "mean": 0, "std": size, "dtype": "float32"}}}))


def check(folder, run, work):
    result = confirm_zoo.check(folder, MPOPT, run, "findings", work)
    assert result["exceeded"] == [] and result["outside"] == []
    assert all(row["status"] in confirm_zoo.STATUSES for row in result["rows"])
    return result


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", MODELS)
def test_converted(name, run, tmp_path):
    text, size, statuses = MODELS[name]
    write_case(tmp_path, text, size)
    result = check(tmp_path, run, tmp_path)
    rows = result["rows"]
    assert rows and result["counts"]["comparable"] > 0
    for tensor, status in statuses.get(run, {}).items():
        found = {row["status"] for row in rows if row["tensor"] == tensor
                 and row["rule"].startswith("MP2")}
        assert status in found, rows


def test_every_rounding_is_put_back(tmp_path):
    """The log of what FP16 stores: -Inf where the runtime's own way gives -18."""
    import onnxruntime

    text, size, _ = MODELS["log-of-flushed"]
    write_case(tmp_path, text, size)
    feed = {"x": numpy.full((4, 8), -size, numpy.float16)}
    results = {}
    for mode in ([], ["--saved"], ["--rounded"]):
        out = tmp_path / f"{mode}.onnx"
        confirm_zoo.step("half", [sys.executable, "-m", "mpopt.half", *mode,
                                  tmp_path / "model.onnx", out])
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
def test_zoo(truth, run, tmp_path):
    check(truth.parent, run, tmp_path)
