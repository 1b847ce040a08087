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


@case
def repeats(draw):
    x = _channels(draw, (1, 4))
    draw.node("Expand", x, _ints(draw, 3, 2, 4))
    draw.node("Tile", x, _ints(draw, 2, 3))


@case
def parts(draw):
    x, y = _channels(draw, (2, 6)), _channels(draw, (2, 3))
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
    draw.node("Cast", draw.node("Range", _ints0(draw, 2), _ints0(draw, 20), _ints0(draw, 3)),
              to=1)
    draw.node("OneHot", draw.box((3,), 0, 4, dtype=numpy.int64), _ints0(draw, 5),
              draw.constant(numpy.array([-1, 3], numpy.float32)))
    draw.node("Cast", draw.node("Shape", draw.box((2, 7))), to=1)


def _ints0(draw, value):
    return draw.constant(numpy.int64(value))
