"""From the signs of a run to their cause and to a remedy, as a decision tree.

The tree has the kinds of failures of mixed precision: those that break a training (NaN and Inf,
gradients that explode, a loss scale that runs to 0), those that slow it down or spoil it
(gradients that vanish or are lost, updates that are lost, small terms beside large ones, uneven
channels) and those of types and of the program. Each question is answered by what the run
recorded: yes, no, or not known, with the numbers. A cause of which a sign is missing says so."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator

from mpopt.monitor import flushing, overflows
from mpopt.monitor.history import REPLAYED, VANISHED, History, Sample, Seen

YES, NO, UNKNOWN = "yes", "no", "unknown"
_FLUSH = {"f16": -25, "bf16": -134, "f8E5M2": -17, "f8E4M3FN": -10}
#: Shares of gradients that are stored as 0: worth a word, and most of what there is to learn.
_LOST = 0.05
#: A loss that ends within this part of where it was does not fall.
_FLAT = 0.02


@dataclasses.dataclass(frozen=True)
class Answer:
    """A question of the tree, and what the run says: the numbers are in `evidence`."""

    question: str
    answer: str
    evidence: str


@dataclasses.dataclass(frozen=True)
class Cause:
    """A path through the tree.

    certainty  `sure`: every sign is there, and the layer; `not sure`: one is not known, or none tells
               causes apart
    answers    from the first sign to the last
    remedies   things to do, the first one first
    rules      of the alerts that are its signs, or follow from it
    """

    name: str
    certainty: str
    severity: str
    answers: tuple[Answer, ...]
    remedies: tuple[str, ...]
    layer: str = ""
    rules: tuple[str, ...] = ()


def _number(value: float) -> str:
    return f"{value:.3g}"


def _cite(alert: dict) -> str:
    """An alert as evidence. Most messages begin with their step."""
    step = f"step {alert['step']}: "
    return f"{alert['rule']}, {step}{alert['message'].removeprefix(step)}"


class _Signs:
    """The signs in a run, question by question."""

    def __init__(self, history: History):
        self.history = history
        self.loss = history.series("loss")
        #: The first step whose loss is not finite.
        self.start = next((step for step, value in self.loss if not math.isfinite(value)), math.inf)
        self.scale = history.series("loss_scale")
        self.norm = history.series("gradient_norm")
        #: Formats below 32 bits that something was computed in, and whether all of them are known.
        self.narrow = {seen.dtype for sample in history.samples for seen in sample.seen
                       if seen.dtype in overflows.LARGEST} | set(history.formats or ())
        self.knows_formats = history.formats is not None or any(True for _ in self.seen("value"))

    @property
    def is_wide(self) -> bool:
        """Everything is in FP32 or wider: no cause lies in precision, and no format helps."""
        return self.knows_formats and not self.narrow

    def in_16_bits(self, *remedies: str) -> tuple[str, ...]:
        """Remedies that are some where a 16-bit format is in use."""
        return () if self.is_wide else remedies

    def in_bf16(self) -> tuple[str, ...]:
        """BF16 as a remedy, where the run has FP16 and no BF16."""
        return () if self.is_wide or "bf16" in self.narrow else ("train in BF16, whose range is that of FP32",)

    def clip(self) -> str:
        return "clip the norm of gradients" + (", after they were unscaled" if self.scale else "")

    def alerts(self, *rules: str) -> list[dict]:
        return [alert for alert in self.history.alerts if alert["rule"] in rules]

    def alerted(self, question: str, *rules: str, where: Callable[[dict], bool] = lambda _: True,
                needs: bool = True) -> Answer:
        """Yes if a rule said so; not known if the run could not have told (`needs` is false)."""
        found = [alert for alert in self.alerts(*rules) if where(alert)]
        if found:
            return Answer(question, YES, _cite(found[0]))
        return Answer(question, NO, f"no alert of {', '.join(rules)}") if needs else \
            Answer(question, UNKNOWN, "the record holds nothing that would tell")

    # -- Signs of values -------------------------------------------------------------------

    def seen(self, kind: str) -> Iterator[tuple[Sample, Seen]]:
        for sample in self.history.samples:
            for seen in sample.seen:
                if seen.kind == kind:
                    yield sample, seen

    def bad_loss(self) -> Answer:
        question = "Was the loss NaN or Inf?"
        if not self.loss:
            return Answer(question, UNKNOWN, "no loss was given to Monitor.step")
        bad = [step for step, value in self.loss if not math.isfinite(value)]
        if not bad:
            return Answer(question, NO, f"finite in all {len(self.loss)} steps")
        return Answer(question, YES, f"in {len(bad)} of {len(self.loss)} steps, first in step {bad[0]}")

    def bad_loss_at_end(self) -> bool:
        """True if the training did not recover from a loss that was not finite."""
        return bool(self.loss) and not math.isfinite(self.loss[-1][1])

    def bad_gradients(self) -> list[dict]:
        """Alerts of gradients that were not finite before the loss was."""
        return [alert for alert in self.alerts("MP501") if "the gradient of '" in alert["message"] and alert["step"] < self.start]

    def forward_overflow(self) -> tuple[Answer, str]:
        """True if a module's output left its format, and which was the first."""
        question = "Did an output of a module leave its format?"
        any_seen = False
        for sample, seen in self.seen("value"):
            any_seen = True
            if seen.nan or seen.inf:
                return Answer(question, YES, f"'{seen.name}' holds {seen.nan} NaN and {seen.inf} Inf of "
                                             f"{seen.count} in {seen.dtype}, step {sample.step}"), seen.name
            if seen.absmax > 0.9 * overflows.LARGEST.get(seen.dtype, math.inf):
                return Answer(question, YES, f"'{seen.name}' reaches {_number(seen.absmax)} in {seen.dtype}, "
                                             f"step {sample.step}"), seen.name
        for alert in self.alerts("MP502", "MP501"):
            if alert["rule"] == "MP502" or "module" in alert["message"]:
                return Answer(question, YES, f"{alert['rule']}: {alert['message']}"), alert["layer"]
        if any_seen:
            return Answer(question, NO, "no recorded output came near the largest number of its format"), ""
        return Answer(question, UNKNOWN, "no outputs of modules were recorded"), ""

    def overflowing_cast(self, layer: str) -> Answer:
        """True if a cast to the format of a module made what it gives Inf: of the module before it,
        or of one of its parameters."""
        question = "Did a cast make Inf of a value that was finite?"
        for sample in self.history.samples:
            values = [seen for seen in sample.seen if seen.kind == "value"]
            place = next((place for place, seen in enumerate(values) if seen.name == layer and
                          (seen.nan or seen.inf)), None)
            if place is None:
                continue
            before = values[place - 1] if place else None
            found = overflows.find_cast(
                values[place].dtype, (before.name, before.dtype, before.absmax) if before else None,
                ((seen.name, seen.dtype, seen.absmax) for seen in sample.seen
                 if seen.kind == "parameter" and seen.name.rpartition(".")[0] == layer))
            return Answer(question, YES, f"{found}, step {sample.step}") if found else \
                Answer(question, NO, f"neither '{layer}' nor the module before it holds a finite value beyond its format")
        return Answer(question, UNKNOWN, "no value that is not finite was recorded")

    def replayed(self) -> Answer:
        """The first bad op, where an alert asked for a replay of the batch."""
        question = "Which op is the first whose result is not finite?"
        for alert in self.history.alerts:
            _, found, text = alert["message"].partition(REPLAYED)
            if found:
                return Answer(question, YES, text)
        return Answer(question, UNKNOWN, "no batch was computed again (actions={'MP501': 'replay'})")

    def has_16_bits_before(self, layer: str) -> bool:
        """True if something on the way to a module that is not finite was in 16 bits, as far as
        the run recorded it: the module, or one that ran before."""
        for sample in self.history.samples:
            values = [seen for seen in sample.seen if seen.kind == "value"]
            for place, seen in enumerate(values):
                if seen.name == layer and (seen.nan or seen.inf):
                    return any(other.dtype in overflows.LARGEST for other in values[:place + 1])
        return not self.is_wide

    def bad_inputs(self) -> Answer:
        return self.alerted("Were the inputs NaN, Inf or outside of their assumed range?", "MP501", "MP513",
                            where=lambda alert: alert["rule"] == "MP513" or "no valid token" in alert["message"] or
                            re.match(r"step \d+: input\b", alert["message"]) is not None)

    def collapsed_scale(self) -> Answer:
        question = "Did the loss scale run to nothing?"
        if not self.scale:
            return Answer(question, UNKNOWN, "no scaler was given to the monitor")
        first, (step, least) = self.history.first_scale or self.scale[0][1], min(
            self.scale, key=lambda pair: pair[1])
        text = f"from {_number(first)} to {_number(least)} in step {step}"
        falls = least < 1 or least <= 1 and self.scale[-1][1] <= 1
        return Answer(question, YES if falls else NO, text)

    def falling_scale(self) -> Answer:
        question = "Is the loss scale low and still falling?"
        if not self.scale:
            return Answer(question, UNKNOWN, "no scaler was given to the monitor")
        skipped = sum(1 for step in self.history.steps if step.get("skipped"))
        last, top = self.scale[-1][1], max(value for _, value in self.scale)
        share = skipped / max(1, len(self.history.steps))
        found = bool(self.alerts("MP506", "MP507"))
        return Answer(question, YES if found else NO,
                      f"{_number(last)} at the end, {_number(top)} at most; {skipped} steps skipped "
                      f"({100 * share:.2g} %)")

    def exploding(self, before: float = math.inf) -> Answer:
        question = "Did the norm of the gradients grow past 100?"
        finite = [(step, value) for step, value in self.norm if math.isfinite(value) and step <= before]
        if not finite:
            return Answer(question, UNKNOWN, "no norms of gradients were recorded")
        step, most = max(finite, key=lambda pair: pair[1])
        early = sorted(value for _, value in finite[:max(1, len(finite) // 4)])
        usual = early[len(early) // 2]
        return Answer(question, YES if most > 100 and most > 5 * usual else NO,
                      f"at most {_number(most)} in step {step}, {_number(usual)} at first")

    def vanishing(self) -> Answer:
        question = "Is the norm of all gradients below 1e-6?"
        finite = [value for _, value in self.norm if math.isfinite(value)]
        if not finite:
            return Answer(question, UNKNOWN, "no norms of gradients were recorded")
        late = sorted(finite[-max(1, len(finite) // 4):])
        return Answer(question, YES if late[len(late) // 2] < 1e-6 else NO,
                      f"{_number(late[len(late) // 2])} at the end")

    def stuck(self) -> Answer:
        question = "Is the loss stuck?"
        finite = [value for _, value in self.loss if math.isfinite(value)]
        part = len(finite) // 5
        if part < 4:
            return Answer(question, UNKNOWN, f"{len(finite)} losses are too few to tell")
        first, last = sum(finite[:part]) / part, sum(finite[-part:]) / part
        flat = last > first - _FLAT * abs(first)
        return Answer(question, YES if flat else NO, f"{_number(first)} in the first fifth, {_number(last)} in the last")

    def lost_gradients(self) -> tuple[Answer, str]:
        question = f"Is more than {100 * _LOST:.0f} % of a gradient lost as 0 or next to it?"
        if self.is_wide:
            return Answer(question, NO, "nothing is computed in fewer than 32 bits"), ""
        last: dict[str, tuple[Sample, Seen]] = {seen.name: (sample, seen)
                                                for sample, seen in self.seen("gradient")
                                                if seen.dtype in _FLUSH or "f16" in self.narrow and
                                                flushing.is_of_fp16(min(seen.exponents, default=None))}
        if found := self.alerts("MP503"):
            return Answer(question, YES, _cite(found[0])), found[0]["layer"]
        if not last:
            return Answer(question, UNKNOWN, "no gradients in 16 or 8 bits were recorded"), ""
        worst = max(last.values(), key=lambda one: _lost(one[1]) / max(1, one[1].count))
        share = _lost(worst[1]) / max(1, worst[1].count)
        text = f"'{worst[1].name}': about {100 * share:.2g} % in step {worst[0].step}"
        return Answer(question, YES if share > _LOST else NO, text), worst[1].name


def _lost(seen: Seen) -> float:
    """Elements that are 0 in place of a small number, or next to where their format ends."""
    if flushing.is_of_fp16(min(seen.exponents, default=None)):
        counts = [seen.exponents.get(flushing.LEAST + place, 0) for place in range(flushing.BINADES)]
        return flushing.estimate(counts, seen.zero)
    edge = _FLUSH.get(seen.dtype, -math.inf) + 2
    return sum(count for exponent, count in seen.exponents.items() if exponent < edge)


def _surely(*answers: Answer) -> str:
    return "sure" if all(answer.answer != UNKNOWN for answer in answers) else "not sure"


def _replayed_cause(asked: tuple[Answer, ...], history: History) -> Cause:
    """The result of a replay, which leaves nothing to guess."""
    text, layer = asked[-1].evidence, next(
        alert["layer"] for alert in history.alerts if REPLAYED in alert["message"])
    is_cast = "cast of " in text.partition(" gives ")[0]
    return Cause("a cast overflows" if is_cast else "an op gives NaN or Inf", "sure", "error", asked,
                 (text.rpartition("; ")[2] if is_cast else "fix the operands of the op that the replay names: bound them, or add an epsilon",),
                 layer, ("MP501", "MP502", "MP504", "MP505", "MP506", "MP507"))


def _norms(signs: _Signs) -> Iterator[Cause]:
    """Norms of gradients that rules found large, without a growth that breaks the training, or a
    single one that was."""
    for word, name, question, remedies in (
            (" is over ", "gradients are large from the start", "Is the norm of the gradients over its threshold?",
             ("take the mean where the loss is a sum over the batch or its tokens", signs.clip(),
              "lower the learning rate, or warm it up for longer")),
            (" times the median ", "the norm of the gradients jumps", "Was a norm of the gradients far above those before?",
             ("look at the batch (actions={'MP505': 'keep'} keeps the next one)", signs.clip(), "lower the learning rate"))):
        worst = [alert for alert in signs.alerts("MP505") if word in alert["message"]]
        told = signs.alerted(question, "MP505", where=worst.__contains__)
        if worst:
            severity = "error" if any(alert["severity"] == "error" for alert in worst) else "warning"
            yield Cause(name, "sure", severity, (told, signs.stuck()), remedies, worst[0]["layer"], ("MP505",))


def _forward_cause(signs: _Signs, asked: list[Answer], forward: Answer, layer: str) -> Cause:
    cast = signs.overflowing_cast(layer)
    rules = "MP501", "MP502", "MP504", "MP506", "MP507"
    if not signs.has_16_bits_before(layer):
        return Cause("NaN or Inf begins in the forward pass", "sure", "error", tuple(asked),
                     ("monitor.find_first_bad(batch) names the op: look for a division by 0, a logarithm or root of "
                      "numbers that are not positive, an exponential",
                      f"bound the operands of '{layer}', and look at its parameters", "lower the learning rate"), layer, rules)
    keep = f"keep '{layer}' in FP32"
    return Cause("a cast overflows" if cast.answer == YES else "values overflow in the forward pass", "sure", "error",
                 (*asked, cast), (f"{keep}, or train in BF16: no loss scale helps a forward pass" if signs.in_bf16() else keep,
                                  "monitor.find_first_bad(batch) names the op",
                                  "normalise before the layer, or scale its output"), layer, rules)


def _gradient_cause(signs: _Signs, asked: list[Answer], forward: Answer, collapsed: bool) -> Cause:
    """Gradients that are not finite while the loss is."""
    told = signs.bad_gradients()
    # An update by a gradient that is NaN makes all later ones NaN; a scaler goes on to lower scales.
    culprit = "" if told else next((step["bad"] for step in reversed(signs.history.steps) if step.get("bad")), "")
    evidence = Answer("Which gradient is the first that is not finite?", YES if culprit or told else UNKNOWN,
                      f"'{culprit}'" if culprit else _cite(told[0]) if told else "norms were not recorded")
    by_scale = collapsed and not signs.is_wide
    return Cause("a gradient overflows at every loss scale" if by_scale else "a gradient is NaN or Inf",
                 _surely(forward, evidence), "error", (*asked, evidence),
                 ("monitor.find_first_bad(batch), with weights from before that step, names the op of the backward pass",
                  "look for a square root, norm or division at 0, whose derivative is Inf",
                  *signs.in_16_bits(f"keep the layers behind '{culprit}' in FP32" if culprit else "keep the op that overflows in FP32")),
                 culprit or (told[0]["layer"] if told else ""), ("MP501", "MP506", "MP507"))


def _buffer_cause(signs: _Signs, asked: list[Answer]) -> Cause | None:
    """Statistics that are not finite while the training goes on."""
    told = [alert for alert in signs.alerts("MP501") if ": buffer '" in alert["message"]]
    if not told or signs.bad_loss_at_end():
        return None
    return Cause("evaluation is broken: a buffer is NaN or Inf", "sure", "error",
                 (*asked, Answer("Which buffer is the first that is not finite?", YES, _cite(told[0]))),
                 ("restore the buffer from a checkpoint, or compute it again (torch.optim.swa_utils.update_bn)",
                  "refuse the batch that is not finite before it reaches the module"), told[0]["layer"],
                 ("MP501", "MP502", "MP506", "MP507"))


def _breaks(signs: _Signs) -> Iterator[Cause]:
    """Failures that end a training."""
    bad = signs.bad_loss()
    collapsed = signs.collapsed_scale()
    told = signs.alerted("Did a rule find NaN or Inf?", "MP501", where=lambda alert: alert["severity"] != "note")
    found = next((answer for answer in (bad, collapsed, told) if answer.answer == YES), None)
    if found is None:
        exploding = signs.exploding()
        if exploding.answer == YES:
            yield Cause("gradients explode", "sure", "error", (bad, exploding),
                        (signs.clip(), "lower the learning rate, or warm it up for longer",
                         "look at the initialisation of the layers whose gradients are largest"), rules=("MP505",))
        return
    inputs = signs.bad_inputs()
    asked = [found, inputs]
    if inputs.answer != YES and (cause := _buffer_cause(signs, asked)):
        yield cause
        return
    if inputs.answer == YES:
        yield Cause("the data", "sure", "error", tuple(asked),
                    ("look at the batch (actions={'error': 'keep'} keeps it in monitor.kept)",
                     "refuse batches that are not finite, and scale inputs into the range that was assumed"),
                    rules=("MP501", "MP513", "MP506", "MP507"))
        return
    if (replayed := signs.replayed()).answer == YES:
        yield _replayed_cause((*asked, replayed), signs.history)
        return
    forward, layer = signs.forward_overflow()
    asked.append(forward)
    if forward.answer == YES:
        yield _forward_cause(signs, asked, forward, layer)
        return
    exploding = signs.exploding(signs.start)
    asked.append(exploding)
    if exploding.answer == YES:
        yield Cause("gradients explode", _surely(exploding), "error", tuple(asked),
                    (signs.clip(), "lower the learning rate"), rules=("MP501", "MP505", "MP506", "MP507"))
    elif collapsed.answer == YES or bad.answer != YES or signs.bad_gradients():
        yield _gradient_cause(signs, asked, forward, collapsed.answer == YES)
    else:
        yield Cause("NaN or Inf of an origin that was not recorded", "not sure", "error", tuple(asked),
                    ("record outputs of modules: Monitor(values=True) and a smaller period",
                     "monitor.find_first_bad(batch) with the batch of that step"), rules=("MP501",))


def _scales(signs: _Signs) -> Iterator[Cause]:
    """A loss scale that falls, and values near the end of a format, while the loss is finite."""
    forward, layer = signs.forward_overflow()
    falling = signs.falling_scale()
    if falling.answer == YES and signs.collapsed_scale().answer != YES:
        yield Cause("steps are skipped too often", "sure" if forward.answer == YES else "not sure", "warning", (falling, forward),
                    (*(signs.in_16_bits(f"keep '{layer}' in FP32") if layer else ()),
                     *(() if layer else ("monitor.find_first_bad(batch) names the op that overflows",)),
                     "let the scale grow less often (growth_interval), or bound it"), layer, ("MP502", "MP506", "MP507"))
    elif forward.answer == YES and signs.bad_loss().answer != YES and signs.alerts("MP502"):
        near = signs.alerts("MP502")[0]
        yield Cause("values come near the end of FP16", "sure", near["severity"], (forward, signs.bad_loss()),
                    (f"keep '{near['layer']}' in FP32", "normalise before the layer, or scale its output", *signs.in_bf16()),
                    near["layer"], ("MP502",))


def _tables(signs: _Signs) -> Iterator[tuple]:
    """Rules, the cause that they are signs of, a question, and remedies."""
    yield (("MP508", "MP504"), "a layer does not learn", "Is a layer without a gradient or an output?",
           ("see whether it is detached, frozen or unused", "look for units that are never positive"))
    yield (("MP509",), "small values beside large ones", "Are magnitudes of a tensor too far apart for its format?",
           ("normalise, or take logarithms of values that span decades", "subtract before squaring: E (x - m)^2, not E x^2 - m^2",
            *signs.in_16_bits("add in FP32: sums, means, norms, softmax")))
    yield (("MP510",), "channels of uneven sizes", "Is a channel far larger than the others?",
           ("normalise the channels, or the inputs, before they are reduced together",))
    yield (("MP407",), "the optimizer's epsilon is 0", "Is epsilon 0 in the dtype of the optimizer's state?",
           ("raise epsilon to 1e-7 or more", *signs.in_16_bits("keep the state in FP32")))
    yield (("MP411",), "the scaler is used in the wrong order", "Were gradients clipped or used while they were scaled?",
           ("scaler.unscale_(optimizer) before clipping; scaler.step(optimizer) in place of optimizer.step()",))
    yield (("MP514",), "the loss leaves its course", "Did the loss jump, rise or stay where it is?",
           ("the alert names the other values that moved", "keep and look at the batch (actions={'MP514': 'keep'} keeps the next one)",
            "lower the learning rate, or go back to a checkpoint before the step"))
    yield (("MP515",), "state stands still", "Do casts of weights or buffers stay unchanged?",
           ("leave the region of autocast in each step", "see that modules are in train() where their statistics are to move"))
    yield (("MP516",), "FP8 scales are too small", "Do inputs outgrow the amax history of their scale?",
           ("keep the largest magnitude of all passes of a step, and of many steps", "or scale by the tensor itself"))
    yield (("MP511",), "ranks disagree", "Do ranks hold different parameters?",
           ("broadcast the parameters at the start", "look for random numbers and for conditions that differ by rank"))
    yield (("MP513",), "inputs outside of their assumed range", "Did inputs leave their assumed range?",
           ("correct the preprocessing", "judge the model again with the range that the alert names"))


def _slows(signs: _Signs) -> Iterator[Cause]:
    """Failures that spoil what is learned."""
    yield from _scales(signs)
    stuck = signs.stuck()
    lost, layer = signs.lost_gradients()
    small = signs.alerted("Was the norm of all gradients too small to learn from?", "MP505", where=lambda alert: VANISHED in alert["message"])
    if lost.answer == YES:
        yield Cause("small gradients are lost", _surely(lost), "error" if stuck.answer == YES else "warning", (stuck, lost),
                    ("let the scale of the GradScaler grow further" if signs.scale else "use a GradScaler", *signs.in_bf16(),
                     "multiply the loss of that branch"), layer,
                    ("MP503", "MP508", *(("MP505",) if small.answer == YES else ())))
    kept = signs.alerted("Did 16-bit weights keep their value under an update?", "MP409")
    if kept.answer == YES:
        yield Cause("updates are lost in 16-bit weights", "sure", "error" if stuck.answer == YES else "warning", (stuck, kept),
                    ("keep a copy of the weights in FP32 for the optimizer", "round stochastically"),
                    signs.alerts("MP409")[0]["layer"], ("MP409",))
    vanishing = signs.vanishing()
    if YES in (vanishing.answer, small.answer) and lost.answer != YES:
        yield Cause("gradients vanish", _surely(stuck, lost), "warning", (stuck, vanishing if vanishing.answer == YES else small, lost),
                    ("precision is not the cause: look at the initialisation, at saturated functions and at "
                     "residual connections", "raise the learning rate once the loss falls"), rules=("MP505",))
    for rules, cause, question, remedies in _tables(signs):
        answer = signs.alerted(question, *rules)
        if answer.answer == YES:
            worst = signs.alerts(*rules)[0]
            yield Cause(cause, "sure", worst["severity"], (stuck, answer), remedies, worst["layer"], rules)


def _unexplained(signs: _Signs, causes: list[Cause]) -> Iterator[Cause]:
    """Alerts above a note that are no sign of a cause, one for each rule."""
    explained = {rule for cause in causes for rule in cause.rules}
    left = {alert["rule"]: alert for alert in reversed(signs.history.alerts)
            if alert["severity"] != "note" and alert["rule"] not in explained}
    for rule, alert in sorted(left.items()):
        yield Cause(f"an alert of {rule} without a known cause", "not sure", alert["severity"],
                    (Answer("Which cause is this alert a sign of?", UNKNOWN, _cite(alert)),),
                    ("the alert names the place", f"mpopt --explain {rule} explains it"), alert["layer"], (rule,))


def diagnose(history: History) -> list[Cause]:
    """The causes that the signs of a run lead to, the worst first; none if it looks healthy. Each
    alert above a note is a sign of one of them, or stands alone as one whose cause is not known. If
    the loss does not fall and there is no sign at all, the cause is none of these, and said to be
    unsure."""
    signs = _Signs(history)
    causes = [*_breaks(signs)]
    if not any("MP505" in cause.rules for cause in causes):
        causes += _norms(signs)
    known = {rule for cause in causes for rule in cause.rules}
    # A fault that breaks a training brings about these signs, too.
    causes += (cause for cause in _slows(signs) if not (cause.rules and known.issuperset(cause.rules)))
    causes += _unexplained(signs, causes)
    stuck = signs.stuck()
    if not causes and stuck.answer == YES:
        lost, _ = signs.lost_gradients()
        causes.append(Cause("not one that the record shows", "not sure", "note", (stuck, signs.bad_loss(), lost, signs.vanishing()),
                            (*signs.in_16_bits("compare with a run in FP32 on the same batches (mpopt.monitor.compare)"),
                             "look at the data, the learning rate and the loss itself")))
    # A cause that no layer stands behind is a class of causes.
    causes = [cause if cause.layer or cause.certainty != "sure" else dataclasses.replace(cause, certainty="not sure")
              for cause in causes]
    order = ("error", "warning", "note")
    return sorted(causes, key=lambda cause: order.index(cause.severity))


def healthy_answers(history: History) -> list[Answer]:
    """The questions about a run in which no cause was found."""
    signs = _Signs(history)
    return [signs.bad_loss(), signs.collapsed_scale(), signs.falling_scale(), signs.exploding(), signs.stuck(),
            signs.forward_overflow()[0], signs.lost_gradients()[0], signs.vanishing()]
