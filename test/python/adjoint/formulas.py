"""The formulas of the ops that are gradients, in NumPy, as docs/adjoint.md has them.
Where one is missing for an operand, the definition is taken: differences of the op
that it is the gradient of."""

import math

import numpy as np

FIXED, FORMULAS = {}, {}


def fixed(function):
    """With a result for each gradient, in order."""
    FIXED["mp." + function.__name__] = function
    return function


def formula(function):
    """From attributes, the gradient (or gradients) of the results, and the op's operands:
    a gradient for each operand, None where there is no formula."""
    FORMULAS["mp." + function.__name__] = function
    return function


def arrays(values):
    return [value.detach().numpy() if hasattr(value, "detach") else value for value in values]


def split(operands, sizes):
    parts, at = [], 0
    for size in sizes:
        parts.append(operands[at] if size else None)
        at += size
    return parts


def run(name, operands, attributes, forward):
    """The results of a gradient op."""
    sizes = attributes.get("operandSegmentSizes") or [1] * len(operands)
    if name in FIXED:
        if name == "mp.slice_grad":
            sizes = [1] * len(operands)
        made = FIXED[name](attributes, *split(arrays(operands), sizes))
        return [np.asarray(part) for part in (made if isinstance(made, tuple) else (made,))]
    parts = split(operands, sizes)
    count = {"mp.rnn_grad": 2, "mp.gru_grad": 2, "mp.lstm_grad": 3, "mp.lstm_cell_grad": 2}.get(name, 1)
    grads, own = arrays(parts[:count]), parts[count:]
    given = dict(attributes)
    given.pop("operandSegmentSizes", None)
    present = [number for number, part in enumerate(parts) if part is not None]
    made = []
    known = FORMULAS[name](given, grads[0] if count == 1 else grads, *arrays(own)) if name in FORMULAS else ()
    known = known if isinstance(known, tuple) else (known,)
    for number in attributes["wanted"]:
        place = present[number] - count
        value = known[place] if place < len(known) else None
        if value is None:
            value = by_differences(forward[name.removesuffix("_grad")], given, own, place, grads)
        made.append(np.asarray(value))
    return made


def by_differences(forward, attributes, operands, place, grads):
    """The vector-Jacobian product by central differences."""
    import torch

    x = operands[place].detach()
    flat = np.zeros(x.numel())

    def project(moved):
        parts = list(operands)
        parts[place] = moved
        with torch.no_grad():
            results = forward(attributes, *parts)
        results = results if isinstance(results, (tuple, list)) else [results]
        return sum(float((result.numpy() * grad).sum()) for result, grad in zip(results, grads) if grad is not None)
    for i in range(x.numel()):
        step = 1e-5 * max(1.0, abs(float(x.flatten()[i])))
        ends = []
        for sign in (1, -1):
            moved = x.clone().flatten()
            moved[i] += sign * step
            ends.append(project(moved.reshape(x.shape)))
        flat[i] = (ends[0] - ends[1]) / (2 * step)
    return flat.reshape(tuple(x.shape))


def by_linearity(forward, attributes, x, grad):
    """Of an op that is linear in x: what unit vectors become, times the gradient."""
    import torch

    flat = np.zeros(x.size)
    for i in range(x.size):
        unit = np.zeros(x.size)
        unit[i] = 1
        with torch.no_grad():
            flat[i] = (forward(attributes, torch.from_numpy(unit.reshape(x.shape))).numpy() * grad).sum()
    return flat.reshape(x.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf, otypes=[np.float64])


def window(a, rank, kernel, size):
    """Strides, dilations, begins and ends of pads."""
    strides, dilations = a.get("strides") or [1] * rank, a.get("dilations") or [1] * rank
    pads = a.get("pads") or [0] * (2 * rank)
    auto = a.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        total = [max((-(-d // s) - 1) * s + (k - 1) * e + 1 - d, 0)
                 for d, s, k, e in zip(size, strides, kernel, dilations)]
        half = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
        pads = half + [t - h for t, h in zip(total, half)]
    elif auto == "VALID":
        pads = [0] * (2 * rank)
    return strides, dilations, pads[:rank], pads[rank:]


def fit(grad, shape):
    """Summed over what was broadcast."""
    extra = grad.ndim - len(shape)
    grad = grad.sum(tuple(range(extra)))
    axes = tuple(i for i, dim in enumerate(shape) if dim == 1 and grad.shape[i] != 1)
    return grad.sum(axes, keepdims=True)


# -- functions of one number -----------------------------------------------------------


@fixed
def relu_grad(a, g, x):
    return np.where(x > 0, g, 0)


@fixed
def leaky_relu_grad(a, g, y):
    return np.where(y > 0, g, a["alpha"] * g)


@fixed
def sigmoid_grad(a, g, y):
    return g * y * (1 - y)


@fixed
def tanh_grad(a, g, y):
    return g * (1 - y * y)


@fixed
def gelu_grad(a, g, x, bias=None):
    x = x if bias is None else x + bias
    if a.get("approximate", "none") == "none":
        return g * ((1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    k = math.sqrt(2 / math.pi)
    t = np.tanh(k * (x + 0.044715 * x ** 3))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x))


@fixed
def quick_gelu_grad(a, g, x):
    alpha = a.get("alpha", 1.702)
    s = sigmoid(alpha * x)
    return g * s * (1 + alpha * x * (1 - s))


@formula
def relu6_grad(a, g, x):
    return g * ((x > 0) & (x < 6))


@formula
def thresholded_relu_grad(a, g, x):
    return g * (x > a.get("alpha", 1.0))


@formula
def hard_sigmoid_grad(a, g, x):
    alpha, beta = a.get("alpha", 0.2), a.get("beta", 0.5)
    return np.where((alpha * x + beta > 0) & (alpha * x + beta < 1), alpha * g, 0)


@formula
def hard_swish_grad(a, g, x):
    return g * np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))


@formula
def hard_tanh_grad(a, g, x):
    return g * ((x > a.get("low", -1.0)) & (x < a.get("high", 1.0)))


@formula
def shrink_grad(a, g, x):
    return g * (np.abs(x) > a.get("lambd", 0.5))


@formula
def elu_grad(a, g, x):
    return g * np.where(x > 0, 1, a.get("alpha", 1.0) * np.exp(x))


@formula
def celu_grad(a, g, x):
    return g * np.where(x > 0, 1, np.exp(x / a.get("alpha", 1.0)))


@formula
def selu_grad(a, g, x):
    return g * a.get("gamma", 1.0507009873554805) * np.where(x > 0, 1, a.get("alpha", 1.6732632423543772) * np.exp(x))


@formula
def log_sigmoid_grad(a, g, x):
    return g * sigmoid(-x)


@formula
def softplus_grad(a, g, x):
    inner = a.get("beta", 1.0) * x
    return g * np.where(inner > a.get("threshold", np.inf), 1, sigmoid(inner))


@formula
def mish_grad(a, g, x):
    t = np.tanh(np.log1p(np.exp(x)))
    return g * (t + x * sigmoid(x) * (1 - t * t))


# -- softmax ---------------------------------------------------------------------------


def rows_of(a, x):
    axis = a["axis"] % x.ndim
    return tuple(range(axis, x.ndim)) if a.get("coerced") else (axis,)


@fixed
def softmax_grad(a, g, y):
    return y * (g - np.sum(y * g, rows_of(a, y), keepdims=True))


@fixed
def log_softmax_grad(a, g, y):
    return g - np.exp(y) * np.sum(g, rows_of(a, y), keepdims=True)


@fixed
def dropout_grad(a, g, mask, ratio=None, training=None):
    return g * mask / (1 - (0.5 if ratio is None else ratio))


# -- products --------------------------------------------------------------------------


@fixed
def conv_grad(a, g, x, w):
    rank = x.ndim - 2
    strides, dilations, begins, ends = window(a, rank, w.shape[2:], x.shape[2:])
    group = a.get("group", 1)
    padded = np.pad(x, [(0, 0), (0, 0), *zip(begins, ends)])
    dx, dw = np.zeros_like(padded), np.zeros_like(w)
    outs = g.shape[2:]
    for tap in np.ndindex(*w.shape[2:]):
        place = tuple(slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(tap, dilations, outs, strides))
        for i in range(group):
            ins = slice(i * w.shape[1], (i + 1) * w.shape[1])
            made = slice(i * w.shape[0] // group, (i + 1) * w.shape[0] // group)
            part = padded[(slice(None), ins, *place)]
            dw[(made, slice(None), *tap)] = np.einsum("nmp,ncp->mc", g[:, made].reshape(*g[:, made].shape[:2], -1),
                                                      part.reshape(*part.shape[:2], -1))
            dx[(slice(None), ins, *place)] += np.einsum("nm...,mc->nc...", g[:, made], w[(made, slice(None), *tap)])
    inner = tuple(slice(b, b + d) for b, d in zip(begins, x.shape[2:]))
    return dx[(slice(None), slice(None), *inner)], dw, g.sum((0, *range(2, g.ndim)))


# -- movement --------------------------------------------------------------------------


@fixed
def gather_grad(a, g, shape, indices):
    made = np.zeros(shape)
    kind, axis = a.get("kind", "gather"), a.get("axis", 0)
    if kind == "gather":
        axis %= made.ndim
        flat = g.reshape(*g.shape[:axis], -1, *g.shape[axis + indices.ndim:])
        numbers = indices.ravel() % shape[axis]
        np.add.at(np.moveaxis(made, axis, 0), numbers, np.moveaxis(flat, axis, 0))
        if "padding_index" in a:
            np.moveaxis(made, axis, 0)[a["padding_index"]] = 0
    elif kind == "elements":
        place = list(np.indices(indices.shape))
        place[axis % made.ndim] = indices % shape[axis % made.ndim]
        np.add.at(made, tuple(place), g)
    else:
        lead = tuple(np.indices(indices.shape[:-1])[:a.get("batch_dims", 0)])
        np.add.at(made, lead + tuple(np.moveaxis(indices, -1, 0)), g)
    return made


@fixed
def slice_grad(a, g, shape, starts, ends, axes=None, steps=None):
    made = np.zeros(shape)
    place = [slice(None)] * made.ndim
    for i, (start, end) in enumerate(zip(starts, ends)):
        axis = i if axes is None else int(axes[i])
        step = 1 if steps is None else int(steps[i])
        end = None if step < 0 and end < -made.shape[axis] else int(end)
        place[axis] = slice(int(start), end, step)
    made[tuple(place)] = g
    return made


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
    outs = [(d + b + e - (k - 1) * l - 1) // s + 1
            for d, b, e, k, l, s in zip(x.shape[2:], begins, ends, kernel, dilations, strides)]
    for out in np.ndindex(*outs):
        places = [tuple(o * s + t * l - b for o, s, t, l, b in zip(out, strides, tap, dilations, begins))
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


# -- reductions and scans --------------------------------------------------------------


def reduced_axes(a, x):
    return tuple(axis % x.ndim for axis in a.get("axes") or range(x.ndim))


def kept(a, g, x):
    return g if a.get("keep_dims") else np.expand_dims(g, reduced_axes(a, x))


@formula
def norm_grad(a, g, x, dynamic=None):
    p, axes, g = a.get("ord", 2.0), reduced_axes(a, x), kept(a, g, x)
    if p == 0:
        return np.zeros_like(x)
    if math.isinf(p):
        y = (np.max if p > 0 else np.min)(np.abs(x), axes, keepdims=True)
        ties = np.abs(x) == y
        return g * np.sign(x) * ties / ties.sum(axes, keepdims=True)
    y = np.sum(np.abs(x) ** p, axes, keepdims=True) ** (1 / p)
    safe = np.where(y == 0, 1, y)
    return np.where(y == 0, 0, g * np.sign(x) * np.abs(x) ** (p - 1) * safe ** (1 - p))


def without_each(x, axis):
    """The product of the other elements along an axis."""
    parts = [np.prod(np.delete(x, i, axis), axis) for i in range(x.shape[axis])]
    return np.stack(parts, axis)


@formula
def reduce_prod_grad(a, g, x, dynamic=None):
    axes = reduced_axes(a, x)
    others = [axis for axis in range(x.ndim) if axis not in axes]
    rows = x.transpose(*others, *axes).reshape(*[x.shape[axis] for axis in others], -1)
    slope = without_each(rows, -1).reshape([x.shape[axis] for axis in (*others, *axes)])
    return kept(a, g, x) * slope.transpose(np.argsort((*others, *axes)))


@formula
def cum_prod_grad(a, g, x, dynamic=None):
    axis = a["axis"] if dynamic is None else int(dynamic)
    x, g = np.moveaxis(x, axis, -1), np.moveaxis(g, axis, -1)
    if a.get("reverse"):
        x, g = x[..., ::-1], g[..., ::-1]
    made = np.zeros_like(x)
    for i in range(x.shape[-1]):
        stop = i if a.get("exclusive") else i + 1
        for j in range(stop):
            made[..., j] += g[..., i] * np.prod(np.delete(x[..., :stop], j, -1), -1)
    return np.moveaxis(made[..., ::-1].copy() if a.get("reverse") else made, -1, axis)


# -- linear ones -----------------------------------------------------------------------


def linear(name):
    def run(a, g, x, *others):
        import evaluate
        import torch

        rest = [None if part is None else torch.as_tensor(part) for part in others]
        return by_linearity(lambda a, x: evaluate.FORWARD[f"mp.{name}"](a, x, *rest), a, x, g)
    FORMULAS[f"mp.{name}_grad"] = run


for _name in ("pad", "resize", "dft"):
    linear(_name)


@formula
def det_grad(a, g, x):
    return (g * np.linalg.det(x))[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2)


@formula
def fake_quantize_grad(a, g, x, scale, zero=None):
    shape = [1] * x.ndim
    if "axis" in a:
        shape[a["axis"]] = -1
    code = np.round(x / scale.reshape(shape)) + (0 if zero is None else zero.reshape(shape))
    return g * ((code >= a["quant_min"]) & (code <= a["quant_max"])), None


import formulas_layers  # noqa: E402,F401  losses, attention
