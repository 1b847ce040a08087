"""ONNX operators as models of older opsets wrote them.

A backend case of the newest form is rewritten: inputs that an older form does not have
become its attributes, attributes that it lacks are dropped where they say what it always
did. What no case reaches is written by hand in `handmade`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

# Inputs of today under the names that they had as attributes.
FORMER_NAMES = {"Pad": {"pads": "paddings", "constant_value": "value"}, "TopK": {"K": "k"}}
BROADCAST = {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"}


@dataclass
class Form:
    """A node, the values of its inputs (None: left out), what comes out if known, and nodes
    that turn what is no tensor into one."""

    node: onnx.NodeProto
    inputs: list[np.ndarray | None]
    opset: int
    expected: list[tuple[np.dtype, list[int]]] | None = None
    rest: tuple[onnx.NodeProto, ...] = ()

    @property
    def nodes(self) -> list[onnx.NodeProto]:
        return [self.node, *self.rest]

    @property
    def outputs(self) -> list[str]:
        return [name for name in self.nodes[-1].output if name]


def get_versions() -> list[tuple[str, int]]:
    return sorted({(schema.name, schema.since_version)
                   for schema in defs.get_all_schemas_with_history()
                   if schema.domain == "" and not schema.deprecated})


def get_values(name: str, attribute: defs.OpSchema.Attribute, value: np.ndarray):
    """An input's value as the attribute wants it; None if it does not fit."""
    kind = attribute.type
    types = defs.OpSchema.AttrType
    if kind == types.INTS and value.dtype.kind in "iu" and value.ndim <= 1:
        return [int(entry) for entry in value.reshape(-1)]
    if kind == types.FLOATS and value.dtype.kind == "f" and value.ndim <= 1:
        return [float(entry) for entry in value.reshape(-1)]
    if kind == types.INT and value.size == 1 and value.dtype.kind in "iub":
        return int(value.reshape(()))
    if kind == types.FLOAT and value.size == 1 and value.dtype.kind in "fiu":
        return float(value.reshape(()))
    return None


def is_usual(value) -> bool:
    """Whether a later input only says what older forms always did."""
    return np.size(value) > 0 and np.all(np.asarray(value) == 1)


def make_old(node: onnx.NodeProto, inputs: list[np.ndarray | None], opset: int) -> Form | None:
    """`node` at `opset`; None if it says what that opset could not."""
    old = defs.get_schema(node.op_type, opset, node.domain)
    new = defs.get_schema(node.op_type, defs.onnx_opset_version(), node.domain)
    # What a slope could be broadcast to was never said.
    if new.deprecated or (node.op_type == "PRelu" and opset < 7):
        return None
    names = FORMER_NAMES.get(node.op_type, {})
    attributes = {}
    for attribute in node.attribute:
        value = helper.get_attribute_value(attribute)
        if attribute.name in old.attributes:
            attributes[attribute.name] = value
        elif attribute.name in new.attributes:
            default = new.attributes[attribute.name].default_value
            if not default.name or helper.get_attribute_value(default) != value:
                return None
    kept = list(inputs)
    while kept and kept[-1] is None:
        kept.pop()
    while len(kept) > old.max_input or (
            len(kept) > 1 and len(kept) > old.min_input and len(kept) <= len(new.inputs)
            and new.inputs[len(kept) - 1].name in old.attributes):
        value = kept.pop()
        formal = new.inputs[min(len(kept), len(new.inputs) - 1)].name
        name = formal if formal in old.attributes else names.get(formal, "")
        if name not in old.attributes and value is not None and not is_usual(value):
            return None
        if value is None or name not in old.attributes:
            continue
        converted = get_values(name, old.attributes[name], value)
        if converted is None or converted == []:
            return None
        attributes[name] = converted
    if node.op_type in BROADCAST and opset < 7 and kept[0].shape != kept[1].shape:
        if kept[1].ndim > kept[0].ndim or kept[0].shape[kept[0].ndim - kept[1].ndim:] != kept[1].shape:
            return None
        attributes["broadcast"] = 1
    names = [f"x{index}" if value is not None else "" for index, value in enumerate(kept)]
    outputs = [f"y{index}" if name else "" for index, name in enumerate(node.output)]
    outputs = outputs[:old.max_output]
    return Form(helper.make_node(node.op_type, names, outputs, **attributes), kept, opset)


def real(*shape):
    return np.linspace(0.1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def handmade() -> Iterator[Form]:
    def form(op, opset, inputs, *shapes, dtype=np.float32, outputs=0, rest=(), **attributes):
        names = [f"x{index}" if value is not None else "" for index, value in enumerate(inputs)]
        count = max(outputs, len(shapes), 1)
        node = helper.make_node(op, names, [f"y{index}" for index in range(count)], **attributes)
        return Form(node, inputs, opset, [(np.dtype(dtype), list(shape)) for shape in shapes] or None, rest)

    x = real(2, 3, 4, 5)
    for op in ("Add", "Sub", "Mul", "Div"):
        for opset in (1, 6):
            yield form(op, opset, [x, real(3)], x.shape, broadcast=1, axis=1)
            yield form(op, opset, [x, real(3, 4)], x.shape, broadcast=1, axis=1)
            yield form(op, opset, [x, real(4, 5)], x.shape, broadcast=1)
            yield form(op, opset, [x, np.float32(2)], x.shape, broadcast=1)
            yield form(op, opset, [x, x], x.shape)
    yield form("Pow", 1, [x, real(3)], x.shape, broadcast=1, axis=1)
    for op in ("And", "Or", "Xor"):
        flags = x > 0.5
        yield form(op, 1, [flags, flags[0, :, 0, 0]], x.shape, dtype=bool, broadcast=1, axis=1)
    for op in ("Equal", "Greater", "Less"):
        values = x.astype(np.int32) if op == "Equal" else x
        yield form(op, 1, [values, values[0, :, 0, 0]], x.shape, dtype=bool, broadcast=1, axis=1)
    for opset in (1, 6):
        yield form("PRelu", opset, [x, real(3)], x.shape)
        yield form("Gemm", opset, [real(4, 3), real(4, 5), real(5)], (3, 5), transA=1, broadcast=1)
    for opset in (1, 6):
        yield form("BatchNormalization", opset, [x, *[real(3)] * 4], x.shape, is_test=1,
                   **({"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {}))
    yield form("BatchNormalization", 1, [x, *[real(3)] * 4], x.shape, (3,), (3,), (3,), (3,),
               consumed_inputs=[0, 0, 0, 1, 1])
    for opset in (7, 9):
        yield form("BatchNormalization", opset, [x, *[real(3)] * 4], x.shape, (3,), (3,), (3,), (3,))
        yield form("BatchNormalization", opset, [x, *[real(3)] * 4], x.shape)
    yield form("BatchNormalization", 7, [x, *[real(3, 4, 5)] * 4], x.shape, spatial=0)
    yield form("BatchNormalization", 14, [x, *[real(3)] * 4], x.shape, (3,), (3,), training_mode=1)
    yield form("InstanceNormalization", 1, [x, real(3), real(3)], x.shape, consumed_inputs=[0, 0, 0])
    for opset in (1, 6):
        for ratio in (0.0, 0.5):
            yield form("Dropout", opset, [x], x.shape, ratio=ratio, is_test=1)
    for opset in (7, 10):
        yield form("Dropout", opset, [x], x.shape, ratio=0.5)
    yield form("Dropout", 10, [x], x.shape, outputs=2)
    for opset, limits in ((1, {"min": 0.2, "max": 0.5}), (6, {"min": 0.2}), (6, {})):
        yield form("Clip", opset, [x], x.shape, **limits)
    for name, dtype in (("FLOAT16", np.float16), ("INT32", np.int32), ("BOOL", bool)):
        yield form("Cast", 1, [x], x.shape, dtype=dtype, to=name)
    for opset in (6, 9, 13, 19, 21, 23, 24, 25):
        yield form("Cast", opset, [x], x.shape, dtype=np.float16, to=onnx.TensorProto.FLOAT16)
    for opset in (15, 19, 21, 23, 24, 25):
        yield form("CastLike", opset, [x, np.zeros(1, np.float64)], x.shape, dtype=np.float64)
    yield form("Reshape", 1, [x], (6, 20), shape=[6, -1])
    yield form("Reshape", 1, [x], (2, 3, 20), shape=[0, 0, -1])
    yield form("Tile", 1, [x, np.array([3], np.float32), np.array([1], np.float32)], (2, 9, 4, 5))
    yield form("Concat", 1, [x, x], (2, 6, 4, 5))
    for opset in (1, 2):
        yield form("Split", opset, [real(2, 6)], (2, 2), (2, 4), axis=1, split=[2, 4])
        yield form("Split", opset, [real(2, 6)], (2, 3), (2, 3), axis=1)
    yield form("Split", 1, [real(2, 6), np.array([2, 4], np.int64).astype(np.float32)], (2, 2), (2, 4), axis=1)
    yield form("Slice", 1, [x], (1, 3, 2, 5), starts=[0, -3], ends=[1, -1], axes=[0, 2])
    yield form("Slice", 1, [x], (1, 2, 4, 5), starts=[1, 0], ends=[1000, 2])
    for opset in (1, 11):
        yield form("Squeeze", opset, [real(1, 3, 1)], (3, 1), axes=[0])
        yield form("Squeeze", opset, [real(1, 3, 1)], (3,))
        yield form("Unsqueeze", opset, [real(3, 4)], (1, 3, 1, 4), axes=[0, 2])
    yield form("Squeeze", 11, [real(1, 3, 1)], (1, 3), axes=[-1])
    yield form("Pad", 1, [real(2, 3)], (2, 5), paddings=[0, 1, 0, 1], mode="reflect")
    yield form("Pad", 2, [real(2, 3)], (3, 5), pads=[1, 1, 0, 1], value=1.5)
    for mode in ("nearest", "bilinear"):
        yield form("Upsample", 1, [x], (2, 3, 8, 15), height_scale=2.0, width_scale=3.0, mode=mode)
    for mode in ("nearest", "linear"):
        yield form("Upsample", 7, [x], (2, 3, 8, 15), scales=[1.0, 1.0, 2.0, 3.0], mode=mode)
        yield form("Upsample", 9, [x, np.array([1, 1, 2, 3], np.float32)], (2, 3, 8, 15), mode=mode)
        yield form("Resize", 10, [x, np.array([1, 1, 2, 0.6], np.float32)], (2, 3, 8, 3), mode=mode)
        for opset in (11, 13, 18):
            # Opset 11 wants the inputs to be there, and may be empty.
            none = np.zeros(0, np.float32) if opset == 11 else None
            yield form("Resize", opset, [x, none, np.array([1, 1, 2, 0.6], np.float32)], (2, 3, 8, 3), mode=mode)
            yield form("Resize", opset, [x, none, none, np.array([2, 3, 7, 9], np.int64)], (2, 3, 7, 9), mode=mode)
        roi = np.array([0, 0, 0.2, 0.2, 1, 1, 0.8, 0.8], np.float32)
        yield form("Resize", 11, [x, roi, np.array([1, 1, 2, 3], np.float32)], (2, 3, 4, 9), mode=mode,
                   coordinate_transformation_mode="tf_crop_and_resize")
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for opset in (1, 11, 13):
            yield form(op, opset, [x], x.shape, axis=2)
            yield form(op, opset, [x], x.shape)
    for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
               "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
        versions = [since for name, since in get_versions() if name == op and since < (13 if op == "ReduceSum" else 18)]
        for opset in versions:
            yield form(op, opset, [x], (2, 1, 4, 1), axes=[1, 3])
            yield form(op, opset, [x], (2, 4), axes=[1, 3], keepdims=0)
            yield form(op, opset, [x], (), keepdims=0)
            if opset >= 11:
                yield form(op, opset, [x], (2, 3, 4), axes=[-1], keepdims=0)
    yield form("TopK", 1, [x], (2, 2, 4, 5), axis=1, k=2, outputs=2)
    yield form("MatMul", 1, [real(2, 3, 4), real(4, 5)], (2, 3, 5))
    for op in ("AveragePool", "MaxPool", "LpPool"):
        for opset in {"AveragePool": (1, 7, 10, 11, 19), "MaxPool": (1, 8, 10, 11), "LpPool": (1, 2, 11, 18)}[op]:
            yield form(op, opset, [real(1, 2, 8, 8)], (1, 2, 4, 4), kernel_shape=[2, 2], strides=[2, 2])
            yield form(op, opset, [real(1, 2, 8, 8)], (1, 2, 8, 8), kernel_shape=[3, 3], auto_pad="SAME_UPPER")
        ceil = {"AveragePool": (10, 11, 19), "MaxPool": (10, 11), "LpPool": (18,)}[op]
        for opset in ceil:
            yield form(op, opset, [real(1, 2, 8, 8)], (1, 2, 4, 4), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    yield form("GlobalLpPool", 1, [x], (2, 3, 1, 1), p=2.0)
    for opset in (2, 22):
        yield form("GlobalLpPool", opset, [x], (2, 3, 1, 1), p=2)
    for opset in (1, 22):
        boxes = np.array([[0, 0, 0, 3, 3]], np.float32)
        yield form("MaxRoiPool", opset, [x, boxes], (1, 3, 2, 2), pooled_shape=[2, 2])
    for opset in (1, 7, 14):
        sequence = [real(5, 2, 3), real(1, 16, 3), real(1, 16, 4)]
        yield form("LSTM", opset, sequence, (5, 1, 2, 4), (1, 2, 4), (1, 2, 4), hidden_size=4)
        sequence = [real(5, 2, 3), real(2, 4, 3), real(2, 4, 4)]
        yield form("RNN", opset, sequence, (5, 2, 2, 4), (2, 2, 4), hidden_size=4, direction="bidirectional")
    for opset in (1, 3, 7, 14):
        sequence = [real(5, 2, 3), real(1, 12, 3), real(1, 12, 4)]
        extra = {"output_sequence": 1} if opset < 7 else {}
        yield form("GRU", opset, sequence, (5, 1, 2, 4), (1, 2, 4), hidden_size=4, **extra)
    index = np.array([[0, 1], [1, 0]], np.int64)
    yield form("Scatter", 9, [real(3, 2), index, real(2, 2)], (3, 2), axis=0)
    for opset in (1, 22):
        yield form("RandomNormal", opset, [], (2, 3), shape=[2, 3])
        yield form("RandomUniform", opset, [], (2, 3), shape=[2, 3])
        yield form("RandomNormalLike", opset, [x], x.shape)
        yield form("RandomUniformLike", opset, [x], x.shape)
    for opset in (7, 22):
        yield form("Multinomial", opset, [real(2, 4)], (2, 6), dtype=np.int32, sample_size=6)
    yield form("MeanVarianceNormalization", 9, [x], x.shape)
    yield form("MeanVarianceNormalization", 13, [x], x.shape, axes=[0, 2])
    for op in ("Sum", "Max", "Min", "Mean"):
        for opset in (1, 6):
            yield form(op, opset, [x, x, x], x.shape)
    yield form("Gather", 1, [x, np.array([[0, 2]], np.int64)], (2, 1, 2, 4, 5), axis=1)
    yield form("SpaceToDepth", 1, [real(1, 2, 4, 6)], (1, 8, 2, 3), blocksize=2)
    yield form("DepthToSpace", 1, [real(1, 8, 2, 3)], (1, 2, 4, 6), blocksize=2)
    loops = [since for name, since in get_versions() if name == "Loop"]
    for opset in loops:
        yield form("Loop", opset, [np.int64(3), np.bool_(True), real(2, 3)], (2, 3), (3, 2, 3), body=make_body())
    first = helper.make_node("SequenceAt", ["y0", "x1"], ["z"])
    for opset in (11, 24):
        yield form("SplitToSequence", opset, [real(4, 6)], (4, 1), rest=(
            helper.make_node("Constant", [], ["x1"], value=numpy_helper.from_array(np.int64(0))), first), axis=1)
    yield form("SequenceConstruct", 11, [real(2, 3), real(1, 3)], (2, 3), rest=(
        helper.make_node("SequenceErase", ["y0"], ["shorter"]),
        helper.make_node("ConcatFromSequence", ["shorter"], ["z"], axis=0)))
    for opset in (15, 18, 28):
        for op, shape, dtype in (("OptionalGetElement", (2, 3), np.float32), ("OptionalHasElement", (), bool)):
            yield form("Optional", opset, [real(2, 3)], shape, dtype=dtype,
                       rest=(helper.make_node(op, ["y0"], ["z"]),))


def make_body() -> onnx.GraphProto:
    """Doubles what is carried, and gives it out too."""
    def value(name, kind, shape):
        return helper.make_tensor_value_info(name, kind, shape)

    floats, flag = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL
    nodes = [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Add", ["v", "v"], ["next"]),
             helper.make_node("Identity", ["v"], ["out"])]
    return helper.make_graph(
        nodes, "body",
        [value("i", onnx.TensorProto.INT64, []), value("go", flag, []), value("v", floats, [2, 3])],
        [value("go_on", flag, []), value("next", floats, [2, 3]), value("out", floats, [2, 3])])
