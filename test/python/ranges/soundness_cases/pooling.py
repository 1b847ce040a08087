"""Cases of test_soundness.py: pools and regions."""

import numpy as np
from soundness_family import Cases
from soundness_operands import by_channel_in_ir, scale_of, window_of

# ONNX Runtime has no kernels of RoiAlign and GlobalLpPool of opset 22.
CASES = Cases(opset=20)
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def pools(draw):
    rank = draw.choice([1, 2])
    _, attributes = window_of(draw, rank)
    x = draw.node("Add", draw.box((1, 2, *[7] * rank), scale=scale_of(draw)),
                  draw.weights((2, *[1] * rank), 2))
    # Groups that differ by position.
    y = draw.node("Mul", draw.box((1, 2, *[7] * rank)), draw.weights((2, *[7] * rank), 2))
    for z in (x, y):
        draw.node("MaxPool", z, dilations=[draw.integer(1, 2)] * rank, **attributes)
        draw.node("MaxPool", z, ceil_mode=1, **attributes)
        draw.node("AveragePool", z, **attributes)
        draw.node("AveragePool", z, count_include_pad=1, **attributes)
        draw.node("LpPool", z, p=draw.choice([1, 2, 3]), **attributes)
        for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
            draw.node(op, z)


@ir_case
def adaptive_pools(draw):
    size = [draw.integer(1, 7), draw.integer(1, 6)]
    x = by_channel_in_ir(draw, (2, 3, 7, 6))
    if draw.integer(0, 1):  # groups that differ by position
        x = draw.op("mul", [x, draw.weights((7, 6), 2)], np.multiply)

    def windows(x, pick):
        rows = [pick(x[:, :, i * 7 // size[0]:-(-(i + 1) * 7 // size[0])], 2)
                for i in range(size[0])]
        x = np.stack(rows, 2)
        columns = [pick(x[:, :, :, i * 6 // size[1]:-(-(i + 1) * 6 // size[1])], 3)
                   for i in range(size[1])]
        return np.stack(columns, 3)
    draw.op("adaptive_avg_pool", [x], lambda x: windows(x, np.mean), output_size=size)
    draw.op("adaptive_max_pool", [x],
            lambda x: (windows(x, np.max), np.zeros((2, 3, *size), np.int64)), output_size=size)


@onnx_case
def unpool(draw):
    x = draw.node("Add", draw.box((draw.integer(1, 4), 2, 4, 4)), draw.weights((2, 1, 1)))
    most, at = draw.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    draw.node("MaxUnpool", most, at, kernel_shape=[2, 2], strides=[2, 2])


@onnx_case
def regions(draw):
    image = draw.node("Add", draw.box((1, 2, draw.integer(6, 9), 7)), draw.weights((2, 1, 1)))
    corner = draw.random.uniform(0, 3, (3, 2))
    rois = np.concatenate([corner, corner + draw.random.uniform(0.5, 4, (3, 2))], 1)
    which = draw.constant(np.zeros(3, np.int64))
    draw.node("RoiAlign", image, draw.constant(rois, exact=True), which, output_height=2,
              output_width=3, mode=draw.choice(["avg", "max"]), sampling_ratio=draw.integer(0, 2),
              spatial_scale=draw.choice([1.0, 0.5]),
              coordinate_transformation_mode=draw.choice(["half_pixel", "output_half_pixel"]))
    numbered = np.concatenate([np.zeros((3, 1)), np.floor(rois)], 1)
    draw.node("MaxRoiPool", image, draw.constant(numbered, exact=True), pooled_shape=[2, 2],
              spatial_scale=draw.choice([1.0, 0.5]))
