"""Cases of test_soundness.py: experimental ops of early opsets."""

import numpy as np
from soundness_family import Cases

CASES = Cases(opset=7)
onnx_case = CASES.onnx_case


@onnx_case
def images(draw):
    x = draw.box((1, 3, draw.integer(5, 8), 7))
    def number():
        return float(draw.format.round(np.float32(draw.random.uniform(-3, 3))))
    draw.node("Affine", x, alpha=number(), beta=number())
    draw.node("ImageScaler", x, scale=number(), bias=[number() for _ in range(3)])
    draw.node("Crop", x, border=[draw.integer(0, 2) for _ in range(4)])
    draw.node("Crop", x, border=[1, 2, 0, 0], scale=[draw.integer(1, 3), 4])


@onnx_case
def scaled_functions(draw):
    x = draw.box(draw.shape())
    alpha, beta = (float(draw.choice([0.5, 1.5, 2])) for _ in range(2))
    draw.node("ScaledTanh", x, alpha=alpha, beta=beta)
    draw.node("ParametricSoftplus", x, alpha=alpha, beta=beta)
