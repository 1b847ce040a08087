"""Rules about the loss scale: MP506, MP507, and MP411 of how a scaler is used."""

import math
from collections.abc import Iterator

from mpopt.monitor import trend
from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Run, Step, limit, number

#: A scale from which on a scaler is expected to come down: GradScaler's own start. DeepSpeed
#: and Megatron-LM start at 2^32.
USUAL = 65536.0


def _remedy(run: Run) -> str:
    find = "find the op that overflows (monitor.find_first_bad(batch))"
    if not run.in_16_bits("known"):
        return f"{find}; nothing is computed in 16 bits, so leave the scaler out"
    return (f"{find}, keep it in FP32, take the mean where the loss is a sum"
            + (", or train in BF16" if run.may_use("f16") else ""))


class LossScale(Judge):
    """MP506: where the loss scale goes."""

    DROPS, STILL = 5, 5

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"drops": 0, "still": 0, "seen": [], "quiet": 0}

    def see_step(self, step: Step) -> Iterator[Alert]:
        first, scale = self.run.first_scale, step.next_scale
        if first is None or scale is None:
            return
        memory, at = self.memory, f"step {step.step}: the loss scale"
        before = memory["seen"][-1][1] if memory["seen"] else first
        fell, rose = scale < before, scale > before
        if fell and scale < USUAL:
            memory["drops"] += 1
        elif rose or fell:
            memory["drops"] = 0
        memory["still"] = 0 if scale > 1 or rose else memory["still"] + 1
        memory["seen"] = [*memory["seen"][-49:], [step.step, scale]]
        start, limits = min(first, USUAL), self.run.thresholds
        ends = trend.steps_to_one(memory["seen"])
        forecast = f"; if it goes on it is 1 in {ends:.0f} steps" if ends and scale > 1 else ""
        gone = self.begins("gone", scale == 0)
        stuck = self.begins("stuck", 0 < scale <= 1 and memory["still"] >= self.STILL)
        low = self.begins("low", scale < limits["scale-falling"] and scale < start and (fell or self._is_low("low")))
        deep = self.begins("deep", scale < start / 100)
        under = self.begins("under", scale < limits["scale-low"] and scale < start)
        drops = self.begins("drops", memory["drops"] >= self.DROPS)
        if gone:
            yield self._alert("error", step, f"{at} is 0: no step is taken any more, and gradients "
                              "divided by it are not finite")
        elif stuck:
            yield self._alert("error", step, f"{at} is {number(scale)} and does not rise: every "
                              "gradient overflows, whatever its scale, so the forward pass or the "
                              "loss is not finite")
        elif low:
            yield self._alert("warning", step, f"{at} is {number(scale)}, under {limit(limits['scale-falling'])}, and falling"
                              + forecast)
        elif deep:
            yield self._alert("warning", step, f"{at} is {number(scale)}, under a hundredth of its "
                              f"first value {number(first)}{forecast}")
        elif under:
            yield self._alert("warning", step, f"{at} is {number(scale)}, under {limit(limits['scale-low'])}{forecast}")
        elif drops:
            yield self._alert("warning", step, f"{at} fell {self.DROPS} times without growing, to "
                              f"{number(scale)}{forecast}")
        yield from self._see_quiet(step, scale, fell)

    def _see_quiet(self, step: Step, scale: float, fell: bool) -> Iterator[Alert]:
        """A scale that nothing pushed down, and that is not where scales usually are."""
        memory, usual = self.memory, self.run.thresholds["scale-usual"]
        memory["quiet"] = 0 if fell or scale >= usual else memory["quiet"] + 1
        if self.begins("quiet", memory["quiet"] >= self.run.growth_interval):
            yield Alert("MP506", "note", "", step.step,
                        f"step {step.step}: the loss scale has been under {limit(usual)} for "
                        f"{memory['quiet']} steps without an overflow ({number(scale)} now): small gradients are "
                        "lost that a larger one would keep; begin with a larger scale, and let it grow (growth_interval)")

    def _is_low(self, key: str) -> bool:
        return self.memory["levels"].get(key, (0, 0, False))[2]

    def _alert(self, severity: str, step: Step, what: str) -> Alert:
        return Alert("MP506", severity, "", step.step, f"{what}; {_remedy(self.run)}")


class SkippedSteps(Judge):
    """MP507: steps that the scaler left out. A dynamic scaler leaves some out by design: on its
    first way down, and one after each time that it grew."""

    WINDOW, LOOK, FIRST_WAY = 100, 10, 20

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"taken": False, "first": 0, "begin": None, "skips": [], "grown": False,
                        "steps": 0}

    def see_step(self, step: Step) -> Iterator[Alert]:
        if self.run.first_scale is None or step.scale is None:
            return
        memory, skipped = self.memory, step.skipped
        if not memory["taken"] and skipped:
            memory["first"] += 1
            long = memory["first"] > self.FIRST_WAY
            if self.begins("first", long or (step.next_scale or 1) < 1):
                yield self._alert("error" if step.scale <= 1 else "warning", step,
                                  f"none of the first {memory['first']} steps was taken, and the "
                                  f"loss scale is {number(step.scale)}")
            return
        if memory["begin"] is None:
            memory["begin"] = step.step
        memory["taken"] = True
        memory["steps"] += 1
        if skipped and memory["grown"]:
            # The scale that it tried was too large; the one before serves on.
            memory["grown"] = False
        elif skipped:
            memory["skips"].append(step.step)
        if step.next_scale is not None and step.next_scale > step.scale:
            memory["grown"] = True
        begin = max(memory["begin"], step.step - self.WINDOW + 1)
        memory["skips"] = skips = [at for at in memory["skips"] if at >= begin]
        span = step.step - begin + 1
        share, most = len(skips) / self.WINDOW, self.run.thresholds["skipped-share"]
        if self.begins("share", share > most, pause=self.WINDOW):
            yield self._alert("warning", step,
                              f"{len(skips)} of the last {span} steps were skipped, over "
                              f"{100 * most:.3g} % of {self.WINDOW}")
        if memory["steps"] % self.LOOK == 0 and len(skips) > 1:
            chance = trend.rising(skips, begin, step.step + 1)
            if self.begins("rising", chance < trend.ERROR_RATE, pause=self.WINDOW):
                yield self._alert("warning", step,
                                  f"skipped steps become more frequent, {len(skips)} of the last "
                                  f"{span} (at a constant rate so late with probability "
                                  f"{chance:.1g})")

    def _alert(self, severity: str, step: Step, what: str) -> Alert:
        return Alert("MP507", severity, "", step.step, f"step {step.step}: {what}; {_remedy(self.run)}")


class ClippedScaled(Judge):
    """MP411: gradients that something made smaller between the backward pass and `unscale_`."""

    def see_step(self, step: Step) -> Iterator[Alert]:
        if not step.changed:
            return
        before, after = (math.hypot(*(norms[place] for norms in step.changed.values()))
                         for place in (0, 1))
        known = math.isfinite(before) and math.isfinite(after)
        if not self.begins("clipped", known and after < 0.99 * before):
            return
        scale = step.scale or 1.0
        index = max(step.changed, key=lambda index: step.changed[index][0])
        yield Alert("MP411", "error", self.run.layers[index], step.step,
                    f"step {step.step}: gradients were clipped before they were unscaled: their "
                    f"norm went from {number(before)} to {number(after)} at a loss scale of "
                    f"{number(scale)}, so that the applied norm is {number(after / scale)} in place "
                    f"of {number(before / scale)}; call scaler.unscale_(optimizer) before "
                    "clip_grad_norm_")


#: Faults of a program, by name: severity and message.
_MISUSES = {
    "scaled": ("error", "optimizer.step() was called with gradients that are still multiplied by the loss scale: call "
                        "scaler.step(optimizer) in its place, or scaler.unscale_(optimizer) before it"),
    "updated": ("warning", "scaler.update() came between the backward pass and scaler.step(): gradients are divided by "
                           "another scale than they were multiplied by as soon as it changes; call it once, behind the last "
                           "optimizer's scaler.step()"),
    "twice": ("error", "an optimizer stepped twice by the same gradients: leave out optimizer.step() beside "
                       "scaler.step(optimizer)"),
    "needless": ("note", "a loss scaler is in use and autocast is in BF16, whose range is that of FP32: it can only skip "
                         "steps; leave it out, or pass enabled=False"),
}


def misused_scaler(fault: str, step: int) -> Alert:
    """MP411: a scaler, or an optimizer beside it, that is used wrongly or without need."""
    severity, what = _MISUSES[fault]
    return Alert("MP411", severity, "", step, f"step {step}: {what}")
