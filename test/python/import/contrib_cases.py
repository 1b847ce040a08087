"""Small models of com.microsoft operators, in the variants that exporters write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from onnx import helper

RNG = np.random.default_rng(0)
MS = "com.microsoft"


@dataclass
class Contrib:
    name: str
    op: str
    # One an input: an array, or None for an input left out.
    inputs: list[np.ndarray | None]
    # Names of the wanted outputs, "" for one left out.
    outputs: list[str]
    attributes: dict
    # Inputs that are weights of the file.
    constant: tuple[int, ...] = ()
    domain: str = MS
    # Whether all dims follow from the model alone.
    exact: bool = True
    # Dtype and shape of the outputs where ONNX Runtime has no CPU kernel, by the
    # operator's documentation.
    expected: list[tuple[str, list[int]]] | None = None

    @property
    def node(self):
        names = [f"x{index}" if value is not None else "" for index, value in enumerate(self.inputs)]
        while names and not names[-1]:
            names.pop()
        return helper.make_node(self.op, names, self.outputs, domain=self.domain, **self.attributes)


def real(*shape, dtype=np.float32):
    return RNG.uniform(0.1, 1, shape).astype(dtype)


def byte(*shape, dtype=np.uint8):
    return RNG.integers(0, 100, shape).astype(dtype)


def number(value, dtype=np.float32):
    return np.array(value, dtype)


def case(name, op, inputs, outputs=1, constant=(), domain=MS, exact=True, expected=None, **attributes):
    names = [f"y{index}" for index in range(outputs)] if isinstance(outputs, int) else outputs
    return Contrib(f"{op} {name}".strip(), op, inputs, names, attributes, constant, domain, exact,
                   expected)


def attention() -> Iterator[Contrib]:
    b, s, d, n, h = 2, 4, 8, 2, 4
    x, w, bias = real(b, s, d), real(d, 3 * n * h), real(3 * n * h)
    yield case("plain", "Attention", [x, w, bias], num_heads=n, constant=(1, 2))
    yield case("no bias", "Attention", [x, w], num_heads=n,
               expected=[("f32", [b, s, n * h])])  # crashes ONNX Runtime
    yield case("unequal sizes", "Attention", [x, real(d, 8 + 8 + 12), real(28)],
               num_heads=n, qkv_hidden_sizes=[8, 8, 12])
    yield case("key mask", "Attention", [x, w, bias, np.ones((b, s), np.int32)], num_heads=n)
    yield case("lengths", "Attention", [x, w, bias, np.array([4, 3], np.int32)], num_heads=n)
    yield case("past", "Attention", [x, w, bias, None, real(2, b, n, 3, h)], 2, num_heads=n,
               unidirectional=1)
    yield case("present only", "Attention", [x, w, bias], 2, num_heads=n, unidirectional=1)
    yield case("bias of scores", "Attention", [x, w, bias, None, None, real(b, n, s, s)], num_heads=n)

    q, k, v = real(b, s, 8), real(b, 6, 8), real(b, 6, 12)
    yield case("plain", "MultiHeadAttention", [q, k, real(b, 6, 8)], num_heads=n)
    yield case("other value size", "MultiHeadAttention", [q, k, v], num_heads=n)
    yield case("bias", "MultiHeadAttention", [q, k, v, real(28)], num_heads=n)
    yield case("key padding", "MultiHeadAttention",
               [q, k, v, None, np.ones((b, 6), np.int32)], num_heads=n)
    yield case("scores", "MultiHeadAttention", [q, k, v, None, None, real(1, n, s, 6)], num_heads=n)
    yield case("heads first", "MultiHeadAttention", [q, real(b, n, 6, 4), real(b, n, 6, 4)], num_heads=n)
    past = [real(b, n, 3, 4), real(b, n, 3, 4)]
    yield case("past", "MultiHeadAttention",
               [q, real(b, s, 8), real(b, s, 8), None, None, None, *past], 3, num_heads=n)
    yield case("present only", "MultiHeadAttention", [q, real(b, s, 8), real(b, s, 8)], 3, num_heads=n)
    yield case("packed qkv", "MultiHeadAttention", [real(b, s, n, 3, h)], num_heads=n,
               expected=[("f32", [b, s, n * h])])
    yield case("packed kv", "MultiHeadAttention", [q, real(b, 6, n, 2, 4)], num_heads=n,
               expected=[("f32", [b, s, 8])])

    heads, kv, size, total = 4, 2, 16, 3
    lengths, full = np.array([total - 1] * b, np.int32), number(total, np.int32)
    q, k = real(b, 1, heads * size), real(b, 1, kv * size)
    cache = [real(b, kv, 2, size), real(b, kv, 2, size)]
    # The present key and value are as long as the caller's buffers.
    flags = {"num_heads": heads, "kv_num_heads": kv, "exact": False}
    yield case("past", "GroupQueryAttention", [q, k, k, *cache, lengths, full], 3, **flags)
    buffer = [real(b, kv, 16, size), real(b, kv, 16, size)]
    yield case("shared buffer", "GroupQueryAttention", [q, k, k, *buffer, lengths, full], 3, **flags)
    yield case("prompt", "GroupQueryAttention",
               [real(b, 4, heads * size), real(b, 4, kv * size), real(b, 4, kv * size), None, None,
                np.array([3] * b, np.int32), number(4, np.int32)], 3, **flags)
    yield case("packed", "GroupQueryAttention",
               [real(b, 1, (heads + 2 * kv) * size), None, None, *cache, lengths, full], 3, **flags)
    table = [real(32, size // 2), real(32, size // 2)]
    yield case("rotary", "GroupQueryAttention", [q, k, k, *cache, lengths, full, *table], 3,
               do_rotary=1, **flags)
    yield case("window", "GroupQueryAttention", [q, k, k, *cache, lengths, full], 3,
               local_window_size=2, **flags)

    tables = [real(16, 4), real(16, 4)]
    yield case("3-D", "RotaryEmbedding", [real(2, 4, 16), number([0], np.int64), *tables])
    yield case("4-D", "RotaryEmbedding", [real(2, 3, 4, 8), number([0], np.int64), *tables])
    positions = np.tile(np.arange(4, dtype=np.int64), (2, 1))
    yield case("positions", "RotaryEmbedding", [real(2, 4, 16), positions, *tables], interleaved=1)
    yield case("partial", "RotaryEmbedding", [real(2, 4, 24), positions, *tables], num_heads=2,
               rotary_embedding_dim=8)


def normalisation() -> Iterator[Contrib]:
    for dtype in (np.float32, np.float16):
        x, skip = real(2, 3, 8, dtype=dtype), real(2, 3, 8, dtype=dtype)
        gain, bias = real(8, dtype=dtype), real(8, dtype=dtype)
        label = np.dtype(dtype).name
        yield case(label, "SkipLayerNormalization", [x, skip, gain, bias])
        yield case(f"{label} no beta", "SkipLayerNormalization", [x, skip, gain])
        yield case(f"{label} sum", "SkipLayerNormalization", [x, skip, gain, bias, bias], ["y", "", "", "sum"])
        yield case(label, "SkipSimplifiedLayerNormalization", [x, skip, gain])
        yield case(f"{label} sum", "SkipSimplifiedLayerNormalization", [x, skip, gain, bias],
                   ["y", "", "", "sum"])
        yield case(label, "SimplifiedLayerNormalization", [x, gain], domain="")
        yield case(f"{label} axis 1", "SimplifiedLayerNormalization",
                   [x, real(3, 8, dtype=dtype)], domain="", axis=1)
    yield case("one row of skip", "SkipLayerNormalization", [real(2, 3, 8), real(3, 8), real(8)])
    yield case("flat", "SkipLayerNormalization", [real(6, 8), real(6, 8), real(8)])
    yield case("deviation", "SimplifiedLayerNormalization", [real(2, 3, 8), real(8)], 2, domain="")

    # ONNX Runtime has them on GPUs.
    image, pixel = real(2, 4, 4, 6), real(6)
    yield case("", "GroupNorm", [image, pixel, pixel], groups=3, activation=1,
               expected=[("f32", [2, 4, 4, 6])])
    yield case("sum", "SkipGroupNorm", [image, pixel, pixel, real(2, 6), pixel], 2, groups=3,
               expected=[("f32", [2, 4, 4, 6])] * 2)

    ids = byte(2, 5, dtype=np.int32) % 10
    tables = [real(10, 8), real(16, 8)]
    norm = [real(8), real(8)]
    yield case("three tables", "EmbedLayerNormalization", [ids, ids % 2, *tables, real(2, 8), *norm], 2)
    yield case("no segments", "EmbedLayerNormalization", [ids, None, *tables, None, *norm], 2)
    mask = np.ones((2, 5), np.int32)
    yield case("mask", "EmbedLayerNormalization", [ids, None, *tables, None, *norm, mask], 2)
    yield case("sum", "EmbedLayerNormalization", [ids, None, *tables, None, *norm, mask], 3)


def activation() -> Iterator[Contrib]:
    x, bias = real(2, 3, 8), real(8)
    yield case("", "Gelu", [x])
    yield case("", "FastGelu", [x])
    yield case("bias", "FastGelu", [x, bias])
    yield case("", "BiasGelu", [x, bias])
    yield case("", "QuickGelu", [x])
    yield case("alpha", "QuickGelu", [x], alpha=1.0)
    yield case("", "BiasSoftmax", [real(2, 4, 3, 3), real(2, 1, 1, 3)], axis=3, is_inner_broadcast=0,
               expected=[("f32", [2, 4, 3, 3])])
    yield case("inner", "BiasSoftmax", [real(2, 4, 3, 3), real(2, 1, 1, 3)], axis=3, is_inner_broadcast=1,
               expected=[("f32", [2, 4, 3, 3])])


def matmul() -> Iterator[Contrib]:
    yield case("plain", "FusedMatMul", [real(2, 3, 4), real(4, 5)])
    yield case("scaled", "FusedMatMul", [real(2, 3, 4), real(2, 4, 5)], alpha=0.5)
    yield case("transposed a", "FusedMatMul", [real(2, 4, 3), real(2, 4, 5)], transA=1)
    yield case("transposed b", "FusedMatMul", [real(6, 2, 3, 4), real(6, 2, 5, 4)], transB=1)
    yield case("vector", "FusedMatMul", [real(4), real(4, 5)])
    yield case("batch transposed", "FusedMatMul", [real(3, 2, 4), real(2, 4, 5)], transBatchA=1)
    yield case("both batches transposed", "FusedMatMul", [real(3, 2, 4), real(4, 2, 5)],
               transBatchA=1, transBatchB=1)
    yield case("batch and matrix transposed", "FusedMatMul", [real(4, 2, 3), real(2, 5, 4)],
               transA=1, transBatchA=1, transB=1)
    yield case("", "TransposeMatMul", [real(2, 4, 3), real(2, 4, 5)], transA=1)
    yield case("", "FusedGemm", [real(3, 4), real(4, 5), real(5)], activation="Relu")
    yield case("transposed", "FusedGemm", [real(4, 3), real(5, 4)], activation="LeakyRelu",
               activation_alpha=0.1, transA=1, transB=1)
    x, w = real(2, 4, 9, 9), real(6, 4, 3, 3)
    yield case("relu", "FusedConv", [x, w, real(6)], activation="Relu", pads=[1, 1, 1, 1])
    yield case("no bias", "FusedConv", [x, w], activation="Sigmoid", strides=[2, 2])
    yield case("clip", "FusedConv", [x, w, real(6)], activation="Clip", activation_params=[0.0, 6.0],
               dilations=[2, 2])
    yield case("sum", "FusedConv", [x, w, real(6), real(2, 6, 7, 7)], activation="Relu")
    yield case("grouped", "FusedConv", [x, real(4, 1, 3, 3)], group=4, auto_pad="SAME_UPPER",
               activation="Tanh")

    for bits, block in ((4, 16), (4, 32), (8, 16)):
        k, n = 64, 5
        count = -(-k // block)
        inputs = [real(2, 3, k), byte(n, count, block * bits // 8), real(n * count)]
        flags = {"K": k, "N": n, "bits": bits, "block_size": block}
        yield case(f"{bits} bits, {block} a block", "MatMulNBits", inputs, constant=(1, 2), **flags)
        points = byte(n, -(-count * bits // 8))
        yield case(f"{bits} bits, {block} a block, zero points", "MatMulNBits",
                   [*inputs, points], constant=(1, 2, 3), **flags)
    inputs = [real(3, 64, dtype=np.float16), byte(5, 4, 8), real(20, dtype=np.float16)]
    yield case("half", "MatMulNBits", inputs, constant=(1, 2), K=64, N=5, bits=4, block_size=16)
    yield case("bias", "MatMulNBits", [real(3, 64), byte(5, 4, 8), real(20), None, None, real(5)],
               constant=(1, 2, 5), K=64, N=5, bits=4, block_size=16)
    yield case("", "MatMulBnb4", [real(2, 3, 64), byte(64 * 5 // 2), real(20)], constant=(1, 2),
               K=64, N=5, block_size=16, quant_type=1)


def quantised() -> Iterator[Contrib]:
    scale, zero = number(0.05), number(3, np.uint8)
    x = byte(2, 3, 8, 8)
    q = [x, scale, zero]
    small = byte(2, 3, 4)
    for op in ("QLinearAdd", "QLinearMul"):
        yield case("", op, [small, scale, zero, byte(2, 3, 4), scale, zero, scale, zero])
        yield case("broadcast", op, [small, scale, zero, byte(3, 1), scale, zero, scale, zero])
        yield case("signed", op, [byte(2, 3, dtype=np.int8), scale, number(0, np.int8),
                                  byte(2, 3, dtype=np.int8), scale, number(0, np.int8), scale,
                                  number(0, np.int8)])
    yield case("", "QLinearSigmoid", [small, scale, zero, scale, zero])
    yield case("", "QLinearLeakyRelu", [small, scale, zero, scale, zero], alpha=0.1)
    yield case("", "QLinearSoftmax", [small, scale, zero, scale, zero], axis=-1, opset=13)
    yield case("first", "QLinearGlobalAveragePool", [*q, scale, zero])
    yield case("last", "QLinearGlobalAveragePool", [byte(2, 8, 8, 3), scale, zero, scale, zero],
               channels_last=1)
    yield case("", "QLinearAveragePool", [*q, scale, zero], kernel_shape=[2, 2], strides=[2, 2])
    yield case("ceil", "QLinearAveragePool", [*q, scale, zero], kernel_shape=[3, 3], strides=[2, 2],
               ceil_mode=1)
    yield case("last", "QLinearAveragePool", [byte(2, 8, 8, 3), scale, zero, scale, zero],
               kernel_shape=[2, 2], channels_last=1)
    yield case("", "QLinearConcat", [scale, zero, byte(2, 3), scale, zero, byte(2, 5), scale, zero], axis=1)
    yield case("", "QLinearReduceMean", [*q, scale, zero], axes=[2, 3], keepdims=1,
               expected=[("ui8", [2, 3, 1, 1])])
    yield case("dropped", "QLinearReduceMean", [*q, scale, zero], axes=[-1], keepdims=0,
               expected=[("ui8", [2, 3, 8])])
    yield case("", "QLinearWhere", [small % 2 == 0, byte(2, 3, 4), scale, zero, byte(3, 1), scale, zero,
                                    scale, zero])
    yield case("", "QGemm", [byte(3, 4), scale, zero, byte(4, 5), scale, zero, None, scale, zero])
    yield case("float result", "QGemm", [byte(4, 3), scale, zero, byte(5, 4), scale, zero], transA=1, transB=1)

    w = byte(4, 3, 3, 3)
    conv = [x, scale, zero, w, scale, zero, scale, zero]
    yield case("", "QLinearConv", conv, domain="", constant=(3,))
    yield case("bias", "QLinearConv", [*conv, byte(4, dtype=np.int32)], domain="", pads=[1, 1, 1, 1],
               constant=(3, 8))
    yield case("channel scales", "QLinearConv",
               [x, scale, zero, byte(4, 3, 3, 3, dtype=np.int8), real(4), np.zeros(4, np.int8), scale, zero],
               domain="", strides=[2, 2], constant=(3, 4, 5))
    yield case("last", "QLinearConv", [byte(2, 8, 8, 3), scale, zero, w, scale, zero, scale, zero],
               channels_last=1, constant=(3,))
    yield case("", "QLinearMatMul", [byte(2, 3, 4), scale, zero, byte(4, 5), scale, zero, scale, zero],
               domain="")
    yield case("signed", "QLinearMatMul",
               [byte(3, 4), scale, zero, byte(4, 5, dtype=np.int8), scale, number(0, np.int8), scale, zero],
               domain="")
    a, b = byte(2, 3, 4), byte(4, 5)
    yield case("", "MatMulIntegerToFloat", [a, b, scale, scale])
    yield case("columns", "MatMulIntegerToFloat", [a, b, scale, real(5), zero, byte(5), real(5)],
               constant=(1,))
    yield case("", "DynamicQuantizeMatMul", [real(2, 3, 4), b, scale])
    yield case("bias", "DynamicQuantizeMatMul", [real(3, 4), b, real(5), byte(5), real(5)])
    yield case("", "DynamicQuantizeLinear", [real(2, 3)], 3, domain="")
    yield case("", "QuantizeLinear", [real(2, 3), scale, zero])
    yield case("16 bits", "QuantizeLinear", [real(2, 3), scale, number(3, np.uint16)])
    yield case("", "DequantizeLinear", [byte(2, 3), scale, zero])
    yield case("columns", "DequantizeLinear", [byte(2, 3), real(3), byte(3)], axis=1)
    yield case("", "MatMulInteger16", [byte(2, 3, dtype=np.int16), byte(3, 4, dtype=np.int16)])
    yield case("", "GatherBlockQuantized", [byte(6, 16), byte(2, 3, dtype=np.int64) % 6, real(6, 2)],
               constant=(0, 2), bits=4, block_size=16, gather_axis=0, quantize_axis=1)
    yield case("plain", "QAttention",
               [byte(2, 4, 8), byte(8, 24), real(24), scale, scale, None, zero, zero], num_heads=2)
    yield case("past", "QAttention",
               [byte(2, 4, 8), byte(8, 24), real(24), scale, scale, None, zero, zero, real(2, 2, 2, 3, 4)], 2,
               num_heads=2, unidirectional=1)


def other() -> Iterator[Contrib]:
    yield case("", "CDist", [real(3, 4), real(5, 4)], metric="sqeuclidean")
    yield case("", "Trilu", [real(3, 4)])
    yield case("", "GatherND", [real(3, 4), byte(2, 1, dtype=np.int64) % 3])
    yield case("", "Range", [number(0), number(6), number(2)], constant=(0, 1, 2))
    yield case("", "GridSample", [real(1, 2, 4, 4), real(1, 3, 3, 2)])
    yield case("", "Inverse", [real(2, 3, 3) + np.eye(3, dtype=np.float32)])
    yield case("", "ExpandDims", [real(2, 3), number(1, np.int32)], constant=(1,))
    yield case("", "Pad", [real(2, 3), np.array([1, 0, 2, 1], np.int64)], constant=(1,))
    yield case("", "Unique", [np.array([2, 1, 2], np.float32)], 3)
    yield case("real", "Rfft", [real(2, 8)], normalized=0, onesided=1, signal_ndim=1,
               expected=[("f32", [2, 5, 2])])
    yield case("", "NhwcMaxPool", [byte(2, 8, 8, 3)], kernel_shape=[2, 2], strides=[2, 2])
    yield case("", "MurmurHash3", [byte(2, 3, dtype=np.int32)])


def get_cases() -> list[Contrib]:
    return [*attention(), *normalisation(), *activation(), *matmul(), *quantised(), *other()]
