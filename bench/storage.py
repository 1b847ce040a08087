"""ONNX models whose float tensors are stored in FP16 or BF16, but for those of some nodes."""

from __future__ import annotations

from collections.abc import Collection

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def name_nodes(model: onnx.ModelProto) -> None:
    """Gives nodes without a name the one by which mpopt's reports call them."""
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{index}"


def _sessions_types(model: onnx.ModelProto) -> set[str]:
    """The FP32 tensors of the main graph, weights left out."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    known = {value.name for value in copy.graph.output}
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for node in copy.graph.node
                             for name in node.output if name and name not in known)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(copy.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return {value.name for value in (*session.get_inputs(), *session.get_outputs())
            if value.type == "tensor(float)"}


def float_nodes(model: onnx.ModelProto) -> set[str]:
    """The names of nodes with an FP32 result; constants are none."""
    floats = _sessions_types(model)
    return {node.name for node in model.graph.node
            if node.op_type != "Constant" and any(name in floats for name in node.output)}


def _rounded(array: numpy.ndarray, element: int) -> numpy.ndarray:
    with numpy.errstate(over="ignore"):
        return array.astype(helper.tensor_dtype_to_np_dtype(element)).astype(numpy.float32)


def with_storage(model: onnx.ModelProto, kept: Collection[str] = (),
                 element: int = TensorProto.FLOAT16) -> onnx.ModelProto:
    """The model with each FP32 tensor of the main graph rounded to `element`, FP16 if it is not
    given, where it is stored; what a node computes is called `NAME.computed`. Nodes named in
    `kept` compute FP32 of FP32: their results are rounded only for readers that are not kept,
    and inputs and constants only for those, too. Outputs that a kept node computes are not
    rounded. All ops compute in FP32, which is kinder than kernels that accumulate in FP16.
    Nodes inside If, Loop and Scan round nothing. Scales of QuantizeLinear and DequantizeLinear,
    which are FP32 up to opset 18, stay as they are."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph, floats = copy.graph, _sessions_types(copy)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    wide = {name for name, tensor in constants.items() if tensor.data_type == TensorProto.FLOAT}
    computed = {name for node in graph.node if node.op_type != "Constant" for name in node.output}
    inputs = {value.name for value in graph.input} - set(constants)
    wide |= floats & inputs
    wide |= {name for node in graph.node if node.name in kept for name in node.output
             if name in floats and name in computed}

    nodes, stored, rounded = [], {}, []

    def store(name: str, source: str) -> None:
        half = f"{name}.half"
        nodes.extend((helper.make_node("Cast", [source], [half], to=element),
                      helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT)))

    for name in sorted(floats & inputs):
        stored[name] = f"{name}.stored"
        store(stored[name], name)
    for node in graph.node:
        if node.name not in kept and node.op_type != "Constant":
            quantizes = node.op_type in ("QuantizeLinear", "DequantizeLinear")
            for index, name in enumerate(node.input):
                if quantizes and index == 1:
                    continue
                if name in wide and name not in stored:  # a constant
                    array = numpy_helper.to_array(constants[name])
                    stored[name] = f"{name}.stored"
                    rounded.append(numpy_helper.from_array(_rounded(array, element), stored[name]))
                node.input[index] = stored.get(name, name)
        results = [name for name in node.output if name in floats and name in computed]
        nodes.append(node)
        for index, name in enumerate(node.output):
            if name not in results:
                continue
            if node.name in kept:
                stored[name] = f"{name}.stored"
                store(stored[name], name)
            else:
                node.output[index] = f"{name}.computed"
                store(name, node.output[index])
    made = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(made)
    graph.initializer.extend(rounded)
    del graph.value_info[:]
    return copy
