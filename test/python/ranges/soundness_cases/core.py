"""Cases of test_soundness.py: casts and copies."""

from soundness_family import Cases

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def casts(draw):
    x = draw.box(draw.shape(), scale=draw.choice([0.5, 3, 1e3]))
    draw.node("Cast", draw.node("Cast", x, to=7), to=1)
    draw.node("Cast", draw.node("Cast", x, to=9), to=1)


@onnx_case
def Identity(draw):
    draw.node("Identity", draw.node("Identity", draw.box(draw.shape())))
