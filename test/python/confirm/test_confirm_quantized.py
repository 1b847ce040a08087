"""`--instrument` and `--confirm` of a quantised file: a run decides which values pass the ends of their codes."""

from __future__ import annotations

import json

import numpy as np
import pytest
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


def confirm(file, size: float, name: str) -> dict[str, str]:
    """What a run with inputs of that deviation says of MP602, by tensor."""
    record = file.parent / f"{name}.mprec"
    session = mpopt.probe_session(file, record=record)
    try:
        session.run(None, {"x": np.random.default_rng(3).normal(0, size, (16, WIDTH)).astype("f4")})
    finally:
        session.recorder.close()
    done = run_mpopt("--confirm", record, "--ledger", f"{file}.probes.json", "--format", "json")
    return {finding["tensor"]: finding["status"] for finding in json.loads(done.stdout)["findings"] if finding["rule"] == "MP602"}


def test_saturation_is_seen(probed):
    seen = confirm(probed, 1.0, "declared")
    assert seen["x"] == "confirmed" and set(seen.values()) <= {"confirmed", "refuted"}


def test_calibrated_inputs_saturate_nothing(probed):
    assert confirm(probed, 0.05, "calibrated")["x"] == "refuted"
