"""Tables of calibrations as runtimes write them: each form gives the same ranges; the scales of `--precision int8` that
they settle, against ONNX Runtime's run of the file that its quantiser made from the same table; the gaps that MP621 names."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from onnxruntime.quantization import CalibrationMethod, QuantType
from onnxruntime.quantization.calibrate import create_calibrator
from onnxruntime.quantization.quant_utils import write_calibration_table
from quantized_networks import FACTOR, Batches, judge, make_network, measure, quantize
from tool import run_mpopt

INT8 = ("--precision", "int8")


def calibrate(network, folder, factor: float = 1.0) -> dict[str, tuple[float, float]]:
    """ONNX Runtime's tables under `folder`, and the ranges in them."""
    calibrator = create_calibrator(network, [], augmented_model_path=folder / "augmented.onnx",
                                   calibrate_method=CalibrationMethod.MinMax)
    calibrator.collect_data(Batches(factor))
    found = calibrator.compute_data().data
    write_calibration_table(found, str(folder))
    return {name: tuple(float(end.item()) for end in data.range_value) for name, data in found.items()}


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "net.onnx"
    make_network(path)
    return path


@pytest.fixture(scope="module")
def table(network, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    return folder, calibrate(network, folder)


def seen(network, file) -> dict[str, list[float]]:
    done = run_mpopt("--check", str(network), *INT8, "--calibration", str(file), "--fail-on", "never", "--quiet",
                     "--dump-ranges", f"{file}.ranges", "-o", f"{file}.txt")
    assert done.returncode == 0, done.stderr
    tensors = json.loads(open(f"{file}.ranges").read())["tensors"]
    return {name: tensor["calibrated"] for name, tensor in tensors.items() if "calibrated" in tensor}


def symmetric(ranges):
    return {name: (-abs(hi), abs(hi)) for name, (_, hi) in ranges.items()}


def write_tensorrt(ranges, path):
    lines = ["TRT-100300-EntropyCalibration2"]
    lines += [f"{name}: {struct.pack('>f', max(map(abs, ends)) / 127).hex()}" for name, ends in ranges.items()]
    path.write_text("\n".join(lines) + "\n")


def write_npz(ranges, path):
    np.savez(path, **{name: np.array(ends, "f4") for name, ends in ranges.items()})


def write_samples(ranges, path):
    np.savez(path, **{name: np.linspace(*ends, 12, dtype="f4").reshape(3, 4) for name, ends in ranges.items()})


def write_aimet(ranges, path):
    path.write_text(json.dumps({"version": "0.6.1", "param_encodings": {}, "activation_encodings": {
        name: [{"bitwidth": 8, "min": lo, "max": hi, "offset": 0, "scale": 1}] for name, (lo, hi) in ranges.items()}}))


def write_aimet1(ranges, path):
    path.write_text(json.dumps({"version": "1.0.0", "param_encodings": [], "activation_encodings": [
        {"name": name, "bw": 8, "scale": [(hi - lo) / 255], "offset": [lo / ((hi - lo) / 255)]}
        for name, (lo, hi) in ranges.items()]}))


def write_tensors_data(ranges, path):
    end = lambda x: {"data": x, "dtype": "float32", "CLS": "numpy.array"}  # noqa: E731
    path.write_text(json.dumps({"CLS": "TensorsData", "method": {"CLS": "CalibrationMethod", "value": "MinMax"}, "data": {
        name: {"CLS": "TensorData", "lowest": end(lo), "highest": end(hi)} for name, (lo, hi) in ranges.items()}}))


FORMS = {
    "pairs.json": (lambda ranges, path: path.write_text(json.dumps(ranges)), dict),
    "magnitudes.json": (lambda ranges, path: path.write_text(json.dumps({n: hi for n, (_, hi) in ranges.items()})), symmetric),
    "tensorrt.cache": (write_tensorrt, lambda ranges: {n: (-max(map(abs, e)), max(map(abs, e))) for n, e in ranges.items()}),
    "ranges.npz": (write_npz, dict), "samples.npz": (write_samples, dict), "aimet.encodings": (write_aimet, dict),
    "aimet1.encodings": (write_aimet1, dict), "tensors.json": (write_tensors_data, dict),
}


@pytest.mark.parametrize("form", FORMS)
def test_form(form, network, table, tmp_path):
    write, meant = FORMS[form]
    write(table[1], tmp_path / form)
    found = seen(network, tmp_path / form)
    assert found.keys() == table[1].keys() and "x" in found
    for name, ends in meant(table[1]).items():
        assert found[name] == pytest.approx(ends, rel=1e-5, abs=1e-6)


def test_onnxruntime(network, table):
    folder, ranges = table
    for name, ends in seen(network, folder / "calibration.json").items():
        assert ends == pytest.approx(ranges[name])
    for name, ends in seen(network, folder / "calibration.cache").items():
        assert ends == pytest.approx(symmetric(ranges)[name])


@pytest.mark.parametrize("factor", [1.0, 0.1])
def test_scales_of_the_table(factor, network, tmp_path):
    calibrate(network, tmp_path, factor)
    path = tmp_path / "codes.onnx"
    quantize(network, path, factor=factor, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["Gemm"])
    report = judge(network, *INT8, "--calibration", str(tmp_path / "calibration.json"))
    measured, [effect] = measure(network, path), report["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    gaps = [finding for finding in report["findings"] if finding["rule"] == "MP621" and finding["severity"] != "note"]
    assert {finding["tensor"] for finding in gaps} == (set() if factor == 1 else {"x", "r0", "r1"})
    assert bool(effect["by"]["saturation"]) == (factor != 1)


def test_file_of_another_table(network, table, tmp_path):
    path = tmp_path / "codes.onnx"
    for factor, rules in ((1.0, set()), (0.1, {"MP621"})):
        quantize(network, path, factor=factor, weight_type=QuantType.QInt8)
        found = [finding for finding in judge(path, "--calibration", str(table[0] / "calibration.json"))["findings"]
                 if finding["rule"] == "MP621"]
        assert {finding["rule"] for finding in found} == rules
        assert not rules or ("x" in {finding["tensor"] for finding in found}
                             and {finding["certainty"] for finding in found} == {"certain"})


WRONG = {
    "": "names no tensor of the model", "{}": "names no tensor of the model", "{": "is not JSON",
    '{"x": "wide"}': "has no range for 'x'", '{"x": [2, 1]}': "has no range for 'x'", '{"x": [1, NaN]}': "is not JSON",
    "x wide": "is no calibration table", "TRT-1\nx: 3c01": "is no calibration table", "TRT-1\nx: 7fc00000": "has no range",
    "\x1b[31mgarbage\x00": "is no calibration table",
}


@pytest.mark.parametrize("content", WRONG)
def test_bad_table(content, network, tmp_path):
    path = tmp_path / "table"
    path.write_text(content)
    done = run_mpopt("--check", str(network), *INT8, "--calibration", str(path))
    assert done.returncode == 2 and done.stdout == ""
    [line] = done.stderr.splitlines()
    assert "--calibration:" in line and WRONG[content] in line and line.isprintable()


def test_nothing_to_calibrate(network, table):
    done = run_mpopt("--check", str(network), "--calibration", str(table[0] / "calibration.json"))
    assert done.returncode == 2 and "the model is not quantised, and --precision is not int8" in done.stderr
