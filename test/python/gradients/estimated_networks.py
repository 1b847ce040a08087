"""Small networks with a loss each, whose gradients torch.autograd computes.

A network is drawn from a fixed seed and has not been trained. `draw` gives one batch:
inputs are standard normal numbers or indices that are even, as are targets."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Callable

import torch
from torch import nn
from torch.nn import functional as F

BATCH = 32
NETWORKS = {}


@dataclass
class Case:
    build: type[nn.Module]
    loss: Callable
    # As --mp-attach-loss takes it, of `output` and `target`.
    term: str
    draw: Callable


def export(case, module, folder):
    """A file that keeps the weights as they are, and a batch: `x` of one, `target` of the other."""
    x, target = case.draw()
    model = folder / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), model, dynamo=False, opset_version=17, input_names=["x"],
                          output_names=["output"], training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False)
    return model, x, target


def normal(*shape):
    return lambda: torch.randn(*shape)


def indices(count, *shape):
    return lambda: torch.randint(0, count, shape)


def case(loss, term, x, target):
    def add(build):
        NETWORKS[build.__name__] = Case(build, loss, term, lambda: (x(), target()))
        return build
    return add


def flat_cross_entropy(logits, labels):
    return F.cross_entropy(logits.flatten(0, -2), labels.flatten())


CLASSES = "cross-entropy:output,target:class_axis=-1"


@case(F.cross_entropy, CLASSES, normal(BATCH, 24), indices(10, BATCH))
class ResidualMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 48)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(48), nn.Linear(48, 96), nn.GELU(), nn.Linear(96, 48))
                                    for _ in range(3))
        self.last = nn.Linear(48, 10)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = x + block(x)
        return self.last(x)


@case(F.cross_entropy, CLASSES, normal(BATCH, 16), indices(3, BATCH))
class FewClasses(nn.Module):
    """Rows of weights with a large common part, which a gradient that adds up to 0 does not meet."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 256), nn.Linear(256, 3)
        nn.init.normal_(self.last.weight, std=0.05)
        with torch.no_grad():
            self.last.weight += torch.randn(256)

    def forward(self, x):
        return self.last(F.gelu(self.first(x)))


@case(F.cross_entropy, CLASSES, normal(16, 9, 24), indices(40, 16))
class FirstToken(nn.Module):
    """One row in nine has a gradient, which norms let add up to 0 in front of products."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(24, 96), nn.GELU(), nn.Linear(96, 24), nn.LayerNorm(24))
                                    for _ in range(3))
        self.last = nn.Linear(24, 40)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.last(x[:, 0])


class Block(nn.Module):
    """Attention whose queries, keys and values one product makes, and a layer of products."""

    def __init__(self, width, heads, packed):
        super().__init__()
        self.heads, self.packed = heads, packed
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.0)

    def attend(self, x, mask):
        batch, length, width = x.shape
        if self.packed:
            parts = self.qkv(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            q, k, v = parts[0], parts[1], parts[2]
        else:
            q, k, v = (part.reshape(batch, length, self.heads, -1).transpose(1, 2)
                       for part in self.qkv(x).split(width, dim=-1))
        p = torch.softmax(q @ k.transpose(-1, -2) / (width / self.heads)**0.5 + mask, dim=-1)
        return self.out((p @ v).transpose(1, 2).reshape(batch, length, width))

    def forward(self, x, mask):
        x = x + self.drop(self.attend(self.norms[0](x), mask))
        return x + self.drop(self.down(F.gelu(self.up(self.norms[1](x)))))


@case(F.cross_entropy, CLASSES, normal(8, 64, 24), indices(12, 8))
class ClassToken(nn.Module):
    """The one token that is read is smaller than the others, and so is what its norms divide by."""

    def __init__(self):
        super().__init__()
        self.embed, self.token = nn.Linear(24, 96), nn.Parameter(0.02 * torch.randn(1, 1, 96))
        self.places = nn.Parameter(0.02 * torch.randn(1, 65, 96))
        self.blocks = nn.ModuleList(Block(96, 4, packed=True) for _ in range(2))
        self.norm, self.last = nn.LayerNorm(96), nn.Linear(96, 12)
        for layer in self.modules():  # as vision transformers begin
            if isinstance(layer, nn.Linear):
                nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = torch.cat([self.token.expand(8, -1, -1), self.embed(x)], dim=1) + self.places
        for block in self.blocks:
            x = block(x, 0.0)
        return self.last(self.norm(x)[:, 0])


@case(F.cross_entropy, CLASSES, normal(8, 24, 20), indices(12, 8))
class LastToken(nn.Module):
    """All keys get gradients from one row of probabilities, which are alike."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(20, 48)
        self.blocks = nn.ModuleList(Block(48, 4, packed=False) for _ in range(2))
        self.norm, self.last = nn.LayerNorm(48), nn.Linear(48, 12)
        self.register_buffer("mask", torch.triu(torch.full((24, 24), -1e9), 1))

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x, self.mask)
        return self.last(self.norm(x)[:, -1])


@case(F.mse_loss, "mse:output,target", normal(BATCH, 16), normal(BATCH, 4))
class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.layers(x)


@case(flat_cross_entropy, CLASSES, indices(64, 8, 12), indices(64, 8, 12))
class TiedTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))
        self.qkv = nn.Linear(32, 96)
        self.out = nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 128), nn.Linear(128, 32)
        self.register_buffer("mask", torch.triu(torch.full((12, 12), -1e9), 1))

    def forward(self, tokens):
        x = self.embed(tokens)
        q, k, v = (part.reshape(8, 12, 4, 8).transpose(1, 2) for part in self.qkv(self.norms[0](x)).split(32, dim=-1))
        p = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + self.mask, dim=-1)
        x = x + self.out((p @ v).transpose(1, 2).reshape(8, 12, 32))
        x = x + self.down(F.gelu(self.up(self.norms[1](x))))
        return self.norms[2](x) @ self.embed.weight.T


@case(F.cross_entropy, CLASSES, normal(16, 3, 16, 16), indices(10, 16))
class Pooled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                    nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(),
                                    nn.Linear(512, 10))

    def forward(self, x):
        return self.layers(x)


@case(F.mse_loss, "mse:output,target", normal(8, 2, 16, 16), normal(8, 2, 16, 16))
class Skipping(nn.Module):
    """U-shaped: down, up again, and what was before beside it."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(2, 8, 3, padding=1)
        self.down = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.inner = nn.Conv2d(16, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.leave = nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, x):
        x = F.silu(self.enter(x))
        y = F.silu(self.inner(F.silu(self.down(x))))
        return self.leave(torch.cat([x, F.silu(self.up(y))], dim=1))


@case(F.mse_loss, "mse:output,target", normal(4, 3, 32, 32), normal(4, 2, 32, 32))
class Dense(nn.Module):
    """Thousands of errors, each of which depends on the activations at its place."""

    def __init__(self):
        super().__init__()
        self.enter, self.inner = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.norm, self.leave = nn.GroupNorm(2, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        return self.leave(F.silu(self.norm(self.inner(F.relu(self.enter(x))))))


@case(F.cross_entropy, CLASSES, normal(8, 3, 8, 8), indices(10, 8))
class Padded(nn.Module):
    """A good part of each image is border."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(16 if i else 3, 16, 3, padding=1) for i in range(5))
        for layer in self.layers:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x.mean((2, 3)))


@case(F.cross_entropy, CLASSES, normal(16, 3, 8, 8), indices(10, 16))
class BatchNorms(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(layer for i in range(4) for layer in (
            nn.Conv2d(12 if i else 3, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU())))
        self.head = nn.Linear(12 * 64, 10)

    def forward(self, x):
        return self.head(self.layers(x).flatten(1))


@case(flat_cross_entropy, CLASSES, normal(8, 12, 32), indices(10, 8, 12))
class BiasedHeads(nn.Module):
    """Keys and values are the same everywhere but for a little: heads have nothing to choose from."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(32, 32) for _ in range(4))
        for layer in (self.k, self.v):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.normal_(layer.bias)
        self.head = nn.Linear(32, 10)
        self.register_buffer("mask", torch.triu(torch.full((12, 12), -1e9), 1))

    def forward(self, x):
        q, k, v = (layer(x).reshape(8, 12, 4, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        p = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5 + self.mask, dim=-1)
        return self.head(x + self.out((p @ v).transpose(1, 2).reshape(8, 12, 32)))


def recurrent(cell, **options):
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = cell(16, 24, batch_first=True, **options)
            self.head = nn.Linear(24 * (1 + options.get("bidirectional", False)), 12)

        def forward(self, x):
            return self.head(self.cell(x)[0])
    return Recurrent


for name, cell, options in (("Lstm", nn.LSTM, {}), ("Gru", nn.GRU, {}), ("Plain", nn.RNN, {}),
                            ("BothWays", nn.LSTM, {"bidirectional": True})):
    NETWORKS[name] = Case(recurrent(cell, **options), flat_cross_entropy, CLASSES,
                          lambda: (torch.randn(BATCH, 10, 16), torch.randint(0, 12, (BATCH, 10))))


@case(F.binary_cross_entropy_with_logits, "bce-with-logits:output,target", indices(200, BATCH, 6),
      lambda: torch.randint(0, 2, (BATCH, 1)).float())
class Ranking(nn.Module):
    """Fields of one table, their products and a tower."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(200, 16)
        self.tower = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, fields):
        return self.tower(self.table(fields).flatten(1))


@case(F.binary_cross_entropy_with_logits, "bce-with-logits:output,target", normal(BATCH, 40),
      lambda: torch.rand(BATCH, 40))
class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 8))
        self.decode = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 40))

    def forward(self, x):
        return self.decode(self.encode(x))
