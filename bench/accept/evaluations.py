"""Errors and extremes of outputs over several evaluations, as figures of four digits."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

import numpy
from signals import SIGNALS
from table import Input

EVALUATIONS = 6


def draw(value: Input, shape: tuple[int, ...], dtype: numpy.dtype, random: numpy.random.RandomState) -> numpy.ndarray:
    """A sample of an input as its description says; truth values are fair coins."""
    if numpy.dtype(dtype) == bool:
        return random.randint(0, 2, shape).astype(bool)
    if value.std is None:
        drawn = random.uniform(value.lo, value.hi, shape)
        integers = numpy.dtype(dtype).kind in "iu"
        return (random.randint(int(value.lo), int(value.hi) + 1, shape) if integers else drawn).astype(dtype)
    if value.signal:
        drawn = value.mean + SIGNALS[value.signal](shape, value.std, random)
        return numpy.clip(drawn, value.lo, value.hi).astype(dtype)
    drawn = value.mean + value.std * random.standard_normal(shape)
    return numpy.clip(drawn, value.lo, value.hi).astype(dtype)


class Extremes:
    """The least and the largest finite value of each tensor."""

    def __init__(self) -> None:
        self.seen: dict[str, list[float]] = {}

    def see(self, name: str, values: numpy.ndarray) -> None:
        finite = values[numpy.isfinite(values)]
        if finite.size:
            seen = self.seen.setdefault(name, [math.inf, -math.inf])
            seen[:] = [min(seen[0], float(finite.min())), max(seen[1], float(finite.max()))]

    def summary(self) -> dict[str, list[float]]:
        return {name: inward(lo, hi) for name, (lo, hi) in self.seen.items()}


class Errors:
    """Errors of outputs over several evaluations: largest of largest, as `expected_error`."""

    def __init__(self) -> None:
        self.errors: list[float] = []
        self.finite = True
        self.seen = False

    def see(self, exact: numpy.ndarray, stored: numpy.ndarray) -> None:
        exact, stored = exact.astype(numpy.float64), stored.astype(numpy.float64)
        here = numpy.isfinite(exact)
        self.seen = True
        self.finite &= bool(numpy.isfinite(stored[here]).all())
        both = here & numpy.isfinite(stored)
        most = numpy.abs(exact[both]).max(initial=0)
        if most > 0:
            self.errors.append(float(numpy.abs(exact - stored)[both].max() / most))

    def summary(self) -> dict:
        """The median of the evaluations, and the largest where that says more."""
        if not self.finite:
            return {"error": "inf"}
        errors = self.errors or [0.0]
        return {"error": brief(statistics.median(errors)), "worst": brief(max(errors))}


def brief(value: float) -> float:
    """Four digits: what a diff shows."""
    return float(f"{value:.4g}")


def inward(lo: float, hi: float) -> list[float]:
    """An interval rounded to four digits so that it gets no wider: bounds of the values
    contain it."""
    return [_digits(lo, math.ceil), _digits(hi, math.floor)]


def _digits(value: float, rounding: Callable[[float], int]) -> float:
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return brief(rounding(value / step) * step)
