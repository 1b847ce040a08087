"""Models that the benchmarks generate: chains of ops, and files of weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

TOKENS = 4
FLOAT = TensorProto.FLOAT


class Chain:
    """Layers of nodes on a value of [TOKENS, width], repeated to a number of nodes.

    Weights are shared by all layers, so that the file's size is that of its graph.
    """

    def __init__(self, width: int) -> None:
        self.width, self.nodes, self.initializers = width, [], []
        self.rng = np.random.default_rng(0)

    def matrix(self, name: str) -> str:
        """A weight [width, width] that keeps the variance of what it multiplies."""
        values = self.rng.standard_normal((self.width, self.width)) / self.width**0.5
        self.initializers.append(helper.make_tensor(
            name, FLOAT, values.shape, values.astype(np.float32).tobytes(), raw=True))
        return name

    def vector(self, name: str, fill: float) -> str:
        self.initializers.append(helper.make_tensor(name, FLOAT, [self.width],
                                                    [fill] * self.width))
        return name

    def scalar(self, name: str, value: float) -> str:
        self.initializers.append(helper.make_tensor(name, FLOAT, [], [value]))
        return name

    def add(self, op: str, *inputs: str, **attributes) -> str:
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"/{name}", **attributes))
        return name

    def write(self, layer: Callable[[str], str], nodes: int, path: Path) -> None:
        """As many layers as `nodes` hold, at least one; `layer` maps a value to the next."""
        x = layer("x")
        layer_nodes = len(self.nodes)
        while len(self.nodes) + layer_nodes <= nodes:
            x = layer(x)
        shape = [TOKENS, self.width]
        graph = helper.make_graph(
            self.nodes, "chain", [helper.make_tensor_value_info("x", FLOAT, shape)],
            [helper.make_tensor_value_info(x, FLOAT, shape)], self.initializers)
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                          ir_version=8), path)
        onnx.checker.check_model(str(path))


def chain(nodes: int, path: Path, width: int = 16) -> None:
    """Residual blocks of MatMul, Add, softmax and a decomposed LayerNorm tail."""
    made = Chain(width)
    w, b = made.matrix("w"), made.vector("b", 0.1)
    eps, two = made.scalar("eps", 1e-5), made.scalar("two", 2)

    def layer(x: str) -> str:
        y = made.add("Add", made.add("MatMul", x, w), b)
        y = made.add("Softmax", y, axis=-1)
        y = made.add("Mul", y, two)
        y = made.add("Relu", made.add("Sub", y, eps))
        return made.add("Tanh", made.add("Add", x, y))

    made.write(layer, nodes, path)


def products(nodes: int, path: Path, width: int) -> None:
    """Products [4, width] x [width, width], softmaxes and residual sums."""
    made = Chain(width)
    w = made.matrix("w")

    def layer(x: str) -> str:
        return made.add("Add", x, made.add("Softmax", made.add("MatMul", x, w), axis=-1))

    made.write(layer, nodes, path)


def activations(nodes: int, path: Path, width: int) -> None:
    """Products [4, width] x [width, width], Relu, residual sums and softmaxes of them."""
    made = Chain(width)
    w = made.matrix("w")

    def layer(x: str) -> str:
        y = made.add("Relu", made.add("MatMul", x, w))
        return made.add("Softmax", made.add("Add", x, y), axis=-1)

    made.write(layer, nodes, path)


def attention(nodes: int, path: Path, width: int) -> None:
    """Attention of one head over four tokens: the three products, scores, softmax,
    context, output product, residual sum, LayerNorm."""
    made = Chain(width)
    wq, wk, wv, wo = (made.matrix(name) for name in ("wq", "wk", "wv", "wo"))
    scale = made.scalar("scale", width**-0.5)
    gain, bias = made.vector("gain", 1), made.vector("bias", 0)

    def layer(x: str) -> str:
        q, k, v = (made.add("MatMul", x, w) for w in (wq, wk, wv))
        scores = made.add("MatMul", q, made.add("Transpose", k, perm=[1, 0]))
        softmax = made.add("Softmax", made.add("Mul", scores, scale), axis=-1)
        y = made.add("MatMul", made.add("MatMul", softmax, v), wo)
        return made.add("LayerNormalization", made.add("Add", x, y), gain, bias, axis=-1)

    made.write(layer, nodes, path)


# Chains by name: what builds them, and their channels.
CHAINS: dict[str, tuple[Callable[[int, Path, int], None], int]] = {
    "chain, 16 channels": (chain, 16),
    "products, 64 channels": (products, 64),
    "products, 1,024 channels": (products, 1024),
    "activations, 64 channels": (activations, 64),
    "attention, 64 channels": (attention, 64),
    "attention, 1,024 channels": (attention, 1024),
}


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
