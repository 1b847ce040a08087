"""mpopt --convert --verify: the result beside the source in ONNX Runtime, with every rounding."""

import json
import os
import pty
import subprocess

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from tool import MPOPT, run_mpopt

from mpopt._verifying import _stored


def model(text, weights=None, header='ir_version: 8, opset_import: ["" : 17]'):
    made = parser.parse_model(f"<{header}>\n{text}")
    for name, array in (weights or {}).items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


def verify(folder, source, feeds, *options, status=0):
    """The part `verified` of the report; of a refusal the line."""
    onnx.save(source, folder / "m.onnx")
    given = feeds
    if isinstance(feeds, dict):
        np.savez(folder / "feeds.npz", **feeds)
        given = folder / "feeds.npz"
    (folder / "out").mkdir()
    done = run_mpopt("--convert", folder / "m.onnx", "-o", folder / "out" / "m.onnx", "--report", folder / "r.json",
                     "--verify", given, *options)
    assert done.returncode == status, done.stderr
    if status == 2:
        assert not list((folder / "out").iterdir())
        return done.stderr
    return json.loads((folder / "r.json").read_text())


LOST = """g (float[4] x) => (float[4] y) {
  [up] s = Add (x, k)
  [down] y = Sub (s, k)
}"""


def test_rounding_that_the_runtime_leaves_out(tmp_path):
    """FP16 keeps steps of 0.5 in x + 1000: a runtime that computes in FP32 would not notice."""
    x = np.array([[0.2, -0.2, 0.1, 0.05]], np.float32)
    made = model(LOST, {"k": np.float32(1000)})
    report = verify(tmp_path, made, {"x": x}, "--to", "fp16", "--keep-io-types", "--input", "x=-1:1", "--max-error", "1",
                    "--verify-tensors")
    found = report["verified"]
    low = np.float16(np.float16(np.float16(x) + np.float16(1000)) - np.float16(1000)).astype(np.float32)
    wanted = np.abs(low - (x + np.float32(1000) - np.float32(1000))).max() / np.abs(x).max()
    assert found["runs"] == 1
    assert found["outputs"][0]["name"] == "y"
    assert found["outputs"][0]["error"] == pytest.approx(wanted, rel=1e-3)
    assert [entry["name"] for entry in found["tensors"]] == ["s"]
    assert 0 < found["tensors"][0]["error"] < 1e-3


def test_more_than_asked_for(tmp_path):
    """Feeds that are not as declared show it: the analysis is content, the run is not."""
    feeds = {"x": np.full((3, 4), 300, np.float32)}
    made = model("g (float[4] x) => (float[4] y) { [square] y = Mul (x, x) }")
    report = verify(tmp_path, made, feeds, "--input", "x=-1:1", status=1)
    assert "output 'y' has 12 Inf or NaN that the source has not" in report["obstacle"]
    assert report["verified"]["outputs"][0]["error"] == "inf"
    assert not list((tmp_path / "out").iterdir())


def test_integers_are_counted(tmp_path):
    feeds = {"x": np.array([[1.0001, 1.0002], [2, 1]], np.float32)}
    made = model("""g (float[2] x) => (int64[1] y) {
      [most] y = ArgMax <axis = 0> (x)
    }""")
    report = verify(tmp_path, made, feeds, "--to", "fp16", "--write-anyway", status=1)
    assert report["verified"]["outputs"][0]["changed"] == 0.5
    assert "other integers in 50.000 %" in report["obstacle"]


def test_functions_bodies_and_states(tmp_path):
    """Values of functions are rounded, too; a loop is run with its states."""
    made = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
      g (float[4] x) => (float[4] y) {
        n = Constant <value = int64 {3}> ()
        c = Constant <value = bool {1}> ()
        [again] z = Loop (n, c, x) <body = b (int64 i, bool go, float[4] s) => (bool on, float[4] t) {
          on = Identity (go)
          [step] t = own.Third (s)
        }>
        [call] y = own.Third (z)
      }
      <domain: "own", opset_import: ["" : 17]>
      Third (a) => (b) { three = Constant <value = float {3.0}> () b = Div (a, three) }""")
    x = np.linspace(0.1, 1, 8, dtype=np.float32).reshape(2, 4)
    report = verify(tmp_path, made, {"x": x}, "--to", "fp16", "--max-error", "0.1")
    low = x.astype(np.float16)
    for _ in range(4):
        low = np.float16(low / np.float16(3))
    wanted = np.abs(low.astype(np.float32) - x / 81).max() / np.abs(x / 81).max()
    assert report["verified"]["outputs"][0]["error"] == pytest.approx(wanted, rel=1e-2)


def test_drawn_inputs_are_as_declared(tmp_path):
    made = model("g (float[N, 4] x) => (float[N, 4] y) { [root] y = Sqrt (x) }")
    report = verify(tmp_path, made, "random:5", "--input", "x=1:100")
    assert report["verified"]["runs"] == 5
    assert 0 < report["verified"]["outputs"][0]["error"] < 1e-3


def test_back_to_fp32(tmp_path):
    """The source's own roundings are restored, and stay: FP32 differs by them."""
    made = model("g (float16[4] x) => (float16[4] y) { [act] y = Tanh (x) }")
    report = verify(tmp_path, made, {"x": np.linspace(-1, 1, 4, dtype=np.float16)}, "--to", "fp32")
    assert 0 < report["verified"]["outputs"][0]["error"] < 1e-3


@pytest.mark.parametrize(("options", "line"), [
    (("nothing.npz",), "nothing.npz"),
    (("random:0",), "--verify: at least one run, not '0'"),
    (("random", "--verify-tensors"), "--verify-tensors goes with --report"),
])
def test_refused(tmp_path, options, line):
    onnx.save(model(LOST, {"k": np.float32(1)}), tmp_path / "m.onnx")
    done = run_mpopt("--convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--verify", *options)
    assert done.returncode == 2 and line in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "o.onnx").exists()


def test_what_the_runtime_does_not_know(tmp_path):
    made = model("g (float[4] x) => (float[4] y) { [odd] h = acme.Odd (x) [act] y = Relu (h) }",
                 header='ir_version: 8, opset_import: ["" : 17, "acme" : 1]')
    assert "ONNX Runtime does not load the source" in verify(tmp_path, made, "random", status=2)


def test_a_line_on_a_terminal(tmp_path):
    onnx.save(model(LOST, {"k": np.float32(1)}), tmp_path / "m.onnx")
    ours, theirs = pty.openpty()
    subprocess.run([MPOPT, "--convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--verify", "random:3"],
                   stderr=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(theirs)
    shown = os.read(ours, 10000).decode()
    os.close(ours)
    assert "3/3 steps" in shown


def test_bf16_is_rounded_to_nearest_even():
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32) * np.float32(1e3)
    x[:3] = [1.00390625, 1.01171875, 3.4e38]  # ties, and past the last number
    wanted = np.clip(x, -3.3895314e38, 3.3895314e38).astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(_stored(x, "bf16"), wanted)


def test_truth_values_that_are_floats_count_by_their_share(tmp_path):
    """FP16 rounds one of eight numbers to the threshold, so that one of eight floats is 0 and not 1."""
    x = np.array([[0.50001, *np.linspace(0.6, 0.9, 7)]], np.float32)
    made = model("""g (float[8] x) => (float[8] mask) <float half = {0.5}> {
      b = Greater (x, half)
      mask = Cast <to = 1> (b)
    }""")
    report = verify(tmp_path, made, {"x": x}, "--to", "fp16", "--max-error", "0.2")
    [mask] = report["verified"]["outputs"]
    assert (mask["error"], mask["changed"]) == (0, 1 / 8)
