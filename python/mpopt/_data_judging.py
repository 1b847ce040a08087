"""The judgement of the batches that were seen.

The two thresholds are those of rules, from the tool's own table: `imbalance-ratio` (MP305),
by which channels are so far apart that one scale cannot serve them, and `underflow-share`
(MP204), the share of values that have to become 0. Others need none: a value is outside of a
bound or not, and what a sum absorbs follows from the format. `_TWICE` is one binary order, the step in which formats
count: estimates of what is likely are off by as much as the data are."""

import dataclasses
import math
from collections.abc import Mapping

import numpy

from mpopt import _declarations, checking
from mpopt._assumed import Assumed, Expected
from mpopt._command import Error
from mpopt._data_collecting import Seen
from mpopt._data_statistics import FORMATS, Channels, Format, Statistics
from mpopt.data import SEVERITIES, DataEntry, DataFinding, DataReport

_TWICE = 2.0
_SPELT = {"f16": "FP16", "bf16": "BF16"}
#: Bits by which a number is above half the gap of a sum, up to which it counts as absorbed in it: an eighth of
#: the number is lost, as in MP302.
_LOST_BITS = 3
#: Channels that a message names.
_MOST_NAMED = 8


@dataclasses.dataclass(frozen=True)
class Limits:
    """`format`: in which values may overflow; None if none is judged."""

    underflow_share: float
    imbalance_ratio: float
    format: str | None
    precision: str


def find_limits(thresholds: Mapping[str, float] | None, precision: str) -> Limits:
    """The rules' thresholds, but for those that the caller sets. `mpopt.Error` for others."""
    values = {threshold["key"]: float(threshold["default"]) for rule in checking.list_rules()
              for threshold in rule["thresholds"]
              if threshold["key"] in ("underflow-share", "imbalance-ratio")}
    for key, value in (thresholds or {}).items():
        if key not in values:
            raise Error(f"thresholds: '{key}' is not one of {', '.join(sorted(values))}")
        try:
            values[key] = float(value)
        except (TypeError, ValueError):
            raise Error(f"thresholds[{key!r}]: a number, not {value!r}") from None
    made = ("bf16" if "bf16" in precision else "f16" if "fp16" in precision or precision == "auto"
            else None)
    if made is None and precision != "as-is":
        raise Error(f"precision: '{precision}' is not one of auto, as-is, fp16, bf16, "
                    "autocast-fp16 and autocast-bf16")
    return Limits(values["underflow-share"], values["imbalance-ratio"], made, precision)


def share(part: int, whole: int) -> str:
    """`12 of 4,000 (0.3 %)`."""
    percent = 100 * part / whole if whole else 0.0
    text = "under 0.01" if 0 < percent < 0.01 else f"{percent:.2g}"
    return f"{part:,} of {whole:,}" + (f" ({text} %)" if percent < 99.5 else "")


def _names(indices: list[int]) -> str:
    more = len(indices) - _MOST_NAMED
    text = ", ".join(map(str, indices[:_MOST_NAMED]))
    return text + (f" and {more} more" if more > 0 else "")


@dataclasses.dataclass(frozen=True)
class _Wide:
    channels: list[int]
    largest: float
    small: float


def _find_wide(channels: Channels, ratio: float) -> _Wide | None:
    """As the test `channel-ratio` of `--confirm`: of the channels that are not 0 throughout,
    a quarter is smaller than the largest by the ratio."""
    sizes = channels.magnitudes()
    filled = numpy.sort(sizes[sizes > 0])
    if not filled.size:
        return None
    largest = float(filled[-1])
    small = int((filled * ratio <= largest).sum())
    if small * 4 < filled.size:
        return None
    quarter = float(filled[math.ceil(filled.size / 4) - 1])
    # Those by which the quarter is so much smaller.
    wide = numpy.flatnonzero(sizes >= quarter * ratio).tolist()
    return _Wide(wide, largest, quarter)


def _find_absorbed(channels: Channels, made: Format) -> _Wide | None:
    """A quarter of the channels that are not 0 throughout keeps three bits or fewer in a sum
    with the largest."""
    sizes = channels.magnitudes()
    filled = numpy.sort(sizes[sizes > 0])
    if filled.size < 2:
        return None
    largest, quarter = float(filled[-1]), float(filled[math.ceil(filled.size / 4) - 1])
    least = made.half_gap(largest) * 2**_LOST_BITS
    return _Wide(numpy.flatnonzero((sizes > 0) & (sizes <= least)).tolist(), largest, quarter) \
        if quarter <= least else None


class _Judge:
    """The judgement of one entry."""

    def __init__(self, name: str, seen: Statistics, known: Assumed | None, limits: Limits,
                 batches: int):
        self.name, self.seen, self.known, self.limits = name, seen, known, limits
        self.batches = batches
        self.findings: list[DataFinding] = []

    def _find(self, kind: str, message: str) -> None:
        self.findings.append(DataFinding(kind, SEVERITIES[kind], self.name, message))

    def judge(self) -> list[DataFinding]:
        for part in (self._not_finite, self._outside, self._format, self._spread, self._constant,
                     self._channels, self._form):
            part()
        return self.findings

    def _not_finite(self) -> None:
        seen, known = self.seen, self.known
        if seen.nan:
            self._find("nan", f"{share(seen.nan, seen.count)} values are NaN, in "
                       f"{share(seen.nan_batches, self.batches)} batches, the first in batch "
                       f"{seen.first_nan}")
        infinite = ((seen.posinf if known is None or math.isfinite(known.hi) else 0)
                    + (seen.neginf if known is None or math.isfinite(known.lo) else 0))
        if infinite:
            self._find("inf", f"{share(infinite, seen.count)} values are infinite, in "
                       f"{share(seen.inf_batches, self.batches)} batches, the first in batch "
                       f"{seen.first_inf}")

    def _outside(self) -> None:
        seen, known = self.seen, self.known
        outside = seen.below + seen.above
        if known is None or not outside:
            return
        where = f"{seen.lo:.6g} to {seen.hi:.6g}; {share(outside, seen.finite)} values are outside " \
                f"of [{known.lo:.6g}, {known.hi:.6g}]"
        if known.source == "model":
            self._find("index" if not seen.is_float else "outside", f"{where}: {known.why}")
            return
        by = {"default": "which is assumed of inputs that nothing describes: declare them",
              "option": "which was declared", "config": "which mpopt.toml declares",
              "data": "which the sample that was declared holds"}[known.source]
        self._find("outside", f"{where}, {by}")

    def _format(self) -> None:
        seen, name = self.seen, self.limits.format
        if name is None or not seen.is_float:
            return
        spelt = _SPELT[name]
        if seen.overflow[name]:
            self._find("overflow", f"{share(seen.overflow[name], seen.finite)} values are Inf in "
                       f"{spelt}: {seen.lo:.6g} to {seen.hi:.6g}")
        filled = seen.finite - seen.zero
        if filled and seen.flushed[name] >= self.limits.underflow_share * filled:
            self._find("underflow", f"{share(seen.flushed[name], filled)} values that are not 0 are 0 "
                       f"in {spelt}")

    def _spread(self) -> None:
        """Likely values are estimated by the distribution, not by the bounds."""
        seen, known = self.seen, self.known
        if (known is None or not seen.is_float or not seen.finite or seen.lo == seen.hi
                or known.source == "model" or math.isnan(known.mean) or math.isnan(known.std)):
            return
        expected = math.hypot(known.mean, known.std)
        if not expected / _TWICE <= seen.rms <= expected * _TWICE:
            self._find("distribution", f"the mean is {seen.mean:.3g} and the deviation {seen.std:.3g}, "
                       f"and {known.mean:.3g} and {known.std:.3g} are expected: likely values are "
                       "estimated by them")

    def _constant(self) -> None:
        seen = self.seen
        if seen.is_float and seen.finite > 1 and seen.lo == seen.hi and not (
                self.known is not None and self.known.source == "model"):
            self._find("constant" if seen.lo else "all-zero",
                       f"all {seen.finite:,} values are {seen.lo:.6g}")

    def _channels(self) -> None:
        seen = self.seen
        if not seen.is_float or seen.lo == seen.hi:
            return
        for channels in seen.channels.values():
            # A single sample of a row is no reason.
            constant = channels.constant() if seen.samples > 1 else []
            if constant:
                values = {float(channels.lo[index]) for index in constant}
                each = f"of {next(iter(values)):.6g}" if len(values) == 1 else "each of one value"
                self._find("constant-channel", f"{len(constant)} of {channels.size} channels (axis "
                           f"{channels.axis}) are constant, {each}: {_names(constant)}")
            wide = _find_wide(channels, self.limits.imbalance_ratio)
            if wide is not None:
                self._find("wide-channel", f"channels (axis {channels.axis}) are up to "
                           f"{wide.largest:.3g} large, and a quarter of them at most "
                           f"{wide.small:.3g}: standardise {_names(wide.channels)}")
                continue
            made = FORMATS.get(self.limits.format or "")
            absorbed = made and _find_absorbed(channels, made)
            if made and absorbed:
                self._find("absorbed-channel", f"beside channels (axis {channels.axis}) of "
                           f"{absorbed.largest:.3g}, where {_SPELT[made.name]} absorbs values below "
                           f"{made.half_gap(absorbed.largest):.3g}, a quarter of them is at most "
                           f"{absorbed.small:.3g}: in a sum over channels little is left of "
                           f"{_names(absorbed.channels)}")

    def _form(self) -> None:
        seen = self.seen
        if len(seen.dtypes) > 1:
            self._find("mixed-dtype", f"the dtype is not the same in all batches: "
                       f"{', '.join(seen.dtypes)}")
        if seen.ranks > 1:
            self._find("mixed-rank", "the number of axes is not the same in all batches")


def _declared(seen: Statistics, known: Assumed | None) -> list | None:
    """None of what the model itself says better: a mask, and rows of a table, which data that
    were seen do not have all of."""
    if not seen.finite:
        return None
    inside = seen.below + seen.above == 0
    if known is not None and known.source == "model" and inside:
        if seen.is_float or known.lo == 0 and known.hi == 1:
            return None
        least = max(known.lo, 0) if seen.lo >= 0 else known.lo
        return _declarations.declare(least, known.hi, seen.mean, seen.std)
    lo, hi = seen.lo, seen.hi
    if seen.is_float:
        lo = -math.inf if seen.neginf else _declarations.round_out(lo, up=False)
        hi = math.inf if seen.posinf else _declarations.round_out(hi, up=True)
    return _declarations.declare(lo, hi, seen.mean, seen.std)


def _number(value: float):
    """As in the tool's JSON: unknown numbers are null, infinite ones text."""
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _channels_json(channels: Channels, ratio: float) -> dict:
    wide = _find_wide(channels, ratio)
    return {"axis": channels.axis, "size": channels.size, "constant": channels.constant(),
            "wide": [] if wide is None else wide.channels,
            "lo": [_number(value) for value in channels.lo.tolist()],
            "hi": [_number(value) for value in channels.hi.tolist()]}


def _entry(name: str, seen: Statistics, known: Assumed | None, is_input: bool,
           limits: Limits) -> DataEntry:
    finite = bool(seen.finite)
    lo, hi = (float(seen.lo), float(seen.hi)) if finite else (math.nan, math.nan)
    mean, std = (seen.mean, seen.std) if finite else (math.nan, math.nan)
    counts = {key: getattr(seen, key) for key in
              ("samples", "count", "nan", "posinf", "neginf", "zero")}
    shape = tuple(seen.shape or ())
    addends = {name: made.half_gap(max(abs(lo), abs(hi)) if finite else 0.0) for name, made in FORMATS.items()}
    raw = {"name": name, "input": is_input, "dtypes": list(seen.dtypes), "shape": list(shape),
           **counts, **{key: _number(value) for key, value in
                        (("min", lo), ("max", hi), ("mean", mean), ("std", std))},
           "overflow": dict(seen.overflow), "underflow": dict(seen.flushed), "least_addend": addends,
           "assumed": None if known is None else {
               **{key: _number(getattr(known, key)) for key in ("lo", "hi", "mean", "std")},
               "source": known.source, **({"why": known.why} if known.why else {})},
           "outside": None if known is None else seen.below + seen.above,
           "channels": [_channels_json(channels, limits.imbalance_ratio)
                        for channels in seen.channels.values() if seen.is_float]}
    return DataEntry(name, is_input, tuple(seen.dtypes), shape, **counts, lo=lo, hi=hi, mean=mean,
                     std=std, overflow=dict(seen.overflow), underflow=dict(seen.flushed),
                     least_addend=addends, raw=raw)


def _about_all(seen: Seen, expected: Expected) -> list[DataFinding]:
    findings = [DataFinding("not-numbers", SEVERITIES["not-numbers"], name,
                            f"{what} is not looked at") for name, what in seen.skipped.items()]
    for name in expected.names or ():
        if name not in seen.entries and name not in seen.skipped and not any(
                entry.startswith(f"{name}.") for entry in seen.entries):
            findings.append(DataFinding("missing", SEVERITIES["missing"], name,
                                        "the model takes it, and no batch has it"))
    return findings


def judge(seen: Seen, expected: Expected, limits: Limits) -> DataReport:
    """The report on what was collected."""
    entries, findings, declared = [], [], {}
    for name, statistics in seen.entries.items():
        known = expected.of(name, statistics.is_float)
        is_input = expected.names is None or name in expected.names
        entries.append(_entry(name, statistics, known, is_input, limits))
        findings += _Judge(name, statistics, known, limits, seen.batches).judge()
        parts = _declared(statistics, known) if is_input else None
        if parts is not None:
            declared[name] = parts
    findings += _about_all(seen, expected)
    findings.sort(key=lambda finding: ("error", "warning", "note").index(finding.severity))
    raw = {"schema": "mpopt-data/1", "batches": seen.batches, "precision": limits.precision,
           "entries": [entry.raw for entry in entries],
           "findings": [dataclasses.asdict(finding) for finding in findings],
           "declared": _declarations.options(declared)}
    return DataReport(seen.batches, tuple(entries), tuple(findings), declared, raw)
