"""The cases of test_soundness.py: a name and a function that builds a small
graph with a `soundness.Draw`. A family adds a section."""

import numpy

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# -- elementwise, one operand ------------------------------------------------------------

UNARY = """Abs Neg Sign Floor Ceil Round Sqrt Reciprocal Exp Log Sin Cos Tan Asin Acos Atan
Sinh Cosh Tanh Asinh Acosh Atanh Erf Relu Sigmoid Softsign Softplus HardSwish Mish Gelu Elu
Celu Selu LeakyRelu ThresholdedRelu HardSigmoid Identity""".split()


def _unary(op):
    def build(draw):
        attributes = {}
        if op in ("Elu", "Celu", "LeakyRelu", "ThresholdedRelu"):
            attributes["alpha"] = draw.choice([0.01, 0.5, 1.0, 2.0])
        if op == "Gelu":
            attributes["approximate"] = draw.choice(["none", "tanh"])
        first = draw.node(op, draw.box(draw.shape()), **attributes)
        draw.node(op, first, **attributes)  # of what was rounded
    return build


for _op in UNARY:
    CASES[_op] = _unary(_op)


@case
def shrink(draw):
    draw.node("Shrink", draw.box(draw.shape()), lambd=draw.choice([0.1, 0.5, 2.0]),
              bias=draw.choice([0.0, 0.5]))


# -- elementwise, several operands -----------------------------------------------------------

BINARY = "Add Sub Mul Div Pow Max Min Sum Mean PRelu Mod".split()


def _binary(op):
    def build(draw):
        shape = draw.shape()
        other = draw.choice([shape, shape[-1:], (1,)])
        attributes = {"fmod": 1} if op == "Mod" else {}
        second = draw.weights(other) if draw.integer(0, 1) else draw.box(other)
        draw.node(op, draw.box(shape), second, **attributes)
    return build


for _op in BINARY:
    CASES[_op] = _binary(_op)


@case
def same_value(draw):
    x = draw.box(draw.shape())
    for op in ("Add", "Sub", "Mul", "Div", "Max"):
        draw.node(op, x, x)


@case
def small_power(draw):
    draw.node("Pow", draw.box(draw.shape()),
              draw.constant(numpy.float32(draw.choice([2, 3, 0.5, -1, -2, 0, 1.5]))))


@case
def clip(draw):
    lo, hi = draw.interval()
    draw.node("Clip", draw.box(draw.shape()), draw.constant(numpy.float32(lo)),
              draw.constant(numpy.float32(hi)))


@case
def guarded(draw):
    shape = draw.shape()
    x, bound = draw.box(shape), draw.weights(shape[-1:])
    other = draw.box(shape)
    for op in ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"):
        condition = draw.node(op, x, bound)
        draw.node("Where", condition, x, other)
        draw.node("Where", condition, other, x)
        draw.node("Where", draw.node("Not", condition), x, other)


@case
def guarded_logarithm(draw):
    x = draw.box(draw.shape())
    zero, one = draw.constant(numpy.float32(0)), draw.constant(numpy.float32(1))
    draw.node("Log", draw.node("Where", draw.node("Greater", x, zero), x, one))


@case
def epsilon(draw):
    x = draw.node("Relu", draw.box(draw.shape()))
    eps = draw.constant(numpy.float32(draw.choice([1e-12, 1e-8, 1e-5, 1e-3])))
    root = draw.node("Sqrt", draw.node("Add", x, eps))
    draw.node("Div", x, root)
    draw.node("Log", draw.node("Add", x, eps))


@case
def integers(draw):
    x = draw.box((2, 5), -20, 20, dtype=numpy.int64)
    c = draw.constant(numpy.array([3, -2, 7, 1, 5], dtype=numpy.int64))
    for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max"):
        draw.node("Cast", draw.node(op, x, c), to=1)


@case
def casts(draw):
    x = draw.box(draw.shape(), scale=draw.choice([0.5, 3, 1e3]))
    draw.node("Cast", draw.node("Cast", x, to=7), to=1)
    draw.node("Cast", draw.node("Cast", x, to=9), to=1)


# -- data movement ---------------------------------------------------------------------------

def _channels(draw, shape):
    """Groups that differ by channel, so that a mix-up shows."""
    return draw.node("Mul", draw.box(shape), draw.weights((shape[-1],)))


def _ints(draw, *values):
    return draw.constant(numpy.array(values, dtype=numpy.int64))


@case
def reshapes(draw):
    x = _channels(draw, (2, 3, 8))
    y = draw.node("Reshape", x, _ints(draw, 2, 3, 2, 4))
    draw.node("Transpose", y, perm=[0, 2, 1, 3])
    draw.node("Reshape", y, _ints(draw, 6, 8))
    draw.node("Reshape", x, _ints(draw, -1))
    draw.node("Flatten", x, axis=draw.integer(0, 3))
    draw.node("Transpose", x)
    draw.node("Reshape", draw.node("Transpose", x, perm=[2, 0, 1]), _ints(draw, 4, 12))
    draw.node("Squeeze", draw.node("Unsqueeze", x, _ints(draw, 1, -1)))
    draw.node("Squeeze", _channels(draw, (1, draw.integer(2, 9))), _ints(draw, 0))


@case
def repeats(draw):
    x = _channels(draw, (1, 4))
    draw.node("Expand", x, _ints(draw, draw.integer(2, 9), 2, 4))
    draw.node("Tile", x, _ints(draw, draw.integer(1, 9), 3))


@case
def parts(draw):
    rows = draw.integer(1, 4)
    x, y = _channels(draw, (rows, 6)), _channels(draw, (rows, 3))
    both = draw.node("Concat", x, y, axis=1)
    draw.node("Split", both, _ints(draw, 4, 5), axis=1, outputs=2)
    draw.node("Slice", both, _ints(draw, 1), _ints(draw, 8), _ints(draw, 1), _ints(draw, 3))
    draw.node("Slice", both, _ints(draw, -1), _ints(draw, -100), _ints(draw, 1),
              _ints(draw, -2))
    draw.node("Concat", x, x, axis=0)
    draw.node("Trilu", both)
    draw.node("Pad", x, _ints(draw, 0, 1, 0, -2))
    draw.node("Pad", x, _ints(draw, 1, 0, 0, 0), mode="edge")


@case
def picks(draw):
    x = _channels(draw, (5, 4))
    draw.node("Gather", x, _ints(draw, 3, -4, 0), axis=1)
    draw.node("Gather", x, draw.constant(numpy.int64(2)), axis=1)
    ids = draw.box((2, 3), 0, 4, dtype=numpy.int64)
    draw.node("Gather", x, ids)
    draw.node("Gather", draw.weights((5, 4)), ids)
    draw.node("GatherElements", x, draw.constant(numpy.zeros((2, 4), numpy.int64)), axis=0)
    draw.node("GatherND", x, draw.constant(numpy.array([[1, 2], [4, 3]], numpy.int64)))
    draw.node("ScatterND", x, draw.constant(numpy.array([[1]], numpy.int64)),
              draw.box((1, 4)))


@case
def made(draw):
    start, step = draw.integer(-9, 9), draw.integer(1, 4)
    draw.node("Cast", draw.node("Range", _ints0(draw, start),
                                _ints0(draw, start + draw.integer(1, 30)), _ints0(draw, step)),
              to=1)
    depth = draw.integer(2, 9)
    draw.node("OneHot", draw.box(draw.any_shape(), 0, depth - 1, dtype=numpy.int64),
              _ints0(draw, depth), draw.weights((2,)))
    draw.node("Cast", draw.node("Shape", draw.box(draw.any_shape())), to=1)


def _ints0(draw, value):
    return draw.constant(numpy.int64(value))


# -- matrix products and convolutions --------------------------------------------------------

def _scale(draw):
    return draw.choice([0.5, 3, 10]) if draw.fp16 else draw.choice([1e-3, 0.5, 3, 1e3, 1e8])


@case
def matmul_weights(draw):
    rows, k, n = draw.integer(1, 5), draw.choice([1, 3, 17, 64]), draw.integer(1, 6)
    batch = draw.choice([(), (2,), (2, 3)])
    x = draw.box((*batch, rows, k), scale=_scale(draw))
    y = draw.node("MatMul", x, draw.weights((k, n), _scale(draw)))
    draw.node("MatMul", y, draw.weights((n,), 1))
    draw.node("MatMul", draw.weights((3, rows), 1), x)
    draw.node("MatMul", x, draw.weights((*batch, k, 2), 1))
    # Groups that differ by position.
    draw.node("MatMul", draw.node("Mul", x, draw.weights((rows, k), 1)),
              draw.weights((k, n), 1))


@case
def matmul_unknown(draw):
    rows, k, n = draw.integer(1, 5), draw.choice([1, 3, 17]), draw.integer(1, 6)
    x, y = draw.box((2, rows, k), scale=_scale(draw)), draw.box((2, k, n), scale=_scale(draw))
    draw.node("MatMul", x, y)
    draw.node("MatMul", draw.node("Mul", x, draw.weights((k,), 1)),
              draw.node("Mul", y, draw.weights((2, k, 1), 1)))
    draw.node("MatMul", draw.node("Mul", x, draw.weights((2, rows, 1), 1)), draw.box((k,), 0, 2))


@case
def gemm(draw):
    m, k, n = draw.integer(1, 5), draw.choice([1, 4, 33]), draw.integer(1, 6)
    trans_a, trans_b = draw.integer(0, 1), draw.integer(0, 1)
    attributes = {"transA": trans_a, "transB": trans_b, "alpha": draw.choice([1.0, 0.5, -2.0]),
                  "beta": draw.choice([1.0, 0.0, 3.0])}
    x = draw.box((k, m) if trans_a else (m, k), scale=_scale(draw))
    shape = (n, k) if trans_b else (k, n)
    bias = draw.choice([(n,), (m, n), (1,), (m, 1)])
    draw.node("Gemm", x, draw.weights(shape, _scale(draw)), draw.weights(bias, 2), **attributes)
    draw.node("Gemm", x, draw.box(shape, scale=2), draw.box(bias, scale=2), **attributes)
    draw.node("Gemm", draw.weights((k, m) if trans_a else (m, k), 1),
              draw.box(shape, scale=2), draw.weights(bias, 2), **attributes)


@case
def attention(draw):
    k, n = draw.choice([4, 16]), draw.integer(2, 6)
    x = draw.box((2, n, k), scale=_scale(draw))
    normed = draw.node("LayerNormalization", x, draw.weights((k,), 2), draw.weights((k,), 1))
    q, p, v = (draw.node("MatMul", normed, draw.weights((k, k), 0.5)) for _ in range(3))
    scores = draw.node("MatMul", q, draw.node("Transpose", p, perm=[0, 2, 1]))
    mixed = draw.node("MatMul", draw.node("Softmax", scores), v)
    draw.node("MatMul", mixed, draw.weights((k, 3), 0.5))


def _window(draw, rank, size):
    kernel = [draw.integer(1, 3) for _ in range(rank)]
    attributes = {"kernel_shape": kernel,
                  "strides": [draw.integer(1, 3) for _ in range(rank)]}
    kind = draw.integer(0, 3)
    if kind == 0:
        attributes["auto_pad"] = draw.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif kind > 1:
        attributes["pads"] = [draw.integer(0, kernel[i % rank] - 1) for i in range(2 * rank)]
    return kernel, attributes


@case
def conv(draw):
    rank, group = draw.choice([1, 2, 2, 3]), draw.choice([1, 1, 2, 4])
    outputs, per_group = group * draw.integer(1, 3), draw.integer(1, 3)
    kernel, attributes = _window(draw, rank, 7)
    if "auto_pad" not in attributes:
        attributes["dilations"] = [draw.integer(1, 2) for _ in range(rank)]
    x = draw.box((2, per_group * group, *[7] * rank), scale=_scale(draw))
    filters = draw.weights((outputs, per_group, *kernel), _scale(draw))
    draw.node("Conv", x, filters, draw.weights((outputs,), 2), group=group, **attributes)
    # Groups that differ by channel, and by position.
    y = draw.node("Add", x, draw.weights((per_group * group, *[1] * rank), 2))
    draw.node("Conv", y, filters, group=group, **attributes)
    z = draw.node("Mul", draw.box((1, per_group * group, *[7] * rank), scale=2),
                  draw.weights((per_group * group, *[7] * rank), 2))
    draw.node("Conv", z, filters, group=group, **attributes)
    draw.node("Conv", x, draw.box((outputs, per_group, *kernel), scale=2), group=group,
              **attributes)


@case
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
    x = draw.box((1, inputs, *[5] * rank), scale=_scale(draw))
    filters = draw.weights((inputs, outputs, *kernel), _scale(draw))
    draw.node("ConvTranspose", x, filters, draw.weights((outputs * group,), 2), **attributes)
    y = draw.node("Mul", x, draw.weights((inputs, *[1] * rank), 2))
    draw.node("ConvTranspose", y, filters, **attributes)


@case
def integer_products(draw):
    x = draw.box((3, 5), 0, 255, dtype=numpy.uint8)
    w = draw.constant(draw.random.integers(-128, 128, (5, 4)).astype(numpy.int8))
    zero = draw.constant(numpy.uint8(draw.integer(0, 255)))
    draw.node("Cast", draw.node("MatMulInteger", x, w, zero), to=1)
    draw.node("Cast", draw.node("MatMulInteger", x, w, zero, draw.constant(numpy.int8(3))), to=1)
    image = draw.box((1, 2, 5, 5), 0, 255, dtype=numpy.uint8)
    filters = draw.constant(draw.random.integers(0, 256, (3, 2, 3, 3)).astype(numpy.uint8))
    draw.node("Cast", draw.node("ConvInteger", image, filters, zero, zero,
                                pads=[1, 1, 1, 1]), to=1)


# -- pooling -----------------------------------------------------------------------------------

@case
def pools(draw):
    rank = draw.choice([1, 2])
    _, attributes = _window(draw, rank, 7)
    x = draw.node("Add", draw.box((1, 2, *[7] * rank), scale=_scale(draw)),
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


@case
def einsum(draw):
    x, y = draw.box((2, 3, 4), scale=_scale(draw)), draw.box((2, 4, 5), scale=_scale(draw))
    w = draw.weights((4, 3, 2), 1)
    x = draw.node("Mul", x, draw.weights((3, 4), 1))
    draw.node("Einsum", x, y, equation="bij,bjk->bki")
    draw.node("Einsum", x, w, equation="...ij,jab->...iab")
    draw.node("Einsum", x, w, equation="bij,jia->ba")
    draw.node("Einsum", x, y, equation="bij,bkl->bik")
    draw.node("Einsum", x, equation="bij->jb")
    draw.node("Einsum", x, y, w, equation="bij,bjk,jia->bka")
    square = draw.box((3, 3), scale=_scale(draw))
    draw.node("Einsum", square, equation="ii->i")
    draw.node("Einsum", square, x, equation="ij,bik")
