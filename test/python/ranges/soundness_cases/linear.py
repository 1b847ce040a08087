"""Cases of test_soundness.py: matrix products and convolutions."""

import numpy as np
from soundness_family import Cases
from soundness_operands import scale_of, signed, window_of

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- matrix products -------------------------------------------------------------------


@onnx_case
def matmul_weights(draw):
    rows, k, n = draw.integer(1, 5), draw.choice([1, 3, 17, 64]), draw.integer(1, 6)
    batch = draw.choice([(), (2,), (2, 3)])
    x = draw.box((*batch, rows, k), scale=scale_of(draw))
    y = draw.node("MatMul", x, draw.weights((k, n), scale_of(draw)))
    draw.node("MatMul", y, draw.weights((n,), 1))
    draw.node("MatMul", draw.weights((3, rows), 1), x)
    draw.node("MatMul", x, draw.weights((*batch, k, 2), 1))
    # Groups that differ by position.
    draw.node("MatMul", draw.node("Mul", x, draw.weights((rows, k), 1)),
              draw.weights((k, n), 1))


@onnx_case
def matmul_unknown(draw):
    rows, k, n = draw.integer(1, 5), draw.choice([1, 3, 17]), draw.integer(1, 6)
    x, y = draw.box((2, rows, k), scale=scale_of(draw)), draw.box((2, k, n), scale=scale_of(draw))
    draw.node("MatMul", x, y)
    draw.node("MatMul", draw.node("Mul", x, draw.weights((k,), 1)),
              draw.node("Mul", y, draw.weights((2, k, 1), 1)))
    draw.node("MatMul", draw.node("Mul", x, draw.weights((2, rows, 1), 1)), draw.box((k,), 0, 2))


@onnx_case
def gemm(draw):
    m, k, n = draw.integer(1, 5), draw.choice([1, 4, 33]), draw.integer(1, 6)
    trans_a, trans_b = draw.integer(0, 1), draw.integer(0, 1)
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": draw.choice([1.0, 0.5, -2.0]),
                  "beta": draw.choice([1.0, 0.0, 3.0])}
    x = draw.box((k, m) if trans_a else (m, k), scale=scale_of(draw))
    shape = (n, k) if trans_b else (k, n)
    bias = draw.choice([(n,), (m, n), (1,), (m, 1)])
    draw.node("Gemm", x, draw.weights(shape, scale_of(draw)), draw.weights(bias, 2), **attributes)
    draw.node("Gemm", x, draw.box(shape, scale=2), draw.box(bias, scale=2), **attributes)
    draw.node("Gemm", draw.weights((k, m) if trans_a else (m, k), 1),
              draw.box(shape, scale=2), draw.weights(bias, 2), **attributes)


@onnx_case
def scaled_by_nothing(draw):
    """0 times a product that is Inf."""
    largest = float(np.finfo(np.float32).max)
    x = draw.box((2, 3), -3, 3)
    for alpha in (0.0, 0.5):
        draw.node("Gemm", x, draw.constant(np.full((3, 2), largest)), signed(draw, (2,)),
                  alpha=alpha, beta=draw.choice([0.0, 3.0]))


@onnx_case
def einsum(draw):
    x, y = draw.box((2, 3, 4), scale=scale_of(draw)), draw.box((2, 4, 5), scale=scale_of(draw))
    w = draw.weights((4, 3, 2), 1)
    x = draw.node("Mul", x, draw.weights((3, 4), 1))
    draw.node("Einsum", x, y, equation="bij,bjk->bki")
    draw.node("Einsum", x, w, equation="...ij,jab->...iab")
    draw.node("Einsum", x, w, equation="bij,jia->ba")
    draw.node("Einsum", x, y, equation="bij,bkl->bik")
    draw.node("Einsum", x, equation="bij->jb")
    draw.node("Einsum", x, y, w, equation="bij,bjk,jia->bka")
    square = draw.box((3, 3), scale=scale_of(draw))
    draw.node("Einsum", square, equation="ii->i")
    draw.node("Einsum", square, x, equation="ij,bik")


@ir_case
def linear(draw):
    rows, k, n = draw.integer(1, 4), draw.choice([1, 3, 17, 64]), draw.integer(1, 6)
    x, b = draw.box((rows, k), scale=scale_of(draw)), draw.weights((n,), 2)
    w = draw.weights((n, k), scale_of(draw)) if draw.integer(0, 1) else draw.box((n, k), scale=2)
    draw.op("linear", [x, w, b], lambda x, w, b: x @ w.T + b)
    second = draw.box((rows, 3), scale=2)
    weight = draw.weights((n, k, 3), 1)
    draw.op("bilinear", [x, second, weight, b],
            lambda x, y, w, b: np.einsum("ri,oij,rj->ro", x, w, y) + b)


@onnx_case
def integer_products(draw):
    x = draw.box((3, 5), 0, 255, dtype=np.uint8)
    w = draw.constant(draw.random.integers(-128, 128, (5, 4)).astype(np.int8))
    zero = draw.constant(np.uint8(draw.integer(0, 255)))
    draw.node("Cast", draw.node("MatMulInteger", x, w, zero), to=1)
    draw.node("Cast", draw.node("MatMulInteger", x, w, zero, draw.constant(np.int8(3))), to=1)
    image = draw.box((1, 2, 5, 5), 0, 255, dtype=np.uint8)
    filters = draw.constant(draw.random.integers(0, 256, (3, 2, 3, 3)).astype(np.uint8))
    draw.node("Cast", draw.node("ConvInteger", image, filters, zero, zero,
                                pads=[1, 1, 1, 1]), to=1)


# -- convolutions ----------------------------------------------------------------------


@onnx_case
def conv(draw):
    rank, group = draw.choice([1, 2, 2, 3]), draw.choice([1, 1, 2, 4])
    outputs, per_group = group * draw.integer(1, 3), draw.integer(1, 3)
    kernel, attributes = window_of(draw, rank)
    if "auto_pad" not in attributes:
        attributes["dilations"] = [draw.integer(1, 2) for _ in range(rank)]
    x = draw.box((2, per_group * group, *[7] * rank), scale=scale_of(draw))
    filters = draw.weights((outputs, per_group, *kernel), scale_of(draw))
    draw.node("Conv", x, filters, draw.weights((outputs,), 2), group=group, **attributes)
    # Groups that differ by channel, and by position.
    y = draw.node("Add", x, draw.weights((per_group * group, *[1] * rank), 2))
    draw.node("Conv", y, filters, group=group, **attributes)
    z = draw.node("Mul", draw.box((1, per_group * group, *[7] * rank), scale=2),
                  draw.weights((per_group * group, *[7] * rank), 2))
    draw.node("Conv", z, filters, group=group, **attributes)
    draw.node("Conv", x, draw.box((outputs, per_group, *kernel), scale=2), group=group,
              **attributes)


@onnx_case
def conv_transpose(draw):
    rank, group = draw.choice([1, 2]), draw.choice([1, 1, 2])
    inputs, outputs = group * draw.integer(1, 2), draw.integer(1, 3)
    kernel = [draw.integer(1, 4) for _ in range(rank)]
    strides = [draw.integer(1, 3) for _ in range(rank)]
    attributes = {"kernel_shape": kernel, "strides": strides, "group": group,
                  "dilations": [draw.integer(1, 2) for _ in range(rank)],
                  "output_padding": [draw.integer(0, s - 1) for s in strides]}
    if draw.integer(0, 1):
        attributes["pads"] = [draw.integer(0, kernel[i % rank] - 1) for i in range(2 * rank)]
    x = draw.box((1, inputs, *[5] * rank), scale=scale_of(draw))
    filters = draw.weights((inputs, outputs, *kernel), scale_of(draw))
    draw.node("ConvTranspose", x, filters, draw.weights((outputs * group,), 2), **attributes)
    y = draw.node("Mul", x, draw.weights((inputs, *[1] * rank), 2))
    draw.node("ConvTranspose", y, filters, **attributes)


@onnx_case
def fused_convolution(draw):
    draw.node("FusedConv", draw.box((1, 2, 4, 4), 0.5, 3), signed(draw, (3, 2, 2, 2)),
              signed(draw, (3,)), activation="Tanh", domain="com.microsoft")


@onnx_case
def deformed(draw):
    c, m, k = draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3)
    out = 6 - k
    scale = draw.choice([0.5, 3, 100])
    operands = [draw.box((1, c, 5, 5), scale=scale), draw.weights((m, c, k, k), 2),
                draw.box((1, 2 * k * k, out, out), scale=draw.choice([0.3, 2, 9])),
                draw.weights((m,), 2)]
    if draw.integer(0, 1):
        operands.append(draw.box((1, k * k, out, out), 0, 1))
    draw.node("DeformConv", *operands, kernel_shape=[k, k], pads=[0] * 4)


# -- of whole numbers ------------------------------------------------------------------


def _whole(draw, shape):
    """Whole numbers in a float tensor, as masks, ids, counts and roundings make them."""
    kind = draw.integer(0, 3)
    if kind == 0:
        return draw.node("Cast", draw.box(shape, 0, 9, dtype=np.int64), to=1)
    if kind == 1:
        return draw.node("Floor", draw.box(shape, scale=10))
    if kind == 2:
        return draw.node("Sign", draw.box(shape, scale=1))
    zero = draw.constant(np.float32(0))
    return draw.node("Cast", draw.node("Greater", draw.box(shape, scale=3), zero), to=1)


def _readers(draw, y):
    """Ops whose ranges follow from the smallest magnitude."""
    draw.node("Reciprocal", y)
    draw.node("Log", draw.node("Abs", y))
    draw.node("Mul", y, draw.constant(np.float32(1e-5)))


@onnx_case
def whole_times_fractions(draw):
    k, n = draw.integer(1, 6), draw.integer(1, 4)
    _readers(draw, draw.node("MatMul", _whole(draw, (3, k)), draw.weights((k, n), 0.5)))
    _readers(draw, draw.node("MatMul", draw.weights((n, 3), 0.5), _whole(draw, (3, k))))
    _readers(draw, draw.node("Gemm", _whole(draw, (3, k)), draw.weights((n, k), 0.5), transB=1))


@onnx_case
def whole_through_filters(draw):
    x = _whole(draw, (1, 2, 4, 4))
    _readers(draw, draw.node("Conv", x, draw.weights((3, 2, 2, 2), 0.5)))
    _readers(draw, draw.node("ConvTranspose", x, draw.weights((2, 3, 2, 2), 0.5)))


@onnx_case
def whole_times_whole(draw):
    k = draw.integer(1, 6)
    weights = draw.constant(draw.random.integers(-3, 4, (k, 2)).astype(np.float32))
    _readers(draw, draw.node("MatMul", _whole(draw, (3, k)), weights))
