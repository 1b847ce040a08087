"""Small trainings for real, as programs write them, with a monitor at the end of each step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

FEATURES, CLASSES, BATCH = 16, 4, 32
#: Seconds after which a rank without an answer gives up.
PATIENCE = 300


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class Blobs:
    """Batches of points around the centre of their class."""

    def __init__(self, batch: int = BATCH, shape: tuple[int, ...] = (FEATURES,)):
        self._draw, self._batch, self._shape = generator(1), batch, shape
        self._centres = torch.randn(CLASSES, *shape, generator=self._draw)

    def __call__(self, step: int):
        y = torch.randint(0, CLASSES, (self._batch,), generator=self._draw)
        noise = torch.randn(self._batch, *self._shape, generator=self._draw)
        return self._centres[y] + 0.5 * noise, y


class Text:
    """Sequences in which each token follows from the one before, but for some."""

    def __init__(self, vocabulary: int = 24, length: int = 8, batch: int = 4):
        self.vocabulary, self._length, self._batch = vocabulary, length, batch
        self._draw = generator(2)

    def __call__(self, step: int):
        tokens = torch.randint(0, self.vocabulary, (self._batch, self._length + 1),
                               generator=self._draw)
        for place in range(1, self._length + 1):
            follows = torch.rand(self._batch, generator=self._draw) < 0.8
            tokens[:, place] = torch.where(
                follows, (3 * tokens[:, place - 1] + 1) % self.vocabulary, tokens[:, place])
        return tokens[:, :-1], tokens[:, 1:]


def mlp(width: int = 32) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, CLASSES))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                                      nn.Conv2d(8, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, CLASSES)

    def forward(self, image):
        return self.head(self.features(image).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (layer(h).unflatten(-1, (2, -1)).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    """A language model whose head is the embedding."""

    def __init__(self, vocabulary: int = 24, width: int = 16, layers: int = 2,
                 checkpoint: bool = False):
        super().__init__()
        torch.manual_seed(0)
        self.table = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.table.weight, std=0.1)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.checkpoint = checkpoint

    def forward(self, tokens):
        x = self.table(tokens)
        for block in self.blocks:
            if self.checkpoint:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return functional.linear(self.norm(x), self.table.weight)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.cell = nn.GRU(FEATURES, 24, batch_first=True)
        self.head = nn.Linear(24, CLASSES)

    def forward(self, sequence):
        return self.head(self.cell(sequence)[0][:, -1])


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.encode = nn.Sequential(nn.Linear(FEATURES, 8), nn.SiLU())
        self.decode = nn.Linear(8, FEATURES)

    def forward(self, x):
        return self.decode(self.encode(x))


class Amplify(torch.autograd.Function):
    """The identity, whose gradient overflows at any scale."""

    @staticmethod
    def forward(context, x):
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * math.inf


def classify(output, target):
    return functional.cross_entropy(output.float(), target)


def predict(output, target):
    return functional.cross_entropy(output.float().flatten(0, 1), target.flatten())


def scaler(**options) -> torch.amp.GradScaler:
    return torch.amp.GradScaler("cpu", **options)


@dataclasses.dataclass
class Training:
    """A loop. Hooks of a test: `before_loss(output)`, `before_step(training)` between the
    backward pass and the optimizer, `before_batch(training, step, batch)`."""

    model: nn.Module
    batches: Callable
    loss: Callable = classify
    optimizer: torch.optim.Optimizer | None = None
    scaler: torch.amp.GradScaler | None = None
    autocast: torch.dtype | None = torch.float16
    accumulate: int = 1
    before_batch: Callable | None = None
    before_step: Callable | None = None

    def __post_init__(self):
        if self.optimizer is None:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)

    def forward(self, step: int) -> torch.Tensor:
        batch = self.batches(step)
        if self.before_batch:
            batch = self.before_batch(self, step, batch)
        x, target = batch
        with torch.autocast("cpu", self.autocast or torch.bfloat16,
                            enabled=self.autocast is not None):
            output = self.model(x)
            return self.loss(output, target) / self.accumulate

    def run(self, steps: int, monitor=None, begin: int = 0, until: Callable | None = None) -> list:
        losses = []
        for step in range(begin, begin + steps):
            for _ in range(self.accumulate):
                loss = self.forward(step)
                (self.scaler.scale(loss) if self.scaler else loss).backward()
            if self.before_step:
                self.before_step(self)
            if self.scaler:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            else:
                self.optimizer.step()
            self.optimizer.zero_grad()
            losses.append(float(loss.detach()))
            if monitor is not None:
                monitor.step(loss=loss)
                if until and until(monitor):
                    break
        return losses
