"""The view of a run that judges get, and the suppression of repeated alerts."""

import copy
import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from mpopt.monitor import thresholds
from mpopt.monitor.alerts import Alert
from mpopt.monitor.record import Distribution

#: Arguments by which models take labels; Transformers has the first.
LABELS = ("labels", "label", "targets", "target")


@dataclasses.dataclass
class Run:
    """Names and settings of the run that is judged."""

    parameters: list[str]
    #: The path of the module that owns each parameter.
    layers: list[str]
    modules: list[str]
    #: Layers that may be without a gradient in this process (`Names.find_elsewhere`).
    elsewhere: frozenset[str] = frozenset()
    #: First loss scale, None without a dynamic scaler.
    first_scale: float | None = None
    #: Steps without an overflow after which the scale grows.
    growth_interval: int = 2000
    #: True if samples hold outputs of modules.
    sees_values: bool = False
    #: Bounds of inputs by name.
    inputs: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    #: Formats below 32 bits that something was computed in, as far as the run was seen.
    narrow: set[str] = dataclasses.field(default_factory=set)
    #: By key of the rules' records.
    thresholds: Mapping[str, float] = dataclasses.field(default_factory=thresholds.defaults)
    #: Parameters in whose gradients rows and columns of zeros are counted in the next sample.
    suspects: set[int] = dataclasses.field(default_factory=set)

    def may_use(self, dtype: str) -> bool:
        """True if something is, or where outputs are not looked at could be, computed in a format
        below 32 bits."""
        return dtype in self.narrow or not self.narrow and not self.sees_values

    def in_16_bits(self, text: str) -> str:
        """Advice on formats; empty where everything was seen to be in FP32."""
        return text if self.narrow or not self.sees_values else ""

    def after_unscaling(self, text: str) -> str:
        """The advice for unscaled gradients."""
        return text if self.first_scale is None else f"{text} after scaler.unscale_"


@dataclasses.dataclass
class Step:
    """The numbers of a step, on the host. None: not taken, NaN and Inf: as they were."""

    step: int
    loss: float | None = None
    #: The loss scale of its gradients, and the one after it.
    scale: float | None = None
    next_scale: float | None = None
    #: Norms of unscaled gradients by parameter, in the order in which they came.
    norms: dict[int, float] = dataclasses.field(default_factory=dict)
    #: Extremes of inputs by name.
    inputs: dict[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    learning_rate: float | None = None
    #: Values that the program gave beside the loss, by name.
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    #: True if autocast used the cast of a weight from before its change; None: not looked at.
    kept_cast: bool | None = None
    #: Sums of what the model gives on the probe, and norms of parameters, where it was looked at.
    probe: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    #: True if its gradients are in the record.
    recorded: bool = False
    #: Norms by parameter as they were right before they were unscaled, of those that something
    #: changed since the backward pass; and what they were then.
    changed: dict[int, tuple[float, float]] = dataclasses.field(default_factory=dict)
    #: By module with a delayed scale of FP8: the largest ratio of its input to its amax history, its passes, and those of a ratio above 1.
    amax: dict[str, tuple[float, float, float]] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def total(self) -> float | None:
        """Norm of all gradients together; None if none was taken. It is asked for once the norms are there."""
        if not self.norms:
            return None
        squares = [norm * norm for norm in self.norms.values()]
        return math.sqrt(math.fsum(squares)) if all(map(math.isfinite, squares)) else math.nan \
            if any(map(math.isnan, squares)) else math.inf

    @property
    def skipped(self) -> bool:
        """True if the scaler left the update out."""
        if self.scale is None:
            return False
        if self.next_scale is not None and self.next_scale < self.scale:
            return True
        return self.total is not None and not math.isfinite(self.total)

    def first_bad(self) -> int | None:
        """The parameter whose gradient was the first on the way back to be NaN or Inf."""
        return next((index for index, norm in self.norms.items() if not math.isfinite(norm)), None)


@dataclasses.dataclass
class Sample:
    """The distributions of one window."""

    step: int
    #: The loss scale that recorded gradients are multiplied by.
    scale: float = 1.0
    #: By kind of record and index of module or parameter; `ran` has modules in their order.
    seen: dict[tuple[int, int], Distribution] = dataclasses.field(default_factory=dict)
    #: By module the gradients of its outputs.
    flowed: dict[int, Distribution] = dataclasses.field(default_factory=dict)
    ran: list[int] = dataclasses.field(default_factory=list)
    #: By kind of record and index: sums by which two runs are compared (projections.py).
    projections: dict[tuple[int, int], list[float]] = dataclasses.field(default_factory=dict)
    #: The root mean squares of the largest and of the median channel of each module.
    channels: dict[int, tuple[float, float]] = dataclasses.field(default_factory=dict)
    #: The share of elements of suspect gradients in neither a row nor a column of zeros.
    live: dict[int, float] = dataclasses.field(default_factory=dict)
    #: The share of elements of 16-bit parameters with a gradient that kept their value,
    #: and the learning rate.
    kept: dict[int, tuple[float, float]] = dataclasses.field(default_factory=dict)
    #: The size of the largest update as a multiple of the weights', the learning rate, and the step.
    changes: dict[int, tuple[float, float, int]] = dataclasses.field(default_factory=dict)
    #: The norm of replicated parameters on each rank.
    ranks: dict[int, list[float]] = dataclasses.field(default_factory=dict)
    #: The last step in which `channels`, `kept` and `ranks` were taken.
    at: dict[str, int] = dataclasses.field(default_factory=dict)

    def of(self, kind: int) -> Iterator[tuple[int, Distribution]]:
        for (own, index), seen in self.seen.items():
            if own == kind:
                yield index, seen


class Judge:
    """Rules of one idea. All that it remembers is in `memory`, as plain values, so that it
    survives a checkpoint."""

    def __init__(self, run: Run):
        self.run = run
        self.memory: dict[str, Any] = {"levels": {}}
        #: Asks for a sample of distributions in the next step.
        self.wants_sample = False

    def see_step(self, step: Step) -> Iterator[Alert]:
        return iter(())

    def see_sample(self, sample: Sample) -> Iterator[Alert]:
        return iter(())

    def see_buffers(self, step: int, norms: dict[str, float], is_last: bool) -> Iterator[Alert]:
        """Norms of float buffers by name, as they were behind a step; `is_last` as the monitor closes."""
        return iter(())

    def begins(self, key: str, holds: bool, times: int = 1, pause: int = 10) -> bool:
        """True if a condition that `holds` is to be told: it did so the given number of times
        in a row, and was not told since it last failed for `pause` times in a row."""
        count, clear, told = self.memory["levels"].get(key, (0, 0, False))
        if holds:
            count, clear = count + 1, 0
        else:
            count, clear = 0, clear + 1
            told = told and clear < pause
        begins = count >= times and not told
        if count or told:
            self.memory["levels"][key] = (count, clear, told or begins)
        else:
            self.memory["levels"].pop(key, None)
        return begins

    def state(self) -> dict:
        return copy.deepcopy(self.memory)

    def load(self, state: dict) -> None:
        self.memory = copy.deepcopy(state)


def number(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3g}"


def limit(value: float) -> str:
    """A threshold as people write it: `1000`, `1e-6`."""
    return f"{value:g}".replace("e-0", "e-")
