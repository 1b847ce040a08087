"""Which share of a gradient FP16 flushed, by what is left of it.

A magnitude below 2^-25 becomes 0. How many there were follows from the lower end of the histogram, by the
distribution that explains its counts best among three whose share below an edge has a closed form: of
the logarithm a normal one, a Weibull one (as of |x| for Laplace's), and powers of |x| for a normal x. It
is bounded by the zeros that were seen, and from below by those that lie in no row or column of zeros:
units that are never positive and tokens that are not in the batch leave such rows and columns."""

import functools
import math
import operator
from collections.abc import Sequence

#: Exponents of the least number of FP16, and of that below which it rounds to 0.
LEAST, EDGE = -24, -25
#: Binades of FP16 from the least number on.
BINADES = 40
#: Fewer values say nothing about a distribution.
ENOUGH = 32
#: Parts of what is left that lie in the two lowest binades where a twentieth was flushed: of a logarithm
#: with a deviation of 8 binades it is 0.026.
_AT_EDGE = 0.005
#: Beyond this factor the zeros outside of rows of zeros and the extrapolation tell of different things:
#: extrapolations of mixtures are off by as much (test_flushing.py).
_AGREES = 8.0
#: The lattice of the search: binades, and ratio of spreads.
_STEP, _RATIO = 0.25, 1.12


def _rounds_up_to() -> list[float]:
    """Logarithms of the magnitudes between which FP16 rounds into each binade."""
    ends = [float(EDGE)]
    for exponent in range(LEAST, LEAST + BINADES):
        spacing = 2.0 ** max(LEAST, exponent - 10)
        ends.append(math.log2(2.0 ** (exponent + 1) - spacing / 2))
    return ends


_ENDS = _rounds_up_to()
#: The share below `x` spreads above the middle, of each family.
_FAMILIES = (lambda x: math.erfc(-x / math.sqrt(2)) / 2,
             lambda x: -math.expm1(-math.exp(min(x, 700.0))),
             lambda x: math.erf(math.exp(min(x, 700.0))))


@functools.lru_cache(1 << 14)
def _model(family: int, middle: int, spread: int) -> tuple[list[float], float]:
    """Logarithms of the shares of what is left by binade, and the ratio of what is lost to it."""
    share, wide = _FAMILIES[family], _RATIO ** spread
    below = [share((end - EDGE - _STEP * middle) / wide) for end in _ENDS]
    left = max(1 - below[0], 1e-300)
    return [math.log(max((hi - lo) / left, 1e-12))
            for lo, hi in zip(below, below[1:], strict=False)], below[0] / left


def _climb(family: int, counts: Sequence[int], start: tuple[int, int]) -> tuple[float, float]:
    """The logarithm of the likelihood at its top, from `start` on, and the ratio there."""
    def value(at):
        return sum(map(operator.mul, counts, _model(family, *at)[0]))

    at, best, stride = start, value(start), 8
    while stride:
        turn = max(1, stride // 2)
        steps = ((stride, 0), (-stride, 0), (0, turn), (0, -turn), (-stride, turn), (stride, -turn))
        near = [(at[0] + middle, at[1] + spread) for middle, spread in steps]
        # A middle 40 binades away, or a spread of 30, is that of no gradient.
        near = [each for each in near if abs(each[0]) <= 160 and -20 <= each[1] <= 30]
        top = max(near, key=value, default=at)
        if value(top) > best:
            at, best = top, value(top)
        else:
            stride //= 2
    return best, _model(family, *at)[1]


def extrapolate(counts: Sequence[int]) -> float:
    """How many elements were flushed, by the counts of the binades from `LEAST` on."""
    total = sum(counts)
    mean = sum(place * count for place, count in enumerate(counts)) / total
    variance = sum((place - mean) ** 2 * count for place, count in enumerate(counts)) / total
    start = round(mean / _STEP), round(math.log(max(math.sqrt(variance), 0.3)) / math.log(_RATIO))
    return total * max(_climb(family, counts, start) for family in range(len(_FAMILIES)))[1]


def estimate(counts: Sequence[int], zeros: int, live: float | None = None) -> float:
    """How many of `zeros` were flushed. `counts` has the binades from `LEAST` on, `live` the share of
    elements that lie neither in a row nor in a column of zeros, None if it is not known."""
    counts = counts[:BINADES]
    left = sum(counts)
    if left < ENOUGH or not zeros or sum(counts[:2]) < _AT_EDGE * left:
        return 0.0
    flushed = min(extrapolate(counts), zeros)
    if live is None:
        return flushed
    outside = min(max(0.0, live * (left + zeros) - left), zeros)
    if outside > _AGREES * flushed or not outside:
        return flushed
    # Rows of which all was flushed are like those of zeros: the truth is between the two.
    return outside if flushed <= 2 * outside else math.sqrt(flushed * outside)


def is_of_fp16(first: int | None) -> bool:
    """True if a gradient, by the exponent of the least magnitude that is not 0, may come from FP16,
    whose numbers are multiples of 2^-24."""
    return first is not None and first >= LEAST
