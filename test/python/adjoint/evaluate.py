"""What mp ops compute, in float64: ops of the forward pass by PyTorch, so that its
autograd has their gradients; the ops that are gradients by the formulas of
formulas.py, which know nothing of autograd."""

import math

import formulas
import numpy as np
import torch
import torch.nn.functional as F
from formulas import window

# Ops whose operands come in segments, and how many there are.
SEGMENTED = {"clip": 0, "softmax_cross_entropy": 4, "binary_cross_entropy_with_logits": 4, "batch_norm": 5,
             "instance_norm": 3, "layer_norm": 3, "group_norm": 3, "slice": 5, "pad": 4, "resize": 4,
             "attention": 9, "rnn": 6, "lstm": 8, "gru": 6, "rnn_cell": 6, "lstm_cell": 7, "gru_cell": 6,
             "dropout": 3, "dft": 3, "matmul_nbits": 6}
SEGMENTED["clip"] = 3
FORWARD = {}


def op(function):
    FORWARD["mp." + function.__name__.rstrip("_")] = function
    return function


def segments(operands, sizes):
    parts, at = [], 0
    for size in sizes:
        part = operands[at:at + size]
        parts.append(None if not part else part[0] if size == 1 else part)
        at += size
    return parts


def run_op(name, operands, attributes, count=None):
    """The results of an op, as a list."""
    if name.endswith("_grad"):
        return [torch.as_tensor(array) for array in formulas.run(name, operands, attributes, FORWARD)]
    if "operandSegmentSizes" in attributes:
        operands = segments(operands, attributes["operandSegmentSizes"])
    if name == "mp.split" and count:
        made = FORWARD[name](attributes, *operands, count=count)
    else:
        made = FORWARD[name](attributes, *operands)
    return list(made) if isinstance(made, (tuple, list)) else [made]


def run_block(block, values):
    """Evaluates the ops of a block; what its terminator gives."""
    for operation in block.ops:
        operands = [values[name] for name in operation.operands]
        if operation.name in ("func.return", "mp.yield"):
            return operands
        if operation.name == "mp.constant":
            made = [torch.as_tensor(operation.attributes["value"])]
        elif operation.name == "mp.if":
            body = operation.regions[0 if bool(operands[0]) else 1]
            made = run_block(body, dict(values))
        elif operation.name in ("mp.loop", "mp.scan"):
            made = (run_loop if operation.name == "mp.loop" else run_scan)(operation, operands, values)
        elif operation.name == "mp.cast":
            made = [cast(operands[0], operation.types[0].dtype)]
        else:
            made = run_op(operation.name, operands, operation.attributes, len(operation.results))
        assert len(made) == len(operation.results), operation.name
        for name, value, type in zip(operation.results, made, operation.types):
            if type.shape is not None:
                assert len(type.shape) == value.dim() and all(
                    dim in (None, size) for dim, size in zip(type.shape, value.shape)), \
                    f"{operation.name} gives {tuple(value.shape)}, its type is {type}"
            values[name] = value
    return None


def run_body(operation, arguments, values):
    block = operation.regions[0]
    return run_block(block, {**values, **dict(zip(block.arguments, arguments))})


def run_loop(operation, operands, values):
    count, condition, carried = parts_of(operation, operands)
    outputs = len(operation.results) - len(carried)
    going, stacks, i = condition is None or bool(condition), [[] for _ in range(outputs)], 0
    while going and (count is None or i < int(count)):
        go, *made = run_body(operation, [torch.tensor(i), torch.tensor(True), *carried], values)
        carried, going, i = made[:len(carried)], condition is None or bool(go), i + 1
        for stack, part in zip(stacks, made[len(carried):]):
            stack.append(part)
    return [*carried, *(torch.stack(stack) for stack in stacks)]


def run_scan(operation, operands, values):
    _, states, inputs = parts_of(operation, operands)
    a, outputs = operation.attributes, len(operation.results) - len(states)

    def numbers(name, count):
        return a.get(name) or [0] * count
    inputs = [x.movedim(axis, 0) for x, axis in zip(inputs, numbers("input_axes", len(inputs)))]
    inputs = [x.flip(0) if back else x for x, back in zip(inputs, numbers("input_directions", len(inputs)))]
    stacks = [[] for _ in range(outputs)]
    for t in range(len(inputs[0])):
        made = run_body(operation, [*states, *(x[t] for x in inputs)], values)
        states = made[:len(states)]
        for stack, part in zip(stacks, made[len(states):]):
            stack.append(part)
    made = [torch.stack(stack) for stack in stacks]
    made = [x.flip(0) if back else x for x, back in zip(made, numbers("output_directions", outputs))]
    return [*states, *(x.movedim(0, axis) for x, axis in zip(made, numbers("output_axes", outputs)))]


def parts_of(operation, operands):
    """An optional operand, another one or a list, and a list."""
    sizes, at, parts = operation.attributes["operandSegmentSizes"], 0, []
    for number, size in enumerate(sizes):
        part = operands[at:at + size]
        listed = number == 2 or (number == 1 and operation.name == "mp.scan")
        parts.append(part if listed else part[0] if part else None)
        at += size
    return parts


def run_function(function, arguments):
    block = function.regions[0]
    return run_block(block, dict(zip(block.arguments, arguments)))


def cast(x, dtype):
    kinds = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
             "i64": torch.int64, "i32": torch.int32, "i1": torch.bool, "ui8": torch.uint8, "i8": torch.int8}
    return x.to(kinds[dtype])


# -- elementwise -----------------------------------------------------------------------

UNARY = {
    "abs": torch.abs, "neg": torch.neg, "sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil,
    "round": torch.round, "trunc": torch.trunc, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal, "square": torch.square, "exp": torch.exp, "exp2": torch.exp2,
    "expm1": torch.expm1, "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
    "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh,
    "acosh": torch.acosh, "atanh": torch.atanh, "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv,
    "log_ndtr": torch.special.log_ndtr, "logical_not": torch.logical_not, "relu": torch.relu, "relu6": F.relu6,
    "sigmoid": torch.sigmoid, "log_sigmoid": F.logsigmoid, "softsign": F.softsign, "tanh_shrink": F.tanhshrink,
    "mish": F.mish, "hard_swish": F.hardswish, "identity": lambda x: x, "is_nan": torch.isnan,
}
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "atan2": torch.atan2,
    "pow": torch.pow, "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
    "greater": torch.gt, "greater_equal": torch.ge, "logical_and": torch.logical_and,
    "logical_or": torch.logical_or, "floor_div": torch.floor_divide,
}
for _name, _function in UNARY.items():
    FORWARD["mp." + _name] = lambda a, x, f=_function: f(x)
for _name, _function in BINARY.items():
    FORWARD["mp." + _name] = lambda a, x, y, f=_function: f(x, y)


@op
def mod(a, x, y):
    return torch.fmod(x, y) if a.get("fmod") else torch.remainder(x, y)


@op
def max_(a, *xs):
    made = xs[0]
    for x in xs[1:]:
        made = torch.maximum(made, x)
    return made


@op
def min_(a, *xs):
    made = xs[0]
    for x in xs[1:]:
        made = torch.minimum(made, x)
    return made


@op
def add_n(a, *xs):
    return sum(xs)


@op
def mean_n(a, *xs):
    return sum(xs) / len(xs)


@op
def where(a, c, x, y):
    return torch.where(c, x, y)


@op
def clip(a, x, low=None, high=None):
    return torch.clamp(x, low, high) if low is not None or high is not None else x


@op
def addcmul(a, x, y, z):
    return x + a.get("value", 1.0) * y * z


@op
def addcdiv(a, x, y, z):
    return x + a.get("value", 1.0) * y / z


@op
def lerp(a, x, y, w):
    return torch.lerp(x, y, w)


# -- activations -----------------------------------------------------------------------


@op
def leaky_relu(a, x):
    return F.leaky_relu(x, a.get("alpha", 0.01))


@op
def thresholded_relu(a, x):
    return F.threshold(x, a.get("alpha", 1.0), 0)


@op
def hard_sigmoid(a, x):
    return torch.clamp(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1)


@op
def hard_tanh(a, x):
    return F.hardtanh(x, a.get("low", -1.0), a.get("high", 1.0))


@op
def shrink(a, x):
    lambd, bias = a.get("lambd", 0.5), a.get("bias", 0.0)
    return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, torch.zeros_like(x)))


@op
def elu(a, x):
    return F.elu(x, a.get("alpha", 1.0))


@op
def celu(a, x):
    return F.celu(x, a.get("alpha", 1.0))


@op
def selu(a, x):
    alpha, gamma = a.get("alpha", 1.6732632423543772), a.get("gamma", 1.0507009873554805)
    return gamma * torch.where(x > 0, x, alpha * torch.expm1(x))


@op
def softplus(a, x):
    return F.softplus(x, a.get("beta", 1.0), a.get("threshold", math.inf))


@op
def silu(a, x):
    return x * torch.sigmoid(a.get("alpha", 1.0) * x)


@op
def quick_gelu(a, x):
    return x * torch.sigmoid(a.get("alpha", 1.702) * x)


@op
def gelu(a, x):
    return F.gelu(x, approximate=a.get("approximate", "none"))


@op
def prelu(a, x, slope):
    return torch.where(x < 0, slope * x, x)


@op
def swiglu(a, gate, value):
    return gate * torch.sigmoid(a.get("alpha", 1.0) * gate) * value


def along(a, x, function):
    axis = a.get("axis", -1) % x.dim()
    if not a.get("flatten"):
        return function(x, axis)
    return function(x.reshape(*x.shape[:axis], -1), axis).reshape(x.shape)


@op
def softmax(a, x):
    return along(a, x, torch.softmax)


@op
def log_softmax(a, x):
    return along(a, x, torch.log_softmax)


@op
def softmin(a, x):
    return along(a, -x, torch.softmax)


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
    """Of a function of one axis."""
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


# -- shapes ----------------------------------------------------------------------------


@op
def reshape(a, x, shape):
    dims = shape.tolist()
    if not a.get("allow_zero"):
        dims = [x.shape[i] if dim == 0 else dim for i, dim in enumerate(dims)]
    return x.reshape(dims)


@op
def flatten(a, x):
    axis = a.get("axis", 1)
    return x.reshape(math.prod(x.shape[:axis]), -1)


@op
def transpose(a, x):
    return x.permute(a["perm"] if "perm" in a else list(range(x.dim()))[::-1])


@op
def squeeze(a, x, axes=None):
    axes = a.get("axes") if axes is None else axes.tolist()
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


@op
def unsqueeze(a, x, axes=None):
    axes = a["axes"] if axes is None else axes.tolist()
    for axis in sorted(axis % (x.dim() + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


@op
def expand(a, x, shape):
    return x.expand(torch.broadcast_shapes(x.shape, tuple(1 if d < 0 else d for d in shape.tolist())))


@op
def tile(a, x, repeats):
    return x.repeat(repeats.tolist())


@op
def concat(a, *xs):
    return torch.cat(xs, a["axis"])


@op
def split(a, x, sizes=None, count=None):
    axis = a.get("axis", 0)
    if sizes is None and "sizes" not in a:
        return torch.split(x, -(-x.shape[axis] // count), axis)
    return torch.split(x, list(a["sizes"]) if sizes is None else sizes.tolist(), axis)


def slices(rank, starts, ends, axes=None, steps=None):
    made = [slice(None)] * rank
    for i, (start, end) in enumerate(zip(starts, ends)):
        made[axes[i] if axes else i] = (start, end, steps[i] if steps else 1)
    return made


@op
def slice_(a, x, *dynamic):
    def part(index, name):
        if index < len(dynamic) and dynamic[index] is not None:
            return dynamic[index].tolist()
        return a.get(name)
    bounds = slices(x.dim(), *(part(i, name) for i, name in enumerate(("starts", "ends", "axes", "steps"))))
    for axis, bound in enumerate(bounds):
        if isinstance(bound, tuple):
            x = x.index_select(axis, torch.arange(x.shape[axis])[
                torch.from_numpy(np.arange(x.shape[axis])[slice(*bound)].copy())])
    return x


@op
def pad(a, x, pads=None, value=None, axes=None):
    pads = a["pads"] if pads is None else pads.tolist()
    axes = (a.get("axes") if axes is None else axes.tolist()) or list(range(x.dim()))
    half = len(pads) // 2
    for axis, begin, end in zip(axes, pads[:half], pads[half:]):
        x = pad_axis(x, axis, begin, end, a.get("mode", "constant"), value)
    return x


def pad_axis(x, axis, begin, end, mode, value):
    size = x.shape[axis]
    place = np.arange(-begin, size + end)
    inside = (place >= 0) & (place < size)
    if mode == "reflect":
        period = np.maximum(2 * (size - 1), 1)
        place = np.abs(place) % period
        place = np.where(place >= size, period - place, place)
    elif mode == "wrap":
        place = place % size
    place = np.clip(place, 0, size - 1)
    made = x.index_select(axis, torch.from_numpy(place))
    if mode != "constant" or inside.all():
        return made
    shape = [1] * x.dim()
    shape[axis] = -1
    keep = torch.from_numpy(inside).reshape(shape)
    fill = torch.zeros((), dtype=x.dtype) if value is None else value
    return torch.where(keep, made, fill)


@op
def center_crop_pad(a, x, shape):
    axes = a.get("axes") or list(range(x.dim()))
    for axis, size in zip(axes, shape.tolist()):
        diff = size - x.shape[axis]
        begin = int(diff / 2)
        x = pad_axis(x, axis, begin, diff - begin, "constant", None)
    return x


@op
def tensor_scatter(a, past, update, indices=None):
    axis = a.get("axis", -2) % past.dim()
    made = past.clone()
    rows = []
    for batch in range(past.shape[0]):
        start = 0 if indices is None else int(indices[batch])
        place = [(start + i) % past.shape[axis] for i in range(update.shape[axis])]
        rows.append(made[batch].index_copy(axis - 1, torch.tensor(place), update[batch]))
    return torch.stack(rows)


@op
def reverse(a, x):
    return x.flip(a["axes"])


@op
def roll(a, x):
    return torch.roll(x, a["shifts"], a["axes"]) if a.get("axes") else torch.roll(x, a["shifts"])


@op
def reverse_sequence(a, x, lengths):
    batch, time = a.get("batch_axis", 1), a.get("time_axis", 0)
    y = x.movedim((batch, time), (0, 1))
    rows = [torch.cat([row[:n].flip(0), row[n:]]) for row, n in zip(y, lengths.tolist())]
    return torch.stack(rows).movedim((0, 1), (batch, time))


@op
def trilu(a, x, k=None):
    k = a.get("k", 0) if k is None else int(k)
    return torch.triu(x, k) if a.get("upper", True) else torch.tril(x, k)


@op
def shape(a, x):
    end = a.get("end")
    return torch.tensor(list(x.shape)[a.get("start", 0):end], dtype=torch.int64)


@op
def size(a, x):
    return torch.tensor(x.numel())


@op
def fill(a, dims):
    return torch.full(dims.tolist(), a["value"].flatten()[0].item(), dtype=torch.as_tensor(a["value"]).dtype)


@op
def range_(a, start, limit, delta):
    return torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


@op
def eye_like(a, x):
    made = torch.zeros_like(x)
    made.diagonal(a.get("k", 0)).fill_(1)
    return made


@op
def one_hot(a, indices, depth, values):
    hot = F.one_hot(indices % int(depth), int(depth)).to(values.dtype)
    made = values[0] + (values[1] - values[0]) * hot
    return made.movedim(-1, a.get("axis", -1))


@op
def det(a, x):
    return torch.linalg.det(x)


@op
def depth_to_space(a, x):
    b = a["block_size"]
    n, c, h, w = x.shape
    if a.get("mode", "DCR") == "DCR":
        return x.reshape(n, b, b, c // b ** 2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // b ** 2, h * b, w * b)
    return x.reshape(n, c // b ** 2, b, b, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // b ** 2, h * b, w * b)


@op
def space_to_depth(a, x):
    b = a["block_size"]
    n, c, h, w = x.shape
    y = x.reshape(n, c, h // b, b, w // b, b)
    order = (0, 3, 5, 1, 2, 4) if a.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return y.permute(order).reshape(n, c * b * b, h // b, w // b)


def folding(a, rank):
    pads = a.get("pads") or [0] * (2 * rank)
    return {"dilation": a.get("dilations") or [1] * rank, "padding": pads[:rank],
            "stride": a.get("strides") or [1] * rank}


@op
def im2col(a, x):
    return F.unfold(x, a["kernel_shape"], **folding(a, x.dim() - 2))


@op
def col2im(a, x, image, block):
    return F.fold(x, image.tolist(), block.tolist(), **folding(a, len(block)))


@op
def resize(a, x, roi=None, scales=None, sizes=None):
    axes = a.get("axes") or list(range(x.dim()))
    for number, axis in enumerate(axes):
        size = x.shape[axis]
        scale = float(scales[number]) if scales is not None else int(sizes[number]) / size
        out = math.floor(size * scale) if scales is not None else int(sizes[number])
        if out != size or scale != 1:
            x = torch.tensordot(x, torch.from_numpy(sampling(a, size, out, scale)), ([axis], [1])).movedim(-1, axis)
    return x


def sampling(a, size, out, scale):
    """The weights of a resize along one axis: [out, size]."""
    mode, how = a.get("mode", "nearest"), a.get("coordinate_transformation", "half_pixel")
    weights = np.zeros((out, size))
    for i in range(out):
        at = {"half_pixel": (i + 0.5) / scale - 0.5, "asymmetric": i / scale,
              "align_corners": i * (size - 1) / max(out - 1, 1),
              "pytorch_half_pixel": (i + 0.5) / scale - 0.5 if out > 1 else 0.0}[how]
        low = math.floor(at)
        if mode == "nearest":
            near = a.get("nearest_mode", "round_prefer_floor")
            place = {"round_prefer_floor": math.ceil(at - 0.5), "round_prefer_ceil": math.floor(at + 0.5),
                     "floor": low, "ceil": math.ceil(at)}[near]
            taps = [(place, 1.0)]
        elif mode == "linear":
            taps = [(low, 1 - (at - low)), (low + 1, at - low)]
        else:
            c = a.get("cubic_coeff_a", -0.75)

            def cubic(t):
                t = abs(t)
                return ((c + 2) * t - (c + 3)) * t * t + 1 if t <= 1 else ((t - 5) * t + 8) * t * c - 4 * c
            taps = [(low + k, cubic(at - low - k)) for k in (-1, 0, 1, 2)]
        for place, weight in taps:
            weights[i, np.clip(place, 0, size - 1)] += weight
    return weights


@op
def grid_sample(a, x, grid):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(a.get("mode", "linear"), "nearest")
    return F.grid_sample(x, grid, mode, a.get("padding_mode", "zeros"), bool(a.get("align_corners")))


@op
def affine_grid(a, theta, size):
    return F.affine_grid(theta, size.tolist(), bool(a.get("align_corners")))


@op
def dft(a, x, length=None, axis=None):
    axis = (a.get("axis", -2) if axis is None else int(axis)) % x.dim()
    n = x.shape[axis] if length is None else int(length)
    z = torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x[..., 0].to(torch.complex128)
    if a.get("inverse"):
        made = torch.fft.ifft(z, n, axis)
    else:
        made = torch.fft.fft(z, n, axis)
        if a.get("onesided"):
            made = made.narrow(axis, 0, n // 2 + 1)
    return torch.view_as_real(made)


# -- indexing --------------------------------------------------------------------------


@op
def gather(a, x, indices):
    axis = a.get("axis", 0) % x.dim()
    flat = x.index_select(axis, indices.flatten() % x.shape[axis])
    return flat.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]])


@op
def embedding(a, table, indices):
    return F.embedding(indices, table, a.get("padding_index"))


@op
def gather_elements(a, x, indices):
    axis = a.get("axis", 0) % x.dim()
    return torch.gather(x, axis, indices % x.shape[axis])


def tuples(x, indices, batch=0):
    """Where the tuples of a gather_nd point, as an index of x."""
    lead = np.indices(indices.shape[:-1])[:batch]
    return tuple(torch.from_numpy(part) for part in lead) + tuple(indices.unbind(-1))


@op
def gather_nd(a, x, indices):
    return x[tuples(x, indices, a.get("batch_dims", 0))]


@op
def scatter_elements(a, x, indices, updates):
    axis = a.get("axis", 0) % x.dim()
    indices = indices % x.shape[axis]
    how = a.get("reduction", "none")
    return x.scatter(axis, indices, updates) if how == "none" else x.scatter_add(axis, indices, updates)


@op
def scatter_nd(a, x, indices, updates):
    return x.index_put(tuple(indices.unbind(-1)), updates, accumulate=a.get("reduction", "none") == "add")


@op
def masked_fill(a, x, mask, value):
    return torch.where(mask, value, x)


@op
def compress(a, x, condition):
    if "axis" not in a:
        return x.flatten()[condition.nonzero().flatten()]
    return x.index_select(a["axis"], condition.nonzero().flatten())


@op
def non_zero(a, x):
    return x.nonzero().T


@op
def dropout(a, x, ratio=None, training=None):
    if not a.get("training") and training is None:
        return x
    keep = 1 - (a.get("ratio", 0.5) if ratio is None else float(ratio))
    # The same mask every time: positions by a fixed rule.
    mask = (torch.arange(x.numel()) * 2654435761 % 1000 < 1000 * keep).reshape(x.shape)
    return x * mask / keep, mask


@op
def loss_scale(a, x, scale):
    return x / scale.to(x.dtype) if a.get("divide") else x * scale.to(x.dtype)


@op
def global_norm(a, *xs):
    return torch.sqrt(sum((x * x).sum() for x in xs))


@op
def broadcast_gradient_args(a, first, second):
    def axes(mine, other):
        rank = max(len(mine), len(other))
        mine = [1] * (rank - len(mine)) + mine.tolist()
        other = [1] * (rank - len(other)) + other.tolist()
        return torch.tensor([i for i in range(rank) if mine[i] == 1 and other[i] != 1], dtype=torch.int64)
    return axes(first, second), axes(second, first)


import evaluate_layers  # noqa: E402,F401  the larger composites
