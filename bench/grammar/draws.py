"""Seeded choices: structure, inputs, and weights as recipes of initialisation or training leave them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy

STYLES = ("uniform", "normal", "rectifier", "orthogonal", "trained", "trained", "trained")


@dataclass(frozen=True)
class Input:
    """Integers are uniform on [lo, hi], as are floats without a mean; others are normal and clipped."""

    shape: tuple[int, ...]
    lo: float
    hi: float
    mean: float | None = None
    std: float | None = None
    integer: bool = False

    def sample(self, rng: numpy.random.Generator) -> numpy.ndarray:
        if self.integer:
            return rng.integers(int(self.lo), int(self.hi) + 1, self.shape)
        values = rng.uniform(self.lo, self.hi, self.shape) if self.mean is None else rng.normal(
            self.mean, self.std, self.shape)
        return numpy.clip(values.astype(numpy.float32), numpy.float32(self.lo), numpy.float32(self.hi))

    def options(self, name: str) -> list[str]:
        """Options of mpopt that declare the input."""
        given = ["--input", f"{name}={self.lo:.9g}:{self.hi:.9g}"]
        if self.integer:
            return given
        mean = (self.lo + self.hi) / 2 if self.mean is None else self.mean
        std = (self.hi - self.lo) / math.sqrt(12) if self.std is None else self.std
        return [*given, "--input", f"{name}~{mean:.9g},{std:.9g}"]

    def record(self) -> dict:
        return asdict(self)


class Draw:
    """The choices of one network; weights have one style throughout."""

    def __init__(self, *seed: int) -> None:
        self.rng = numpy.random.default_rng(seed)
        self.style = self.pick(STYLES)
        self.gain = self.between(0.7, 5) if self.chance(0.7) else 1.0

    def pick(self, options: Sequence):
        return options[int(self.rng.integers(len(options)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def between(self, lo: float, hi: float) -> float:
        """Log-uniform, three digits."""
        return float(f"{math.exp(self.rng.uniform(math.log(lo), math.log(hi))):.3g}")

    def whole(self, lo: int, hi: int) -> int:
        """Log-uniform."""
        return int(math.exp(self.rng.uniform(math.log(lo), math.log(hi + 1))))

    def normal(self, shape: Sequence[int], mean: float, std: float) -> Input:
        return Input(tuple(shape), mean - 5 * std, mean + 5 * std, mean, std)

    def epsilon(self) -> float:
        return self.pick((1e-3, 1e-5, 1e-5, 1e-6, 1e-6, 1e-8, 1e-12))

    def weight(self, shape: Sequence[int], fan: int) -> numpy.ndarray:
        """A weight with `fan` terms in each sum, rows first. What is trained has heavy tails, rows of unequal size
        and a few channels of its input that matter much more."""
        rng, shape = self.rng, tuple(shape)
        if self.style == "uniform":
            values = rng.uniform(-1, 1, shape)
        elif self.style == "orthogonal":
            rows = rng.standard_normal((shape[0], math.prod(shape[1:])))
            u, _, v = numpy.linalg.svd(rows, full_matrices=False)
            values = (u @ v).reshape(shape) * math.sqrt(max(shape[0], fan))
        elif self.style == "trained":
            values = numpy.clip(rng.standard_t(4, shape), -15, 15) / math.sqrt(2)
            values *= rng.lognormal(0, 0.4, (shape[0],) + (1,) * (len(shape) - 1))
            outliers = rng.random(shape[1:2]) < 0.02
            values *= numpy.where(outliers, self.between(3, 12), 1).reshape((1, -1) + (1,) * (len(shape) - 2))
            values *= self.between(0.6, 1.7)
        else:
            values = rng.standard_normal(shape) * (math.sqrt(2) if self.style == "rectifier" else 1)
        return (values * self.gain / math.sqrt(fan)).astype(numpy.float32)

    def scales(self, count: int) -> numpy.ndarray:
        """The scales of a norm: ones, or of unequal size with outliers."""
        if self.style != "trained":
            return numpy.ones(count, numpy.float32)
        values = self.rng.lognormal(0, 0.5, count) * self.between(0.3, 3)
        values[self.rng.random(count) < 0.03] *= self.between(3, 15)
        return values.astype(numpy.float32)

    def biases(self, count: int) -> numpy.ndarray:
        """Small ones; trained ones may make one channel large, as those of attention sinks are."""
        trained = self.style == "trained"
        values = (self.between(0.05, 0.8) if trained else 0.02) * self.rng.standard_t(5, count)
        if trained and self.chance(0.1):
            values[self.rng.integers(count)] *= self.between(50, 1000)
        return values.astype(numpy.float32)
