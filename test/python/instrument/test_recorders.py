"""The recorders of a process: to which file probes record when there are several after
each other, what children leave, and calls that were all skipped."""

import os
import subprocess
import sys

import numpy
import pytest
from onnx import parser
from tool import BUILD, ROOT

torch = pytest.importorskip("torch", reason="torch is not in this environment")

if not (BUILD / "lib" / "libmpopt_torch.so").exists():
    pytest.skip("this build has no op library for PyTorch", allow_module_level=True)

import mpopt  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402

NAN = float("nan")


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.log(torch.exp(x) + 1)


@pytest.fixture
def probed(tmp_path):
    torch.jit.script(Model()).save(str(tmp_path / "m.pt"))
    return mpopt.instrument(tmp_path / "m.pt", tmp_path / "p.pt", probe="all",
                            precision="as-is", input_shapes={"x": (4,)})


def bad_values(record, probed):
    first = mpopt.confirm(record, probed.ledger).first_bad
    return first and first["observed"]["nan"]


# -- one after the other ---------------------------------------------------------------------

@pytest.mark.parametrize("again", ["the same archive", "another copy"])
def test_a_new_recorder_gets_what_follows(probed, tmp_path, again):
    one, two = tmp_path / "one.mprec", tmp_path / "two.mprec"
    module = torch.jit.load(probed.path)
    first = Recorder(probed.ledger, one)
    module(torch.zeros(4))
    first.close()
    second = Recorder(probed.ledger, two)
    if again == "another copy":
        module = torch.jit.load(probed.path)
    module(torch.full((4,), NAN))
    assert second.path == str(two)
    assert second.read(0).calls == 1
    second.enable(False)
    module(torch.zeros(4))
    second.enable()
    second.set_step(8)
    module(torch.zeros(4))
    second.set_period(5)
    module(torch.zeros(4))
    record = second.read(0)
    assert (record.calls, record.skipped, record.last_step) == (2, 2, 8)
    second.close()
    assert (bad_values(one, probed), bad_values(two, probed)) == (None, 4)
    # Nobody opened another one: the rest goes where the last went.
    module(torch.full((4,), NAN))
    with Recorder(probed.ledger) as rest:
        assert rest.path == str(two)
        rest.set_step(10)
        module(torch.full((4,), NAN))
    assert bad_values(two, probed) == 8


def test_from_another_thread(probed, tmp_path):
    """Each thread remembers its recorder."""
    import concurrent.futures

    module = torch.jit.load(probed.path)
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        for name in ("one", "two", "three"):
            with Recorder(probed.ledger, tmp_path / f"{name}.mprec") as seen:
                thread.submit(module, torch.zeros(4)).result()
                module(torch.zeros(4))
                assert seen.read(0).calls == 2, name


def test_two_at_once_are_refused(probed, tmp_path):
    module = torch.jit.load(probed.path)
    with Recorder(probed.ledger, tmp_path / "one.mprec") as first:
        module(torch.zeros(4))
        with pytest.raises(mpopt.Error, match="one.mprec'.*close"):
            Recorder(probed.ledger, tmp_path / "two.mprec")
        # The same file, or none, is the same recorder.
        for record in (tmp_path / "one.mprec", None):
            with Recorder(probed.ledger, record) as same:
                same.enable(False)
                assert same.path == first.path
            module(torch.zeros(4))
            first.enable()
        assert (first.read(0).calls, first.read(0).skipped) == (1, 2)
    assert not (tmp_path / "two.mprec").exists()
    # One that nobody has any more is in nobody's way.
    Recorder(probed.ledger, tmp_path / "dropped.mprec")
    with Recorder(probed.ledger, tmp_path / "two.mprec") as second:
        module(torch.zeros(4))
        assert second.read(0).calls == 1


def test_sessions_keep_their_own(tmp_path):
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N] x) => (float[N] y) { y = Exp(x) }""")
    probed = mpopt.instrument(model, tmp_path / "p.onnx", probe="all")
    sessions = [mpopt.probe_session(probed.path, record=tmp_path / f"{index}.mprec")
                for index in range(2)]
    for index, session in enumerate(sessions):
        for _ in range(index + 1):
            session.run(None, {"x": numpy.zeros(3, "f")})
    with pytest.raises(mpopt.Error, match="1.mprec|0.mprec"):
        Recorder(probed.ledger, tmp_path / "other.mprec")
    for index, session in enumerate(sessions):
        assert session.recorder.read(0).calls == index + 1
        session.recorder.close()


# -- children --------------------------------------------------------------------------------

CHILDREN = """
import multiprocessing, os, sys
import torch, mpopt

def work(count):
    module = torch.jit.load(sys.argv[1])
    for _ in range(count):
        module(torch.zeros(4))

if __name__ == "__main__":
    torch.set_num_threads(1)
    work(1)
    context = multiprocessing.get_context(sys.argv[2])
    children = [context.Process(target=work, args=(count,)) for count in (3, 5)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    with context.Pool(1) as pool:
        pool.map(work, [7])
        pool.close()
        pool.join()
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_leave_whole_records(probed, tmp_path, method):
    """Of two processes and a pool; none flushes before its end."""
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    done = subprocess.run(
        [sys.executable, script, probed.path, method], capture_output=True, text=True,
        timeout=300, cwd=tmp_path, check=False,
        env=os.environ | {"MPOPT_RECORD": str(tmp_path / "%p.mprec"), "MPOPT_FLUSH_MS": "1000000",
                          "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    records = list(tmp_path.glob("*.mprec"))
    assert len(records) == 4
    confirmed = mpopt.confirm(records, probed.ledger)
    assert confirmed.raw["confirmation"]["warnings"] == []
    import record_file
    assert sorted(int(record_file.read(file)[1][0][0]["calls"])
                  for file in records) == [1, 3, 5, 7]


# -- all calls skipped -----------------------------------------------------------------------

@pytest.mark.parametrize("how", ["disabled", "period"])
@pytest.mark.parametrize("probe_with", ["op", "outputs"])
def test_skipped_calls_are_told_from_none(tmp_path, how, probe_with):
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N] x) => (float[N] y) { a = Mul(x, x)  y = Exp(a) }""")
    probed = mpopt.instrument(model, tmp_path / "p.onnx", probe="all", precision="fp16",
                              probe_with=probe_with)
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    if how == "disabled":
        session.recorder.enable(False)
    else:
        session.recorder.set_period(10)
        session.recorder.set_step(3)
    session.run(None, {"x": numpy.ones(3, "f")})
    session.recorder.close()
    confirmed = mpopt.confirm(tmp_path / "r.mprec", probed.ledger)
    assert confirmed.findings
    for finding in confirmed.findings:
        assert finding.status == "not-exercised"
        assert finding.raw["status_why"] == "none of its calls was recorded"
    done = subprocess.run([BUILD / "bin" / "mpopt", "--confirm", tmp_path / "r.mprec",
                           "--ledger", probed.ledger], capture_output=True, text=True, check=False)
    assert "no bound was compared: nothing was recorded" in done.stdout


def test_skipped_calls_beside_recorded_ones(tmp_path):
    """Ranges by channel stay, in whatever order the files come."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[2, 4] x) => (float[2, 4] y) <float[4] s = {30000, 1, 1, 1}> {
          y = Mul(x, s)
        }""")
    probed = mpopt.instrument(model, tmp_path / "p.onnx", precision="fp16",
                              inputs={"x": mpopt.Normal(0, 1)})
    code = """
import mpopt, numpy, sys
session = mpopt.probe_session(sys.argv[1], record=sys.argv[2])
for step in sys.argv[3:]:
    session.recorder.enable(step == "on")
    session.run(None, {"x": numpy.ones((2, 4), "f")})
    session.recorder.flush()
session.recorder.close()
"""
    files = {}
    for name, steps in (("off", ["off"]), ("on", ["on"]), ("late", ["off", "on"])):
        files[name] = tmp_path / f"{name}.mprec"
        subprocess.run([sys.executable, "-c", code, probed.path, files[name], *steps], check=True,
                       env=os.environ | {"PYTHONPATH": str(ROOT / "python")})
    for names in (["on"], ["off", "on"], ["on", "off"], ["late"], ["late", "off", "on"]):
        confirmed = mpopt.confirm([files[name] for name in names], probed.ledger)
        assert [(finding.rule, finding.status) for finding in confirmed.findings
                if finding.rule == "MP305"] == [("MP305", "confirmed")], names
        assert confirmed.raw["confirmation"]["warnings"] == []
