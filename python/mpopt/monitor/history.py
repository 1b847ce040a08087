"""The course of a monitored run: a file of JSON lines beside its record, `run-0.history.jsonl`.

A record sums up a run; this file has its steps. Lines are only ever added, so that a reader may
follow a run that goes on. The first line has `schema` (`mpopt-history/1`), `rank`, `first_scale` and
`formats`, those of 16 and 8 bits in use (autocast, parameters, outputs), and `split` if ranks hold parts of
layers (tensor parallelism); each other one has one of

    step    its number; `loss`, `loss_scale`, `gradient_norm`, `learning_rate`, where there is one;
            `metrics`, by name, that `Monitor.step` was given;
            `skipped` if the scaler left the update out, `bad`, the first parameter whose gradient
            was NaN or Inf
    alert   a rule, as `Alert.as_dict` gives it
    sample  a step; `scale`, by which gradients are multiplied; `of`: entries of a kind of record, a
            name, dtype, counts of all, zeros, NaN and Inf, the largest magnitude, the exponent of
            the first count, and counts of magnitudes by binary exponent
    projections  a step; `scale`, as in a sample; `of`: a kind of record, a name and, in base64, 33
            FP32 numbers (projections.py): random sums of the tensor in that step, and its norm, by
            which `mpopt --confirm A --against B` compares runs; other readers pass them over"""

import dataclasses
import json
import math
import os
import pathlib
import warnings
from collections.abc import Iterable, Mapping, Sequence

from mpopt import _input_files, _json_files
from mpopt._command import Error, PathLike
from mpopt.recorder import KINDS

SCHEMA = "mpopt-history/1"
SUFFIX = ".history.jsonl"
#: Bytes of a line; one has 200 for each tensor of a sample.
LONGEST_LINE = 64 << 20
#: Exponents of a double are not as far from 0.
FARTHEST = 2000
#: Steps within which ranks tell of one cause: alerts are promised within ten.
WINDOW = 10
#: How the message of a note begins, behind its step, that tells of a batch computed again.
REPLAYED = "computed with every op in view: "
#: In the message of an alert whose norms of gradients are below any that train, whatever the threshold.
VANISHED = "nothing is learned"
NUMBERS = ("loss", "loss_scale", "gradient_norm", "learning_rate")


def path_of(record: PathLike) -> pathlib.Path:
    """The history of a record."""
    return pathlib.Path(os.fspath(record).removesuffix(".mprec") + SUFFIX)


def word(value: float):
    return value if math.isfinite(value) else "nan" if math.isnan(value) else \
        "inf" if value > 0 else "-inf"


class Writer:
    """Adds to the history of a record. Where the disk is full it warns once and goes quiet: a
    training is worth more than its history."""

    def __init__(self, record: PathLike, rank: int, first_scale: float | None,
                 formats: Iterable[str] = (), *, split: bool = False):
        self.path = path_of(record)
        self._file = None
        try:
            self._file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            self._give_up(error)
        self._write({"schema": SCHEMA, "rank": rank, "first_scale": first_scale,
                     "formats": sorted(formats), **({"split": True} if split else {})})

    def numbers(self, step: int, values: dict[str, float], *, skipped: bool, bad: str | None,
                metrics: Mapping[str, float] | None = None) -> None:
        self._write({"step": step, **{name: word(value) for name, value in values.items()},
                     **({"metrics": {name: word(value) for name, value in metrics.items()}} if metrics else {}),
                     **({"skipped": True} if skipped else {}), **({"bad": bad} if bad else {})})

    def alert(self, alert) -> None:
        self._write({"alert": alert.as_dict()})

    def sample(self, step: int, scale: float, entries: Iterable[tuple]) -> None:
        """`entries`: kind of record, name, and `record.Distribution`."""
        self._write({"sample": step, "scale": scale,
                     "of": [_entry(*entry) for entry in entries]})

    def projections(self, step: int, scale: float, entries: Iterable[tuple[int, str, str]]) -> None:
        """`entries`: kind of record, name, and what `projections.encode` gives."""
        self._write({"projections": step, "scale": scale,
                     "of": [(KINDS[kind], name, text) for kind, name, text in entries]})

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
    return [KINDS[kind], name, seen.dtype, seen.count, seen.zero, seen.nan, seen.inf,
            word(float(f"{seen.absmax:.6g}")), *seen.binades()]


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
    #: Formats of 16 and 8 bits; None if the files do not tell.
    formats: list[str] | None = None

    def series(self, name: str) -> list[tuple[int, float]]:
        """Steps and values of `loss`, `loss_scale`, `gradient_norm` or `learning_rate`."""
        return [(step["step"], step[name]) for step in self.steps if name in step]


class Follower:
    """Reads a history that grows: `read` takes what came since. A line that is not whole yet is
    left for the next time.

    Raises `mpopt.Error` for what is no history of this version, and for one with a line that is longer
    than a writer makes it."""

    def __init__(self, path: PathLike):
        self.path = pathlib.Path(path)
        self._offset, self._lines = 0, 0
        self.header: dict = {}
        self.steps: list[dict] = []
        self.samples: list[Sample] = []
        self.alerts: list[dict] = []

    def read(self) -> bool:
        """True if there was something new."""
        before = self._offset
        if _input_files.check(self.path).st_size < self._offset:
            # Another run writes to the same name.
            type(self).__init__(self, self.path)
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                while (line := file.readline(LONGEST_LINE)).endswith(b"\n"):
                    self._take(line)
                    self._offset += len(line)
        except OSError as error:
            raise Error(f"{self.path}: {error.strerror}") from error
        if len(line) == LONGEST_LINE:
            raise Error(f"{self.path}: line {self._lines + 1} is not of a history: it has more than {LONGEST_LINE >> 20} MB")
        return self._offset != before

    def _take(self, text: bytes) -> None:
        self._lines += 1
        try:
            line = _json_files.parse(text)
            if not isinstance(line, dict):
                raise ValueError("it is no object")
            if self._lines == 1:
                self.header = _header(line)
            elif "sample" in line:
                self.samples.append(Sample(_count(line["sample"]), float(line["scale"]),
                                           [_seen(entry) for entry in line["of"]]))
            elif "alert" in line:
                alert = line["alert"]
                self.alerts.append({"step": _count(alert["step"]), **{
                    key: _text(alert[key]) for key in ("rule", "severity", "layer", "message")}})
            elif "step" in line:
                self.steps.append(_step(line))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise Error(f"{self.path}: line {self._lines} is not of a history: "
                        f"{(str(error).splitlines() or [type(error).__name__])[0]}") from error


def _count(value) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ValueError(f"{value!r:.40} is no count")
    return value


def _text(value) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.40} is no text")
    return value


def _header(line: dict) -> dict:
    if line.get("schema") != SCHEMA:
        raise ValueError("it is no history of mpopt")
    scale = line.get("first_scale")
    formats = line.get("formats")
    if formats is not None:
        formats = [_text(name) for name in formats]
    return {**line, "formats": formats, "rank": _count(line.get("rank", 0)), "first_scale": None if scale is None else float(scale)}


def _step(line: dict) -> dict:
    step: dict = {name: float(line[name]) for name in NUMBERS if name in line}
    step["step"] = _count(line["step"])
    if metrics := line.get("metrics"):
        step["metrics"] = {_text(name): float(value) for name, value in metrics.items()}
    if line.get("skipped"):
        step["skipped"] = True
    if line.get("bad"):
        step["bad"] = _text(line["bad"])
    return step


def _seen(entry: list) -> Seen:
    kind, name, dtype, count, zero, nan, inf, absmax, first, counts = entry
    if abs(first) > FARTHEST or len(counts) > FARTHEST:
        raise ValueError(f"{first} and {len(counts)} exponents from there are none of a float")
    return Seen(_text(kind), _text(name), _text(dtype), _count(count), _count(zero), _count(nan), _count(inf),
                float(absmax), {int(first) + index: _count(number)
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
    first = ordered[0]
    return History(list(first.steps), [samples[step] for step in sorted(samples)], _join_alerts(ordered),
                   [follower.header.get("rank", 0) for follower in ordered],
                   first.header.get("first_scale"), first.header.get("formats"))


def _module_places(followers: Sequence[Follower]) -> dict[str, int]:
    """Places of modules in a forward pass that ranks share; empty where each has its own."""
    if not any(follower.header.get("split") for follower in followers):
        return {}
    names = dict.fromkeys(seen.name for follower in followers for sample in follower.samples
                          for seen in sample.seen if seen.kind == "value")
    return {name: place for place, name in enumerate(names)}


def _join_alerts(followers: Sequence[Follower]) -> list[dict]:
    """One for each cause: what several ranks say of a rule, a layer and a severity within `WINDOW` steps
    is that of the first one, with the `ranks` that said it. Where ranks read what others computed, what is not
    finite in a module comes from the first one that had it, on whichever rank."""
    joined: list[dict] = []
    told: dict[tuple, dict] = {}
    places = _module_places(followers)
    every = sorted(((alert["step"], places.get(alert["layer"], -1), follower.header.get("rank", 0), alert)
                    for follower in followers for alert in follower.alerts), key=lambda entry: entry[:3])
    begin, first = -WINDOW - 1, -1
    for step, place, rank, alert in every:
        if place >= 0 and alert["rule"] == "MP501" and "module '" in alert["message"]:
            if step - begin <= WINDOW and (step, place) != (begin, first):
                continue
            begin, first = step, place
        key = alert["rule"], alert["layer"], alert["severity"]
        known = told.get(key)
        if known is not None and rank not in known["ranks"] and step - known["step"] <= WINDOW:
            known["ranks"].append(rank)
        else:
            told[key] = {**alert, "rank": rank, "ranks": [rank]}
            joined.append(told[key])
    return joined


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
