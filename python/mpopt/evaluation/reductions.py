"""Reductions, products, pools and normalisations of evaluate.py."""

import math

import torch
import torch.nn.functional as F
from mpopt.evaluation.evaluate import FORWARD, op
from mpopt.evaluation.windows import window

# -- reductions ------------------------------------------------------------------------


def axes_of(a, x, dynamic=None):
    axes = a.get("axes") if dynamic is None else dynamic.tolist()
    return [axis % x.dim() for axis in axes] if axes else list(range(x.dim()))


def reduction(function):
    def run(a, x, dynamic=None):
        axes = axes_of(a, x, dynamic)
        made = function(a, x, axes) if axes else function(a, x.reshape(1), [0]).reshape(1)
        if not axes:
            return made.reshape(())
        return made if a.get("keep_dims") else made.reshape(
            [dim for i, dim in enumerate(x.shape) if i not in axes])
    return run


def one_by_one(function):
    """A reduction over several axes, by a function of one."""
    def run(a, x, axes):
        for axis in axes:
            x = function(x, axis)
        return x
    return run


for _name, _function in {
    "reduce_sum": lambda a, x, d: x.sum(d, keepdim=True),
    "reduce_mean": lambda a, x, d: x.mean(d, keepdim=True),
    "reduce_max": lambda a, x, d: x.amax(d, keepdim=True),
    "reduce_min": lambda a, x, d: x.amin(d, keepdim=True),
    "reduce_prod": one_by_one(lambda x, d: x.prod(d, keepdim=True)),
    "reduce_l1": lambda a, x, d: x.abs().sum(d, keepdim=True),
    "reduce_l2": lambda a, x, d: torch.linalg.vector_norm(x, 2, d, keepdim=True),
    "reduce_sum_square": lambda a, x, d: x.square().sum(d, keepdim=True),
    "reduce_log_sum": lambda a, x, d: x.sum(d, keepdim=True).log(),
    "reduce_log_sum_exp": lambda a, x, d: torch.logsumexp(x, d, keepdim=True),
    "norm": lambda a, x, d: torch.linalg.vector_norm(x, a.get("ord", 2.0), d, keepdim=True),
    "variance": lambda a, x, d: x.var(d, correction=a.get("correction", 1.0), keepdim=True),
    "std": lambda a, x, d: x.std(d, correction=a.get("correction", 1.0), keepdim=True),
}.items():
    FORWARD["mp." + _name] = reduction(_function)


@op
def arg_max(a, x):
    return x.argmax(a.get("axis"), keepdim=bool(a.get("keep_dims")))


@op
def top_k(a, x):
    return tuple(torch.topk(x, a["k"], a.get("axis", -1), a.get("largest", True)))


@op
def sort(a, x):
    return tuple(torch.sort(x, dim=a.get("axis", -1), descending=bool(a.get("descending"))))


@op
def median(a, x):
    if "axis" in a:
        return tuple(torch.median(x, a["axis"], keepdim=bool(a.get("keep_dims"))))
    value = x.flatten().median(0)
    return tuple(value)


def scan(function, start):
    def run(a, x, dynamic=None):
        axis = a["axis"] if dynamic is None else int(dynamic)
        if a.get("reverse"):
            x = x.flip(axis)
        if a.get("exclusive"):
            first = torch.full_like(x.narrow(axis, 0, 1), start)
            x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
        x = function(x, axis)
        return x.flip(axis) if a.get("reverse") else x
    return run


FORWARD["mp.cum_sum"] = scan(torch.cumsum, 0.0)
FORWARD["mp.cum_prod"] = scan(torch.cumprod, 1.0)

# -- products --------------------------------------------------------------------------


def matrix(x, swap):
    return x.transpose(-1, -2) if swap else x


@op
def matmul(a, x, y):
    return a.get("alpha", 1.0) * (matrix(x, a.get("trans_a")) @ matrix(y, a.get("trans_b")))


@op
def gemm(a, x, y, c=None):
    made = a.get("alpha", 1.0) * (matrix(x, a.get("trans_a")) @ matrix(y, a.get("trans_b")))
    return made if c is None else made + a.get("beta", 1.0) * c


@op
def linear(a, x, w, b=None):
    return F.linear(x, w, b)


@op
def bilinear(a, x, y, w, b=None):
    return F.bilinear(x, y, w, b)


@op
def einsum(a, *xs):
    return torch.einsum(a["equation"], *xs)


def padded(x, begins, ends, value=0.0):
    return F.pad(x, [p for pair in zip(reversed(begins), reversed(ends)) for p in pair], value=value)


@op
def conv(a, x, w, b=None):
    rank = x.dim() - 2
    strides, dilations, begins, ends = window(a, rank, w.shape[2:], x.shape[2:])
    run = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    return run(padded(x, begins, ends), w, b, strides, 0, dilations, a.get("group", 1))


@op
def conv_transpose(a, x, w, b=None):
    rank = x.dim() - 2
    strides, dilations, begins, ends = window(a, rank, w.shape[2:], x.shape[2:])
    run = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    extra = a.get("output_padding") or [0] * rank
    whole = run(x, w, None, strides, 0, 0, a.get("group", 1), dilations)
    whole = padded(whole, [0] * rank, extra)
    made = padded(whole, [-p for p in begins], [-p for p in ends])
    return made if b is None else made + b.reshape(1, -1, *[1] * rank)

# -- pools -----------------------------------------------------------------------------


def windows(a, x, value):
    """x in windows: [N, C, outputs..., window]."""
    kernel = a["kernel_shape"]
    rank = len(kernel)
    strides, dilations, begins, ends = window(a, rank, kernel, x.shape[2:])
    x = padded(x, begins, ends, value)
    for axis, (k, s, d) in enumerate(zip(kernel, strides, dilations)):
        x = x.unfold(2 + axis, (k - 1) * d + 1, s)
    x = x[(..., *[slice(None, None, d) for d in dilations])]
    return x.flatten(-rank)


@op
def max_pool(a, x):
    return windows(a, x, -math.inf).max(-1).values


@op
def average_pool(a, x):
    total = windows(a, x, 0.0).sum(-1)
    if a.get("count_include_pad"):
        return total / math.prod(a["kernel_shape"])
    return total / windows(a, torch.ones_like(x), 0.0).sum(-1)


@op
def lp_pool(a, x):
    p = a.get("p", 2.0)
    return windows(a, x, 0.0).abs().pow(p).sum(-1).pow(1 / p)


@op
def adaptive_avg_pool(a, x):
    rank = len(a["output_size"])
    size = [x.shape[2 + i] if s < 0 else s for i, s in enumerate(a["output_size"])]
    return (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[rank - 1](x, size)


@op
def adaptive_max_pool(a, x):
    rank = len(a["output_size"])
    size = [x.shape[2 + i] if s < 0 else s for i, s in enumerate(a["output_size"])]
    return (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[rank - 1](x, size)


def spatial(x):
    return tuple(range(2, x.dim()))


@op
def global_average_pool(a, x):
    return x.mean(spatial(x), keepdim=True)


@op
def global_max_pool(a, x):
    flat = x.flatten(2)
    return flat.gather(2, flat.argmax(2, keepdim=True)).reshape(*x.shape[:2], *[1] * (x.dim() - 2))


@op
def global_lp_pool(a, x):
    return torch.linalg.vector_norm(x, a.get("p", 2.0), spatial(x), keepdim=True)


@op
def max_unpool(a, x, indices, shape):
    made = torch.zeros(shape.tolist(), dtype=x.dtype)
    return made.flatten().index_put((indices.flatten(),), x.flatten()).reshape(shape.tolist())

# -- normalisations --------------------------------------------------------------------


def standardized(x, axes, epsilon):
    return (x - x.mean(axes, keepdim=True)) / torch.sqrt(x.var(axes, correction=0, keepdim=True) + epsilon)


def with_parameters(x, scale, bias, axis=1):
    shape = [1] * x.dim()
    shape[axis] = -1
    if scale is not None:
        x = x * scale.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


@op
def layer_norm(a, x, scale=None, bias=None):
    made = standardized(x, list(range(a.get("axis", -1) % x.dim(), x.dim())), a.get("epsilon", 1e-5))
    made = made if scale is None else made * scale
    return made if bias is None else made + bias


@op
def rms_norm(a, x, scale=None):
    axes = list(range(a.get("axis", -1) % x.dim(), x.dim()))
    made = x * torch.rsqrt(x.square().mean(axes, keepdim=True) + a.get("epsilon", 1e-5))
    return made if scale is None else made * scale


@op
def batch_norm(a, x, scale=None, bias=None, mean=None, variance=None):
    if a.get("training"):
        made = standardized(x, [0, *range(2, x.dim())], a.get("epsilon", 1e-5))
    else:
        made = with_parameters(x, torch.rsqrt(variance + a.get("epsilon", 1e-5)),
                               -mean * torch.rsqrt(variance + a.get("epsilon", 1e-5)))
    return with_parameters(made, scale, bias)


@op
def instance_norm(a, x, scale=None, bias=None):
    return with_parameters(standardized(x, spatial(x), a.get("epsilon", 1e-5)), scale, bias)


@op
def group_norm(a, x, scale=None, bias=None):
    groups = a["num_groups"]
    last = a.get("channels_last")
    y = x.movedim(-1, 1) if last else x
    parts = y.reshape(y.shape[0], groups, -1)
    made = standardized(parts, [2], a.get("epsilon", 1e-5)).reshape(y.shape)
    repeat = y.shape[1] // groups
    scale, bias = (None if p is None else p.repeat_interleave(repeat) if len(p) != y.shape[1] else p
                   for p in (scale, bias))
    made = with_parameters(made, scale, bias)
    return made.movedim(1, -1) if last else made


@op
def lrn(a, x):
    size = a["size"]
    before, after = (size - 1) // 2, size // 2
    square = F.pad(x.square().movedim(1, -1), (before, after)).unfold(-1, size, 1).sum(-1).movedim(-1, 1)
    return x / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * square) ** a.get("beta", 0.75)


@op
def lp_normalize(a, x):
    norm = torch.linalg.vector_norm(x, a.get("p", 2.0), a.get("axis", -1), keepdim=True)
    return x / norm.clamp_min(a.get("epsilon", 0.0))


@op
def mean_variance_norm(a, x):
    axes = a["axes"]
    mean = x.mean(axes, keepdim=True)
    return (x - mean) / (torch.sqrt((x * x).mean(axes, keepdim=True) - mean * mean) + 1e-9)
