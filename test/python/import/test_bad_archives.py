"""Small files that unpack, or spell out, to large ones: memory stays small."""

import zipfile

import numpy
import pytest
from onnx.parser import parse_model

from bad_input import GIGABYTE, MLP, peak_memory, refused
from test_deep_input import field

MEGABYTES = 400
LITTLE = GIGABYTE // 4  # an unpacked copy, let alone one of doubles, has no room


def deflate(path, name, head, block, count):
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(name, "w", force_zip64=True) as file:
            file.write(head)
            for _ in range(count):
                file.write(block)
    assert path.stat().st_size < 1 << 20


@pytest.mark.parametrize("block", [b"1,", b" "], ids=["numbers", "space"])
def test_undo(block, tmp_path):
    """What undoes probes of a TorchScript archive takes mpopt some 200 bytes."""
    path = tmp_path / "m.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/constants.pkl", b"")
    deflate(path, "m/extra/mpopt_undo.json", b"[", block * ((1 << 20) // len(block)), MEGABYTES)
    peak, done = peak_memory("--strip", path, "-o", tmp_path / "out")
    refused(done, "damaged")
    assert peak < LITTLE


def test_undo_of_onnx(tmp_path):
    """A list of numbers takes 26 times its text; no model needs one that long."""
    path = tmp_path / "m.onnx"
    text = b"[" + b"1," * (10 << 20) + b"1]"
    path.write_bytes(MLP.SerializeToString() +
                     field(14, field(1, b"mpopt.undo") + field(2, text)))
    peak, done = peak_memory("--strip", path, "-o", tmp_path / "out")
    refused(done, "damaged")
    assert peak < LITTLE


def test_paths_of_bodies(tmp_path):
    """Whether a file has probes does not depend on what its bodies are called."""
    nodes = b"".join(field(1, field(2, b"v%d" % i) + field(4, b"Constant"))
                     for i in range(20_000))
    attribute = field(1, b"then_branch") + field(6, nodes) + b"\xa0\x01\x05"
    call = field(1, b"c") + field(2, b"y") + field(3, b"n" * 20_000) + field(4, b"If")
    graph = field(1, call + field(5, attribute)) + field(2, b"g")
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11"))
    peak, done = peak_memory("--strip", path, "-o", tmp_path / "out")
    refused(done, "it has no probes")
    assert peak < LITTLE


def npy_head(shape):
    text = str({"descr": "<f4", "fortran_order": False, "shape": shape}).encode().ljust(117)
    return b"\x93NUMPY\x01\x00" + (len(text) + 1).to_bytes(2, "little") + text + b"\n"


def test_sample(tmp_path):
    """A sample may be large: it is read as it is unpacked."""
    model, path = tmp_path / "m.onnx", tmp_path / "x.npz"
    model.write_bytes(MLP.SerializeToString())
    rows = (MEGABYTES << 20) // 16
    deflate(path, "x.npy", npy_head((rows, 4)), bytes(1 << 20), MEGABYTES)
    peak, done = peak_memory("--check", model, "--input", f"x=@{path}")
    assert done.returncode == 0, done.stderr
    assert b"x in [0, 0], mean 0, std 0" in done.stdout
    assert peak < LITTLE


@pytest.mark.parametrize("size, why", [(MEGABYTES << 18, "'lo' has more than 2^26 elements"), (4, "do not broadcast to the input's shape")])
def test_bounds(size, why, tmp_path):
    """Bounds by element are kept, so there is a limit to them; those of another shape are not read."""
    model, path = tmp_path / "m.onnx", tmp_path / "x.npz"
    model.write_bytes(parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g (float[{size}] x) => (float[{size}] y) {{ y = Relu(x) }}').SerializeToString())
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hi.npy", npy_head(()) + bytes(4))
    deflate(path, "lo.npy", npy_head((MEGABYTES << 18,)), bytes(1 << 20), MEGABYTES)
    peak, done = peak_memory("--check", model, "--input", f"x=@{path}")
    refused(done, why)
    assert peak < LITTLE


@pytest.mark.parametrize("size, shape", [(4, (2,)), (9, (2,)), (8, (3,)), (0, (0,)),
                                         (8, (1 << 62, 1 << 62))])
def test_damaged_array(size, shape, tmp_path):
    model, path = tmp_path / "m.onnx", tmp_path / "x.npz"
    model.write_bytes(MLP.SerializeToString())
    for name in ("x", "lo"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}.npy", npy_head(shape) + bytes(size))
            archive.writestr("hi.npy", npy_head(()) + bytes(4))
        refused(peak_memory("--check", model, "--input", f"x=@{path}")[1], "array")


def test_types_of_arrays(tmp_path):
    """Every kind of number, over more than one block."""
    model, path = tmp_path / "m.onnx", tmp_path / "x.npz"
    model.write_bytes(MLP.SerializeToString())
    for save in (numpy.savez, numpy.savez_compressed):
        for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"):
            array = numpy.zeros((20_000, 4), kind)
            array[19_999, 3] = 1
            save(path, x=array)
            done = peak_memory("--check", model, "--input", f"x=@{path}")[1]
            assert b"x in [0, 1], mean 1.25e-05, std 0.003536" in done.stdout, (kind, done)
