"""Gradients that workers add in FP8: shares that flush, and sums, beside sums that are emulated."""

import re

import ml_dtypes
import numpy
import pytest
from onnx import numpy_helper, parser

import mpopt

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[64, 32] x) => (float[64, 16] y) { y = MatMul (x, w) }"""
DTYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


@pytest.fixture(scope="module")
def weights():
    return numpy.random.default_rng(3).normal(0, 0.2, (32, 16)).astype(numpy.float32)


@pytest.fixture(scope="module")
def model(weights):
    model = parser.parse_model(MODEL)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


def gradient(weights, deviation):
    """Of the mean square of y - t, with independent targets of deviation 1."""
    draw = numpy.random.default_rng(0)
    x = draw.normal(0, deviation, (64, 32))
    y = x @ weights
    return x.T @ (2 * (y - draw.normal(0, 1, y.shape)) / y.size)


def findings(model, kind, world, deviation):
    report = mpopt.check_training(
        model, loss="mse:y,t", reduce=f"{kind},after", batch_size=mpopt.Batch(64, world=world),
        scaler="none", precision="as-is", config={
            "schema": "mpopt-train-config/1", "targets_related": False,
            "targets": {"t": {"mean": 0, "std": 1}}},
        inputs={"x": mpopt.Normal(0, deviation)})
    return [each for each in report.findings if each.rule == "MP410"]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("deviation", [0.003, 0.03, 0.3])
def test_share_that_flushes(model, weights, kind, deviation):
    exact = gradient(weights, deviation)
    lost = numpy.mean(exact.astype(numpy.float32).astype(DTYPES[kind]) == 0)
    said = [each.message for each in findings(model, kind, 8, deviation) if "are cast" in each.message]
    if lost < 0.05:
        assert not said
    elif lost > 0.2:
        (share,) = re.findall(r"([\d.]+) % of all elements", said[0]) or ["100"]
        assert lost / 2 <= float(share) / 100 <= lost * 2


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("world", [2, 8, 64, 1024])
def test_terms_that_are_absorbed(model, kind, world):
    """Terms of one size, as gradients of a settled loss: their sum, added one by one."""
    dtype = DTYPES[kind]
    total = dtype(0)
    for _ in range(world):
        total = dtype(numpy.float32(total) + numpy.float32(1.25))
    error = abs(float(total) - 1.25 * world) / (1.25 * world)
    texts = [each.message for each in findings(model, kind, world, 30.0)]
    if error > 0.3:
        assert any("is below half an ulp of the sum and is lost" in text for text in texts)
    at_most = [float(number) / 100 for text in texts
               for number in re.findall(r"add up to about ([\d.]+) %", text)]
    assert all(error <= share + 0.01 for share in at_most)


def test_a_wide_sum_is_silent(model):
    assert not findings(model, "f32", 1024, 0.003)


def test_a_hook_in_fp16_flushes_small_gradients(model, weights):
    exact = gradient(weights, 1e-6)
    assert numpy.mean(exact.astype(numpy.float16) == 0) > 0.5
    assert any("cast to f16 for the sum" in each.message for each in findings(model, "f16", 4, 1e-6))
