"""Attention and recurrent networks, of formulas.py."""

import numpy as np
from formulas import fit, formula, sigmoid

# -- attention -------------------------------------------------------------------------


@formula
def attention_grad(a, g, query, key, value, mask=None, bias=None, past_key=None, past_value=None, lengths=None,
                   sink=None):
    count, groups = a.get("num_heads", 0), a.get("kv_num_heads", 0) or a.get("num_heads", 0)
    flat = query.ndim == 3 and count

    def heads(x, n):
        return x if x.ndim != 3 or not n else x.reshape(*x.shape[:2], n, -1).swapaxes(1, 2)

    def together(x, like):
        return x.swapaxes(1, 2).reshape(like.shape) if like.ndim == 3 and count else x
    q, k, v, dy = heads(query, count), heads(key, groups), heads(value, groups), heads(g, count) if flat else g
    before = 0 if past_key is None else past_key.shape[-2]
    if before:
        k, v = np.concatenate([past_key, k], -2), np.concatenate([past_value, v], -2)
    repeat = q.shape[1] // k.shape[1] if q.ndim == 4 else 1
    k, v = (np.repeat(t, repeat, 1) if repeat > 1 else t for t in (k, v))
    scale = a.get("scale", 0.0) or q.shape[-1] ** -0.5
    raw = scale * (q @ k.swapaxes(-1, -2))
    cap = a.get("softcap", 0.0)
    s = cap * np.tanh(raw / cap) if cap else raw
    if mask is not None:
        s = np.where(mask, s, s + a.get("mask_value", -np.inf)) if mask.dtype == bool else s + mask
    s = s if bias is None else s + bias
    i, j = np.arange(s.shape[-2])[:, None], np.arange(s.shape[-1])[None]
    here = i + (s.shape[-1] - s.shape[-2] if a.get("causal_end") else before)
    hidden = np.zeros(s.shape[-2:], bool)
    hidden |= bool(a.get("is_causal")) & (j > here)
    if a.get("left_window", -1) >= 0:
        hidden |= j < here - a["left_window"]
    if a.get("right_window", -1) >= 0:
        hidden |= j > here + a["right_window"]
    s = np.where(hidden, -np.inf, s)
    if lengths is not None:
        s = np.where(j >= lengths.reshape(-1, 1, 1, 1), -np.inf, s)
    top = s.max(-1, keepdims=True)
    extra = None
    if sink is not None or a.get("smooth_softmax"):
        extra = (np.zeros(s.shape[1]) if sink is None else sink).reshape(1, -1, 1, 1)
        top = np.maximum(top, extra)
    e = np.exp(s - top)
    rest = 0 if extra is None else np.exp(extra - top)
    p = e / (e.sum(-1, keepdims=True) + rest)
    # Gradients of the probabilities, of the scores behind softcap and mask, and before.
    dp = dy @ v.swapaxes(-1, -2)
    inner = np.sum(p * dp, -1, keepdims=True)
    ds = p * (dp - inner)
    dv = p.swapaxes(-1, -2) @ dy
    dsink = None if sink is None else np.sum(
        -inner * rest / (e.sum(-1, keepdims=True) + rest), (0, 2, 3))
    dmask = None if mask is None or mask.dtype == bool else fit(ds, mask.shape)
    dbias = None if bias is None else fit(ds, bias.shape)
    if cap:
        ds = ds * (1 - np.tanh(raw / cap) ** 2)
    dq, dk = scale * ds @ k, scale * ds.swapaxes(-1, -2) @ q
    if repeat > 1:
        dk, dv = (t.reshape(t.shape[0], -1, repeat, *t.shape[2:]).sum(2) for t in (dk, dv))
    if q.ndim != 4 or k.ndim != q.ndim:
        dq, dk, dv = fit(dq, q.shape), fit(dk, k.shape), fit(dv, v.shape)
    old = slice(None, before), slice(before, None)
    return (together(dq, query), together(dk[..., old[1], :], key), together(dv[..., old[1], :], value), dmask, dbias,
            dk[..., old[0], :] if before else None, dv[..., old[0], :] if before else None, None, dsink)

# -- recurrent networks ----------------------------------------------------------------

# Each function and its slope by its own value.
FUNCTIONS = {"tanh": (np.tanh, lambda y: 1 - y * y), "sigmoid": (sigmoid, lambda y: y * (1 - y)),
             "relu": (lambda x: np.maximum(x, 0), lambda y: (y > 0) * 1.0)}


def pair(name):
    return FUNCTIONS[name.lower()]


def through_time(a, grads, x, w, r, bias, initial, forward, backward):
    """Both passes over the steps of each direction. `forward` gives the next states and
    what `backward` needs of the step; that gives the gradients of the gates' inputs from x
    and from h, and of the states."""
    first = bool(a.get("batch_first"))
    grads = list(grads)
    if first:
        x = x.swapaxes(0, 1)
        grads[0] = None if grads[0] is None else grads[0].transpose(1, 2, 0, 3)
        grads[1:] = [None if g is None else g.swapaxes(0, 1) for g in grads[1:]]
        initial = [None if s is None else s.swapaxes(0, 1) for s in initial]
    steps, batch, hidden = x.shape[0], x.shape[1], a["hidden_size"]
    dx, dw, dr = np.zeros_like(x), np.zeros_like(w), np.zeros_like(r)
    db = np.zeros((w.shape[0], 2 * w.shape[1]))
    dinitial = [np.zeros((w.shape[0], batch, hidden)) for _ in initial]
    for d in range(w.shape[0]):
        b = np.zeros(2 * w.shape[1]) if bias is None else bias[d]
        half, kept = w.shape[1], []
        state = [np.zeros((batch, hidden)) if s is None else s[d] for s in initial]
        backwards = a.get("direction", "forward") == "reverse" or d == 1
        order = range(steps)[::-1] if backwards else range(steps)
        for t in order:
            before = state
            state, needed = forward(d, x[t] @ w[d].T + b[:half], b[half:], r[d], before)
            kept.append((t, before, needed))
        ds = [np.zeros((batch, hidden)) if g is None else g[d].copy() for g in grads[1:]]
        for t, before, needed in reversed(kept):
            if grads[0] is not None:
                ds[0] = ds[0] + grads[0][t, d]
            gates, recurrent, step_dr, ds = backward(d, r[d], before, needed, ds)
            dx[t] += gates @ w[d]
            dw[d] += gates.T @ x[t]
            dr[d] += step_dr
            db[d] += np.concatenate([gates.sum(0), recurrent.sum(0)])
        for made, value in zip(dinitial, ds):
            made[d] = value
    if first:
        dx, dinitial = dx.swapaxes(0, 1), [value.swapaxes(0, 1) for value in dinitial]
    return dx, dw, dr, db, dinitial


@formula
def rnn_grad(a, grads, x, w, r, bias=None, lengths=None, h=None):
    def forward(d, left, b, r, state):
        y = pair(a["activations"][d])[0](left + state[0] @ r.T + b)
        return [y], y

    def backward(d, r, before, y, ds):
        gates = ds[0] * pair(a["activations"][d])[1](y)
        return gates, gates, gates.T @ before[0], [gates @ r]
    dx, dw, dr, db, (dh,) = through_time(a, grads, x, w, r, bias, [h], forward, backward)
    return dx, dw, dr, db, None, dh


@formula
def lstm_grad(a, grads, x, w, r, bias=None, lengths=None, h=None, c=None, peepholes=None):
    dp = np.zeros((w.shape[0], 3 * a["hidden_size"]))

    def peep(d):
        return np.zeros((3, a["hidden_size"])) if peepholes is None else peepholes[d].reshape(3, -1)

    def forward(d, left, b, r, state):
        f, g, k = (pair(name)[0] for name in a["activations"][3 * d:3 * d + 3])
        i, o, u, z = np.split(left + state[0] @ r.T + b, 4, -1)
        p = peep(d)
        i = f(i + p[0] * state[1])
        u = 1 - i if a.get("input_forget") else f(u + p[2] * state[1])
        z = g(z)
        cell = u * state[1] + i * z
        o = f(o + p[1] * cell)
        return [o * k(cell), cell], (i, o, u, z, cell, k(cell))

    def backward(d, r, before, needed, ds):
        f, g, k = (pair(name)[1] for name in a["activations"][3 * d:3 * d + 3])
        i, o, u, z, cell, y = needed
        p = peep(d)
        do = ds[0] * y * f(o)
        dc = ds[1] + ds[0] * o * k(y) + do * p[1]
        di, du = dc * z, dc * before[1]
        if a.get("input_forget"):
            di, du = (di - du) * f(i), np.zeros_like(di)
        else:
            di, du = di * f(i), du * f(u)
        gates = np.concatenate([di, do, du, dc * i * g(z)], -1)
        dp[d] += np.concatenate([(di * before[1]).sum(0), (do * cell).sum(0), (du * before[1]).sum(0)])
        return gates, gates, gates.T @ before[0], [gates @ r, dc * u + di * p[0] + du * p[2]]
    dx, dw, dr, db, (dh, dc) = through_time(a, grads, x, w, r, bias, [h, c], forward, backward)
    return dx, dw, dr, db, None, dh, dc, dp


@formula
def gru_grad(a, grads, x, w, r, bias=None, lengths=None, h=None):
    n, late = a["hidden_size"], bool(a.get("linear_before_reset"))

    def forward(d, left, b, r, state):
        f, g = (pair(name)[0] for name in a["activations"][2 * d:2 * d + 2])
        xz, xr, xh = np.split(left, 3, -1)
        z = f(xz + state[0] @ r[:n].T + b[:n])
        reset = f(xr + state[0] @ r[n:2 * n].T + b[n:2 * n])
        inner = state[0] @ r[2 * n:].T + b[2 * n:] if late else None
        new = g(xh + (reset * inner if late else (reset * state[0]) @ r[2 * n:].T + b[2 * n:]))
        return [(1 - z) * new + z * state[0]], (z, reset, new, inner)

    def backward(d, r, before, needed, ds):
        f, g = (pair(name)[1] for name in a["activations"][2 * d:2 * d + 2])
        (z, reset, new, inner), (dy,), old = needed, ds, before[0]
        dz, dn = dy * (old - new) * f(z), dy * (1 - z) * g(new)
        if late:
            dreset, dinner, source = dn * inner * f(reset), dn * reset, old
            dold = dinner @ r[2 * n:]
        else:
            back = dn @ r[2 * n:]
            dreset, dinner, source, dold = back * old * f(reset), dn, reset * old, back * reset
        gates = np.concatenate([dz, dreset, dn], -1)
        recurrent = np.concatenate([dz, dreset, dinner], -1)
        step = np.concatenate([dz.T @ old, dreset.T @ old, dinner.T @ source])
        return gates, recurrent, step, [dy * z + dold + dz @ r[:n] + dreset @ r[n:2 * n]]
    dx, dw, dr, db, (dh,) = through_time(a, grads, x, w, r, bias, [h], forward, backward)
    return dx, dw, dr, db, None, dh


def cell_parts(x, h, w, r, b, c):
    return (x @ w.T + (0 if b is None else b), h @ r.T + (0 if c is None else c))


def cell_gradients(gates, recurrent, x, h, w, r):
    return gates @ w, recurrent @ r, gates.T @ x, recurrent.T @ h, gates.sum(0), recurrent.sum(0)


@formula
def rnn_cell_grad(a, g, x, h, w, r, b=None, c=None):
    function, slope = pair(a.get("activation", "tanh"))
    gates = g * slope(function(sum(cell_parts(x, h, w, r, b, c))))
    return cell_gradients(gates, gates, x, h, w, r)


@formula
def lstm_cell_grad(a, grads, x, h, cell, w, r, b=None, c=None):
    i, f, z, o = np.split(sum(cell_parts(x, h, w, r, b, c)), 4, -1)
    i, f, z, o = sigmoid(i), sigmoid(f), np.tanh(z), sigmoid(o)
    y = np.tanh(f * cell + i * z)
    dh, dc = (np.zeros_like(cell) if g is None else g for g in grads)
    dc = dc + dh * o * (1 - y * y)
    gates = np.concatenate([dc * z * i * (1 - i), dc * cell * f * (1 - f), dc * i * (1 - z * z),
                            dh * y * o * (1 - o)], -1)
    dx, dold, *rest = cell_gradients(gates, gates, x, h, w, r)
    return dx, dold, dc * f, *rest


@formula
def gru_cell_grad(a, g, x, h, w, r, b=None, c=None):
    left, right = cell_parts(x, h, w, r, b, c)
    (xr, xz, xn), (hr, hz, hn) = np.split(left, 3, -1), np.split(right, 3, -1)
    reset, update = sigmoid(xr + hr), sigmoid(xz + hz)
    new = np.tanh(xn + reset * hn)
    dn, dz = g * (1 - update) * (1 - new * new), g * (h - new) * update * (1 - update)
    dr = dn * hn * reset * (1 - reset)
    dx, dold, *rest = cell_gradients(np.concatenate([dr, dz, dn], -1), np.concatenate([dr, dz, dn * reset], -1),
                                     x, h, w, r)
    return dx, dold + g * update, *rest
