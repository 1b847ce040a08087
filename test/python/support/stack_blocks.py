"""Stacks of own modules: blocks whose norms are elsewhere, and whose tokens are mixed otherwise.

`Blocks` puts any mixer and a perceptron into residual blocks: norms before them (`pre`), after the
sum (`post`, the original Transformer), before and after (`sandwich`), or one norm before both
(`parallel`). A mixer averages over positions in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from stack_table import BATCH, VOCABULARY, Stack, Task, tokens
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LENGTH = 128, 4, 40


class Attention(nn.Module):
    """Of all positions, or of those before."""

    def __init__(self, causal: bool):
        super().__init__()
        self.causal = causal
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if self.causal:
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, -1))


class LinearAttention(nn.Module):
    """Sums of products of features, by what the features of the keys sum to (Katharopoulos, 2020)."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        q, k = F.elu(q) + 1, F.elu(k) + 1
        kept = torch.ones(length, length).tril()
        weights = (q @ k.transpose(-1, -2)) * kept
        mixed = weights @ v / weights.sum(-1, keepdim=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class Retention(nn.Module):
    """Products of queries and keys that decay with the distance, by head (RetNet)."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH // HEADS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        decay = 1 - 2.0 ** -(5 + torch.arange(HEADS, dtype=torch.float32))
        distance = torch.arange(length)[:, None] - torch.arange(length)[None]
        kept = torch.where(distance >= 0, decay[:, None, None] ** distance.clamp(min=0), 0.0)
        mixed = self.norm((q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) * kept) @ v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, -1))


class CumulativeMean(nn.Module):
    """The mean of the positions so far (average attention, Zhang 2018)."""

    def __init__(self):
        super().__init__()
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        count = torch.arange(1, x.shape[1] + 1, dtype=torch.float32)
        return self.out(self.value(x).cumsum(1) / count[:, None])


class Recurrence(nn.Module):
    """h = a h + (1 - a) u with a learned by channel and a gate, a loop over positions."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.decay = nn.Parameter(torch.linspace(-2.0, 4.0, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        value, gate = self.inner(x).chunk(2, -1)
        decay = self.decay.sigmoid()
        state, states = torch.zeros_like(value[:, 0]), []
        for position in range(x.shape[1]):
            state = decay * state + (1 - decay) * value[:, position]
            states.append(state)
        return self.out(torch.stack(states, 1) * F.silu(gate))


class Perceptron(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(WIDTH, 3 * WIDTH), nn.GELU(), nn.Linear(3 * WIDTH, WIDTH))


class SoftExperts(nn.Module):
    """Every expert sees every token; a softmax of the router weighs what they say."""

    def __init__(self, experts: int = 4):
        super().__init__()
        self.router = nn.Linear(WIDTH, experts)
        self.experts = nn.ModuleList(Perceptron() for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shares = self.router(x).softmax(-1)
        said = torch.stack([expert(x) for expert in self.experts], -1)
        return (said * shares.unsqueeze(-2)).sum(-1)


class Block(nn.Module):
    def __init__(self, mixer: nn.Module, inner: nn.Module, norms: str):
        super().__init__()
        self.mixer, self.inner, self.kind = mixer, inner, norms
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range({"parallel": 1, "sandwich": 4}.get(norms, 2)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.kind == "parallel":
            y = self.norms[0](x)
            return x + self.mixer(y) + self.inner(y)
        for i, part in enumerate((self.mixer, self.inner)):
            if self.kind == "post":
                x = self.norms[i](x + part(x))
            elif self.kind == "pre":
                x = x + part(self.norms[i](x))
            else:
                x = x + self.norms[2 + i](part(self.norms[i](x)))
        return x


def initialize(module: nn.Module) -> None:
    """Normal weights of deviation 0.02, as GPT-2 has them."""
    for part in module.modules():
        if isinstance(part, (nn.Linear, nn.Embedding)):
            nn.init.normal_(part.weight, std=0.02)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)


class Blocks(nn.Module):
    """A language model; `scale` of the embedding is sqrt(WIDTH) in the original Transformer."""

    def __init__(self, layers: int, mixer: Callable[[], nn.Module], norms: str = "pre",
                 inner: Callable[[], nn.Module] = Perceptron, scale: float = 1.0):
        super().__init__()
        self.scale = scale
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(mixer(), inner(), norms) for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        positions = torch.arange(LENGTH)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("positions", torch.stack([positions.sin(), positions.cos()], -1).flatten(1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) * self.scale + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def get_output_embeddings(self) -> nn.Module:
        return self.head


class Pooling(nn.Module):
    """The mean of a neighbourhood less the place itself (PoolFormer)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.avg_pool2d(x, 3, 1, 1, count_include_pad=False) - x


class PoolFormer(nn.Module):
    def __init__(self, layers: int, classes: int = 50):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 4, 4)
        self.mixers = nn.ModuleList(nn.ModuleList((nn.GroupNorm(1, WIDTH), Pooling())) for _ in range(layers))
        self.inner = nn.ModuleList(nn.Sequential(nn.GroupNorm(1, WIDTH), nn.Conv2d(WIDTH, 3 * WIDTH, 1), nn.GELU(),
                                                 nn.Conv2d(3 * WIDTH, WIDTH, 1)) for _ in range(layers))
        self.head = nn.Linear(WIDTH, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for (norm, pool), inner in zip(self.mixers, self.inner, strict=True):
            x = x + pool(norm(x))
            x = x + inner(x)
        return self.head(x.mean((2, 3)))


def pool_former(layers: int) -> Task:
    return Task(PoolFormer(layers), (torch.randn(BATCH, 3, 32, 32),), torch.randint(0, 50, (BATCH,)))


def blocks(name: str, group: str, mixer: Callable[[], nn.Module], variants: tuple[str, ...] = (),
           drawn: bool = False, **options) -> Stack:
    """`drawn`: with the initialisation of torch.nn in place of GPT-2's."""
    def make(layers: int) -> Task:
        net = Blocks(layers, mixer, **options)
        if not drawn:
            initialize(net)
        return Task(net, (tokens(LENGTH),), tokens(LENGTH))

    return Stack(name, group, make, variants)


def causal() -> Attention:
    return Attention(causal=True)


def full() -> Attention:
    return Attention(causal=False)


STACKS = [
    blocks("own-post", "post-norm", full, norms="post", scale=math.sqrt(WIDTH)),
    blocks("own-post-causal", "post-norm", causal, norms="post", drawn=True),
    blocks("own-sandwich", "sandwich", causal, norms="sandwich"),
    blocks("own-parallel", "parallel", causal, norms="parallel", variants=("scaled",)),
    blocks("own-soft-experts", "experts", causal, inner=SoftExperts),
    blocks("own-linear-attention", "averages", LinearAttention),
    blocks("own-retention", "averages", Retention),
    blocks("own-cumulative-mean", "averages", CumulativeMean, variants=("scaled",)),
    Stack("own-pooling", "averages", pool_former),
    blocks("own-recurrence", "state", Recurrence),
]
