"""Records of `--probe-with outputs` under --confirm: what they say is what the op's say,
and what they lack is never guessed."""


import numpy
import onnxruntime
import pytest
from onnx import parser


import mpopt
from mpopt.recorder import DTYPES, NO_DISTRIBUTION, NO_SHAPE

RANDOM = numpy.random.default_rng(5)


def normal(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype("f")


def text(body, opset=17):
    return f'<ir_version: 9, opset_import: ["": {opset}]>\n' + body


# Body, precision, options, feeds.
MODELS = {
    "overflow": (text("g (float[N,4] x) => (float[N,4] y) { a = Exp(x)  y = Mul(a, a) }"), "fp16",
                 {}, [{"x": normal(3, 4, scale=5)}]),
    "flush": (text("g (float[N,4] x) => (float[N,4] y) { a = Exp(x)  y = Mul(a, a) }"), "fp16",
              {"inputs": {"x": (-40, -3)}}, [{"x": -abs(normal(3, 4, scale=8)) - 3}]),
    "domain": (text("""g (float[N,4] x) => (float[N,4] y, float[N,4] z) {
                         a = Relu(x)  y = Log(a)  z = Reciprocal(a) }"""), "fp16", {},
               [{"x": normal(3, 4)}, {"x": abs(normal(2, 4))}]),
    "absorption": (text("""g (float[N,4] x, float[N,4] y) => (float[N,4] z) {
                             z = Add(x, y) }"""), "fp16",
                   {"inputs": {"x": (1000, 2000), "y": (-0.01, 0.01)}},
                   [{"x": abs(normal(3, 4)) + 1500, "y": normal(3, 4, scale=1e-3)}]),
    "cancellation": (text("""g (float[N,4] x) => (float[N,4] y) <float c = {4000}> {
                               a = Add(x, c)  y = Sub(a, c) }"""), "fp16",
                     {"inputs": {"x": mpopt.Normal(0, 1)}}, [{"x": normal(3, 4)}]),
    "moments": (text("""g (float[N,64] x) => (float[N,64] z) {
                          m = ReduceMean<axes = [1]>(x)  d = Sub(x, m)  s = Mul(d, d)
                          v = ReduceMean<axes = [1]>(s)  z = Div(d, v) }"""), "fp16",
                {"inputs": {"x": mpopt.Normal(1000, 1)}}, [{"x": normal(3, 64) + 1000}]),
    "sum": (text("""g (float[2,350] x) => (float[2] y) {
                      y = ReduceMean<axes = [1], keepdims = 0>(x) }"""), "fp16",
            {"target": "strict16"}, [{"x": normal(2, 350)}]),
    "softmax": (text("""g (float[N,8] x, bool[N,8] m) => (float[N,8] y) <float f = {-inf}> {
                          s = Where(m, x, f)  y = Softmax<axis = 1>(s) }"""), "fp16", {},
                [{"x": normal(2, 8, scale=30), "m": RANDOM.random((2, 8)) < 0.5}]),
    "integers": (text("""g (int64[N] i, int32[N] k, uint8[N] u, bool[N] b)
                           => (int64[N] j, float[N] f) {
                           j = Add(i, i)  c = Cast<to = 1>(k)  d = Cast<to = 1>(u)
                           e = Cast<to = 1>(b)  h = Mul(c, d)  f = Add(h, e) }"""), "fp16", {},
                 [{"i": numpy.array([2**24 + 1, -3]), "k": numpy.int32([2**30 + 1, 3]),
                   "u": numpy.uint8([200, 0]), "b": numpy.array([True, False])},
                  {"i": numpy.array([0]), "k": numpy.int32([7]), "u": numpy.uint8([1]),
                   "b": numpy.array([True])}]),
    "doubles": (text("g (double[N] x) => (double[N] y) { a = Exp(x)  y = Log(a) }"), "as-is", {},
                [{"x": RANDOM.standard_normal(5) * 300}]),
    "double as fp32": (text("g (double[N] x) => (double[N] y) { a = Exp(x)  y = Exp(a) }"), "fp16",
                       {}, [{"x": RANDOM.standard_normal(5) * 3}]),
    "half": (text("g (float16[N,4] x) => (float16[N,4] y) { a = Mul(x, x)  y = Mul(a, a) }"),
             "as-is", {"inputs": {"x": (-20, 20)}}, [{"x": numpy.float16([[1, 2, 3, 17]])}]),
    "small halves": (text("g (float16[N,4] x) => (float16[N,4] y) { a = Mul(x, x)  y = Sqrt(a) }"),
                     "as-is", {}, [{"x": numpy.float16([[1e-5, 2, 3e-4, 0]])}]),
    "bf16": (text("""g (float[N,4] x) => (float[N,4] y) {
                       h = Cast<to = 16>(x)  y = Cast<to = 1>(h) }"""), "as-is", {},
             [{"x": normal(3, 4)}]),
    "empty": (text("g (float[N,4] x) => (float[N,4] y) { y = Exp(x) }"), "fp16", {},
              [{"x": normal(0, 4)}]),
    "scalar": (text("g (float x) => (float y) { y = Exp(x) }"), "fp16", {},
               [{"x": numpy.array(12, "f")}]),
    "nan": (text("g (float[N,4] x) => (float[N,4] y) { a = Sqrt(x)  y = Exp(a) }"), "fp16", {},
            [{"x": normal(1, 4)}, {"x": -abs(normal(1, 4))}]),
}
SAME = ("dtype", "calls", "count", "nan", "posinf", "neginf", "zero", "min", "max", "absmax",
        "min_nonzero", "overflow", "underflow", "bits_to_overflow", "bits_to_flush", "first_step")


def confirm(model, precision, options, feeds, probe_with, folder, optimize):
    probed = mpopt.instrument(parser.parse_model(model), folder / f"{probe_with}.onnx",
                              probe="all", probe_with=probe_with, precision=precision, **options)
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    if not optimize:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    record = folder / f"{probe_with}.mprec"
    session = mpopt.probe_session(probed.path, record=record, sess_options=settings)
    for feed in feeds:
        session.run(None, feed)
    seen = {probe.tensor: session.recorder.read(probe.id) for probe in probed.probes}
    session.recorder.close()
    return probed, seen, mpopt.confirm(record, probed.ledger)


def places(found):
    return {(entry["tensor"], entry["kind"], entry["text"]) for entry in found}


@pytest.mark.parametrize("optimize", [False, True], ids=["plain", "optimised"])
@pytest.mark.parametrize("name", MODELS)
def test_confirmed_like_the_op(name, optimize, tmp_path):
    runs = {kind: confirm(*MODELS[name], kind, tmp_path, optimize) for kind in ("op", "outputs")}
    (probed, records, op), (_, twins, outputs) = runs["op"], runs["outputs"]
    for tensor, record in records.items():
        twin = twins[tensor]
        assert record.dtype == twin.dtype, tensor
        assert twin.flags & NO_DISTRIBUTION
        assert (record.min, record.max) == (twin.min, twin.max), tensor
        if twin.flags & NO_SHAPE:
            assert not any(probe.tensor == tensor and probe.raw["role"] == "input"
                           for probe in probed.probes)
        else:
            assert (record.rank, list(record.dim_min), list(record.dim_max)) == (
                twin.rank, list(twin.dim_min), list(twin.dim_max)), tensor
    found = {kind: {finding.fingerprint: finding for finding in confirmation.findings}
             for kind, confirmation in (("op", op), ("outputs", outputs))}
    assert found["op"].keys() == found["outputs"].keys()
    for print_, finding in found["op"].items():
        twin = found["outputs"][print_]
        if twin.status == "not-observable" != finding.status:
            assert twin.rule[:3] == "MP3", twin.rule
            assert "keep no sums" in twin.raw["status_why"] or "channel" in twin.raw["status_why"]
            continue
        assert (finding.rule, finding.status) == (twin.rule, twin.status)
        if finding.observed:
            seen, other = finding.observed.raw, twin.observed.raw
            assert [seen[key] for key in SAME] == [other[key] for key in SAME]
            assert other.get("mean") is None and other.get("std") is None
    first, other = (confirmation.first_bad for confirmation in (op, outputs))
    assert (first and (first["tensor"], first["step"])) == (other and
                                                            (other["tensor"], other["step"]))
    assert places(op.outside_assumptions) == places(outputs.outside_assumptions)
    assert places(op.exceeded) == places(outputs.exceeded) == set()
    assert op.raw["confirmation"]["comparable"] == outputs.raw["confirmation"]["comparable"]
    assert not outputs.scales


def test_what_the_sums_decide_is_not_observable(tmp_path):
    """The models above have findings of that kind, and the op decides them."""
    for name in ("absorption", "cancellation", "sum"):
        folder = tmp_path / name
        folder.mkdir()
        statuses = {}
        for kind in ("op", "outputs"):
            confirmation = confirm(*MODELS[name], kind, folder, False)[2]
            statuses[kind] = [finding.status for finding in confirmation.findings
                              if finding.rule in ("MP301", "MP302", "MP304")]
        assert statuses["op"], name
        assert "not-observable" not in statuses["op"]
        assert set(statuses["outputs"]) == {"not-observable"}, name


def test_inputs_outside_are_still_found(tmp_path):
    model = text("g (float[N,4] x, int64[K] i) => (float[N,4] y, int64[K] j) "
                 "{ y = Exp(x)  j = Add(i, i) }")
    feed = {"x": normal(3, 4, scale=100), "i": numpy.arange(5)}
    _, seen, confirmation = confirm(model, "as-is", {"inputs": {"x": (-1, 1)}, "dims": {"K": 3}},
                                    [feed], "outputs", tmp_path, False)
    assert {(entry["tensor"], entry["kind"]) for entry in confirmation.outside_assumptions} == {
        ("x", "range"), ("i", "dims")}
    assert (seen["i"].dtype, seen["i"].rank, seen["i"].dim_max[0]) == (DTYPES["i64"], 1, 5)
    assert seen["y"].flags & NO_SHAPE and not seen["i"].flags & NO_SHAPE


def test_fed_as_values_of_the_runtime(tmp_path):
    """An OrtValue has a shape, too."""
    model = parser.parse_model(text("g (float[N,2] x) => (float[N,2] y) { y = Exp(x) }"))
    probed = mpopt.instrument(model, tmp_path / "p.onnx", probe="all", probe_with="outputs")
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    session.run(None, {"x": onnxruntime.OrtValue.ortvalue_from_numpy(numpy.ones((3, 2), "f"))})
    seen = {probe.tensor: session.recorder.read(probe.id) for probe in probed.probes}
    session.recorder.close()
    assert (seen["x"].rank, list(seen["x"].dim_max[:2])) == (2, [3, 2])
    assert mpopt.confirm(tmp_path / "r.mprec", probed.ledger).outside_assumptions == ()
