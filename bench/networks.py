"""Networks of usual shape with random weights, for what probes cost."""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes and weights under numbered names."""

    def __init__(self, seed: int = 0) -> None:
        self.nodes, self.weights = [], []
        self.random = numpy.random.default_rng(seed)

    def weight(self, *shape: int, scale: float | None = None) -> str:
        if scale is None:
            scale = (2 / max(numpy.prod(shape[1:]), 1)) ** 0.5
        values = (self.random.standard_normal(shape) * scale).astype(numpy.float32)
        return self.constant(values)

    def constant(self, values) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def save(self, file: Path, shape: tuple[int, ...], output: str) -> None:
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "g", [info("x", TensorProto.FLOAT, shape)],
            [info(output, TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), file)


def resnet(file: Path, size: int = 128) -> None:
    """ResNet-50: bottleneck blocks 3, 4, 6, 3 with BatchNorm, on one square image."""
    graph = Graph()

    def conv(x: str, before: int, after: int, kernel: int, stride: int = 1, relu: bool = True):
        pad = kernel // 2
        x = graph.add("Conv", x, graph.weight(after, before, kernel, kernel),
                      kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
        ones, zeros = numpy.ones(after, numpy.float32), numpy.zeros(after, numpy.float32)
        x = graph.add("BatchNormalization", x, graph.constant(ones), graph.constant(zeros),
                      graph.constant(zeros), graph.constant(ones))
        return graph.add("Relu", x) if relu else x

    x = conv("x", 3, 64, 7, 2)
    x = graph.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            side = x if block else conv(x, channels, 4 * width, 1, stride, relu=False)
            y = conv(x, channels, width, 1)
            y = conv(y, width, width, 3, stride)
            y = conv(y, width, 4 * width, 1, relu=False)
            # Smaller sums keep the activations of random weights in range.
            half = graph.constant(numpy.float32(0.5))
            x = graph.add("Relu", graph.add("Mul", graph.add("Add", y, side), half))
            channels = 4 * width
    x = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    x = graph.add("Gemm", x, graph.weight(1000, channels, scale=0.01), transB=1)
    graph.save(file, (1, 3, size, size), graph.add("Softmax", x))


def transformer(file: Path, layers: int = 2, tokens: int = 128, width: int = 512) -> None:
    """Pre-norm transformer layers with 8 heads, as exporters write them."""
    graph, heads = Graph(), 8
    into = graph.constant(numpy.int64([0, 0, heads, width // heads]))
    back = graph.constant(numpy.int64([0, 0, width]))
    scale = graph.constant(numpy.float32((width // heads) ** -0.5))
    half, one = graph.constant(numpy.float32(0.5)), graph.constant(numpy.float32(1))
    root = graph.constant(numpy.float32(2**-0.5))

    def norm(x: str) -> str:
        return graph.add("LayerNormalization", x, graph.constant(numpy.ones(width, numpy.float32)),
                         graph.constant(numpy.zeros(width, numpy.float32)), axis=-1)

    def linear(x: str, before: int, after: int) -> str:
        x = graph.add("MatMul", x, graph.weight(before, after, scale=before**-0.5))
        return graph.add("Add", x, graph.constant(numpy.zeros(after, numpy.float32)))

    def split(x: str, order: list[int]) -> str:
        return graph.add("Transpose", graph.add("Reshape", linear(x, width, width), into),
                         perm=order)

    x = "x"
    for _ in range(layers):
        y = norm(x)
        scores = graph.add("MatMul", split(y, [0, 2, 1, 3]), split(y, [0, 2, 3, 1]))
        weights = graph.add("Softmax", graph.add("Mul", scores, scale), axis=-1)
        y = graph.add("Transpose", graph.add("MatMul", weights, split(y, [0, 2, 1, 3])),
                      perm=[0, 2, 1, 3])
        x = graph.add("Add", x, linear(graph.add("Reshape", y, back), width, width))
        y = linear(norm(x), width, 4 * width)
        gelu = graph.add("Mul", graph.add("Mul", y, half), graph.add(
            "Add", graph.add("Erf", graph.add("Mul", y, root)), one))
        x = graph.add("Add", x, linear(gelu, 4 * width, width))
    graph.save(file, (1, tokens, width), norm(x))


NETWORKS = {"ResNet-50, 128x128": resnet, "2 transformer layers, 128 x 512": transformer}
