"""Productions in PyTorch: functions from a signal to a module and the signal that it gives.

A signal is a batch of token sequences `seq` [B, T, C], images `img` [B, C, H, W], waves `wave` [B, C, T] or vectors
`vec` [B, C].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from draws import Draw
from torch import nn
from torch.nn import functional as F


class Signal(NamedTuple):
    kind: str
    channels: int
    size: tuple[int, ...] = ()

    @property
    def axis(self) -> int:
        return 1 if self.kind in ("img", "wave") else -1

    @property
    def space(self) -> tuple[int, ...]:
        """The axes of positions."""
        return {"seq": (1,), "img": (2, 3), "wave": (2,), "vec": ()}[self.kind]


class Block(nn.Module):
    """Parts, and a function of them and the signal."""

    def __init__(self, function: Callable, **parts) -> None:
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.register_buffer(name, part) if isinstance(part, torch.Tensor) else setattr(self, name, part)

    def forward(self, *x: torch.Tensor) -> torch.Tensor:
        return self.function(self, *x)


LAYERS: dict[str, list[Callable]] = {"seq": [], "img": [], "wave": [], "vec": []}  # keep the signal's shape
TURNS: dict[str, list[Callable]] = {"seq": [], "img": [], "wave": [], "vec": []}   # give another signal


def layer(kinds: str, weight: int = 1, table: dict[str, list[Callable]] = LAYERS) -> Callable:
    def add(function: Callable) -> Callable:
        for kind in kinds.split():
            table[kind] += [function] * weight
        return function
    return add


def mix(s: Signal, a: int, b: int, bias: bool = True) -> nn.Module:
    """A linear function of the channels of each position."""
    return {"img": nn.Conv2d, "wave": nn.Conv1d}[s.kind](a, b, 1, bias=bias) if s.axis == 1 else nn.Linear(a, b, bias)


def tensor(d: Draw, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return torch.from_numpy(scale * d.rng.standard_normal(shape)).float()


def mean_pool(s: Signal, x: torch.Tensor) -> torch.Tensor:
    return x.mean(s.space) if s.space else x


# --- functions of one element ---------------------------------------------------------------------------------------

def activation(d: Draw) -> Callable:
    a = d.between(0.5, 4)
    return d.pick((F.relu, F.relu, F.gelu, F.gelu, F.silu, torch.tanh, F.softplus, F.mish, F.elu, F.hardswish, F.leaky_relu,
                   F.selu, torch.sigmoid, lambda x: F.gelu(x, approximate="tanh"), lambda x: F.relu(x) ** 2,
                   lambda x: x + torch.sin(a * x) ** 2 / a, lambda x: x * torch.sigmoid(1.702 * x),
                   lambda x: 0.5 * x * (1 + torch.erf(x / math.sqrt(2)))))


@layer("seq img wave vec")
def activate(d: Draw, s: Signal) -> nn.Module:
    f = activation(d)
    return Block(lambda m, x: f(x))


@layer("seq img wave vec")
def compress(d: Draw, s: Signal) -> nn.Module:
    """Dynamic range as front ends change it."""
    eps, p = d.epsilon(), d.pick((0.3, 0.5, 1.5, 2.0, 3.0))
    f = d.pick((lambda x: torch.log(x.abs() + eps), lambda x: torch.log1p(x.abs()), lambda x: x.sign() * x.abs() ** p,
                lambda x: torch.sqrt(x * x + eps), lambda x: (x * x + eps) ** (p / 4), lambda x: torch.exp(-x * x / 2),
                lambda x: torch.log(1 + torch.exp(x)), lambda x: x / (1 + x.abs()),
                lambda x: 10 * torch.log10((x * x).clamp(min=eps)), lambda x: torch.log(x + torch.sqrt(x * x + 1))))
    return Block(lambda m, x: f(x))


# --- norms ----------------------------------------------------------------------------------------------------------

def standardize(x: torch.Tensor, axes, eps: float, form: str) -> torch.Tensor:
    mean = x.mean(axes, keepdim=True)
    if form == "moments":
        return (x - mean) / torch.sqrt((x * x).mean(axes, keepdim=True) - mean * mean + eps)
    centred = x - mean
    square = centred.pow(2).mean(axes, keepdim=True)
    return centred / (square.sqrt() + eps) if form == "outside" else centred * torch.rsqrt(square + eps)


@layer("seq img wave vec", 2)
def norm(d: Draw, s: Signal) -> nn.Module:
    c, axis, eps = s.channels, s.axis, d.epsilon()
    groups = next(g for g in (4, 2, 1) if c % g == 0)
    form, axes = d.pick(("moments", "inside", "outside")), s.space if s.space and d.chance(0.4) else axis
    choices = [lambda: nn.LayerNorm(c, eps) if axis == -1 else nn.GroupNorm(groups, c, eps),
               lambda: Block(lambda m, x: x * torch.rsqrt(x.pow(2).mean(axis, keepdim=True) + eps)),
               lambda: Block(lambda m, x: x / (x.square().sum(axis, keepdim=True).sqrt() / c**0.5 + eps)),
               lambda: Block(lambda m, x: F.normalize(x, dim=axis, eps=eps) * c**0.5),
               lambda: Block(lambda m, x: standardize(x, axes, eps, form))]
    if axis == 1:
        batch = nn.BatchNorm2d if s.kind == "img" else nn.BatchNorm1d
        instance = nn.InstanceNorm2d if s.kind == "img" else nn.InstanceNorm1d
        choices += [lambda: batch(c, eps), lambda: batch(c), lambda: instance(c, max(eps, 1e-8), affine=True)]
    return d.pick(choices)()


@layer("seq img wave")
def share(d: Draw, s: Signal) -> nn.Module:
    """Positive values divided by their sum."""
    eps, axis, power = d.epsilon(), d.pick((s.axis, s.space[-1])), d.pick((1, 1, 2))
    count = s.channels if axis == s.axis else s.size[-1]
    f = d.pick((F.softplus, F.relu, torch.abs, torch.exp, torch.square))

    def divide(m, x):
        weights = f(x) ** power
        return weights / (weights.sum(axis, keepdim=True) + eps) * count
    return Block(divide)


@layer("img wave")
def response(d: Draw, s: Signal) -> nn.Module:
    """Global response normalisation."""
    eps = d.epsilon()

    def respond(m, x):
        g = torch.linalg.vector_norm(x, dim=s.space, keepdim=True)
        return m.gamma * (x * (g / (g.mean(1, keepdim=True) + eps))) + x
    return Block(respond, gamma=tensor(d, 1).abs() + 0.1)


# --- mixing of channels and positions --------------------------------------------------------------------------------

@layer("seq img wave vec", 2)
def perceptron(d: Draw, s: Signal) -> nn.Module:
    wide, f = s.channels * d.pick((1, 2, 4)), activation(d)
    return Block(lambda m, x: m.b(f(m.a(x))), a=mix(s, s.channels, wide), b=mix(s, wide, s.channels))


@layer("seq img wave vec")
def glu(d: Draw, s: Signal) -> nn.Module:
    wide, f = s.channels * d.pick((1, 2, 4)), d.pick((torch.sigmoid, F.silu, F.gelu, F.relu, lambda x: x, torch.exp))
    return Block(lambda m, x: m.c(f(m.a(x)) * m.b(x)), a=mix(s, s.channels, wide), b=mix(s, s.channels, wide, False),
                 c=mix(s, wide, s.channels))


@layer("seq img wave")
def squeeze(d: Draw, s: Signal) -> nn.Module:
    f = d.pick((torch.sigmoid, F.hardsigmoid, torch.tanh, torch.exp))
    v, few = Signal("vec", s.channels), max(2, s.channels // 4)
    shape = (-1, 1, s.channels) if s.kind == "seq" else (-1, s.channels) + (1,) * len(s.space)
    return Block(lambda m, x: x * f(m.b(F.relu(m.a(mean_pool(s, x))))).reshape(shape), a=mix(v, s.channels, few),
                 b=mix(v, few, s.channels))


@layer("seq vec")
def experts(d: Draw, s: Signal) -> nn.Module:
    count, f, chosen = d.pick((2, 4, 8)), activation(d), d.chance(0.5)

    def route(m, x):
        gates = torch.softmax(m.gate(x), -1)
        if chosen:
            gates = gates * (gates >= gates.topk(2, -1).values[..., -1:])
            gates = gates / gates.sum(-1, keepdim=True)
        return sum(gates[..., i:i + 1] * expert(x) for i, expert in enumerate(m.experts))

    def expert() -> nn.Module:
        return nn.Sequential(mix(s, s.channels, s.channels), Block(lambda m, x: f(x)), mix(s, s.channels, s.channels))
    return Block(route, gate=mix(s, s.channels, count), experts=nn.ModuleList(expert() for _ in range(count)))


def normalizer(d: Draw) -> Callable:
    """Scores to weights over the last axis."""
    eps = d.epsilon()
    return d.pick((lambda x: torch.softmax(x, -1), lambda x: torch.softmax(x, -1),
                   lambda x: torch.exp(x) / (torch.exp(x).sum(-1, keepdim=True) + eps),
                   lambda x: torch.exp(x - x.amax(-1, keepdim=True)) / torch.exp(x - x.amax(-1, keepdim=True)).sum(
                       -1, keepdim=True),
                   lambda x: torch.exp(x - torch.logsumexp(x, -1, keepdim=True)), lambda x: torch.sigmoid(x) / x.shape[-1],
                   lambda x: F.relu(x) ** 2 / x.shape[-1]))


def similarity(d: Draw, width: int) -> Callable:
    """Queries and keys to scores."""
    root, heat, eps = width**0.5, d.between(5, 100), d.epsilon()

    def distance(q, k):
        squares = (q * q).sum(-1)[..., :, None] + (k * k).sum(-1)[..., None, :]
        return squares - 2 * q @ k.transpose(-1, -2)
    return d.pick((lambda q, k: q @ k.transpose(-1, -2) / root, lambda q, k: (q / root) @ k.transpose(-1, -2),
                   lambda q, k: q @ k.transpose(-1, -2), lambda q, k: -distance(q, k) / root,
                   lambda q, k: heat * F.normalize(q, dim=-1, eps=eps) @ F.normalize(k, dim=-1, eps=eps).transpose(-1, -2),
                   lambda q, k: -torch.sqrt(distance(q, k).clamp(min=eps)),
                   lambda q, k: -(q[..., :, None, :] - k[..., None, :, :]).square().mean(-1)))


@layer("seq", 3)
def attention(d: Draw, s: Signal) -> nn.Module:
    c, heads, t = s.channels, d.pick([h for h in (1, 2, 4) if s.channels % h == 0]), s.size[0]
    score, weigh = similarity(d, c // heads), normalizer(d)
    low = d.pick((None, None, -1e4, -1e9, -math.inf, torch.finfo(torch.float32).min))
    bias = torch.zeros(t, t) if low is None else torch.full((t, t), low).triu(1)
    if d.chance(0.2):
        bias = bias - d.between(0.05, 1) * (torch.arange(t)[:, None] - torch.arange(t)).abs()
    fused = d.chance(0.25)

    def attend(m, x):
        q, k, v = (part(x).unflatten(-1, (heads, -1)).transpose(1, 2) for part in (m.q, m.k, m.v))
        if fused:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=m.bias)
        else:
            y = weigh(score(q, k) + m.bias if low or bias.any() else score(q, k)) @ v
        return m.o(y.transpose(1, 2).flatten(2))
    return Block(attend, bias=bias, **{name: nn.Linear(c, c, d.chance(0.5)) for name in "qkvo"})


@layer("seq", 2)
def linear_attention(d: Draw, s: Signal) -> nn.Module:
    eps, causal = d.epsilon(), d.chance(0.5)
    f = d.pick((lambda x: F.elu(x) + 1, torch.exp, F.relu, lambda x: torch.softmax(x, -1), torch.square))

    def attend(m, x):
        q, k, v = f(m.q(x)), f(m.k(x)), m.v(x)
        pairs = k[..., :, None] * v[..., None, :]
        pairs, total = (pairs.cumsum(1), k.cumsum(1)) if causal else (pairs.sum(1, True), k.sum(1, True))
        return (q[..., None, :] @ pairs)[..., 0, :] / ((q * total).sum(-1, keepdim=True) + eps)
    return Block(attend, **{name: nn.Linear(s.channels, s.channels) for name in "qkv"})


@layer("seq", 2)
def recurrence(d: Draw, s: Signal) -> nn.Module:
    form = d.pick(("lstm", "gru", "unrolled", "scan", "integrator"))
    c, t = s.channels, s.size[0]
    if form in ("lstm", "gru"):
        return Block(lambda m, x: m.cell(x)[0], cell={"lstm": nn.LSTM, "gru": nn.GRU}[form](c, c, batch_first=True))
    decay = torch.from_numpy(d.rng.uniform(0.01, d.pick((0.1, 0.5, 1.5)), c)).float()
    place = torch.arange(t)[:, None] * decay

    def unroll(m, x):
        state, states = torch.zeros_like(x[:, 0]), []
        for step in range(t):
            z = torch.sigmoid(m.z(x[:, step]) + m.r(state))
            state = (1 - z) * state + z * (torch.tanh(m.h(x[:, step])) if form == "unrolled" else m.h(x[:, step]))
            states.append(state)
        return torch.stack(states, 1)
    if form == "unrolled":
        return Block(unroll, **{name: nn.Linear(c, c) for name in "zrh"})
    if form == "scan":
        return Block(lambda m, x: torch.cumsum(m.h(x) * torch.exp(m.place), 1) * torch.exp(-m.place), h=nn.Linear(c, c),
                     place=place)
    return Block(lambda m, x: torch.cumsum(m.h(x), 1) / m.count, h=nn.Linear(c, c),
                 count=torch.arange(1.0, t + 1)[:, None] if d.chance(0.5) else torch.ones(1, 1))


@layer("seq")
def neighbours(d: Draw, s: Signal) -> nn.Module:
    """Messages weighted by a kernel of pairwise distances, normalised by degrees."""
    eps, width, form = d.epsilon(), d.between(0.5, 4) * s.channels, d.pick(("gauss", "inverse", "matrix"))

    def pass_messages(m, x):
        if form == "matrix":
            squares = (x * x).sum(-1)
            apart = squares[:, :, None] + squares[:, None, :] - 2 * x @ x.transpose(1, 2)
        else:
            apart = (x[:, :, None] - x[:, None]).pow(2).sum(-1)
        near = 1 / (apart / width + 1) if form == "inverse" else torch.exp(-apart / width)
        degree = torch.rsqrt(near.sum(-1, keepdim=True) + eps)
        return m.w(degree * (near @ (degree * x)))
    return Block(pass_messages, w=nn.Linear(s.channels, s.channels))


@layer("seq wave")
def spectrum_mix(d: Draw, s: Signal) -> nn.Module:
    """A filter by products with cosines and sines, or the mixing of tokens of FNet."""
    t = s.size[-1]
    angle = 2 * math.pi * torch.outer(torch.arange(t), torch.arange(t)) / t
    keep, dim = d.chance(0.5), -1 if s.kind == "wave" else -2

    def filter_waves(m, x):
        x = x if dim == -1 else x.transpose(-1, -2)
        real, imaginary = x @ m.cos, x @ m.sin
        y = (real * m.gain) @ m.cos / t + (imaginary * m.gain) @ m.sin / t if keep else real
        return y if dim == -1 else y.transpose(-1, -2)
    return Block(filter_waves, cos=angle.cos(), sin=angle.sin(), gain=tensor(d, t))


@layer("img wave", 4)
def convolve(d: Draw, s: Signal) -> nn.Module:
    c, k, f = s.channels, d.pick((3, 5, 7)), activation(d)
    conv = nn.Conv2d if s.kind == "img" else nn.Conv1d
    form, hole = d.pick(("plain", "plain", "depthwise", "gated")), d.pick((1, 1, 2))
    same = lambda groups, out: conv(c, out, k, padding=k // 2 * hole, dilation=hole, groups=groups)  # noqa: E731
    if form == "plain":
        return Block(lambda m, x: f(m.a(x)), a=same(1, c))
    if form == "depthwise":
        return Block(lambda m, x: m.b(f(m.a(x))), a=same(c, c), b=conv(c, c, 1))
    return Block(lambda m, x: m.b(torch.tanh(m.a(x)[:, :c]) * torch.sigmoid(m.a(x)[:, c:])), a=same(1, 2 * c), b=conv(c, c, 1))


def make_layer(d: Draw, s: Signal, nested: bool = False) -> nn.Module:
    function = d.pick([f for f in LAYERS[s.kind] if not nested or f not in (residual, activate, compress, norm)])
    made = function(d, s)
    made.production = function.__name__
    return made


@layer("seq img wave vec", 9)
def residual(d: Draw, s: Signal) -> nn.Module:
    inner, form = make_layer(d, s, nested=True), d.pick(("post", "scaled", "gated", "deep", "sandwich"))
    if d.chance(0.6):
        form = d.pick(("plain", "pre", "pre"))
    inner = nn.Sequential(norm(d, s), inner) if form in ("pre", "sandwich") else inner
    a, c = d.between(0.05, 1.5), s.channels
    last = norm(d, s) if form in ("post", "deep", "sandwich") else nn.Identity()
    if form == "gated":
        return Block(lambda m, x: x + torch.sigmoid(m.gate(x)) * m.f(x), f=inner, gate=mix(s, c, c))
    if form == "sandwich":
        return Block(lambda m, x: x + m.last(m.f(x)), f=inner, last=last)
    skip = 1 + a if form == "deep" else 1.0
    branch = a if form == "scaled" else 1.0
    return Block(lambda m, x: m.last(skip * x + branch * m.f(x)), f=inner, last=last)


# --- another size or kind -------------------------------------------------------------------------------------------

@layer("img wave", 3, TURNS)
def resample(d: Draw, s: Signal) -> tuple[nn.Module, Signal]:
    image, c = s.kind == "img", s.channels
    wide = min(64, d.pick((c, c, 2 * c)))
    down = min(s.size) >= 8 and d.chance(0.7)
    size = tuple(n // 2 if down else 2 * n for n in s.size)
    conv, up = (nn.Conv2d, nn.ConvTranspose2d) if image else (nn.Conv1d, nn.ConvTranspose1d)
    if down:
        choices = (lambda: conv(c, wide, 2, 2), lambda: conv(c, wide, 4, 2, 1),
                   lambda: nn.Sequential((nn.MaxPool2d if image else nn.MaxPool1d)(2), mix(s, c, wide)),
                   lambda: nn.Sequential((nn.AvgPool2d if image else nn.AvgPool1d)(2), mix(s, c, wide)))
    else:
        mode = d.pick(("nearest", "bilinear" if image else "linear"))
        choices = (lambda: up(c, wide, 2, 2), lambda: up(c, wide, 4, 2, 1),
                   lambda: nn.Sequential(nn.Upsample(scale_factor=2, mode=mode), mix(s, c, wide)))
    return d.pick(choices)(), Signal(s.kind, wide, size)


@layer("img wave", 1, TURNS)
def to_tokens(d: Draw, s: Signal) -> tuple[nn.Module, Signal]:
    return Block(lambda m, x: x.flatten(2).transpose(1, 2)), Signal("seq", s.channels, (math.prod(s.size),))


@layer("wave", 2, TURNS)
def spectrogram(d: Draw, s: Signal) -> tuple[nn.Module, Signal]:
    """Power of a windowed Fourier transform, bands and a logarithm."""
    window, step, eps, bands = 32, 16, d.epsilon(), 16
    if s.size[0] < 2 * window:
        return resample(d, s)
    n, k = torch.arange(window), torch.arange(window // 2)[:, None]
    hann = 0.5 - 0.5 * torch.cos(2 * math.pi * n / window)
    basis = torch.cat([torch.cos(2 * math.pi * k * n / window), -torch.sin(2 * math.pi * k * n / window)]) * hann
    mel = torch.from_numpy(d.rng.uniform(0, 1, (bands, window // 2)) ** 4).float()
    form = d.pick(("log", "log", "decibel", "root", "magnitude"))

    def transform(m, x):
        y = F.conv1d(x.mean(1, keepdim=True), m.basis[:, None], stride=step)
        power = m.mel @ (y[:, :window // 2] ** 2 + y[:, window // 2:] ** 2)
        return {"log": lambda: torch.log(power + eps), "decibel": lambda: 10 * torch.log10(power.clamp(min=eps)),
                "root": lambda: power ** 0.33, "magnitude": lambda: power.sqrt()}[form]()
    return Block(transform, basis=basis, mel=mel), Signal("wave", bands, ((s.size[0] - window) // step + 1,))


@layer("vec", 1, TURNS)
def to_features(d: Draw, s: Signal) -> tuple[nn.Module, Signal]:
    """A token for each number of a vector."""
    c = d.pick((8, 16, 32))
    return Block(lambda m, x: x[..., None] * m.w + m.b, w=tensor(d, s.channels, c), b=tensor(d, s.channels, c)), Signal(
        "seq", c, (s.channels,))


@layer("seq img wave", 2, TURNS)
def pool(d: Draw, s: Signal) -> tuple[nn.Module, Signal]:
    flat = lambda x: x if s.kind == "seq" else x.flatten(2).transpose(1, 2)  # noqa: E731
    eps, c, form = d.epsilon(), s.channels, d.pick(("mean", "max", "sum", "attention", "statistics", "power", "covariance"))
    v = Signal("vec", c)
    score = nn.Linear(c, 1)
    functions = {"mean": lambda m, x: flat(x).mean(1), "max": lambda m, x: flat(x).amax(1), "sum": lambda m, x: flat(x).sum(1),
                 "attention": lambda m, x: (torch.softmax(m.score(flat(x)), 1) * flat(x)).sum(1),
                 "power": lambda m, x: flat(x).clamp(min=eps).pow(3).mean(1).pow(1 / 3)}
    if form in functions:
        return Block(functions[form], score=score), v
    if form == "statistics":
        return Block(lambda m, x: m.w(torch.cat([flat(x).mean(1), (flat(x).var(1) + eps).sqrt()], -1)),
                     w=nn.Linear(2 * c, c)), v

    def covariance(m, x):
        y = flat(m.low(x))
        y = (y.transpose(1, 2) @ y).flatten(1)
        return m.w(F.normalize(y.sign() * (y.abs() + eps).sqrt(), dim=-1))
    return Block(covariance, low=mix(s, c, 8), w=nn.Linear(64, c)), v
