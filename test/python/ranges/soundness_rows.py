"""The cases of test_soundness.py: normalisations, softmax, recurrent cells, fused
and written out."""

import numpy

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def _number(draw, value):
    return draw.constant(numpy.float32(value))


def _axis(draw, *axes):
    return draw.constant(numpy.array(axes, dtype=numpy.int64))


def _rows(draw):
    return draw.choice([(2, 8), (3, 1, 5), (2, 3, 16), (1, 64), (4, 1)])


def _epsilon(draw):
    return draw.choice([1e-12, 1e-7, 1e-5, 1e-3, 1.0])


@case
def layer_norm(draw):
    shape = _rows(draw)
    x = draw.box(shape, scale=draw.choice([1e-4, 0.5, 3, 20]))
    # Far from zero the kernel's E[x^2] - E[x]^2 cancels, which is not assumed.
    draw.node("LayerNormalization", x, draw.weights(shape[-1:], 3),
              draw.weights(shape[-1:], 3), axis=-1, epsilon=draw.choice([1e-3, 1e-2]))


@case
def batch_norm(draw):
    x = draw.box((2, 3, 4))
    variance = draw.constant(draw.random.uniform(0.01, 4, 3).astype(numpy.float32))
    draw.node("BatchNormalization", x, draw.weights((3,)), draw.weights((3,)),
              draw.weights((3,)), variance, epsilon=_epsilon(draw))


@case
def instance_norm(draw):
    x = draw.box((2, 3, 16), scale=draw.choice([0.5, 3, 80]))
    draw.node("InstanceNormalization", x, draw.weights((3,), 3), draw.weights((3,), 3),
              epsilon=draw.choice([1e-5, 1e-3]))


@case
def vector_norms(draw):
    shape = _rows(draw)
    for p in (1, 2):
        draw.node("LpNormalization", draw.box(shape), axis=-1, p=p)


@case
def local_response(draw):
    draw.node("LRN", draw.box((1, 6, draw.integer(1, 5), 2)), size=draw.choice([1, 3, 5]),
              alpha=draw.choice([1e-4, 1.0]), beta=draw.choice([0.5, 0.75, 2.0]),
              bias=draw.choice([1.0, 2.0]))


@case
def mean_variance(draw):
    for _ in range(2):
        draw.node("MeanVarianceNormalization", draw.box((2, 3, draw.integer(1, 4), 4)))


@case
def softmaxes(draw):
    shape = _rows(draw)
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        draw.node(op, draw.box(shape), axis=draw.choice([-1, 0]))
        by_channel = draw.node("Add", draw.box(shape), draw.weights(shape[-1:]))
        draw.node(op, by_channel, axis=draw.choice([-1, 0]))


@case
def masked_softmax(draw):
    mask = numpy.where(numpy.tril(numpy.ones((4, 4))) > 0, 0, -numpy.inf)
    x = draw.node("Add", draw.box((2, 4, 4), scale=30), draw.constant(mask))
    draw.node("Softmax", x, axis=-1)
    draw.node("LogSoftmax", x, axis=-1)


def _mean_square(draw, x):
    square = draw.choice([lambda: draw.node("Mul", x, x),
                          lambda: draw.node("Pow", x, _number(draw, 2))])()
    return draw.node("ReduceMean", square, _axis(draw, -1), keepdims=1)


def _quotients(draw, x, v):
    root = draw.node("Sqrt", v)
    y = draw.node("Div", x, root)
    draw.node("Mul", x, draw.node("Reciprocal", root))
    draw.node("Mul", draw.node("Div", _number(draw, 1), root), x)
    draw.node("Div", x, draw.node("Pow", v, _number(draw, 0.5)))
    draw.node("Mul", draw.node("Pow", v, _number(draw, -0.5)), x)
    return y


@case
def root_mean_square(draw):
    x = draw.box(_rows(draw))
    v = draw.node("Add", _mean_square(draw, x), _number(draw, _epsilon(draw)))
    y = _quotients(draw, x, v)
    draw.node("ReduceSumSquare", y, _axis(draw, -1))
    draw.node("ReduceL2", y, _axis(draw, -1))


@case
def deviation(draw):
    x = draw.box(_rows(draw))
    d = draw.node("Sub", x, draw.node("ReduceMean", x, _axis(draw, -1), keepdims=1))
    v = draw.node("Add", _mean_square(draw, d), _number(draw, _epsilon(draw)))
    y = _quotients(draw, d, v)
    centred = draw.node("Sub", y, draw.node("ReduceMean", y, _axis(draw, -1), keepdims=1))
    draw.node("ReduceSumSquare", centred, _axis(draw, -1))


@case
def without_epsilon(draw):
    x = draw.box(_rows(draw))
    _quotients(draw, x, _mean_square(draw, x))
    norm = draw.node("ReduceL2", x, _axis(draw, -1), keepdims=1)
    draw.node("Div", x, norm)
    draw.node("Div", x, draw.node("Max", norm, _number(draw, 1e-12)))
    draw.node("Div", x, draw.node("ReduceL1", x, _axis(draw, -1), keepdims=1))


@case
def written_softmax(draw):
    x = draw.box(_rows(draw))
    top = draw.node("ReduceMax", x, _axis(draw, -1), keepdims=1)
    draw.node("Sub", top, x)
    z = draw.choice([x, draw.node("Sub", x, top)])
    e = draw.node("Exp", z)
    total = draw.node("ReduceSum", e, _axis(draw, -1), keepdims=1)
    p = draw.node("Div", e, total)
    draw.node("Mul", e, draw.node("Reciprocal", total))
    draw.node("Sub", z, draw.node("Log", total))
    draw.node("Sub", z, draw.node("ReduceLogSumExp", z, _axis(draw, -1), keepdims=1))
    draw.node("ReduceSum", p, _axis(draw, -1))


@case
def activations(draw):
    x = draw.box(draw.shape())
    draw.node("Mul", x, draw.node("Sigmoid", x))
    erf = draw.node("Erf", draw.node("Div", x, _number(draw, 2 ** 0.5)))
    half = draw.node("Mul", x, draw.node("Add", erf, _number(draw, 1)))
    draw.node("Mul", half, _number(draw, 0.5))


@case
def attention(draw):
    def rows(scale):
        x = draw.box((2, 3, 8), scale=scale)
        v = draw.node("Add", _mean_square(draw, x), _number(draw, 1e-5))
        return draw.node("Div", x, draw.node("Sqrt", v))
    q, k = rows(3), rows(1e3)
    scores = draw.node("MatMul", q, draw.node("Transpose", k, perm=[0, 2, 1]))
    p = draw.node("Softmax", draw.node("Mul", scores, _number(draw, 8 ** -0.5)), axis=-1)
    draw.node("MatMul", p, draw.box((2, 3, 8)))
    # Heads.
    split = draw.node("Reshape", q, _axis(draw, 2, 3, 2, 4))
    heads = draw.node("Transpose", split, perm=[0, 2, 1, 3])
    draw.node("MatMul", heads, draw.node("Transpose", heads, perm=[0, 1, 3, 2]))


def _recurrent(draw, op, gates, activations, outputs, **attributes):
    steps, hidden = draw.choice([1, 3, 9]), 4
    scale = draw.choice([0.3, 1, 5])
    x = draw.box((steps, 2, 3), scale=draw.choice([0.5, 3, 30]))
    directions = draw.choice([1, 2])
    inputs = [x, draw.weights((directions, gates * hidden, 3), scale),
              draw.weights((directions, gates * hidden, hidden), scale),
              draw.weights((directions, 2 * gates * hidden), scale)]
    if draw.integer(0, 1):
        inputs += ["", draw.box((directions, 2, hidden), scale=2)]
        if op == "LSTM":
            inputs.append(draw.box((directions, 2, hidden), scale=5))
    draw.node(op, *inputs, outputs=outputs, hidden_size=hidden,
              direction="bidirectional" if directions == 2 else "forward",
              activations=activations * directions, **attributes)


@case
def rnn(draw):
    for activation in ("Tanh", "Relu", "Sigmoid", "HardSigmoid"):
        _recurrent(draw, "RNN", 1, [activation], 2)


@case
def lstm(draw):
    _recurrent(draw, "LSTM", 4, ["Sigmoid", "Tanh", "Tanh"], 3)
    _recurrent(draw, "LSTM", 4, ["Sigmoid", "Tanh", "Tanh"], 3, input_forget=1)
    _recurrent(draw, "LSTM", 4, ["HardSigmoid", "Tanh", "Tanh"], 3)


@case
def gru(draw):
    _recurrent(draw, "GRU", 3, ["Sigmoid", "Tanh"], 2)
    _recurrent(draw, "GRU", 3, ["Sigmoid", "Relu"], 2, linear_before_reset=1)


@case
def mixed_rows(draw):
    """Rows put together from elements of several have other sums and norms."""
    rows = draw.node("Softmax", draw.box((4, 6), scale=draw.choice([1, 10])), axis=1)
    largest = draw.node("TopK", rows, _axis(draw, draw.choice([1, 4])), axis=0, outputs=2)[0]
    draw.node("ReduceSum", largest, _axis(draw, 1))
    lengths = draw.constant(draw.random.integers(1, 5, 6).astype(numpy.int64))
    turned = draw.node("ReverseSequence", rows, lengths, time_axis=0, batch_axis=1)
    draw.node("ReduceSum", turned, _axis(draw, 1))
    unit = draw.node("LpNormalization", draw.box((4, 6), 0.5, 3.0), axis=1)
    largest = draw.node("TopK", unit, _axis(draw, 4), axis=0, outputs=2)[0]
    draw.node("ReduceSumSquare", largest, _axis(draw, 1))
    draw.node("LayerNormalization", draw.node("Softmax", draw.box((2, 4, 3)), axis=1),
              draw.weights((3,)), epsilon=1e-2, outputs=3)


@case
def gained_products(draw):
    """A product behind a norm's gain and bias. All-equal rows are samples, so the
    column 1 / gain meets its bound."""
    count = draw.choice([4, 16])
    gain = draw.random.uniform(0.2, 3, count) * draw.random.choice([-1, 1], count)
    gain = gain.astype(numpy.float16).astype(numpy.float32)
    bias = draw.random.uniform(-1, 1, count).astype(numpy.float32)
    columns = draw.random.uniform(-1, 1, (count, 4))
    columns[:, 0], columns[:, 1] = 1 / gain, -1 / gain
    x = draw.box((2, count), *draw.choice([(-3.0, 3.0), (0.5, 8.0), (-20.0, -1.0)]))
    mean = draw.node("ReduceMean", draw.node("Mul", x, x), _axis(draw, -1))
    root = draw.node("Sqrt", draw.node("Add", mean, _number(draw, 1e-4)))
    y = draw.node("Mul", draw.node("Div", x, root), draw.constant(gain))
    if draw.integer(0, 1):
        y = draw.node("Add", y, draw.constant(bias))
    draw.node("MatMul", y, draw.constant(columns))
    gain[0] = 0
    fused = draw.node("LayerNormalization", x, draw.constant(gain), draw.constant(bias),
                      axis=-1, epsilon=1e-2)
    draw.node("Gemm", fused, draw.constant(columns[:, :3]), draw.weights((3,), 1),
              alpha=draw.choice([1.0, -0.5]))
