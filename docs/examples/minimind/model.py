"""A language model of MiniMind's kind: a small Llama.

Token embedding that is the output layer, too, RMSNorm, rotary positions, attention whose key
heads are shared, SwiGLU. It gives its own loss, as training scripts of this kind have it."""

import dataclasses
import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

PAD = 0
#: The label of a position that does not count.
IGNORE = -100
#: What masked scores are: far below any score, and FP16 has room for it.
MASKED = -30000.0


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 6400
    width: int = 128
    layers: int = 2
    heads: int = 4
    key_heads: int = 2
    hidden: int = 352
    theta: float = 1e6
    eps: float = 1e-5


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        mean = wide.square().mean(-1, keepdim=True)
        return (wide * torch.rsqrt(mean + self.eps)).type_as(x) * self.weight


def rotary(length: int, width: int, theta: float, like: torch.Tensor):
    """Cosines and sines [length, width] of the angles position * theta^(-2i / width)."""
    steps = torch.arange(0, width, 2, dtype=torch.float32, device=like.device)
    positions = torch.arange(length, dtype=torch.float32, device=like.device)
    angles = torch.outer(positions, theta ** (-steps / width))
    angles = torch.cat([angles, angles], -1)
    return angles.cos().type_as(like), angles.sin().type_as(like)


def rotate(x, cos, sin):
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


class Attention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.heads, self.key_heads = config.heads, config.key_heads
        self.theta, self.size = config.theta, config.width // config.heads
        self.query = nn.Linear(config.width, config.heads * self.size, bias=False)
        self.key = nn.Linear(config.width, config.key_heads * self.size, bias=False)
        self.value = nn.Linear(config.width, config.key_heads * self.size, bias=False)
        self.out = nn.Linear(config.width, config.width, bias=False)

    def split(self, x, heads: int):
        """[batch, length, heads * size] to [batch, heads, length, size]."""
        return x.unflatten(-1, (heads, self.size)).transpose(1, 2)

    def forward(self, x, mask):
        q = self.split(self.query(x), self.heads)
        k = self.split(self.key(x), self.key_heads)
        v = self.split(self.value(x), self.key_heads)
        cos, sin = rotary(x.shape[1], self.size, self.theta, q)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k = k.repeat_interleave(self.heads // self.key_heads, 1)
        v = v.repeat_interleave(self.heads // self.key_heads, 1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)
        scores = scores.masked_fill(mask, MASKED)
        weights = F.softmax(scores.float(), -1).type_as(v)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.gate = nn.Linear(config.width, config.hidden, bias=False)
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = FeedForward(config)

    def forward(self, x, mask):
        x = x + self.attention(self.attention_norm(x), mask)
        return x + self.mlp(self.mlp_norm(x))


class MiniMind(nn.Module):
    """`forward(tokens, labels)`: the mean cross entropy of the labels [batch, length] that are
    not `IGNORE`."""

    def __init__(self, config: Config | None = None):
        super().__init__()
        config = config or Config()
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.eps)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        with torch.no_grad():
            self.embed.weight[PAD] = 0

    def logits(self, tokens):
        length = tokens.shape[1]
        ahead = torch.ones(length, length, dtype=torch.bool, device=tokens.device).triu(1)
        mask = ahead | (tokens == PAD)[:, None, None, :]
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x, mask)
        return F.linear(self.norm(x), self.embed.weight)

    def forward(self, tokens, labels):
        logits = self.logits(tokens)
        return F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=IGNORE)


class Result(NamedTuple):
    logits: torch.Tensor
    aux_loss: torch.Tensor


class MiniMindLM(MiniMind):
    """`forward(tokens)`: logits, of which the script makes the loss, and an auxiliary loss that keeps
    their normaliser near 1 (PaLM's, with its factor: arXiv 2204.02311, section 5)."""

    def forward(self, tokens):
        logits = self.logits(tokens)
        return Result(logits, 1e-4 * logits.float().logsumexp(-1).square().mean())
