"""A list of --keep-fp32 is enough, and no longer than it has to be.

Enough: of the model that mpopt.to_float16 makes with it the analysis has nothing above a note
to say, and it computes what the original does with every rounding put back. No longer: without
any one of its ops that is not so by the analysis (of small models, where all are tried)."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser
from tool import run_mpopt

import mpopt
from mpopt import half

pytest.importorskip("onnxruntime.transformers.float16")

RANDOM = np.random.default_rng(3)

# Three norms of one epsilon. Squares of what they centre flush, as does the epsilon.
EPSILON = """g (float[8, 16] x) => (float[8, 16] y)
  <float eps = {1e-10}, float two = {2.0}> {
    am = ReduceMean <axes = [-1], keepdims = 1> (x)
    ac = Sub(x, am)
    aq = Pow(ac, two)
    av = ReduceMean <axes = [-1], keepdims = 1> (aq)
    ae = Add(av, eps)
    ar = Sqrt(ae)
    a = Div(ac, ar)
    bx = Relu(x)
    bq = Pow(bx, two)
    bv = ReduceMean <axes = [-1], keepdims = 1> (bq)
    be = Add(bv, eps)
    br = Sqrt(be)
    b = Div(bx, br)
    cx = Neg(x)
    cq = Mul(cx, cx)
    cv = ReduceMean <axes = [-1], keepdims = 1> (cq)
    ce = Add(cv, eps)
    cr = Sqrt(ce)
    c = Div(cx, cr)
    ab = Add(a, b)
    y = Add(ab, c)
}"""

# A mask that one node makes and another adds: 0 times what FP16 makes -Inf is NaN.
MASK = """g (float[4, 8, 8] x, bool[4, 1, 8] m) => (float[4, 8, 8] y)
  <float one = {1.0}, float far = {-1e9}> {
    seen = Cast <to = 1> (m)
    hidden = Sub(one, seen)
    mask = Mul(hidden, far)
    scores = Add(x, mask)
    y = Softmax <axis = -1> (scores)
}"""

# No tensor leaves the range, and no rounding but one is large beside its tensor.
DIFFERENCE = """g (float[8, 16] x) => (float[8, 16] y) <float far = {4096.0}, float two = {2.0}> {
    s = Relu(x)
    t = Add(s, far)
    u = Sub(t, far)
    v = Mul(u, two)
    y = Add(v, x)
}"""

SOUND = """g (float[8, 16] x) => (float[8, 16] y) <float c = {0.5}> {
    s = Mul(x, c)
    t = Tanh(s)
    y = Add(t, x)
}"""

CASES = {
    "epsilon": (EPSILON, {"x": RANDOM.normal(0, 2e-4, (8, 16))},
                ["x=-0.002:0.002", "x~0,0.0002"]),
    "mask": (MASK, {"x": RANDOM.normal(0, 2, (4, 8, 8)), "m": np.tril(np.ones((8, 8)))[4:, None] > 0},
             ["x=-20:20", "x~0,2"]),
    "difference": (DIFFERENCE, {"x": RANDOM.normal(0, 1, (8, 16))}, ["x=-8:8", "x~0,1"]),
}


def parse(text):
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')
    for node in model.graph.node:
        node.name = f"n.{node.output[0]}"
    onnx.checker.check_model(model, full_check=True)
    return model


def check(model, *options):
    done = run_mpopt("--check", model, "--format", "json", "--fail-on", "never", *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return [finding for finding in report["findings"] if finding["severity"] != "note"], done.stderr


def inputs(declared):
    return [word for text in declared for word in ("--input", text)]


def keep(folder, text, declared):
    """The names on the list, and what the analysis says without it."""
    onnx.save(parse(text), folder / "m.onnx")
    loud, said = check(folder / "m.onnx", "--precision", "fp16", *inputs(declared),
                       "--keep-fp32", folder / "keep.json")
    assert "warning" not in said
    return [op["name"] for op in json.loads((folder / "keep.json").read_text())["ops"]], loud


def loud_with(folder, names, declared):
    onnx.save(mpopt.to_float16(folder / "m.onnx", names), folder / "half.onnx")
    return check(folder / "half.onnx", "--precision", "as-is", *inputs(declared))[0]


def run(model, feed):
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    arrays = {name: value[None].astype(np.float32 if value.dtype.kind == "f" else value.dtype)
              for name, value in feed.items()}
    return session.run(None, half.feed_of(session, arrays, 0))[0].astype(np.float64)


def error(folder, names, feed):
    onnx.save(mpopt.to_float16(folder / "m.onnx", names), folder / "half.onnx")
    half.save_as_run(folder / "half.onnx", folder / "saved.onnx")
    half.put_roundings_back(folder / "saved.onnx", folder / "rounded.onnx")
    want, have = run(folder / "m.onnx", feed), run(folder / "rounded.onnx", feed)
    return np.abs(want - have).max() / np.abs(want).max() if np.isfinite(have).all() else np.inf


@pytest.mark.parametrize("case", CASES)
def test_enough_and_small(tmp_path, case):
    text, feed, declared = CASES[case]
    names, loud = keep(tmp_path, text, declared)
    assert names and loud
    # The converter clamps constants: without a list its mask is another one.
    assert case == "mask" or error(tmp_path, [], feed) > 0.05
    assert error(tmp_path, names, feed) < 0.01
    assert not loud_with(tmp_path, names, declared)
    assert len(names) < len(parse(text).graph.node)
    for name in names:
        fewer = [other for other in names if other != name]
        assert case == "mask" or loud_with(tmp_path, fewer, declared), name


def test_an_epsilon_that_three_share(tmp_path):
    names, _ = keep(tmp_path, EPSILON, CASES["epsilon"][2])
    assert {"n.ae", "n.be", "n.ce"} <= set(names)


def test_sound_models_keep_nothing(tmp_path):
    names, loud = keep(tmp_path, SOUND, ["x=-10:10", "x~0,1"])
    assert not names and not loud


def test_an_input_past_the_range(tmp_path):
    """It is FP32 where ops in FP32 read it."""
    declared = ["x=-1e6:1e6", "x~0,300000"]
    names, loud = keep(tmp_path, SOUND, declared)
    assert names and loud and not loud_with(tmp_path, names, declared)
    feed = {"x": RANDOM.normal(0, 3e5, (8, 16))}
    assert error(tmp_path, names, feed) < 0.01


def test_what_no_list_mends(tmp_path):
    """What a branch returns: said, and no op is listed that would not help."""
    onnx.save(parse("""g (float[4, 16] x, bool go) => (float[4, 16] z) {
        y = If (go) <then_branch = a () => (float[4, 16] r) <float far = {1e6}> { r = Mul(x, far) },
                     else_branch = b () => (float[4, 16] s) <float far = {2e6}> { s = Mul(x, far) }>
        z = Sqrt(y)
    }"""), tmp_path / "m.onnx")
    loud, said = check(tmp_path / "m.onnx", "--precision", "fp16", "--input", "x=1:2",
                       "--keep-fp32", tmp_path / "keep.json")
    assert loud and "needs another fix" in said
    listed = json.loads((tmp_path / "keep.json").read_text())["ops"]
    assert "n.z" not in [op["name"] for op in listed]


def test_what_nearly_overflows_beside_what_does(tmp_path):
    """Of repeated ops the estimates of some are past the range: those near it are kept, too."""
    names, _ = keep(tmp_path, """g (float[8, 16] x) => (float[8, 16] y)
      <float far = {40000.0}, float near = {12000.0}, float small = {10.0}, float back = {0.0001}> {
        a = Mul(x, far)
        as = Mul(a, back)
        at = Tanh(as)
        b = Mul(x, near)
        bs = Mul(b, back)
        bt = Tanh(bs)
        c = Mul(x, small)
        cs = Mul(c, back)
        ct = Tanh(cs)
        ab = Add(at, bt)
        y = Add(ab, ct)
    }""", ["x=-10:10", "x~0,1"])
    assert {"n.a", "n.as", "n.b", "n.bs"} <= set(names)
    assert not {"n.c", "n.cs"} & set(names)
