"""Cases of test_soundness.py: normalisations."""

import numpy as np
from onnx import helper
from soundness_family import Cases
from soundness_operands import epsilon_of, ints, mean_square_of, number, row_shape, signed

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- in one node -----------------------------------------------------------------------


@onnx_case
def layer_norm(draw):
    shape = row_shape(draw)
    x = draw.box(shape, scale=draw.choice([1e-4, 0.5, 3, 20]))
    # Far from zero the kernel's E[x^2] - E[x]^2 cancels, which is not assumed.
    draw.node("LayerNormalization", x, draw.weights(shape[-1:], 3),
              draw.weights(shape[-1:], 3), axis=-1, epsilon=draw.choice([1e-3, 1e-2]))


@onnx_case
def batch_norm(draw):
    x = draw.box((2, 3, 4))
    variance = draw.constant(draw.random.uniform(0.01, 4, 3).astype(np.float32))
    draw.node("BatchNormalization", x, draw.weights((3,)), draw.weights((3,)),
              draw.weights((3,)), variance, epsilon=epsilon_of(draw))


@onnx_case
def instance_norm(draw):
    x = draw.box((2, 3, 16), scale=draw.choice([0.5, 3, 80]))
    draw.node("InstanceNormalization", x, draw.weights((3,), 3), draw.weights((3,), 3),
              epsilon=draw.choice([1e-5, 1e-3]))


@onnx_case
def vector_norms(draw):
    shape = row_shape(draw)
    for p in (1, 2):
        draw.node("LpNormalization", draw.box(shape), axis=-1, p=p)


@onnx_case
def local_response(draw):
    draw.node("LRN", draw.box((1, 6, draw.integer(1, 5), 2)), size=draw.choice([1, 3, 5]),
              alpha=draw.choice([1e-4, 1.0]), beta=draw.choice([0.5, 0.75, 2.0]),
              bias=draw.choice([1.0, 2.0]))


@onnx_case
def mean_variance(draw):
    for _ in range(2):
        draw.node("MeanVarianceNormalization", draw.box((2, 3, draw.integer(1, 4), 4)))


@onnx_case
def more_norms(draw):
    # Far from zero the kernel's E[x^2] - E[x]^2 cancels, which is not assumed.
    x = draw.box((2, 4, 3, 5), scale=draw.choice([0.1, 0.5, 3]))
    groups = draw.choice([1, 2, 4])
    draw.node("GroupNormalization", x, draw.weights((4,), 3), draw.weights((4,), 3),
              num_groups=groups, epsilon=draw.choice([1e-3, 1e-2]))
    rows = draw.box(draw.choice([(2, 8), (1, 64)]), scale=draw.choice([1e-3, 1, 30]))
    width = draw.boxes[rows][2][-1]
    draw.node("RMSNormalization", rows, draw.weights((width,), 3), axis=-1,
              epsilon=draw.choice([1e-5, 1e-3, 1.0]))
    draw.nodes[-1].attribute.append(helper.make_attribute("stash_type", 1))


@onnx_case
def embedded(draw):
    """The sum of the tables is normalised before anything is stored."""
    ids, kinds = draw.box((1, 3), 0, 4, dtype=np.int32), draw.box((1, 3), 0, 1, dtype=np.int32)
    offset = draw.constant(np.full((3, 4), draw.choice([0.5, 8.0, 100.0])))
    draw.node("EmbedLayerNormalization", ids, kinds, signed(draw, (5, 4)), offset,
              signed(draw, (2, 4), 0.1), signed(draw, (4,)), signed(draw, (4,)), outputs=2,
              domain="com.microsoft", epsilon=1e-3)


@onnx_case
def large_scales(draw):
    largest = float(np.finfo(np.float32).max)
    x = draw.box((1, 2, 4), *draw.choice([(-1e-45, 1e-45), (-2.0, 2.0)]))
    parameters = [draw.constant(np.full(2, value)) for value in (
        largest, draw.random.normal(), draw.choice([0.0, -500.0]), draw.choice([0.4, 3.0]))]
    draw.node("BatchNormalization", x, *parameters)


@onnx_case
def statistics(draw):
    x = draw.box((2, 2, 4, 4), draw.choice([0.0, -2e19]), 2e19)
    parameters = [draw.constant(np.ones(2)) for _ in range(4)]
    draw.node("BatchNormalization", x, *parameters, training_mode=1,
              momentum=draw.choice([0.5, 1.0, 0.0]), outputs=3)
    rows = draw.box((2, 4), *draw.choice([(1e20, 3e20), (-1e20, 1e20)]))
    draw.node("LayerNormalization", rows, draw.constant(np.ones(4)), outputs=3)
    draw.node("RMSNormalization", rows, draw.constant(np.ones(4)))
    draw.node("LayerNormalization", draw.box((4, 1), 6e19, 9e19), draw.constant(np.ones(1)))
    y = draw.node("Mul", draw.box((3, 2), -3, 3), draw.constant(np.full(2, 3e38)))
    draw.node("LayerNormalization", y, draw.constant(np.ones(2)), outputs=2)


# -- written out -----------------------------------------------------------------------


def _quotients(draw, x, v):
    root = draw.node("Sqrt", v)
    y = draw.node("Div", x, root)
    draw.node("Mul", x, draw.node("Reciprocal", root))
    draw.node("Mul", draw.node("Div", number(draw, 1), root), x)
    draw.node("Div", x, draw.node("Pow", v, number(draw, 0.5)))
    draw.node("Mul", draw.node("Pow", v, number(draw, -0.5)), x)
    return y


@onnx_case
def root_mean_square(draw):
    x = draw.box(row_shape(draw))
    v = draw.node("Add", mean_square_of(draw, x), number(draw, epsilon_of(draw)))
    y = _quotients(draw, x, v)
    draw.node("ReduceSumSquare", y, ints(draw, -1))
    draw.node("ReduceL2", y, ints(draw, -1))


@onnx_case
def deviation(draw):
    x = draw.box(row_shape(draw))
    d = draw.node("Sub", x, draw.node("ReduceMean", x, ints(draw, -1), keepdims=1))
    v = draw.node("Add", mean_square_of(draw, d), number(draw, epsilon_of(draw)))
    y = _quotients(draw, d, v)
    centred = draw.node("Sub", y, draw.node("ReduceMean", y, ints(draw, -1), keepdims=1))
    draw.node("ReduceSumSquare", centred, ints(draw, -1))


@onnx_case
def without_epsilon(draw):
    x = draw.box(row_shape(draw))
    _quotients(draw, x, mean_square_of(draw, x))
    norm = draw.node("ReduceL2", x, ints(draw, -1), keepdims=1)
    draw.node("Div", x, norm)
    draw.node("Div", x, draw.node("Max", norm, number(draw, 1e-12)))
    draw.node("Div", x, draw.node("ReduceL1", x, ints(draw, -1), keepdims=1))


# -- rows behind them ------------------------------------------------------------------


@onnx_case
def mixed_rows(draw):
    """Rows put together from elements of several have other sums and norms."""
    rows = draw.node("Softmax", draw.box((4, 6), scale=draw.choice([1, 10])), axis=1)
    largest = draw.node("TopK", rows, ints(draw, draw.choice([1, 4])), axis=0, outputs=2)[0]
    draw.node("ReduceSum", largest, ints(draw, 1))
    lengths = draw.constant(draw.random.integers(1, 5, 6).astype(np.int64))
    turned = draw.node("ReverseSequence", rows, lengths, time_axis=0, batch_axis=1)
    draw.node("ReduceSum", turned, ints(draw, 1))
    unit = draw.node("LpNormalization", draw.box((4, 6), 0.5, 3.0), axis=1)
    largest = draw.node("TopK", unit, ints(draw, 4), axis=0, outputs=2)[0]
    draw.node("ReduceSumSquare", largest, ints(draw, 1))
    draw.node("LayerNormalization", draw.node("Softmax", draw.box((2, 4, 3)), axis=1),
              draw.weights((3,)), epsilon=1e-2, outputs=3)


@onnx_case
def gained_products(draw):
    """A product behind a norm's gain and bias. All-equal rows are samples, so the
    column 1 / gain meets its bound."""
    count = draw.choice([4, 16])
    gain = draw.random.uniform(0.2, 3, count) * draw.random.choice([-1, 1], count)
    gain = gain.astype(np.float16).astype(np.float32)
    bias = draw.random.uniform(-1, 1, count).astype(np.float32)
    columns = draw.random.uniform(-1, 1, (count, 4))
    columns[:, 0], columns[:, 1] = 1 / gain, -1 / gain
    x = draw.box((2, count), *draw.choice([(-3.0, 3.0), (0.5, 8.0), (-20.0, -1.0)]))
    mean = draw.node("ReduceMean", draw.node("Mul", x, x), ints(draw, -1))
    root = draw.node("Sqrt", draw.node("Add", mean, number(draw, 1e-4)))
    y = draw.node("Mul", draw.node("Div", x, root), draw.constant(gain))
    if draw.integer(0, 1):
        y = draw.node("Add", y, draw.constant(bias))
    draw.node("MatMul", y, draw.constant(columns))
    gain[0] = 0
    fused = draw.node("LayerNormalization", x, draw.constant(gain), draw.constant(bias),
                      axis=-1, epsilon=1e-2)
    draw.node("Gemm", fused, draw.constant(columns[:, :3]), draw.weights((3,), 1),
              alpha=draw.choice([1.0, -0.5]))
