"""Cases of test_soundness.py that are written as mp IR: elementwise functions,
reductions, losses and distances of PyTorch, with their references."""

import math

import numpy as np

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# -- elementwise, one operand ------------------------------------------------------------

erf = np.vectorize(math.erf, otypes=[np.float64])


def in_kind(function):
    """A function of Python floats, in the arrays' dtype."""
    return lambda x: function(x).astype(x.dtype)


def erfinv(x):
    """Newton's method from Giles' approximation's leading term."""
    x = x.astype(np.float64)
    w = -np.log((1 - x) * (1 + x))
    a = 2 / (np.pi * 0.147) - w / 2
    y = np.sign(x) * np.sqrt(np.sqrt(a * a + w / 0.147) - a)
    for _ in range(3):
        y = y - (erf(y) - x) * np.sqrt(np.pi) / 2 * np.exp(y * y)
    return np.where(np.abs(x) == 1, np.sign(x) * np.inf, np.where(np.abs(x) > 1, np.nan, y))


def log_ndtr(x):
    """Far below zero by the continued fraction of Mills' ratio."""
    if x > 0:
        return math.log1p(-math.erfc(x / math.sqrt(2)) / 2)
    if x > -25:
        return math.log(math.erfc(-x / math.sqrt(2)) / 2)
    if math.isinf(x):
        return x
    fraction = -x
    for k in range(20, 0, -1):
        fraction = -x + k / fraction
    return -x * x / 2 - math.log(fraction * math.sqrt(2 * math.pi))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


UNARY = {  # by name
    "log_sigmoid": lambda x: -softplus(-x), "relu6": lambda x: np.clip(x, 0, 6),
    "tanh_shrink": lambda x: x - np.tanh(x), "erfc": in_kind(np.vectorize(
        math.erfc, otypes=[np.float64])),
    "exp2": np.exp2, "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x), "square": lambda x: x * x, "trunc": np.trunc,
    "log_ndtr": in_kind(np.vectorize(log_ndtr, otypes=[np.float64])),
    "is_finite": np.isfinite, "is_nan": np.isnan,
}


def _unary(op, reference):
    def build(draw):
        for _ in range(2):
            draw.op(op, [draw.box(draw.shape())], reference)
    return build


for _op, _reference in UNARY.items():
    CASES[_op] = _unary(_op, _reference)


@case
def inverse_erf(draw):
    lo, hi = sorted(draw.random.uniform(-1, 1, 2).astype(np.float32).tolist())
    lo, hi = draw.choice([(lo, hi), (-1.0, hi), (lo, 1.0), (lo, lo), (-1e-30, hi + 2)])
    draw.op("erfinv", [draw.box(draw.shape(), *sorted((lo, hi)))], in_kind(erfinv))


@case
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


@case
def softmin(draw):
    x = draw.op("square", [draw.box(draw.shape(), scale=draw.choice([1, 10, 1e3]))],
                lambda x: x * x)
    rank = len(draw.boxes[list(draw.boxes)[-1]][2])
    axis = draw.integer(-rank, rank - 1)

    def reference(x):
        z = np.min(x, axis, keepdims=True) - x
        return np.exp(z) / np.sum(np.exp(z), axis, keepdims=True)
    draw.op("softmin", [x], reference, axis=axis)


# -- elementwise, several operands -----------------------------------------------------------

def _pair(draw, **options):
    shape = draw.shape()
    other = draw.choice([shape, shape[-1:], (1,)])
    return (draw.box(shape, **options),
            draw.weights(other) if draw.integer(0, 1) else draw.box(other, **options))


@case
def two_operands(draw):
    x, y = _pair(draw)
    draw.op("atan2", [x, y], np.arctan2)
    draw.op("floor_div", [x, y], lambda x, y: np.floor(x / y))
    draw.op("not_equal", [x, y], np.not_equal)


@case
def bits(draw):
    x, y = (draw.box((3, 4), 0 if draw.integer(0, 1) else -draw.integer(1, 90),
                     draw.integer(1, 100), dtype=np.int32) for _ in range(2))
    draw.op("bitwise_and", [x, y], np.bitwise_and)
    draw.op("bitwise_or", [x, y], np.bitwise_or)
    draw.op("bitwise_xor", [x, y], np.bitwise_xor)
    draw.op("bitwise_not", [x], np.bitwise_not)
    by = draw.box((4,), 0, draw.integer(1, 8), dtype=np.int32)
    draw.op("shift_left", [x, by], np.left_shift)
    draw.op("shift_right", [x, by], np.right_shift)
    p = draw.op("not_equal", [x, draw.constant(np.int32([draw.integer(-90, 90)]))], np.not_equal)
    q = draw.op("not_equal", [y, draw.constant(np.int32([draw.integer(-90, 90)]))], np.not_equal)
    draw.op("logical_and", [p, q], np.logical_and)
    draw.op("logical_or", [p, q], np.logical_or)
    draw.op("logical_xor", [p, q], np.logical_xor)


@case
def fused(draw):
    x, a = _pair(draw)
    b = draw.box((1,))
    factor = draw.choice([1.0, -0.5, 3.0, 1e-3])
    draw.op("addcmul", [x, a, b], lambda x, a, b: x + factor * a * b, value=factor)
    draw.op("addcdiv", [x, a, b], lambda x, a, b: x + factor * a / b, value=factor)
    weight = draw.box((1,), *draw.choice([(0, 1), (-0.5, 2.0), (0.5, 0.5)]))
    draw.op("lerp", [x, a, weight],
            lambda a, b, w: np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)))
    draw.op("masked_fill", [x, draw.box((1,), 0, 1, dtype=bool), b],
            lambda x, mask, value: np.where(mask, value, x))


# -- reductions ------------------------------------------------------------------------

def _axes(draw, rank):
    return draw.choice([tuple(range(rank)), (rank - 1,), (0,)])


@case
def reductions(draw):
    shape = draw.shape()
    x = draw.op("trunc", [draw.box(shape)], np.trunc) if draw.integer(0, 1) else draw.box(shape)
    axes, keep = _axes(draw, len(shape)), bool(draw.integer(0, 1))
    options = {"axes": list(axes), "keep_dims": keep}
    size = int(np.prod([shape[axis] for axis in axes]))
    correction = draw.choice([0.0, 1.0]) if size > 1 else 0.0

    def variance(x):
        centred = x - np.mean(x, axes, keepdims=True)
        return np.sum(centred * centred, axes, keepdims=keep) / (size - correction)
    draw.op("variance", [x], variance, correction=correction, **options)
    draw.op("std", [x], lambda x: np.sqrt(variance(x)), correction=correction, **options)
    draw.op("count_nonzero", [x], lambda x: np.asarray(
        np.count_nonzero(x, axes, keepdims=keep), np.int64), **options)
    draw.op("reduce_all", [x], lambda x: np.all(x != 0, axes, keepdims=keep), **options)
    draw.op("reduce_any", [x], lambda x: np.any(x != 0, axes, keepdims=keep), **options)


@case
def norms(draw):
    shape = draw.shape()
    x = draw.box(shape)
    axes, keep = _axes(draw, len(shape)), bool(draw.integer(0, 1))
    order = draw.choice([1.0, 2.0, 3.0, 0.5, np.inf, -np.inf, 0.0])

    def reference(x):
        x = np.abs(x)
        if np.isinf(order):
            return (np.max if order > 0 else np.min)(x, axes, keepdims=keep)
        if order == 0:
            return np.sum(x != 0, axes, keepdims=keep).astype(x.dtype)
        return np.sum(x ** order, axes, keepdims=keep) ** (1 / order)
    draw.op("norm", [x], reference, axes=list(axes), keep_dims=keep, ord=order)


@case
def running(draw):
    shape = draw.shape()
    axis = draw.integer(0, len(shape) - 1)
    draw.op("cum_prod", [draw.box(shape, scale=draw.choice([0.5, 1, 3, 100])), None],
            lambda x, _: np.cumprod(x, axis), axis=axis)


@case
def orders(draw):
    shape = draw.shape()
    x, axis = draw.box(shape), draw.integer(0, len(shape) - 1)
    draw.op("sort", [x], lambda x: (np.sort(x, axis), np.argsort(x, axis)), axis=axis)

    def median(x):
        at = np.take(np.argsort(x, axis), (shape[axis] - 1) // 2, axis)
        values = np.take_along_axis(x, np.expand_dims(at, axis), axis)
        # NaN comes out if there is one.
        return np.where(np.isnan(x).any(axis), np.nan, values.squeeze(axis)), at
    draw.op("median", [x], median, axis=axis, keep_dims=False)


# -- losses ----------------------------------------------------------------------------

def _reduce(reduction):
    return {"none": lambda x: x, "mean": np.mean, "sum": np.sum,
            "batchmean": lambda x: np.sum(x) / len(x)}[reduction]


def _reduction(draw):
    return draw.choice(["none", "mean", "sum"])


@case
def differences(draw):
    shape = draw.shape()
    x, t, reduction = draw.box(shape), draw.box(shape), _reduction(draw)
    end = _reduce(reduction)
    beta = draw.choice([0.5, 1.0, 2.0])
    draw.op("mse_loss", [x, t], lambda x, t: end((x - t) ** 2), reduction=reduction)
    draw.op("l1_loss", [x, t], lambda x, t: end(np.abs(x - t)), reduction=reduction)

    def smooth(x, t):
        d = np.abs(x - t)
        return end(np.where(d < beta, d * d / (2 * beta), d - beta / 2))
    draw.op("smooth_l1_loss", [x, t], smooth, reduction=reduction, beta=beta)

    def huber(x, t):
        d = np.abs(x - t)
        return end(np.where(d <= beta, d * d / 2, beta * (d - beta / 2)))
    draw.op("huber_loss", [x, t], huber, reduction=reduction, delta=beta)
    variance = draw.box(shape, 0, draw.choice([1e-8, 0.5, 10]))
    epsilon = draw.choice([1e-6, 1e-3])
    draw.op("gaussian_nll_loss", [x, t, variance], lambda x, t, v: end(
        (np.log(np.maximum(v, epsilon)) + (x - t) ** 2 / np.maximum(v, epsilon)) / 2),
        reduction=reduction, epsilon=epsilon, full=False)


@case
def probabilities(draw):
    shape = draw.shape()
    ends = sorted(draw.random.uniform(0, 1, 2).astype(np.float32).tolist())
    p = draw.box(shape, *draw.choice([(0, 1), ends, ends, (0, 1e-30), (1, 1)]))
    ends = sorted(draw.random.uniform(0, 1, 2).astype(np.float32).tolist())
    t = draw.box(shape, *draw.choice([(0, 1), ends, ends, (1, 1)]))
    x, reduction = draw.box(shape), _reduction(draw)
    end = _reduce(reduction)
    draw.op("binary_cross_entropy", [p, t], lambda p, t: end(-(
        t * np.maximum(np.log(p), -100) + (1 - t) * np.maximum(np.log1p(-p), -100))),
        reduction=reduction)
    weight, positive = draw.box(shape, 0, 3), draw.box(shape[-1:], 0.5, 4)
    draw.op("binary_cross_entropy_with_logits", [x, t, weight, positive],
            lambda x, t, w, p: end(w * ((1 - t) * x + (1 + (p - 1) * t) * softplus(-x))),
            segments=[x, t, weight, positive], reduction=reduction)
    log_input = bool(draw.integer(0, 1))
    count = draw.box(shape, 0, draw.integer(1, 20))
    rate = x if log_input else draw.box(shape, 0, draw.integer(1, 50))
    draw.op("poisson_nll_loss", [rate, count], lambda x, t: end(
        np.exp(x) - t * x if log_input else x - t * np.log(x + x.dtype.type(1e-8))),
        reduction=reduction, log_input=log_input, full=False, epsilon=1e-8)
    log_target = bool(draw.integer(0, 1))
    target = draw.box(shape, -draw.integer(1, 30), 0) if log_target else t
    logs = draw.box(shape, -draw.integer(1, 90), 0)
    divergence = draw.choice(["none", "mean", "sum", "batchmean"])

    def kl(x, t):
        if log_target:
            return _reduce(divergence)(np.exp(t) * (t - x))
        return _reduce(divergence)(np.where(t == 0, 0, t * np.log(np.where(t == 0, 1, t))) - t * x)
    draw.op("kl_div", [logs, target], kl, reduction=divergence, log_target=log_target)


def _signs(draw, shape):
    """1 or -1."""
    return draw.constant(draw.random.choice([-1.0, 1.0], shape))


@case
def margins(draw):
    shape = draw.shape()
    x, y, t, reduction = draw.box(shape), draw.box(shape), _signs(draw, shape), _reduction(draw)
    end, margin = _reduce(reduction), draw.choice([0.0, 1.0, 0.3])
    draw.op("soft_margin_loss", [x, t], lambda x, t: end(softplus(-t * x)), reduction=reduction)
    draw.op("hinge_embedding_loss", [x, t], lambda x, t: end(
        np.where(t == 1, x, np.maximum(0, margin - x))), reduction=reduction, margin=margin)
    draw.op("margin_ranking_loss", [x, y, t], lambda a, b, t: end(
        np.maximum(0, -t * (a - b) + margin)), reduction=reduction, margin=margin)


@case
def classes(draw):
    n, c = draw.integer(1, 4), draw.integer(2, 6)
    x = draw.box((n, c))
    t, reduction = draw.constant(draw.random.integers(0, c, n)), _reduction(draw)
    end, p, margin = _reduce(reduction), draw.choice([1.0, 2.0]), draw.choice([1.0, 0.5])
    smoothing = draw.choice([0.0, 0.1])

    def multi_margin(x, t, _):
        of = np.take_along_axis(x, t[:, None], 1)
        each = np.maximum(0, margin - of + x) ** p
        np.put_along_axis(each, t[:, None], 0, 1)
        return end(np.sum(each, 1) / c)
    draw.op("multi_margin_loss", [x, t, None], multi_margin, reduction=reduction, p=p,
            margin=margin)

    def cross_entropy(x, t, w):
        z = x - np.max(x, 1, keepdims=True)
        logs = z - np.log(np.sum(np.exp(z), 1, keepdims=True))
        rows = np.arange(n)
        each = -w[t] * logs[rows, t]
        if smoothing:
            each = (1 - smoothing) * each - smoothing / c * np.sum(w * logs, 1)
        return np.sum(each) / np.sum(w[t]) if reduction == "mean" else end(each)
    weight = draw.constant(draw.random.uniform(0.1, 3, c))
    draw.op("cross_entropy", [x, t, weight], cross_entropy, reduction=reduction,
            label_smoothing=smoothing)

    def multilabel(x, t):
        total = np.zeros(n, x.dtype)
        for row in range(n):
            ends = np.where(t[row] < 0)[0]
            of = t[row][:ends[0]] if ends.size else t[row]
            for j in of:
                for i in set(range(c)) - set(of.tolist()):
                    total[row] += np.maximum(0, 1 - x[row, j] + x[row, i])
        return end(total / c)
    several = np.full((n, c), -1)
    for row in range(n):
        chosen = draw.random.permutation(c)[:draw.integer(0, c)]
        several[row, :len(chosen)] = chosen
    draw.op("multilabel_margin_loss", [x, draw.constant(several)], multilabel,
            reduction=reduction)


# -- distances -------------------------------------------------------------------------

def _length(x, p, axis=-1):
    x = np.abs(x)
    if np.isinf(p):
        return np.max(x, axis)
    if p == 2:
        return np.sqrt(np.sum(x * x, axis))
    return np.sum(x ** p, axis) ** (1 / p)


def _cosine(a, b, epsilon):
    return np.sum(a * b, -1) / (np.maximum(_length(a, 2), epsilon)
                                * np.maximum(_length(b, 2), epsilon))


@case
def distances(draw):
    shape = draw.choice([(3, 4), (2, 1), (4, 16)])
    a, b = draw.box(shape), draw.box(shape)
    p = draw.choice([1.0, 2.0, 3.0, np.inf])
    draw.op("cosine_similarity", [a, b], lambda a, b: _cosine(a, b, 1e-8), axis=-1, epsilon=1e-8)
    draw.op("dist", [a, b], lambda a, b: _length((a - b).ravel(), p), p=p)
    draw.op("cdist", [a, b], lambda a, b: _length(a[:, None] - b[None], p), p=p)
    pairs = [(i, j) for i in range(shape[0]) for j in range(i + 1, shape[0])]
    draw.op("pdist", [a], lambda a: np.stack([_length(a[i] - a[j], p) for i, j in pairs]), p=p)
    most = draw.choice([0.5, 5.0])

    def renorm(x):
        norms = _length(x, p)
        return x * np.where(norms > most, most / (norms + x.dtype.type(1e-7)), 1)[:, None]
    draw.op("renorm", [a], renorm, p=p, axis=0, max_norm=most)
    reduction, margin = _reduction(draw), draw.choice([0.0, 0.5, 1.0])
    end = _reduce(reduction)
    draw.op("cosine_embedding_loss", [a, b, _signs(draw, shape[:1])], lambda a, b, t: end(
        np.where(t == 1, 1 - _cosine(a, b, 1e-12), np.maximum(0, _cosine(a, b, 1e-12) - margin))),
        reduction=reduction, margin=margin)
    swap, q = bool(draw.integer(0, 1)), draw.choice([1.0, 2.0])

    def triplet(a, p, n):
        far = _length(a - n + x_epsilon, q)
        if swap:
            far = np.minimum(far, _length(p - n + x_epsilon, q))
        return end(np.maximum(0, _length(a - p + x_epsilon, q) - far + margin))
    x_epsilon = 1e-6
    draw.op("triplet_margin_loss", [a, b, draw.box(shape)], triplet, reduction=reduction,
            margin=margin, p=q, swap=swap)
