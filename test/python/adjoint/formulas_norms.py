"""Normalisations and pools, of formulas.py."""

import math

import numpy as np
from formulas import fit, fixed, formula, window

# -- normalisations --------------------------------------------------------------------


def normalised(g, x, axes, inverse, mean=0.0, centred=True):
    """The gradient of x, and x normalised."""
    n = (x - mean) * inverse
    less = np.mean(g, axes, keepdims=True) if centred else 0
    return inverse * (g - less - n * np.mean(g * n, axes, keepdims=True)), n


@fixed
def layer_norm_grad(a, g, x, scale, mean=None, inverse=None, bias=None):
    axes = tuple(range(a["axis"] % x.ndim, x.ndim))
    if mean is None:
        mean = x.mean(axes, keepdims=True)
        inverse = 1 / np.sqrt(x.var(axes, keepdims=True) + a["epsilon"])
    dx, n = normalised(g * scale, x, axes, inverse, mean)
    return dx, fit(g * n, scale.shape), fit(g, scale.shape)


@fixed
def rms_norm_grad(a, g, x, scale, inverse=None):
    axes = tuple(range(a["axis"] % x.ndim, x.ndim))
    if inverse is None:
        inverse = 1 / np.sqrt(np.mean(x * x, axes, keepdims=True) + a["epsilon"])
    dx, n = normalised(g * scale, x, axes, inverse, centred=False)
    return dx, fit(g * n, scale.shape)


@fixed
def batch_norm_grad(a, g, x, scale, mean, inverse):
    axes = (0, *range(2, x.ndim))
    scale, mean, inverse = (v.reshape(1, -1, *[1] * (x.ndim - 2)) for v in (scale, mean, inverse))
    dx, n = normalised(g * scale, x, axes, inverse, mean)
    if a.get("frozen"):
        dx = g * scale * inverse
    return dx, np.sum(g * n, axes), np.sum(g, axes)


@formula
def group_norm_grad(a, g, x, scale=None, bias=None):
    if a.get("channels_last"):
        dx, ds, db = group_norm_grad({**a, "channels_last": False}, np.moveaxis(g, -1, 1), np.moveaxis(x, -1, 1),
                                     scale, bias)
        return np.moveaxis(dx, 1, -1), ds, db
    groups, channels = a["num_groups"], x.shape[1]
    size = channels if scale is None else len(scale)
    full = np.ones(channels) if scale is None else np.repeat(scale, channels // size)
    parts = x.reshape(x.shape[0], groups, -1)
    mean = parts.mean(2, keepdims=True)
    inverse = 1 / np.sqrt(parts.var(2, keepdims=True) + a.get("epsilon", 1e-5))
    scaled = g * full.reshape(1, -1, *[1] * (x.ndim - 2))
    dx, n = normalised(scaled.reshape(parts.shape), parts, (2,), inverse, mean)

    def by_channel(value):
        return value.reshape(x.shape[0], channels, -1).sum((0, 2)).reshape(size, -1).sum(1)
    return dx.reshape(x.shape), by_channel(g * n.reshape(x.shape)), by_channel(g)


@formula
def instance_norm_grad(a, g, x, scale=None, bias=None):
    return group_norm_grad({**a, "num_groups": x.shape[1]}, g, x, scale, bias)


@formula
def lrn_grad(a, g, x):
    size, alpha, beta = a["size"], a.get("alpha", 1e-4), a.get("beta", 0.75)
    before, after = (size - 1) // 2, size // 2

    def near(values, first, last):
        made = np.zeros_like(values)
        for c in range(values.shape[1]):
            made[:, c] = values[:, max(0, c - first):c + last + 1].sum(1)
        return made
    s = a.get("bias", 1.0) + alpha / size * near(x * x, before, after)
    return g * s ** -beta - 2 * alpha * beta / size * x * near(g * x * s ** (-beta - 1), after, before)


@formula
def lp_normalize_grad(a, g, x):
    p, axis = a.get("p", 2.0), a.get("axis", -1)
    norm = np.sum(np.abs(x) ** p, axis, keepdims=True) ** (1 / p)
    least = a.get("epsilon", 0.0)
    slope = np.sign(x) * np.abs(x) ** (p - 1) * norm ** (1 - p)
    y = x / np.maximum(norm, least)
    return np.where(norm > least, (g - slope * np.sum(g * y, axis, keepdims=True)), g) / np.maximum(norm, least)


@formula
def mean_variance_norm_grad(a, g, x):
    axes = tuple(a["axes"])
    mean = x.mean(axes, keepdims=True)
    deviation = np.sqrt(np.mean(x * x, axes, keepdims=True) - mean * mean)
    n = (x - mean) / deviation
    whole = deviation + 1e-9
    return (g - g.mean(axes, keepdims=True)) / whole - n * np.mean(g * (x - mean), axes, keepdims=True) / whole ** 2

# -- pools -----------------------------------------------------------------------------


def windows_of(a, x):
    """(output place, input places of the window) for each window."""
    kernel = a["kernel_shape"]
    rank = len(kernel)
    strides, dilations, begins, ends = window(a, rank, kernel, x.shape[2:])
    outs = [(d + b + e - (k - 1) * r - 1) // s + 1
            for d, b, e, k, r, s in zip(x.shape[2:], begins, ends, kernel, dilations, strides)]
    for out in np.ndindex(*outs):
        places = [tuple(o * s + t * r - b for o, s, t, r, b in zip(out, strides, tap, dilations, begins))
                  for tap in np.ndindex(*kernel)]
        yield out, [place for place in places if all(0 <= i < d for i, d in zip(place, x.shape[2:]))]


def pooled(x, g, windows, share):
    """Adds what `share` makes of each window to the elements of it."""
    made = np.zeros_like(x)
    every = (slice(None), slice(None))
    for out, places in windows:
        index = every + tuple(np.array(part) for part in zip(*places))
        np.add.at(made, index, share(x[index], g[every + out][..., None], len(places)))
    return made


def to_first_maximum(x, g, count):
    return np.where(np.arange(count) == x.argmax(-1)[..., None], g, 0)


@formula
def max_pool_grad(a, g, x):
    return pooled(x, g, windows_of(a, x), to_first_maximum)


@formula
def average_pool_grad(a, g, x):
    whole = math.prod(a["kernel_shape"]) if a.get("count_include_pad") else None
    return pooled(x, g, windows_of(a, x), lambda x, g, count: np.broadcast_to(g / (whole or count), x.shape))


@formula
def lp_pool_grad(a, g, x):
    p = a.get("p", 2.0)

    def share(x, g, count):
        y = np.sum(np.abs(x) ** p, -1, keepdims=True) ** (1 / p)
        return np.sign(x) * np.abs(x) ** (p - 1) * g * y ** (1 - p)
    return pooled(x, g, windows_of(a, x), share)


def adaptive_windows(a, x):
    outs = [d if o < 0 else o for o, d in zip(a["output_size"], x.shape[2:])]
    for out in np.ndindex(*outs):
        ranges = [range(i * d // o, -(-(i + 1) * d // o)) for i, d, o in zip(out, x.shape[2:], outs)]
        yield out, [tuple(r[i] for r, i in zip(ranges, place)) for place in np.ndindex(*map(len, ranges))]


@formula
def adaptive_avg_pool_grad(a, g, x):
    return pooled(x, g, adaptive_windows(a, x), lambda x, g, count: np.broadcast_to(g / count, x.shape))


@formula
def adaptive_max_pool_grad(a, g, x):
    return pooled(x, g, adaptive_windows(a, x), to_first_maximum)
