"""Cases of test_soundness.py: quantisation."""

import numpy as np
from soundness_family import Cases

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


def _scales(draw, scale):
    """A policy leaves scales of a file alone, so they must be numbers of its format; what
    computes scales is stored as all else, and may lose them."""
    scale = np.asarray(scale, np.float32)
    if draw.loses:
        return draw.node("Mul", draw.constant(scale), draw.constant(np.float32(1), exact=True))
    return draw.constant(draw.format.round(scale))


@onnx_case
def quantised(draw):
    x = draw.node("Add", draw.box((2, 3, 4)), draw.weights((3, 1)))
    scale = draw.choice([1e-3, 0.1, 3.0])
    kind = draw.choice([np.uint8, np.int8])
    if draw.integer(0, 1):
        scales = _scales(draw, scale)
        zero = draw.constant(kind(draw.integer(0, 100)))
    else:
        scales = _scales(draw, draw.random.uniform(0.5, 2, 3) * scale)
        zero = draw.constant(draw.random.integers(0, 100, 3).astype(kind))
    code = draw.node("QuantizeLinear", x, scales, zero, axis=1)
    draw.node("Cast", code, to=1)
    draw.node("DequantizeLinear", code, scales, zero, axis=1)


@onnx_case
def quantised_weights(draw):
    weights = draw.constant(draw.random.integers(-128, 128, (6, 5)).astype(np.int8))
    axis = draw.integer(0, 1)
    scales = _scales(draw, draw.random.uniform(0.01, 2, (6, 5)[axis]))
    draw.node("DequantizeLinear", weights, scales, axis=axis)


@onnx_case
def quantised_dynamically(draw):
    for _ in range(2):
        code, scale, zero = draw.node("DynamicQuantizeLinear", draw.box(draw.any_shape(2)),
                                      outputs=3)
        draw.node("Cast", code, to=1)
        draw.node("DequantizeLinear", code, scale, zero)


@ir_case
def fake_quantize(draw):
    x = draw.box(draw.shape())
    scale = draw.constant(draw.format.round(np.float32(draw.choice([1e-3, 0.1, 3.0]))),
                          exact=not draw.loses)
    if draw.loses:
        one = draw.constant(np.float32(1), exact=True)
        scale = draw.op("mul", [scale, one], lambda a, b: a * b)
    zero = draw.integer(-100, 100)
    low, high = draw.choice([(-128, 127), (0, 255)])
    zero = min(max(zero, low), high)

    def reference(x, scale, zero):
        return ((np.clip(np.round(x / scale) + zero, low, high) - zero) * scale).astype(x.dtype)
    draw.op("fake_quantize", [x, scale, draw.constant(np.int32(zero))], reference,
            quant_min=low, quant_max=high)


@onnx_case
def large_codes(draw):
    x = draw.box((4,), 2**24 - 1, 2**24 + 5, dtype=np.int32)
    draw.node("DequantizeLinear", x, _scales(draw, draw.choice([3.0, 0.1, 1e-3])))


@onnx_case
def packed_weights(draw):
    k, n, block = 64, draw.integer(1, 4), draw.choice([16, 32])
    x = draw.box((2, k), scale=draw.choice([0.5, 3, 30]))
    packed = draw.constant(draw.random.integers(0, 256, (n, k // block, block // 2),
                                                dtype=np.uint8))
    scales = _scales(draw, draw.random.uniform(0.01, 1, (n, k // block)))
    draw.node("MatMulNBits", x, packed, scales, K=k, N=n, bits=4,
              block_size=block, domain="com.microsoft")
    rows = draw.constant(draw.random.integers(0, 256, (5, k // 2), dtype=np.uint8))
    scales = _scales(draw, draw.random.uniform(0.01, 1, (5, k // 16)))
    ids = draw.box((3,), 0, 4, dtype=np.int64)
    draw.node("GatherBlockQuantized", rows, ids, scales, gather_axis=0,
              quantize_axis=1, block_size=16, bits=4, domain="com.microsoft")


def _exact(draw, shape=()):
    """Scales of quantised numbers, the same in every format."""
    exponents = draw.random.integers(-6, 0, shape)
    return draw.constant((1 + draw.random.integers(0, 8, shape) / 8) * 2.0 ** exponents,
                         exact=True)


@onnx_case
def quantised_products(draw):
    codes = draw.box((3, 5), draw.integer(0, 100), 255, dtype=np.uint8)
    weights = draw.constant(draw.random.integers(0, 256, (5, 2)).astype(np.uint8))
    draw.node("MatMulIntegerToFloat", codes, weights, _exact(draw), _exact(draw), "", "",
              domain="com.microsoft")
    zeros = [draw.constant(np.uint8(draw.integer(0, 255))) for _ in range(3)]
    scale = draw.constant(float(draw.choice([0.5, 4.0, 64.0])), exact=True)
    draw.node("QLinearMatMul", codes, _exact(draw), zeros[0], weights, _exact(draw), zeros[1],
              scale, zeros[2])
    draw.node("DynamicQuantizeMatMul", draw.box((3, 5), 0.0006, 0.001), draw.constant(
        draw.random.integers(-128, 128, (5, 2)).astype(np.int8)), _exact(draw),
        domain="com.microsoft")
