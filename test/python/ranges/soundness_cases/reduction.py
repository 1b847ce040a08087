"""Cases of test_soundness.py: reductions, running sums and products, orders."""

import numpy as np
from soundness_family import Cases
from soundness_operands import ints

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


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
        inputs = [x] if axes is None else [x, draw.constant(np.array(axes, np.int64))]
        draw.node(op, *inputs, keepdims=keep)
        # Along an axis whose elements are told apart.
        shifted = draw.node("Add", x, draw.weights(shape[-1:]))
        last = draw.constant(np.array([rank - 1], np.int64))
        draw.node(op, shifted, last, keepdims=1)
        if rank > 1:
            first = draw.constant(np.array([0], np.int64))
            draw.node(op, shifted, first, keepdims=0)
    return build


for _op in REDUCTIONS:
    CASES.onnx[_op] = _reduction(_op)


@onnx_case
def reduced_softmax(draw):
    x = draw.node("Softmax", draw.box((3, 9)), axis=1)
    axis = draw.constant(np.array([1], np.int64))
    for op in REDUCTIONS:
        if op != "ReduceLogSum":
            draw.node(op, x, axis)


@onnx_case
def reduced_norm(draw):
    x = draw.node("LayerNormalization", draw.box((3, 12)), draw.weights((12,), 2), axis=-1)
    axis = draw.constant(np.array([1], np.int64))
    for op in ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceMean"):
        draw.node(op, x, axis)


@onnx_case
def reduced_integers(draw):
    x = draw.box((2, 5), -20, 20, dtype=np.int32)
    axis = draw.constant(np.array([draw.integer(0, 1)], np.int64))
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"):
        draw.node("Cast", draw.node(op, x, axis), to=1)


@onnx_case
def no_elements(draw):
    x = draw.box((2, 0, 3), -2, -1)
    for op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceProd",
               "ReduceLogSumExp", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
        draw.node(op, x, ints(draw, 1))


@onnx_case
def nothing_to_add(draw):
    """A sum of no exponentials is 0, whatever a softmax says of its own."""
    x = draw.box((0, 3), -1, 1)
    axis = draw.constant(np.array([0], np.int64))
    e = draw.node("Exp", draw.node("Sub", x, draw.node("ReduceMax", x, axis)))
    total = draw.node("ReduceSum", e, axis)
    draw.node("Log", total)
    draw.node("Reciprocal", total)


def _axes(draw, rank):
    return draw.choice([tuple(range(rank)), (rank - 1,), (0,)])


@ir_case
def reductions(draw):
    shape = draw.shape()
    x = draw.op("trunc", [draw.box(shape)], np.trunc) if draw.integer(0, 1) else draw.box(shape)
    axes, keep = _axes(draw, len(shape)), bool(draw.integer(0, 1))
    options = {"axes": list(axes), "keep_dims": keep}
    size = int(np.prod([shape[axis] for axis in axes]))
    correction = draw.choice([0.0, 1.0]) if size > 1 else 0.0

    def variance(x):
        centred = x - np.mean(x, axes, keepdims=True)
        return np.sum(centred * centred, axes, keepdims=keep) / (size - correction)
    draw.op("variance", [x], variance, correction=correction, **options)
    draw.op("std", [x], lambda x: np.sqrt(variance(x)), correction=correction, **options)
    draw.op("count_nonzero", [x], lambda x: np.asarray(
        np.count_nonzero(x, axes, keepdims=keep), np.int64), **options)
    draw.op("reduce_all", [x], lambda x: np.all(x != 0, axes, keepdims=keep), **options)
    draw.op("reduce_any", [x], lambda x: np.any(x != 0, axes, keepdims=keep), **options)


@ir_case
def norms(draw):
    shape = draw.shape()
    x = draw.box(shape)
    axes, keep = _axes(draw, len(shape)), bool(draw.integer(0, 1))
    order = draw.choice([1.0, 2.0, 3.0, 0.5, np.inf, -np.inf, 0.0])

    def reference(x):
        x = np.abs(x)
        if np.isinf(order):
            return (np.max if order > 0 else np.min)(x, axes, keepdims=keep)
        if order == 0:
            return np.sum(x != 0, axes, keepdims=keep).astype(x.dtype)
        return np.sum(x ** order, axes, keepdims=keep) ** (1 / order)
    draw.op("norm", [x], reference, axes=list(axes), keep_dims=keep, ord=order)


# -- running, and orders ---------------------------------------------------------------


@onnx_case
def cumulative(draw):
    shape = draw.shape()
    axis = draw.constant(np.int64(draw.integer(0, len(shape) - 1)))
    draw.node("CumSum", draw.box(shape), axis, exclusive=draw.integer(0, 1),
              reverse=draw.integer(0, 1))
    draw.node("CumSum", draw.weights(shape), axis, exclusive=draw.integer(0, 1))


@ir_case
def running(draw):
    shape = draw.shape()
    axis = draw.integer(0, len(shape) - 1)
    draw.op("cum_prod", [draw.box(shape, scale=draw.choice([0.5, 1, 3, 100])), None],
            lambda x, _: np.cumprod(x, axis), axis=axis)


@onnx_case
def selections(draw):
    x = draw.node("Add", draw.box((3, 6)), draw.weights((6,)))
    k = draw.constant(np.array([draw.integer(1, 3)], np.int64))
    axis = draw.integer(0, 1)
    draw.node("TopK", x, k, axis=axis, largest=draw.integer(0, 1), outputs=2)
    draw.node("Cast", draw.node("ArgMax", x, axis=axis), to=1)
    draw.node("Cast", draw.node("ArgMin", x, axis=axis, keepdims=0), to=1)


@ir_case
def orders(draw):
    shape = draw.shape()
    x, axis = draw.box(shape), draw.integer(0, len(shape) - 1)
    draw.op("sort", [x], lambda x: (np.sort(x, axis), np.argsort(x, axis)), axis=axis)

    def median(x):
        at = np.take(np.argsort(x, axis), (shape[axis] - 1) // 2, axis)
        values = np.take_along_axis(x, np.expand_dims(at, axis), axis)
        # NaN comes out if there is one.
        return np.where(np.isnan(x).any(axis), np.nan, values.squeeze(axis)), at
    draw.op("median", [x], median, axis=axis, keep_dims=False)
