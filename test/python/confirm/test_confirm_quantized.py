"""`--instrument` and `--confirm` of a quantised file: a run decides which values pass the ends of their codes."""

from __future__ import annotations

import json
import re

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import QuantType
from quantized_networks import WIDTH, make_network, quantize
from tool import run_mpopt

import mpopt


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probed")
    network, codes, file = (folder / f"{name}.onnx" for name in ("net", "codes", "probed"))
    make_network(network)
    quantize(network, codes, factor=0.1, weight_type=QuantType.QInt8, per_channel=True)
    done = run_mpopt("--instrument", codes, "-o", file, "--dim", "N=16", "--input", "x~0,1", "--input", "x=-10:10")
    assert done.returncode == 0, done.stderr
    return file


def confirm(file, size: float, name: str) -> dict[str, tuple[str, str]]:
    """What a run with inputs of that deviation says of MP602, by tensor."""
    record = file.parent / f"{name}.mprec"
    session = mpopt.probe_session(file, record=record)
    try:
        session.run(None, {"x": np.random.default_rng(3).normal(0, size, (16, WIDTH)).astype("f4")})
    finally:
        session.recorder.close()
    done = run_mpopt("--confirm", record, "--ledger", f"{file}.probes.json", "--format", "json")
    findings = [f for f in json.loads(done.stdout)["findings"] if f["rule"] == "MP602"]
    return {f["tensor"]: (f["status"], f.get("status_why", "")) for f in findings}


def test_saturation_is_seen(probed):
    seen = confirm(probed, 1.0, "declared")
    assert seen["x"][0] == "confirmed" and {status for status, _ in seen.values()} <= {"confirmed", "refuted"}


def test_the_share_that_saturates_is_told(probed):
    """Beside the expected one: by the histogram, between bounds that hold the true share."""
    model = onnx.load(probed.parent / "codes.onnx")
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    node = next(n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == "x")
    scale, zero = (known[name].astype("f8") for name in node.input[1:])
    lo, hi = ((np.iinfo(known[node.input[2]].dtype).min - zero - 0.5) * scale, (np.iinfo(known[node.input[2]].dtype).max - zero + 0.5) * scale)
    x = np.random.default_rng(3).normal(0, 1.0, (16, WIDTH)).astype("f4")
    share = 100 * np.mean((x < lo) | (x > hi))
    least, most = map(float, re.match(r"between (\S+) and (\S+) % of its values", confirm(probed, 1.0, "shares")["x"][1]).groups())
    assert least <= share <= most


def test_calibrated_inputs_saturate_nothing(probed):
    assert confirm(probed, 0.05, "calibrated")["x"][0] == "refuted"
