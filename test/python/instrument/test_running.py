"""Running probed ONNX models: sessions, `python -m mpopt.run`, and what records hold."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, parser
from tool import BUILD, ROOT


import mpopt
import mpopt.run
from mpopt.recorder import FORMATS, NEVER, Recorder

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) {
  a = Exp (x)
  b = Mul (a, a)
  y = Log (b)
}"""


@pytest.fixture
def probed(tmp_path):
    return mpopt.instrument(parser.parse_model(MODEL), tmp_path / "p.onnx", probe="all",
                            dims={"N": 2})


def tensors(probed, feeds):
    """Every probed tensor of every step, by numpy."""
    model = onnx.load(probed.path)
    del model.graph.output[:]
    names = [probe.tensor for probe in probed.probes]
    model.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                              for name in names if name != "x")
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    steps = [dict(zip([value.name for value in session.get_outputs()], session.run(None, feed),
                      strict=True), x=feed["x"]) for feed in feeds]
    return {name: numpy.stack([step[name] for step in steps]) for name in names}


FEEDS = [{"x": numpy.float32(values)} for values in (
    [[0, 1, 2, 3], [-1, -2, -3, -4]], [[50, 60, -60, -50], [5, 5.5, 5.6, 6]],
    [[numpy.nan, numpy.inf, -numpy.inf, 0], [100, -100, 1e-30, -1e30]])]


def agrees(record, values):
    """A record against numpy's view of all steps."""
    finite = values[numpy.isfinite(values)].astype(numpy.float64)
    size = numpy.abs(finite)
    assert record.count == values.size and record.calls == len(values)
    assert record.nan == numpy.isnan(values).sum()
    assert record.pos_inf == (values == numpy.inf).sum()
    assert record.neg_inf == (values == -numpy.inf).sum()
    assert record.zero == (finite == 0).sum()
    assert (record.min, record.max, record.absmax) == (finite.min(), finite.max(), size.max())
    assert record.min_nonzero == size[size > 0].min()
    bad = [step for step in range(len(values)) if numpy.isnan(values[step]).any()]
    assert record.first_nan_step == (bad[0] if bad else NEVER)


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_session_records_every_value(probed, level, tmp_path):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    options.log_severity_level = 4
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec", sess_options=options)
    for feed in FEEDS:
        session.run(None, feed)
    expected = tensors(probed, FEEDS)
    for probe in probed.probes:
        agrees(session.recorder.read(probe.id), expected[probe.tensor])
    session.recorder.close()
    assert pathlib.Path(session.recorder.path) == tmp_path / "r.mprec"
    # Ended in order, although the session is still there.
    for _ in range(2):
        done = subprocess.run([BUILD / "bin" / "mpopt", "--confirm", tmp_path / "r.mprec",
                               "--ledger", probed.ledger, "--fail-on", "never"],
                              capture_output=True, text=True, check=False)
        assert done.stderr == ""
        session.run(None, FEEDS[0])
        session.recorder = Recorder(mpopt.recorder.ledger_hash(probed.ledger))
        session.recorder.close()


def test_statistics_as_outputs_make_the_same_record(probed, tmp_path):
    """But for the histogram and the sums, which standard ops do not give."""
    other = mpopt.instrument(parser.parse_model(MODEL), tmp_path / "o.onnx", probe="all",
                             probe_with="outputs", dims={"N": 2})
    numpy.savez(tmp_path / "x.npz", x=numpy.stack([feed["x"] for feed in FEEDS]))
    records = {}
    for kind, model in (("op", probed), ("outputs", other)):
        recorder = Recorder(mpopt.recorder.ledger_hash(model.ledger), tmp_path / f"{kind}.mprec")
        assert mpopt.run.main([str(model.path), "--data", str(tmp_path / "x.npz")]) == 0
        records[kind] = {probe.tensor: recorder.read(probe.id) for probe in model.probes}
        recorder.close()
    assert records["op"].keys() == records["outputs"].keys()
    for name, record in records["op"].items():
        twin = records["outputs"][name]
        for field in ("calls", "count", "nan", "pos_inf", "neg_inf", "zero", "min", "max", "absmax",
                      "min_nonzero", "first_nan_step", "first_inf_step", "absmax_step"):
            assert getattr(record, field) == getattr(twin, field), (name, field)
        for index in range(len(FORMATS) - 1):
            assert record.first_overflow_step[index] == twin.first_overflow_step[index]
            assert record.first_flush_step[index] == twin.first_flush_step[index]


def test_session_of_statistics_as_outputs(tmp_path):
    """`run` gives what the original gives, and the recorder has the statistics."""
    model = parser.parse_model(MODEL)
    probed = mpopt.instrument(model, tmp_path / "o.onnx", probe="all", probe_with="outputs",
                              dims={"N": 2})
    plain = onnxruntime.InferenceSession(model.SerializeToString(),
                                         providers=["CPUExecutionProvider"])
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    a = next(probe for probe in probed.probes if probe.tensor == "a")
    counts = f"mpopt.probe.{a.id}.counts"
    for feed in FEEDS[:2]:
        (result,) = session.run(None, feed)
        numpy.testing.assert_array_equal(result, plain.run(None, feed)[0])
        assert [len(session.run(names, feed)) for names in (["y"], [counts, "y"])] == [1, 2]
    assert session.run([counts, "y"], FEEDS[0])[0].shape == (13,)
    expected = tensors(probed, [feed for feed in FEEDS[:2] for _ in range(3)] + FEEDS[:1])
    for probe in probed.probes:
        values, record = expected[probe.tensor], session.recorder.read(probe.id)
        assert (record.calls, record.count) == (7, values.size)
        finite = values[numpy.isfinite(values)]
        assert (record.min, record.max) == (finite.min(), finite.max())
    # As the op would: by period, and not while disabled.
    session.recorder.enable(False)
    session.run(None, FEEDS[2])
    session.recorder.enable()
    session.recorder.set_step(6)
    session.recorder.set_period(4)
    session.run(None, FEEDS[2])
    assert (session.recorder.read(a.id).calls, session.recorder.read(a.id).nan) == (7, 0)
    session.recorder.set_step(8)
    session.run(None, FEEDS[2])
    record = session.recorder.read(a.id)
    assert (record.calls, record.skipped, record.nan) == (8, 2, 1)
    assert (record.first_nan_step, record.first_step) == (8, 0)
    session.recorder.close()
    assert mpopt.confirm(tmp_path / "r.mprec", probed.ledger).first_bad
    # Neither kind is run where nothing records it.
    with pytest.raises(mpopt.Error, match="run"):
        session.run_with_iobinding(session.io_binding())


def test_session_without_the_op_library(probed, tmp_path, monkeypatch):
    """Only probes that are ops need it."""
    def missing():
        raise mpopt.Error("built without the op library")

    monkeypatch.setattr(mpopt.sessions, "op_library", missing)
    other = mpopt.instrument(parser.parse_model(MODEL), tmp_path / "o.onnx", probe="all",
                             probe_with="outputs")
    session = mpopt.probe_session(other.path, record=tmp_path / "r.mprec")
    session.run(None, FEEDS[0])
    assert session.recorder.read(other.probes[0].id).calls == 1
    session.recorder.close()
    with pytest.raises(mpopt.Error, match="built without"):
        mpopt.probe_session(probed.path, record=tmp_path / "s.mprec")


def test_confirmation(probed, tmp_path):
    """x is NaN in the third step, e^100 infinite: said of the input and of the op."""
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    for feed in FEEDS:
        session.run(None, feed)
    session.recorder.close()
    verdict = mpopt.confirm(tmp_path / "r.mprec", probed.ledger)
    assert verdict.outside_assumptions and not verdict.exceeded
    assert verdict.first_bad["step"] >= 1 and verdict.first_bad["tensor"] in ("a", "b", "x")
    assert {scale["tensor"] for scale in verdict.scales} == {"x", "a", "b", "y"}
    confirmed = verdict.by_status("confirmed")
    assert confirmed and all(finding.observed.count > 0 for finding in confirmed)
    assert mpopt.confirm([tmp_path / "r.mprec"], probed.ledger) == verdict
    with pytest.raises(mpopt.Error):
        mpopt.confirm(tmp_path / "none.mprec", probed.ledger)


def test_idle_and_period(probed, tmp_path):
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    session.recorder.enable(False)
    session.run(None, FEEDS[0])
    session.recorder.enable()
    session.recorder.set_period(3)
    for _ in range(6):
        session.run(None, FEEDS[0])
    record = session.recorder.read(probed.probes[0].id)
    assert (record.calls, record.skipped) == (2, 5)
    session.recorder.close()


def run(*arguments, **keywords):
    return subprocess.run([sys.executable, "-m", "mpopt.run", *map(str, arguments)],
                          capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, **keywords)


def test_run(probed, tmp_path):
    done = run(probed.path, "--random", "7", "--record", tmp_path / "r.mprec", "--dim", "N=3")
    assert done.returncode == 0 and done.stdout == f"{tmp_path / 'r.mprec'}: 7 steps\n"
    assert done.stderr == ""
    assert (tmp_path / "r.mprec").exists()


@pytest.mark.parametrize("probe_with", ["op", "outputs"])
def test_inputs_without_axes(tmp_path, probe_with):
    """Each step of which is a number."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x, float k, int64 i, bool b) => (float[2] y, int64 j, bool c) {
          y = Mul (x, k)
          j = Identity (i)
          c = Not (b)
        }""")
    probed = mpopt.instrument(model, tmp_path / "p.onnx", probe="all", probe_with=probe_with)
    numpy.savez(tmp_path / "many.npz", x=numpy.ones((3, 2)), k=numpy.arange(3.0),
                i=numpy.arange(3), b=numpy.array([True, False, True]))
    numpy.savez(tmp_path / "one.npz", x=numpy.ones(2), k=numpy.float32(2), i=1, b=True)
    probe = next(probe for probe in probed.probes if probe.tensor == "k")
    for source, calls, greatest in ((("--data", tmp_path / "many.npz"), 3, 2),
                                    (("--data", tmp_path / "one.npz"), 1, 2),
                                    (("--random", "2"), 2, None)):
        with Recorder(mpopt.recorder.ledger_hash(probed.ledger), tmp_path / "r.mprec") as recorder:
            assert mpopt.run.main([str(probed.path), *map(str, source)]) == 0
            record = recorder.read(probe.id)
        assert (record.calls, record.count) == (calls, calls)
        assert greatest is None or record.max == greatest
        (tmp_path / "r.mprec").unlink()


@pytest.mark.parametrize("arguments, text", [
    (("--random", "0"), "--random: at least one step, not '0'"),
    (("--random", "-3"), "--random: at least one step, not '-3'"),
    (("--random", "many"), "--random: at least one step, not 'many'"),
    (("--random", "1", "--dim", "N"), "--dim: 'N' is not NAME=N"),
    (("--random", "1", "--dim", "N=x"), "--dim: 'N=x' is not NAME=N"),
    (("--random", "1", "--dim", "N=-1"), "--dim: 'N=-1' is not NAME=N"),
    (("--random", "1", "--dim", "batch=3"), "--dim: the model has no symbolic dimension 'batch'")])
def test_run_refuses_options(probed, arguments, text, capsys):
    try:
        status = mpopt.run.main([str(probed.path), *arguments])
    except SystemExit as error:
        status = error.code
    said = capsys.readouterr()
    assert status == 2 and said.err == f"mpopt: error: {text}\n" and said.out == ""


def test_run_without_the_ledger(probed):
    probed.ledger.unlink()
    done = run(probed.path, "--random", "1")
    assert done.returncode == 2 and done.stderr.startswith("mpopt: error: ")
    assert len(done.stderr.splitlines()) == 1


def test_unprobed_model(tmp_path):
    file = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(MODEL), file)
    with pytest.raises(mpopt.Error, match="has no probes"):
        mpopt.probe_session(file)


def test_interrupt_leaves_a_whole_record(probed, tmp_path):
    record = tmp_path / "r.mprec"
    process = subprocess.Popen(
        [sys.executable, "-m", "mpopt.run", probed.path, "--random", "100000000",
         "--record", record], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    for _ in range(600):
        if record.exists() and record.stat().st_size > 4096:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "(interrupted)" in output
    # The header's last word says that the recorder was closed in order.
    data = record.read_bytes()
    assert data[:8] == b"MPREC\r\n\x1a"
    steps = int(output.split(": ")[1].split()[0])
    assert steps > 0 and json.loads(probed.ledger.read_text())["probes"]


def test_killed_runs_leave_a_record(probed, tmp_path):
    record = tmp_path / "r.mprec"
    process = subprocess.Popen(
        [sys.executable, "-m", "mpopt.run", probed.path, "--random", "100000000",
         "--record", record], env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                                   "MPOPT_FLUSH_MS": "10"})
    for _ in range(600):
        if record.exists() and record.stat().st_size > 4096:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert record.read_bytes()[:8] == b"MPREC\r\n\x1a"
