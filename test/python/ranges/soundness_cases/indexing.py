"""Cases of test_soundness.py: gathers, scatters, selections."""

import numpy as np
from soundness_family import Cases
from soundness_operands import by_channel, ints

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def picks(draw):
    x = by_channel(draw, (5, 4))
    draw.node("Gather", x, ints(draw, 3, -4, 0), axis=1)
    draw.node("Gather", x, draw.constant(np.int64(2)), axis=1)
    ids = draw.box((2, 3), 0, 4, dtype=np.int64)
    draw.node("Gather", x, ids)
    draw.node("Gather", draw.weights((5, 4)), ids)
    draw.node("GatherElements", x, draw.constant(np.zeros((2, 4), np.int64)), axis=0)
    draw.node("GatherND", x, draw.constant(np.array([[1, 2], [4, 3]], np.int64)))
    draw.node("ScatterND", x, draw.constant(np.array([[1]], np.int64)),
              draw.box((1, 4)))


@onnx_case
def gathers(draw):
    x = draw.node("Add", draw.box((3, 4)), draw.weights((4,)))
    keep = draw.constant(np.array([True, False, True, draw.integer(0, 1) == 1]))
    draw.node("Compress", x, keep, axis=1)
    draw.node("NonZero", x)
    draw.node("Unique", x, outputs=4, axis=draw.integer(0, 1))
    draw.node("Unique", x, outputs=4)
    ids = draw.constant(draw.random.integers(0, 3, (2, 4)))
    draw.node("GatherElements", x, ids, axis=0)
    draw.node("Size", x)
    draw.node("EyeLike", x, k=draw.integer(-2, 3))


@ir_case
def embedding(draw):
    rows = draw.integer(1, 9)
    ids = draw.box((2, 3), 0, rows - 1, dtype=np.int64)
    draw.op("embedding", [draw.weights((rows, 4)), ids], lambda table, ids: table[ids])


@onnx_case
def scatters(draw):
    x, updates = draw.box((3, 4)), draw.box((2, 4))
    ids = draw.constant(draw.random.integers(0, 3, (2, 4)))
    reduction = draw.choice(["none", "add", "mul", "max", "min"])
    draw.node("ScatterElements", x, ids, updates, axis=0, reduction=reduction)
    rows = draw.constant(draw.random.integers(0, 3, (2, 1)))
    draw.node("ScatterND", x, rows, updates, reduction=reduction)
    cache, new = draw.box((2, 6, 3)), draw.box((2, 2, 3))
    draw.node("TensorScatter", cache, new, draw.constant(draw.random.integers(0, 4, 2)),
              axis=1, mode=draw.choice(["linear", "circular"]))


@onnx_case
def boxes(draw):
    batch, classes, count = draw.any_shape(3)
    corners = draw.box((batch, count, 4), -1, draw.integer(1, 10))
    draw.node("NonMaxSuppression", corners, draw.box((batch, classes, count), 0, 1),
              ints(draw, 3), draw.constant(np.float32([draw.random.uniform(0.1, 0.9)]), exact=True),
              draw.constant(np.float32([0.1]), exact=True))
