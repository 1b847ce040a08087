"""What options and configurations say of a loss scaler, as the findings of MP4xx judge it."""

from __future__ import annotations

import json

import pytest
from onnx import parser

from tool import run_mpopt

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[64, 4] x) => (float[64, 2] y) <float[4, 2] w = {0.1, -0.2, 0.1, 0.1, -0.1, 0.2, 0.1, -0.1}> {
      y = MatMul (x, w)
    }"""


@pytest.fixture
def judge(tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(parser.parse_model(MODEL).SerializeToString())

    def run(*options, precision="autocast-fp16"):
        done = run_mpopt("--check", model, "--train", "--precision", precision, "--format", "json",
                         "--fail-on", "never", *options)
        assert done.returncode == 0, done.stderr
        return {finding["rule"]: finding for finding in json.loads(done.stdout)["findings"]
                if finding["rule"].startswith("MP4")}

    return run


def test_usual_scaler_is_fine(judge):
    assert not judge("--loss", "mse:y")


def test_fixed_scale_is_judged(judge):
    found = judge("--loss", "mse:y", "--scaler", "33554432")
    assert found.keys() == {"MP402"} and found["MP402"]["severity"] == "error"


def test_small_loss_needs_a_scaler(judge):
    loss = ("--loss", "mse:y:weight=1e-9")
    found = judge(*loss, "--scaler", "none")
    assert {"MP401", "MP411"} <= found.keys()
    assert found["MP401"]["decided_by"][0]["scale"] == 1
    assert not judge(*loss, "--scaler", "none", precision="autocast-bf16").keys() & {"MP401", "MP411"}


def test_start_and_hysteresis_of_a_configuration(judge, tmp_path):
    config = tmp_path / "deepspeed.json"
    config.write_text(json.dumps({"train_micro_batch_size_per_gpu": 64,
                                  "fp16": {"enabled": True, "initial_scale_power": 40, "hysteresis": 2}}))
    found = judge("--loss", "mse:y", "--train-config", config)
    assert found["MP402"]["severity"] in ("note", "warning") and "steps are skipped" in found["MP402"]["message"]
    assert "MP411" not in found


def test_least_scale_of_a_configuration_overflows(judge, tmp_path):
    config = tmp_path / "deepspeed.json"
    config.write_text(json.dumps({"fp16": {"enabled": True, "min_loss_scale": 1}}))
    found = judge("--loss", "mse:y:weight=1e6:reduction=sum", "--train-config", config)
    assert found["MP403"]["severity"] == "error" and "least scale is 1" in found["MP411"]["message"]


def test_scaler_without_f16_gradients_is_a_note(judge):
    found = judge("--loss", "mse:y", "--scaler", "dynamic", precision="autocast-bf16")
    assert found.keys() == {"MP411"} and found["MP411"]["severity"] == "note"
