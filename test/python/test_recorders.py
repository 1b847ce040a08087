"""The recorders of a process: calls that were all skipped."""

import os
import pathlib
import subprocess
import sys

import numpy
import pytest
from onnx import parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MPOPT_BUILD", ROOT / "build")).resolve()
os.environ["MPOPT_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "python"))

import mpopt  # noqa: E402

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
