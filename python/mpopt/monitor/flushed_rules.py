"""MP503 of gradients: which share of them FP16 flushes."""

from collections.abc import Iterator

from mpopt.monitor import flushing
from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Run, Sample
from mpopt.monitor.record import GRADIENT, Distribution


class FlushedGradients(Judge):
    """A gradient that FP16 computed is a multiple of 2^-24; one with a smaller magnitude was
    computed in a wider format, as all are where nothing is in FP16. What a first sample makes suspect,
    a second one, in which rows and columns of zeros are counted, too, has to show again."""

    #: Part of the threshold that is enough to count rows and columns of zeros: an extrapolation alone
    #: may be that far off.
    SUSPECT = 1 / 8

    def __init__(self, run: Run):
        super().__init__(run)
        self.memory |= {"suspects": []}

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        if not self.run.may_use("f16"):
            return
        most = self.run.thresholds["flushed-share"]
        seen = dict(sample.of(GRADIENT))
        lost = {index: self._estimate(each, sample.live.get(index)) for index, each in seen.items()}
        shares = {index: lost[index] / each.count for index, each in seen.items() if each.count}
        # Where half of what is left is that small its digits are lost, whatever became 0.
        bad = {index for index, share in shares.items() if share >= most or self._is_least(seen[index])}
        suspects = {index for index, share in shares.items() if share >= self.SUSPECT * most}
        # Those of before are looked at with the others, unless they are to be told.
        self.wants_sample |= not suspects <= set(self.memory["suspects"]) or any(
            str(index) not in self.memory["levels"] for index in bad)
        self.run.suspects.update(suspects)
        self.memory["suspects"] = sorted(self.run.suspects)
        for index, share in shares.items():
            if self.begins(str(index), index in bad, times=2):
                each, name = seen[index], self.run.parameters[index]
                yield Alert("MP503", "warning", self.run.layers[index], sample.step,
                            f"step {sample.step}: about {100 * share:.2g} % of the gradient of '{name}' is flushed "
                            f"to 0 by FP16 ({each.zero / each.count:.0%} is 0, and {each.below(-22) / each.nonzero:.0%} "
                            "of the rest is 2^-24 to 2^-22, the least that FP16 holds); "
                            f"{self._sum_up(seen, lost, bad)}; raise the loss scale")

    @staticmethod
    def _is_least(seen: Distribution) -> bool:
        return seen.nonzero >= flushing.ENOUGH and not seen.below(flushing.LEAST) and \
            seen.below(flushing.LEAST + 2) >= seen.nonzero / 2

    def load(self, state: dict) -> None:
        super().load(state)
        self.run.suspects.update(self.memory.get("suspects", ()))

    def _estimate(self, seen: Distribution, live: float | None) -> float:
        first, counts = seen.binades()
        if not counts or not flushing.is_of_fp16(first):
            return 0.0
        return flushing.estimate([0] * (first - flushing.LEAST) + counts, seen.zero, live)

    def _sum_up(self, seen: dict[int, Distribution], lost: dict[int, float],
                bad: set[int]) -> str:
        layers = dict.fromkeys(self.run.layers[index] for index in seen)
        elements = sum(each.count for each in seen.values())
        share = 100 * sum(lost.values()) / elements
        return (f"{share:.2g} % of all gradients' elements, in {len({self.run.layers[index] for index in bad})} "
                f"of {len(layers)} layers")
