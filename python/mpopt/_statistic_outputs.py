"""Models whose probes are outputs (`--probe-with outputs`, docs/instrument.md): their
values from `run` go to the recorder, as those of the op."""

import json
import re
from collections.abc import Mapping, Sequence

from mpopt._command import Error
from mpopt.recorder import (
    DTYPES,
    FORMATS,
    NO_DISTRIBUTION,
    NO_SHAPE,
    Record,
    Recorder,
    new_record,
)

_COUNTS = ("f16", "bf16", "e4m3", "e5m2")


def statistics_record(probe: int, step: int, counts, values, dtype: str = "",
                      shape: Sequence[int] | None = None) -> Record:
    """A record of the outputs that `--probe-with outputs` adds (docs/instrument.md):
    without a histogram and sums.

    dtype  of the tensor, as in the ledger; empty if nobody knows it
    shape  of the tensor, None if nobody knows it"""
    record = new_record(probe)
    record.calls = 1
    record.dtype = DTYPES.get(dtype, 0)
    record.flags = NO_DISTRIBUTION
    if shape is None:
        record.flags |= NO_SHAPE
    else:
        record.rank = len(shape)
        for axis, size in enumerate(shape[:len(record.dim_min)]):
            record.dim_min[axis] = record.dim_max[axis] = size
    record.count, record.nan, record.pos_inf, record.neg_inf, record.zero = map(int, counts[:5])
    record.min, record.max, record.absmax, record.min_nonzero = map(float, values)
    record.first_step = record.last_step = step
    # An extreme that there is not has no step.
    if record.absmax:
        record.absmax_step = record.min_nonzero_step = step
    elif record.zero:
        record.absmax_step = step
    if record.nan:
        record.first_nan_step = step
    if record.pos_inf or record.neg_inf:
        record.first_inf_step = step
    if dtype in DTYPES and "f" not in dtype:
        return record  # An integer has no edges.
    for index, name in enumerate(_COUNTS):
        overflow, flush = int(counts[5 + 2 * index]), int(counts[6 + 2 * index])
        edge = record.edge[FORMATS.index(name)]
        edge.beyond_max = edge.not_finite = overflow
        edge.rounds_to_zero = flush
        if overflow:
            record.first_overflow_step[index] = step
        if flush:
            record.first_flush_step[index] = step
    return record


def shape_of(value) -> tuple[int, ...] | None:
    """The shape of an array or an `OrtValue` that was fed; None for other objects."""
    shape = getattr(value, "shape", None)
    shape = shape() if callable(shape) else shape
    return None if shape is None else tuple(shape)


def describe_probes(session) -> dict[int, Mapping[str, str]]:
    """By probe id the `dtype` of its tensor and, if it is one, the `input`: the model says
    so. Nothing of a model that does not."""
    text = session.get_modelmeta().custom_metadata_map.get("mpopt.outputs", "{}")
    return {int(probe): facts for probe, facts in json.loads(text).items()}


def find_probes(outputs: Sequence[str]) -> dict[int, tuple[str, str]]:
    """The two outputs of each probe, by its id."""
    found = (re.fullmatch(r"mpopt\.probe\.(\d+)\.counts", name) for name in outputs)
    return {int(match[1]): (match[0], f"mpopt.probe.{match[1]}.values")
            for match in found if match}


def record_outputs(session, recorder: Recorder) -> bool:
    """Makes `session.run` record the statistics and return the other outputs, as the original
    does; statistics that a caller names are returned, too. False if the model has none."""
    outputs = [value.name for value in session.get_outputs()]
    probes = find_probes(outputs)
    if not probes:
        return False
    statistics = [name for pair in probes.values() for name in pair]
    own = [name for name in outputs if name not in set(statistics)]
    described = describe_probes(session)
    original = session.run

    def run(output_names, input_feed, run_options=None):
        wanted = list(output_names or own)
        names = wanted + [name for name in statistics if name not in wanted]
        results = original(names, input_feed, run_options)
        by_name = dict(zip(names, results, strict=True))
        for probe, (counts, values) in probes.items():
            step = recorder.begin(probe)
            if step is None:
                continue
            facts = described.get(probe, {})
            recorder.merge(statistics_record(
                probe, step, by_name[counts], by_name[values], facts.get("dtype", ""),
                shape_of(input_feed.get(facts.get("input")))))
        return results[:len(wanted)]

    def refuse(*_, **__):
        raise Error("probes that are outputs are recorded by run() alone: use it, or write the "
                    "model with probe_with=\"op\"")

    session.run = run
    for name in ("run_async", "run_with_iobinding", "run_with_ort_values",
                 "run_with_ortvaluevector"):
        if hasattr(session, name):
            setattr(session, name, refuse)
    return True
