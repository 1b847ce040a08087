"""Cases of test_soundness.py: windows and transforms."""

import numpy as np
from soundness_family import Cases

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def windows(draw):
    size = draw.constant(np.int64(draw.integer(2, 20)))
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        draw.node(op, size, periodic=draw.integer(0, 1))


@onnx_case
def short_windows(draw):
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        draw.node(op, draw.constant(np.int64(draw.integer(1, 3))), periodic=draw.integer(0, 1))


@onnx_case
def transforms(draw):
    parts = draw.integer(1, 2)
    x = draw.box((2, 10, parts))
    axis = draw.constant(np.int64(1))
    draw.node("DFT", x, "", axis, onesided=0)
    if parts == 1:
        draw.node("DFT", x, "", axis, onesided=1)
    else:
        draw.node("DFT", x, "", axis, inverse=1)
    length = draw.constant(np.int64(draw.choice([6, 16])))
    draw.node("DFT", x, length, axis)


@onnx_case
def short_transforms(draw):
    size = draw.choice([8, 16])
    window = draw.node("HannWindow", draw.constant(np.int64(size)))
    for _ in range(2):
        step = draw.constant(np.int64(draw.integer(2, 6)))
        draw.node("STFT", draw.box((1, 24, 1)), step, window, draw.constant(np.int64(size)))


@onnx_case
def mel(draw):
    values = [draw.constant(np.int64(v)) for v in (
        draw.integer(2, 12), draw.choice([32, 64, 128]), 8000)]
    draw.node("MelWeightMatrix", *values,
              draw.constant(np.float32(draw.integer(0, 200)), exact=True),
              draw.constant(np.float32(draw.integer(2000, 3900)), exact=True))
