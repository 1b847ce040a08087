"""`mpopt --advise` and `mpopt.advise`: verdict, time and memory in each precision on a device."""

import json

import numpy
import onnx
import pytest
from onnx import numpy_helper, parser
from tool import run_mpopt

import mpopt

PRODUCT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[ROWS, WIDTH] x) => (float[ROWS, WIDTH] y) { y = MatMul (x, w) }"""


def product(rows: int, width: int, weight: float = 0.02):
    model = parser.parse_model(PRODUCT.replace("ROWS", str(rows)).replace("WIDTH", str(width)))
    model.graph.initializer.append(numpy_helper.from_array(
        numpy.full((width, width), weight, numpy.float32), "w"))
    return model


def by_label(advice):
    return {row["label"]: row for row in advice.rows}


def test_arithmetic_gains():
    advice = mpopt.advise(product(2048, 2048), device="a100")
    rows = by_label(advice)
    # The rates of the data sheet: 19.5 and 312 TFLOPS.
    assert rows["FP32"]["seconds"] == pytest.approx(2 * 2048**3 / 19.5e12, rel=0.01)
    assert rows["pure FP16"]["seconds"] == pytest.approx(2 * 2048**3 / 312e12, rel=0.01)
    # A run takes the smaller error of equal times.
    assert advice.recommended == "pure FP16" and advice.precision == "fp16"
    assert rows["pure FP16"]["expected_error"] < rows["pure BF16"]["expected_error"]
    assert repr(advice).startswith("Advice(pure FP16: 16.0 times as fast as FP32")
    assert "recommended: pure FP16" in str(advice)


def test_small_models_do_not_gain():
    advice = mpopt.advise(product(8, 16), device="h100")
    assert advice.recommended == "FP32" and "launches of small kernels" in advice.reason


def test_traffic_is_named():
    # One row: each weight is read for one multiplication.
    advice = mpopt.advise(product(1, 8192), device="a100")
    assert by_label(advice)["FP32"]["bound_by"]["memory"] > 0
    assert advice.recommended in ("pure FP16", "pure BF16", "INT8")  # fewer bytes


def test_overflow_is_no_recommendation():
    advice = mpopt.advise(product(2048, 2048, 40.0), inputs={"x": (20, 30)}, device="v100")
    rows = by_label(advice)
    assert rows["BF16"]["lacking"] == ["bf16"]
    assert "1 op in FP32" in rows["FP16"]["verdict"]


def test_uneven_sizes_are_counted():
    rows = by_label(mpopt.advise(product(1024, 1001), device="a100"))
    assert rows["FP16"]["uneven_products"] == 1 and rows["FP32"]["uneven_products"] == 0


def test_training():
    advice = mpopt.advise(product(512, 512), device="h100", train=True, loss="mse:y,t",
                          optimizer="adamw,lr=1e-6")
    rows = by_label(advice)
    assert rows["pure BF16"]["lost_updates"] == 1 and not rows["pure BF16"]["fine"]
    assert rows["FP16"]["loss_scale"]["needed"] and not rows["BF16"]["loss_scale"]["needed"]
    # Weights, gradients and two moments in FP32, at least.
    assert rows["FP32"]["bytes"] >= 4 * 4 * 512**2


def test_a_file_of_16_bits_is_judged_as_it_is(tmp_path):
    model = product(64, 64)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(
        numpy.full((64, 64), 0.02, numpy.float16), "w"))
    assert mpopt.advise(model).rows[0]["label"] == "as it is"


def test_status(tmp_path):
    file = tmp_path / "m.onnx"
    onnx.save(product(8, 16), file)
    done = run_mpopt("--advise", file, "--format", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["schema"] == "mpopt-advice/1"
    device = tmp_path / "small.json"
    device.write_text(json.dumps({
        "schema": "mpopt-device/1", "summary": "a board", "memory": 64, "bandwidth": 1e9,
        "launch": 1e-6, "products": {"f32": 1e12}}))
    assert run_mpopt("--advise", file, "--device", device).returncode == 1
    with pytest.raises(mpopt.Error, match="device"):
        mpopt.advise(str(file), device="h900")


def test_a_step_that_does_not_fit():
    model = product(512, 512)
    report = mpopt.check_training(model, loss="mse:y,t", optimizer="adamw", memory="3MiB")
    # Weights, gradients and two moments are 4 MiB.
    fit = report.memory["fit"]
    assert not fit["fits"] and fit["needed"] > 4 * 2**20 and fit["changes"]
    assert fit["changed"] <= fit["budget"] == 3 * 2**20
    assert mpopt.check_training(model, loss="mse:y,t", optimizer="adamw", memory=2**30).memory["fit"]["fits"]


def test_a_quantised_file_is_over_targets():
    """Its other precisions are of a graph without codes, which no file has. Each target is in one row, with those that
    compute with codes as it does."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (float[4, 8] x) => (float[4, 8] y) <float scale = {0.1}, int8 zero = {0}> {
          codes = QuantizeLinear (x, scale, zero)
          y = DequantizeLinear (codes, scale, zero)
        }""")
    advice = mpopt.advise(model, inputs={"x": (-12, 12)})
    targets = [target for row in advice.rows for target in row["targets"]]
    assert len(targets) == len(set(targets)) and advice.rows[0]["label"] == "gpu-tensorcore"
    assert {"ort-cpu-avx2", "ort-cpu-vnni", "openvino-gpu", "qnn-htp"} <= set(targets)
    assert {row["expected_error"] for row in advice.rows} == {advice.rows[0]["expected_error"]}
