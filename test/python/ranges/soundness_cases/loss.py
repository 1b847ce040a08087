"""Cases of test_soundness.py: losses and distances."""

import numpy as np
from soundness_family import Cases
from soundness_operands import reduction_of, softplus

CASES = Cases()
onnx_case, ir_case = CASES.onnx_case, CASES.ir_case


# -- of elements -----------------------------------------------------------------------


def _reduction(draw):
    return draw.choice(["none", "mean", "sum"])


@ir_case
def differences(draw):
    shape = draw.shape()
    x, t, reduction = draw.box(shape), draw.box(shape), _reduction(draw)
    end = reduction_of(reduction)
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


@ir_case
def probabilities(draw):
    shape = draw.shape()
    ends = sorted(draw.random.uniform(0, 1, 2).astype(np.float32).tolist())
    p = draw.box(shape, *draw.choice([(0, 1), ends, ends, (0, 1e-30), (1, 1)]))
    ends = sorted(draw.random.uniform(0, 1, 2).astype(np.float32).tolist())
    t = draw.box(shape, *draw.choice([(0, 1), ends, ends, (1, 1)]))
    x, reduction = draw.box(shape), _reduction(draw)
    end = reduction_of(reduction)
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
            return reduction_of(divergence)(np.exp(t) * (t - x))
        entropy = np.where(t == 0, 0, t * np.log(np.where(t == 0, 1, t)))
        return reduction_of(divergence)(entropy - t * x)
    draw.op("kl_div", [logs, target], kl, reduction=divergence, log_target=log_target)


def _signs(draw, shape):
    """1 or -1."""
    return draw.constant(draw.random.choice([-1.0, 1.0], shape))


@ir_case
def margins(draw):
    shape = draw.shape()
    x, y, t, reduction = draw.box(shape), draw.box(shape), _signs(draw, shape), _reduction(draw)
    end, margin = reduction_of(reduction), draw.choice([0.0, 1.0, 0.3])
    draw.op("soft_margin_loss", [x, t], lambda x, t: end(softplus(-t * x)), reduction=reduction)
    draw.op("hinge_embedding_loss", [x, t], lambda x, t: end(
        np.where(t == 1, x, np.maximum(0, margin - x))), reduction=reduction, margin=margin)
    draw.op("margin_ranking_loss", [x, y, t], lambda a, b, t: end(
        np.maximum(0, -t * (a - b) + margin)), reduction=reduction, margin=margin)


# -- of classes ------------------------------------------------------------------------


@onnx_case
def class_losses(draw):
    classes = draw.integer(2, 6)
    x = draw.box((4, classes))
    target = draw.box((4,), 0, classes - 1, dtype=np.int64)
    reduction = draw.choice(["none", "mean", "sum"])
    weights = [draw.constant(draw.random.uniform(0.1, 3, classes).astype(np.float32))]
    weights = weights if draw.integer(0, 1) else []
    draw.node("SoftmaxCrossEntropyLoss", x, target, *weights, outputs=2, reduction=reduction)
    draw.node("NegativeLogLikelihoodLoss", x, target, *weights, reduction=reduction)
    draw.node("SoftmaxCrossEntropyLoss", x, target, reduction="mean", ignore_index=0)


@ir_case
def classes(draw):
    n, c = draw.integer(1, 4), draw.integer(2, 6)
    x = draw.box((n, c))
    t, reduction = draw.constant(draw.random.integers(0, c, n)), _reduction(draw)
    end, p, margin = reduction_of(reduction), draw.choice([1.0, 2.0]), draw.choice([1.0, 0.5])
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


@ir_case
def alignment(draw):
    """CTC, by the forward recursion over the blank-extended targets."""
    steps, n, c, length = draw.integer(4, 6), 2, 4, 2
    x = draw.box((steps, n, c), *sorted(-draw.random.uniform(0, 9, 2)))
    targets = draw.random.integers(1, c, (n, length))
    reduction = draw.choice(["none", "sum", "mean"])

    def reference(logs, targets, *_):
        losses = []
        for row in range(n):
            labels = [0]
            for label in targets[row]:
                labels += [int(label), 0]
            a = np.full(len(labels), -np.inf, logs.dtype)
            a[:2] = logs[0, row, labels[:2]]
            for t in range(1, steps):
                b = a.copy()
                b[1:] = np.logaddexp(b[1:], a[:-1])
                for s in range(2, len(labels)):
                    if labels[s] and labels[s] != labels[s - 2]:
                        b[s] = np.logaddexp(b[s], a[s - 2])
                a = b + logs[t, row, labels]
            losses.append(-np.logaddexp(a[-1], a[-2]))
        losses = np.stack(losses)
        return reduction_of(reduction)(losses / length if reduction == "mean" else losses)
    draw.op("ctc_loss", [x, draw.constant(targets), draw.constant(np.full(n, steps)),
                         draw.constant(np.full(n, length))], reference, reduction=reduction)


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


@ir_case
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
    end = reduction_of(reduction)
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


@onnx_case
def large_distances(draw):
    rows = draw.box((3, 4), -1e20, 1e20)
    for metric in ("sqeuclidean", "euclidean"):
        draw.node("CDist", rows, rows, metric=metric, domain="com.microsoft")
