"""Models that the benchmarks generate: chains of ops, and files of weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

OPS_A_LAYER = 8


def chain(nodes: int, path: Path) -> None:
    """A chain of about `nodes` nodes: residual blocks of MatMul, Add, softmax and
    a decomposed LayerNorm tail over 16 channels. Weights are shared, so that the
    file's size is that of its graph."""
    width = 16
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((width, width)).astype(np.float32) / 4
    initializers = [
        helper.make_tensor("w", TensorProto.FLOAT, weight.shape, weight.tobytes(), raw=True),
        helper.make_tensor("b", TensorProto.FLOAT, [width], [0.1] * width),
        helper.make_tensor("eps", TensorProto.FLOAT, [], [1e-5]),
        helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]),
    ]
    graph_nodes, x = [], "x"

    def add(op: str, *inputs: str, **attributes) -> str:
        name = f"{op.lower()}_{len(graph_nodes)}"
        graph_nodes.append(helper.make_node(op, list(inputs), [name], name=f"/{name}", **attributes))
        return name

    while len(graph_nodes) + OPS_A_LAYER <= nodes:
        y = add("Add", add("MatMul", x, "w"), "b")
        y = add("Softmax", y, axis=-1)
        y = add("Mul", y, "two")
        y = add("Relu", add("Sub", y, "eps"))
        x = add("Tanh", add("Add", x, y))
    graph = helper.make_graph(
        graph_nodes, "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, width])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [4, width])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def weights(total_bytes: int, path: Path, external: bool) -> None:
    """A multilayer perceptron of 4096 x 4096 FP32 weights (64 MiB each) that
    holds about `total_bytes`."""
    width, layer_bytes = 4096, 4096 * 4096 * 4
    rng = np.random.default_rng(0)
    layer = (rng.standard_normal((width, width)) / 64).astype(np.float32).tobytes()
    count = total_bytes // layer_bytes
    nodes, initializers, x = [], [], "x"
    data = path.with_suffix(".data")
    if external:
        with data.open("wb") as stream:
            for _ in range(count):
                stream.write(layer)
    for index in range(count):
        tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[width, width])
        if external:
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", data.name), ("offset", index * layer_bytes),
                               ("length", layer_bytes)):
                tensor.external_data.add(key=key, value=str(value))
        else:
            tensor.raw_data = layer
        initializers.append(tensor)
        nodes += [helper.make_node("MatMul", [x, f"w{index}"], [f"m{index}"]),
                  helper.make_node("Relu", [f"m{index}"], [f"r{index}"])]
        x = f"r{index}"
    graph = helper.make_graph(
        nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, width])], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(model, path)
