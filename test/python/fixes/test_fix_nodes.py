"""mpopt --fix changes nodes: the result is valid, computes the same in FP32, and is judged better."""

import json

import mpopt
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser
from tool import run_mpopt


class Case:
    """A model by its text; `ranges`: of each input (lo, hi, deviation or None); `numbers`: initializers."""

    def __init__(self, text, ranges, op=None, *, opset=17, numbers=None, precision="fp16", tolerance=1e-5):
        self.text, self.ranges, self.op, self.opset = text, ranges, op, opset
        self.numbers, self.precision, self.tolerance = numbers or {}, precision, tolerance

    def make(self):
        model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {self.opset}]>\n' + self.text)
        for name, value in self.numbers.items():
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
        onnx.checker.check_model(model, full_check=True)
        return model

    def judged(self):
        words = ["--precision", self.precision]
        for name, (low, high, deviation) in self.ranges.items():
            words += ["--input", f"{name}={low}:{high}"]
            if deviation:
                words += ["--input", f"{name}~0,{deviation}"]
        return words

    def feeds(self, model, rng):
        feeds = {}
        for value in model.graph.input:
            low, high, deviation = self.ranges[value.name]
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            drawn = rng.normal(0, deviation, shape).clip(low, high) if deviation else rng.uniform(low, high, shape)
            feeds[value.name] = drawn.astype(onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
        return feeds


X, WIDE = "g (float[4,16] x) => (float[4,16] y)", {"x": (-50, 50, 15)}
ROW = {"ax": np.array([1], np.int64)}
ONE = "one = Constant <value_float = 1.0> ()"
SCORES = "(float[1,2,16,64] q, float[1,2,64,16] k, float[1,2,16,64] v) => (float[1,2,16,64] y)"
ATTENTION = f"""g {SCORES} {{ s = MatMul (q, k) f = Constant <value_float = 0.125> () t = Mul (s, f)
    p = Softmax <axis = -1> (t) y = MatMul (p, v) }}"""
NORM = {"w": np.ones(64, np.float32), "b": np.zeros(64, np.float32)}
STREAM = """g (float[4,64] x) => (float[4,64] y) { a = Add (x, x) t = Tanh (a) big = Constant <value_float = 60000.0> ()
    h = Mul (t, big) c = Add (a, h) r = Relu (c) d = Add (c, r) y = LayerNormalization <axis = -1, epsilon = 1e-5> (d, w, b) }"""
LOGITS = X + " { s = Softmax <axis = 1> (x) y = Log (s) }"
CASES = {
    "log-softmax": Case(LOGITS, WIDE, "LogSoftmax"),
    "log-softmax of a middle axis": Case(LOGITS.replace("4,16", "4,16,3"), WIDE, "LogSoftmax"),
    "log-softmax before opset 13": Case(LOGITS, WIDE, "LogSoftmax", opset=12),
    "log-sigmoid of the complement": Case(
        X + f" {{ s = Sigmoid (x) {ONE} d = Sub (one, s) y = Log (d) }}", {"x": (-12, 12, 4)}, "Softplus",
        tolerance=1e-3),  # 1 - s has lost digits in the source
    "softmax by hand": Case(
        X + " { e = Exp (x) s = ReduceSum <keepdims = 1> (e, ax) y = Div (e, s) }", {"x": (-50, 50, 8)}, "ReduceMax",
        numbers=ROW),
    "log-sum-exp": Case(
        "g (float[4,16] x) => (float[4] y) { e = Exp (x) s = ReduceSum <keepdims = 0> (e, ax) y = Log (s) }",
        {"x": (-50, 50, 8)}, "ReduceMax", numbers=ROW),
    "log-sum-exp at opset 18": Case(
        "g (float[4,16] x) => (float[4] y) { e = Exp (x) s = ReduceSum <keepdims = 0> (e, ax) y = Log (s) }",
        {"x": (-50, 50, 8)}, "ReduceMax", numbers=ROW, opset=18),
    "softplus": Case(X + f" {{ e = Exp (x) {ONE} s = Add (e, one) y = Log (s) }}", {"x": (-50, 50, 8)}, "Softplus"),
    "log1p": Case(X + f" {{ {ONE} s = Add (x, one) y = Log (s) }}", {"x": (0, 1e-4, None)}, "Atanh", tolerance=2e-3),
    "attention": Case(ATTENTION, {"q": (-480, 480, 80), "k": (-480, 480, 80), "v": (-2, 2, 1)}, "Mul"),
    "a mean": Case(
        "g (float[4,4096] x) => (float[4,1] y) { s = ReduceSum <keepdims = 1> (x, ax)"
        " n = Constant <value_float = 4096.0> () y = Div (s, n) }", {"x": (0, 255, None)}, "ReduceMean", numbers=ROW),
    "a product of lengths": Case(
        """g (float[4,512] a, float[4,512] b) => (float[4,1] y) { p = Mul (a, b) d = ReduceSum <keepdims = 1> (p, ax)
        aa = Mul (a, a) bb = Mul (b, b) sa = ReduceSum <keepdims = 1> (aa, ax) sb = ReduceSum <keepdims = 1> (bb, ax)
        na = Sqrt (sa) nb = Sqrt (sb) m = Mul (na, nb) y = Div (d, m) }""",
        {"a": (-60, 60, 20), "b": (-60, 60, 20)}, "Div", numbers=ROW),
    "a square": Case(
        "g (float[4,512] x) => (float[4,512] y) { q = Mul (x, x) m = ReduceMean <axes = [1], keepdims = 1> (q)"
        " e = Constant <value_float = 1e-6> () s = Add (m, e) r = Sqrt (s) y = Div (x, r) }",
        {"x": (-1000, 1000, 400)}, "Mul"),
    "a residual stream": Case(STREAM, {"x": (-1000, 1000, 300)}, "Mul", numbers=NORM),
    "the domain": Case(X + " { d = Sub (x, f) y = Acos (d) }", {"x": (-3, 5, 1)}, "Clip",
                       numbers={"f": np.float32(0.5)}),
    "a term that goes": Case(X + " { a = Mul (x, x) b = Add (a, f) c = Sub (b, f) y = Sqrt (c) }", {"x": (-5, 5, 1)},
                             "Sqrt", numbers={"f": np.float32(1000)}, tolerance=1e-2),  # the source has lost digits
    "in a branch": Case(
        """g (float[4,16] x, bool c) => (float[4,16] y) { y = If (c) <
        then_branch = a () => (float[4,16] l) { s = Softmax <axis = 1> (x) l = Log (s) },
        else_branch = b () => (float[4,16] n) { n = Neg (x) }> }""", {"x": (-50, 50, 15), "c": (1, 1, None)}, "LogSoftmax"),
    "of 16 bits": Case(
        "g (float16[4,16] x) => (float16[4,16] y) { e = Exp (x) s = ReduceSum <keepdims = 1> (e, ax) y = Div (e, s) }",
        {"x": (-50, 50, 8)}, "ReduceMax", numbers=ROW, precision="as-is", tolerance=4e-3),
}


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def counts(path, judged):
    """Findings above note, errors twice: scores that no longer overflow may be coarse all the same."""
    run = run_mpopt("--check", path, *judged, "--format", "json")
    weights = {"error": 2, "warning": 1, "note": 0}
    return sum(weights[finding["severity"]] for finding in json.loads(run.stdout)["findings"])


def largest_difference(case, before, after):
    """The largest of an output, of its largest magnitude, where the model itself is finite."""
    rng, worst = np.random.default_rng(1), 0.0
    model = onnx.load(before)
    first, second = (onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]) for path in (before, after))
    for _ in range(4):
        feeds = case.feeds(model, rng)
        for expected, given in zip(first.run(None, feeds), second.run(None, feeds), strict=True):
            finite = np.isfinite(expected)
            assert np.isfinite(given[finite]).all() and finite.any()
            difference = np.abs(expected.astype(float) - given)[finite].max()
            worst = max(worst, difference / np.abs(expected[finite]).max())
    return worst


@pytest.mark.parametrize("name", CASES)
def test_changes_nodes(tmp_path, name):
    case, path, out, again = CASES[name], tmp_path / "m.onnx", tmp_path / "out.onnx", tmp_path / "again.onnx"
    onnx.save(case.make(), path)
    run = run_mpopt("--fix", path, "-o", out, *case.judged())
    assert run.returncode in (0, 1), run.stderr
    onnx.checker.check_model(out, full_check=True)
    assert case.op in [node.op_type for node in nodes_of(onnx.load(out).graph)]
    added = [line for line in run.stdout.splitlines() if line.startswith("+ ")]
    assert any(f" = {case.op} " in line for line in added), run.stdout
    assert largest_difference(case, path, out) <= case.tolerance
    assert counts(out, case.judged()) < counts(path, case.judged())
    run = run_mpopt("--fix", out, "-o", again, *case.judged())
    assert "nothing to fix" in run.stdout
    assert again.read_bytes() == out.read_bytes()


SMALL = {"x": (-3, 3, 1)}
LEFT = {
    "softmax without its logarithm": Case(X + " { y = Softmax <axis = 1> (x) }", WIDE),
    "a logarithm of small logits": Case(LOGITS, SMALL),
    "exponentials that fit": Case(
        X + " { e = Exp (x) s = ReduceSum <keepdims = 1> (e, ax) y = Div (e, s) }", SMALL, numbers=ROW),
    "softplus that fits": Case(X + f" {{ e = Exp (x) {ONE} s = Add (e, one) y = Log (s) }}", SMALL),
    "large addends of 1": Case(X + f" {{ {ONE} s = Add (x, one) y = Log (s) }}", {"x": (1, 100, None)}),
    "attention that fits": Case(ATTENTION, {"q": (-5, 5, 1), "k": (-5, 5, 1), "v": (-2, 2, 1)}),
    "a limit inside of the domain": Case(X + " { s = Abs (x) y = Log (s) }", WIDE),
}


@pytest.mark.parametrize("name", LEFT)
def test_leaves_what_is_sound(tmp_path, name):
    case, path, out = LEFT[name], tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(case.make(), path)
    run = run_mpopt("--fix", path, "-o", out, *case.judged())
    assert "nothing to fix" in run.stdout, run.stdout
    assert out.read_bytes() == path.read_bytes()
    assert not run.stderr


def test_factors_are_numbers_of_the_type(tmp_path):
    """2^21, which a square root of a product takes, is past FP16: it is multiplied with in two steps."""
    case, path, out = CASES["a product of lengths"], tmp_path / "m.onnx", tmp_path / "out.onnx"
    case = Case(case.text.replace("na = Sqrt (sa) nb = Sqrt (sb) m = Mul (na, nb)", "p2 = Mul (sa, sb) m = Sqrt (p2)"),
                case.ranges, numbers=ROW)
    onnx.save(case.make(), path)
    run = run_mpopt("--fix", path, "-o", out, *case.judged())
    assert "2^-2" in run.stdout, run.stdout
    factors = [float(numpy_helper.to_array(tensor)) for tensor in onnx.load(out).graph.initializer if not tensor.dims]
    assert factors and all(2.0**-14 <= factor <= 65504 for factor in factors)
    assert largest_difference(case, path, out) == 0


def test_limits_are_not_safe(tmp_path):
    """A logarithm's argument at 2^-14 is another number in FP32."""
    path, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    case = Case(X + " { s = Exp (x) y = Log (s) }", {"x": (-50, 5, 15)})
    onnx.save(case.make(), path)
    assert "nothing to fix" in run_mpopt("--fix", path, "-o", out, *case.judged()).stdout
    run = run_mpopt("--fix", path, "-o", out, "--unsafe-fixes", *case.judged())
    assert "Clip (s, 6.10352e-05)" in run.stdout and "(not safe)" in run.stdout


def test_conversion_with_fixes_keeps_less(tmp_path):
    case, path, report = CASES["softmax by hand"], tmp_path / "m.onnx", tmp_path / "r.json"
    onnx.save(case.make(), path)
    words = [*case.judged()[2:], "--keep-io-types", "--report", report]
    kept = {}
    for options in ((), ("--with-fixes",)):
        run = run_mpopt("--convert", path, "-o", tmp_path / "out.onnx", *options, *words)
        assert run.returncode == 0, run.stderr
        kept[options] = json.loads(report.read_text())
    assert kept[()]["kept"] and not kept[("--with-fixes",)]["kept"]
    assert kept[("--with-fixes",)]["fixes"] == [
        "MP207 at Exp_0: subtract the row's maximum first, as softmax and logsumexp do"]
    assert "fixes" not in kept[()]
    onnx.checker.check_model(tmp_path / "out.onnx", full_check=True)
    assert largest_difference(case, path, tmp_path / "out.onnx") < 4e-3
    before = (tmp_path / "out.onnx").read_bytes()
    run_mpopt("--convert", tmp_path / "out.onnx", "-o", tmp_path / "again.onnx", "--with-fixes", *words)
    assert (tmp_path / "again.onnx").read_bytes() == before


def test_from_python():
    model = CASES["softmax by hand"].make()
    fixed = mpopt.fix(model, inputs={"x": mpopt.Normal(0, 8)})
    assert "ReduceMax" in [node.op_type for node in fixed.model.graph.node]
    assert fixed.changes[0] == "- e = Exp (x)" and fixed.changes[-1].startswith("  MP207 at Exp_0: ")
    assert mpopt.fix(fixed.model, inputs={"x": mpopt.Normal(0, 8)}).changes == ()
    made = mpopt.convert(model, inputs={"x": mpopt.Normal(0, 8)}, keep_io_types=True, with_fixes=True)
    assert not made.kept and made.raw["fixes"]
    with pytest.raises(mpopt.Error, match="is not valid|cannot|no "):
        mpopt.fix(b"none")
