"""Cases of test_soundness.py: reductions, scans, selections, resampling,
random numbers, signals, lists, quantisation and losses."""

import numpy
from onnx import helper

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# -- reductions ------------------------------------------------------------------------

REDUCTIONS = """ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2
ReduceLogSum ReduceLogSumExp ReduceSumSquare""".split()


def _reduction(op):
    def build(draw):
        shape = draw.shape()
        rank = len(shape)
        x = draw.choice([draw.box, draw.weights])(shape)
        axes = draw.choice([None, [rank - 1], [0], list(range(rank))])
        keep = draw.integer(0, 1)
        inputs = [x] if axes is None else [x, draw.constant(numpy.array(axes, numpy.int64))]
        draw.node(op, *inputs, keepdims=keep)
        # Along an axis whose elements are told apart.
        shifted = draw.node("Add", x, draw.weights(shape[-1:]))
        last = draw.constant(numpy.array([rank - 1], numpy.int64))
        draw.node(op, shifted, last, keepdims=1)
        if rank > 1:
            first = draw.constant(numpy.array([0], numpy.int64))
            draw.node(op, shifted, first, keepdims=0)
    return build


for _op in REDUCTIONS:
    CASES[_op] = _reduction(_op)


@case
def reduced_softmax(draw):
    x = draw.node("Softmax", draw.box((3, 9)), axis=1)
    axis = draw.constant(numpy.array([1], numpy.int64))
    for op in REDUCTIONS:
        if op != "ReduceLogSum":
            draw.node(op, x, axis)


@case
def reduced_norm(draw):
    x = draw.node("LayerNormalization", draw.box((3, 12)), draw.weights((12,), 2), axis=-1)
    axis = draw.constant(numpy.array([1], numpy.int64))
    for op in ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMean"):
        draw.node(op, x, axis)


@case
def reduced_integers(draw):
    x = draw.box((2, 5), -20, 20, dtype=numpy.int32)
    axis = draw.constant(numpy.array([draw.integer(0, 1)], numpy.int64))
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
        draw.node("Cast", draw.node(op, x, axis), to=1)


@case
def cumulative(draw):
    shape = draw.shape()
    axis = draw.constant(numpy.int64(draw.integer(0, len(shape) - 1)))
    draw.node("CumSum", draw.box(shape), axis, exclusive=draw.integer(0, 1),
              reverse=draw.integer(0, 1))
    draw.node("CumSum", draw.weights(shape), axis, exclusive=draw.integer(0, 1))


@case
def selections(draw):
    x = draw.node("Add", draw.box((3, 6)), draw.weights((6,)))
    k = draw.constant(numpy.array([draw.integer(1, 3)], numpy.int64))
    axis = draw.integer(0, 1)
    draw.node("TopK", x, k, axis=axis, largest=draw.integer(0, 1), outputs=2)
    draw.node("Cast", draw.node("ArgMax", x, axis=axis), to=1)
    draw.node("Cast", draw.node("ArgMin", x, axis=axis, keepdims=0), to=1)


# -- images ----------------------------------------------------------------------------


@case
def resizes(draw):
    x = draw.node("Add", draw.box((1, 3, 4, 5)), draw.weights((3, 1, 1)))
    for mode in ("nearest", "linear", "cubic"):
        scales = draw.constant(numpy.array(
            [1, 1, draw.choice([0.6, 1.0, 2.0, 1.7]), draw.choice([0.5, 1.0, 3.0])],
            numpy.float32))
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


@case
def cropped(draw):
    roi = draw.constant(numpy.array([0, 0, -0.2, 0.1, 1, 1, 1.3, 0.9], numpy.float32))
    sizes = draw.constant(numpy.array([1, 2, 5, 5], numpy.int64))
    draw.node("Resize", draw.box((1, 2, 4, 4)), roi, "", sizes, mode="linear",
              coordinate_transformation_mode="tf_crop_and_resize",
              extrapolation_value=draw.choice([0.0, 7.0]))


@case
def blocks(draw):
    x = draw.node("Add", draw.box((draw.integer(1, 3), 8, 2, 2)), draw.weights((8, 1, 1)))
    draw.node("DepthToSpace", x, blocksize=2, mode=draw.choice(["DCR", "CRD"]))
    draw.node("SpaceToDepth", x, blocksize=2)


@case
def grids(draw):
    x = draw.node("Add", draw.box((1, 2, 4, 5)), draw.weights((2, 1, 1)))
    theta = draw.box((1, 2, 3), scale=draw.random.uniform(0.1, 2))
    size = draw.constant(numpy.array([1, 2, 3, 3], numpy.int64))
    grid = draw.node("AffineGrid", theta, size, align_corners=draw.integer(0, 1))
    for mode in ("linear", "nearest", "cubic"):
        draw.node("GridSample", x, grid, mode=mode,
                  padding_mode=draw.choice(["zeros", "border", "reflection"]),
                  align_corners=draw.integer(0, 1))


@case
def folds(draw):
    stride = draw.integer(1, 2)
    windows = 16 if stride == 1 else 4
    image = draw.constant(numpy.array([5, 5], numpy.int64))
    block = draw.constant(numpy.array([2, 2], numpy.int64))
    for _ in range(2):
        draw.node("Col2Im", draw.box((1, 8, windows)), image, block, strides=[stride, stride])


@case
def determinant(draw):
    for size in range(1, 5):
        draw.node("Det", draw.box((2, size, size)))


@case
def regions(draw):
    image = draw.node("Add", draw.box((1, 2, draw.integer(6, 9), 7)), draw.weights((2, 1, 1)))
    corner = draw.random.uniform(0, 3, (3, 2))
    rois = numpy.concatenate([corner, corner + draw.random.uniform(0.5, 4, (3, 2))], 1)
    which = draw.constant(numpy.zeros(3, numpy.int64))
    draw.node("RoiAlign", image, draw.constant(rois), which, output_height=2, output_width=3,
              mode=draw.choice(["avg", "max"]), sampling_ratio=draw.integer(0, 2),
              spatial_scale=draw.choice([1.0, 0.5]),
              coordinate_transformation_mode=draw.choice(["half_pixel", "output_half_pixel"]))
    numbered = numpy.concatenate([numpy.zeros((3, 1)), numpy.floor(rois)], 1)
    draw.node("MaxRoiPool", image, draw.constant(numbered), pooled_shape=[2, 2],
              spatial_scale=draw.choice([1.0, 0.5]))


# -- random numbers and signals -----------------------------------------------------------


@case
def random_numbers(draw):
    size, low = draw.random.uniform(0, 9, 2).astype(float)
    draw.node("RandomNormal", shape=[40, 50], mean=float(draw.random.uniform(-5, 5)),
              scale=float(size))
    draw.node("RandomUniform", shape=[30], low=float(low), high=float(low + size))
    draw.node("Bernoulli", draw.box(draw.any_shape(), *sorted(draw.random.uniform(0, 1, 2))))
    scores = draw.box(draw.any_shape(2), -draw.integer(1, 9), 3)
    draw.node("Cast", draw.node("Multinomial", scores, sample_size=draw.integer(1, 9)), to=1)


@case
def dropout(draw):
    shape = draw.shape()
    ratio = draw.constant(numpy.float32(draw.choice([0.1, 0.5, 0.9])))
    training = draw.constant(numpy.bool_(draw.integer(0, 1)))
    x, y = draw.box(shape), draw.node("Relu", draw.box(shape))
    draw.node("Dropout", x, ratio, training)
    draw.node("Dropout", y, ratio)


@case
def windows(draw):
    size = draw.constant(numpy.int64(draw.integer(2, 20)))
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        draw.node(op, size, periodic=draw.integer(0, 1))


@case
def transforms(draw):
    parts = draw.integer(1, 2)
    x = draw.box((2, 10, parts))
    axis = draw.constant(numpy.int64(1))
    draw.node("DFT", x, "", axis, onesided=0)
    if parts == 1:
        draw.node("DFT", x, "", axis, onesided=1)
    else:
        draw.node("DFT", x, "", axis, inverse=1)
    length = draw.constant(numpy.int64(draw.choice([6, 16])))
    draw.node("DFT", x, length, axis)


@case
def short_transforms(draw):
    size = draw.choice([8, 16])
    window = draw.node("HannWindow", draw.constant(numpy.int64(size)))
    for _ in range(2):
        step = draw.constant(numpy.int64(draw.integer(2, 6)))
        draw.node("STFT", draw.box((1, 24, 1)), step, window, draw.constant(numpy.int64(size)))


@case
def mel(draw):
    values = [draw.constant(numpy.int64(v)) for v in (
        draw.integer(2, 12), draw.choice([32, 64, 128]), 8000)]
    draw.node("MelWeightMatrix", *values, draw.constant(numpy.float32(draw.integer(0, 200))),
              draw.constant(numpy.float32(draw.integer(2000, 3900))))


# -- lists -----------------------------------------------------------------------------


@case
def lists(draw):
    shape = draw.any_shape()
    a, b = draw.box(shape), draw.box(shape)
    both = draw.node("SequenceConstruct", a, b)
    more = draw.node("SequenceInsert", both, draw.weights(shape))
    one = draw.constant(numpy.int64(1))
    draw.node("SequenceAt", both, one)
    draw.node("ConcatFromSequence", draw.node("SequenceErase", more, one), axis=0)
    draw.node("Cast", draw.node("SequenceLength", more), to=1)
    parts = draw.node("SplitToSequence", draw.box((4, *draw.any_shape())),
                      draw.constant(numpy.int64(2)))
    draw.node("SequenceAt", parts, one)


# -- quantisation ----------------------------------------------------------------------


def _exact(draw, scale):
    """A policy leaves scales alone, so they must be numbers of its format."""
    return draw.format.round(numpy.asarray(scale, numpy.float32))


@case
def quantised(draw):
    x = draw.node("Add", draw.box((2, 3, 4)), draw.weights((3, 1)))
    scale = draw.choice([1e-3, 0.1, 3.0])
    kind = draw.choice([numpy.uint8, numpy.int8])
    if draw.integer(0, 1):
        scales = draw.constant(_exact(draw, scale))
        zero = draw.constant(kind(draw.integer(0, 100)))
    else:
        scales = draw.constant(_exact(draw, draw.random.uniform(0.5, 2, 3) * scale))
        zero = draw.constant(draw.random.integers(0, 100, 3).astype(kind))
    code = draw.node("QuantizeLinear", x, scales, zero, axis=1)
    draw.node("Cast", code, to=1)
    draw.node("DequantizeLinear", code, scales, zero, axis=1)


@case
def quantised_weights(draw):
    weights = draw.constant(draw.random.integers(-128, 128, (6, 5)).astype(numpy.int8))
    axis = draw.integer(0, 1)
    scales = draw.constant(_exact(draw, draw.random.uniform(0.01, 2, (6, 5)[axis])))
    draw.node("DequantizeLinear", weights, scales, axis=axis)


@case
def quantised_dynamically(draw):
    for _ in range(2):
        code, scale, zero = draw.node("DynamicQuantizeLinear", draw.box(draw.any_shape(2)),
                                      outputs=3)
        draw.node("Cast", code, to=1)
        draw.node("DequantizeLinear", code, scale, zero)


# -- losses ----------------------------------------------------------------------------


@case
def class_losses(draw):
    classes = draw.integer(2, 6)
    x = draw.box((4, classes))
    target = draw.box((4,), 0, classes - 1, dtype=numpy.int64)
    reduction = draw.choice(["none", "mean", "sum"])
    weights = [draw.constant(draw.random.uniform(0.1, 3, classes).astype(numpy.float32))]
    weights = weights if draw.integer(0, 1) else []
    draw.node("SoftmaxCrossEntropyLoss", x, target, *weights, outputs=2, reduction=reduction)
    draw.node("NegativeLogLikelihoodLoss", x, target, *weights, reduction=reduction)
    draw.node("SoftmaxCrossEntropyLoss", x, target, reduction="mean", ignore_index=0)
