"""--safe-input against scales that can be worked out by hand."""

import json
import math

import pytest
from onnx import parser
from tool import run_mpopt

EDGE = 65520  # the smallest number that float16 rounds to Inf
MOST = 1 << 20


def safe_inputs(tmp_path, graph, *options, precision="fp16"):
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {graph}')
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    done = run_mpopt("--check", file, "--precision", precision, "--safe-input", "--format", "json",
                     "--fail-on", "never", *options)
    assert done.returncode == 0, done.stderr
    scales = json.loads(done.stdout)["safe_input"]
    return {scale["input"]: (scale["proved"], scale["likely"]) for scale in scales}


def close_below(scale, exact):
    """The search stops within 1 % of the edge, on the safe side; float16 rounds what
    is stored on the way by 2^-11."""
    return 0.988 * exact <= scale <= 1.001 * exact


@pytest.mark.parametrize(("body", "box", "exact"), [
    ("y = Mul(x, x)", "-10:10", math.sqrt(EDGE) / 10),
    ("y = Mul(x, x)", "-0.5:2", math.sqrt(EDGE) / 2),
    ("z = Mul(x, x) y = Mul(z, z)", "-10:10", EDGE ** 0.25 / 10),
    ("y = Relu(x)", "-4:3", EDGE / 4),
    ("c = Constant <value_float = 100.0> () y = Mul(x, c)", "-7:7", EDGE / 700),
    ("c = Constant <value_float = 65024.0> () y = Add(x, c)", "0:1", EDGE - 65024),
    ("y = Exp(x)", "-1:1", math.log(EDGE)),
    # Saturating: no scale overflows before the input itself does.
    ("y = Tanh(x)", "-10:10", EDGE / 10),
    # The accumulated sum of eight.
    ("y = ReduceSum <keepdims = 0> (x)", "-10:10", EDGE / 80),
])
def test_closed_forms(tmp_path, body, box, exact):
    scales = safe_inputs(tmp_path, f"g (float[8] x) => (y) {{ {body} }}",
                         "--input", f"x={box}")
    proved, likely = scales["x"]
    assert close_below(proved, exact), (proved, exact)
    assert likely >= proved * 0.98


def test_each_input_alone(tmp_path):
    """x may grow until x*x leaves float16, w until w*10 does: the other one stays."""
    scales = safe_inputs(
        tmp_path, "g (float[8] x, float[8] w) => (y, z) { y = Mul(x, x) z = Mul(w, x) }",
        "--input", "x=-10:10", "--input", "w=-1:1")
    assert close_below(scales["x"][0], math.sqrt(EDGE) / 10)
    assert close_below(scales["w"][0], EDGE / 10)


def test_distribution_decides_likely(tmp_path):
    """One draw each: the estimate of x*x grows with the square of the scale."""
    narrow = safe_inputs(tmp_path, "g (float[8] x) => (y) { y = Mul(x, x) }",
                         "--input", "x=-100:100", "--input", "x~0,1")["x"]
    wide = safe_inputs(tmp_path, "g (float[8] x) => (y) { y = Mul(x, x) }",
                       "--input", "x=-100:100", "--input", "x~0,10")["x"]
    assert narrow[0] == pytest.approx(wide[0])
    assert narrow[1] == pytest.approx(10 * wide[1], rel=0.03)


def test_no_edge_in_float32(tmp_path):
    scales = safe_inputs(tmp_path, "g (float[8] x) => (y) { y = Relu(x) }",
                         precision="as-is")
    assert scales == {"x": (MOST, MOST)}


def test_overflow_whatever_the_input(tmp_path):
    """A constant that is past the edge after a sum, at the scale 0, too."""
    scales = safe_inputs(
        tmp_path, "g (float[8] x) => (y) { c = Constant <value_float = 60000.0> () "
        "d = Add(c, c) y = Add(x, d) }")
    assert scales["x"] == (0, 0)


def test_overflow_elsewhere(tmp_path):
    """What another input breaks, no scale of this one mends."""
    scales = safe_inputs(
        tmp_path, "g (float[8] x, float[8] w) => (y, z) { y = Relu(x) z = Mul(w, w) }",
        "--input", "w=0:1000", "--input", "w~500,1")
    assert scales["x"] == (0, 0)
    assert close_below(scales["w"][0], math.sqrt(EDGE) / 1000)


def test_unbounded_input(tmp_path):
    """No multiple of an infinite box is finite, while the estimate is."""
    proved, likely = safe_inputs(
        tmp_path, "g (float[8] x) => (y) { y = Mul(x, x) }", "--input", "x=-inf:inf",
        "--input", "x~0,1")["x"]
    assert proved == 0 and likely > 10


def test_unknown_op_proves_nothing(tmp_path):
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21, "com.acme" : 1]> '
        "g (float[8] x) => (float[8] y) { z = com.acme.Foo(x) y = Relu(z) }")
    file = tmp_path / "model.onnx"
    file.write_bytes(model.SerializeToString())
    done = run_mpopt("--check", file, "--precision", "fp16", "--safe-input", "--format", "json")
    report = json.loads(done.stdout)
    assert report["safe_input"][0]["proved"] == 0
    assert report["coverage"]["unmodelled"] == {"com.acme::Foo": 1}
    assert sum(report["coverage"]["unknown_ranges"].values()) == 1


def test_many_inputs_are_quick(tmp_path):
    """Each search looks at what its input reaches only."""
    names = [f"x{i}" for i in range(2000)]
    graph = (f"g ({', '.join(f'float[2] {name}' for name in names)}) => "
             f"({', '.join(f'y{name}' for name in names)}) "
             f"{{ {' '.join(f'y{name} = Mul({name}, {name})' for name in names)} }}")
    scales = safe_inputs(tmp_path, graph)
    assert len(scales) == 2000
    assert all(close_below(proved, math.sqrt(EDGE) / 10) for proved, _ in scales.values())
