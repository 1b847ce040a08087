"""The record of a monitored run: what has which id in its ledger, and what a window added.

The ledger is `mpopt-probes/1` without findings, written beside the record, so that
`mpopt --confirm` reads both. With the ledger of an instrumented model (`--instrument --train`)
the monitor records under that one's ids what it has in common with it, and `--confirm` judges
the predictions by it."""

import contextlib
import ctypes
import hashlib
import itertools
import json
import logging
import math
import operator
import os
import pathlib
import re
import struct
import weakref
from collections.abc import Iterable, Mapping

from mpopt import _command, _json_files, _output_files, recorder
from mpopt.monitor import history
from mpopt.recorder import DTYPES, KINDS, Record, Recorder

VALUE, GRADIENT, PARAMETER, OPTIMIZER, SCALAR = range(len(KINDS))
#: Bin 0 of a record's histogram holds what is below 2^LEAST, bin i from 2^(LEAST + i - 1).
LEAST = -150
#: The record that a monitor writes where no other is named.
DEFAULT = "run-%r.mprec"
SCALARS = ("loss", "loss_scale", "learning_rate", "gradient_norm")
_DTYPE_NAMES = {number: name for name, number in DTYPES.items()}
_log = logging.getLogger("mpopt.monitor")


def dtype_name(dtype) -> str:
    """A dtype of PyTorch as ledgers call it; `f32` for one that they have no name for."""
    return {"torch.float16": "f16", "torch.bfloat16": "bf16", "torch.float64": "f64",
            "torch.float8_e4m3fn": "f8E4M3FN", "torch.float8_e5m2": "f8E5M2"}.get(str(dtype), "f32")


class Ledger:
    """Ids by role and name."""

    def __init__(self):
        self.probes: list[dict] = []
        self.ids: dict[tuple[str, str], int] = {}

    def add(self, role: str, name: str, dtype: str = "f32", *, layer: bool = False) -> None:
        self.ids[role, name] = len(self.probes)
        self.probes.append({
            "id": len(self.probes), "role": role, "tensor": name, "dtype": dtype,
            "bound": {"lo": "-inf", "hi": "inf"}, "nan": True, "posinf": True, "neginf": True,
            "fingerprints": [], **({"layer": True} if layer else {}),
            **({"gradient": True} if role == "parameter" else {})})

    def text(self, run: int = 0) -> str:
        """The file. Monitors of equal models that are open together have a `run` each, so that
        ops find the record of each by the file's hash."""
        return json.dumps({
            "schema": "mpopt-probes/1", **({"run": run} if run else {}), "model_sha256": "", "precision": "as-is",
            "assumptions": [], "probe_with": "op", "probes": self.probes, "unprobed": [],
            "keep": [], "report": {"schema": "mpopt-report/1", "precision": "as-is",
                                   "findings": []}}, indent=1) + "\n"

    @classmethod
    def read(cls, path: _command.PathLike) -> "Ledger":
        """The ledger of an instrumented model; `mpopt.Error` if it is none."""
        with _command.argument("ledger"):
            raw = _json_files.read(path)
            if raw.get("schema") != "mpopt-probes/1":
                raise ValueError("it is no ledger of mpopt")
            ledger = cls()
            for probe in raw["probes"]:
                ledger.probes.append(probe)
                key = probe["role"], probe["tensor"]
                # A parameter that autocast casts has two: what is lost shows behind the cast.
                if key not in ledger.ids or probe.get("cast"):
                    ledger.ids[key] = probe["id"]
        return ledger


def replace_rank(pattern: _command.PathLike, rank: int) -> str:
    return re.sub(r"%r", str(rank), os.fspath(pattern))


def ledger_path(pattern: _command.PathLike) -> pathlib.Path:
    """Where the ledger of all ranks lies: `run.probes.json` for `run-%r.mprec`."""
    path = pathlib.Path(os.fspath(pattern))
    stem = re.sub(r"[-_.]?%[rph]", "", path.name.removesuffix(".mprec")) or "run"
    return path.with_name(f"{stem}.probes.json")


#: Records of this process that are open.
_open: "weakref.WeakSet[RunRecord]" = weakref.WeakSet()


def _find_free(pattern: _command.PathLike, rank: int, resumed: int) -> str:
    """The pattern itself, with `-2` and so on behind its stem where a record of its name is open, or the
    name is that which each monitor has by default and a record of an earlier run has it."""
    given = os.fspath(pattern)
    opened = {os.path.abspath(record.path) for record in _open}

    def is_free(name: str) -> bool:
        path = os.path.abspath(replace_rank(name, rank))
        return path not in opened and not (given == DEFAULT and not resumed and os.path.exists(path))

    names = itertools.chain([given], (f"{given.removesuffix('.mprec')}-{number}.mprec"
                                      for number in itertools.count(2)))
    found = next(filter(is_free, names))
    if found != given:
        path = replace_rank(given, rank)
        whose = "another monitor that is open" if os.path.abspath(path) in opened else "an earlier run"
        _log.warning("the record '%s' is that of %s; this one's is '%s'", path, whose, replace_rank(found, rank))
    return found


def _identify(ledger: Ledger, resumed: int) -> tuple[str, bytes]:
    """Text and hash of a ledger. A run that goes on has that of the steps before."""
    taken = set() if resumed else {record.hex for record in _open}
    run = 0
    while True:
        text = ledger.text(run)
        digest = hashlib.sha256(text.encode()).digest()
        if digest.hex() not in taken:
            return text, digest
        run += 1


class RunRecord:
    """The recorder of a monitored run.

    pattern  path of the record with `%r` for the rank and what `Recorder` knows
    given    a ledger that exists, or None to write one
    resumed  step at which the run goes on: a record of the steps before is left alone"""

    def __init__(self, pattern: _command.PathLike, rank: int, ledger: Ledger,
                 given: _command.PathLike | None, resumed: int = 0):
        self.ledger = ledger
        pattern = _find_free(pattern, rank, resumed)
        path = replace_rank(pattern, rank)
        if given is None:
            self.ledger_path = ledger_path(pattern)
            text, digest = _identify(ledger, resumed)
            # Several ranks may write the same file at the same time.
            with _command.argument("record"):
                _output_files.write(self.ledger_path, text)
        else:
            self.ledger_path = pathlib.Path(given)
            outputs: list[tuple[str, _command.PathLike]] = [("record", path), ("the history", history.path_of(path))]
            _output_files.check(outputs, [("the ledger", given)])
            digest = recorder.ledger_hash(given)
        self.hex = digest.hex()
        if resumed and os.path.exists(path):
            path = f"{path.removesuffix('.mprec')}-from-{resumed}.mprec"
        self._recorder = Recorder(digest, path, "mpopt.monitor", beside=True)
        _open.add(self)
        weakref.finalize(self, self._recorder.close)
        self._before: dict[tuple[int, int], _Reading] = {}
        self._step: int | None = None
        self._enabled = True
        self._ordered: set[int] = set()
        # Where records are read to, over and over.
        record = Record()
        self._read = record, ctypes.byref(record)
        number = ctypes.c_double()
        self._number = number, ctypes.byref(recorder._Tensor(
            ctypes.addressof(number), DTYPES["f64"], 0, None, None, -1, 0))

    @property
    def path(self) -> str:
        return self._recorder.path

    def set_step(self, step: int) -> None:
        if step != self._step:
            self._recorder.set_step(step)
            self._step = step

    def enable(self, enabled: bool) -> None:
        """True if the ops in compiled graphs record."""
        self._enabled = enabled
        self._recorder.enable(enabled)

    @contextlib.contextmanager
    def enabled(self):
        """For what is recorded outside of graphs."""
        if self._enabled:
            yield
            return
        self._recorder.enable(True)
        try:
            yield
        finally:
            self._recorder.enable(False)

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers of the run, those that the ledger has."""
        ids = self.ledger.ids
        self._scalars(step, ((probe, value) for name, value in values.items()
                             if (probe := ids.get(("scalar", name))) is not None))

    def order(self, probes: Iterable[int], step: int) -> None:
        """Probes in the order in which they ran: each one's place, once."""
        new = [(probe, place) for place, probe in enumerate(probes) if probe not in self._ordered]
        if new:
            self._ordered.update(probe for probe, _ in new)
            self._scalars(step, new)

    def _scalars(self, step: int, values: Iterable[tuple[int, float]]) -> None:
        self.set_step(step)
        number, tensor = self._number
        with self.enabled():
            for probe, value in values:
                number.value = value
                self._recorder._call("observe", probe, SCALAR, tensor, None)

    def take(self, probe: int, kind: int) -> "Distribution | None":
        """The distribution of what was recorded since the last call; None if that is
        nothing."""
        record, place = self._read
        if not self._recorder._call("read", probe, kind, place, None, 0):
            return None
        before = self._before.get((probe, kind))
        if before is not None and before.calls == record.calls:
            return None
        self._before[probe, kind] = now = _Reading(record)
        return Distribution(now, before)

    def flush(self, wait: bool) -> None:
        """Writes what there is. Without `wait` a device is not waited for, and the last write is
        at least a quarter of a second ago."""
        if wait:
            self._recorder._call("flush")
        else:
            self._recorder._call("flush_if_due")

    def close(self) -> None:
        _open.discard(self)
        self._recorder.close()


class Distribution:
    """Values that a probe recorded in a window: a record, less the one before it.

    Counts are exact. Magnitudes are known to their binary exponent, and exactly where the
    extreme of the whole run falls into the window.

    first   the first bin that is not empty; 0 if all are
    counts  the bins from there to the last one that is not empty"""

    def __init__(self, now: "Record | _Reading", before: "_Reading | None" = None):
        now = _Reading(now) if isinstance(now, Record) else now
        self.calls, self.count, self.zero, self.nan = now.calls, now.count, now.zero, now.nan
        self.inf, self.dtype = now.inf, now.dtype
        self.first_step, self.last_step = now.first_step, now.last_step
        if before:
            self.calls -= before.calls
            self.count -= before.count
            self.zero -= before.zero
            self.nan -= before.nan
            self.inf -= before.inf
            self.first_step = before.last_step + 1
        self.first_bad_step = min(_since(now.first_nan_step, before),
                                  _since(now.first_inf_step, before))
        self.first, self.counts = _less(now, before)
        self.nonzero = sum(self.counts)
        if not self.counts:
            self.absmax = self.least = 0.0
        else:
            top, bottom = LEAST + self.first + len(self.counts) - 1, LEAST + self.first - 1
            #: No magnitude is above.
            self.absmax = now.absmax if not before or now.absmax_step > before.last_step \
                else min(2.0 ** min(top, 1023), now.absmax)
            #: No non-zero magnitude is below.
            self.least = max(2.0 ** bottom, now.min_nonzero)

    def binades(self) -> tuple[int, list[int]]:
        """The exponent of the first binade that is not empty, and counts from there on."""
        return LEAST + self.first - 1, self.counts

    def below(self, exponent: int) -> int:
        """Non-zero values below 2^exponent."""
        return sum(self.counts[:max(0, exponent - LEAST + 1 - self.first)])

    def quantile(self, share: float) -> float:
        """A magnitude that `share` of the non-zero ones do not pass, within its binary
        exponent by interpolation; 0 if there are none."""
        left = share * self.nonzero
        for index, count in enumerate(self.counts, self.first):
            if count and left <= count:
                return 2.0 ** (LEAST + index - 1 + left / count)
            left -= count
        return self.absmax


_NUMBERS = struct.Struct("@7Q4d6Q")
_NUMBERS_AT = Record.calls.offset
_BINS = len(Record().histogram)


class _Reading:
    """The part of a record that a distribution takes, whose bytes tell it faster than its fields
    do: its numbers, and the bins of its histogram that are not empty, with those between, some
    forty of 280."""

    __slots__ = ("absmax", "absmax_step", "calls", "count", "counts", "dtype", "end", "first",
                 "first_inf_step", "first_nan_step", "first_step", "inf", "last_step",
                 "min_nonzero", "nan", "zero")

    def __init__(self, record: Record):
        (self.calls, _, self.count, self.nan, above, below, self.zero,
         _, _, self.absmax, self.min_nonzero, self.first_step, self.last_step, self.first_nan_step,
         self.first_inf_step, self.absmax_step, _) = _NUMBERS.unpack_from(record, _NUMBERS_AT)
        self.inf, self.dtype = above + below, _DTYPE_NAMES.get(record.dtype, "")
        # The first bin and the last one that are not empty have the extremes.
        # Bins of integers are codes.
        if self.absmax > 0 and self.dtype[:1] in "fb":
            self.first, self.end = _bin_of(self.min_nonzero), _bin_of(self.absmax) + 1
            self.counts = record.histogram[self.first:self.end]
        else:
            self.first, self.end, self.counts = 0, 0, []


def _bin_of(magnitude: float) -> int:
    return min(max(math.frexp(magnitude)[1] - LEAST, 0), _BINS - 1)


def _less(now: _Reading, before: _Reading | None) -> tuple[int, list[int]]:
    """The histogram of a record less that of the one before it, none of whose bins has more, from
    its first bin that is not empty to the last."""
    first, counts = now.first, now.counts
    if before is not None and before.counts:
        earlier = before.counts
        if before.first != first or before.end != now.end:
            earlier = [*[0] * (before.first - first), *earlier, *[0] * (now.end - before.end)]
        counts = list(map(operator.sub, counts, earlier))
    if not counts or counts[0] and counts[-1]:
        return first, counts
    filled = [place for place, count in enumerate(counts) if count]
    if not filled:
        return 0, []
    return first + filled[0], counts[filled[0]:filled[-1] + 1]


def _since(step: int, before: _Reading | None) -> float:
    if step == recorder.NEVER or before and step <= before.last_step:
        return math.inf
    return step
