"""Real architectures, written op by op as exporters write them.

Each function of `ARCHITECTURES` writes one model (opset 17, IR 8). Weights are
random, or a hole of zeros in a file beside the model: what a check costs depends
on their bytes being read, not on their values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper

from networks import Graph

PAGE = 4096


class Network(Graph):
    """A graph whose floats have one dtype, and whose weights may be holes.

    With `sparse`, weights are tensors of zeros in a file beside the model, made by
    truncate(2): it has their size, and no blocks on the disk.
    """

    def __init__(self, dtype: type = numpy.float32, sparse: bool = False) -> None:
        super().__init__()
        self.dtype, self.sparse = numpy.dtype(dtype), sparse
        self.parameters = self.stored = 0  # elements; bytes of the file of weights
        self.of_value: dict[tuple, str] = {}

    def weight(self, *shape: int, scale: float | None = None) -> str:
        """A weight matrix or kernel; by default its scale keeps the variance."""
        self.parameters += math.prod(shape)
        if not self.sparse:
            if scale is None:
                scale = (1 / max(math.prod(shape[1:]), 1)) ** 0.5
            values = self.random.standard_normal(shape, numpy.float32)
            values *= scale
            return super().constant(values.astype(self.dtype, copy=False))
        length = math.prod(shape) * self.dtype.itemsize
        tensor = TensorProto(name=f"w{len(self.weights)}", dims=shape,
                             data_type=helper.np_dtype_to_tensor_dtype(self.dtype),
                             data_location=TensorProto.EXTERNAL)
        # `save` puts the file's name in.
        for key, number in (("location", ""), ("offset", self.stored), ("length", length)):
            tensor.external_data.add(key=key, value=str(number))
        self.stored += -(-length // PAGE) * PAGE
        self.weights.append(tensor)
        return tensor.name

    def vector(self, size: int, fill: float) -> str:
        """A bias or a norm's scale: `size` equal numbers."""
        self.parameters += size
        return super().constant(numpy.full(size, fill, self.dtype))

    def number(self, value: float) -> str:
        return self.shared(numpy.asarray(value, self.dtype))

    def sizes(self, *values: int) -> str:
        return self.shared(numpy.asarray(values, numpy.int64))

    def shared(self, values: numpy.ndarray) -> str:
        """A small constant, which all who name the same one read."""
        key = (values.dtype.str, values.shape, values.tobytes())
        if key not in self.of_value:
            self.of_value[key] = super().constant(values)
        return self.of_value[key]

    def write(self, path: Path, inputs: dict[str, tuple[int, list[int]]], output: str,
              shape: list[int]) -> None:
        """`inputs` are dtypes and shapes by name; `shape` is the output's."""
        data = path.with_suffix(".data")
        for tensor in self.weights:
            if tensor.data_location == TensorProto.EXTERNAL:
                tensor.external_data[0].value = data.name
        if self.stored:
            with data.open("wb") as stream:
                stream.truncate(self.stored)
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, path.stem, [info(name, *type_) for name, type_ in inputs.items()],
            [info(output, helper.np_dtype_to_tensor_dtype(self.dtype), shape)], self.weights)
        onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                          ir_version=8), path)


# Pieces. `x` is [1, tokens, width] in transformers and [1, channels, height,
# width] in the U-Net.


def linear(net: Network, x: str, before: int, after: int, bias: bool = True) -> str:
    x = net.add("MatMul", x, net.weight(before, after, scale=before**-0.5))
    return net.add("Add", net.vector(after, 0), x) if bias else x


def silu(net: Network, x: str) -> str:
    return net.add("Mul", x, net.add("Sigmoid", x))


def gelu(net: Network, x: str) -> str:
    erf = net.add("Erf", net.add("Div", x, net.number(2**0.5)))
    one_more = net.add("Add", erf, net.number(1))
    return net.add("Mul", net.add("Mul", x, one_more), net.number(0.5))


def layer_norm(net: Network, x: str, width: int) -> str:
    return net.add("LayerNormalization", x, net.vector(width, 1), net.vector(width, 0), axis=-1,
                   epsilon=1e-6)


def rms_norm(net: Network, x: str, width: int) -> str:
    """Computed in FP32 whatever the model computes in, as Llama's own code does."""
    half = net.dtype != numpy.float32
    y = net.add("Cast", x, to=TensorProto.FLOAT) if half else x
    mean = net.add("ReduceMean", net.add("Pow", y, net.shared(numpy.float32(2))), axes=[-1],
                   keepdims=1)
    root = net.add("Sqrt", net.add("Add", mean, net.shared(numpy.float32(1e-5))))
    y = net.add("Mul", y, net.add("Div", net.shared(numpy.float32(1)), root))
    if half:
        y = net.add("Cast", y, to=TensorProto.FLOAT16)
    return net.add("Mul", net.vector(width, 1), y)


def group_norm(net: Network, x: str, channels: int, groups: int = 32) -> str:
    """InstanceNormalization of groups: opset 17 has no GroupNormalization."""
    y = net.add("Reshape", x, net.sizes(0, groups, -1))
    y = net.add("InstanceNormalization", y, net.shared(numpy.ones(groups, net.dtype)),
                net.shared(numpy.zeros(groups, net.dtype)), epsilon=1e-6)
    y = net.add("Reshape", y, net.add("Shape", x))
    axes = net.sizes(1, 2)
    y = net.add("Mul", y, net.add("Unsqueeze", net.vector(channels, 1), axes))
    return net.add("Add", y, net.add("Unsqueeze", net.vector(channels, 0), axes))


def heads_of(net: Network, x: str, heads: int, size: int) -> str:
    """[1, tokens, heads * size] as [1, heads, tokens, size]."""
    return net.add("Transpose", net.add("Reshape", x, net.sizes(0, 0, heads, size)),
                   perm=[0, 2, 1, 3])


def attention(net: Network, q: str, k: str, v: str, size: int, mask: str = "") -> str:
    """The operands are heads, [1, heads, tokens, size] each; the result is [1, tokens, heads * size]."""
    scores = net.add("MatMul", q, net.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = net.add("Div", scores, net.number(size**0.5))
    if mask:
        scores = net.add("Add", scores, mask)
    if net.dtype == numpy.float32:
        weights = net.add("Softmax", scores, axis=-1)
    else:
        weights = net.add("Softmax", net.add("Cast", scores, to=TensorProto.FLOAT), axis=-1)
        weights = net.add("Cast", weights, to=TensorProto.FLOAT16)
    context = net.add("Transpose", net.add("MatMul", weights, v), perm=[0, 2, 1, 3])
    return net.add("Reshape", context, net.sizes(0, 0, -1))


def rotated(net: Network, x: str, cos: str, sin: str, size: int) -> str:
    """Rotary positions on heads: x * cos + [-x2, x1] * sin."""
    half, end, last = net.sizes(size // 2), net.sizes(2**63 - 1), net.sizes(-1)
    low = net.add("Slice", x, net.sizes(0), half, last)
    high = net.add("Neg", net.add("Slice", x, half, end, last))
    turned = net.add("Concat", high, low, axis=-1)
    return net.add("Add", net.add("Mul", x, cos), net.add("Mul", turned, sin))


# Architectures.


def llama(path: Path, layers: int, width: int, heads: int, hidden: int, vocabulary: int,
          tokens: int = 64, dtype: type = numpy.float32, sparse: bool = False) -> int:
    """Token ids [1, tokens] to logits [1, tokens, vocabulary]; returns the number of
    parameters. The masked scores are the dtype's least number, as exporters have it."""
    net, size = Network(dtype, sparse), width // heads
    angles = numpy.outer(numpy.arange(tokens), 1e4 ** (-numpy.arange(0, size, 2) / size))
    angles = numpy.concatenate([angles, angles], axis=-1)
    cos, sin = (net.shared(f(angles).astype(net.dtype)) for f in (numpy.cos, numpy.sin))
    later = numpy.triu(numpy.full((1, 1, tokens, tokens), numpy.finfo(net.dtype).min), 1)
    mask = net.shared(later.astype(net.dtype))

    x = net.add("Gather", net.weight(vocabulary, width, scale=1), "ids", axis=0)
    for _ in range(layers):
        y = rms_norm(net, x, width)
        q, k, v = (heads_of(net, linear(net, y, width, width, bias=False), heads, size)
                   for _ in range(3))
        q, k = (rotated(net, each, cos, sin, size) for each in (q, k))
        y = linear(net, attention(net, q, k, v, size, mask), width, width, bias=False)
        x = net.add("Add", x, y)
        y = rms_norm(net, x, width)
        gate = silu(net, linear(net, y, width, hidden, bias=False))
        y = net.add("Mul", gate, linear(net, y, width, hidden, bias=False))
        x = net.add("Add", x, linear(net, y, hidden, width, bias=False))
    logits = linear(net, rms_norm(net, x, width), width, vocabulary, bias=False)
    net.write(path, {"ids": (TensorProto.INT64, [1, tokens])}, logits, [1, tokens, vocabulary])
    return net.parameters


def small_llama(path: Path) -> int:
    return llama(path, layers=8, width=512, heads=8, hidden=1376, vocabulary=6400)


def llama_7b(path: Path, layers: int = 32) -> int:
    return llama(path, layers=layers, width=4096, heads=32, hidden=11008, vocabulary=32000,
                 dtype=numpy.float16, sparse=True)


def llama_7b_2_layers(path: Path) -> int:
    return llama_7b(path, layers=2)


def vit(path: Path, layers: int = 12, width: int = 768, heads: int = 12, image: int = 224,
        patch: int = 16) -> int:
    """ViT-B/16: an image [1, 3, 224, 224] to scores [1, 1000]; returns the number of
    parameters."""
    net, size, tokens = Network(), width // heads, (image // patch) ** 2
    x = net.add("Conv", "x", net.weight(width, 3, patch, patch), net.vector(width, 0),
                kernel_shape=[patch] * 2, strides=[patch] * 2)
    x = net.add("Transpose", net.add("Reshape", x, net.sizes(0, width, -1)), perm=[0, 2, 1])
    x = net.add("Concat", net.weight(1, 1, width, scale=0.02), x, axis=1)
    x = net.add("Add", x, net.weight(1, tokens + 1, width, scale=0.02))
    for _ in range(layers):
        y = layer_norm(net, x, width)
        q, k, v = (heads_of(net, linear(net, y, width, width), heads, size) for _ in range(3))
        x = net.add("Add", linear(net, attention(net, q, k, v, size), width, width), x)
        y = gelu(net, linear(net, layer_norm(net, x, width), width, 4 * width))
        x = net.add("Add", x, linear(net, y, 4 * width, width))
    x = net.add("Gather", layer_norm(net, x, width), net.shared(numpy.int64(0)), axis=1)
    scores = net.add("Gemm", x, net.weight(1000, width), net.vector(1000, 0), transB=1)
    net.write(path, {"x": (TensorProto.FLOAT, [1, 3, image, image])}, scores, [1, 1000])
    return net.parameters


def unet(path: Path, widths: tuple[int, ...] = (128, 256, 512), image: int = 64) -> int:
    """A U-Net as diffusion models have it, without their conditioning: [1, 4, 64, 64]
    to the same, two residual blocks a level, attention at the bottom; returns the
    number of parameters."""
    net = Network()

    def conv(x: str, before: int, after: int, kernel: int = 3, stride: int = 1) -> str:
        return net.add("Conv", x, net.weight(after, before, kernel, kernel),
                       net.vector(after, 0), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                       pads=[kernel // 2] * 4)

    def block(x: str, before: int, after: int) -> str:
        y = conv(silu(net, group_norm(net, x, before)), before, after)
        y = conv(silu(net, group_norm(net, y, after)), after, after)
        return net.add("Add", x if before == after else conv(x, before, after, 1), y)

    def attend(x: str, width: int, heads: int = 8) -> str:
        y = net.add("Reshape", group_norm(net, x, width), net.sizes(0, width, -1))
        y = net.add("Transpose", y, perm=[0, 2, 1])
        q, k, v = (heads_of(net, linear(net, y, width, width, bias=False), heads, width // heads)
                   for _ in range(3))
        y = linear(net, attention(net, q, k, v, width // heads), width, width)
        y = net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1]), net.add("Shape", x))
        return net.add("Add", y, x)

    x, width = conv("x", 4, widths[0]), widths[0]
    skips = [(x, width)]
    for level, after in enumerate(widths):
        if level:
            x = conv(x, width, width, stride=2)
            skips.append((x, width))
        for _ in range(2):
            x, width = block(x, width, after), after
            skips.append((x, width))
    x = block(attend(block(x, width, width), width), width, width)
    twice = net.shared(numpy.float32([1, 1, 2, 2]))
    for level, after in reversed(list(enumerate(widths))):
        for _ in range(3):
            skip, more = skips.pop()
            x, width = block(net.add("Concat", x, skip, axis=1), width + more, after), after
        if level:
            x = conv(net.add("Resize", x, "", twice, mode="nearest", nearest_mode="floor",
                             coordinate_transformation_mode="asymmetric"), width, width)
    x = conv(silu(net, group_norm(net, x, width)), width, 4)
    net.write(path, {"x": (TensorProto.FLOAT, [1, 4, image, image])}, x, [1, 4, image, image])
    return net.parameters


# Each has its builder, and True if it has FP32 weights inline, for converters to convert.
ARCHITECTURES: dict[str, tuple[Callable[[Path], int], bool]] = {
    "small Llama, FP32": (small_llama, True),
    "ViT-B/16, FP32": (vit, True),
    "U-Net, FP32": (unet, True),
    "Llama of 7B shape, 2 layers, FP16": (llama_7b_2_layers, False),
    "Llama of 7B shape, 32 layers, FP16": (llama_7b, False),
}
