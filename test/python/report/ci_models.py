"""Models for the tests of forms, baselines and comparisons."""

from __future__ import annotations

import numpy
from onnx import TensorProto, helper, numpy_helper


def info(name, dims=(2, 4), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def overflowing(names="{}", layers=2, batch=2, extra=False, scale=300.0):
    """Layers that multiply by a large number, an exponential and a softmax: under fp16
    findings of several rules, and consequences. `names` is a format of every name."""
    name = names.format
    nodes, value = [], name("x")
    constants = {name("scale"): numpy.float32(scale), name("tiny"): numpy.full(4, 1e-9, numpy.float32)}
    for layer in range(layers):
        made = name(f"layers.{layer}.mul"), name(f"layers.{layer}.out")
        nodes += [helper.make_node("Mul", [value, name("scale")], [made[0]], name=made[0] + "/op"),
                  helper.make_node("Add", [made[0], name("tiny")], [made[1]], name=made[1] + "/op")]
        value = made[1]
    if extra:
        nodes.append(helper.make_node("Exp", [value], [name("extra")], name=name("extra/op")))
        value = name("extra")
    nodes.append(helper.make_node("Softmax", [value], [name("y")], name=name("softmax")))
    graph = helper.make_graph(
        nodes, "g", [info(name("x"), (batch, 4))], [info(name("y"), (batch, 4))],
        [numpy_helper.from_array(array, key) for key, array in constants.items()])
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def save(model, path):
    path.write_bytes(model.SerializeToString())
    return path
