"""Cases of test_soundness.py that are small networks, written out as exporters write
them: what one op says of its result is what the next one starts from, and the idioms
that span several ops are met in their places."""

import numpy as np
from soundness_family import Cases
from soundness_operands import ints, number

CASES = Cases()
onnx_case = CASES.onnx_case


def _gain(draw, width):
    return draw.constant(1 + draw.random.normal(0, 0.5, width) * draw.choice([0, 1, 4]))


def _dense(draw, x, inputs, outputs, scale=1.0):
    weights = draw.random.normal(0, scale * inputs ** -0.5, (inputs, outputs))
    y = draw.node("MatMul", x, draw.constant(weights))
    return draw.node("Add", y, draw.constant(draw.random.normal(0, 0.3, outputs)))


def _layer_norm(draw, x, width):
    d = draw.node("Sub", x, draw.node("ReduceMean", x, ints(draw, -1)))
    square = draw.node("Pow", d, number(draw, 2))
    v = draw.node("Add", draw.node("ReduceMean", square, ints(draw, -1)),
                  number(draw, draw.choice([1e-12, 1e-5])))
    y = draw.node("Div", d, draw.node("Sqrt", v))
    y = draw.node("Mul", y, _gain(draw, width))
    return draw.node("Add", y, draw.constant(draw.random.normal(0, 0.3, width)))


def _rms_norm(draw, x, width):
    v = draw.node("ReduceMean", draw.node("Mul", x, x), ints(draw, -1))
    v = draw.node("Add", v, number(draw, draw.choice([1e-6, 1e-5])))
    r = draw.node("Reciprocal", draw.node("Sqrt", v))
    return draw.node("Mul", draw.node("Mul", x, r), _gain(draw, width))


def _heads(draw, x, steps, heads, width):
    x = draw.node("Reshape", x, ints(draw, 1, steps, heads, width // heads))
    return draw.node("Transpose", x, perm=[0, 2, 1, 3])


def _mix(draw, q, k, v, steps, width, mask=None):
    heads = 2
    q, k, v = (_heads(draw, x, steps, heads, width) for x in (q, k, v))
    scores = draw.node("MatMul", q, draw.node("Transpose", k, perm=[0, 1, 3, 2]))
    root = (width / heads) ** 0.5
    scores = draw.choice([
        lambda: draw.node("Div", scores, number(draw, root)),
        lambda: draw.node("Mul", scores, number(draw, 1 / root))])()
    if mask is not None:
        scores = draw.node("Add", scores, mask)
    y = draw.node("MatMul", draw.node("Softmax", scores, axis=-1), v)
    y = draw.node("Transpose", y, perm=[0, 2, 1, 3])
    return draw.node("Reshape", y, ints(draw, 1, steps, width))


def _causal(draw, steps):
    lowest = draw.choice([-1e4, -1e9, -np.inf, float(np.finfo(np.float32).min)])
    return draw.constant(np.where(np.tri(steps) > 0, 0, lowest))


@onnx_case
def encoder(draw):
    steps, width = draw.integer(2, 6), 8
    ids = draw.box((1, steps), 0, 9, dtype=np.int64)
    table = draw.constant(draw.random.normal(0, draw.choice([0.02, 1, 30]), (10, width)))
    x = draw.node("Add", draw.node("Gather", table, ids),
                  draw.constant(draw.random.normal(0, 1, (steps, width))))
    keep = draw.node("Cast", draw.box((1, 1, 1, steps), 0, 1, dtype=np.int64), to=1)
    mask = draw.node("Mul", draw.node("Sub", number(draw, 1), keep),
                     number(draw, draw.choice([-1e4, -1e9])))
    scale = draw.choice([1, 5, 100])
    for _ in range(2):
        x = _layer_norm(draw, x, width)
        q, k, v = (_dense(draw, x, width, width, scale) for _ in range(3))
        x = draw.node("Add", x, _dense(draw, _mix(draw, q, k, v, steps, width, mask), width,
                                       width))
        h = _dense(draw, _layer_norm(draw, x, width), width, 16, scale)
        erf = draw.node("Erf", draw.node("Div", h, number(draw, 2 ** 0.5)))
        h = draw.node("Mul", draw.node("Mul", h, draw.node("Add", erf, number(draw, 1))),
                      number(draw, 0.5))
        x = draw.node("Add", x, _dense(draw, h, 16, width))
    draw.node("LogSoftmax", _dense(draw, x, width, 5), axis=-1)


@onnx_case
def decoder(draw):
    steps, width = draw.integer(2, 6), 8
    x = draw.box((1, steps, width), scale=draw.choice([1e-3, 1, 50]))
    angles = np.outer(np.arange(steps), [1, 0.1]).repeat(2, 1)
    cos, sin = draw.constant(np.cos(angles)), draw.constant(np.sin(angles))

    def rotate(x):
        x = _heads(draw, x, steps, 2, width)
        first, second = draw.node("Split", x, ints(draw, 2, 2), axis=-1, outputs=2)
        turned = draw.node("Concat", draw.node("Neg", second), first, axis=-1)
        y = draw.node("Add", draw.node("Mul", x, cos), draw.node("Mul", turned, sin))
        y = draw.node("Transpose", y, perm=[0, 2, 1, 3])
        return draw.node("Reshape", y, ints(draw, 1, steps, width))

    scale = draw.choice([1, 5, 100])
    for _ in range(2):
        h = _rms_norm(draw, x, width)
        q, k, v = (_dense(draw, h, width, width, scale) for _ in range(3))
        y = _mix(draw, rotate(q), rotate(k), v, steps, width, _causal(draw, steps))
        x = draw.node("Add", x, _dense(draw, y, width, width))
        h = _rms_norm(draw, x, width)
        gate = _dense(draw, h, width, 16, scale)
        gate = draw.node("Mul", gate, draw.node("Sigmoid", gate))
        x = draw.node("Add", x, _dense(draw, draw.node(
            "Mul", gate, _dense(draw, h, width, 16, scale)), 16, width))
    logits = _dense(draw, _rms_norm(draw, x, width), width, 5)
    draw.node("Mul", draw.node("Tanh", draw.node("Div", logits, number(draw, 30))),
              number(draw, 30))


def _conv(draw, x, inputs, outputs, size=3, **attributes):
    weights = draw.random.normal(0, (2 / inputs / size ** 2) ** 0.5,
                                 (outputs, inputs, size, size))
    return draw.node("Conv", x, draw.constant(weights), pads=[size // 2] * 4, **attributes)


@onnx_case
def residual_network(draw):
    lo, hi = draw.choice([(0, 1), (-2.1, 2.6), (0, 255)])
    x = _conv(draw, draw.box((1, 3, 8, 8), lo, hi), 3, 4)
    for _ in range(2):
        y = x
        for _ in range(2):
            statistics = [draw.constant(draw.random.uniform(0.5, 2, 4)),
                          draw.constant(draw.random.normal(0, 1, 4)),
                          draw.constant(draw.random.normal(0, 1, 4)),
                          draw.constant(draw.random.uniform(1e-4, 4, 4))]
            y = draw.node("BatchNormalization", _conv(draw, y, 4, 4), *statistics)
            y = draw.node("Relu", y)
        x = draw.node("Add", x, y)
    x = draw.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = draw.node("Flatten", draw.node("GlobalAveragePool", x))
    draw.node("Softmax", _dense(draw, x, 4, 3), axis=-1)


@onnx_case
def denoiser(draw):
    x = _conv(draw, draw.box((1, 2, 8, 8), scale=draw.choice([0.1, 1, 4])), 2, 4)

    def norm(x):
        rows = draw.node("Reshape", x, ints(draw, 1, 2, -1))
        y = draw.node("InstanceNormalization", rows, draw.constant(np.ones(2)),
                      draw.constant(np.zeros(2)), epsilon=1e-3)
        y = draw.node("Reshape", y, draw.node("Shape", x))
        y = draw.node("Mul", y, draw.constant(draw.random.uniform(0, 3, (4, 1, 1))))
        y = draw.node("Add", y, draw.constant(draw.random.normal(0, 1, (4, 1, 1))))
        return draw.node("Mul", y, draw.node("Sigmoid", y))

    skip = norm(x)
    y = draw.node("AveragePool", _conv(draw, skip, 4, 4), kernel_shape=[2, 2], strides=[2, 2])
    y = norm(_conv(draw, y, 4, 4))
    scales = draw.constant(np.array([1, 1, 2, 2], np.float32), exact=True)
    y = draw.node("Resize", y, "", scales, mode=draw.choice(["nearest", "linear"]),
                  coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    draw.node("Tanh", _conv(draw, draw.node("Concat", y, skip, axis=1), 8, 2))


@onnx_case
def autoencoder(draw):
    x = draw.box((2, 6), scale=draw.choice([1, 10]))
    h = draw.node("Tanh", _dense(draw, x, 6, 4, draw.choice([1, 20])))
    mean, spread = _dense(draw, h, 4, 3), _dense(draw, h, 4, 3, draw.choice([1, 10, 60]))
    if draw.integer(0, 1):
        spread = draw.node("Clip", spread, number(draw, -30), number(draw, 20))
    noise = draw.box((2, 3), -4, 4)
    z = draw.node("Add", mean, draw.node("Mul", noise, draw.node("Exp", draw.node(
        "Mul", spread, number(draw, 0.5)))))
    draw.node("Sigmoid", _dense(draw, z, 3, 6))
    terms = draw.node("Sub", draw.node("Add", spread, number(draw, 1)),
                      draw.node("Add", draw.node("Mul", mean, mean), draw.node("Exp", spread)))
    draw.node("Mul", draw.node("ReduceSum", terms, ints(draw, 1)), number(draw, -0.5))


@onnx_case
def matcher(draw):
    """Cosines between two sets, a temperature, and the contrastive loss written out."""
    def unit(x):
        norm = draw.node("ReduceL2", x, ints(draw, -1), keepdims=1)
        return draw.node("Div", x, draw.choice([
            lambda: draw.node("Max", norm, number(draw, 1e-12)),
            lambda: draw.node("Add", norm, number(draw, 1e-6))])())

    a, b = (unit(_dense(draw, draw.box((3, 4), scale=draw.choice([1e-3, 1, 90])), 4, 6))
            for _ in range(2))
    cosines = draw.node("MatMul", a, draw.node("Transpose", b, perm=[1, 0]))
    scores = draw.node("Mul", cosines, number(draw, draw.choice([1, 14.3, 100, 1e5])))
    top = draw.node("ReduceMax", scores, ints(draw, 1), keepdims=1)
    z = draw.node("Sub", scores, top)
    total = draw.node("ReduceSum", draw.node("Exp", z), ints(draw, 1), keepdims=1)
    draw.node("ReduceMean", draw.node("Sub", draw.node("Log", total), z), ints(draw, 0, 1))
    draw.node("Sqrt", draw.node("Relu", draw.node(
        "Sub", number(draw, 2), draw.node("Mul", cosines, number(draw, 2)))))


@onnx_case
def detector(draw):
    maps = _conv(draw, draw.box((1, 2, 4, 4), scale=draw.choice([0.5, 5])), 2, 6)
    rows = draw.node("Reshape", draw.node("Transpose", maps, perm=[0, 2, 3, 1]),
                     ints(draw, 16, 6))
    centre, size, classes = draw.node("Split", rows, ints(draw, 2, 2, 2), axis=1, outputs=3)
    corner = draw.constant(draw.random.uniform(0, 4, (16, 2)))
    centre = draw.node("Mul", draw.node("Add", draw.node("Sigmoid", centre), corner),
                       number(draw, 8))
    size = draw.node("Mul", draw.node("Exp", size), number(draw, draw.choice([4, 60])))
    half = draw.node("Mul", size, number(draw, 0.5))
    boxes = draw.node("Concat", draw.node("Sub", centre, half), draw.node("Add", centre, half),
                      axis=1)
    x, y = draw.node("Split", size, ints(draw, 1, 1), axis=1, outputs=2)
    draw.node("Mul", x, y)
    best = draw.node("ReduceMax", draw.node("Sigmoid", classes), ints(draw, 1), keepdims=0)
    _, which = draw.node("TopK", best, ints(draw, 3), outputs=2)
    draw.node("Gather", boxes, which, axis=0)


@onnx_case
def experts(draw):
    x = draw.box((3, 4), scale=draw.choice([1, 30]))
    logits = _dense(draw, x, 4, 4, draw.choice([1, 20]))
    gates, which = draw.node("TopK", draw.node("Softmax", logits, axis=-1), ints(draw, 2),
                             axis=-1, outputs=2)
    gates = draw.node("Div", gates, draw.node("ReduceSum", gates, ints(draw, -1), keepdims=1))
    zeros = draw.constant(np.zeros((3, 4), np.float32))
    weights = draw.node("ScatterElements", zeros, which, gates, axis=1)
    parts = [draw.node("Unsqueeze", draw.node("Relu", _dense(draw, x, 4, 4)), ints(draw, 1))
             for _ in range(4)]
    mixed = draw.node("Mul", draw.node("Concat", *parts, axis=1),
                      draw.node("Unsqueeze", weights, ints(draw, 2)))
    draw.node("ReduceSum", mixed, ints(draw, 1), keepdims=0)
    lse = draw.node("ReduceLogSumExp", logits, ints(draw, -1), keepdims=1)
    draw.node("ReduceMean", draw.node("Mul", lse, lse), ints(draw, 0))


@onnx_case
def recurrence(draw):
    steps = draw.integer(2, 6)
    x = draw.box((steps, 1, 3), scale=draw.choice([1, 20]))
    inputs = [draw.constant(draw.random.normal(0, 1, shape))
              for shape in ((1, 12, 3), (1, 12, 4), (1, 24))]
    states, _ = draw.node("GRU", x, *inputs, hidden_size=4, outputs=2, linear_before_reset=1)
    states = draw.node("Squeeze", states, ints(draw, 1, 2))
    weights = draw.node("Softmax", _dense(draw, states, 4, 1, draw.choice([1, 50])), axis=0)
    draw.node("ReduceSum", draw.node("Mul", weights, states), ints(draw, 0), keepdims=0)
