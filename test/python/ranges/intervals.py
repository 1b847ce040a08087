"""Interval arithmetic of a small ONNX model, element by element, in float64 with the
exact weights: what mpopt's bounds are to be compared with.

Every op gives the interval of its real result plus the rounding terms of
include/mpopt/Numerics/Accumulation.h: a dot product of K terms is off by at most K u
(u = 2^-24) times the sum of |w| |x|, plus K of the smallest numbers; a result that is
stored is rounded to float32. Nothing else is added."""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper

UNIT, TINY = 2.0 ** -24, 2.0 ** -149


@dataclass
class Box:
    lo: np.ndarray
    hi: np.ndarray

    def map(self, function):
        return Box(function(self.lo), function(self.hi))

    @property
    def most(self):
        return np.maximum(np.abs(self.lo), np.abs(self.hi))

    def stored(self):
        """float32 rounds monotonically."""
        return self.map(lambda end: end.astype(np.float32).astype(np.float64))


def linear(x, weights, apply, terms):
    """`apply(x, w)` is linear in both; `terms` products are summed."""
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    magnitude = apply(x.most, np.abs(weights))
    factor = terms * UNIT
    error = factor * magnitude + (1 + factor) * terms * TINY
    return Box(apply(x.lo, up) + apply(x.hi, down) - error,
               apply(x.hi, up) + apply(x.lo, down) + error)


def windows(image, kernel, strides, pads, fill):
    top, left, bottom, right = pads
    image = np.pad(image, [(0, 0), (0, 0), (top, bottom), (left, right)], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(image, kernel, (2, 3))
    return view[:, :, ::strides[0], ::strides[1]]


def padding(node, image, kernel, strides):
    if node.get("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER"):
        pads = []
        for dim, size, stride in zip(image.shape[2:], kernel, strides):
            total = max((-(-dim // stride) - 1) * stride + size - dim, 0)
            pads.append((total // 2, total - total // 2))
        assert node["auto_pad"] == b"SAME_UPPER"
        return [pads[0][0], pads[1][0], pads[0][1], pads[1][1]]
    return node.get("pads", [0, 0, 0, 0])


def convolve(x, weights, bias, node):
    kernel, strides = weights.shape[2:], node.get("strides", [1, 1])
    assert node.get("group", 1) == 1 and node.get("dilations", [1, 1]) == [1, 1]
    pads = padding(node, x.lo, kernel, strides)

    def apply(image, w):
        return np.einsum("ncyxij,mcij->nmyx", windows(image, kernel, strides, pads, 0), w)
    result = linear(x, weights, apply, int(np.prod(weights.shape[1:])))
    return result if bias is None else result.map(lambda end: end + bias[:, None, None])


def run(model, boxes, said=None):
    """The box of every tensor that is not a constant, before it is stored; with `said`
    each op reads the boxes from there, so that only its own bound is computed."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in
                 model.graph.initializer}
    computed, known = dict(boxes), {name: box.stored() for name, box in boxes.items()}
    for node in model.graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        values = [known.get(name, constants.get(name)) for name in node.input]
        result = evaluate(node.op_type, attributes, *values)
        if isinstance(result, Box):
            name = node.output[0]
            computed[name], known[name] = result, result.stored()
            if said:
                known[name] = said[name].map(lambda end: end.reshape(result.lo.shape)).stored()
        else:
            constants[node.output[0]] = result
    return computed


def evaluate(op, node, x, *rest):
    wide = [value.astype(np.float64) if isinstance(value, np.ndarray)
            and value.dtype == np.float32 else value for value in (x, *rest)]
    x, *rest = wide
    shapes = {
        "Flatten": lambda end: end.reshape(int(np.prod(end.shape[:node.get("axis", 1)])), -1),
        "Reshape": lambda end: end.reshape([
            end.shape[i] if dim == 0 else int(dim) for i, dim in enumerate(rest[0])]),
    }
    if op in shapes:
        return x.map(shapes[op]) if isinstance(x, Box) else shapes[op](x)
    if op == "Relu":
        return x.map(lambda end: np.maximum(end, 0))
    if op in ("Add", "Sub") and isinstance(rest[0], np.ndarray):
        sign = 1 if op == "Add" else -1
        return x.map(lambda end: end + sign * rest[0])
    if op == "MatMul" and isinstance(rest[0], np.ndarray):
        return linear(x, rest[0], np.matmul, rest[0].shape[-2])
    if op == "Conv":
        return convolve(x, rest[0], rest[1] if len(rest) > 1 else None, node)
    if op == "MaxPool":
        kernel, strides = node["kernel_shape"], node.get("strides", [1, 1])
        pads = padding(node, x.lo, kernel, strides)
        return x.map(lambda end: windows(end, kernel, strides, pads, -np.inf).max((4, 5)))
    raise NotImplementedError(op)
