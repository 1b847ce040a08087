"""Cases of test_soundness.py: shapes, movement, tensors made of nothing, images."""

import numpy as np
from onnx import TensorProto, helper
from soundness_family import Cases
from soundness_operands import by_channel, by_channel_in_ir, ints, scalar_int

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- movement --------------------------------------------------------------------------


@onnx_case
def reshapes(draw):
    x = by_channel(draw, (2, 3, 8))
    y = draw.node("Reshape", x, ints(draw, 2, 3, 2, 4))
    draw.node("Transpose", y, perm=[0, 2, 1, 3])
    draw.node("Reshape", y, ints(draw, 6, 8))
    draw.node("Reshape", x, ints(draw, -1))
    draw.node("Flatten", x, axis=draw.integer(0, 3))
    draw.node("Transpose", x)
    draw.node("Reshape", draw.node("Transpose", x, perm=[2, 0, 1]), ints(draw, 4, 12))
    draw.node("Squeeze", draw.node("Unsqueeze", x, ints(draw, 1, -1)))
    draw.node("Squeeze", by_channel(draw, (1, draw.integer(2, 9))), ints(draw, 0))


@onnx_case
def repeats(draw):
    x = by_channel(draw, (1, 4))
    draw.node("Expand", x, ints(draw, draw.integer(2, 9), 2, 4))
    draw.node("Tile", x, ints(draw, draw.integer(1, 9), 3))


@onnx_case
def parts(draw):
    rows = draw.integer(1, 4)
    x, y = by_channel(draw, (rows, 6)), by_channel(draw, (rows, 3))
    both = draw.node("Concat", x, y, axis=1)
    draw.node("Split", both, ints(draw, 4, 5), axis=1, outputs=2)
    draw.node("Slice", both, ints(draw, 1), ints(draw, 8), ints(draw, 1), ints(draw, 3))
    draw.node("Slice", both, ints(draw, -1), ints(draw, -100), ints(draw, 1),
              ints(draw, -2))
    draw.node("Concat", x, x, axis=0)
    draw.node("Trilu", both)
    draw.node("Pad", x, ints(draw, 0, 1, 0, -2))
    draw.node("Pad", x, ints(draw, 1, 0, 0, 0), mode="edge")


@onnx_case
def shapes(draw):
    x = by_channel(draw, (5, 4))
    draw.node("ReverseSequence", x, draw.constant(draw.random.integers(1, 6, 4)),
              batch_axis=1, time_axis=0)
    draw.node("CenterCropPad", x, ints(draw, draw.integer(2, 7)), axes=[draw.integer(0, 1)])
    value = helper.make_tensor("v", TensorProto.FLOAT, [1], [float(draw.random.uniform(-9, 9))])
    draw.node("ConstantOfShape", ints(draw, 2, 3), value=value)


@ir_case
def movement(draw):
    x = by_channel_in_ir(draw, draw.any_shape(3))
    axes = draw.choice([[0], [1, 2], [-1]])
    draw.op("reverse", [x], lambda x: np.flip(x, axes), axes=axes)
    shifts = [draw.integer(-3, 3) for _ in axes]
    draw.op("roll", [x], lambda x: np.roll(x, shifts, axes), shifts=shifts, axes=axes)
    image = by_channel_in_ir(draw, (1, 2, 4, 5))
    kernel, pad = [draw.integer(1, 2), draw.integer(1, 3)], draw.integer(0, 1)

    def im2col(x):
        x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
        view = np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))
        return view.transpose(0, 1, 4, 5, 2, 3).reshape(1, 2 * kernel[0] * kernel[1], -1)
    draw.op("im2col", [image], im2col, kernel_shape=kernel, dilations=[1, 1],
            strides=[1, 1], pads=[pad] * 4)


# -- what is made ----------------------------------------------------------------------


@onnx_case
def made(draw):
    start, step = draw.integer(-9, 9), draw.integer(1, 4)
    ends = scalar_int(draw, start), scalar_int(draw, start + draw.integer(1, 30))
    draw.node("Cast", draw.node("Range", *ends, scalar_int(draw, step)), to=1)
    depth = draw.integer(2, 9)
    draw.node("OneHot", draw.box(draw.any_shape(), 0, depth - 1, dtype=np.int64),
              scalar_int(draw, depth), draw.weights((2,)))
    draw.node("Cast", draw.node("Shape", draw.box(draw.any_shape())), to=1)


@onnx_case
def determinant(draw):
    for size in range(1, 5):
        draw.node("Det", draw.box((2, size, size)))


# -- images ----------------------------------------------------------------------------


@onnx_case
def resizes(draw):
    x = draw.node("Add", draw.box((1, 3, 4, 5)), draw.weights((3, 1, 1)))
    for mode in ("nearest", "linear", "cubic"):
        scales = draw.constant(np.array(
            [1, 1, draw.choice([0.6, 1.0, 2.0, 1.7]), draw.choice([0.5, 1.0, 3.0])],
            np.float32), exact=True)
        transformation = draw.choice(["half_pixel", "align_corners", "asymmetric",
                                      "pytorch_half_pixel"])
        attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
        if mode == "cubic":
            attributes["cubic_coeff_a"] = draw.choice([-0.75, -0.5])
            attributes["exclude_outside"] = draw.integer(0, 1)
        draw.node("Resize", x, "", scales, **attributes)
        if mode != "nearest":
            draw.node("Resize", x, "", scales, antialias=1, mode=mode,
                      coordinate_transformation_mode="half_pixel")


@onnx_case
def renormalised_cubic(draw):
    scales = np.array([1, 1, draw.choice([13.1, 2.5]), 1], np.float32)
    draw.node("Resize", draw.box((1, 1, 4, 4), -1, 1), "", draw.constant(scales, exact=True),
              mode="cubic", cubic_coeff_a=draw.choice([-0.75, -0.5, 0.5, 1.0]), exclude_outside=1,
              coordinate_transformation_mode=draw.choice(["asymmetric", "half_pixel"]))


@onnx_case
def cropped(draw):
    roi = draw.constant(np.array([0, 0, -0.2, 0.1, 1, 1, 1.3, 0.9], np.float32), exact=True)
    sizes = draw.constant(np.array([1, 2, 5, 5], np.int64))
    draw.node("Resize", draw.box((1, 2, 4, 4)), roi, "", sizes, mode="linear",
              coordinate_transformation_mode="tf_crop_and_resize",
              extrapolation_value=draw.choice([0.0, 7.0]))


@onnx_case
def blocks(draw):
    x = draw.node("Add", draw.box((draw.integer(1, 3), 8, 2, 2)), draw.weights((8, 1, 1)))
    draw.node("DepthToSpace", x, blocksize=2, mode=draw.choice(["DCR", "CRD"]))
    draw.node("SpaceToDepth", x, blocksize=2)


@onnx_case
def grids(draw):
    x = draw.node("Add", draw.box((1, 2, 4, 5)), draw.weights((2, 1, 1)))
    theta = draw.box((1, 2, 3), scale=draw.random.uniform(0.1, 2))
    size = draw.constant(np.array([1, 2, 3, 3], np.int64))
    grid = draw.node("AffineGrid", theta, size, align_corners=draw.integer(0, 1))
    for mode in ("linear", "nearest", "cubic"):
        draw.node("GridSample", x, grid, mode=mode,
                  padding_mode=draw.choice(["zeros", "border", "reflection"]),
                  align_corners=draw.integer(0, 1))


@onnx_case
def folds(draw):
    stride = draw.integer(1, 2)
    windows = 16 if stride == 1 else 4
    image = draw.constant(np.array([5, 5], np.int64))
    block = draw.constant(np.array([2, 2], np.int64))
    for _ in range(2):
        draw.node("Col2Im", draw.box((1, 8, windows)), image, block, strides=[stride, stride])
