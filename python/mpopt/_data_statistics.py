"""Statistics of a stream of arrays, of which none is kept."""

import dataclasses
import math

import numpy

#: Elements that are looked at together: they stay in the processor's cache.
_BLOCK = 1 << 16
#: An axis longer than this has no channels.
MOST_CHANNELS = 1 << 16


@dataclasses.dataclass(frozen=True)
class Format:
    """Magnitudes from `beyond` on round to infinity, those up to `flushed` to zero."""

    name: str
    beyond: float
    flushed: float
    digits: int

    @classmethod
    def of(cls, name: str, digits: int, least_exponent: int) -> "Format":
        """`digits` with the leading one; the smallest normal number is 2^`least_exponent`,
        and the largest power of two, as in all formats of IEEE 754, 2 over it."""
        most = 1 - least_exponent
        return cls(name, (2 - 2.0**-digits) * 2.0**most, 2.0**(least_exponent - digits), digits)

    def half_gap(self, value: float) -> float:
        """Half the distance to the next number above: less than that changes nothing in a sum."""
        return max(self.flushed, 2.0**(math.frexp(value)[1] - 1 - self.digits)) if value else 0.0


FORMATS = {made.name: made for made in (Format.of("f16", 11, -14), Format.of("bf16", 8, -126))}


class Channels:
    """Least and greatest finite value by index of one axis."""

    def __init__(self, axis: int, size: int):
        self.axis, self.size = axis, size
        self.lo = numpy.full(size, numpy.inf)
        self.hi = numpy.full(size, -numpy.inf)

    def add(self, array: numpy.ndarray, is_finite: bool) -> None:
        other = tuple(axis for axis in range(array.ndim) if axis != self.axis)
        # NaN is passed over; Inf becomes one.
        least, most = (numpy.min, numpy.max) if is_finite else (numpy.nanmin, numpy.nanmax)
        if not is_finite:
            array = numpy.where(numpy.isfinite(array), array, numpy.nan)
            empty = numpy.isnan(array).all(axis=other)
            array = numpy.where(numpy.expand_dims(empty, other), 0, array)
        lo, hi = least(array, axis=other), most(array, axis=other)
        if not is_finite:
            lo, hi = numpy.where(empty, numpy.inf, lo), numpy.where(empty, -numpy.inf, hi)
        numpy.minimum(self.lo, lo, out=self.lo)
        numpy.maximum(self.hi, hi, out=self.hi)

    def constant(self) -> list[int]:
        return numpy.flatnonzero(self.lo == self.hi).tolist()

    def magnitudes(self) -> numpy.ndarray:
        """Greatest magnitude by channel; 0 where no finite value was seen."""
        seen = numpy.isfinite(self.lo)
        return numpy.where(seen, numpy.maximum(numpy.abs(self.lo), numpy.abs(self.hi)), 0.0)


def channel_axes(shape: tuple[int, ...]) -> list[int]:
    """The axes whose indices may be channels; the first axis is the batch. Features of a
    table are behind it; of an image it is the shorter one of the second axis and the last
    one (NCHW, NHWC); of a sequence either."""
    if len(shape) < 2:
        return []
    if len(shape) == 2:
        return [1]
    last = len(shape) - 1
    if len(shape) == 3:
        return [1, last]
    return [1 if shape[1] <= shape[last] else last]


class Statistics:
    """Statistics of one entry over all batches. Counts are of elements; `lo`, `hi`, `mean` and the
    sum of squares around it are over finite ones."""

    def __init__(self, axis: int | None = None):
        self._asked = axis
        self.dtypes: dict[str, None] = {}
        self.shape: list[int | None] | None = None
        self.ranks = 1
        self.batches = self.samples = self.count = self.finite = 0
        self.nan = self.posinf = self.neginf = self.zero = 0
        self.nan_batches = self.inf_batches = 0
        self.first_nan = self.first_inf = -1
        self.lo, self.hi = math.inf, -math.inf
        self.mean, self._squares = 0.0, 0.0
        self.overflow = dict.fromkeys(FORMATS, 0)
        self.flushed = dict.fromkeys(FORMATS, 0)
        self.below = self.above = 0
        self.is_float = False
        self.channels: dict[int, Channels] = {}

    @property
    def std(self) -> float:
        return math.sqrt(self._squares / self.finite) if self.finite else math.nan

    @property
    def rms(self) -> float:
        return math.hypot(self.mean, self.std) if self.finite else math.nan

    def add(self, array: numpy.ndarray, dtype: str, batch: int,
            bound: tuple[float, float] | None = None) -> None:
        """`bound`: values outside of it are counted, too."""
        self.dtypes[dtype] = None
        self.batches += 1
        self.samples += array.shape[0] if array.ndim else 1
        self._add_shape(array.shape)
        self.is_float |= array.dtype.kind == "f"
        before = self.nan, self.posinf + self.neginf
        flat = array.reshape(-1)
        # Squares of the largest numbers of FP64 are infinite, and so is their deviation.
        with numpy.errstate(over="ignore", invalid="ignore"):
            for start in range(0, flat.size, _BLOCK):
                self._add_block(flat[start:start + _BLOCK], bound)
        nan, infinite = self.nan - before[0], self.posinf + self.neginf - before[1]
        if nan:
            self.nan_batches += 1
            self.first_nan = batch if self.first_nan < 0 else self.first_nan
        if infinite:
            self.inf_batches += 1
            self.first_inf = batch if self.first_inf < 0 else self.first_inf
        if self.is_float and array.size:
            for channels in self.channels.values():
                channels.add(array, nan + infinite == 0)

    def _add_shape(self, shape: tuple[int, ...]) -> None:
        if self.shape is None:
            self.shape = list(shape)
            axes = channel_axes(shape)
            if self._asked is not None:
                axis = self._asked + len(shape) if self._asked < 0 else self._asked
                axes = [axis] if 0 <= axis < len(shape) else []
            self.channels = {axis: Channels(axis, shape[axis]) for axis in axes
                             if 1 < shape[axis] <= MOST_CHANNELS}
            return
        if len(shape) != len(self.shape):
            self.ranks = 2
            self.channels = {}
            return
        for axis, size in enumerate(shape):
            if self.shape[axis] != size:
                # Lengths and batches, not channels.
                self.shape[axis] = None
                self.channels.pop(axis, None)

    def _add_block(self, block: numpy.ndarray, bound: tuple[float, float] | None) -> None:
        self.count += block.size
        # Numbers of 64 bits are compared as they are, and rounded in sums only.
        lo, hi = block.min().item(), block.max().item()
        values = block.astype(numpy.float64)
        if not (math.isfinite(lo) and math.isfinite(hi)):
            self.nan += int(numpy.isnan(values).sum())
            self.posinf += int((values == numpy.inf).sum())
            self.neginf += int((values == -numpy.inf).sum())
            values = values[numpy.isfinite(values)]
            if not values.size:
                return
            lo, hi = values.min().item(), values.max().item()
        self.lo, self.hi = min(self.lo, lo), max(self.hi, hi)
        zeros = values.size - int(numpy.count_nonzero(values))
        self.zero += zeros
        self._add_moments(values)
        if bound is not None and (lo < bound[0] or hi > bound[1]):
            self.below += int((values < bound[0]).sum())
            self.above += int((values > bound[1]).sum())
        magnitudes = numpy.abs(values, out=values)
        most = max(abs(lo), abs(hi))
        for name, edges in FORMATS.items():
            if most >= edges.beyond:
                self.overflow[name] += int((magnitudes >= edges.beyond).sum())
            # Whole numbers do not become 0.
            if block.dtype.kind == "f":
                self.flushed[name] += int((magnitudes <= edges.flushed).sum()) - zeros

    def _add_moments(self, values: numpy.ndarray) -> None:
        """By the formula of Chan, Golub and LeVeque for two parts."""
        mean = float(values.mean())
        # Not by a dot product, for which BLAS wakes threads that the loader's own need.
        apart = values - mean
        squares = float(numpy.square(apart, out=apart).sum())
        total = self.finite + values.size
        delta = mean - self.mean
        self._squares += squares + delta * delta * self.finite * values.size / total
        self.mean += delta * values.size / total
        self.finite = total
