"""Rules about gradients in every step: MP505, MP508, and MP501 of gradients and losses."""

import math
import statistics
from collections.abc import Iterator

from mpopt.monitor import overflows
from mpopt.monitor.alerts import Alert
from mpopt.monitor.history import VANISHED
from mpopt.monitor.judging import LABELS, Judge, Run, Sample, Step, limit, number
from mpopt.monitor.record import GRADIENT, PARAMETER, VALUE


class GradientNorm(Judge):
    """MP505: the norm of all unscaled gradients together."""

    #: Steps in a row that a level has to hold.
    HIGH, LOW = 3, 10
    #: Norms of which the running median is taken, and as many as it needs at least.
    RECENT, ENOUGH = 50, 20

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"recent": [], "first_loss": None}

    def see_step(self, step: Step) -> Iterator[Alert]:
        memory = self.memory
        if memory["first_loss"] is None and step.loss is not None and math.isfinite(step.loss):
            memory["first_loss"] = step.loss
        total = step.total
        if total is None or not math.isfinite(total):
            return
        where, layer = self._largest(step)
        limits = self.run.thresholds
        at = f"step {step.step}: the total gradient norm {number(total)}"
        remedy = ("lower the learning rate, check the loss term and the batch, or clip by "
                  f"{self.run.after_unscaling('clip_grad_norm_')}")
        over = self.begins("over 1000", total > limits["norm-error"], self.HIGH)
        if over:
            yield Alert("MP505", "error", layer, step.step,
                        f"{at} is over {limit(limits['norm-error'])} for {self.HIGH} steps, {where}: training is about to "
                        f"break; {remedy}")
        high = self.begins("over 100", total > limits["norm-high"], self.HIGH)
        if high and not over and total <= limits["norm-error"]:
            yield Alert("MP505", "warning", layer, step.step,
                        f"{at} is over {limit(limits['norm-high'])} for {self.HIGH} steps, {where}: gradients explode; "
                        f"{remedy}")
        under = self.begins("under 1e-6", total < limits["norm-vanished"], self.LOW)
        if under:
            yield Alert("MP505", "warning", "", step.step,
                        f"{at} is under {limit(limits['norm-vanished'])} for {self.LOW} steps: {VANISHED}; look for a "
                        "loss that is divided twice, saturated activations or a detached loss")
        if self.begins("under 0.01", total < limits["norm-low"] and not self._has_learned(step), self.LOW) \
                and not under and total >= limits["norm-vanished"]:
            yield Alert("MP505", "note", "", step.step,
                        f"{at} is under {limit(limits['norm-low'])} for {self.LOW} steps and the loss has not fallen to "
                        "half of its first value: gradients vanish; check initialisation, "
                        "normalisation and the divisor of the loss")
        yield from self._see_jump(step, total, at, where, layer, over or high)

    def _see_jump(self, step, total, at, where, layer, told) -> Iterator[Alert]:
        recent = self.memory["recent"]
        if len(recent) >= self.ENOUGH:
            median = statistics.median(recent)
            # A jump to a norm that is usual for training is none.
            if self.begins("jump", total > self.run.thresholds["norm-jump"] * median and total > 1) and not told:
                yield Alert("MP505", "warning", layer, step.step,
                            f"{at} is {number(total / median) if median else 'far'} times the "
                            f"median of the last {len(recent)} ({number(median)}), {where}: an "
                            "odd batch or a learning rate at its limit; look at the batch, "
                            f"{self.run.after_unscaling('clip')}")
        recent.append(total)
        del recent[:-self.RECENT]

    def _largest(self, step: Step) -> tuple[str, str]:
        index = max(step.norms, key=step.norms.__getitem__)
        return (f"the largest part in '{self.run.parameters[index]}' "
                f"({number(step.norms[index])})", self.run.layers[index])

    def _has_learned(self, step: Step) -> bool:
        first = self.memory["first_loss"]
        return first is not None and step.loss is not None and step.loss < first / 2


class NoGradient(Judge):
    """MP508: a layer, weights and biases together, whose largest gradient stays below 1e-10.
    A bias that cancels by algebra is no layer of its own."""

    #: Steps in which norms were taken.
    TIMES = 20

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"steps": 0, "alive": [], "largest": {}}

    def see_step(self, step: Step) -> Iterator[Alert]:
        # Without any gradient nobody trained; NaN and Inf tell of nothing here.
        if step.total is None or not math.isfinite(step.total):
            return
        memory = self.memory
        memory["steps"] += 1
        largest = memory["largest"]
        for index, norm in step.norms.items():
            layer = self.run.layers[index]
            largest[layer] = max(largest.get(layer, 0.0), norm)
        if memory["steps"] < self.TIMES:
            return
        for layer in dict.fromkeys(self.run.layers):
            if layer in self.run.elsewhere:
                continue
            norm = largest.get(layer)
            silent = norm is None or norm < self.run.thresholds["no-gradient"]
            sampled = self.memory["levels"].get(f"sampled {layer}", (0, 0, False))[2]
            if not self.begins(layer, silent, pause=1) or sampled:
                continue
            if norm is None:
                yield Alert("MP508", "warning", layer, step.step,
                            f"step {step.step}: layer '{layer}' got no gradient in "
                            f"{self.TIMES} steps although its parameters ask for one: it is "
                            "detached from the loss or not used; check .detach() and no_grad, or "
                            "set requires_grad to False if that is meant")
            else:
                yield Alert("MP508", "warning", layer, step.step,
                            f"step {step.step}: the norm of the gradient of layer '{layer}' stayed "
                            f"at {number(norm)} or below for {self.TIMES} steps, under {self._least}: it "
                            f"does not learn; {self._look_for('a factor of 0')}")
        memory["steps"] = 0
        largest.clear()

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        # A norm over many elements may pass what none of them does.
        largest: dict[str, float] = {}
        for index, seen in sample.of(GRADIENT):
            layer = self.run.layers[index]
            if layer in self.run.elsewhere:
                continue
            magnitude = math.inf if seen.nan or seen.inf else seen.absmax / sample.scale
            largest[layer] = max(largest.get(layer, 0.0), magnitude)
        for layer, magnitude in largest.items():
            told = self.memory["levels"].get(layer, (0, 0, False))[2]
            if self.begins(f"sampled {layer}", magnitude < self.run.thresholds["no-gradient"] and not told, times=2):
                yield Alert("MP508", "warning", layer, sample.step,
                            f"step {sample.step}: no element of the gradient of layer '{layer}' "
                            f"is above {number(magnitude)}, under {self._least}, for two samples: it does "
                            f"not learn; {self._look_for('a factor near 0')}")

    @property
    def _least(self) -> str:
        return limit(self.run.thresholds["no-gradient"])

    def _look_for(self, factor: str) -> str:
        flushed = self.run.in_16_bits(" or gradients that were flushed (a larger loss scale)")
        return f"look for dead units{',' if flushed else ' or'} {factor}{flushed}"


class NonFinite(Judge):
    """MP501: NaN and Inf in inputs, losses, gradients, parameters and outputs of modules.

    Infinite gradients are how a dynamic scaler finds its scale, so with one they count from
    a scale of 1 down. A loss that is not finite asks for a sample, which names the module."""

    def __init__(self, run: Run):
        super().__init__(run)
        #: A loss that waits for a sample; what was not finite first where its update was taken.
        self.memory |= {"waiting": None, "applied": None}

    def see_step(self, step: Step) -> Iterator[Alert]:
        memory = self.memory
        bad_inputs = [name for name, ends in step.inputs.items()
                      if not all(map(math.isfinite, ends))]
        for name in bad_inputs:
            if self.begins(f"input {name}", True):
                yield Alert("MP501", "error", name, step.step,
                            f"step {step.step}: input '{name}' holds NaN or Inf: the data are at fault"
                            + self._or_cast(step.inputs[name]) +
                            "; drop or mend such samples before they reach the model")
        for name in step.inputs:
            if name not in bad_inputs:
                self.begins(f"input {name}", False)
        bad_loss = step.loss is not None and not math.isfinite(step.loss)
        self._note_applied(step, bad_loss, bad_inputs)
        begins = self.begins("loss", bad_loss)
        if begins and (empty := self._without_labels(step)):
            yield empty
        elif begins and not bad_inputs:
            memory["waiting"] = [step.step, step.loss, self._bad_terms(step)]
            self.wants_sample = self.run.sees_values
            if not self.run.sees_values:
                yield self._tell_loss("", "outputs of modules are not looked at")
        yield from self._see_gradients(step, bad_loss or bool(bad_inputs))

    def _or_cast(self, ends: tuple[float, float]) -> str:
        """Engines cast inputs to the format of the parameters before the model gets them."""
        return ", or do not fit FP16 where an engine casts them (65504)" \
            if not any(map(math.isnan, ends)) and self.run.may_use("f16") else ""

    @staticmethod
    def _bad_terms(step: Step) -> str:
        """Which of the terms that the program gave (`Monitor.step(metrics=)`) are not finite."""
        bad = [f"'{name}' ({number(value)})" for name, value in step.metrics.items() if not math.isfinite(value)]
        good = [f"'{name}'" for name, value in step.metrics.items() if math.isfinite(value)]
        return f", by its term {', '.join(bad)}" + (f", while {', '.join(good)} {'are' if len(good) > 1 else 'is'} finite"
                                                    if good else "") if bad else ""

    def _without_labels(self, step: Step) -> Alert | None:
        """A mean over the tokens that count, where none does: cross_entropy's ignore_index is
        negative."""
        for name, (_, most) in step.inputs.items():
            if most < 0 and step.loss is not None and math.isnan(step.loss) and name in LABELS:
                return Alert("MP501", "error", name, step.step,
                             f"step {step.step}: the loss is {number(step.loss)}, 0 / 0: no valid token "
                             f"in this batch, whose '{name}' are all negative and do not count; drop such "
                             "batches, or divide by max(1, count)")
        return None

    def _note_applied(self, step: Step, bad_loss: bool, bad_inputs: list[str]) -> None:
        """The cause of parameters that are not finite, in a step that no scaler left out."""
        bad = step.first_bad()
        if self.memory["applied"] or step.skipped or not bad_loss and bad is None:
            return
        what = f"input '{bad_inputs[0]}' was not finite" if bad_inputs else \
            f"the gradient of '{self.run.parameters[bad]}' was not finite" if bad is not None and not bad_loss else \
            f"the loss is {number(step.loss)}"
        self.memory["applied"] = [step.step, what]

    def _see_gradients(self, step: Step, explained: bool) -> Iterator[Alert]:
        bad = step.first_bad()
        if not self.begins("gradient", bad is not None) or bad is None or explained:
            return
        if step.scale is not None and step.scale > 1:
            # The scaler's business; where it does not end, MP506 and MP507 tell.
            self.memory["levels"].pop("gradient")
            return
        name = self.run.parameters[bad]
        scale = "" if step.scale is None else f" at a loss scale of {number(step.scale)}"
        overflow = " or an overflow of FP16" if self.run.may_use("f16") else ""
        layer = self.run.layers[bad]
        finite = next((index for index, norm in step.norms.items() if self.run.layers[index] == layer
                       and math.isfinite(norm)), None) if math.isnan(step.norms[bad]) else None
        # A bias gets the sum of what comes back to its layer, and the weights its product with what went in.
        cause = f"a derivative that is infinite (sqrt or norm at 0, log, division){overflow} behind this layer" \
            if finite is None else \
            f"that of '{self.run.parameters[finite]}' is finite, so in the forward pass '{layer}' was given NaN or Inf, " \
            "in places that the loss leaves out, as rows of attention that are masked whole"
        yield Alert("MP501", "error", layer, step.step,
                    f"step {step.step}: the gradient of '{name}' is NaN or Inf{scale}, the first of "
                    f"{sum(not math.isfinite(n) for n in step.norms.values())} in the backward pass, "
                    f"and the loss is finite: {cause}; monitor.find_first_bad(batch) names the op"
                    + ("" if step.skipped else " with weights from before this step, whose update was taken"))

    def _tell_loss(self, layer: str, where: str) -> Alert:
        step, loss, terms = (*self.memory["waiting"], "")[:3]
        self.memory["waiting"] = None
        return Alert("MP501", "error", layer, step,
                     f"step {step}: the loss is {number(loss)}{terms}; {where}; "
                     f"{self.run.in_16_bits('keep its op in FP32, ')}bound its operands, and "
                     "let monitor.find_first_bad(batch) name the op")

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        bad = next((index for index in sample.ran
                    if (seen := sample.seen.get((VALUE, index))) and (seen.nan or seen.inf)), None)
        parameter = next((index for index, seen in sample.of(PARAMETER) if seen.nan or seen.inf),
                         None)
        if self.begins("parameter", parameter is not None) and parameter is not None:
            name = self.run.parameters[parameter]
            self.memory["waiting"] = None
            yield Alert("MP501", "error", self.run.layers[parameter], sample.step,
                        f"step {sample.step}: parameter '{name}' holds NaN or Inf: "
                        f"{self._blame(sample)}")
            return
        waiting = self.memory["waiting"]
        if not waiting or sample.step < waiting[0] or not sample.ran:
            return
        self.wants_sample = False
        if bad is None:
            empty = "; a mean over no tokens is 0 / 0: divide by max(1, count)" if math.isnan(waiting[1]) else ""
            yield self._tell_loss("", f"in step {sample.step} the output of every module was finite{empty}")
        else:
            seen = sample.seen[VALUE, bad]
            module = self.run.modules[bad]
            yield self._tell_loss(
                module, f"module '{module}' is the first whose output is not finite ({seen.nan} "
                f"NaN and {seen.inf} Inf of {seen.count} in {seen.dtype}, largest finite magnitude "
                f"{number(seen.absmax)})" + self._find_cast(sample, bad))

    def _blame(self, sample: Sample) -> str:
        """The update, only where loss and gradients were finite before it."""
        applied = self.memory["applied"]
        if applied and applied[0] <= sample.step:
            return (f"{applied[1]} in step {applied[0]}, and its update was taken; go "
                    "back to a checkpoint before it, leave updates out whose gradient norm is not "
                    "finite, and let monitor.find_first_bad(batch) name the op")
        return ("an update was not finite; go back to a checkpoint, and check the learning rate, the "
                "optimizer's eps" + ("" if self.run.first_scale is None else
                                     " and that gradients are unscaled"))

    def _find_cast(self, sample: Sample, bad: int) -> str:
        """The cast that is to blame, behind a colon; empty if none is seen."""
        run, before = self.run, None
        place = sample.ran.index(bad)
        if place and (seen := sample.seen.get((VALUE, sample.ran[place - 1]))):
            before = run.modules[sample.ran[place - 1]], seen.dtype, seen.absmax
        found = overflows.find_cast(
            sample.seen[VALUE, bad].dtype, before,
            ((run.parameters[index], seen.dtype, seen.absmax)
             for index, seen in sample.of(PARAMETER) if run.layers[index] == run.modules[bad]))
        return f": {found}" if found else ""
