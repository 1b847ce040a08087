"""Cases of test_soundness.py: elementwise functions, comparisons, logic and bits."""

import math

import numpy as np
from soundness_family import Cases
from soundness_operands import erf, function_of_one

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- one operand -----------------------------------------------------------------------

UNARY = """Abs Neg Sign Floor Ceil Round Sqrt Reciprocal Exp Log Sin Cos Tan Asin Acos Atan
Sinh Cosh Tanh Asinh Acosh Atanh Erf""".split()


def _unary(op):
    def build(draw):
        first = draw.node(op, draw.box(draw.shape()))
        draw.node(op, first)  # of what was rounded
    return build


for _op in UNARY:
    CASES.onnx[_op] = _unary(_op)


def in_kind(function):
    """A function of Python floats, in the arrays' dtype."""
    return lambda x: function(x).astype(x.dtype)


def log_ndtr(x):
    """Far below zero by the continued fraction of Mills' ratio."""
    if x > 0:
        return math.log1p(-math.erfc(x / math.sqrt(2)) / 2)
    if x > -25:
        return math.log(math.erfc(-x / math.sqrt(2)) / 2)
    if math.isinf(x):
        return x
    fraction = -x
    for k in range(20, 0, -1):
        fraction = -x + k / fraction
    return -x * x / 2 - math.log(fraction * math.sqrt(2 * math.pi))


FUNCTIONS = {  # by mnemonic
    "erfc": in_kind(np.vectorize(math.erfc, otypes=[np.float64])),
    "exp2": np.exp2, "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x), "square": lambda x: x * x, "trunc": np.trunc,
    "log_ndtr": in_kind(np.vectorize(log_ndtr, otypes=[np.float64])),
    "is_finite": np.isfinite, "is_nan": np.isnan,
}

for _op, _reference in FUNCTIONS.items():
    CASES.ir[_op] = function_of_one(_op, _reference)


def erfinv(x):
    """Newton's method from Giles' approximation's leading term."""
    x = x.astype(np.float64)
    w = -np.log((1 - x) * (1 + x))
    a = 2 / (np.pi * 0.147) - w / 2
    y = np.sign(x) * np.sqrt(np.sqrt(a * a + w / 0.147) - a)
    for _ in range(3):
        y = y - (erf(y) - x) * np.sqrt(np.pi) / 2 * np.exp(y * y)
    return np.where(np.abs(x) == 1, np.sign(x) * np.inf, np.where(np.abs(x) > 1, np.nan, y))


@ir_case
def inverse_erf(draw):
    lo, hi = sorted(draw.random.uniform(-1, 1, 2).astype(np.float32).tolist())
    lo, hi = draw.choice([(lo, hi), (-1.0, hi), (lo, 1.0), (lo, lo), (-1e-30, hi + 2)])
    draw.op("erfinv", [draw.box(draw.shape(), *sorted((lo, hi)))], in_kind(erfinv))


# -- several operands ------------------------------------------------------------------

BINARY = "Add Sub Mul Div Pow Max Min Sum Mean Mod".split()


def _binary(op):
    def build(draw):
        shape = draw.shape()
        other = draw.choice([shape, shape[-1:], (1,)])
        attributes = {"fmod": 1} if op == "Mod" else {}
        second = draw.weights(other) if draw.integer(0, 1) else draw.box(other)
        draw.node(op, draw.box(shape), second, **attributes)
    return build


for _op in BINARY:
    CASES.onnx[_op] = _binary(_op)


@onnx_case
def same_value(draw):
    x = draw.box(draw.shape())
    for op in ("Add", "Sub", "Mul", "Div", "Max"):
        draw.node(op, x, x)


@onnx_case
def small_power(draw):
    draw.node("Pow", draw.box(draw.shape()),
              draw.constant(np.float32(draw.choice([2, 3, 0.5, -1, -2, 0, 1.5]))))


@onnx_case
def clip(draw):
    lo, hi = draw.interval()
    draw.node("Clip", draw.box(draw.shape()), draw.constant(np.float32(lo)),
              draw.constant(np.float32(hi)))


@onnx_case
def limits(draw):
    """Without a largest number Inf becomes the kernel's."""
    draw.node("Clip", draw.box((3,), -2, 3), draw.constant(np.float32(np.inf)))
    draw.node("Clip", draw.box((3,), -2, 3), "", draw.constant(np.float32(-np.inf)))


@onnx_case
def powers_of_integers(draw):
    x = draw.box((3, 4), *draw.choice([(9, 5000), (-7, -2), (1, 4)]), dtype=np.int32)
    draw.node("Pow", x, draw.box((3, 4), -4, 0, dtype=np.int32))
    draw.node("Pow", x, draw.constant(np.float32(draw.choice([-1.0, 2.0]))))


@onnx_case
def integers(draw):
    x = draw.box((2, 5), -20, 20, dtype=np.int64)
    c = draw.constant(np.array([3, -2, 7, 1, 5], dtype=np.int64))
    for op in ("Add", "Sub", "Mul", "Div", "Mod", "Max"):
        draw.node("Cast", draw.node(op, x, c), to=1)


@onnx_case
def epsilon(draw):
    x = draw.node("Relu", draw.box(draw.shape()))
    eps = draw.constant(np.float32(draw.choice([1e-12, 1e-8, 1e-5, 1e-3])))
    root = draw.node("Sqrt", draw.node("Add", x, eps))
    draw.node("Div", x, root)
    draw.node("Log", draw.node("Add", x, eps))


def _pair(draw, **options):
    shape = draw.shape()
    other = draw.choice([shape, shape[-1:], (1,)])
    return (draw.box(shape, **options),
            draw.weights(other) if draw.integer(0, 1) else draw.box(other, **options))


@ir_case
def two_operands(draw):
    x, y = _pair(draw)
    draw.op("atan2", [x, y], np.arctan2)
    draw.op("floor_div", [x, y], lambda x, y: np.floor(x / y))
    draw.op("not_equal", [x, y], np.not_equal)


@ir_case
def fused(draw):
    x, a = _pair(draw)
    b = draw.box((1,))
    factor = draw.choice([1.0, -0.5, 3.0, 1e-3])
    draw.op("addcmul", [x, a, b], lambda x, a, b: x + factor * a * b, value=factor)
    draw.op("addcdiv", [x, a, b], lambda x, a, b: x + factor * a / b, value=factor)
    weight = draw.box((1,), *draw.choice([(0, 1), (-0.5, 2.0), (0.5, 0.5)]))
    draw.op("lerp", [x, a, weight],
            lambda a, b, w: np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)))
    draw.op("masked_fill", [x, draw.box((1,), 0, 1, dtype=bool), b],
            lambda x, mask, value: np.where(mask, value, x))


# -- selection, truth and bits ---------------------------------------------------------


@onnx_case
def guarded(draw):
    shape = draw.shape()
    x, bound = draw.box(shape), draw.weights(shape[-1:])
    other = draw.box(shape)
    for op in ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"):
        condition = draw.node(op, x, bound)
        draw.node("Where", condition, x, other)
        draw.node("Where", condition, other, x)
        draw.node("Where", draw.node("Not", condition), x, other)


@onnx_case
def guarded_logarithm(draw):
    x = draw.box(draw.shape())
    zero, one = draw.constant(np.float32(0)), draw.constant(np.float32(1))
    draw.node("Log", draw.node("Where", draw.node("Greater", x, zero), x, one))


@onnx_case
def truth(draw):
    shape = draw.any_shape()
    x, y = draw.box(shape), draw.box(shape)
    p = draw.node("Greater", x, draw.weights(shape[-1:]))
    q = draw.node("Less", y, draw.weights(shape[-1:]))
    draw.node("Not", p)
    for op in ("And", "Or", "Xor"):
        draw.node(op, p, q)
    for op in ("IsNaN", "IsInf"):
        draw.node(op, draw.node("Log", x))
    draw.node("IsInf", x, detect_negative=draw.integer(0, 1))


@onnx_case
def bits(draw):
    x, y = (draw.box((3, 4), 0 if draw.integer(0, 1) else -draw.integer(1, 90),
                     draw.integer(1, 100), dtype=np.int32) for _ in range(2))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        draw.node(op, x, y)
    draw.node("BitwiseNot", x)
    u = draw.box((3, 4), 0, draw.integer(1, 200), dtype=np.uint32)
    by = draw.box((4,), 0, draw.integer(1, 9), dtype=np.uint32)
    for direction in ("LEFT", "RIGHT"):
        draw.node("BitShift", u, by, direction=direction)


@ir_case
def bits_of_both_signs(draw):
    x, y = (draw.box((3, 4), 0 if draw.integer(0, 1) else -draw.integer(1, 90),
                     draw.integer(1, 100), dtype=np.int32) for _ in range(2))
    draw.op("bitwise_and", [x, y], np.bitwise_and)
    draw.op("bitwise_or", [x, y], np.bitwise_or)
    draw.op("bitwise_xor", [x, y], np.bitwise_xor)
    draw.op("bitwise_not", [x], np.bitwise_not)
    by = draw.box((4,), 0, draw.integer(1, 8), dtype=np.int32)
    draw.op("shift_left", [x, by], np.left_shift)
    draw.op("shift_right", [x, by], np.right_shift)
    p = draw.op("not_equal", [x, draw.constant(np.int32([draw.integer(-90, 90)]))], np.not_equal)
    q = draw.op("not_equal", [y, draw.constant(np.int32([draw.integer(-90, 90)]))], np.not_equal)
    draw.op("logical_and", [p, q], np.logical_and)
    draw.op("logical_or", [p, q], np.logical_or)
    draw.op("logical_xor", [p, q], np.logical_xor)
