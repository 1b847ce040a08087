"""Cases of test_soundness.py: gradients and optimisers."""

import numpy as np
from soundness_family import Cases
from soundness_operands import erf, scale_of, sigmoid, signed

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- gradients -------------------------------------------------------------------------


def _density(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi).astype(x.dtype)


@ir_case
def activation_gradients(draw):
    shape = draw.shape()
    grad, x = draw.box(shape), draw.box(shape)
    y = draw.box(shape, *sorted(draw.random.uniform(-1, 1, 2).astype(np.float32).tolist()))
    alpha = draw.choice([0.01, 1.0, 1.702])
    draw.op("relu_grad", [grad, x], lambda g, x: np.where(x > 0, g, 0).astype(g.dtype))
    draw.op("leaky_relu_grad", [grad, x], lambda g, x: np.where(x > 0, g, alpha * g), alpha=alpha)
    for _ in range(2):
        grad = draw.box(shape)
        ends = sorted(draw.random.uniform(0, 1, 2).astype(np.float32).tolist())
        draw.op("sigmoid_grad", [grad, draw.box(shape, *ends)], lambda g, y: g * y * (1 - y))
    draw.op("tanh_grad", [grad, y], lambda g, y: g * (1 - y * y))

    def quick(g, x):
        s = sigmoid(alpha * x)
        return g * s * (1 + alpha * x * (1 - s))
    bounded = draw.box(shape, scale=draw.choice([1e-3, 1, 20]))
    draw.op("quick_gelu_grad", [grad, bounded], quick, alpha=alpha)

    def gelu(g, x, _):
        cdf = (erf(x / np.sqrt(2)) + 1).astype(x.dtype) / 2
        return g * (cdf + x * _density(x))
    draw.op("gelu_grad", [grad, bounded, None], gelu, approximate="none")


@ir_case
def row_gradients(draw):
    shape = draw.choice([(2, 8), (3, 1, 5), (1, 64)])
    grad, x = draw.box(shape, scale=scale_of(draw)), draw.box(shape, scale=10)

    def softmax(x):
        e = np.exp(x - np.max(x, -1, keepdims=True))
        return e / np.sum(e, -1, keepdims=True)
    y = draw.op("softmin", [x], lambda x: softmax(-x), axis=-1)
    draw.op("softmax_grad", [grad, y],
            lambda g, y: y * (g - np.sum(y * g, -1, keepdims=True)), axis=-1)
    logs = draw.box(shape, -draw.integer(1, 90), 0)
    draw.op("log_softmax_grad", [grad, logs],
            lambda g, y: g - np.exp(y) * np.sum(g, -1, keepdims=True), axis=-1)


@ir_case
def loss_gradients(draw):
    n, c = draw.integer(1, 4), draw.integer(2, 6)
    logs = draw.box((n, c), -20, 0)
    target, grad = draw.constant(draw.random.integers(0, c, n)), draw.box(())
    reduction = draw.choice(["mean", "sum"])

    def reference(g, logs, t, *_):
        p = np.exp(logs)
        p[np.arange(n), t] -= 1
        return p * g / (n if reduction == "mean" else 1)
    operands = [grad, logs, target, None, None, None]
    draw.op("softmax_cross_entropy_grad", operands, reference, segments=operands,
            reduction=reduction)


@ir_case
def dropout_gradient(draw):
    shape = draw.shape()
    grad, mask = (draw.box(shape, scale=draw.random.uniform(0.1, 9)),
                  draw.box(shape, 0, 1, dtype=bool))
    ratio = draw.choice([0.25, 0.5, 0.75])  # exact in every format
    operands = [grad, mask, draw.constant(np.float32(ratio), exact=True),
                draw.constant(np.bool_(True))]
    draw.op("dropout_grad", operands,
            lambda g, m, r, _: np.where(m, g / (1 - r), 0).astype(g.dtype), segments=operands)


@ir_case
def movement_gradients(draw):
    rows = draw.integer(1, 5)
    ids = draw.constant(draw.random.integers(0, 4, rows))
    grad = draw.box((rows, 3), scale=draw.random.uniform(0.1, 9))

    def gather(g, _, ids):
        total = np.zeros((4, 3), g.dtype)
        np.add.at(total, ids, g)
        return total
    draw.op("gather_grad", [grad, draw.constant(np.array([4, 3])), ids], gather, axis=0,
            kind="gather")
    bounds = [draw.constant(np.array([i])) for i in (1, 1 + rows, 0)]

    def put(g, *_):
        total = np.zeros((7, 3), g.dtype)
        total[1:1 + rows] = g
        return total
    draw.op("slice_grad", [grad, draw.constant(np.array([7, 3])), *bounds], put)
    shape = draw.random.integers(1, 99, 3)
    draw.op("broadcast_gradient_args", [draw.constant(np.array(shape)),
                                        draw.constant(np.array(shape[2:]))],
            lambda a, b: (np.zeros(0, np.int64), np.array([0, 1])))


def _moments(draw, x, axes, epsilon, centred=True):
    """Mean and inverse deviation as a forward pass leaves them; their shapes."""
    options = {"axes": list(axes), "keep_dims": True}
    mean = draw.op("reduce_mean", [x], lambda x: np.mean(x, axes, keepdims=True), **options)
    square = (draw.op("variance", [x], lambda x: np.mean(
        (x - np.mean(x, axes, keepdims=True)) ** 2, axes, keepdims=True), correction=0.0,
        **options) if centred else draw.op(
            "reduce_mean", [draw.op("square", [x], lambda x: x * x)],
            lambda x: np.mean(x, axes, keepdims=True), **options))
    shifted = draw.op("add", [square, draw.constant(np.float32(epsilon))], np.add)
    return mean, draw.op("rsqrt", [shifted], lambda x: 1 / np.sqrt(x))


@ir_case
def norm_gradients(draw):
    n, d = draw.integer(1, 4), draw.choice([4, 16])
    grad, x = draw.box((n, d), scale=scale_of(draw)), draw.box((n, d), scale=draw.choice([0.5, 5]))
    scale = draw.box((d,), 0.5, 2)
    mean, deviation = _moments(draw, x, (1,), 1e-3)

    def layer(g, x, s, m, r, _):
        y, gs = (x - m) * r, g * s
        dx = r * (gs - np.mean(gs, 1, keepdims=True)
                  - y * np.mean(gs * y, 1, keepdims=True))
        return dx, np.sum(g * y, 0), np.sum(g, 0)
    operands = [grad, x, scale, mean, deviation, None]
    draw.op("layer_norm_grad", operands, layer, segments=operands, axis=-1, epsilon=1e-3)

    def rms(g, x, s, r):
        y, gs = x * r, g * s
        return r * (gs - y * np.mean(gs * y, 1, keepdims=True)), np.sum(g * y, 0)
    _, inverse = _moments(draw, x, (1,), 1e-3, centred=False)
    draw.op("rms_norm_grad", [grad, x, scale, inverse], rms, axis=-1)


@ir_case
def batch_norm_gradient(draw):
    shape = (3, 2, 4)
    grad, x = draw.box(shape, scale=scale_of(draw)), draw.box(shape, scale=2)
    scale = draw.box((2,), 0.5, 2)
    mean, inverse = (draw.op("reshape", [value, draw.constant(np.array([2]))],
                             lambda x, _: x.reshape(2))
                     for value in _moments(draw, x, (0, 2), 1e-3))

    def reference(g, x, s, m, r):
        s, m, r = (v[None, :, None] for v in (s, m, r))
        y, over = (x - m) * r, (0, 2)
        dx = s * r * (g - np.mean(g, over, keepdims=True)
                      - y * np.mean(g * y, over, keepdims=True))
        return dx, np.sum(g * y, over), np.sum(g, over)
    draw.op("batch_norm_grad", [grad, x, scale, mean, inverse], reference, epsilon=1e-3)


@ir_case
def conv_gradient(draw):
    n, c, m, size = 2, draw.integer(1, 3), draw.integer(1, 3), 5
    kernel, pad = draw.integer(1, 3), draw.integer(0, 1)
    out = size + 2 * pad - kernel + 1
    grad = draw.box((n, m, out, out), scale=scale_of(draw))
    x = draw.box((n, c, size, size), scale=3)
    # The sums of a constant filter are known.
    w = draw.choice([draw.box((m, c, kernel, kernel), scale=2), signed(draw, (m, c, kernel, kernel))])

    def reference(g, x, w):
        x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
        dx, dw = np.zeros_like(x), np.zeros_like(w)
        for i in range(kernel):
            for j in range(kernel):
                part = x[:, :, i:i + out, j:j + out]
                dw[:, :, i, j] = np.einsum("nmyx,ncyx->mc", g, part)
                dx[:, :, i:i + out, j:j + out] += np.einsum("nmyx,mc->ncyx", g, w[:, :, i, j])
        return dx[:, :, pad:pad + size, pad:pad + size], dw, np.sum(g, (0, 2, 3))
    draw.op("conv_grad", [grad, x, w], reference, strides=[1, 1], dilations=[1, 1],
            pads=[pad] * 4)


# -- steps -----------------------------------------------------------------------------


def _step(draw, states):
    shape = draw.shape()
    rate = draw.constant(draw.format.round(np.float32(draw.choice([1e-3, 0.1]))), exact=True)
    step = draw.constant(np.int64(draw.integer(0, 9)))
    parts = [rate, step, [draw.box(shape, scale=2)],
             [draw.box(shape, scale=draw.choice([1e-4, 1, 10]))],
             [draw.box(shape, *ends) for ends in states], None, None, None]
    operands = [value for part in parts for value in (part if isinstance(part, list) else [part])]
    return parts, operands


@ir_case
def optimizers(draw):
    parts, operands = _step(draw, [])
    draw.op("sgd", operands, lambda rate, step, w, g, *_: w - rate * g, segments=parts)

    parts, operands = _step(draw, [(-2, 2)])
    alpha, beta = draw.choice([0.9, 0.5]), draw.choice([1.0, 0.5])
    nesterov = bool(draw.integer(0, 1))

    def momentum(rate, step, w, g, v, *_):
        v = alpha * v + (beta if step > 0 else 1) * g
        return w - rate * (g + alpha * v if nesterov else v), v
    draw.op("momentum", operands, momentum, segments=parts, alpha=alpha, beta=beta,
            weight_decay=0.0, mode="nesterov" if nesterov else "standard")

    parts, operands = _step(draw, [(0, 3)])

    def adagrad(rate, step, w, g, h, *_):
        h = h + g * g
        return w - rate * g / (np.sqrt(h) + w.dtype.type(1e-6)), h
    draw.op("adagrad", operands, adagrad, segments=parts, epsilon=1e-6, decay_factor=0.0,
            weight_decay=0.0)

    parts, operands = _step(draw, [(-2, 2), (0, 2)])

    def adam(rate, step, w, g, m, v, *_):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return w - rate * m / (np.sqrt(v) + w.dtype.type(1e-6)), m, v
    draw.op("adam", operands, adam, segments=parts, alpha=0.9, beta=0.999, epsilon=1e-6,
            weight_decay=0.0, correct_bias=False, decoupled=False)

    parts, operands = _step(draw, [(-2, 2), (0, 2)])

    def lamb(rate, step, w, g, m, v, *_):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        update = m / (np.sqrt(v) + w.dtype.type(1e-6))
        length, norm = np.sqrt(np.sum(update * update)), np.sqrt(np.sum(w * w))
        ratio = norm / length if norm > 0 and length > 0 else 1
        return w - rate * np.clip(ratio, 0.1, 5) * update, m, v
    draw.op("lamb", operands, lamb, segments=parts, alpha=0.9, beta=0.999, epsilon=1e-6,
            weight_decay=0.0, correct_bias=False, ratio_min=0.1, ratio_max=5.0,
            max_norm=1e30)


@ir_case
def steps(draw):
    shape = draw.shape()
    a, b, scale = draw.box(shape), draw.box(shape), draw.box(())
    draw.op("accumulate", [a, b, draw.constant(np.bool_(True))], lambda a, b, _: a + b,
            overwrites=False)
    divide = bool(draw.integer(0, 1))
    draw.op("loss_scale", [a, scale], lambda a, s: a / s if divide else a * s, divide=divide)
    draw.op("all_finite", [a, b],
            lambda a, b: np.asarray(np.isfinite(a).all() and np.isfinite(b).all()))
    draw.op("global_norm", [a, b], lambda a, b: np.sqrt(np.sum(a * a) + np.sum(b * b)))
    draw.op("zero_gradient", [a, b], lambda a, b: np.zeros_like(a))
