"""Products, movement, reductions and linear maps, of formulas.py."""

import math

import numpy as np
from formulas import FORMULAS, by_linearity, fixed, formula, window

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
        from mpopt.evaluation import evaluate
        import torch

        rest = [None if part is None else torch.as_tensor(part) for part in others]
        return by_linearity(lambda a, x: evaluate.FORWARD[f"mp.{name}"](a, x, *rest), a, x, g)
    FORMULAS[f"mp.{name}_grad"] = run


for _name in ("pad", "resize", "dft", "stft", "roi_align"):
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
