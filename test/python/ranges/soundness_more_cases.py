"""Cases of test_soundness.py: the ONNX and com.microsoft ops that soundness_cases,
_rows and _composites leave out."""

import numpy
from onnx import TensorProto, helper

CASES = {}
OPSET = 24


def case(function):
    CASES[function.__name__] = function
    return function


def _ints(draw, *values):
    return draw.constant(numpy.array(values, numpy.int64))


def _float(draw, value):
    return draw.node("Cast", value, to=TensorProto.FLOAT)


def _channels(draw, shape):
    """Groups that differ by channel, so that a mix-up shows."""
    return draw.node("Mul", draw.box(shape), draw.weights((shape[-1],)))


# -- bits and truth --------------------------------------------------------------------


@case
def bits(draw):
    x, y = (draw.box((3, 4), 0 if draw.integer(0, 1) else -draw.integer(1, 90),
                     draw.integer(1, 100), dtype=numpy.int32) for _ in range(2))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        draw.node(op, x, y)
    draw.node("BitwiseNot", x)
    u = draw.box((3, 4), 0, draw.integer(1, 200), dtype=numpy.uint32)
    by = draw.box((4,), 0, draw.integer(1, 9), dtype=numpy.uint32)
    for direction in ("LEFT", "RIGHT"):
        draw.node("BitShift", u, by, direction=direction)


@case
def truth(draw):
    shape = draw.any_shape()
    x, y = draw.box(shape), draw.box(shape)
    p = draw.node("Greater", x, draw.weights(shape[-1:]))
    q = draw.node("Less", y, draw.weights(shape[-1:]))
    draw.node("Not", p)
    for op in ("And", "Or", "Xor"):
        draw.node(op, p, q)
    for op in ("IsNaN", "IsInf"):
        draw.node(op, draw.node("Log", x))
    draw.node("IsInf", x, detect_negative=draw.integer(0, 1))


# -- selection and movement ------------------------------------------------------------


@case
def gathers(draw):
    x = draw.node("Add", draw.box((3, 4)), draw.weights((4,)))
    keep = draw.constant(numpy.array([True, False, True, draw.integer(0, 1) == 1]))
    draw.node("Compress", x, keep, axis=1)
    draw.node("NonZero", x)
    draw.node("Unique", x, outputs=4, axis=draw.integer(0, 1))
    draw.node("Unique", x, outputs=4)
    ids = draw.constant(draw.random.integers(0, 3, (2, 4)))
    draw.node("GatherElements", x, ids, axis=0)
    draw.node("Size", x)
    draw.node("EyeLike", x, k=draw.integer(-2, 3))


@case
def scatters(draw):
    x, updates = draw.box((3, 4)), draw.box((2, 4))
    ids = draw.constant(draw.random.integers(0, 3, (2, 4)))
    reduction = draw.choice(["none", "add", "mul", "max", "min"])
    draw.node("ScatterElements", x, ids, updates, axis=0, reduction=reduction)
    rows = draw.constant(draw.random.integers(0, 3, (2, 1)))
    draw.node("ScatterND", x, rows, updates, reduction=reduction)
    cache, new = draw.box((2, 6, 3)), draw.box((2, 2, 3))
    draw.node("TensorScatter", cache, new, draw.constant(draw.random.integers(0, 4, 2)),
              axis=1, mode=draw.choice(["linear", "circular"]))


@case
def shapes(draw):
    x = _channels(draw, (5, 4))
    draw.node("ReverseSequence", x, draw.constant(draw.random.integers(1, 6, 4)),
              batch_axis=1, time_axis=0)
    draw.node("CenterCropPad", x, _ints(draw, draw.integer(2, 7)), axes=[draw.integer(0, 1)])
    value = helper.make_tensor("v", TensorProto.FLOAT, [1], [float(draw.random.uniform(-9, 9))])
    draw.node("ConstantOfShape", _ints(draw, 2, 3), value=value)


@case
def sequences(draw):
    shape = draw.any_shape()
    a, b, c = (draw.box(shape) for _ in range(3))
    one = draw.constant(numpy.int64(draw.integer(0, 1)))
    some = draw.node("SequenceConstruct", a, b)
    more = draw.node("SequenceInsert", some, c, one)
    less = draw.node("SequenceErase", more, one)
    draw.node("SequenceAt", less, one)
    draw.node("SequenceAt", more, one)
    draw.node("SequenceLength", less)
    empty = draw.node("SequenceEmpty")
    draw.node("SequenceAt", draw.node("SequenceInsert", empty, a), _zero(draw))
    parts = draw.node("SplitToSequence", draw.box((4, *shape)), axis=0, keepdims=0)
    draw.node("SequenceAt", parts, one)
    held = draw.node("Optional", a)
    draw.node("OptionalGetElement", held)
    draw.node("OptionalHasElement", held)


def _zero(draw):
    return draw.constant(numpy.int64(0))


@case
def boxes(draw):
    batch, classes, count = draw.any_shape(3)
    corners = draw.box((batch, count, 4), -1, draw.integer(1, 10))
    draw.node("NonMaxSuppression", corners, draw.box((batch, classes, count), 0, 1),
              _ints(draw, 3), draw.constant(numpy.float32([draw.random.uniform(0.1, 0.9)])),
              draw.constant(numpy.float32([0.1])))


# -- regions of images ------------------------------------------------------------------


@case
def unpool(draw):
    x = draw.node("Add", draw.box((draw.integer(1, 4), 2, 4, 4)), draw.weights((2, 1, 1)))
    most, at = draw.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    draw.node("MaxUnpool", most, at, kernel_shape=[2, 2], strides=[2, 2])


@case
def deformed(draw):
    c, m, k = draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3)
    out = 6 - k
    scale = draw.choice([0.5, 3, 100])
    operands = [draw.box((1, c, 5, 5), scale=scale), draw.weights((m, c, k, k), 2),
                draw.box((1, 2 * k * k, out, out), scale=draw.choice([0.3, 2, 9])),
                draw.weights((m,), 2)]
    if draw.integer(0, 1):
        operands.append(draw.box((1, k * k, out, out), 0, 1))
    draw.node("DeformConv", *operands, kernel_shape=[k, k], pads=[0] * 4)


# -- norms, activations and attention -----------------------------------------------------


@case
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


@case
def gates(draw):
    x = draw.box(draw.shape())
    alpha = draw.choice([1.0, 1.702, 0.3])
    draw.node("QuickGelu", x, alpha=alpha, domain="com.microsoft")
    draw.node("Swish", x, alpha=alpha)


@case
def attentions(draw):
    heads, width, steps = 2, draw.choice([4, 8]), draw.integer(2, 5)
    q, k, v = (draw.box((1, heads, steps, width), scale=draw.choice([0.5, 3, 30]))
               for _ in range(3))
    attributes = {"is_causal": draw.integer(0, 1)}
    if draw.integer(0, 1):
        attributes["softcap"] = draw.choice([5.0, 30.0])
    draw.node("Attention", q, k, v, **attributes)
    mask = numpy.where(draw.random.uniform(0, 1, (steps, steps)) < 0.3, -numpy.inf, 0)
    mask[:, 0] = 0
    draw.node("Attention", q, k, v, draw.constant(mask))


@case
def rotation(draw):
    steps, width = draw.integer(2, 5), draw.choice([4, 8])
    x = draw.box((draw.integer(1, 3), 3, steps, width))
    angles = numpy.outer(numpy.arange(9), 1 / 10 ** numpy.arange(width // 2))
    ids = draw.box((draw.boxes[x][2][0], steps), 0, 8, dtype=numpy.int64)
    draw.node("RotaryEmbedding", x, draw.constant(numpy.cos(angles)),
              draw.constant(numpy.sin(angles)), ids, interleaved=draw.integer(0, 1))


# -- quantised weights ----------------------------------------------------------------------


@case
def packed_weights(draw):
    k, n, block = 64, draw.integer(1, 4), draw.choice([16, 32])
    x = draw.box((2, k), scale=draw.choice([0.5, 3, 30]))
    packed = draw.constant(draw.random.integers(0, 256, (n, k // block, block // 2),
                                                dtype=numpy.uint8))
    scales = draw.format.round(draw.random.uniform(0.01, 1, (n, k // block)).astype(numpy.float32))
    draw.node("MatMulNBits", x, packed, draw.constant(scales), K=k, N=n, bits=4,
              block_size=block, domain="com.microsoft")
    rows = draw.constant(draw.random.integers(0, 256, (5, k // 2), dtype=numpy.uint8))
    scales = draw.format.round(draw.random.uniform(0.01, 1, (5, k // 16)).astype(numpy.float32))
    ids = draw.box((3,), 0, 4, dtype=numpy.int64)
    draw.node("GatherBlockQuantized", rows, ids, draw.constant(scales), gather_axis=0,
              quantize_axis=1, block_size=16, bits=4, domain="com.microsoft")


# -- control flow ----------------------------------------------------------------------------


def _value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


@case
def branches(draw):
    shape = draw.any_shape()
    x, y, c = draw.box(shape), draw.box(shape), draw.box((), 0, 1, dtype=bool)
    then = helper.make_graph([helper.make_node("Relu", [x], [draw.name("t")])], "then", [], [])
    other = helper.make_graph([helper.make_node("Neg", [y], [draw.name("e")])], "else", [], [])
    for graph in (then, other):
        graph.output.append(_value(graph.node[0].output[0], TensorProto.FLOAT, shape))
    draw.node("If", c, then_branch=then, else_branch=other)


@case
def loops(draw):
    trips, x = draw.integer(1, 4), draw.box((3,), scale=draw.choice([0.5, 3]))
    by = draw.weights((3,), 1.5)
    i, keep, v, w, s, k = (draw.name(hint) for hint in ("i", "keep", "v", "w", "s", "k"))
    body = helper.make_graph(
        [helper.make_node("Mul", [v, by], [w]), helper.make_node("Add", [w, x], [s]),
         helper.make_node("Identity", [keep], [k])], "body",
        [_value(i, TensorProto.INT64, []), _value(keep, TensorProto.BOOL, []),
         _value(v, TensorProto.FLOAT, [3])],
        [_value(k, TensorProto.BOOL, []), _value(s, TensorProto.FLOAT, [3]),
         _value(w, TensorProto.FLOAT, [3])])
    draw.node("Loop", draw.constant(numpy.int64(trips)), draw.constant(numpy.bool_(True)), x,
              body=body, outputs=2)


@case
def scans(draw):
    x, start = draw.box((draw.integer(1, 5), 3), scale=draw.choice([0.5, 3])), draw.box((3,), scale=1)
    v, row, s, t = (draw.name(hint) for hint in ("v", "row", "s", "t"))
    body = helper.make_graph(
        [helper.make_node("Add", [v, row], [s]), helper.make_node("Relu", [s], [t])], "body",
        [_value(v, TensorProto.FLOAT, [3]), _value(row, TensorProto.FLOAT, [3])],
        [_value(s, TensorProto.FLOAT, [3]), _value(t, TensorProto.FLOAT, [3])])
    draw.node("Scan", start, x, body=body, num_scan_inputs=1, outputs=2)


@case
def maps(draw):
    shape = draw.any_shape()
    parts = draw.node("SplitToSequence", draw.box((4, *shape)), draw.constant(numpy.int64(2)))
    row, y = draw.name("row"), draw.name("y")
    body = helper.make_graph([helper.make_node("Abs", [row], [y])], "body",
                             [_value(row, TensorProto.FLOAT, [2, *shape])],
                             [_value(y, TensorProto.FLOAT, [2, *shape])])
    mapped = draw.node("SequenceMap", parts, body=body)
    draw.node("SequenceAt", mapped, _zero(draw))


@case
def terms(draw):
    """Counts of n-grams."""
    x = draw.box((2, 6), 0, 5, dtype=numpy.int32)
    draw.node("TfIdfVectorizer", x, mode=draw.choice(["TF", "IDF", "TFIDF"]), min_gram_length=1,
              max_gram_length=2, max_skip_count=draw.integer(0, 1), ngram_counts=[0, 3],
              ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=[1, 2, 3, 1, 2, 4, 5],
              weights=[float(w) for w in draw.random.uniform(0.1, 3, 5)])
