"""Where NaN and Inf began: which op is named when branches and loops run at other times than
the rest, in threads, beside infinities that do no harm, and whether the way to it exists."""

import concurrent.futures
import json
import pathlib

import numpy
import onnx
import onnxruntime
import pytest
from onnx import parser
from tool import run_mpopt


import mpopt
from mpopt.recorder import Recorder, new_record


# The division makes NaN where a row is 0; the branch that reads it is taken late.
BRANCH = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 4] x, bool flag) => (float[2, 4] y) <int64[1] last = {1}> {
  [Relu] h = Relu (x)
  [Sum] sum = ReduceSum <keepdims = 1> (h, last)
  [Div] q = Div (h, sum)
  [Tanh] t = Tanh (q)
  [If] y = If (flag) <
    then_branch = a () => (float[2, 4] u) { [Exp] e = Exp (t)  [Twice] u = Add (e, e) },
    else_branch = b () => (float[2, 4] v) { [Half] v = Sub (t, q) }>
}"""

# What is carried overflows in a round; the product is of the round after it.
LOOP = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x, int64 n) => (float[4] y) <bool yes = {1}, float two = {2}> {
  [Loop] y = Loop (n, yes, x) <
    body = b (int64 i, bool c, float[4] at) => (bool more, float[4] next) {
      [Keep] more = Identity (c)
      [Mul] twice = Mul (at, two)
      [Exp] grown = Exp (twice)
      [Sub] next = Sub (grown, two)
    }>
}"""

# The logarithm of 0 becomes an index, and a tensor between that is proved finite.
HARMLESS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x, float[4] p) => (float[4] y) <
    float big = {3e38}, int64 most = {3}, int64 least = {0}, float[4] table = {1, 2, 3, 4}> {
  [Abs] a = Abs (p)
  [Log] l = Log (a)
  [Index] i = Cast <to = 7> (l)
  [Clip] j = Clip (i, least, most)
  [Gather] row = Gather (table, j)
  [Sigmoid] s = Sigmoid (l)
  [Scale] z = Mul (x, big)
  [Product] w = Mul (z, s)
  [Out] y = Add (w, row)
}"""


def build(text, folder, *options):
    model = parser.parse_model(text)
    # The parser has names for results only.
    onnx.save(name_nodes(model), folder / "model.onnx")
    return mpopt.instrument(folder / "model.onnx", folder / "probed.onnx", precision="as-is",
                            **dict(options))


def name_nodes(model):
    def visit(graph):
        for node in graph.node:
            node.name = node.name or f"/{node.op_type}"
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    visit(attribute.g)
    visit(model.graph)
    onnx.checker.check_model(model)
    return model


def feeds_of_branch():
    """NaN from run 4 on, the branch from run 6 on."""
    x = numpy.ones((2, 4), numpy.float32)
    bad = x.copy()
    bad[0] = 0
    return [{"x": bad if run >= 4 else x, "flag": numpy.array(run >= 6)} for run in range(8)]


def confirm(session, probed):
    session.recorder.close()
    return mpopt.confirm(session.recorder.path, probed.ledger)


def names(verdict):
    return [entry["op"]["name"] for entry in verdict.beginnings]


def check_text(record, ledger):
    """The text never denies what it prints."""
    done = run_mpopt("--confirm", record, "--ledger", ledger, "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    head = " ".join(done.stdout.split("confirmed ")[0].split())
    if "was ever NaN or infinite" in head:
        before = head.split("- before it,", 1)[-1].split("- also began")[0]
        assert " NaN" not in before and " Inf" not in before and " -Inf" not in before
    return head


@pytest.mark.parametrize("first_step", [None, 100])
def test_a_branch_that_is_taken_late(first_step, tmp_path):
    """Each run is a step, without a word of the user; who counts otherwise may."""
    probed = build(BRANCH, tmp_path)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    for run, feed in enumerate(feeds_of_branch()):
        if first_step is not None:
            session.recorder.set_step(first_step + run)
        session.run(None, feed)
    verdict = confirm(session, probed)
    assert names(verdict) == ["Div"]
    assert verdict.first_bad["step"] == 4 + (first_step or 0)
    assert verdict.first_bad["shared_steps"] and verdict.first_bad["sure"]
    assert verdict.first_bad["reaches"] == "output"
    late = next(finding for finding in verdict.findings
                if finding.op.name == "Exp" and finding.rule == "MP501")
    assert late.observed.first_step == 6 + (first_step or 0)
    assert f"step {4 + (first_step or 0)}" in check_text(session.recorder.path, probed.ledger)


def test_probes_that_count_for_themselves(tmp_path):
    """A session that nobody wrapped: the numbers of one probe's calls order no others."""
    probed = build(BRANCH, tmp_path)
    recorder = Recorder(probed.ledger, tmp_path / "r.mprec")
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(mpopt.op_library()))
    session = onnxruntime.InferenceSession(str(probed.path), options,
                                           providers=["CPUExecutionProvider"])
    session.recorder = recorder
    for feed in feeds_of_branch():
        session.run(None, feed)
    verdict = confirm(session, probed)
    assert names(verdict) == ["Div"]
    assert not verdict.first_bad["shared_steps"]
    assert "its call 4" in check_text(session.recorder.path, probed.ledger)


@pytest.mark.parametrize("form", ["run", "run_with_iobinding", "run_with_ort_values"])
def test_every_way_to_run_is_a_step(form, tmp_path):
    probed = build(BRANCH, tmp_path)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    for feed in feeds_of_branch():
        values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value)
                  for name, value in feed.items()}
        if form == "run":
            session.run(None, feed)
        elif form == "run_with_ort_values":
            session.run_with_ort_values(None, values)
        else:
            binding = session.io_binding()
            for name, value in values.items():
                binding.bind_ortvalue_input(name, value)
            binding.bind_output("y")
            session.run_with_iobinding(binding)
    verdict = confirm(session, probed)
    assert names(verdict) == ["Div"] and verdict.first_bad["step"] == 4


def test_runs_in_threads(tmp_path):
    """A call has the number of the run of its thread: what an op read is never later."""
    probed = build(BRANCH, tmp_path)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    feeds = feeds_of_branch() * 40
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda feed: session.run(None, feed), feeds))
    verdict = confirm(session, probed)
    assert names(verdict) == ["Div"]
    record = mpopt.confirm(session.recorder.path, probed.ledger).raw["first_bad"]
    assert record["observed"]["calls"] == len(feeds)


def test_a_session_runs_on_after_its_recorder_was_closed(tmp_path):
    probed = build(BRANCH, tmp_path)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    session.run(None, feeds_of_branch()[0])
    session.recorder.close()
    session.run(None, feeds_of_branch()[4])
    with Recorder(probed.ledger) as seen:
        seen.flush()
    assert mpopt.confirm(session.recorder.path, probed.ledger).first_bad["step"] == 1


def test_what_a_loop_carries(tmp_path):
    """All rounds of a run are one step, and each op of the loop read something bad."""
    probed = build(LOOP, tmp_path, ("probe", "all"))
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    result, = session.run(None, {"x": numpy.ones(4, numpy.float32), "n": numpy.array(5)})
    assert numpy.isinf(result).all()
    verdict = confirm(session, probed)
    assert names(verdict) == ["Exp"]
    assert not verdict.first_bad["sure"]
    text = check_text(session.recorder.path, probed.ledger)
    assert "begins here, or in another op of this loop" in text
    # All others follow from it, those that come before it in the body too.
    known = {finding.fingerprint for finding in verdict.findings if finding.status == "confirmed"}
    roots = {finding.op.name for finding in verdict.findings
             if finding.rule == "MP501" and finding.root not in known}
    assert roots <= {"Exp"}


def test_an_infinity_that_does_no_harm_comes_last(tmp_path):
    probed = build(HARMLESS, tmp_path)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    good, large = (numpy.full(4, value, numpy.float32) for value in (0.1, 2))
    for x in (good, large):
        result, = session.run(None, {"x": x, "p": numpy.zeros(4, numpy.float32)})
    verdict = confirm(session, probed)
    assert not numpy.isfinite(result).all()
    assert names(verdict) == ["Scale", "Log"]
    assert [entry["reaches"] for entry in verdict.beginnings] == ["output", "nothing"]
    assert verdict.first_bad == verdict.beginnings[0] and verdict.first_bad["step"] == 1
    text = check_text(session.recorder.path, probed.ledger)
    assert "also began at l (Log, Log), step 0: nothing came of it" in text


def edges_of(model):
    """Pairs of node names, one of which reads what the other makes."""
    makes = {output: node.name for node in model.graph.node for output in node.output}
    return {(makes[name], node.name) for node in model.graph.node for name in node.input
            if name in makes}


def make_residual():
    """Blocks in which an op's operands come from far apart; one takes a logarithm."""
    lines, at = [], "x"
    for block in range(6):
        lines += [f"[N{block}] n{block} = Tanh ({at})", f"[Q{block}] q{block} = MatMul (n{block}, w)",
                  f"[E{block}] e{block} = Exp (q{block})",
                  f"[S{block}] s{block} = ReduceSum <keepdims = 1> (e{block}, last)",
                  f"[D{block}] d{block} = Div (e{block}, s{block})",
                  f"[A{block}] a{block} = Add ({at}, d{block})"]
        at = f"a{block}"
    lines += [f"[Log] l = Log ({at})", "[Out] y = Sub (l, n0)"]
    return parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]>\n'
        "g (float[4, 4] x) => (float[4, 4] y) <int64[1] last = {1}, float[4, 4] w = {"
        + ", ".join(["0.1"] * 16) + "}> {\n" + "\n".join(lines) + "\n}")


@pytest.mark.parametrize("probe", ["findings", "all", "^(s.*|l|a2)$"])
def test_the_chain_is_a_way_through_the_model(probe, tmp_path):
    model = name_nodes(make_residual())
    onnx.save(model, tmp_path / "model.onnx")
    probed = mpopt.instrument(tmp_path / "model.onnx", tmp_path / "probed.onnx",
                              precision="as-is", probe=probe)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    session.run(None, {"x": numpy.full((4, 4), -9, numpy.float32)})
    verdict = confirm(session, probed)
    chain = verdict.first_bad["chain"]
    assert chain[-1] == "Log" and len(chain) > 6
    assert set(zip(chain, chain[1:], strict=False)) <= edges_of(model)
    # Of every probe, the way from the probe that it names.
    ledger = json.loads(pathlib.Path(probed.ledger).read_text())
    for entry in ledger["probes"]:
        way = entry["via"]
        assert set(zip(way, way[1:], strict=False)) <= edges_of(model)
        if "via_from" in entry:
            start = ledger["probes"][entry["via_from"]]
            assert entry["via_from"] in entry["from"]
            if "op" in start:
                assert (start["op"]["name"], way[0]) in edges_of(model)


def test_an_older_ledger(tmp_path):
    """It does not say where a way begins: the chain is what its own probe knows."""
    probed = build(BRANCH, tmp_path)
    ledger = json.loads(pathlib.Path(probed.ledger).read_text())
    for entry in ledger["probes"]:
        for key in ("via_from", "blocked", "output", "from_more"):
            entry.pop(key, None)
    older = tmp_path / "older.json"
    older.write_text(json.dumps(ledger))
    with Recorder(older, tmp_path / "r.mprec") as seen:
        quotient = next(entry for entry in ledger["probes"] if entry["tensor"] == "q")
        record = new_record(quotient["id"])
        record.calls = record.count = record.nan = 1
        record.dtype, record.first_nan_step = 1, 7
        seen.merge(record)
    verdict = mpopt.confirm(tmp_path / "r.mprec", older)
    assert verdict.first_bad["chain"] == quotient["via"]
    assert verdict.first_bad["reaches"] == "nothing"


# Two calls, one of them by way of another function, one in a branch.
FUNCTIONS = """<ir_version: 8, opset_import: ["" : 17, "d" : 1]>
g (float[N] x, bool flag) => (float[N] y) {
  a = d.twice (x)
  b = d.root (a)
  y = If (flag) <
    then_branch = one () => (float[N] u) { c = d.root (b)  u = Neg (c) },
    else_branch = two () => (float[N] v) { v = Neg (b) }>
}
<domain: "d", opset_import: ["" : 17, "d" : 1]> twice (p) => (q) { r = d.root (p) q = Abs (r) }
<domain: "d", opset_import: ["" : 17]> root (p) => (q) { r = Sqrt (p) q = Log (r) }"""


def test_results_of_functions(tmp_path):
    """What a call gives is a tensor of the graph around it; ops within are told, not picked."""
    probed = build(FUNCTIONS, tmp_path, ("probe", "all"))
    tensors = [probe.tensor for probe in probed.probes]
    assert tensors == ["x", "flag", "a", "b", "/If/then_branch/c", "/If/then_branch/u",
                       "/If/else_branch/v", "y"]
    assert not probed.unprobed
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    feed = {"x": numpy.array([4, 9, 20], numpy.float32), "flag": numpy.array(True)}
    plain = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"),
                                         providers=["CPUExecutionProvider"])
    numpy.testing.assert_array_equal(session.run(None, feed)[0], plain.run(None, feed)[0])
    verdict = confirm(session, probed)
    # log(sqrt(a)) of 4 is below 0: its root is none.
    assert [probe.tensor for probe in probed.probes
            if probe.id == verdict.first_bad["probe"]] == ["/If/then_branch/c"]
    assert not verdict.first_bad["sure"]
    assert "or in Sqrt_0 before it, inside a function" in verdict.first_bad["why"]
    assert verdict.first_bad["chain"][-2:] == ["Sqrt_0", "Log_1"]
