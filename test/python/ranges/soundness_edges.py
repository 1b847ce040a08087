"""Cases of test_soundness.py at the edges: products and sums that overflow on the way,
weights that are Inf in 16 bits, gates that are no sigmoids, loops without a condition,
and nodes that are several ops for mpopt and one kernel for a runtime."""

import numpy
from onnx import TensorProto, helper

CASES = {}
OPSET = 23


def case(function):
    CASES[function.__name__] = function
    return function


def _signed(draw, shape, scale=1.0):
    return draw.constant(draw.random.normal(0, scale, shape))


def _exact(draw, shape=()):
    """Scales of quantised numbers, the same in every format."""
    exponents = draw.random.integers(-6, 0, shape)
    return draw.constant((1 + draw.random.integers(0, 8, shape) / 8) * 2.0 ** exponents)


# -- recurrent cells ---------------------------------------------------------------------


@case
def infinite_weights(draw):
    """-3.4e38 is -Inf in FP16: tanh is -1, whatever the finite rows say."""
    least = -float(numpy.finfo(numpy.float32).max)
    x = draw.box((1, 3, 6), 0, draw.choice([0.5, 3e4]))
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        draw.node(op, x, draw.constant(numpy.full((1, gates * 2, 6), least)),
                  _signed(draw, (1, gates * 2, 2)), hidden_size=2, outputs=2)


@case
def infinite_inputs(draw):
    x = draw.node("Mul", draw.box((2, 2, 3), -3, 3), draw.constant(numpy.full(3, 2e38)))
    for activation in ("Tanh", "HardSigmoid", "Relu"):
        draw.node("RNN", x, _signed(draw, (1, 2, 3)), _signed(draw, (1, 2, 2)), hidden_size=2,
                  activations=[activation], outputs=2)


@case
def coupled_gates(draw):
    """The forget gate is 1 - i: the cell is a mean of the two."""
    x, state = draw.box((3, 2, 3), -3, 3), draw.box((1, 2, 2), 20, 70)
    draw.node("LSTM", x, _signed(draw, (1, 8, 3), 5), _signed(draw, (1, 8, 2), 5), "", "",
              draw.box((1, 2, 2), -1, 1), state, hidden_size=2, input_forget=1, outputs=3,
              activations=[draw.choice(["HardSigmoid", "Sigmoid"]), "Tanh", "Tanh"])


@case
def open_gates(draw):
    x = draw.box((2, 3, 4), -0.05, 0)
    draw.node("LSTM", x, _signed(draw, (1, 4, 4)), _signed(draw, (1, 4, 1)), "", "",
              draw.box((1, 3, 1), 0, 0.25), "", _signed(draw, (1, 3), 20), hidden_size=1,
              activations=["HardSigmoid", "Relu", "HardSigmoid"], outputs=3,
              input_forget=draw.integer(0, 1))


@case
def numbers_of_activations(draw):
    """Those that take none read none of the list."""
    x = draw.box((2, 2, 3), -5, 5)
    draw.node("GRU", x, _signed(draw, (1, 6, 3)), _signed(draw, (1, 6, 2)), hidden_size=2,
              activations=["Sigmoid", "HardSigmoid"], activation_alpha=[2.0],
              activation_beta=[0.25], outputs=2)


@case
def other_activations(draw):
    """Nothing is known of cells with activations that no exporter writes; the lit test
    says so."""
    x = draw.box((1, 2, 3), 0, 100)
    for activation in ("Softplus", "ThresholdedRelu", "Softsign", "Elu", "LeakyRelu"):
        draw.node("RNN", x, _signed(draw, (1, 2, 3)), _signed(draw, (1, 2, 2)), hidden_size=2,
                  activations=[activation], outputs=2)


@case
def tiny_states(draw):
    """A tanh of 1.7e-7 is 2.4e-7 in ONNX Runtime's cells, and the next step times 90."""
    x = draw.box((2, 3, 4), -draw.choice([1e-7, 1e-9]), 0)
    for activation in ("Tanh", "HardSigmoid"):
        draw.node("RNN", x, _signed(draw, (1, 2, 4)), _signed(draw, (1, 2, 2), 60),
                  hidden_size=2, activations=[activation], outputs=2)
    draw.node("LSTM", x, _signed(draw, (1, 8, 4)), _signed(draw, (1, 8, 2), 60), hidden_size=2,
              outputs=3)


# -- control flow ------------------------------------------------------------------------


def _value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


@case
def loop_without_condition(draw):
    """ONNX Runtime ends it when the body yields false all the same."""
    i, keep, v, s, top, k, c = (draw.name(hint) for hint in "ikvstac")
    limit = helper.make_tensor("limit", TensorProto.FLOAT, [], [draw.choice([-2.0, 1.0, 9.0])])
    body = helper.make_graph(
        [helper.make_node("Softplus", [v], [s]),
         helper.make_node("ReduceMax", [s], [top], keepdims=0),
         helper.make_node("Constant", [], [c], value=limit),
         helper.make_node("Less", [top, c], [k])], "body",
        [_value(i, TensorProto.INT64, []), _value(keep, TensorProto.BOOL, []),
         _value(v, TensorProto.FLOAT, [3])],
        [_value(k, TensorProto.BOOL, []), _value(s, TensorProto.FLOAT, [3])])
    draw.node("Loop", draw.constant(numpy.int64(4)), "", draw.box((3,), 1, 2), body=body)


# -- sums that overflow ------------------------------------------------------------------


@case
def scaled_by_nothing(draw):
    """0 times a product that is Inf."""
    largest = float(numpy.finfo(numpy.float32).max)
    x = draw.box((2, 3), -3, 3)
    for alpha in (0.0, 0.5):
        draw.node("Gemm", x, draw.constant(numpy.full((3, 2), largest)), _signed(draw, (2,)),
                  alpha=alpha, beta=draw.choice([0.0, 3.0]))


@case
def limits(draw):
    """Without a largest number Inf becomes the kernel's."""
    draw.node("Clip", draw.box((3,), -2, 3), draw.constant(numpy.float32(numpy.inf)))
    draw.node("Clip", draw.box((3,), -2, 3), "", draw.constant(numpy.float32(-numpy.inf)))


@case
def powers_of_integers(draw):
    x = draw.box((3, 4), *draw.choice([(9, 5000), (-7, -2), (1, 4)]), dtype=numpy.int32)
    draw.node("Pow", x, draw.box((3, 4), -4, 0, dtype=numpy.int32))
    draw.node("Pow", x, draw.constant(numpy.float32(draw.choice([-1.0, 2.0]))))


@case
def distances(draw):
    rows = draw.box((3, 4), -1e20, 1e20)
    for metric in ("sqeuclidean", "euclidean"):
        draw.node("CDist", rows, rows, metric=metric, domain="com.microsoft")


@case
def turned(draw):
    largest = float(numpy.finfo(numpy.float32).max)
    draw.node("RotaryEmbedding", draw.box((1, 2, 3, 4), -largest, largest),
              draw.constant(numpy.full((3, 2), 90.0)), _signed(draw, (3, 2), 5),
              draw.constant(numpy.arange(3)[None]), interleaved=draw.integer(0, 1))


@case
def large_scales(draw):
    largest = float(numpy.finfo(numpy.float32).max)
    x = draw.box((1, 2, 4), *draw.choice([(-1e-45, 1e-45), (-2.0, 2.0)]))
    parameters = [draw.constant(numpy.full(2, value)) for value in (
        largest, draw.random.normal(), draw.choice([0.0, -500.0]), draw.choice([0.4, 3.0]))]
    draw.node("BatchNormalization", x, *parameters)


@case
def nothing_to_add(draw):
    """A sum of no exponentials is 0, whatever a softmax says of its own."""
    x = draw.box((0, 3), -1, 1)
    axis = draw.constant(numpy.array([0], numpy.int64))
    e = draw.node("Exp", draw.node("Sub", x, draw.node("ReduceMax", x, axis)))
    total = draw.node("ReduceSum", e, axis)
    draw.node("Log", total)
    draw.node("Reciprocal", total)


@case
def statistics(draw):
    x = draw.box((2, 2, 4, 4), draw.choice([0.0, -2e19]), 2e19)
    parameters = [draw.constant(numpy.ones(2)) for _ in range(4)]
    draw.node("BatchNormalization", x, *parameters, training_mode=1,
              momentum=draw.choice([0.5, 1.0, 0.0]), outputs=3)
    rows = draw.box((2, 4), *draw.choice([(1e20, 3e20), (-1e20, 1e20)]))
    draw.node("LayerNormalization", rows, draw.constant(numpy.ones(4)), outputs=3)
    draw.node("RMSNormalization", rows, draw.constant(numpy.ones(4)))
    draw.node("LayerNormalization", draw.box((4, 1), 6e19, 9e19), draw.constant(numpy.ones(1)))
    y = draw.node("Mul", draw.box((3, 2), -3, 3), draw.constant(numpy.full(2, 3e38)))
    draw.node("LayerNormalization", y, draw.constant(numpy.ones(2)), outputs=2)


# -- one kernel, several ops ---------------------------------------------------------------


@case
def fused_activations(draw):
    x = draw.box((2, 4), draw.choice([-10.0, 0.5]), 10)
    for op in ("FastGelu", "BiasGelu"):
        draw.node(op, x, _signed(draw, (4,), 5), domain="com.microsoft")
    for activation in ("Tanh", "Sigmoid", "Relu"):
        draw.node("FusedGemm", x, _signed(draw, (4, 3)), _signed(draw, (3,)),
                  activation=activation, domain="com.microsoft")


@case
def fused_convolution(draw):
    draw.node("FusedConv", draw.box((1, 2, 4, 4), 0.5, 3), _signed(draw, (3, 2, 2, 2)),
              _signed(draw, (3,)), activation="Tanh", domain="com.microsoft")


@case
def quantised_products(draw):
    codes = draw.box((3, 5), draw.integer(0, 100), 255, dtype=numpy.uint8)
    weights = draw.constant(draw.random.integers(0, 256, (5, 2)).astype(numpy.uint8))
    draw.node("MatMulIntegerToFloat", codes, weights, _exact(draw), _exact(draw), "", "",
              domain="com.microsoft")
    zeros = [draw.constant(numpy.uint8(draw.integer(0, 255))) for _ in range(3)]
    scale = draw.constant(float(draw.choice([0.5, 4.0, 64.0])))
    draw.node("QLinearMatMul", codes, _exact(draw), zeros[0], weights, _exact(draw), zeros[1],
              scale, zeros[2])
    draw.node("DynamicQuantizeMatMul", draw.box((3, 5), 0.0006, 0.001), draw.constant(
        draw.random.integers(-128, 128, (5, 2)).astype(numpy.int8)), _exact(draw),
        domain="com.microsoft")


@case
def embedded(draw):
    """The sum of the tables is normalised before anything is stored."""
    ids, kinds = draw.box((1, 3), 0, 4, dtype=numpy.int32), draw.box((1, 3), 0, 1, dtype=numpy.int32)
    offset = draw.constant(numpy.full((3, 4), draw.choice([0.5, 8.0, 100.0])))
    draw.node("EmbedLayerNormalization", ids, kinds, _signed(draw, (5, 4)), offset,
              _signed(draw, (2, 4), 0.1), _signed(draw, (4,)), _signed(draw, (4,)), outputs=2,
              domain="com.microsoft", epsilon=1e-3)
