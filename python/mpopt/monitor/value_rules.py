"""Rules about distributions: MP502 and MP504 of outputs, MP509, MP510, MP513."""

import math
from collections.abc import Iterator

from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Run, Sample, Step, limit, number
from mpopt.monitor.record import GRADIENT, VALUE

#: Exponents of the least normal numbers.
LEAST_NORMAL = {"f16": -14, "bf16": -126, "f32": -126}


class NearOverflow(Judge):
    """MP502: an output in FP16 near the largest number, or on its way there."""

    #: Growth per sample that leads past the edge within as many samples.
    GROWTH, AHEAD = 1.2, 3

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"largest": {}}

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        for index in sample.ran:
            seen = sample.seen.get((VALUE, index))
            if not seen or seen.dtype != "f16":
                continue
            name = self.run.modules[index]
            near = self.begins(f"near {name}", seen.absmax >= self.run.thresholds["near-overflow"])
            earlier = self.memory["largest"].setdefault(name, [])
            rate = self._rate([*earlier, seen.absmax])
            grows = rate is not None and seen.absmax * rate ** self.AHEAD >= self.run.thresholds["near-overflow"]
            grown = self.begins(f"grows {name}", grows and seen.absmax > 256, times=1)
            self.memory["largest"][name] = [*earlier[-2:], seen.absmax]
            remedy = ("scale it down, normalise before it or keep the module in FP32 "
                      "(torch.autocast(enabled=False)), or train in BF16")
            if near:
                yield Alert("MP502", "warning", name, sample.step,
                            f"step {sample.step}: the output of '{name}' reaches "
                            f"{number(seen.absmax)} in FP16, whose largest number is 65504; "
                            f"{remedy}")
            elif grown:
                yield Alert("MP502", "warning", name, sample.step,
                            f"step {sample.step}: the output of '{name}' grows, "
                            f"{' to '.join(map(number, [*earlier[-2:], seen.absmax]))} in FP16, and "
                            f"passes 65504 within {self.AHEAD} such samples if it goes on; {remedy}")

    def _rate(self, largest: list[float]) -> float | None:
        """The least growth of the last three samples, if that is much."""
        last = largest[-3:]
        if len(last) < 3 or not all(last):
            return None
        rate = min(last[1] / last[0], last[2] / last[1])
        return rate if rate >= self.GROWTH else None


class DeadLayer(Judge):
    """MP504: a module whose output is 0, or next to it, in two samples in a row."""

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        least = self.run.thresholds["dead-layer"]
        for index, seen in sample.of(VALUE):
            dead = seen.count > 0 and not seen.nan and not seen.inf and seen.absmax < least
            name = self.run.modules[index]
            if dead and not self.memory["levels"].get(name, (0, 0, False))[0]:
                self.wants_sample = True
            if self.begins(name, dead, times=2, pause=1):
                yield Alert("MP504", "warning", name, sample.step,
                            f"step {sample.step}: all {seen.count} values that '{name}' gave are "
                            f"{'0' if not seen.absmax else f'below {limit(least)}'}: dead units"
                            + self.run.in_16_bits(", flushed weights or an overflow before a "
                                                  "normalisation") +
                            "; look at the weights and biases before it, and lower the learning "
                            "rate")


class WideRange(Judge):
    """MP509: a tensor of magnitudes so far apart that its small ones are lost, while the bulk
    is small, too."""

    TIMES, WORSE = 3, 10.0

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"told": {}}

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        for kind, noun, names in ((VALUE, "output", self.run.modules),
                                  (GRADIENT, "gradient", self.run.parameters)):
            for index, seen in sample.of(kind):
                normal = LEAST_NORMAL.get(seen.dtype)
                if normal is None or seen.nonzero < 1000:
                    continue
                ratio = 0.0
                if seen.below(normal) >= 0.001 * seen.nonzero and (median := seen.quantile(0.5)):
                    ratio = seen.quantile(0.999) / median
                wide = ratio > self.run.thresholds["wide-range"]
                key = f"{noun} {names[index]}"
                told = self.memory["told"].get(key)
                worse = told is not None and wide and ratio > self.WORSE * told
                if self.begins(key, wide, self.TIMES) or worse:
                    self.memory["told"][key] = ratio
                    layer = names[index] if kind == VALUE else self.run.layers[index]
                    yield Alert("MP509", "warning" if worse else "note", layer, sample.step,
                                f"step {sample.step}: the {noun} of '{names[index]}' spreads over "
                                f"{math.log10(max(ratio, 1)):.1f} decades from its median to the "
                                f"99.9th percentile, and {seen.below(normal) / seen.nonzero:.1%} "
                                f"of it is subnormal in {seen.dtype}"
                                + (", ten times more than before" if worse else "")
                                + ": small values are lost beside large ones; normalise"
                                + ("" if seen.dtype == "f32" else ", or keep the module in FP32"))


class ChannelImbalance(Judge):
    """MP510: channels of one output that are of different orders."""

    TIMES, WORSE = 3, 10.0

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"told": {}}

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        step = sample.at.get("channels", sample.step)
        for index, (largest, median) in sample.channels.items():
            name = self.run.modules[index]
            known = math.isfinite(largest) and math.isfinite(median) and median > 0
            ratio = largest / median if known else 0.0
            told = self.memory["told"].get(name)
            worse = told is not None and ratio > self.WORSE * told
            if self.begins(name, ratio > self.run.thresholds["channel-ratio"], self.TIMES) or worse:
                self.memory["told"][name] = ratio
                yield Alert("MP510", "warning" if worse else "note", name, step,
                            f"step {step}: the root mean square of the largest channel of "
                            f"the output of '{name}' is {number(largest)}, {number(ratio)} times "
                            f"that of the median one ({number(median)}): sums over channels lose "
                            f"{self.run.in_16_bits('the others') or 'digits of the others'}; "
                            "normalise the features or the inputs"
                            + self.run.in_16_bits(", or keep the sums over them in FP32"))


class InputRange(Judge):
    """MP513: batches outside of what was assumed of the model's inputs."""

    def see_step(self, step: Step) -> Iterator[Alert]:
        for name, (lo, hi) in step.inputs.items():
            bounds = self.run.inputs.get(name)
            if bounds is None:
                continue
            outside = math.isfinite(lo) and math.isfinite(hi) and (lo < bounds[0] or hi > bounds[1])
            if self.begins(name, outside):
                yield Alert("MP513", "warning", name, step.step,
                            f"step {step.step}: input '{name}' lies in {number(lo)} to "
                            f"{number(hi)}, and {number(bounds[0])} to {number(bounds[1])} was "
                            "assumed: the judgement does not hold for it; mend the preprocessing, or "
                            f"judge again with --input {name}={number(lo)}:{number(hi)}")
