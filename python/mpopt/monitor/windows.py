"""Steps whose numbers came to the host together."""

import dataclasses
import math

from mpopt.monitor.judging import Sample, Step
from mpopt.monitor.packs import Pending
from mpopt.monitor.ranks import Ranks
from mpopt.monitor.record import PARAMETER


@dataclasses.dataclass
class Window:
    """Steps whose numbers are on their way to the host."""

    pending: Pending
    steps: list[Step]
    sample: Sample | None
    #: By step: the norms of float buffers behind it, by name.
    buffers: dict[int, dict[str, float]] = dataclasses.field(default_factory=dict)


def fill(window: Window, last_scale: float | None, ranks: Ranks | None) -> float | None:
    """Puts the numbers of the window's pack where they belong. `last_scale` is the one after the step
    before; returned is the one after the last of these."""
    steps, sample = window.steps, window.sample
    by_step = {step.step: step for step in steps}
    raw: dict[int, dict[int, float]] = {step.step: {} for step in steps}
    changed: dict[int, dict[int, float]] = {step.step: {} for step in steps}
    for (word, at, *rest), values in window.pending.read():
        if word == "buffers":
            # Those of each device by themselves, and also behind the last step.
            window.buffers.setdefault(at, {}).update(zip(rest[0], values, strict=True))
            continue
        step = by_step[at]
        if word in ("norms", "changed"):
            into = (raw if word == "norms" else changed)[at]
            for index, value in zip(rest[0], values, strict=True):
                # The last one of several passes that accumulate has the sum.
                into.pop(index, None)
                into[index] = value
        elif word == "input":
            lo, hi = step.inputs.get(rest[0], (math.inf, -math.inf))
            step.inputs[rest[0]] = _least(lo, values[0]), -_least(-hi, -values[1])
        elif word == "amax":
            step.amax[rest[0]] = values[0], values[1], values[2]
        elif word == "probe":
            step.probe = tuple(values[:rest[0]]), tuple(values[rest[0]:])
        elif word == "kept_cast":
            step.kept_cast = values[0] != rest[0]
        elif word == "metric":
            step.metrics[rest[0]] = values[0]
        elif word == "live":
            if sample is not None and sample.step == at:
                sample.live |= {index: rows * columns for index, rows, columns in
                                zip(rest[0], values[::2], values[1::2], strict=True)}
        elif word == "projections":
            if sample is not None and (sample.step == at or rest[0] == PARAMETER):
                # The last one of several calls in a step; parameters come once.
                sample.projections[rest[0], rest[1]] = values
        elif word in ("channels", "kept", "ranks"):
            if sample is None:
                continue
            sample.at[word] = at
            if word == "channels":
                for index, largest, median in zip(rest[0], values[::2], values[1::2],
                                                  strict=False):
                    sample.channels[index] = largest, median
            elif word == "ranks":
                sample.ranks = ranks.unpack(values)
            else:
                if math.isfinite(values[0]):
                    sample.kept[rest[0]] = values[0], rest[1]
                # A window may hold two, and the weights grow with the first.
                if values[1] >= sample.changes.get(rest[0], (0,))[0]:
                    sample.changes[rest[0]] = values[1], rest[1], at
        else:
            setattr(step, word, values[0])
    for step in steps:
        if step.scale is None and step.next_scale is not None:
            # This step's gradients were not read: their scale is the one before.
            step.scale = step.next_scale if last_scale is None else last_scale
        last_scale = step.next_scale if step.next_scale is not None else last_scale
        scale = step.scale or 1.0
        step.norms = {index: norm / scale for index, norm in raw[step.step].items()}
        step.changed = {index: (raw[step.step].get(index, math.nan), norm)
                        for index, norm in changed[step.step].items()}
        if sample is not None and sample.step == step.step:
            sample.scale = scale
    return last_scale


def _least(one: float, other: float) -> float:
    """The smaller one; NaN if one of the two is."""
    return math.nan if math.isnan(one) or math.isnan(other) else min(one, other)
