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


def draw(size: float) -> np.ndarray:
    return np.random.default_rng(3).normal(0, size, (16, WIDTH)).astype("f4")


def confirm_all(file, size: float, name: str) -> dict:
    """The report of a run with inputs of that deviation."""
    record = file.parent / f"{name}.mprec"
    session = mpopt.probe_session(file, record=record)
    try:
        session.run(None, {"x": draw(size)})
    finally:
        session.recorder.close()
    done = run_mpopt("--confirm", record, "--ledger", f"{file}.probes.json", "--format", "json")
    return json.loads(done.stdout)


def confirm(file, size: float, name: str) -> dict[str, tuple[str, str]]:
    """What such a run says of MP602, by tensor."""
    findings = [f for f in confirm_all(file, size, name)["findings"] if f["rule"] == "MP602"]
    return {f["tensor"]: (f["status"], f.get("status_why", "")) for f in findings}


def scale_of_input(file) -> tuple:
    """The codes' name, scale, zero point and ends."""
    model = onnx.load(file.parent / "codes.onnx")
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    node = next(n for n in model.graph.node if n.op_type == "QuantizeLinear" and n.input[0] == "x")
    scale, zero = (known[name].astype("f8") for name in node.input[1:])
    return node.output[0], scale, zero, np.iinfo(known[node.input[2]].dtype)


def test_codes_are_counted_and_compared(probed):
    """Each code as often as the quantiser gives it, beside the shares that were expected."""
    name, scale, zero, info = scale_of_input(probed)
    codes = {entry["tensor"]: entry for entry in confirm_all(probed, 1.0, "counted")["codes"]}
    assert len(codes) > 1
    entry, x = codes[name], draw(1.0)
    wanted = np.clip(np.rint(x / np.float32(scale)) + zero, info.min, info.max).astype(int) - info.min
    assert entry["histogram"] == np.bincount(wanted.ravel(), minlength=256).tolist()
    seen, expected = entry["observed"], entry["expected"]
    assert seen["used"] == 256 and seen["at_ends"] == np.mean((wanted == 0) | (wanted == 255))
    assert abs(seen["at_ends"] - expected["at_ends"]) < 0.05 and abs(seen["at_zero"] - expected["at_zero"]) < 0.05


def test_codes_are_told(probed):
    confirm_all(probed, 1.0, "told")
    done = run_mpopt("--confirm", probed.parent / "told.mprec", "--ledger", f"{probed}.probes.json")
    assert re.search(r"^codes: in use, .*(\n  .*)*\n  x_\S+: 256 \(256\) of 256, 70.02 % \(", done.stdout, re.MULTILINE)


def test_saturation_is_seen(probed):
    seen = confirm(probed, 1.0, "declared")
    assert seen["x"][0] == "confirmed" and {status for status, _ in seen.values()} <= {"confirmed", "refuted"}


def test_the_share_that_saturates_is_told(probed):
    """Beside the expected one: by the histogram, between bounds that hold the true share."""
    _, scale, zero, info = scale_of_input(probed)
    lo, hi = (info.min - zero - 0.5) * scale, (info.max - zero + 0.5) * scale
    x = draw(1.0)
    share = 100 * np.mean((x < lo) | (x > hi))
    least, most = map(float, re.match(r"between (\S+) and (\S+) % of its values", confirm(probed, 1.0, "shares")["x"][1]).groups())
    assert least <= share <= most


def test_calibrated_inputs_saturate_nothing(probed):
    assert confirm(probed, 0.05, "calibrated")["x"][0] == "refuted"
