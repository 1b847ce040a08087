"""The pages of a training, from its history: plain data (`run` of a report in
`mpopt-page/1`)."""

import dataclasses
import math

from mpopt.monitor import diagnosis, fp8, verdict
from mpopt.monitor.history import NUMBERS, History, Sample

#: More points than a plot has pixels, and more columns than a heat map, show nothing.
MOST_POINTS, MOST_SAMPLES = 2000, 160
_F16_FLUSH, _F16_LARGEST = -25, 65504.0
#: The share of the gradients' elements that the lower end of the scale's window leaves lost.
_WINDOW_LOST = 0.01


def _thinned(steps: list[dict]) -> list[dict]:
    """At most MOST_POINTS steps. Of those left out the ones that were skipped, or not finite, stay."""
    every = max(1, math.ceil(len(steps) / MOST_POINTS))
    if every == 1:
        return steps
    rare = [step for index, step in enumerate(steps) if index % every and
            (step.get("skipped") or not math.isfinite(step.get("loss", 0.0)))]
    keep = {id(step) for step in rare[::max(1, math.ceil(len(rare) / MOST_POINTS))]}
    return [step for index, step in enumerate(steps) if index % every == 0 or id(step) in keep]


def _spread(samples: list[Sample]) -> list[Sample]:
    """At most MOST_SAMPLES, evenly, the last one with them."""
    if len(samples) <= MOST_SAMPLES:
        return samples
    places = sorted({round(index * (len(samples) - 1) / (MOST_SAMPLES - 1)) for index in range(MOST_SAMPLES)})
    return [samples[place] for place in places]


def _scale_exponent(sample: Sample) -> int:
    return round(math.log2(sample.scale)) if sample.scale > 0 and math.isfinite(sample.scale) else 0


def _window(sample: Sample) -> list[float] | None:
    """The step, and the exponents of the least and of the greatest loss scale with which FP16 holds
    the gradients of a sample; None if it has none."""
    shift = _scale_exponent(sample)
    counts: dict[int, int] = {}
    largest = 0.0
    for seen in sample.seen:
        if seen.kind != "gradient":
            continue
        if math.isfinite(seen.absmax):
            largest = max(largest, seen.absmax)
        for exponent, count in seen.exponents.items():
            counts[exponent - shift] = counts.get(exponent - shift, 0) + count
    total = sum(counts.values())
    if not total or largest == 0:
        return None
    left = _WINDOW_LOST * total
    low = min(counts)
    for exponent in sorted(counts):
        left -= counts[exponent]
        if left < 0:
            low = exponent
            break
    high = math.floor(math.log2(_F16_LARGEST / largest)) + shift
    return [sample.step, _F16_FLUSH - low, high]


def _known(value: float | None):
    """Null is a step without the number: NaN, which is one, is a word."""
    return "nan" if value is not None and math.isnan(value) else value


def _median(exponents: dict[int, int]) -> int | None:
    left = sum(exponents.values()) / 2
    for exponent in sorted(exponents):
        left -= exponents[exponent]
        if left <= 0:
            return exponent
    return None


def _cells(samples: list[Sample], kind: str) -> dict | None:
    """For each tensor of a kind, and each sample: exponents of the largest and of the median
    magnitude, shares of zeros and of what FP16 stores as 0, and the number of NaN and Inf."""
    names: dict[str, str] = {}
    for sample in samples:
        for seen in sample.seen:
            if seen.kind == kind:
                names.setdefault(seen.name, seen.dtype)
    if not names:
        return None
    rows: dict[str, list[list | None]] = {name: [None] * len(samples) for name in names}
    for column, sample in enumerate(samples):
        for seen in sample.seen:
            if seen.kind != kind:
                continue
            count = max(1, seen.count)
            flushed = sum(number for exponent, number in seen.exponents.items() if exponent < _F16_FLUSH)
            top = round(math.log2(seen.absmax), 2) if 0 < seen.absmax < math.inf else None
            rows[seen.name][column] = [top, _median(seen.exponents), round(seen.zero / count, 5),
                                       round(flushed / count, 5), seen.nan + seen.inf]
    return {"names": list(names), "dtypes": list(names.values()), "cells": list(rows.values())}


def _last(samples: list[Sample], kind: str) -> list[dict]:
    """Distributions of the last sample that has finite gradients, as rows of the page of exponents."""
    for sample in reversed(samples):
        rows = [seen for seen in sample.seen if seen.kind == kind]
        if any(seen.exponents for seen in rows):
            shift = _scale_exponent(sample) if kind == "gradient" else 0
            return [{"name": seen.name, "dtype": seen.dtype, "count": seen.count - seen.zero, "step": sample.step,
                     "exponents": _dense(seen.exponents, shift)} for seen in rows if seen.exponents]
    return []


def _dense(exponents: dict[int, int], shift: int) -> list[int]:
    first, last = min(exponents), max(exponents)
    return [first - shift, *(exponents.get(exponent, 0) for exponent in range(first, last + 1))]


def describe(history: History, title: str, foreseen: fp8.Foreseen | None = None) -> dict:
    """A report with the run alone. `foreseen`: what a report says of its scales in FP8."""
    steps, samples = _thinned(history.steps), _spread(history.samples)
    causes = diagnosis.diagnose(history)
    kinds = {kind: cells for kind in ("value", "gradient", "parameter", "optimizer")
             if (cells := _cells(samples, kind))}
    return {
        "title": title,
        "run": {
            "ranks": history.ranks, "first_scale": history.first_scale,
            "count": len(history.steps), "skipped": sum(1 for step in history.steps if step.get("skipped")),
            "steps": {"step": [step["step"] for step in steps],
                      **{name: [_known(step.get(name)) for step in steps] for name in NUMBERS
                         if any(name in step for step in history.steps)},
                      "skipped": _skipped_share(history.steps, steps)},
            "windows": [window for sample in samples if (window := _window(sample))],
            "samples": {"steps": [sample.step for sample in samples], "kinds": kinds},
            "last": {"gradient": _last(history.samples, "gradient"), "value": _last(history.samples, "value")},
            "fp8": [{key: _known(value) if isinstance(value, float) else value for key, value in dataclasses.asdict(fit).items()}
                    for fit in fp8.list_worst(fp8.judge(history, foreseen=foreseen))[:1000]],
            "alerts": history.alerts[-1000:],
            "causes": [dataclasses.asdict(cause) for cause in causes],
            "answers": [dataclasses.asdict(answer) for answer in diagnosis.healthy_answers(history)],
        },
    }


def _skipped_share(every: list[dict], shown: list[dict]) -> list[float]:
    """The share of skipped steps among the last hundred, at each step that is shown."""
    shares, held, recent = {}, 0, []
    for step in every:
        recent.append(bool(step.get("skipped")))
        held += recent[-1]
        if len(recent) > 100:
            held -= recent.pop(0)
        shares[step["step"]] = held / len(recent)
    return [shares[step["step"]] for step in shown]


def describe_courses(histories: list[History], titles: tuple[str, str], judged) -> dict:
    """Loss and metrics of two runs over each other, and what is to be said of the second
    (`mpopt.monitor.judge_run`)."""
    curves: dict[str, list] = {each.name: [] for each in judged.quantities}
    for found in map(verdict.series, histories):
        for name, points in curves.items():
            values = sorted(found[name].items())
            points.append([[step, _known(value)] for step, value in values[::max(1, math.ceil(len(values) / MOST_POINTS))]])
    return {"titles": list(titles), "verdict": judged.as_dict(), "curves": curves}


def describe_comparison(compared, titles: tuple[str, str]) -> dict:
    """A report with a comparison of two runs (`mpopt.monitor.compare`)."""
    first = compared.first
    return {
        "title": f"{titles[0]} and {titles[1]}",
        "against": {
            "titles": list(titles),
            "differences": [{"tensor": each.tensor, "kind": each.kind, "dtypes": list(each.dtypes),
                             "rms": list(each.root_mean_squares), "difference": each.difference,
                             "explained": each.explained,
                             **({"message": compared.alert.message} if each is first and compared.alert else {})}
                            for each in compared.differences],
            "incomparable": [{"tensor": name, "kind": "value", "why": why}
                             for name, why in compared.incomparable.items()]},
    }
