"""Networks whose saved tensors are counted, one class each, as users write them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class Case:
    make: Callable[[], nn.Module]
    input: Tensor
    loss: str = "cross-entropy"
    # Recurrent kernels of a CPU mix dtypes under autocast as no GPU does.
    autocast: bool = True
    # By torch.jit.trace instead of torch.onnx.export.
    traced: bool = False


def loss_of(case: Case, y: Tensor) -> Tensor:
    """The loss that `--loss` attaches: classes are last, but of images."""
    if case.loss == "mse":
        return F.mse_loss(y, torch.zeros_like(y, dtype=torch.float32))
    rows = y if y.dim() == 4 else y.reshape(-1, y.shape[-1])
    return F.cross_entropy(rows, torch.zeros(rows.shape[:1] + rows.shape[2:], dtype=torch.long))


# -- convolutions ---------------------------------------------------------------


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(0.1), nn.AvgPool2d(2),
            nn.Conv2d(16, 16, 3), nn.Hardswish(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(torch.flatten(self.features(x), 1))


class Residual(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.down = nn.Identity()
        if stride != 1:
            self.down = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False),
                                      nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + self.down(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.layer1 = nn.Sequential(Residual(8, 8, 1), Residual(8, 8, 1))
        self.layer2 = nn.Sequential(Residual(8, 16, 2), Residual(16, 16, 1))
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.stem(x))), 3, 2, 1)
        return self.fc(self.layer2(self.layer1(x)).mean([2, 3]))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def double(inner, outer):
            return nn.Sequential(nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU(),
                                 nn.Conv2d(outer, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU())

        self.down1, self.down2, self.down3 = double(3, 8), double(8, 16), double(16, 32)
        self.grow = nn.Upsample(scale_factor=2, mode="bilinear")
        self.up2, self.up1 = double(48, 16), double(16, 8)
        self.transposed = nn.ConvTranspose2d(16, 8, 2, 2)
        self.head = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.down3(F.max_pool2d(b, 2))
        y = self.up2(torch.cat([self.grow(c), b], 1))
        return self.head(self.up1(torch.cat([self.transposed(y), a], 1)))


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
            nn.Conv2d(16, 16, 3, 2, 1), nn.GroupNorm(8, 16), nn.Mish(),
            nn.Conv2d(16, 8, 3), nn.InstanceNorm2d(8, affine=True), nn.ELU())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.features(x).mean((2, 3)))


# -- sequences --------------------------------------------------------------------


class Ngram(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(200, 16)
        self.hidden = nn.Linear(64, 48)
        self.head = nn.Linear(48, 200)

    def forward(self, ids):
        return self.head(torch.tanh(self.hidden(self.embed(ids).flatten(1))))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 24)
        self.lstm = nn.LSTM(24, 32, 2, batch_first=True)
        self.head = nn.Linear(32, 5)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0])


class GRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(16, 32, bidirectional=True)
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        return self.head(self.gru(x)[0])


# -- transformers -----------------------------------------------------------------


class EncoderLayer(nn.Module):
    """Attention written by hand, which keeps its probabilities."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        p = (q @ k.transpose(-1, -2) / math.sqrt(c // self.heads)).softmax(-1)
        x = x + self.o((p @ v).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.position = nn.Parameter(torch.randn(1, 12, 32) * 0.1)
        self.layers = nn.ModuleList([EncoderLayer(32, 4) for _ in range(3)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 7)

    def forward(self, ids):
        x = self.embed(ids) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class VisionLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        parts = self.qkv(self.norm1(x)).reshape(b, t, 3, self.heads, c // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.norm2(x))


class Vision(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 32, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, 32))
        self.position = nn.Parameter(torch.randn(1, 17, 32))
        self.blocks = nn.ModuleList([VisionLayer(32, 4) for _ in range(3)])
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype)


def rotate(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


class DecoderLayer(nn.Module):
    """Rotary embedding, shared key heads, causal attention, SwiGLU."""

    def __init__(self, width, heads, shared, inner):
        super().__init__()
        self.heads, self.shared, size = heads, shared, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, shared * size, bias=False) for _ in range(2))
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cos, sin):
        b, t, c = x.shape
        size, copies = c // self.heads, self.heads // self.shared
        y = self.norm1(x)
        q = self.q(y).view(b, t, self.heads, size).transpose(1, 2)
        k = self.k(y).view(b, t, self.shared, size).transpose(1, 2)
        v = self.v(y).view(b, t, self.shared, size).transpose(1, 2)
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        k, v = (part[:, :, None].expand(b, self.shared, copies, t, size).reshape(b, self.heads, t, size)
                for part in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, steps=16):
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.layers = nn.ModuleList([DecoderLayer(64, 4, 2, 160) for _ in range(3)])
        self.norm = RMSNorm(64)
        self.head = nn.Linear(64, 100, bias=False)
        angles = torch.outer(torch.arange(steps).float(), 10000 ** (-torch.arange(0, 16, 2) / 16))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.head(self.norm(x))


class HandGelu(nn.Module):
    def forward(self, x):
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class TiedLayer(nn.Module):
    """A mask, and a GELU by hand, each op of which saves."""

    def __init__(self, width, heads, steps):
        super().__init__()
        self.heads, self.width = heads, width
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.act, self.down = nn.Linear(width, 4 * width), HandGelu(), nn.Linear(4 * width, width)
        self.register_buffer("seen", torch.tril(torch.ones(1, 1, steps, steps, dtype=torch.bool)))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attend(self.norm1(x)).split(self.width, 2)
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in (q, k, v))
        p = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(c // self.heads))
        p = p.masked_fill(~self.seen, float("-inf")).softmax(-1)
        x = x + self.project((p @ v).transpose(1, 2).contiguous().view(b, t, c))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Tied(nn.Module):
    """The head is the table of the embedding."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(80, 48)
        self.place = nn.Embedding(16, 48)
        self.h = nn.ModuleList([TiedLayer(48, 4, 16) for _ in range(2)])
        self.norm = nn.LayerNorm(48)
        self.register_buffer("positions", torch.arange(16))

    def forward(self, ids):
        x = self.embed(ids) + self.place(self.positions)
        for layer in self.h:
            x = layer(x)
        return self.norm(x) @ self.embed.weight.t()


def make_mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 96), nn.GELU(), nn.Linear(96, 96),
                         nn.SiLU(), nn.Linear(96, 80), nn.Tanh(), nn.Linear(80, 10))


def ids(classes, *shape):
    return torch.randint(0, classes, shape)


CASES = {
    "mlp": Case(make_mlp, torch.randn(32, 64)),
    "cnn": Case(CNN, torch.randn(8, 3, 32, 32)),
    "resnet": Case(ResNet, torch.randn(4, 3, 64, 64)),
    "unet": Case(UNet, torch.randn(2, 3, 32, 32)),
    "norms": Case(Norms, torch.randn(4, 3, 16, 16), loss="mse"),
    "ngram": Case(Ngram, ids(200, 32, 4)),
    "lstm": Case(LSTM, ids(50, 4, 12), autocast=False),
    "gru": Case(GRU, torch.randn(10, 4, 16), autocast=False),
    "encoder": Case(Encoder, ids(50, 4, 12)),
    "vision": Case(Vision, torch.randn(4, 3, 16, 16)),
    "decoder": Case(Decoder, ids(100, 4, 16)),
    "decoder-traced": Case(Decoder, ids(100, 4, 16), traced=True),
    "tied": Case(Tied, ids(80, 4, 16)),
}
