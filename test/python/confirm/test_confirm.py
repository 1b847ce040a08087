"""mpopt --confirm on models that ran: labels against what is true, where NaN begins,
what to keep in FP32, and bounds that hold."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from tool import ROOT, SHARED, run_mpopt


import mpopt

MODELS = SHARED / "onnx"
DTYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16,
          "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64,
          "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


class Probed:
    """A model with probes, what it records, and what comes of it."""

    def __init__(self, model, folder, *options):
        self.folder, self.file, self.runs = folder, folder / "probed.onnx", 0
        path = model
        if not isinstance(model, pathlib.Path):
            path = folder / "model.onnx"
            onnx.save(model, path)
        done = run_mpopt("--instrument", path, "-o", self.file, *options)
        assert done.returncode == 0, done.stderr
        self.ledger = f"{self.file}.probes.json"

    def run(self, *feeds, draw=None):
        """One record file; returns its path."""
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.log_severity_level = 4
        record = self.folder / f"{self.runs}.mprec"
        self.runs += 1
        session = mpopt.probe_session(self.file, record=record, sess_options=settings)
        try:
            for feed in feeds or [draw(session)]:
                self.last = session.run(None, feed)
        finally:
            session.recorder.close()
        return record

    def confirm(self, *records, status=None, options=()):
        done = run_mpopt("--confirm", *records, "--ledger", self.ledger, "--format", "json",
                         *options)
        assert done.returncode in ((0, 1) if status is None else (status,)), done.stderr
        return json.loads(done.stdout)


def draw_within(ledger, seed=0, steps=1):
    """Inputs that keep to the assumptions of the ledger."""
    bounds = {known["input"]: known
              for known in json.loads(pathlib.Path(ledger).read_text())["assumptions"]}
    random = numpy.random.default_rng(seed)

    def draw(session):
        feed = {}
        for value in session.get_inputs():
            shape = [size if isinstance(size, int) else 2 for size in value.shape]
            dtype = DTYPES[value.type]
            known = bounds.get(value.name, {"lo": 0, "hi": 1})
            lo, hi = (max(-100, min(100, float(known[end]))) for end in ("lo", "hi"))
            feed[value.name] = (random.uniform(lo, hi, shape) if numpy.dtype(dtype).kind == "f"
                                else random.integers(lo, hi + 1, shape)).astype(dtype)
        return feed
    return draw


@pytest.mark.skipif(not MODELS.is_dir(), reason="no ../shared")
@pytest.mark.parametrize("model", sorted(MODELS.glob("*.onnx")), ids=lambda path: path.stem)
def test_bounds_hold_and_every_finding_is_labelled(model, tmp_path):
    """Judged as it is: what runs is what was judged, so every bound is compared."""
    probed = Probed(model, tmp_path, "--precision", "as-is", "--probe", "all")
    try:
        record = probed.run(draw=draw_within(probed.ledger))
    except Exception as error:  # noqa: BLE001: whatever the runtime throws
        pytest.skip(f"ONNX Runtime does not run it: {str(error)[:80]}")
    report = probed.confirm(record)
    assert report["exceeded"] == []
    assert report["outside_assumptions"] == []
    assert report["confirmation"]["comparable"] > 0
    assert all(finding["status"] in ("confirmed", "refuted", "not-exercised", "not-observable")
               for finding in report["findings"])


@pytest.mark.skipif(not MODELS.is_dir(), reason="no ../shared")
def test_a_loss_is_predicted_seen_and_gone_in_fp32(tmp_path):
    """`(x + 65504) - 65504`: in FP16 nothing is left of x."""
    model = MODELS / "polygraphy-needs-constraints.onnx"
    rules = {"MP211", "MP301", "MP302"}
    x = {"x": numpy.random.default_rng(0).standard_normal((1, 1, 256, 256)).astype(numpy.float32)}

    def confirmed(report):
        return {finding["rule"] for finding in report["findings"]
                if finding["status"] == "confirmed" and finding["rule"][:3] in ("MP2", "MP3")
                and finding["severity"] != "note"}

    def round_to_half(kept):
        """FP16 storage on a runtime whose kernels for it compute in FP32: a cast there and
        back behind each node but the kept ones."""
        half = onnx.load(model)
        nodes = []
        for node in half.graph.node:
            nodes.append(node)
            if node.name in kept:
                continue
            result, node.output[0] = node.output[0], f"{node.output[0]}.wide"
            nodes += [helper.make_node("Cast", [node.output[0]], [f"{result}.half"],
                                       f"{node.name}.half", to=TensorProto.FLOAT16),
                      helper.make_node("Cast", [f"{result}.half"], [result],
                                       f"{node.name}.float", to=TensorProto.FLOAT)]
        del half.graph.node[:]
        half.graph.node.extend(nodes)
        return half

    folders = [tmp_path / name for name in ("single", "half", "kept")]
    for folder in folders:
        folder.mkdir()
    # Predicted for FP16, and the values of a run in FP32 are such that it happens.
    single = Probed(model, folders[0], "--precision", "fp16")
    keep = tmp_path / "keep.ort.json"
    report = single.confirm(single.run(x), status=1, options=["--keep-fp32", keep])
    assert confirmed(report) == rules
    expected, = single.last
    # As FP16 has it: the difference has no value but 0, and so has what is made of it.
    half = Probed(round_to_half([]), folders[1], "--precision", "as-is", "--probe", "all")
    report = half.confirm(half.run(x), status=1)
    dead = [finding for finding in report["findings"] if finding["rule"] == "MP504"]
    assert [finding["op"]["type"] for finding in dead] == ["MatMul"]
    assert dead[0]["observed"]["absmax"] == 0 and report["first_bad"] is None
    assert not half.last[0].any() and expected.any()
    # With the ops that were named in FP32 it is all there.
    kept = Probed(round_to_half(json.loads(keep.read_text())["node_block_list"]), folders[2],
                  "--precision", "as-is", "--probe", "all")
    report = kept.confirm(kept.run(x))
    assert not [finding for finding in report["findings"] if finding["status"] == "confirmed"
                and finding["severity"] != "note"]
    assert numpy.abs(kept.last[0] - expected).max() < 0.02


def make_deep(layers=24, bad=13):
    """A chain of layers; one takes the root of what is negative from step 3 on."""
    nodes, weights = [], []
    random = numpy.random.default_rng(1)
    at = "x"
    for layer in range(layers):
        weights.append(numpy_helper.from_array(
            (random.standard_normal((8, 8)) / 4).astype(numpy.float32), f"w{layer}"))
        nodes += [helper.make_node("MatMul", [at, f"w{layer}"], [f"p{layer}"],
                                   f"/layer.{layer}/MatMul"),
                  helper.make_node("Tanh", [f"p{layer}"], [f"h{layer}"], f"/layer.{layer}/Tanh")]
        at = f"h{layer}"
        if layer == bad:
            nodes += [helper.make_node("Add", [at, "shift"], ["shifted"], "/norm/Add"),
                      helper.make_node("Sqrt", ["shifted"], ["root"], "/norm/Sqrt")]
            at = "root"
    nodes.append(helper.make_node("Identity", [at], ["y"], "/out"))
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "deep", [value("x", TensorProto.FLOAT, ["n", 8]),
                        value("shift", TensorProto.FLOAT, [1])],
        [value("y", TensorProto.FLOAT, ["n", 8])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("probes", ["findings", "all"])
def test_the_first_bad_op_of_a_deep_network_is_named(probes, tmp_path):
    probed = Probed(make_deep(), tmp_path, "--precision", "as-is", "--probe", probes)
    x = numpy.random.default_rng(0).standard_normal((4, 8)).astype(numpy.float32)
    good, wrong = (numpy.array([shift], numpy.float32) for shift in (2, -0.5))
    record = probed.run(*({"x": x, "shift": shift} for shift in (good, good, good, wrong, wrong)))
    assert numpy.isnan(probed.last[0]).any()
    report = probed.confirm(record, status=1)
    first = report["first_bad"]
    assert first["op"]["name"] == "/norm/Sqrt" and first["tensor"] == "root"
    assert first["step"] == 3 and not first["input"]
    assert first["chain"][-1] == "/norm/Sqrt"
    assert any(entry["min"] < 0 for entry in first["before"])
    # It was predicted, and everything behind it follows from it.
    predicted = [finding for finding in report["findings"] if finding["rule"] == "MP205"]
    assert [finding["status"] for finding in predicted] == ["confirmed"]
    assert predicted[0]["observed"]["tensor"] == "shifted"
    seen = [finding for finding in report["findings"] if finding["rule"] == "MP501"]
    assert seen and "root" not in {finding["tensor"] for finding in seen}
    assert {finding["root"] for finding in seen} == {predicted[0]["fingerprint"]}
    assert report["exceeded"] == []


def test_an_input_that_is_nan_is_named(tmp_path):
    probed = Probed(make_deep(), tmp_path, "--precision", "as-is")
    x = numpy.full((1, 8), numpy.nan, numpy.float32)
    report = probed.confirm(probed.run({"x": x, "shift": numpy.array([2], numpy.float32)}))
    assert report["first_bad"]["input"] and report["first_bad"]["tensor"] == "x"
    assert {entry["kind"] for entry in report["outside_assumptions"]} == {"non-finite"}


MASKED = """
<ir_version: 8, opset_import: ["" : 17]>
masked (float[2, 8] x, bool[2, 8] keep) => (float[2, 8] y)
<float inf = {-inf}, float one = {1}>
{
  scores = Mul (x, one)
  masked = Where (keep, scores, inf)
  y = Softmax (masked)
}
""".replace("{-inf}", "{-1}")


def make_masked():
    model = parser.parse_model(MASKED)
    for weight in model.graph.initializer:
        if weight.name == "inf":
            weight.CopyFrom(numpy_helper.from_array(numpy.float32(-numpy.inf), "inf"))
    return model


def test_a_mask_of_inf_is_no_fault_and_a_masked_row_is(tmp_path):
    probed = Probed(make_masked(), tmp_path, "--precision", "as-is", "--probe", "all")
    x = numpy.ones((2, 8), numpy.float32)
    keep = numpy.ones((2, 8), numpy.bool_)
    keep[:, 3:] = False
    good = probed.run({"x": x, "keep": keep})
    report = probed.confirm(good)
    assert report["first_bad"] is None
    assert not [finding for finding in report["findings"] if finding["rule"] == "MP501"]
    keep[1] = False
    bad = probed.run({"x": x, "keep": keep})
    report = probed.confirm(bad)
    assert report["first_bad"]["op"]["type"] == "Softmax"
    # Both together: the earlier step is the other file's.
    both = probed.confirm(good, bad)
    assert both["confirmation"]["files"] == 2
    assert both["first_bad"]["op"]["type"] == "Softmax"


BRANCH = """
<ir_version: 8, opset_import: ["" : 17]>
branch (float[4] x, bool pick) => (float[4] y)
{
  y = If (pick) <
    then_branch = yes () => (float[4] a) { a = Exp (x) },
    else_branch = no () => (float[4] b) { b = Abs (x) }>
}
"""


def test_a_branch_that_is_not_taken_is_not_exercised(tmp_path):
    probed = Probed(parser.parse_model(BRANCH), tmp_path, "--precision", "fp16",
                    "--input", "x=-20:20")
    x = numpy.array([1, 2, 3, 15], numpy.float32)

    def status(*picks):
        records = [probed.run({"x": x, "pick": numpy.array(pick)}) for pick in picks]
        found = [finding for finding in probed.confirm(*records)["findings"]
                 if finding["rule"] == "MP207"]
        assert len(found) == 1
        return found[0]["status"]
    assert status(False) == "not-exercised"
    assert status(True) == "confirmed"
    assert status(False, True) == "confirmed"


def test_a_run_in_fp16_shows_the_inf_itself(tmp_path):
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    half (float16[4] x) => (float16[4] y) { p = Mul (x, x)  y = Add (p, x) }
    """
    probed = Probed(parser.parse_model(text), tmp_path, "--input", "x=-1000:1000")
    report = probed.confirm(probed.run({"x": numpy.array([1, 2, 3, 500], numpy.float16)}))
    found = {finding["tensor"]: finding for finding in report["findings"]
             if finding["rule"] in ("MP201", "MP209")}
    assert found["p"]["status"] == "confirmed"
    assert found["p"]["observed"]["dtype"] == "f16"
    assert report["first_bad"]["tensor"] == "p"
    calm = probed.confirm(probed.run({"x": numpy.array([1, 2, 3, 4], numpy.float16)}))
    assert {finding["status"] for finding in calm["findings"]
            if finding["rule"] in ("MP201", "MP209")} == {"refuted"}
    # Behind p, which the runtime may not have rounded, there is no promise.
    assert calm["exceeded"] == [] and calm["confirmation"]["comparable"] == 2


def test_inputs_outside_of_what_was_assumed_are_named(tmp_path):
    probed = Probed(make_deep(), tmp_path, "--precision", "as-is", "--input", "x=-1:1",
                    "--dim", "n=2")
    report = probed.confirm(probed.run(
        {"x": numpy.full((3, 8), 5, numpy.float32), "shift": numpy.array([2], numpy.float32)}))
    kinds = {(entry["tensor"], entry["kind"]) for entry in report["outside_assumptions"]}
    assert kinds == {("x", "range"), ("x", "dims")}
    assert report["exceeded"] == [] and report["confirmation"]["comparable"] == 0


def test_a_bound_that_breaks_is_loud(tmp_path):
    """A ledger that promises too much, from the start on, stands for a wrong bound."""
    probed = Probed(make_deep(), tmp_path, "--precision", "as-is", "--probe", "all")
    ledger = json.loads(pathlib.Path(probed.ledger).read_text())
    entry = next(probe for probe in ledger["probes"] if probe["tensor"] == "h2")
    entry["bound"] = {"lo": -1e-3, "hi": 1e-3}
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(ledger))
    feed = {"x": numpy.ones((1, 8), numpy.float32), "shift": numpy.array([2], numpy.float32)}
    record = probed.run(feed)
    done = run_mpopt("--confirm", record, "--ledger", wrong)
    assert done.returncode == 2 and "is a record of another ledger" in done.stderr
    # The probes carry the ledger's hash.
    sound = hashlib.sha256(pathlib.Path(probed.ledger).read_bytes())
    forged = hashlib.sha256(wrong.read_bytes())
    model = probed.file.read_bytes()
    assert sound.hexdigest().encode() in model
    probed.file.write_bytes(model.replace(sound.hexdigest().encode(),
                                          forged.hexdigest().encode()))
    probed.ledger = wrong
    report = probed.confirm(probed.run(feed), status=1, options=["--select", "MP1"])
    assert [(entry["tensor"], entry["kind"]) for entry in report["exceeded"]] == [("h2", "bound")]


def test_an_epsilon_that_flushes_under_a_root(tmp_path):
    """1e-12 is 0 in FP16, and so is its root, which is 1e-6 in a run in FP32."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    norm (float[2, 4] x) => (float[2, 4] y)
    <float eps = {1e-12}, int64[1] axes = {1}>
    {
      s = Mul (x, x)
      t = ReduceSum (s, axes)
      u = Add (t, eps)
      r = Sqrt (u)
      y = Div (x, r)
    }
    """
    probed = Probed(parser.parse_model(text), tmp_path, "--precision", "fp16")

    def status(x):
        return [(finding["status"], finding["observed"]["tensor"])
                for finding in probed.confirm(probed.run({"x": x}))["findings"]
                if finding["rule"] == "MP206"]
    assert status(numpy.ones((2, 4), numpy.float32)) == [("refuted", "r")]
    assert status(numpy.zeros((2, 4), numpy.float32)) == [("confirmed", "u")]


def test_a_long_sum_is_judged_by_the_terms_that_were_seen(tmp_path):
    """350 terms: their roundings are a tenth of the sum if the terms are around 0, and less
    if they are alike."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    long (float[2, 350] x) => (float[2] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }
    """
    probed = Probed(parser.parse_model(text), tmp_path, "--precision", "fp16",
                    "--target", "strict16")
    ones = numpy.ones((2, 350), numpy.float32)
    around = numpy.random.default_rng(0).standard_normal((2, 350)).astype(numpy.float32)
    for x, status in ((ones, "refuted"), (around, "confirmed"), (0 * ones, "refuted")):
        finding, = [found for found in probed.confirm(probed.run({"x": x}))["findings"]
                    if found["rule"] == "MP304"]
        watch, = finding["decided_by"]
        assert (watch["test"], watch["tensor"], watch["terms"]) == ("sum-error", "x", 350)
        assert finding["status"] == status, finding.get("status_why")


def test_channels_of_different_size_are_seen(tmp_path):
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    channels (float[2, 4] x) => (float[2, 4] y) <float[4] s = {30000, 1, 1, 1}> {
      y = Mul (x, s)
    }
    """
    probed = Probed(parser.parse_model(text), tmp_path, "--precision", "fp16",
                    "--input", "x=-2:2", "--input", "x~0,1")
    ledger = json.loads(pathlib.Path(probed.ledger).read_text())
    assert {probe["tensor"]: probe.get("channel_axis") for probe in ledger["probes"]} == {
        "x": None, "y": 1}
    onnx.checker.check_model(onnx.load(probed.file), full_check=True)
    # Without the library, too.
    onnxruntime.InferenceSession(probed.file, providers=["CPUExecutionProvider"]).run(
        None, {"x": numpy.ones((2, 4), numpy.float32)})
    for first, status in ((1, "confirmed"), (1e-3, "refuted"), (0, "refuted")):
        x = numpy.ones((2, 4), numpy.float32)
        x[:, 0] = first
        finding, = [found for found in probed.confirm(probed.run({"x": x}))["findings"]
                    if found["rule"] == "MP305"]
        assert finding["status"] == status, finding.get("status_why")


KILLED = """
import os, signal, sys, numpy, mpopt
session = mpopt.probe_session(sys.argv[1], record=sys.argv[2])
x = numpy.ones((1, 8), numpy.float32)
for shift in (2, 2, -5):
    session.run(None, {"x": x, "shift": numpy.array([shift], numpy.float32)})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_that_was_killed_tells_what_it_saw(tmp_path):
    """NaN is written at once, whatever happens next."""
    probed = Probed(make_deep(), tmp_path, "--precision", "as-is")
    record = tmp_path / "killed.mprec"
    done = subprocess.run([sys.executable, "-c", KILLED, probed.file, record],
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          capture_output=True, timeout=120)
    assert done.returncode < 0
    done = run_mpopt("--confirm", record, "--ledger", probed.ledger, "--format", "json")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "the run did not end in order" in done.stderr
    assert json.loads(done.stdout)["first_bad"]["tensor"] == "root"


def test_empty_tensors_exercise_nothing(tmp_path):
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    empty (float[n] x) => (float[n] y) { y = Exp (x) }
    """
    probed = Probed(parser.parse_model(text), tmp_path, "--precision", "fp16",
                    "--input", "x=-20:20")
    report = probed.confirm(probed.run({"x": numpy.zeros(0, numpy.float32)}), status=0)
    found = [finding for finding in report["findings"] if finding["rule"] == "MP207"]
    assert [finding["status"] for finding in found] == ["not-exercised"]
    assert found[0]["status_why"] == "it was empty whenever it ran"
    assert found[0]["observed"]["count"] == 0 and found[0]["observed"]["min"] is None


def test_the_python_package_reads_it(tmp_path):
    probed = Probed(make_deep(), tmp_path, "--precision", "as-is")
    x = numpy.ones((1, 8), numpy.float32)
    record = probed.run({"x": x, "shift": numpy.array([-5], numpy.float32)})
    verdict = mpopt.confirm(record, probed.ledger)
    assert verdict.first_bad["op"]["name"] == "/norm/Sqrt"
    assert [finding.rule for finding in verdict.by_status("confirmed")][:1] == ["MP205"]
    assert verdict.by_status("confirmed")[0].observed.count > 0
