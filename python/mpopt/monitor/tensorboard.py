"""Records as event files of TensorBoard."""

import math
import os
import time
from collections.abc import Sequence

from mpopt._command import Error, PathLike
from mpopt.monitor import history
from mpopt.monitor.history import Seen


def to_tensorboard(records: PathLike | Sequence[PathLike], logdir: PathLike) -> str:
    """Exports the history of a record, or of the records of a run's ranks, to an event file in the
    folder `logdir`, and returns its path. Needs the package `tensorboard`.

    Scalars: `mpopt/loss`, `mpopt/loss_scale`, `mpopt/gradient_norm`, `mpopt/learning_rate`,
    `mpopt/skipped` (0 or 1) by step. Histograms of magnitudes by binary exponent, zeros in a bin of
    their own: `value/NAME`, `gradient/NAME` (less the loss scale), `parameter/NAME`,
    `optimizer/NAME`. Text: `mpopt/RULE`, the alerts.

    Raises `mpopt.Error` if a record has no history, or the folder cannot be written."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
        from tensorboard.compat.proto.types_pb2 import DT_STRING
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError as error:
        raise Error("to_tensorboard needs the package tensorboard: pip install 'mpopt-precision[tensorboard]'") from error
    run = history.read(records)
    begin = time.time()
    before = set(os.listdir(logdir)) if os.path.isdir(logdir) else set()
    try:
        writer = EventFileWriter(os.fspath(logdir), filename_suffix=".mpopt")
    except OSError as error:
        raise Error(f"{os.fspath(logdir)}: {error.strerror}") from error

    def add(step: int, value: Summary.Value) -> None:
        writer.add_event(Event(wall_time=begin, step=step, summary=Summary(value=[value])))

    for step in run.steps:
        for name in history.NUMBERS:
            if name in step:
                add(step["step"], Summary.Value(tag=f"mpopt/{name}", simple_value=step[name]))
        add(step["step"], Summary.Value(tag="mpopt/skipped", simple_value=float(bool(step.get("skipped")))))
    for sample in run.samples:
        for seen in sample.seen:
            scale = sample.scale if seen.kind == "gradient" else 1.0
            if fields := _histogram(seen, scale):
                add(sample.step, Summary.Value(tag=f"{seen.kind}/{seen.name}", histo=HistogramProto(**fields)))
    for alert in run.alerts:
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        text = TensorProto(dtype=DT_STRING, string_val=[alert["message"].encode(errors="replace")],
                           tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]))
        add(alert["step"], Summary.Value(tag=f"mpopt/{alert['rule']}", metadata=metadata, tensor=text))
    writer.close()
    (made,) = (name for name in os.listdir(logdir) if name not in before and name.endswith(".mpopt"))
    return os.path.join(os.fspath(logdir), made)


def _histogram(seen: Seen, scale: float) -> dict | None:
    """Fields of a HistogramProto. Bin i holds what is at most `bucket_limit[i]` and above the limit
    before it: zeros, then magnitudes by exponent. None if nothing is finite."""
    if not scale > 0 or not math.isfinite(scale):
        scale = 1.0
    exponents = sorted(seen.exponents)
    limits, counts = [0.0], [float(seen.zero)]
    square = total = 0.0
    for exponent in range(exponents[0], exponents[-1] + 1) if exponents else ():
        low = math.ldexp(1.0, exponent) / scale
        count = float(seen.exponents.get(exponent, 0))
        if exponent == exponents[0]:
            # The bin between 0 and the least magnitude is empty.
            limits.append(low)
            counts.append(0.0)
        limits.append(2 * low)
        counts.append(count)
        total += 1.5 * low * count
        square += 2.25 * low * low * count
    number = sum(counts)
    if not number:
        return None
    largest = seen.absmax / scale if math.isfinite(seen.absmax) else limits[-1]
    return {"min": 0.0 if seen.zero else math.ldexp(1.0, exponents[0]) / scale, "max": largest, "num": number,
            "sum": total, "sum_squares": square, "bucket_limit": limits, "bucket": counts}
