"""Cases of test_soundness.py for what is said beside an interval: that values are whole
numbers, that an element may be masked, that there may be none."""

import numpy

from soundness_cases import _ints

CASES = {}
OPSET = 23


def case(function):
    CASES[function.__name__] = function
    return function


def _whole(draw, shape):
    """Whole numbers in a float tensor, as masks, ids, counts and roundings make them."""
    kind = draw.integer(0, 3)
    if kind == 0:
        return draw.node("Cast", draw.box(shape, 0, 9, dtype=numpy.int64), to=1)
    if kind == 1:
        return draw.node("Floor", draw.box(shape, scale=10))
    if kind == 2:
        return draw.node("Sign", draw.box(shape, scale=1))
    zero = draw.constant(numpy.float32(0))
    return draw.node("Cast", draw.node("Greater", draw.box(shape, scale=3), zero), to=1)


def _readers(draw, y):
    """Ops whose ranges follow from the smallest magnitude."""
    draw.node("Reciprocal", y)
    draw.node("Log", draw.node("Abs", y))
    draw.node("Mul", y, draw.constant(numpy.float32(1e-5)))


@case
def whole_times_fractions(draw):
    k, n = draw.integer(1, 6), draw.integer(1, 4)
    _readers(draw, draw.node("MatMul", _whole(draw, (3, k)), draw.weights((k, n), 0.5)))
    _readers(draw, draw.node("MatMul", draw.weights((n, 3), 0.5), _whole(draw, (3, k))))
    _readers(draw, draw.node("Gemm", _whole(draw, (3, k)), draw.weights((n, k), 0.5), transB=1))


@case
def whole_through_filters(draw):
    x = _whole(draw, (1, 2, 4, 4))
    _readers(draw, draw.node("Conv", x, draw.weights((3, 2, 2, 2), 0.5)))
    _readers(draw, draw.node("ConvTranspose", x, draw.weights((2, 3, 2, 2), 0.5)))


@case
def whole_times_whole(draw):
    k = draw.integer(1, 6)
    weights = draw.constant(draw.random.integers(-3, 4, (k, 2)).astype(numpy.float32))
    _readers(draw, draw.node("MatMul", _whole(draw, (3, k)), weights))


def _mask(draw, shape):
    return draw.box(shape, 0, 1, dtype=bool)


@case
def chosen_scores(draw):
    shape = (2, draw.integer(1, 5))
    scores = draw.box(shape, scale=draw.choice([0.05, 1, 30]))
    masked = draw.node("Where", _mask(draw, shape), scores, draw.constant(numpy.float32(-numpy.inf)))
    p = draw.node("Softmax", masked, axis=-1)
    draw.node("Log", p)
    draw.node("LogSoftmax", masked, axis=-1)


@case
def added_mask(draw):
    steps = draw.choice([3, 128])
    mask = numpy.triu(numpy.full((steps, steps), -numpy.inf), 1)
    x = draw.node("Add", draw.box((1, 2, steps, steps), scale=draw.choice([0.05, 3])),
                  draw.constant(mask))
    draw.node("Log", draw.node("Softmax", x, axis=-1))


@case
def attention_masks(draw):
    steps, keys = draw.integer(1, 4), draw.integer(1, 5)
    q, v = draw.box((1, 2, steps, 4), 0.5, 1), draw.box((1, 2, keys, 4), 0.25, 2)
    k = draw.box((1, 2, keys, 4), 0.5, 1)
    draw.node("Attention", q, k, v, _mask(draw, (steps, keys)))
    lowest = float(numpy.finfo(numpy.float16 if draw.fp16 else numpy.float32).min)
    chosen = draw.random.integers(0, 2, (steps, keys))
    draw.node("Attention", q, k, v, draw.constant(numpy.where(chosen, lowest, 0.0)))
    draw.node("Attention", q, k, v, softcap=draw.choice([0.1, 2.0]))


@case
def no_elements(draw):
    x = draw.box((2, 0, 3), -2, -1)
    for op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd",
               "ReduceLogSumExp", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
        draw.node(op, x, _ints(draw, 1))


@case
def short_windows(draw):
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        draw.node(op, draw.constant(numpy.int64(draw.integer(1, 3))), periodic=draw.integer(0, 1))


@case
def large_codes(draw):
    x = draw.box((4,), 2**24 - 1, 2**24 + 5, dtype=numpy.int32)
    scale = draw.format.round(numpy.float32(draw.choice([3.0, 0.1, 1e-3])))
    draw.node("DequantizeLinear", x, draw.constant(scale))


@case
def renormalised_cubic(draw):
    scales = numpy.array([1, 1, draw.choice([13.1, 2.5]), 1], numpy.float32)
    draw.node("Resize", draw.box((1, 1, 4, 4), -1, 1), "", draw.constant(scales), mode="cubic",
              cubic_coeff_a=draw.choice([-0.75, -0.5, 0.5, 1.0]), exclude_outside=1,
              coordinate_transformation_mode=draw.choice(["asymmetric", "half_pixel"]))
