"""True if a run is as good as a reference: its loss and metrics beside those of an FP32 run of the same
training, by their histories.

There are two types of loss. Type 1 is what people accept: the curve is as before, and the end is within 1 %.
Type 2 is what they do not: NaN, a training that does not converge, an end that is over 5 % worse. A second
FP32 run with another seed says what is noise."""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence

from mpopt._command import Error, PathLike
from mpopt.monitor import history
from mpopt.monitor.history import History

#: Shares of the reference: within the first a run is as good, beyond the second it is worse.
ACCEPTED, REFUSED = 0.01, 0.05
#: The last part of a run, of which the mean is its result, and as many steps as it has at least.
TAIL, FEWEST = 0.1, 5
#: Part of the reference's fall that a training that converges falls at least.
CONVERGES = 0.2
#: Standard errors within which a difference is noise.
ERRORS = 2.0
#: Parts of names of numbers that are better when they are lower.
LOWER = ("loss", "error", "err", "perplexity", "ppl", "mae", "mse", "rmse", "wer", "cer", "fid", "nll", "bpc")


@dataclasses.dataclass(frozen=True)
class Quantity:
    """The loss or a metric at the end of both runs.

    worse  how much worse the run is, as a share of the reference; negative if it is better
    noise  the share that noise explains: of the mean itself, and between the reference and the second
           one where it is given"""

    name: str
    reference: float
    run: float
    worse: float
    noise: float

    @property
    def outcome(self) -> str:
        if not math.isfinite(self.run):
            return "not finite"
        if self.worse <= ACCEPTED:
            return "within 1 %"
        if self.worse <= self.noise:
            return "within noise"
        return "over 5 % worse" if self.worse > REFUSED else "1 to 5 % worse"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`type` is 0 (as good as the reference, or within its noise), 1 (worse, by at most 5 %) or 2; `outcome` and
    `text` say why. `parted` is the step from which on the curves of the loss are apart by more than noise, None
    if they are not."""

    type: int
    outcome: str
    quantities: tuple[Quantity, ...]
    parted: int | None
    text: str

    def as_dict(self) -> dict:
        """Plain values; numbers that are not finite are the words of a history."""
        return {"type": self.type, "outcome": self.outcome, "parted": self.parted, "text": self.text,
                "quantities": [{"name": each.name, **{key: history.word(getattr(each, key)) for key in
                                                      ("reference", "run", "worse", "noise")},
                                "outcome": each.outcome} for each in self.quantities]}


def series(run: History) -> dict[str, dict[int, float]]:
    """The loss, and each metric, by step."""
    found: dict[str, dict[int, float]] = {}
    for step in run.steps:
        if "loss" in step:
            found.setdefault("loss", {})[step["step"]] = step["loss"]
        for name, value in step.get("metrics", {}).items():
            found.setdefault(name, {})[step["step"]] = value
    return found


def lower_is_better(name: str) -> bool:
    return any(word in LOWER for word in name.lower().replace("-", "_").replace("/", "_").replace(".", "_").split("_")) \
        or "loss" in name.lower()


def _tail(values: Mapping[int, float]) -> list[float]:
    ordered = [values[step] for step in sorted(values)]
    return ordered[-max(FEWEST, round(TAIL * len(ordered))):]


def _head(values: Mapping[int, float]) -> float:
    ordered = [values[step] for step in sorted(values)]
    finite = [value for value in ordered[:max(FEWEST, round(TAIL * len(ordered) / 2))] if math.isfinite(value)]
    return statistics.mean(finite) if finite else math.nan


def _mean_error(values: Sequence[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _compare(name: str, reference: Mapping[int, float], run: Mapping[int, float],
             noise: Mapping[int, float] | None) -> Quantity:
    one, other = _tail(reference), _tail(run)
    mean, own = statistics.fmean(one), statistics.fmean(other)
    if not math.isfinite(own) or not math.isfinite(mean):
        return Quantity(name, mean, own, math.nan, 0.0)
    unit = abs(mean) or 1.0
    worse = (own - mean if lower_is_better(name) else mean - own) / unit
    last = sorted(reference.keys() & run.keys())[-len(one):]
    pairs = [run[step] - reference[step] for step in last]
    # With the same batches the noise is in both; with others it is that of two means.
    error = min(math.hypot(_mean_error(one), _mean_error(other)), _mean_error(pairs) if len(pairs) > 1 else math.inf)
    share = ERRORS * error / unit if math.isfinite(error) else 0.0
    if noise:
        share = max(share, ERRORS * abs(statistics.fmean(_tail(noise)) - mean) / unit)
    return Quantity(name, mean, own, worse, share)


def _converges(reference: Mapping[int, float], run: Mapping[int, float]) -> bool:
    fall = _head(reference) - statistics.fmean(_tail(reference))
    own = _head(run) - statistics.fmean(_tail(run))
    return not fall > 0 or own > CONVERGES * fall


def _window_means(values: Sequence[float], width: int) -> list[float]:
    """The mean of each window of `width` values, NaN where one of them is not finite. Sums are of integers, since
    a running sum of floats would keep the rounding error of a large value that left the window."""
    ratios = [value.as_integer_ratio() if math.isfinite(value) else None for value in map(float, values)]
    unit = max((ratio[1] for ratio in ratios if ratio), default=1)
    sums = list(itertools.accumulate((ratio[0] * (unit // ratio[1]) if ratio else 0 for ratio in ratios), initial=0))
    bad = list(itertools.accumulate((ratio is None for ratio in ratios), initial=0))
    return [(sums[end] - sums[end - width]) / (width * unit) if bad[end] == bad[end - width] else math.nan
            for end in range(width, len(sums))]


def find_parting(reference: Mapping[int, float], run: Mapping[int, float],
                 noise: Mapping[int, float] | None = None) -> int | None:
    """The step from which on two losses stay apart by more than noise: three deviations of a mean over a
    window, or twice what the second reference is away at most."""
    steps = sorted(reference.keys() & run.keys())
    width = max(FEWEST, len(steps) // 20)
    if len(steps) < 2 * width:
        return None
    gaps = [run[step] - reference[step] for step in steps]
    spread = statistics.median(statistics.pstdev([reference[step] for step in steps[at:at + width]])
                               for at in range(0, len(steps) - width + 1, width))
    limit = 3 * spread / math.sqrt(width)
    if noise and (common := [noise[step] - reference[step] for step in steps if step in noise]):
        limit = max([limit, *(2 * abs(value) for value in _window_means(common, width))]) if len(common) >= width else limit
    parted = None
    for at, value in enumerate(_window_means(gaps, width)):
        if not math.isfinite(value) or abs(value) > limit:
            parted = steps[at] if parted is None else parted
        else:
            parted = None
    return parted


def _say(outcome: str, worst: Quantity | None, parted: int | None, bad: int | None) -> str:
    text = outcome
    if worst is not None:
        text += (f": {worst.name} {worst.run:.4g} beside {worst.reference:.4g}, {abs(100 * worst.worse):.2g} % "
                 f"{'worse' if worst.worse > 0 else 'better'} (noise: {100 * worst.noise:.2g} %)")
    if bad is not None:
        text += f", first in step {bad}"
    return text + (f"; the curves part about step {parted}" if parted is not None else "; the curves do not part")


def judge_run(reference: PathLike | Sequence[PathLike] | History, run: PathLike | Sequence[PathLike] | History,
              noise: PathLike | Sequence[PathLike] | History | None = None) -> Verdict:
    """Judges a run by a reference, each a record, those of its ranks, or a `History`. `noise` is the reference
    with another seed. Raises `mpopt.Error` if a record has no history."""
    one, other, third = (series(each if isinstance(each, History) else history.read(each)) if each is not None else {}
                         for each in (reference, run, noise))
    names = [name for name in one if name in other]
    if not names:
        raise Error("run: it has neither a loss nor a metric in common with the reference (Monitor.step(loss=, metrics=))")
    bad = next((step for step, value in sorted(other.get("loss", {}).items()) if not math.isfinite(value)), None)
    quantities = tuple(_compare(name, one[name], other[name], third.get(name)) for name in names)
    parted = find_parting(one["loss"], other["loss"], third.get("loss")) if "loss" in names else None
    if any(not math.isfinite(each.reference) for each in quantities):
        raise Error("reference: its end is not finite: no run can be judged by it")
    worst = max(quantities, key=lambda each: math.inf if not math.isfinite(each.worse) else
                each.worse - max(each.noise, ACCEPTED))
    outcomes = {each.outcome for each in quantities}
    if "not finite" in outcomes:
        return Verdict(2, "NaN or Inf", quantities, parted, _say("NaN or Inf", None, parted, bad))
    if "loss" in names and not _converges(one["loss"], other["loss"]):
        own = next(each for each in quantities if each.name == "loss")
        return Verdict(2, "does not converge", quantities, parted, _say("does not converge", own, parted, None))
    for kind, outcome in ((2, "over 5 % worse"), (1, "1 to 5 % worse"), (0, "within noise"), (0, "within 1 %")):
        if outcome in outcomes:
            return Verdict(kind, outcome, quantities, parted, _say(outcome, worst, parted, bad))
    raise AssertionError(outcomes)
