"""Weights in files of their own that are missing, elsewhere, or too short."""

import json
import os
import threading

import pytest
from onnx import TensorProto

from bad_input import GIGABYTE, model, node, peak_memory, refused, run


def external(location, **more):
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2],
                         data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        weight.external_data.add(key=key, value=str(value))
    return model([node("Add", ["x", "w"], ["y"])], ["x"], ["y"],
                 initializer=[weight])


def test_missing_weights_are_not_fatal(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(external("gone.bin"))
    done = run("--check", path)
    assert done.returncode == 0, done.stderr
    assert b"gone.bin' is missing: the values of 1 tensor are not known" in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_weights_that_are_missing_are_no_overflow(tmp_path, precision):
    """Nothing is known of them: neither that they are Inf, nor that they fit."""
    path = tmp_path / "model.onnx"
    made = external("gone.bin")
    path.write_bytes(made)
    done = run("--check", path, "--precision", precision, "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 0 and not report["findings"], report["findings"]
    assert report["effects"][0]["expected_error"] is None


def test_six_bits_are_not_read_as_nibbles(tmp_path):
    """Of 28 everywhere, the largest number of E3M2, packed from the lowest bit."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT6E3M2, dims=[96, 96], data_location=TensorProto.EXTERNAL)
    packed = bytes([0b11011111, 0b11110111, 0b01111101]) * (96 * 96 // 4)
    (tmp_path / "w.bin").write_bytes(packed)
    for key, value in {"location": "w.bin", "length": len(packed)}.items():
        weight.external_data.add(key=key, value=str(value))
    path = tmp_path / "model.onnx"
    path.write_bytes(model([node("Cast", ["w"], ["y"], to=1)], [], ["y"], initializer=[weight]))
    ranges = tmp_path / "ranges.json"
    done = run("--check", path, "--precision", "as-is", "--dump-ranges", ranges)
    assert done.returncode == 0, done.stderr
    for name in ("w", "y"):
        bound = json.loads(ranges.read_text())["tensors"][name]
        assert float(bound["lo"]) <= 28 <= float(bound["hi"])


@pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "a/../../w",
                                      "", "link", "fifo", ".", "/dev/zero"])
def test_external_paths(location, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(8))
    (inside / "link").symlink_to("../w.bin")
    os.mkfifo(inside / "fifo")
    (inside / "model.onnx").write_bytes(external(location))
    refused(run("--check", inside / "model.onnx"), "is refused")


@pytest.mark.parametrize("more", [{"offset": -1}, {"offset": "x"},
                                  {"offset": 1 << 64}, {"offset": 1},
                                  {"length": 4}, {"length": 1 << 63},
                                  {"offset": (1 << 64) - 1}])
def test_external_ranges(more, tmp_path):
    (tmp_path / "w.bin").write_bytes(bytes(8))
    path = tmp_path / "model.onnx"
    path.write_bytes(external("w.bin", **more))
    refused(run("--check", path), "'w'")


def mlir_weight(file, offset=0):
    return (f'func.func @main() -> tensor<2xf32> {{\n  %0 = mp.constant '
            f'file("{file}", {offset}:8) : tensor<2xf32>\n'
            "  return %0 : tensor<2xf32>\n}\n")


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/stdin", "/", "no such"])
def test_weights_of_mlir(file, tmp_path):
    """Weights that cannot be read are unknown, as where a file is missing."""
    path = tmp_path / "model.mlir"
    path.write_text(mlir_weight(file))
    peak, done = peak_memory("--check", path)
    assert peak < GIGABYTE
    if done.returncode not in (0, 1):
        refused(done)


def test_file_shrinks(tmp_path):
    """Read once, cut short, and read again by an unlucky run."""
    weights = tmp_path / "w.bin"
    path = tmp_path / "model.onnx"
    count = 1 << 22
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count],
                         data_location=TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    path.write_bytes(model([node("Add", ["x", "w"], ["y"])], ["x"], [],
                           initializer=[weight]))
    stop = threading.Event()

    def flip():
        while not stop.is_set():
            os.truncate(weights, 4 * count)
            os.truncate(weights, 8)
    weights.write_bytes(b"")
    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(12):
            done = run("--check", path, "--precision", "fp16")
            if done.returncode not in (0, 1):
                refused(done)
    finally:
        stop.set()
        thread.join()


def test_many_errors_are_a_page_at_most(tmp_path):
    """A file that is too short lacks many weights: some are named, all are counted."""
    weights = []
    for index in range(50):
        weight = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[2],
                             data_location=TensorProto.EXTERNAL)
        for key, value in ("location", "short.bin"), ("offset", str(8 * index)), ("length", "8"):
            weight.external_data.add(key=key, value=value)
        weights.append(weight)
    nodes = [node("Add", ["x" if index == 0 else f"y{index - 1}", f"w{index}"], [f"y{index}"])
             for index in range(50)]
    path = tmp_path / "model.onnx"
    path.write_bytes(model(nodes, ["x"], ["y49"], initializer=weights))
    (tmp_path / "short.bin").write_bytes(bytes(8 * 20))
    done = run("--check", path)
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 2
    assert len(lines) == 21 and all("MPI304" in line for line in lines)
    assert lines[-1].endswith("and 10 more errors")
