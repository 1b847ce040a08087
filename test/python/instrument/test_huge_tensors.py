"""Tensors of more than 2^31 elements, counted exactly: the recorder's C interface, ONNX
Runtime and PyTorch. A tensor takes 4.3 GB and a test up to a minute, so they run where
MPOPT_HUGE is set only (docs/probes.md has figures)."""

import ctypes
import os
import time

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


import mpopt  # noqa: E402
from mpopt.recorder import Recorder, library  # noqa: E402

pytestmark = pytest.mark.skipif(os.environ.get("MPOPT_HUGE", "0") in ("", "0"),
                                reason="MPOPT_HUGE is not set")

ROW = 1024
ROWS = 2**21 + 3
COUNT = ROW * ROWS
assert COUNT > 2**31

F16, I8, E4M3 = 10, 3, 17


class Tensor(ctypes.Structure):
    """`mpopt_tensor` (Kernels/Statistics.h)."""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_uint32), ("rank", ctypes.c_uint32),
                ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("channel_axis", ctypes.c_int32),
                ("reserved", ctypes.c_uint32)]


def half_row():
    """NaN, both infinities, both zeros, subnormals, the largest value, and others."""
    row = numpy.float16(numpy.random.default_rng(0).normal(0, 3, ROW))
    row[:9] = [numpy.nan, numpy.inf, numpy.inf, -numpy.inf, 0, -0.0, 2.0**-24, 65504, -500]
    return row


def integer_row():
    return numpy.random.default_rng(1).integers(-128, 128, ROW).astype(numpy.int8)


def check_half(record, rows):
    """What a record says of so many equal rows, to the last unit."""
    row = half_row()
    finite = row[numpy.isfinite(row)].astype(numpy.float64)
    size = numpy.abs(finite[finite != 0])
    assert record.calls == 1 and record.count == rows * ROW
    assert (record.nan, record.pos_inf, record.neg_inf, record.zero) == (
        rows, 2 * rows, rows, rows * int((finite == 0).sum()))
    assert (record.min, record.max, record.absmax, record.min_nonzero) == (
        finite.min(), finite.max(), 65504, 2.0**-24)
    bins = numpy.bincount(numpy.frexp(size)[1] - 1 + 151, minlength=280)
    assert list(record.histogram) == (bins * rows).tolist()
    assert record.edge[2].not_finite + int(sum(
        rows * int(bins[bin]) for bin in range(151 + 9, 280))) == rows * int((size > 464).sum())
    # FP16 is summed in FP32 over 32 elements of a lane.
    assert abs(exact(record.sum) - rows * finite.sum()) <= rows * size.sum() * 2.0**-19
    squares = (finite**2).sum()
    assert abs(exact(record.sum_squares) - rows * squares) <= rows * squares * 2.0**-19


def check_integers(record, rows):
    row = integer_row()
    assert record.calls == 1 and record.count == rows * ROW
    assert record.zero == rows * int((row == 0).sum())
    assert (record.min, record.max) == (row.min(), row.max())


def exact(total):
    number = sum(int(limb) << (64 * i) for i, limb in enumerate(total.limb))
    if number >> (64 * 34 - 1):
        number -= 1 << (64 * 34)
    return number / 2**1074


def observe(recorder, probe, array, dtype, dims, strides=None):
    """Seconds of one call of the C interface."""
    sizes = (ctypes.c_int64 * len(dims))(*dims)
    steps = (ctypes.c_int64 * len(dims))(*strides) if strides else None
    tensor = Tensor(array.ctypes.data, dtype, len(dims), sizes, steps, -1, 0)
    function = library().mpopt_recorder_observe
    function.restype = None
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32,
                         ctypes.POINTER(Tensor), ctypes.c_void_p]
    start = time.perf_counter()
    function(recorder._handle, probe, 0, ctypes.byref(tensor), None)
    return time.perf_counter() - start


@pytest.fixture
def say(capsys):
    def tell(text):
        with capsys.disabled():
            print(f"\n  {text}")
    return tell


def test_c_interface(tmp_path, say):
    """Contiguous in memory, and as a view that repeats one row: the same record."""
    with Recorder(b"\1" * 32, tmp_path / "run.mprec") as recorder:
        values = numpy.tile(half_row(), ROWS)
        say(f"{COUNT} FP16 values: {observe(recorder, 1, values, F16, [COUNT]):.1f} s")
        del values
        check_half(recorder.read(1), ROWS)
        seconds = observe(recorder, 2, half_row(), F16, [ROWS, ROW], [0, 1])
        say(f"{COUNT} FP16 values, strided: {seconds:.1f} s")
        check_half(recorder.read(2), ROWS)
        values = numpy.tile(integer_row(), ROWS)
        say(f"{COUNT} int8 values: {observe(recorder, 3, values, I8, [ROWS, ROW]):.1f} s")
        check_integers(recorder.read(3), ROWS)
        del values
        # 1, 0, NaN and 448 in E4M3.
        values = numpy.tile(numpy.uint8([0x38, 0, 0x7F, 0x7E]), COUNT // 4)
        say(f"{COUNT} E4M3 values: {observe(recorder, 4, values, E4M3, [COUNT]):.1f} s")
        record = recorder.read(4)
        quarter = COUNT // 4
        assert (record.count, record.nan, record.zero) == (COUNT, quarter, quarter)
        assert exact(record.sum) == quarter * 449.0
        # Two calls add up.
        observe(recorder, 4, values, E4M3, [COUNT])
        assert recorder.read(4).count == 2 * COUNT


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_onnxruntime(dtype, tmp_path, say):
    """From the model to the verdict: Expand makes the tensor that is probed."""
    row = half_row() if dtype == "float16" else integer_row()
    kind = helper.np_dtype_to_tensor_dtype(row.dtype)
    graph = helper.make_graph(
        [helper.make_node("Expand", ["x", "shape"], ["huge"], "/Expand"),
         helper.make_node("Slice", ["huge", "start", "end"], ["y"], "/Slice")], "g",
        [helper.make_tensor_value_info("x", kind, [1, ROW])],
        [helper.make_tensor_value_info("y", kind, [1, ROW])],
        [numpy_helper.from_array(numpy.int64([ROWS, ROW]), "shape"),
         numpy_helper.from_array(numpy.int64([ROWS - 1]), "start"),
         numpy_helper.from_array(numpy.int64([ROWS]), "end")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    float_only = dtype == "float16"
    probed = mpopt.instrument(model, tmp_path / "probed.onnx",
                              probe="all" if float_only else "^huge$")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = mpopt.probe_session(probed.path, record=tmp_path / "run.mprec",
                                  sess_options=options)
    start = time.perf_counter()
    y, = session.run(None, {"x": row[None]})
    say(f"ONNX Runtime, {COUNT} {dtype} values: {time.perf_counter() - start:.1f} s in all")
    assert y.tobytes() == row.tobytes()
    huge = next(probe.id for probe in probed.probes if probe.tensor == "huge")
    (check_half if float_only else check_integers)(session.recorder.read(huge), ROWS)
    session.recorder.close()
    verdict = mpopt.confirm(tmp_path / "run.mprec", probed.ledger)
    assert not verdict.exceeded


def test_torch(tmp_path, say):
    torch = pytest.importorskip("torch", reason="torch is not in this environment")
    from mpopt import _torch_ops

    if not _torch_ops.load():
        pytest.skip("this build has no op library for PyTorch")
    ledger = "7e" * 32
    with Recorder(bytes.fromhex(ledger), tmp_path / "run.mprec") as recorder:
        row = torch.from_numpy(half_row())
        start = time.perf_counter()
        torch.ops.mpopt.probe(row.expand(ROWS, ROW), 1, ledger)
        say(f"PyTorch, {COUNT} float16 values, strided: {time.perf_counter() - start:.1f} s")
        check_half(recorder.read(1), ROWS)
        values = torch.from_numpy(integer_row()).repeat(ROWS, 1)
        start = time.perf_counter()
        torch.ops.mpopt.probe(values, 2, ledger)
        say(f"PyTorch, {COUNT} int8 values: {time.perf_counter() - start:.1f} s")
        check_integers(recorder.read(2), ROWS)
