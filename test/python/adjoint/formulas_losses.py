"""Losses, distances and samples, of formulas.py."""

import math

import numpy as np
from formulas import fit, fixed, formula, sigmoid

# -- losses of two tensors -------------------------------------------------------------


def share(a, g, shape):
    """The loss's gradient for each element."""
    how, count = a.get("reduction", "mean"), math.prod(shape)
    return np.broadcast_to(g / {"mean": count, "batchmean": shape[0] if shape else 1}.get(how, 1), shape)


def pairwise(slopes):
    """A loss of broadcast operands, from the slopes of each of them (None: no formula)."""
    def run(a, g, *operands):
        present = [part for part in operands if part is not None]
        shape = np.broadcast_shapes(*(part.shape for part in present))
        made = slopes(a, *operands)
        made = made if isinstance(made, tuple) else (made,)
        return tuple(None if slope is None else fit(share(a, g, shape) * slope, part.shape)
                     for slope, part in zip(made, operands))
    run.__name__ = slopes.__name__
    return formula(run)


@pairwise
def mse_loss_grad(a, x, t):
    return 2 * (x - t), 2 * (t - x)


@pairwise
def l1_loss_grad(a, x, t):
    return np.sign(x - t), np.sign(t - x)


@pairwise
def smooth_l1_loss_grad(a, x, t):
    slope = np.clip((x - t) / a.get("beta", 1.0), -1, 1)
    return slope, -slope


@pairwise
def huber_loss_grad(a, x, t):
    delta = a.get("delta", 1.0)
    slope = np.clip(x - t, -delta, delta)
    return slope, -slope


@pairwise
def kl_div_grad(a, x, t):
    if a.get("log_target"):
        return -np.exp(t), np.exp(t) * (t - x + 1)
    return -t, np.log(t) + 1 - x


@pairwise
def poisson_nll_loss_grad(a, x, t):
    epsilon = a.get("epsilon", 1e-8)
    return np.exp(x) - t if a.get("log_input", True) else 1 - t / (x + epsilon), None


@pairwise
def soft_margin_loss_grad(a, x, t):
    return -t * sigmoid(-t * x), -x * sigmoid(-t * x)


@pairwise
def hinge_embedding_loss_grad(a, x, t):
    return np.where(t == 1, 1, np.where(x < a.get("margin", 1.0), -1, 0)), None


@pairwise
def binary_cross_entropy_grad(a, x, t, weight=None):
    weight = 1 if weight is None else weight
    return weight * (x - t) / np.maximum(x * (1 - x), 1e-12), weight * (np.log1p(-x) - np.log(x))


@pairwise
def binary_cross_entropy_with_logits_grad(a, x, t, weight=None, positives=None):
    weight, p = 1 if weight is None else weight, 1 if positives is None else positives
    return weight * (sigmoid(x) * (1 + (p - 1) * t) - p * t), None


@pairwise
def gaussian_nll_loss_grad(a, x, t, variance):
    v = np.maximum(variance, a.get("epsilon", 1e-6))
    slope = (x - t) / v
    return slope, -slope, (1 - (x - t) ** 2 / v) / (2 * v)


@pairwise
def margin_ranking_loss_grad(a, x, y, t):
    active = -t * (x - y) + a.get("margin", 0.0) > 0
    return np.where(active, -t, 0), np.where(active, t, 0)

# -- losses over classes ---------------------------------------------------------------


def by_class(x, t):
    """Scores as [N, C], targets as [N], and the way back."""
    if x.ndim == 1:
        return x[None], t.reshape(1), lambda made: made[0]
    moved = np.moveaxis(x, 1, -1)
    rows = moved.reshape(-1, x.shape[1])

    def back(made):
        return np.moveaxis(made.reshape(moved.shape), -1, 1)
    return rows, t.reshape(-1), back


def class_share(a, g, t, weight):
    """The loss's gradient for each row, with its weight."""
    ignored = t == a.get("ignore_index", -100)
    w = np.where(ignored, 0, weight[np.where(ignored, 0, t)])
    if a.get("reduction", "mean") == "none":
        return g.reshape(-1) * w
    return g * w / (w.sum() if a.get("reduction", "mean") == "mean" else 1)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@fixed
def softmax_cross_entropy_grad(a, g, log, t, weight=None, ignore=None, bias=None):
    rows, targets, back = by_class(log, t)
    weight = np.ones(rows.shape[1]) if weight is None else weight
    dl = class_share(a, np.float64(1) if g is None else g, targets, weight)
    return back(dl[:, None] * (np.exp(rows) - np.eye(rows.shape[1])[np.maximum(targets, 0) % rows.shape[1]]))


@formula
def cross_entropy_grad(a, g, x, t, weight=None):
    classes = x.shape[0] if x.ndim == 1 else x.shape[1]
    weight = np.ones(classes) if weight is None else weight
    smoothing = a.get("label_smoothing", 0.0)
    if t.dtype.kind == "f":
        moved = np.moveaxis(x, 1, -1) if x.ndim > 1 else x
        target = (np.moveaxis(t, 1, -1) if x.ndim > 1 else t) * (1 - smoothing) + smoothing / classes
        q = target * weight
        how = a.get("reduction", "mean")
        count = math.prod(moved.shape[:-1])
        dl = g[..., None] if how == "none" else g / (count if how == "mean" else 1)
        made = dl * (softmax(moved) * q.sum(-1, keepdims=True) - q)
        return (np.moveaxis(made, -1, 1) if x.ndim > 1 else made), None
    rows, targets, back = by_class(x, t)
    ignored = targets == a.get("ignore_index", -100)
    hot = np.eye(classes)[np.where(ignored, 0, targets)] * ~ignored[:, None]
    own = (hot @ weight)[:, None]
    q = (1 - smoothing) * hot * own + smoothing / classes * weight * ~ignored[:, None]
    how = a.get("reduction", "mean")
    dl = g.reshape(-1, 1) if how == "none" else g / (own.sum() if how == "mean" else 1)
    return back(dl * (softmax(rows) * q.sum(-1, keepdims=True) - q)), None


@formula
def nll_loss_grad(a, g, x, t, weight=None):
    rows, targets, back = by_class(x, t)
    weight = np.ones(rows.shape[1]) if weight is None else weight
    dl = class_share(a, g, targets, weight)
    return back(-dl[:, None] * np.eye(rows.shape[1])[np.maximum(targets, 0) % rows.shape[1]]), None


@formula
def multi_margin_loss_grad(a, g, x, t, weight=None):
    rows, targets = np.atleast_2d(x), t.reshape(-1)
    n, c = rows.shape
    p, dl = a.get("p", 1.0), share({**a}, g, (n,)).reshape(n, 1)
    own = rows[np.arange(n), targets][:, None]
    w = np.ones((n, 1)) if weight is None else weight[targets][:, None]
    margin = a.get("margin", 1.0) - own + rows
    slope = np.where(margin > 0, p * w * np.maximum(margin, 0) ** (p - 1) / c, 0) * dl
    slope[np.arange(n), targets] = 0
    slope[np.arange(n), targets] = -slope.sum(1)
    return slope.reshape(x.shape), None


@formula
def multilabel_margin_loss_grad(a, g, x, t):
    rows, targets = np.atleast_2d(x), np.atleast_2d(t)
    n, c = rows.shape
    dl = share(a, g, (n,)) if x.ndim > 1 else np.reshape(g, (1,))
    made = np.zeros_like(rows)
    for i in range(n):
        chosen = list(targets[i][:list(targets[i]).index(-1)] if -1 in targets[i] else targets[i])
        for j in chosen:
            for k in range(c):
                if k not in chosen and 1 - rows[i, j] + rows[i, k] > 0:
                    made[i, k] += dl[i] / c
                    made[i, j] -= dl[i] / c
    return made.reshape(x.shape), None

# -- distances -------------------------------------------------------------------------


def cosine_slopes(x, y, axis, epsilon):
    """The cosine, and its slopes by both."""
    def length(v):
        return np.maximum(np.sqrt(np.sum(v * v, axis, keepdims=True)), epsilon)
    cosine = np.sum(x * y, axis, keepdims=True) / (length(x) * length(y))
    return (cosine, (y / length(y) - cosine * x / length(x)) / length(x),
            (x / length(x) - cosine * y / length(y)) / length(y))


@formula
def cosine_similarity_grad(a, g, x, y):
    axis = a.get("axis", 1)
    _, by_x, by_y = cosine_slopes(x, y, axis, a.get("epsilon", 1e-8))
    g = np.expand_dims(g, axis)
    return fit(g * by_x, x.shape), fit(g * by_y, y.shape)


@formula
def cosine_embedding_loss_grad(a, g, x, y, t):
    cosine, by_x, by_y = cosine_slopes(x, y, -1, 1e-8)
    dl = share(a, g, t.shape)[..., None]
    t = t[..., None]
    slope = dl * np.where(t == 1, -1, np.where(cosine > a.get("margin", 0.0), 1, 0))
    return slope * by_x, slope * by_y, None


def direction(d, p, keep=True):
    """The p-norm along the last axis, and its slope."""
    norm = np.sum(np.abs(d) ** p, -1, keepdims=True) ** (1 / p)
    safe = np.where(norm == 0, 1, norm)
    return norm, np.where(norm == 0, 0, np.sign(d) * np.abs(d) ** (p - 1) * safe ** (1 - p))


@formula
def triplet_margin_loss_grad(a, g, anchor, positive, negative):
    p, epsilon = a.get("p", 2.0), a.get("epsilon", 1e-6)
    near, to_positive = direction(anchor - positive + epsilon, p)
    far, to_negative = direction(anchor - negative + epsilon, p)
    across, between = direction(positive - negative + epsilon, p)
    swapped = bool(a.get("swap")) & (across < far)
    far = np.where(swapped, across, far)
    dl = share(a, g, near.shape[:-1])[..., None] * (near - far + a.get("margin", 1.0) > 0)
    other = np.where(swapped, 0, to_negative)
    between = np.where(swapped, between, 0)
    return dl * (to_positive - other), dl * (-to_positive - between), dl * (other + between)


@formula
def dist_grad(a, g, x, y):
    _, slope = direction((x - y).reshape(-1), a.get("p", 2.0))
    made = g * slope.reshape(np.broadcast_shapes(x.shape, y.shape))
    return fit(made, x.shape), fit(-made, y.shape)


@formula
def cdist_grad(a, g, x, y):
    d = x[..., :, None, :] - y[..., None, :, :]
    slope = 2 * d if a.get("squared") else direction(d, a.get("p", 2.0))[1]
    made = g[..., None] * slope
    return fit(made.sum(-2), x.shape), fit(-made.sum(-3), y.shape)


@formula
def pdist_grad(a, g, x):
    first, second = np.triu_indices(len(x), 1)
    slope = g[:, None] * direction(x[first] - x[second], a.get("p", 2.0))[1]
    made = np.zeros_like(x)
    np.add.at(made, first, slope)
    np.add.at(made, second, -slope)
    return made


@formula
def renorm_grad(a, g, x):
    p, axis, most = a["p"], a["axis"], a["max_norm"]
    rows = np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    grads = np.moveaxis(g, axis, 0).reshape(rows.shape)
    norm, slope = direction(rows, p)
    inner = np.sum(grads * rows, 1, keepdims=True)
    # PyTorch divides by the norm plus 1e-7.
    whole = norm + 1e-7
    scaled = most / whole * grads - most * inner / whole ** 2 * slope
    made = np.where(norm > most, scaled, grads)
    return np.moveaxis(made.reshape(np.moveaxis(x, axis, 0).shape), 0, axis)

# -- sequences of labels, samples ------------------------------------------------------


def ctc_posterior(log, labels, blank):
    """The probability of the labels, and that of each class at each step given them, of
    log-probabilities [T, C]: forward and backward variables over labels with blanks
    between."""
    path = np.full(2 * len(labels) + 1, blank)
    path[1::2] = labels
    p, size = np.exp(log), len(path)
    skips = [s > 1 and path[s] != blank and path[s] != path[s - 2] for s in range(size)]

    def pass_over(steps, places, ends):
        made = np.zeros((len(log), size))
        for number, t in enumerate(steps):
            for s in places:
                back = 1 if places[0] == 0 else -1
                value = (s in ends) * 1.0 if number == 0 else made[steps[number - 1]][s]
                if number and 0 <= s - back < size:
                    value += made[steps[number - 1]][s - back]
                jump = s if back == 1 else s + 2
                if number and 0 <= s - 2 * back < size and skips[jump]:
                    value += made[steps[number - 1]][s - 2 * back]
                made[t][s] = value * p[t, path[s]]
        return made
    every = list(range(len(log)))
    alpha = pass_over(every, range(size), (0, 1))
    beta = pass_over(every[::-1], range(size)[::-1], (size - 1, size - 2))
    both = alpha * beta / p[:, path]
    total = both[0].sum()
    posterior = np.zeros_like(p)
    for s in range(size):
        posterior[:, path[s]] += both[:, s] / total
    return total, posterior


@formula
def ctc_loss_grad(a, g, x, targets, lengths, sizes):
    rows = x[:, None] if x.ndim == 2 else x
    batch, how = rows.shape[1], a.get("reduction", "mean")
    labels = targets.reshape(batch, -1)
    made = np.zeros_like(rows)
    for n in range(batch):
        t, u = int(lengths.reshape(-1)[n]), int(sizes.reshape(-1)[n])
        _, posterior = ctc_posterior(rows[:t, n], labels[n, :u], a.get("blank", 0))
        dl = g.reshape(-1)[n] if how == "none" else g / (batch * max(u, 1) if how == "mean" else 1)
        made[:t, n] = dl * (np.exp(rows[:t, n]) - posterior)
    return made.reshape(x.shape), None, None, None


@formula
def grid_sample_grad(a, g, x, grid):
    """Bilinear, of images."""
    if a.get("mode", "linear") != "linear" or x.ndim != 4:
        return None, None
    height, width = x.shape[2:]
    dx, dgrid = np.zeros_like(x), np.zeros_like(grid)
    corners, border = bool(a.get("align_corners")), a.get("padding_mode", "zeros") == "border"

    def place(value, size):
        """In elements, and how fast that moves with the grid."""
        scale = (size - 1) / 2 if corners else size / 2
        at = (value + 1) * scale - (0 if corners else 0.5)
        if border and not 0 < at < size - 1:
            return min(max(at, 0), size - 1), 0.0
        return at, scale
    for n, i, j in np.ndindex(*grid.shape[:3]):
        (column, by_column), (row, by_row) = place(grid[n, i, j, 0], width), place(grid[n, i, j, 1], height)
        for y in (math.floor(row), math.floor(row) + 1):
            for z in (math.floor(column), math.floor(column) + 1):
                if not (0 <= y < height and 0 <= z < width):
                    continue
                down, across = 1 - abs(row - y), 1 - abs(column - z)
                dx[n, :, y, z] += g[n, :, i, j] * down * across
                value = (g[n, :, i, j] * x[n, :, y, z]).sum()
                dgrid[n, i, j, 0] += value * down * by_column * (1 if z > column else -1)
                dgrid[n, i, j, 1] += value * across * by_row * (1 if y > row else -1)
    return dx, dgrid
