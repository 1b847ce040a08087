"""MP514: the course of the loss, and what else moved when it left it."""

import math
import statistics
from collections.abc import Iterator, Sequence

from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Run, Sample, Step, number
from mpopt.monitor.record import PARAMETER

#: Losses of which the usual level is the median, and as many as it needs at least.
RECENT, ENOUGH = 50, 20
#: The deviation of a normal distribution in medians of absolute deviations.
_DEVIATION = 1.4826


def _spread(values: Sequence[float]) -> tuple[float, float]:
    """Median and deviation, which a few odd values do not move."""
    middle = statistics.median(values)
    return middle, _DEVIATION * statistics.median(abs(value - middle) for value in values)


class LossCourse(Judge):
    """Spikes, rises and losses that stay, each told once. A rise counts by the usual level, by the
    noise of single losses and by what the loss has fallen in all: near 0 a level doubles easily."""

    #: Steps from which on a spike stays; in which a level has to be too high.
    STAYS, HOLDS = 3, 20
    #: Deviations of single losses that a level moves without a reason: a median of fifty has 0.18 of
    #: them, and the least of a thousand steps is three of those below, the largest as many above.
    NOISY = 2
    #: Part of all that the loss fell, below which a rise is none.
    PART = 0.1
    #: A loss within this part of its first level has not fallen.
    FLAT = 0.02

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"recent": [], "first": None, "least": None, "spike": None, "steps": 0,
                        "course": [], "weights": {}, "moved": None}

    # -- Steps -----------------------------------------------------------------------------

    def see_step(self, step: Step) -> Iterator[Alert]:
        memory = self.memory
        self._note_course(step)
        if step.loss is None or not math.isfinite(step.loss):
            return
        memory["steps"] += 1
        recent = memory["recent"]
        if len(recent) >= ENOUGH:
            # As statistics.median, at a tenth of its time; between two values it does not matter which.
            level = sorted(recent)[len(recent) // 2]
            if memory["first"] is None:
                memory["first"] = level
                memory["least"] = [level, step.step]
            yield from self._see_spike(step, step.loss, level)
            if memory["spike"] and memory["spike"][1] <= RECENT:
                # An outlier is no part of the usual course, unless it stays.
                return
            yield from self._see_rise(step, level)
            yield from self._see_rest(step, level)
        recent.append(step.loss)
        del recent[:-RECENT]

    def _noise(self) -> float:
        return _spread(self.memory["recent"])[1]

    def _see_spike(self, step: Step, loss: float, level: float) -> Iterator[Alert]:
        memory, limits = self.memory, self.run.thresholds
        fallen = abs(memory["first"] - memory["least"][0])
        over = loss - level
        high = over > max(limits["loss-rise"] * abs(level), self.PART * fallen) and \
            over > limits["loss-deviations"] * self._noise()
        spike = memory["spike"]
        if high:
            if spike is None:
                spike = memory["spike"] = [step.step, 0, level, loss, self._explain(step.step), False]
            spike[1] += 1
            spike[5] = spike[5] or self._is_far(loss)
            spike[3] = max(spike[3], loss)
            if spike[1] == self.STAYS:
                yield self._tell_spike("warning", spike, f"for {self.STAYS} steps and on")
        elif spike is not None:
            memory["spike"] = None
            if spike[1] < self.STAYS and spike[5]:
                yield self._tell_spike("note", spike, f"for {spike[1]} step{'s' if spike[1] > 1 else ''}")

    def _is_far(self, loss: float) -> bool:
        """Also by the logarithm, whose noise is that of small batches near the end: single losses of
        several times their level are usual there."""
        recent = [math.log(value) for value in self.memory["recent"] if value > 0]
        if loss <= 0 or len(recent) < ENOUGH:
            return True
        middle, deviation = _spread(recent)
        return math.log(loss) - middle > self.run.thresholds["loss-deviations"] * deviation

    def _tell_spike(self, severity: str, spike: list, how_long: str) -> Alert:
        begin, _, level, most, why, _ = spike
        times = f"{number(most / level)} times its usual level {number(level)}" if level > 0 else \
            f"usually {number(level)}"
        return Alert("MP514", severity, "", begin,
                     f"step {begin}: the loss jumps to {number(most)}, {times}, {how_long}; {why or self._nothing(begin)}")

    def _see_rise(self, step: Step, level: float) -> Iterator[Alert]:
        memory = self.memory
        least, at = memory["least"]
        if level < least:
            memory["least"] = [level, step.step]
        first = memory["first"]
        rise = level - least
        high = rise > max(self.run.thresholds["loss-rise"] * abs(least), self.PART * abs(first - least)) and \
            rise > self.NOISY * self._noise()
        if self.begins("rise", high, self.HOLDS, pause=RECENT):
            severity = "error" if level > first else "warning"
            beyond = ", over its first level: training diverges" if level > first else ""
            yield Alert("MP514", severity, "", step.step,
                        f"step {step.step}: the loss rises, from {number(least)} about step {at} to {number(level)}"
                        f"{beyond}; {self._explain(step.step, since=at) or self._nothing(None)}")

    def _see_rest(self, step: Step, level: float) -> Iterator[Alert]:
        memory, patience = self.memory, self.run.thresholds["loss-patience"]
        # Once in a window is enough, and each look takes the deviation of fifty losses.
        if memory["steps"] < patience or memory["steps"] % 8:
            return
        first, least = memory["first"], memory["least"][0]
        small = max(self.FLAT * abs(first), 2 * self._noise() / math.sqrt(ENOUGH))
        if not self.begins("rest", first - min(level, least) <= small and level - first <= small):
            return
        severity, why = self._why_it_rests(step)
        yield Alert("MP514", severity, "", step.step,
                    f"step {step.step}: the loss has not fallen in {memory['steps']} steps, {number(first)} at first and "
                    f"{number(level)} now; {why}")

    # -- What else moved -------------------------------------------------------------------

    def _note_course(self, step: Step) -> None:
        size = {name: max(abs(lo), abs(hi)) for name, (lo, hi) in step.inputs.items()}
        course = self.memory["course"]
        course.append([step.step, step.scale, step.skipped, step.total, step.learning_rate, size])
        # As long as the patience, every step of the last ones and each eighth before.
        if len(course) > 4 * RECENT:
            course[:] = [entry for entry in course[:-2 * RECENT] if entry[0] % 8 == 0][-2 * RECENT:] + course[-2 * RECENT:]

    def _explain(self, step: int, since: int | None = None) -> str:
        """The values that moved in the ten steps up to `step`, or between its state at `since` and now; empty if
        that is nothing."""
        course = self.memory["course"]
        begin = step - 10 if since is None else since
        before = [entry for entry in course if entry[0] < begin][-RECENT:] or course[:1]
        now = [entry for entry in course if begin <= entry[0] <= step]
        if since is not None:
            return "; ".join([*self._find_inputs(before, now), *self._find_moves(before, now[-RECENT // 2:])])
        # A loss is computed with what earlier steps left: its own gradients follow from it.
        return "; ".join([*self._find_inputs(before, now[-1:]), *self._find_moves(before, now[:-1])])

    def _find_moves(self, before: list, now: list) -> Iterator[str]:
        if rates := _known(before, 4):
            usual = statistics.median(rates)
            most = max(_known(now, 4, with_step=True), default=(0.0, 0))
            if usual > 0 and most[0] >= 2 * usual:
                yield (f"the learning rate rose from {number(usual)} to {number(most[0])} by step {most[1]}: lower it, or "
                       "warm it up for longer")
        skips = [entry[0] for entry in now if entry[2]]
        if len(skips) > 1:
            yield (f"the scaler left out {len(skips)} steps since step {skips[0]}, and its scale is "
                   f"{number(now[-1][1] or 0)}: {self.run.in_16_bits('find the op that overflows (monitor.find_first_bad)') or 'see MP507'}")
        if norms := _known(before, 3):
            usual = statistics.median(norms)
            most = max(_known(now, 3, with_step=True), default=(0.0, 0))
            if usual > 0 and most[0] >= 5 * usual:
                yield (f"the gradient norm was {number(most[0])} in step {most[1]}, {number(most[0] / usual)} times its "
                       f"median: {self.run.after_unscaling('clip')}, and keep that batch")

    @staticmethod
    def _find_inputs(before: list, now: list) -> Iterator[str]:
        usual_sizes = {name: statistics.median(values) for name in (now[-1][5] if now else ())
                       if (values := [entry[5][name] for entry in before if math.isfinite(entry[5].get(name, math.nan))])}
        for name, usual in usual_sizes.items():
            most = max(((entry[5].get(name, 0.0), entry[0]) for entry in now), default=(0.0, 0))
            if usual > 0 and most[0] > 3 * usual:
                yield (f"input '{name}' reached {number(most[0])} in step {most[1]}, usually {number(usual)}: keep and look at "
                       "that batch")
    def _nothing(self, batch: int | None) -> str:
        sign = "scale, skipped steps, norm, inputs and learning rate are as before, so precision shows no sign" \
            if self.run.in_16_bits("may") else "nothing is computed in 16 bits, and norm, inputs and learning rate are as before"
        look = "look at the data, the labels and the learning rate" if batch is None else \
            f"keep and look at the batch of step {batch}"
        return f"{sign}: {look}"

    def _why_it_rests(self, step: Step) -> tuple[str, str]:
        course = self.memory["course"]
        skipped = sum(entry[2] for entry in course)
        rates = _known(course, 4)
        if 2 * skipped > len(course):
            return "warning", (f"{skipped} of {len(course)} steps that were looked at were left out by the scaler: find the "
                               "op that overflows (monitor.find_first_bad)")
        norms = _known(course, 3)
        vanished = norms and statistics.median(norms) < self.run.thresholds["norm-vanished"]
        if vanished:
            return "warning", f"the gradient norm is {number(statistics.median(norms))}: gradients vanish or are flushed"
        norm = f"the gradient norm is {number(statistics.median(norms))}, and " if norms else ""
        if self.memory["moved"] is False:
            if rates and max(rates) > 0 and max(rates) * (statistics.median(norms) if norms else 1.0) >= 1e-6:
                return "warning", (f"{norm}no weight moved at a learning rate of {number(max(rates))}: the optimizer does not "
                                   "hold the model's parameters, or updates are lost in 16 bits")
            return "note", f"{norm}no weight moved: the learning rate {number(max(rates, default=0.0))} is too small"
        return "warning", (f"{norm}weights move: precision shows no sign; look at the labels, at tensors detached from "
                           "the loss, and try another learning rate")

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        """True if weights moved since their first sample: their distributions did."""
        weights, now = self.memory["weights"], {}
        for index, seen in sample.of(PARAMETER):
            now[self.run.parameters[index]] = [seen.first, seen.counts]
        if now and not weights:
            self.memory["weights"] = now
        elif now and not self.memory["moved"]:
            self.memory["moved"] = any(weights.get(name) != value for name, value in now.items())
        return iter(())


def _known(course: list, place: int, with_step: bool = False) -> list:
    return [(entry[place], entry[0]) if with_step else entry[place] for entry in course
            if entry[place] is not None and math.isfinite(entry[place])]
