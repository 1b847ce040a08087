"""True if events become more frequent, and where a falling scale is going.

The test is Laplace's: if events come at a constant rate, then, given their number, their
times are independent and uniform. The sum of n uniform numbers has the Irwin-Hall
distribution, whose tail is the error rate of the test, exact for any number of events."""

import math
from collections.abc import Sequence

#: Error rate of one look. Ten looks at the first hundred steps: at most one healthy run in a
#: hundred with a constant rate of skipped steps is told that its rate rises.
ERROR_RATE = 0.001
#: The exact sum cancels from here on; the normal distribution is close by then.
_EXACT = 20


def tail_of_sum(count: int, total: float) -> float:
    """The probability that `count` independent uniform numbers of [0, 1] add up to `total` or
    more."""
    if total <= 0:
        return 1.0
    if total >= count:
        return 0.0
    if count > _EXACT:
        return math.erfc((total - count / 2) / math.sqrt(count / 6)) / 2
    # By symmetry that of `count - total` or less.
    low = count - total
    return math.fsum((-1) ** k * math.comb(count, k) * (low - k) ** count
                     for k in range(int(low) + 1)) / math.factorial(count)


def rising(times: Sequence[float], begin: float, end: float) -> float:
    """The probability that events of a constant rate between `begin` and `end` lie as late as
    `times` do; 1 without events. A step is taken as its middle."""
    span = end - begin
    if not times or span <= 0:
        return 1.0
    return tail_of_sum(len(times), sum((time + 0.5 - begin) / span for time in times))


def steps_to_one(scales: Sequence[tuple[int, float]]) -> float | None:
    """Steps until a scale is 1 if its logarithm goes on along the straight line that fits
    `scales`, pairs of step and scale, best; None if it does not fall."""
    points = [(step, math.log2(scale)) for step, scale in scales if scale > 0]
    if len(points) < 2:
        return None
    mean_step = sum(step for step, _ in points) / len(points)
    mean_log = sum(log for _, log in points) / len(points)
    spread = sum((step - mean_step) ** 2 for step, _ in points)
    slope = sum((step - mean_step) * (log - mean_log) for step, log in points) / spread \
        if spread else 0.0
    if slope >= 0:
        return None
    return max(0.0, points[-1][1] / -slope)
