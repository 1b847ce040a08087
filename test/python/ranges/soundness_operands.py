"""Operands, attributes and references that cases of several files of soundness_cases
have in common."""

import math

import numpy as np
from onnx import helper

# -- constants -------------------------------------------------------------------------


def number(draw, value):
    return draw.constant(np.float32(value))


def scalar_int(draw, value):
    return draw.constant(np.int64(value))


def ints(draw, *values):
    return draw.constant(np.array(values, np.int64))


def signed(draw, shape, scale=1.0):
    """Normal ones."""
    return draw.constant(draw.random.normal(0, scale, shape))


# -- tensors that are not alike everywhere ---------------------------------------------


def by_channel(draw, shape):
    """Groups that differ by channel, so that a mix-up shows."""
    return draw.node("Mul", draw.box(shape), draw.weights((shape[-1],)))


def by_channel_in_ir(draw, shape):
    """The same as mp IR, of images."""
    return draw.op("addcmul", [draw.box(shape), draw.weights((shape[1], *[1] * (len(shape) - 2)),
                                                             2), draw.constant(np.float32(1))],
                   lambda x, a, b: x + a * b, value=1.0)


def mask_of(draw, shape):
    return draw.box(shape, 0, 1, dtype=bool)


# -- numbers ---------------------------------------------------------------------------


def scale_of(draw):
    """The size of the operands of products."""
    return draw.choice([0.5, 3, 10]) if draw.fp16 else draw.choice([1e-3, 0.5, 3, 1e3, 1e8])


def epsilon_of(draw):
    return draw.choice([1e-12, 1e-7, 1e-5, 1e-3, 1.0])


def row_shape(draw):
    return draw.choice([(2, 8), (3, 1, 5), (2, 3, 16), (1, 64), (4, 1)])


def window_of(draw, rank):
    """A kernel's shape, and that with strides and padding as attributes."""
    kernel = [draw.integer(1, 3) for _ in range(rank)]
    attributes = {"kernel_shape": kernel,
                  "strides": [draw.integer(1, 3) for _ in range(rank)]}
    kind = draw.integer(0, 3)
    if kind == 0:
        attributes["auto_pad"] = draw.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif kind > 1:
        attributes["pads"] = [draw.integer(0, kernel[i % rank] - 1) for i in range(2 * rank)]
    return kernel, attributes


# -- parts of graphs -------------------------------------------------------------------


def value_info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def mean_square_of(draw, x):
    """Along the last axis, written in two ways."""
    square = draw.choice([lambda: draw.node("Mul", x, x),
                          lambda: draw.node("Pow", x, number(draw, 2))])()
    return draw.node("ReduceMean", square, ints(draw, -1), keepdims=1)


# -- references in NumPy ---------------------------------------------------------------

erf = np.vectorize(math.erf, otypes=[np.float64])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def reduction_of(reduction):
    """The function by which a loss reduces its elements."""
    return {"none": lambda x: x, "mean": np.mean, "sum": np.sum,
            "batchmean": lambda x: np.sum(x) / len(x)}[reduction]


def function_of_one(op, reference):
    """A case of an op without attributes on one operand."""
    def build(draw):
        for _ in range(2):
            draw.op(op, [draw.box(draw.shape())], reference)
    return build
