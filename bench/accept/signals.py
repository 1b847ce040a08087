"""Inputs whose neighbours have much in common, as sounds and pictures have."""

from __future__ import annotations

import numpy


def tones(shape: tuple[int, ...], std: float, random: numpy.random.RandomState) -> numpy.ndarray:
    """Three tones along the longest axis, the first with nearly all power, and noise of a hundredth."""
    axis = int(numpy.argmax(shape))
    length = shape[axis]
    places = numpy.arange(length).reshape([length if at == axis else 1 for at in range(len(shape))])
    made = 0.01 * random.standard_normal(shape)
    for amplitude in (1.36, 0.3, 0.15):
        rows = [1 if at == axis else size for at, size in enumerate(shape)]
        turns = random.uniform(0.02, 0.2, rows)
        made = made + amplitude * numpy.sin(2 * numpy.pi * (turns * places + random.uniform(0, 1, rows)))
    return std * made


def smooth(shape: tuple[int, ...], std: float, random: numpy.random.RandomState) -> numpy.ndarray:
    """Waves along the last two axes of one to four times their size, and noise of a hundredth."""
    made = 0.01 * random.standard_normal(shape)
    rows = (*shape[:-2], 1, 1)
    down, right = (numpy.linspace(0, 1, size) for size in shape[-2:])
    for _ in range(4):
        waves = random.uniform(0.25, 1, (2, *rows))
        phase = random.uniform(0, 1, rows)
        made = made + numpy.sqrt(0.5) * numpy.sin(2 * numpy.pi * (waves[0] * down[:, None] + waves[1] * right + phase))
    return std * made


SIGNALS = {"tones": tones, "smooth": smooth}
