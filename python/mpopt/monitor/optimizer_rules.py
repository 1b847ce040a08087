"""Rules about updates: MP407, MP409 and MP415."""

from collections.abc import Iterator

import torch

from mpopt.monitor.alerts import Alert
from mpopt.monitor.judging import Judge, Sample, number
from mpopt.monitor.naming import Names

#: The words by which optimizers keep a running mean of squares, which epsilon guards.
SECOND_MOMENTS = ("exp_avg_sq", "square_avg", "sum", "max_exp_avg_sq")


class LostUpdate(Judge):
    """MP409: weights in 16 bits that keep their value when they are updated."""

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        for index, (share, rate) in sample.kept.items():
            lost = share >= self.run.thresholds["lost-update-share"]
            name = self.run.parameters[index]
            if lost and not self.memory["levels"].get(name, (0, 0, False))[0]:
                self.wants_sample = True
            if self.begins(name, lost, times=2, pause=1):
                yield Alert("MP409", "warning", self.run.layers[index], sample.at["kept"],
                            f"step {sample.at['kept']}: {share:.0%} of the elements of '{name}' that "
                            f"have a gradient kept their value at a learning rate of "
                            f"{number(rate)}: updates are below half an ulp of 16-bit weights; "
                            "keep FP32 weights under autocast, or use stochastic rounding or Kahan "
                            "sums")


class LargeUpdate(Judge):
    """MP415: updates that are larger than the weights."""

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        for index, (ratio, rate, step) in sample.changes.items():
            large = ratio >= self.run.thresholds["large-update-ratio"]
            name = self.run.parameters[index]
            # Once is enough: the next one finds weights of its own size. Those that begin at 0 have none.
            if self.begins(name, large):
                yield Alert("MP415", "warning", self.run.layers[index], step,
                            f"step {step}: the update of '{name}' is {number(ratio)} times as "
                            f"large as its weights, at a learning rate of {number(rate)}: nothing of them "
                            "is left; lower the learning rate, or clip the gradients of SGD")


def find_zero_epsilon(optimizer, names: Names) -> tuple[str, str, str, float] | None:
    """A parameter whose optimizer's state is in a dtype in which its epsilon is 0: its layer,
    its name, the dtype, and the epsilon. It looks at nothing but types."""
    for group in optimizer.param_groups:
        epsilon = group.get("eps")
        if isinstance(epsilon, bool) or not isinstance(epsilon, float | int):
            continue
        dtypes: dict[torch.dtype, bool] = {}
        for parameter in group["params"]:
            state = optimizer.state.get(parameter)
            for word in SECOND_MOMENTS if state else ():
                moment = state.get(word)
                if not isinstance(moment, torch.Tensor) or not moment.is_floating_point():
                    continue
                if moment.dtype not in dtypes:
                    limits = torch.finfo(moment.dtype)
                    # Half of the least subnormal number is rounded to even: to 0.
                    dtypes[moment.dtype] = epsilon <= limits.smallest_normal * limits.eps / 2
                if dtypes[moment.dtype]:
                    index = names.index.get(id(parameter))
                    layer, name = ("", "a parameter") if index is None else \
                        (names.layers[index], names.parameter_names[index])
                    return layer, name, str(moment.dtype), epsilon
    return None


def zero_epsilon(step: int, layer: str, name: str, dtype: str, epsilon: float) -> Alert:
    return Alert("MP407", "error", layer, step,
                 f"step {step}: the optimizer's eps {epsilon:g} is 0 in {dtype.split('.')[-1]}, the "
                 f"dtype of its state of '{name}': where the second moment is 0 an update is Inf or "
                 "NaN; " + ("set eps=1e-8" if dtype == "torch.float32" else
                            "keep FP32 weights and state (autocast does), or set eps=1e-4 in FP16"))
