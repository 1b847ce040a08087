"""Cases of test_soundness.py in which one value occurs several times: sums
that cancel, variances, quotients by a row's maximum, rotations."""

import numpy as np
from soundness_family import Cases
from soundness_operands import ints, number

CASES = Cases()
onnx_case = CASES.onnx_case


@onnx_case
def cancelling_sums(draw):
    shape = draw.choice([(2, 8), (3, 1, 5), (16,)])
    x = draw.box(shape)
    z = draw.box(draw.choice([shape, shape[-1:], (1,)]))
    c = number(draw, draw.choice([1.0, 1e3, 6e4, 1e-6]))
    for y in (z, c):
        s = draw.node("Add", x, y)
        draw.node("Sub", s, y)
        d = draw.node("Sub", y, x)
        back = draw.node("Add", d, x)
        draw.node("Sub", back, y)
        draw.node("Exp", draw.node("Sub", draw.node("Sub", s, y), x))
        half = draw.node("Mul", s, number(draw, 0.5))
        other = draw.node("Mul", y, number(draw, 0.5))
        draw.node("Sub", half, other)
        draw.node("Neg", draw.node("Add", draw.node("Neg", s), x))


@onnx_case
def variance_of_squares(draw):
    shape = draw.choice([(2, 8), (2, 3, 16), (1, 64)])
    x, axes = draw.box(shape), ints(draw, -1)
    mean = draw.node("ReduceMean", x, axes, keepdims=1)
    squares = draw.node("ReduceMean", draw.node("Mul", x, x), axes, keepdims=1)
    v = draw.node("Sub", squares, draw.node("Mul", mean, mean))
    draw.node("Sqrt", draw.node("Add", v, number(draw, draw.choice([1e-5, 1e-2, 1.0]))))


@onnx_case
def rows_by_maximum(draw):
    shape = draw.choice([(2, 8), (2, 3, 16), (4, 1)])
    x, axes = draw.box(shape), ints(draw, -1)
    largest = draw.node("ReduceMax", draw.node("Abs", x), axes, keepdims=1)
    draw.node("Div", x, largest)
    eps = number(draw, draw.choice([1e-12, 1e-7, 1e-3]))
    guarded = draw.node(draw.choice(["Add", "Max"]), largest, eps)
    draw.node("Div", x, guarded)
    draw.node("Mul", x, draw.node("Reciprocal", guarded))
    total = draw.node("ReduceSum", draw.node("Abs", x), axes, keepdims=1)
    draw.node("Div", x, draw.node("Add", total, eps))


@onnx_case
def rotations(draw):
    x = draw.box((2, 3, 8))
    f = draw.box((2, 3, 4), scale=draw.choice([0.1, 3, 30]))
    t = draw.node("Concat", f, draw.choice([f, draw.box((2, 3, 4), scale=3)]), axis=-1)
    cosine, sine = draw.node("Cos", t), draw.node("Sin", t)
    if draw.choice([True, False]):
        factor = number(draw, 1.25)
        cosine, sine = draw.node("Mul", cosine, factor), draw.node("Mul", sine, factor)
    if draw.choice([True, False]):  # a row with a known norm
        x = draw.node("LpNormalization", x, axis=-1, p=2)
    ends = [draw.constant(np.array([i], dtype=np.int64)) for i in (0, 4, 8, 2)]
    lo = draw.node("Slice", x, ends[0], ends[1], ends[3])
    hi = draw.node("Slice", x, ends[1], ends[2], ends[3])
    turned = draw.node("Concat", draw.node("Neg", hi), lo, axis=-1)
    y = draw.node("Add", draw.node("Mul", x, cosine), draw.node("Mul", turned, sine))
    draw.node("ReduceL2", y, ints(draw, -1), keepdims=1)
    c, s = draw.node("Cos", f), draw.node("Sin", f)
    draw.node("Sub", draw.node("Mul", lo, c), draw.node("Mul", hi, s))


@onnx_case
def squared_distances(draw):
    n, m, d = draw.integer(1, 4), draw.integer(1, 5), draw.integer(1, 8)
    scale = draw.choice([1e-3, 1, 10])
    x, z = draw.box((n, d), scale=scale), draw.box((m, d), scale=scale)
    if draw.choice([True, False]):
        z, m = x, n
    axes, two = ints(draw, -1), number(draw, 2.0)
    left = draw.node("ReduceSumSquare", x, axes, keepdims=1)
    right = draw.node("ReduceSumSquare", z, axes, keepdims=0)
    scores = draw.node("Mul", two, draw.node("MatMul", x, draw.node("Transpose", z, perm=[1, 0])))
    if draw.choice([True, False]):
        squared = draw.node("Sub", draw.node("Add", left, right), scores)
    else:
        squared = draw.node("Add", draw.node("Sub", left, scores), right)
    draw.node("Sqrt", squared)


@onnx_case
def guarded_choices(draw):
    x, z = draw.box((2, 8)), draw.box((2, 8))
    bound = number(draw, draw.choice([0.0, 1.0, -2.0]))
    first = draw.node(draw.choice(["Greater", "Less"]), x, bound)
    second = draw.node(draw.choice(["GreaterOrEqual", "LessOrEqual"]), x, z)
    both = draw.node("And", first, second)
    either = draw.node("Or", first, second)
    draw.node("Where", both, x, z)
    draw.node("Where", either, z, x)
    draw.node("Where", draw.node("Not", either), x, bound)
