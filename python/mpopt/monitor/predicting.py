"""The loss scale and the flushed gradients that `--train` predicted, against a run."""

import dataclasses
import math
from collections.abc import Sequence

from mpopt import _command, _json_files
from mpopt._command import PathLike
from mpopt.monitor import reading
from mpopt.monitor.record import _DTYPE_NAMES, LEAST
from mpopt.recorder import Record

#: Magnitudes below 2^this are stored as 0, by the dtype of a gradient.
FLUSHED_BELOW = {"f16": -25, "bf16": -134, "f32": -150}


@dataclasses.dataclass(frozen=True)
class Flushed:
    """The share of a parameter's gradient, of what is not 0, that is 0 as stored at a loss
    scale.

    parameter  its name
    dtype      in which the gradient is computed as judged
    scale      the loss scale
    predicted  as the ledger has it
    seen       least and most that the run allows: a run in a dtype that itself flushes there
               only shows zeros"""

    parameter: str
    dtype: str
    scale: float
    predicted: float
    seen: tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Predictions:
    """
    window   exponents of the least and greatest loss scale as predicted; None: no such end
    settled  the loss scale of most steps of the run; None if none was recorded
    inside   whether it lies in the window; None if either is not known
    flushed  by parameter and scale, in the order of the prediction"""

    window: tuple[int | None, int | None]
    settled: float | None
    inside: bool | None
    flushed: tuple[Flushed, ...]


def check_predictions(records: PathLike | Sequence[PathLike], ledger: PathLike) -> Predictions:
    """Compares the predictions of a ledger (`--instrument --train`) with the records of a run
    that was monitored with it (`Monitor(ledger=...)`). Raises `mpopt.Error` for a ledger without
    predictions of a training, and for records of another one."""
    with _command.argument("ledger"):
        raw = _json_files.read(ledger)
        training = raw.get("report", {}).get("training")
        if training is None:
            raise ValueError("it has no predictions of a training: --instrument --train makes them")
    seen = reading.read(records, ledger)
    with _command.argument("ledger"):
        return _compare(training, seen)


def _compare(training: dict, seen: dict[tuple[str, str], Record]) -> Predictions:
    window = training["scale"]["lo"], training["scale"]["hi"]
    settled = _most_frequent(seen.get(("loss_scale", "scalar")))
    inside = None
    if settled is not None and training["scale"].get("needed"):
        exponent = math.log2(settled)
        inside = (window[0] is not None and window[0] <= exponent and
                  (window[1] is None or exponent <= window[1]))
    flushed = []
    for entry in training["gradients"]:
        name = entry["parameter"]
        record = seen.get((name, "gradient"))
        if entry.get("likely") is None or record is None or not record.count:
            continue
        scale = settled or 1.0
        for key, predicted in entry["flushed"].items():
            share = _share(record, entry["dtype"], float(key), scale)
            if share is not None:
                flushed.append(Flushed(name, entry["dtype"], float(key), predicted, share))
    return Predictions(window, settled, inside, tuple(flushed))


def _most_frequent(record: Record | None) -> float | None:
    """The scale of most steps: by binary exponent, since scales are powers of two."""
    if record is None or not record.count or not record.min > 0:
        return None
    if record.min == record.max:
        return record.min
    histogram = list(record.histogram)
    return 2.0 ** (LEAST + histogram.index(max(histogram)) - 1)


def _share(record: Record, dtype: str, scale: float, recorded_at: float
           ) -> tuple[float, float] | None:
    """Least and most share of non-zero elements that are 0 in the dtype at a loss scale, by a
    record of gradients multiplied by `recorded_at`; None if it tells nothing."""
    stored = _DTYPE_NAMES.get(record.dtype, "")
    if dtype not in FLUSHED_BELOW or stored not in FLUSHED_BELOW:
        return None
    limit = FLUSHED_BELOW[dtype] + round(math.log2(recorded_at / scale))
    histogram = list(record.histogram)
    kept = sum(histogram)
    below = sum(histogram[:max(0, min(len(histogram), limit - LEAST + 1))])
    # FP16 may have flushed what it shows as 0; the others reach far below any gradient.
    hidden = record.zero if stored == "f16" else 0
    if not kept and not hidden:
        return None
    return below / kept if kept else 0.0, (below + hidden) / (kept + hidden)
