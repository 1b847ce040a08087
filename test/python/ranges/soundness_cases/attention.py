"""Cases of test_soundness.py: attention, fused and written out, and rotary embeddings."""

import numpy as np
from soundness_family import Cases
from soundness_operands import ints, mask_of, mean_square_of, number, scale_of, signed

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


@onnx_case
def attentions(draw):
    heads, width, steps = 2, draw.choice([4, 8]), draw.integer(2, 5)
    q, k, v = (draw.box((1, heads, steps, width), scale=draw.choice([0.5, 3, 30]))
               for _ in range(3))
    attributes = {"is_causal": draw.integer(0, 1)}
    if draw.integer(0, 1):
        attributes["softcap"] = draw.choice([5.0, 30.0])
    draw.node("Attention", q, k, v, **attributes)
    mask = np.where(draw.random.uniform(0, 1, (steps, steps)) < 0.3, -np.inf, 0)
    mask[:, 0] = 0
    draw.node("Attention", q, k, v, draw.constant(mask))


@onnx_case
def attention_masks(draw):
    steps, keys = draw.integer(1, 4), draw.integer(1, 5)
    q, v = draw.box((1, 2, steps, 4), 0.5, 1), draw.box((1, 2, keys, 4), 0.25, 2)
    k = draw.box((1, 2, keys, 4), 0.5, 1)
    draw.node("Attention", q, k, v, mask_of(draw, (steps, keys)))
    lowest = float(np.finfo(np.float16 if draw.fp16 else np.float32).min)
    chosen = draw.random.integers(0, 2, (steps, keys))
    draw.node("Attention", q, k, v, draw.constant(np.where(chosen, lowest, 0.0)))
    draw.node("Attention", q, k, v, softcap=draw.choice([0.1, 2.0]))


@onnx_case
def projected(draw):
    k, n = draw.choice([4, 16]), draw.integer(2, 6)
    x = draw.box((2, n, k), scale=scale_of(draw))
    normed = draw.node("LayerNormalization", x, draw.weights((k,), 2), draw.weights((k,), 1))
    q, p, v = (draw.node("MatMul", normed, draw.weights((k, k), 0.5)) for _ in range(3))
    scores = draw.node("MatMul", q, draw.node("Transpose", p, perm=[0, 2, 1]))
    mixed = draw.node("MatMul", draw.node("Softmax", scores), v)
    draw.node("MatMul", mixed, draw.weights((k, 3), 0.5))


@onnx_case
def scores_of_unit_rows(draw):
    def rows(scale):
        x = draw.box((2, 3, 8), scale=scale)
        v = draw.node("Add", mean_square_of(draw, x), number(draw, 1e-5))
        return draw.node("Div", x, draw.node("Sqrt", v))
    q, k = rows(3), rows(1e3)
    scores = draw.node("MatMul", q, draw.node("Transpose", k, perm=[0, 2, 1]))
    p = draw.node("Softmax", draw.node("Mul", scores, number(draw, 8 ** -0.5)), axis=-1)
    draw.node("MatMul", p, draw.box((2, 3, 8)))
    # Heads.
    split = draw.node("Reshape", q, ints(draw, 2, 3, 2, 4))
    heads = draw.node("Transpose", split, perm=[0, 2, 1, 3])
    draw.node("MatMul", heads, draw.node("Transpose", heads, perm=[0, 1, 3, 2]))


@onnx_case
def rotation(draw):
    steps, width = draw.integer(2, 5), draw.choice([4, 8])
    x = draw.box((draw.integer(1, 3), 3, steps, width))
    angles = np.outer(np.arange(9), 1 / 10 ** np.arange(width // 2))
    ids = draw.box((draw.boxes[x][2][0], steps), 0, 8, dtype=np.int64)
    draw.node("RotaryEmbedding", x, draw.constant(np.cos(angles)),
              draw.constant(np.sin(angles)), ids, interleaved=draw.integer(0, 1))


@onnx_case
def turned(draw):
    largest = float(np.finfo(np.float32).max)
    draw.node("RotaryEmbedding", draw.box((1, 2, 3, 4), -largest, largest),
              draw.constant(np.full((3, 2), 90.0)), signed(draw, (3, 2), 5),
              draw.constant(np.arange(3)[None]), interleaved=draw.integer(0, 1))
