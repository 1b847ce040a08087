"""Cases of test_soundness.py: lists, optionals and n-grams."""

import numpy as np
from onnx import TensorProto, helper
from soundness_family import Cases
from soundness_operands import scalar_int, value_info

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def lists(draw):
    shape = draw.any_shape()
    a, b = draw.box(shape), draw.box(shape)
    both = draw.node("SequenceConstruct", a, b)
    more = draw.node("SequenceInsert", both, draw.weights(shape))
    one = draw.constant(np.int64(1))
    draw.node("SequenceAt", both, one)
    draw.node("ConcatFromSequence", draw.node("SequenceErase", more, one), axis=0)
    draw.node("Cast", draw.node("SequenceLength", more), to=1)
    parts = draw.node("SplitToSequence", draw.box((4, *draw.any_shape())),
                      draw.constant(np.int64(2)))
    draw.node("SequenceAt", parts, one)


@onnx_case
def sequences(draw):
    shape = draw.any_shape()
    a, b, c = (draw.box(shape) for _ in range(3))
    one = draw.constant(np.int64(draw.integer(0, 1)))
    some = draw.node("SequenceConstruct", a, b)
    more = draw.node("SequenceInsert", some, c, one)
    less = draw.node("SequenceErase", more, one)
    draw.node("SequenceAt", less, one)
    draw.node("SequenceAt", more, one)
    draw.node("SequenceLength", less)
    empty = draw.node("SequenceEmpty")
    draw.node("SequenceAt", draw.node("SequenceInsert", empty, a), scalar_int(draw, 0))
    parts = draw.node("SplitToSequence", draw.box((4, *shape)), axis=0, keepdims=0)
    draw.node("SequenceAt", parts, one)
    held = draw.node("Optional", a)
    draw.node("OptionalGetElement", held)
    draw.node("OptionalHasElement", held)


@onnx_case
def maps(draw):
    shape = draw.any_shape()
    parts = draw.node("SplitToSequence", draw.box((4, *shape)), draw.constant(np.int64(2)))
    row, y = draw.name("row"), draw.name("y")
    body = helper.make_graph([helper.make_node("Abs", [row], [y])], "body",
                             [value_info(row, TensorProto.FLOAT, [2, *shape])],
                             [value_info(y, TensorProto.FLOAT, [2, *shape])])
    mapped = draw.node("SequenceMap", parts, body=body)
    draw.node("SequenceAt", mapped, scalar_int(draw, 0))


@onnx_case
def terms(draw):
    """Counts of n-grams."""
    x = draw.box((2, 6), 0, 5, dtype=np.int32)
    draw.node("TfIdfVectorizer", x, mode=draw.choice(["TF", "IDF", "TFIDF"]), min_gram_length=1,
              max_gram_length=2, max_skip_count=draw.integer(0, 1), ngram_counts=[0, 3],
              ngram_indexes=[0, 1, 2, 3, 4], pool_int64s=[1, 2, 3, 1, 2, 4, 5],
              weights=[float(w) for w in draw.random.uniform(0.1, 3, 5)])
