"""Movement, interpolation and indexing of evaluate.py."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from mpopt.evaluation.evaluate import op

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
    count = max(math.ceil((limit.item() - start.item()) / delta.item()), 0)
    return start + delta * torch.arange(count, dtype=start.dtype)


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
