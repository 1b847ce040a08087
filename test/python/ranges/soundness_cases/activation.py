"""Cases of test_soundness.py: activations, softmax."""

import numpy as np
from soundness_family import Cases
from soundness_operands import function_of_one, ints, mask_of, number, row_shape, signed, softplus

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- of one element --------------------------------------------------------------------

UNARY = """Relu Sigmoid Softsign Softplus HardSwish Mish Gelu Elu Celu Selu LeakyRelu
ThresholdedRelu HardSigmoid""".split()


def _unary(op):
    def build(draw):
        attributes = {}
        if op in ("Elu", "Celu", "LeakyRelu", "ThresholdedRelu"):
            attributes["alpha"] = draw.choice([0.01, 0.5, 1.0, 2.0])
        if op == "Gelu":
            attributes["approximate"] = draw.choice(["none", "tanh"])
        first = draw.node(op, draw.box(draw.shape()), **attributes)
        draw.node(op, first, **attributes)  # of what was rounded
    return build


for _op in UNARY:
    CASES.onnx[_op] = _unary(_op)


FUNCTIONS = {  # by mnemonic
    "log_sigmoid": lambda x: -softplus(-x), "relu6": lambda x: np.clip(x, 0, 6),
    "tanh_shrink": lambda x: x - np.tanh(x),
}

for _op, _reference in FUNCTIONS.items():
    CASES.ir[_op] = function_of_one(_op, _reference)


@onnx_case
def shrink(draw):
    draw.node("Shrink", draw.box(draw.shape()), lambd=draw.choice([0.1, 0.5, 2.0]),
              bias=draw.choice([0.0, 0.5]))


@onnx_case
def PRelu(draw):
    shape = draw.shape()
    other = draw.choice([shape, shape[-1:], (1,)])
    slope = draw.weights(other) if draw.integer(0, 1) else draw.box(other)
    draw.node("PRelu", draw.box(shape), slope)


@onnx_case
def gates(draw):
    x = draw.box(draw.shape())
    alpha = draw.choice([1.0, 1.702, 0.3])
    draw.node("QuickGelu", x, alpha=alpha, domain="com.microsoft")
    draw.node("Swish", x, alpha=alpha)


@onnx_case
def activations(draw):
    x = draw.box(draw.shape())
    draw.node("Mul", x, draw.node("Sigmoid", x))
    erf = draw.node("Erf", draw.node("Div", x, number(draw, 2 ** 0.5)))
    half = draw.node("Mul", x, draw.node("Add", erf, number(draw, 1)))
    draw.node("Mul", half, number(draw, 0.5))


@onnx_case
def fused_activations(draw):
    x = draw.box((2, 4), draw.choice([-10.0, 0.5]), 10)
    for op in ("FastGelu", "BiasGelu"):
        draw.node(op, x, signed(draw, (4,), 5), domain="com.microsoft")
    for activation in ("Tanh", "Sigmoid", "Relu"):
        draw.node("FusedGemm", x, signed(draw, (4, 3)), signed(draw, (3,)),
                  activation=activation, domain="com.microsoft")


@ir_case
def parameters(draw):
    x = draw.box(draw.shape(), *sorted(draw.random.uniform(-9, 9, 2).astype(np.float32)))
    lo, hi = sorted(draw.random.uniform(-3, 3, 2).tolist())
    draw.op("hard_tanh", [x], lambda x: np.clip(x, lo, hi), low=lo, high=hi)
    alpha = draw.choice([1.0, 1.702, 0.5])
    for op in ("silu", "quick_gelu"):
        draw.op(op, [x], lambda x: x / (1 + np.exp(-alpha * x)), alpha=alpha)
    draw.op("is_inf", [x], lambda x: x == np.inf, detect_negative=False, detect_positive=True)
    gate, value = draw.box(draw.shape()), None
    value = draw.box(draw.boxes[gate.tensor][2])
    draw.op("swiglu", [gate, value], lambda g, v: g / (1 + np.exp(-alpha * g)) * v, alpha=alpha)


# -- softmax ---------------------------------------------------------------------------


@onnx_case
def softmaxes(draw):
    shape = row_shape(draw)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        draw.node(op, draw.box(shape), axis=draw.choice([-1, 0]))
        by_channel = draw.node("Add", draw.box(shape), draw.weights(shape[-1:]))
        draw.node(op, by_channel, axis=draw.choice([-1, 0]))


@onnx_case
def masked_softmax(draw):
    mask = np.where(np.tril(np.ones((4, 4))) > 0, 0, -np.inf)
    x = draw.node("Add", draw.box((2, 4, 4), scale=30), draw.constant(mask))
    draw.node("Softmax", x, axis=-1)
    draw.node("LogSoftmax", x, axis=-1)


@onnx_case
def chosen_scores(draw):
    shape = (2, draw.integer(1, 5))
    scores = draw.box(shape, scale=draw.choice([0.05, 1, 30]))
    masked = draw.node("Where", mask_of(draw, shape), scores, draw.constant(np.float32(-np.inf)))
    p = draw.node("Softmax", masked, axis=-1)
    draw.node("Log", p)
    draw.node("LogSoftmax", masked, axis=-1)


@onnx_case
def added_mask(draw):
    steps = draw.choice([3, 128])
    mask = np.triu(np.full((steps, steps), -np.inf), 1)
    x = draw.node("Add", draw.box((1, 2, steps, steps), scale=draw.choice([0.05, 3])),
                  draw.constant(mask))
    draw.node("Log", draw.node("Softmax", x, axis=-1))


@onnx_case
def written_softmax(draw):
    x = draw.box(row_shape(draw))
    top = draw.node("ReduceMax", x, ints(draw, -1), keepdims=1)
    draw.node("Sub", top, x)
    z = draw.choice([x, draw.node("Sub", x, top)])
    e = draw.node("Exp", z)
    total = draw.node("ReduceSum", e, ints(draw, -1), keepdims=1)
    p = draw.node("Div", e, total)
    draw.node("Mul", e, draw.node("Reciprocal", total))
    draw.node("Sub", z, draw.node("Log", total))
    draw.node("Sub", z, draw.node("ReduceLogSumExp", z, ints(draw, -1), keepdims=1))
    draw.node("ReduceSum", p, ints(draw, -1))


@ir_case
def softmin(draw):
    x = draw.op("square", [draw.box(draw.shape(), scale=draw.choice([1, 10, 1e3]))],
                lambda x: x * x)
    rank = len(draw.boxes[list(draw.boxes)[-1]][2])
    axis = draw.integer(-rank, rank - 1)

    def reference(x):
        z = np.min(x, axis, keepdims=True) - x
        return np.exp(z) / np.sum(np.exp(z), axis, keepdims=True)
    draw.op("softmin", [x], reference, axis=axis)
