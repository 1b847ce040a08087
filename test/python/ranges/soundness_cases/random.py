"""Cases of test_soundness.py: random numbers."""

import numpy as np
from soundness_family import Cases

# ONNX Runtime has no kernel of RandomNormal of opset 22.
CASES = Cases(opset=20)
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def random_numbers(draw):
    size, low = draw.random.uniform(0, 9, 2).astype(float)
    draw.node("RandomNormal", shape=[40, 50], mean=float(draw.random.uniform(-5, 5)),
              scale=float(size))
    draw.node("RandomUniform", shape=[30], low=float(low), high=float(low + size))
    draw.node("Bernoulli", draw.box(draw.any_shape(), *sorted(draw.random.uniform(0, 1, 2))))
    scores = draw.box(draw.any_shape(2), -draw.integer(1, 9), 3)
    draw.node("Cast", draw.node("Multinomial", scores, sample_size=draw.integer(1, 9)), to=1)


@onnx_case
def dropout(draw):
    shape = draw.shape()
    ratio = draw.constant(np.float32(draw.choice([0.1, 0.5, 0.9])), exact=True)
    training = draw.constant(np.bool_(draw.integer(0, 1)))
    x, y = draw.box(shape), draw.node("Relu", draw.box(shape))
    draw.node("Dropout", x, ratio, training)
    draw.node("Dropout", y, ratio)


@ir_case
def random_integers(draw):
    low = draw.integer(-5000, 5000)
    high = low + draw.integer(1, 400)
    shape = draw.constant(np.array([3, 4]))
    draw.op("random_int", [shape],
            lambda _: np.random.default_rng().integers(low, high, (3, 4)), low=low, high=high)
