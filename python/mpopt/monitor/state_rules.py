"""State that the training does not read: buffers and averages, MP501 and MP515, and kept casts, MP515."""

import math
from collections.abc import Iterator, Sequence

from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Run, Step

#: Statistics of norms, which are finite from the start: what else holds Inf then is a mask.
STATISTICS = ("running_mean", "running_var")


def _name(names: Sequence[str]) -> tuple[str, str]:
    """The layer and the name of the first of several buffers, and how many more there are."""
    more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    return names[0].rpartition(".")[0] or names[0], f"buffer '{names[0]}'{more}"


class Buffers(Judge):
    """MP501 of buffers: running statistics, averages of weights and caches, which a step that the
    scaler leaves out has changed nevertheless. Those that hold Inf from the start are masks."""

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"finite": {}, "bad": None}

    def see_step(self, step: Step) -> Iterator[Alert]:
        if not math.isfinite(step.loss or 0.0) or step.total is not None and not math.isfinite(step.total):
            self.memory["bad"] = step.step
        return iter(())

    def see_buffers(self, step: int, norms: dict[str, float], is_last: bool) -> Iterator[Alert]:
        finite, found = self.memory["finite"], []
        for name, norm in norms.items():
            known = name in finite or name.rpartition(".")[2] in STATISTICS
            if self.begins(f"buffer {name}", not math.isfinite(norm) and known, pause=1):
                found.append(name)
        if found:
            yield self._tell(found, max(step, 0))
        finite.update((name, step) for name, norm in norms.items() if math.isfinite(norm))

    def _tell(self, names: list[str], step: int) -> Alert:
        layer, named = _name(names)
        before, bad = self.memory["finite"].get(names[0]), self.memory["bad"]
        since = step if before is None else bad if bad is not None and bad > before else before + 1
        was = "does so since the watch began" if before is None else f"was finite before step {before + 1}"
        return Alert("MP501", "error", layer, step,
                     f"step {step}: {named} holds NaN or Inf, and {was}: evaluation, which reads it, is invalid since step "
                     f"{since}; restore it from a checkpoint of before, or compute it again (running statistics by "
                     "torch.optim.swa_utils.update_bn, averages from the weights), and refuse the batch that is not finite "
                     "before it reaches the module")


class StandingState(Judge):
    """Casts of weights that autocast keeps, and buffers that changed before and do not any more."""

    #: Looks in which a buffer has to have moved, and how many times as long as ever before it has to rest, and as the
    #: monitor closes: what moves once in an epoch rests in each, and so do largest values so far, ever longer. No rest
    #: is shorter than a window.
    MOVED, RESTS, RESTS_AT_END, LEAST = 3, 4, 2, 8
    #: The change of a norm that shows in weights of BF16.
    SEEN = 2.0**-9

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"buffers": {}}

    def see_step(self, step: Step) -> Iterator[Alert]:
        if step.kept_cast is not None and self.begins("cast", step.kept_cast):
            yield Alert("MP515", "error", "", step.step,
                        f"step {step.step}: weights change, and the outputs do not: autocast uses casts of "
                        "weights that it made before the last update, since one region lies around several steps; leave the "
                        "region in each step, before backward(), or pass cache_enabled=False")
        if step.probe is not None:
            yield from self._see_probe(step.step, *step.probe)

    def _see_probe(self, step: int, outputs: tuple[float, ...], weights: tuple[float, ...]) -> Iterator[Alert]:
        before, self.memory["probe"] = self.memory.get("probe"), [list(outputs), list(weights)]
        if not outputs or before is None or not all(map(math.isfinite, outputs)):
            return
        # A change of half a unit in the last place of BF16 reaches the casts of weights.
        moved = max((abs(now - then) / then for now, then in zip(weights, before[1], strict=True) if then > 0), default=0.0)
        if self.begins("probe", before[0] == list(outputs) and moved >= self.SEEN):
            yield Alert("MP515", "error", "", step,
                        f"step {step}: norms of weights changed by up to {moved:.2%} since the last look, and the outputs on the "
                        "probe are the same to the last bit: the model computes with copies or casts of weights from before; make "
                        "them anew after each update (casts in a cache, a graph that was captured, a copy in 16 bits)")

    def see_buffers(self, step: int, norms: dict[str, float], is_last: bool) -> Iterator[Alert]:
        buffers, found = self.memory["buffers"], []
        for name, norm in norms.items():
            before, at, longest, moved = buffers.get(name, (norm, step, self.LEAST, 0))
            if norm != before:
                longest, at, moved = max(longest, step - at), step, moved + 1
            buffers[name] = [norm, at, longest, moved]
            rests = moved >= self.MOVED and step - at >= longest * (self.RESTS_AT_END if is_last else self.RESTS)
            if self.begins(f"buffer {name}", rests, pause=1):
                found.append(name)
        if found:
            layer, named = _name(found)
            at = buffers[found[0]][1]
            yield Alert("MP515", "note", layer, step,
                        f"step {step}: {named} changed before and has stood still since step {at}: evaluation is that of step "
                        f"{at}; look for eval() without train() behind it, or an average that is not updated any more, and "
                        "compute it again (torch.optim.swa_utils.update_bn) or go on from a checkpoint of then "
                        "(nothing is wrong if that is meant)")
