"""The course of a monitored run: a file of JSON lines beside its record, `run-0.history.jsonl`.

A record sums up a run; this file has its steps. Lines are only ever added, so that a reader may
follow a run that goes on. The first line has `schema` (`mpopt-history/1`), `rank`, `first_scale`;
each other one has one of

    step    its number; `loss`, `loss_scale`, `gradient_norm`, `learning_rate`, where there is one;
            `skipped` if the scaler left the update out, `bad`, the first parameter whose gradient
            was NaN or Inf
    alert   a rule, as `Alert.as_dict` gives it
    sample  a step; `scale`, by which gradients are multiplied; `of`: entries of a kind of record, a
            name, dtype, counts of all, zeros, NaN and Inf, the largest magnitude, the exponent of
            the first count, and counts of magnitudes by binary exponent"""

import dataclasses
import json
import math
import os
import pathlib
import warnings
from collections.abc import Iterable, Sequence

from mpopt._command import Error, PathLike
from mpopt.recorder import KINDS

SCHEMA = "mpopt-history/1"
SUFFIX = ".history.jsonl"
NUMBERS = ("loss", "loss_scale", "gradient_norm", "learning_rate")


def path_of(record: PathLike) -> pathlib.Path:
    """The history of a record."""
    return pathlib.Path(os.fspath(record).removesuffix(".mprec") + SUFFIX)


def _word(value: float):
    return value if math.isfinite(value) else "nan" if math.isnan(value) else \
        "inf" if value > 0 else "-inf"


class Writer:
    """Adds to the history of a record. Where the disk is full it warns once and goes quiet: a
    training is worth more than its history."""

    def __init__(self, record: PathLike, rank: int, first_scale: float | None):
        self.path = path_of(record)
        self._file = None
        try:
            self._file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            self._give_up(error)
        self._write({"schema": SCHEMA, "rank": rank, "first_scale": first_scale})

    def numbers(self, step: int, values: dict[str, float], *, skipped: bool,
                bad: str | None) -> None:
        self._write({"step": step, **{name: _word(value) for name, value in values.items()},
                     **({"skipped": True} if skipped else {}), **({"bad": bad} if bad else {})})

    def alert(self, alert) -> None:
        self._write({"alert": alert.as_dict()})

    def sample(self, step: int, scale: float, entries: Iterable[tuple]) -> None:
        """`entries`: kind of record, name, and `record.Distribution`."""
        self._write({"sample": step, "scale": scale,
                     "of": [_entry(*entry) for entry in entries]})

    def flush(self) -> None:
        if self._file:
            try:
                self._file.flush()
            except OSError as error:
                self._give_up(error)

    def close(self) -> None:
        if self._file:
            self.flush()
        if self._file:
            self._file.close()
            self._file = None

    def _write(self, line: dict) -> None:
        if not self._file:
            return
        try:
            self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._file = None
        warnings.warn(f"mpopt.monitor: the history '{self.path}' ends here: {error.strerror}",
                      stacklevel=2)


def _entry(kind: int, name: str, seen) -> list:
    from mpopt.monitor.record import LEAST

    return [KINDS[kind], name, seen.dtype, seen.count, seen.zero, seen.nan, seen.inf,
            _word(float(f"{seen.absmax:.6g}")), LEAST + seen.first - 1, seen.counts]


# -- Reading ----------------------------------------------------------------------------------


@dataclasses.dataclass
class Seen:
    """The distribution of a tensor in a sample; `exponents` counts non-zero magnitudes in
    [2^e, 2^(e+1)) by e."""

    kind: str
    name: str
    dtype: str
    count: int
    zero: int
    nan: int
    inf: int
    absmax: float
    exponents: dict[int, int]

    def add(self, other: "Seen") -> None:
        """Takes the elements of another rank."""
        for field in ("count", "zero", "nan", "inf"):
            setattr(self, field, getattr(self, field) + getattr(other, field))
        self.absmax = max(self.absmax, other.absmax)
        for exponent, count in other.exponents.items():
            self.exponents[exponent] = self.exponents.get(exponent, 0) + count


@dataclasses.dataclass
class Sample:
    step: int
    #: The loss scale by which its gradients are multiplied.
    scale: float
    seen: list[Seen]


@dataclasses.dataclass
class History:
    """The course of a run, of all ranks that were read. Numbers are those of the first rank."""

    steps: list[dict]
    samples: list[Sample]
    alerts: list[dict]
    ranks: list[int]
    first_scale: float | None

    def series(self, name: str) -> list[tuple[int, float]]:
        """Steps and values of `loss`, `loss_scale`, `gradient_norm` or `learning_rate`."""
        return [(step["step"], step[name]) for step in self.steps if name in step]


class Follower:
    """Reads a history that grows: `read` takes what came since. A line that is not whole yet is
    left for the next time.

    Raises `mpopt.Error` for what is no history of this version."""

    def __init__(self, path: PathLike):
        self.path = pathlib.Path(path)
        self._offset, self._lines = 0, 0
        self.header: dict = {}
        self.steps: list[dict] = []
        self.samples: list[Sample] = []
        self.alerts: list[dict] = []

    def read(self) -> bool:
        """Whether there was something new."""
        try:
            if self.path.stat().st_size < self._offset:
                # Another run writes to the same name.
                self.__init__(self.path)
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError as error:
            raise Error(f"{self.path}: {error.strerror}") from error
        end = data.rfind(b"\n") + 1
        for line in data[:end].splitlines():
            self._take(line)
        self._offset += end
        return end > 0

    def _take(self, text: bytes) -> None:
        self._lines += 1
        try:
            line = json.loads(text)
            if self._lines == 1:
                if line.get("schema") != SCHEMA:
                    raise ValueError("it is no history of mpopt")
                self.header = line
            elif "sample" in line:
                self.samples.append(Sample(int(line["sample"]), float(line["scale"]),
                                           [_seen(entry) for entry in line["of"]]))
            elif "alert" in line:
                self.alerts.append({key: line["alert"][key]
                                    for key in ("rule", "severity", "layer", "step", "message")})
            elif "step" in line:
                self.steps.append({key: float(value) if key in NUMBERS else value
                                   for key, value in line.items()})
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise Error(f"{self.path}: line {self._lines} is not of a history: "
                        f"{str(error).splitlines()[0]}") from error


def _seen(entry: list) -> Seen:
    kind, name, dtype, count, zero, nan, inf, absmax, first, counts = entry
    return Seen(str(kind), str(name), str(dtype), int(count), int(zero), int(nan), int(inf),
                float(absmax), {int(first) + index: int(number)
                                for index, number in enumerate(counts) if number})


def join(followers: Sequence[Follower]) -> History:
    """The run of several ranks: steps of the first, distributions of all."""
    ordered = sorted(followers, key=lambda each: each.header.get("rank", 0))
    samples: dict[int, Sample] = {}
    for follower in ordered:
        for sample in follower.samples:
            known = samples.setdefault(sample.step, Sample(sample.step, sample.scale, []))
            places = {(seen.kind, seen.name): seen for seen in known.seen}
            for seen in sample.seen:
                if (seen.kind, seen.name) in places:
                    places[seen.kind, seen.name].add(seen)
                else:
                    known.seen.append(dataclasses.replace(seen, exponents=dict(seen.exponents)))
    alerts, told = [], set()
    for follower in ordered:
        rank = follower.header.get("rank", 0)
        for alert in follower.alerts:
            key = alert["rule"], alert["layer"], alert["step"]
            if key not in told:
                told.add(key)
                alerts.append({**alert, "rank": rank})
    first = ordered[0]
    return History(list(first.steps), [samples[step] for step in sorted(samples)],
                   sorted(alerts, key=lambda alert: alert["step"]),
                   [follower.header.get("rank", 0) for follower in ordered],
                   first.header.get("first_scale"))


def read(records: PathLike | Sequence[PathLike]) -> History:
    """The course of a run by its records, one path or those of its ranks, or by the history files
    themselves. `mpopt.Error` if one is not there or is none."""
    paths = [records] if isinstance(records, str | os.PathLike) else list(records)
    if not paths:
        raise Error("there is no record to read")
    followers = [Follower(path if os.fspath(path).endswith(SUFFIX) else path_of(path))
                 for path in paths]
    for follower in followers:
        follower.read()
        if not follower.header:
            raise Error(f"{follower.path}: is empty")
    return join(followers)
