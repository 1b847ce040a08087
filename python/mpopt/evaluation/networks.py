"""Attention, recurrent networks, quantisation and regions of evaluate.py."""

import math

import torch
from mpopt.evaluation.evaluate import op

# -- attention -------------------------------------------------------------------------


def heads(x, count):
    """[B, H, S, D] of either layout."""
    if x.dim() != 3 or not count:
        return x
    return x.reshape(*x.shape[:2], count, -1).transpose(1, 2)


@op
def attention(a, query, key, value, mask=None, bias=None, past_key=None, past_value=None, lengths=None, sink=None):
    count = a.get("num_heads", 0)
    groups = a.get("kv_num_heads", 0) or count
    q, k, v = heads(query, count), heads(key, groups), heads(value, groups)
    before = 0
    if past_key is not None:
        before = past_key.shape[-2]
        k, v = torch.cat([past_key, k], -2), torch.cat([past_value, v], -2)
    if q.dim() == 4 and k.shape[1] != q.shape[1]:
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    s = (a.get("scale", 0.0) or q.shape[-1] ** -0.5) * (q @ k.transpose(-1, -2))
    cap = a.get("softcap", 0.0)
    if cap > 0:
        s = cap * torch.tanh(s / cap)
    if mask is not None:
        s = torch.where(mask, s, s + a.get("mask_value", -math.inf)) if mask.dtype == torch.bool else s + mask
    if bias is not None:
        s = s + bias
    i, j = torch.arange(s.shape[-2])[:, None], torch.arange(s.shape[-1])[None]
    here = i + (s.shape[-1] - s.shape[-2] if a.get("causal_end") else before)
    hidden = torch.zeros(s.shape[-2:], dtype=torch.bool)
    if a.get("is_causal"):
        hidden |= j > here
    if a.get("left_window", -1) >= 0:
        hidden |= j < here - a["left_window"]
    if a.get("right_window", -1) >= 0:
        hidden |= j > here + a["right_window"]
    s = s.masked_fill(hidden, -math.inf)
    if lengths is not None:
        s = s.masked_fill(j >= lengths.reshape(-1, 1, 1, 1), -math.inf)
    if sink is not None or a.get("smooth_softmax"):
        extra = (torch.zeros(s.shape[1], dtype=s.dtype) if sink is None else sink).reshape(1, -1, 1, 1)
        p = torch.softmax(torch.cat([s, extra.expand(*s.shape[:-1], 1)], -1), -1)[..., :-1]
    else:
        p = torch.softmax(s, -1)
    y = p @ v
    return y.transpose(1, 2).flatten(2) if query.dim() == 3 and count else y


@op
def rotary_embedding(a, x, cos, sin, positions=None):
    count = a.get("num_heads", 0)
    y = heads(x, count)
    width = a.get("rotary_dim", 0) or y.shape[-1]
    if positions is not None:
        cos, sin = cos[positions], sin[positions]
    cos, sin = cos[:, None, :, :width // 2], sin[:, None, :, :width // 2]
    part, rest = y[..., :width], y[..., width:]
    if a.get("interleaved"):
        first, second = part[..., 0::2], part[..., 1::2]
    else:
        first, second = part.chunk(2, -1)
    turned = first * cos - second * sin, first * sin + second * cos
    part = torch.stack(turned, -1).flatten(-2) if a.get("interleaved") else torch.cat(turned, -1)
    made = torch.cat([part, rest], -1)
    return made.transpose(1, 2).flatten(2) if x.dim() == 3 and count else made

# -- recurrent networks ----------------------------------------------------------------

ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu, "Tanh": torch.tanh,
               "Sigmoid": torch.sigmoid, "Relu": torch.relu}


def sequence(a, x, w, r, bias, states, step):
    """Runs `step` over the steps and directions."""
    hidden, first = a["hidden_size"], bool(a.get("batch_first"))
    if first:
        x = x.transpose(0, 1)
    directions, batch = w.shape[0], x.shape[1]
    outputs, last = [], []
    for d in range(directions):
        state = [torch.zeros(batch, hidden, dtype=x.dtype) if s is None else (s[:, d] if first else s[d])
                 for s in states]
        b = torch.zeros(2 * w.shape[1], dtype=x.dtype) if bias is None else bias[d]
        backwards = a.get("direction", "forward") == "reverse" or d == 1
        steps = range(x.shape[0])[::-1] if backwards else range(x.shape[0])
        made = {}
        for t in steps:
            state = step(d, x[t], w[d], r[d], b, state)
            made[t] = state[0]
        outputs.append(torch.stack([made[t] for t in range(x.shape[0])]))
        last.append(state)
    y = torch.stack(outputs, 1)
    ends = [torch.stack([state[i] for state in last], 1 if first else 0) for i in range(len(states))]
    return [y.transpose(0, 2).transpose(1, 2) if first else y, *ends]


def functions(a, d, count):
    return [ACTIVATIONS[name] for name in a["activations"][d * count:(d + 1) * count]]


@op
def rnn(a, x, w, r, b=None, lengths=None, h=None):
    def step(d, x, w, r, b, state):
        half = w.shape[0]
        f, = functions(a, d, 1)
        return [f(x @ w.T + b[:half] + state[0] @ r.T + b[half:])]
    return sequence(a, x, w, r, b, [h], step)


@op
def lstm(a, x, w, r, b=None, lengths=None, h=None, c=None, peepholes=None):
    def step(d, x, w, r, b, state):
        f, g, k = functions(a, d, 3)
        i, o, u, z = (x @ w.T + b[:w.shape[0]] + state[0] @ r.T + b[w.shape[0]:]).chunk(4, -1)
        p = [0.0, 0.0, 0.0] if peepholes is None else peepholes[d].chunk(3)
        i = f(i + p[0] * state[1])
        u = 1 - i if a.get("input_forget") else f(u + p[2] * state[1])
        c = u * state[1] + i * g(z)
        return [f(o + p[1] * c) * k(c), c]
    return sequence(a, x, w, r, b, [h, c], step)


@op
def gru(a, x, w, r, b=None, lengths=None, h=None):
    def step(d, x, w, r, b, state):
        f, g = functions(a, d, 2)
        h, n = state[0], r.shape[0] // 3
        xz, xr, xh = (x @ w.T + b[:3 * n]).chunk(3, -1)
        z = f(xz + h @ r[:n].T + b[3 * n:4 * n])
        reset = f(xr + h @ r[n:2 * n].T + b[4 * n:5 * n])
        if a.get("linear_before_reset"):
            new = g(xh + reset * (h @ r[2 * n:].T + b[5 * n:]))
        else:
            new = g(xh + (reset * h) @ r[2 * n:].T + b[5 * n:])
        return [(1 - z) * new + z * h]
    return sequence(a, x, w, r, b, [h], step)


def gates(x, h, w, r, b, c):
    left, right = x @ w.T, h @ r.T
    return left if b is None else left + b, right if c is None else right + c


@op
def rnn_cell(a, x, h, w, r, b=None, c=None):
    left, right = gates(x, h, w, r, b, c)
    return ACTIVATIONS[a.get("activation", "tanh")](left + right)


@op
def lstm_cell(a, x, h, cell, w, r, b=None, c=None):
    left, right = gates(x, h, w, r, b, c)
    i, f, g, o = (left + right).chunk(4, -1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


@op
def gru_cell(a, x, h, w, r, b=None, c=None):
    left, right = (part.chunk(3, -1) for part in gates(x, h, w, r, b, c))
    reset, update = torch.sigmoid(left[0] + right[0]), torch.sigmoid(left[1] + right[1])
    new = torch.tanh(left[2] + reset * right[2])
    return (1 - update) * new + update * h

# -- quantisation ----------------------------------------------------------------------


class Straight(torch.autograd.Function):
    """Rounded values whose gradient goes through."""

    @staticmethod
    def forward(ctx, x, rounded, inside):
        ctx.save_for_backward(inside)
        return rounded.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0], None, None


@op
def quantize(a, x, scale, zero=None):
    zero = 0 if zero is None else zero
    code = torch.round(x / scale) + zero
    rounded = torch.clamp(code, -128, 127)
    # In floats, so that a gradient goes through; the type says i8.
    return Straight.apply(x, rounded, code == rounded)


@op
def dequantize(a, x, scale, zero=None):
    return Straight.apply(x, (x.detach() - (0 if zero is None else zero)) * scale, torch.ones_like(x))


@op
def fake_quantize(a, x, scale, zero=None):
    zero = torch.zeros_like(scale, dtype=torch.int32) if zero is None else zero.to(torch.int32)
    if "axis" in a:
        return torch.fake_quantize_per_channel_affine(x.float(), scale.float(), zero, a["axis"], a["quant_min"],
                                                      a["quant_max"]).double()
    return torch.fake_quantize_per_tensor_affine(x.float(), scale.float(), zero, a["quant_min"],
                                                 a["quant_max"]).double()


# -- regions and samples ---------------------------------------------------------------


def bilinear(image, rows, columns):
    """[C, H, W] at positions, 0 outside, as the kernels of regions and deformed taps have it."""
    height, width = image.shape[1:]
    made = 0
    top, left = rows.detach().floor(), columns.detach().floor()
    for y in (top, top + 1):
        for x in (left, left + 1):
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            place = y.clamp(0, height - 1).long() * width + x.clamp(0, width - 1).long()
            weight = (1 - (rows - y).abs()) * (1 - (columns - x).abs()) * inside
            made = made + image.flatten(1)[:, place.flatten()].reshape(-1, *place.shape) * weight
    return made


@op
def roi_align(a, x, rois, batch):
    height, width, per = a["output_height"], a["output_width"], a["sampling_ratio"]
    half, scale, made = 0.5 if a.get("half_pixel", True) else 0.0, a.get("spatial_scale", 1.0), []
    for (x1, y1, x2, y2), image in zip(rois.tolist(), x[batch]):
        top, left = y1 * scale - half, x1 * scale - half
        steps = [(end - start) * scale / size for start, end, size in ((y1, y2, height), (x1, x2, width))]
        lines = [first + (torch.arange(size * per) + 0.5) * step / per
                 for first, size, step in ((top, height, steps[0]), (left, width, steps[1]))]
        # A sample up to one element outside counts as on the border.
        rows, columns = (line.clamp(0, dim - 1) for line, dim in zip(lines, x.shape[2:]))
        sampled = bilinear(image, *torch.meshgrid(rows, columns, indexing="ij"))
        made.append(sampled.reshape(-1, height, per, width, per).mean((2, 4)))
    return torch.stack(made)


@op
def max_roi_pool(a, x, rois):
    height, width = a["pooled_shape"]
    made = []
    for batch, x1, y1, x2, y2 in (rois * torch.tensor([1, *[a.get("spatial_scale", 1.0)] * 4])).tolist():
        part = x[int(batch), :, round(y1):round(y2) + 1, round(x1):round(x2) + 1]
        bins = [[slice(math.floor(i * dim / size), math.ceil((i + 1) * dim / size)) for i in range(size)]
                for dim, size in zip(part.shape[1:], (height, width))]
        made.append(torch.stack([torch.stack([part[:, rows, columns].flatten(1).max(1).values for columns in bins[1]],
                                             1) for rows in bins[0]], 1))
    return torch.stack(made)


@op
def stft(a, signal, step, window=None, length=None):
    size = len(window) if length is None else int(length)
    frames = signal[..., 0].unfold(1, size, int(step))
    frames = frames if window is None else frames * window
    return torch.view_as_real((torch.fft.rfft if a.get("onesided", True) else torch.fft.fft)(frames))


@op
def deform_conv(a, x, w, offset, b=None, mask=None):
    kernel, (strides, dilations, pads) = w.shape[2:], (a[key] for key in ("strides", "dilations", "pads"))
    groups, parts, taps = a.get("group", 1), a.get("offset_group", 1), kernel[0] * kernel[1]
    n, c, (height, width) = x.shape[0], x.shape[1], offset.shape[2:]
    moved = offset.reshape(n, parts, taps, 2, height, width)
    rows, columns = torch.meshgrid(torch.arange(height) * strides[0] - pads[0],
                                   torch.arange(width) * strides[1] - pads[1], indexing="ij")
    batches = []
    for i in range(n):
        sampled = []
        for part in range(parts):
            image = x[i, part * c // parts:(part + 1) * c // parts]
            for tap in range(taps):
                y, z = divmod(tap, kernel[1])
                value = bilinear(image, rows + y * dilations[0] + moved[i, part, tap, 0],
                                 columns + z * dilations[1] + moved[i, part, tap, 1])
                scale = 1 if mask is None else mask.reshape(n, parts, taps, height, width)[i, part, tap]
                sampled.append(value * scale)
        batches.append(torch.cat([torch.stack(sampled[p * taps:(p + 1) * taps], 1) for p in range(parts)]))
    columns = torch.stack(batches).reshape(n, groups, c // groups * taps, height, width)
    made = torch.einsum("ngkhw,gmk->ngmhw", columns, w.reshape(groups, w.shape[0] // groups, -1)).flatten(1, 2)
    return made if b is None else made + b.reshape(1, -1, 1, 1)
