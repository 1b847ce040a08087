"""A model with every rounding of FP16 storage put in, for ONNX Runtime to run in FP32."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def rounded(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a Cast to FP16 and back behind everything."""
    stored = onnx.ModelProto()
    stored.CopyFrom(model)
    graph = stored.graph
    for weight in graph.initializer:
        if weight.data_type != TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(weight).astype(np.float16).astype(np.float32)
        weight.CopyFrom(numpy_helper.from_array(values, weight.name))
    outputs, names, nodes = {o.name for o in graph.output}, {}, []

    def cast(name):
        final = name if name in outputs else name + "/stored"
        nodes.append(helper.make_node("Cast", [name if final != name else name + "/exact"], [name + "/half"],
                                      to=TensorProto.FLOAT16))
        nodes.append(helper.make_node("Cast", [name + "/half"], [final], to=TensorProto.FLOAT))
        names[name] = final

    cast("x")
    for node in graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.input[:] = [names.get(name, name) for name in node.input]
        copy.output[:] = [name + "/exact" if name in outputs else name for name in node.output]
        nodes.append(copy)
        cast(node.output[0])
    del graph.node[:]
    graph.node.extend(nodes)
    return stored
