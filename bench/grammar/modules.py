"""Networks in PyTorch: stems (the declared inputs, a module of them and its signal), heads (modules of vectors), weights."""

from __future__ import annotations

import math

import torch
from draws import Draw, Input
from layers import TURNS, Block, Signal, make_layer, pool, tensor
from torch import nn
from torch.nn import functional as F


def audio(d: Draw) -> tuple[list[Input], nn.Module, Signal]:
    t, c, loud = d.pick((256, 512, 1024)), d.pick((8, 16, 32)), d.pick((0.01, 0.1, 0.3, 1000.0, 4000.0))
    f = d.pick((lambda x: x, lambda x: x, lambda x: x / loud,
                lambda x: (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + 1e-7)))
    stride = d.pick((2, 4, 8))
    return [d.normal((1, 1, t), 0.0, loud)], Block(lambda m, x: m.a(f(x)), a=nn.Conv1d(1, c, 2 * stride, stride)), Signal(
        "wave", c, ((t - 2 * stride) // stride + 1,))


def image(d: Draw) -> tuple[list[Input], nn.Module, Signal]:
    n, c, patch = d.pick((16, 32)), d.pick((8, 16, 32)), d.pick((1, 2, 4))
    mean, std = d.pick(((0.0, 1.0), (0.5, 0.3), (127.5, 73.6), (1200.0, 600.0)))
    scaled = mean < 100 or d.chance(0.7)
    value = Input((1, 3, n, n), 0.0, 255.0) if mean == 127.5 else d.normal((1, 3, n, n), mean, std)
    a, b = (mean, std) if scaled and d.chance(0.7) else (0.0, 1.0)
    return [value], Block(lambda m, x: m.a((x - a) / b), a=nn.Conv2d(3, c, patch, patch)), Signal("img", c, (n // patch,) * 2)


def tokens(d: Draw) -> tuple[list[Input], nn.Module, Signal]:
    t, c, words = d.pick((8, 16, 32)), d.pick((16, 32, 64, 128)), 256
    large = d.pick((1.0, 1.0, c**0.5))
    value = Input((1, t), 0, words - 1, integer=True)
    return [value], Block(lambda m, x: large * m.word(x) + m.place, word=nn.Embedding(words, c),
                          place=tensor(d, t, c, scale=0.5)), Signal("seq", c, (t,))


def table(d: Draw) -> tuple[list[Input], nn.Module, Signal]:
    n, c = d.whole(6, 48), d.pick((16, 32, 64))
    mean = d.pick((0.0, 0.0, 1.0, 20.0, 300.0, 2020.0))
    std = d.pick((1.0, max(1.0, 0.3 * mean), max(0.1, 0.01 * mean)))
    form = d.pick(("raw", "scaled", "scaled", "log", "factors"))

    def read(m, x):
        if form == "factors":
            y = x @ m.v
            return m.a(x) + 0.5 * (y * y - (x * x) @ (m.v * m.v))
        return m.a({"raw": x, "scaled": (x - mean) / std, "log": torch.log1p(F.relu(x))}[form])
    return [d.normal((2, n), mean, std)], Block(read, a=nn.Linear(n, c), v=tensor(d, n, c, scale=n**-0.5)), Signal("vec", c)


def points(d: Draw) -> tuple[list[Input], nn.Module, Signal]:
    """Atoms or scans: pairwise distances, a radial basis and sums over neighbours, or coordinates as they are."""
    n, c, eps = d.pick((12, 24, 48)), d.pick((16, 32, 64)), d.epsilon()
    size, form = d.pick((1.0, 5.0, 50.0, 800.0)), d.pick(("raw", "centred", "radial", "radial", "cdist"))
    centre = d.pick((0.0, 0.0, 10 * size))

    def read(m, x):
        if form in ("raw", "centred"):
            return m.a(x if form == "raw" else x - x.mean(1, keepdim=True))
        if form == "cdist":
            squares = (x * x).sum(-1)
            apart = (squares[:, :, None] + squares[:, None] - 2 * x @ x.transpose(1, 2)).clamp(min=eps).sqrt()
        else:
            apart = ((x[:, :, None] - x[:, None]).square().sum(-1) + eps).sqrt()
        return m.b(torch.exp(-m.sharp * (apart[..., None] / size - m.at) ** 2).sum(2))
    return [d.normal((1, n, 3), centre, size)], Block(read, a=nn.Linear(3, c), b=nn.Linear(16, c), at=torch.linspace(0, 5, 16),
                                                      sharp=torch.tensor(d.pick((1.0, 4.0, 30.0)))), Signal("seq", c, (n,))


def pairs(d: Draw) -> tuple[list[Input], nn.Module, Signal]:
    """Two inputs: tokens of features and which of them are there."""
    t, c = d.pick((8, 16, 32)), d.pick((16, 32, 64))
    form, eps = d.pick(("product", "mean", "where")), d.epsilon()

    def read(m, x, there):
        there = there.float()[..., None]
        y = m.a(x)
        if form == "mean":
            return y - (y * there).sum(1, keepdim=True) / (there.sum(1, keepdim=True) + eps)
        return y * there if form == "product" else torch.where(there > 0, y, m.absent)
    std = d.pick((1.0, 1.0, 30.0))
    return [d.normal((1, t, 24), d.pick((0.0, 2 * std)), std), Input((1, t), 0, 1, integer=True)], Block(
        read, a=nn.Linear(24, c), absent=tensor(d, c)), Signal("seq", c, (t,))


STEMS = (audio, image, tokens, table, points, pairs)


def classes(d: Draw, c: int) -> nn.Module:
    f = d.pick((lambda x: x, lambda x: x, lambda x: torch.softmax(x, -1), lambda x: torch.log_softmax(x, -1), torch.sigmoid,
                lambda x: torch.log(torch.softmax(x, -1) + 1e-9),
                lambda x: -(torch.softmax(x, -1) * torch.log_softmax(x, -1)).sum(-1)))
    return Block(lambda m, x: f(m.a(x)), a=nn.Linear(c, d.pick((2, 10, 100))))


def prototypes(d: Draw, c: int) -> nn.Module:
    f = d.pick((lambda y: y, lambda y: torch.sqrt(y + 1e-8), lambda y: torch.softmax(-y, -1), lambda y: 1 / (1 + y)))
    return Block(lambda m, x: f((m.a(x)[:, None] - m.at).pow(2).sum(-1)), a=nn.Linear(c, c), at=tensor(d, 12, c))


def cosines(d: Draw, c: int) -> nn.Module:
    heat, eps = d.pick((1.0, 14.3, 100.0)), d.epsilon()
    f = d.pick((lambda y: y, lambda y: torch.softmax(y, -1)))
    return Block(lambda m, x: f(heat * F.normalize(x, dim=-1, eps=eps) @ m.at), at=F.normalize(tensor(d, c, 12), dim=0))


def box(d: Draw, c: int) -> nn.Module:
    size = d.pick((1.0, 64.0, 640.0, 4096.0))

    def decode(m, x):
        at, extent = m.a(x).unflatten(-1, (-1, 4)).chunk(2, -1)
        centre, extent = size * torch.sigmoid(at), torch.exp(extent) * size / 8
        return torch.cat([centre - extent / 2, centre + extent / 2], -1)
    return Block(decode, a=nn.Linear(c, 32))


def mixture(d: Draw, c: int) -> nn.Module:
    """The log-likelihood of a point under a mixture of normal distributions, or its parameters."""
    whole, floor = d.chance(0.5), d.epsilon()
    spread = d.pick((torch.exp, F.softplus, lambda x: torch.exp(x.clamp(-7, 2))))

    def decode(m, x):
        weight, at, width = m.a(x).chunk(3, -1)
        width = spread(width) + floor
        if not whole:
            return torch.cat([torch.softmax(weight, -1), at, width], -1)
        return torch.logsumexp(torch.log_softmax(weight, -1) - ((1 - at) / width) ** 2 / 2 - torch.log(width), -1)
    return Block(decode, a=nn.Linear(c, 24))


def rate(d: Draw, c: int) -> nn.Module:
    f = d.pick((torch.exp, lambda x: torch.exp(x) - 1, F.softplus, lambda x: torch.cumsum(F.softplus(x), -1),
                lambda x: torch.exp(-F.softplus(x).cumsum(-1))))
    return Block(lambda m, x: f(m.a(x)), a=nn.Linear(c, d.pick((1, 8, 64))))


def energy(d: Draw, c: int) -> nn.Module:
    shift = d.pick((0.0, 0.0, -100.0, 1000.0))
    return Block(lambda m, x: m.b(F.silu(m.a(x))).sum(-1) + shift, a=nn.Linear(c, c), b=nn.Linear(c, 64))


HEADS = (classes, prototypes, cosines, box, mixture, rate, energy)


def fill(d: Draw, network: nn.Module) -> None:
    """Weights in the network's style; tensors of other modules stay as their productions made them."""
    with torch.no_grad():
        for module in network.modules():
            named = dict(module.named_parameters(recurse=False))
            if isinstance(module, (nn.LSTM, nn.GRU)):
                named = {name: p for name, p in named.items() if "weight" in name}
            for name, p in named.items():
                scales = isinstance(module, (nn.LayerNorm, nn.GroupNorm, nn.modules.batchnorm._NormBase))
                transposed = isinstance(module, nn.modules.conv._ConvTransposeNd)
                fan = p[0].numel() if p.dim() > 1 and not transposed else p.numel() // p.shape[0] // 4 or 1
                values = (d.weight(p.shape, 1 if isinstance(module, nn.Embedding) else fan) if p.dim() > 1
                          else d.scales(len(p)) if scales and name == "weight" else d.biases(len(p)))
                p.copy_(torch.from_numpy(values))


def settle(d: Draw, network: nn.Module, inputs: list[Input]) -> None:
    """Running statistics of batch norms by a pass of data, one norm after another as each moves what the next reads."""
    norms = [m for m in network.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    network.eval()
    for module in norms:
        module.momentum = None
        module.reset_running_stats()
        module.train()
        for _ in range(4):
            network(*(torch.from_numpy(value.sample(d.rng)) for value in inputs))
        module.eval()


def build(d: Draw) -> tuple[nn.Module, list[Input], list[str]]:
    """A network, its inputs and the productions that it is made of."""
    torch.manual_seed(int(d.rng.integers(2**31)))
    first = d.pick(STEMS)
    inputs, module, s = first(d)
    modules, names = [module], [first.__name__]
    for _ in range(d.whole(2, 28)):
        if (d.chance(0.12) and s.kind != "vec" or d.chance(0.04)) and math.prod(s.size) <= 1024:
            turn = d.pick(TURNS[s.kind])
            module, s = turn(d, s)
            names.append(turn.__name__)
        else:
            module = make_layer(d, s)
            names.append("/".join(m.production for m in module.modules() if hasattr(m, "production")))
        modules.append(module)
    if s.kind != "vec" and d.chance(0.8):
        module, s = pool(d, s)
        modules.append(module)
        names.append("pool")
    last = d.pick(HEADS)
    if s.axis == 1:
        modules.append(Block(lambda m, x: x.flatten(2).transpose(1, 2)))
    if s.kind != "vec" and last is prototypes:
        last = classes
    modules.append(last(d, s.channels))
    network = nn.Sequential(*modules[1:])
    network = Block(lambda m, *x: m.rest(m.stem(*x)), stem=modules[0], rest=network)
    fill(d, network)
    settle(d, network, inputs)
    return network, inputs, [*names, last.__name__]
