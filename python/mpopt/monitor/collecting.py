"""The traces of a step: numbers in a pack, distributions in the record.

Nothing here reads what a device computed. Hooks queue work on the device's own stream, and
keep to the periods of each kind."""

import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch

from mpopt import _modules
from mpopt._command import PathLike
from mpopt.monitor.amax import AmaxHooks
from mpopt.monitor.channels import Channels
from mpopt.monitor.hooks import (
    CompiledValueHooks,
    GradientHooks,
    InputHook,
    ValueHooks,
    first_float,
    in_backward,
    plain,
)
from mpopt.monitor.judging import LABELS, Sample, Step
from mpopt.monitor.naming import Names, list_state
from mpopt.monitor.observing import Observer
from mpopt.monitor.packs import Pack
from mpopt.monitor.probing import Probe
from mpopt.monitor.projections import project
from mpopt.monitor.protocol import KeptCasts, Protocol
from mpopt.monitor.random_state import random_state
from mpopt.monitor.ranks import Ranks
from mpopt.monitor.record import GRADIENT, PARAMETER, VALUE
from mpopt.monitor.scaler_watch import ScalerWatch, UpdateWatch
from mpopt.monitor.scalers import Scaler
from mpopt.monitor.windows import Window

#: Steps between two looks of each kind; 0 is never. `norm`: norms of gradients; `input`:
#: extremes of inputs; `output_gradient`: gradients of what modules gave; `channel`: sizes of
#: outputs by channel; `update`: by how much weights changed, and which of 16 bits did not; `ranks`: whether ranks agree;
#: the others: distributions, into the record.
PERIODS = {"norm": 1, "input": 1, "gradient": 100, "value": 100, "parameter": 100,
           "optimizer": 100, "output_gradient": 100, "channel": 100, "update": 100, "ranks": 100}
#: Kinds whose distributions are recorded.
RECORDED = ("gradient", "value", "parameter", "optimizer", "output_gradient")
#: Kinds that are looked at together.
SAMPLED = (*RECORDED, "channel", "update", "ranks")
#: Those that a rank does not look at because it alone is not sure of something: the others would
#: not take part.
TOGETHER = ("ranks",)
#: Steps between two passes on the probe: one pass forward is a third of a step, 0.3 % of a hundred.
PROBED = 100
#: Steps of a window. Alerts are promised within ten, and a sample may have to be taken before.
WINDOW = 8

#: By which the monitor counts its own time, in seconds. On a machine that others use,
#: `time.thread_time` in its place counts what the processor spent.
clock = time.perf_counter


def timed(method):
    """Counts the time that a method takes as the monitor's own."""
    @functools.wraps(method)
    def call(self, *arguments, **named):
        begin = clock()
        try:
            return method(self, *arguments, **named)
        finally:
            self.seconds += clock() - begin
    return call


class Collector:
    """The hooks of a run, and the window that is open."""

    def __init__(self, model: torch.nn.Module, inner: torch.nn.Module, names: Names,
                 optimizers: Sequence, scaler: Scaler | None, ranks: Ranks | None, *,
                 periods: Mapping[str, int], pattern: PathLike | None, ledger: PathLike | None,
                 compiled: bool, assumed: set[str], suspects: set[int], averages: Mapping[str, object],
                 probe: Probe | None):
        self._model, self._inner, self._names = model, inner, names
        self._optimizers, self._scaler, self._ranks = optimizers, scaler, ranks
        self._periods, self._compiled, self._assumed = periods, compiled, assumed
        #: Parameters in whose gradients rows and columns of zeros are counted in a sample.
        self._suspects = suspects
        self._averages, self._probe = averages, probe
        #: Kind, period and the rest that the number of a step has where the kind is due: the
        #: first sample comes at the end of the first window, when starts are over.
        self._plan = [(kind, period, min(period, WINDOW) - 1) for kind in SAMPLED
                      if (period := periods[kind]) and not (pattern is None and kind in RECORDED)]
        self._arguments = _modules.positional_names(inner)
        self.observer = Observer(names, optimizers, pattern, ledger)
        self._channels = Channels(names.modules)
        #: Time in the monitor's own code so far, in seconds.
        self.seconds = 0.0
        self.step = self.resumed = 0
        #: Autocast's dtype in the last forward pass, None where it was off.
        self.autocast: torch.dtype | None = None
        #: True if parameters were projected, once a record.
        self._projected = False
        #: Asks for the next batch to be kept, and that batch: arguments, keywords, the step, and
        #: the state of the random generators at its beginning.
        self.keep_batch = False
        self.kept: dict | None = None
        #: Called with that batch, before the forward pass on it.
        self.use_kept: Callable[[dict], None] | None = None
        self._device_type = names.parameters[0].device.type if names.parameters else "cpu"
        self._on_host = all(parameter.device.type == "cpu" for parameter in names.parameters)
        self._gradients = GradientHooks(names.parameters, self._see_gradients)
        self._values = ValueHooks(names.modules, self._see_value)
        self._compiled_values: CompiledValueHooks | None = None
        self._updates = UpdateWatch(self._see_update)
        #: Faults in the order of the step, by name, with the first step that had each.
        self.misused: dict[str, int] = {}
        self._protocol = Protocol(self._misuse)
        self._casts = KeptCasts()
        self._amax = AmaxHooks(inner)
        self._unscaling = ScalerWatch(scaler, names.index, self._see_changed, self._protocol) if scaler else None
        self._handles: list = []
        self._update_handles: list = []
        self._due: set[str] = set()
        self._wanted = self._urgent = False
        self._clear()

    def _clear(self) -> None:
        self._pack = Pack()
        self._steps: list = []
        #: The last sample of the window, and that of the step that runs.
        self._sample: Sample | None = None
        self._current_sample: Sample | None = None
        self._current = Step(self.step)

    # -- On and off ----------------------------------------------------------------------

    def enable(self) -> None:
        self._handles = [InputHook(self._model, self._see_batch)]
        if self._unscaling:
            self._unscaling.attach()
        if self._compiled and self.observer.pattern is not None and not self._compiled_values:
            self.observer.open(self.resumed)
            self._compiled_values = CompiledValueHooks(
                self._names.modules, self.observer.value_ids, self.observer.record.hex)
        self._amax.attach()
        # The rest of a step in which the watch ended belongs nowhere.
        self._clear()
        self._see_buffers()
        self.prepare()

    def disable(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._gradients.detach()
        self._values.detach()
        self._amax.detach()
        self._watch_updates(False)
        if self._unscaling:
            self._unscaling.detach()
        if self._compiled_values:
            # Ops in a compiled graph stay there.
            self.observer.record.enable(False)

    def close(self) -> None:
        if self._compiled_values:
            self._compiled_values.detach()
        self.observer.close()

    def resume(self, step: int) -> None:
        """Goes on at a step; the record of the ones before is left alone."""
        self.observer.leave()
        self._projected = False
        self.step = self.resumed = step
        self._clear()
        if self._handles:
            self.prepare()

    @staticmethod
    def now() -> float:
        return clock()

    def spent(self, begin: float) -> None:
        """Counts the time since `begin` as the monitor's own."""
        self.seconds += clock() - begin

    # -- Steps and windows ---------------------------------------------------------------

    def end_step(self, loss, metrics: Mapping | None = None) -> Window | None:
        """Ends a step; gives the window if it is over with it."""
        step = self._current
        for name, value in (metrics or {}).items():
            if isinstance(value, torch.Tensor):
                self._pack.add(("metric", self.step, name), _number(value))
            else:
                step.metrics[name] = float(value)
        if isinstance(loss, torch.Tensor):
            # A captured graph writes its loss to the same place in each step.
            self._pack.add(("loss", self.step), _number(loss))
        elif loss is not None:
            step.loss = float(loss)
        if self._scaler:
            self._add_scale("next_scale")
        if self._optimizers:
            rate = self._optimizers[0].param_groups[0].get("lr")
            if isinstance(rate, torch.Tensor):
                self._pack.add(("learning_rate", self.step), _number(rate))
            else:
                step.learning_rate = rate
        self._sample_what_lies_still()
        if self._unscaling:
            self._unscaling.forget()
        self._casts.end_step(self.step)
        for name, ratios in self._amax.take():
            self._pack.add(("amax", self.step, name), ratios)
        if sample := self._current_sample:
            if self._sample and not sample.ran:
                sample.ran = self._sample.ran
            self._sample, self._current_sample = sample, None
        self._steps.append(step)
        self.step += 1
        self._current = Step(self.step)
        return self.close_window() if len(self._steps) >= WINDOW or self._urgent else None

    def close_window(self, is_last: bool = False) -> Window | None:
        """The steps that ended since the last one; None if there are none, but for the last window, which holds
        what came behind the last step."""
        if not self._steps and not is_last:
            return None
        self._see_buffers()
        window = Window(self._pack.close(self.step), self._steps, self._sample)
        self._steps, self._sample = [], None
        return window

    def want_sample(self) -> None:
        """Records all distributions in the next step, and ends the window with it."""
        self._wanted = True

    def prepare(self) -> None:
        """Puts on the hooks that the step about to begin needs."""
        step, wanted, norm = self.step, self._wanted, self._periods["norm"]
        due = {kind for kind, period, rest in self._plan
               if step % period == rest or wanted and kind not in TOGETHER}
        # The first update is the one before which weights have the size that they were given.
        if step == 0 and self._periods["update"]:
            due.add("update")
        self._due, self._urgent, self._wanted = due, wanted, False
        if (norm and step % norm == 0) or "gradient" in due:
            self._gradients.attach()
        else:
            self._gradients.detach()
        self._protocol.begin()
        self._current_sample = Sample(step) if due else None
        if due and not due.isdisjoint(RECORDED):
            self.observer.open(self.resumed)
            self.observer.record.set_step(step)
        if self._compiled_values:
            self.observer.record.enable("value" in due)
        elif due and not due.isdisjoint(("value", "channel", "output_gradient")):
            self._values.attach()
        else:
            self._values.detach()
        self._watch_updates(self._unscaling is not None or "update" in due and any(
            map(UpdateWatch.sees, self._names.parameters)))

    def _watch_updates(self, watched: bool) -> None:
        if watched and not self._update_handles:
            for optimizer in self._optimizers:
                if hasattr(optimizer, "register_step_pre_hook"):
                    self._update_handles += [
                        optimizer.register_step_pre_hook(self._before_update),
                        optimizer.register_step_post_hook(self._after_update)]
        elif not watched and self._update_handles:
            for handle in self._update_handles:
                handle.remove()
            self._update_handles = []

    def _misuse(self, fault: str) -> None:
        self.misused.setdefault(fault, self.step)

    # -- What hooks see ------------------------------------------------------------------

    def _add_scale(self, word: str) -> None:
        scale = self._scaler.read()
        if isinstance(scale, torch.Tensor):
            self._pack.add((word, self.step), scale)
        elif scale is not None:
            name = "scale" if word == "scale" else "next_scale"
            setattr(self._current, name, scale)

    def _add_norms(self, word: str, indices: list[int], tensors: list[torch.Tensor]) -> None:
        for indices, tensors in _by_device(indices, tensors):
            norms = torch.empty(len(tensors), dtype=torch.float32, device=tensors[0].device)
            torch.ops.mpopt.norms(tensors, norms)
            self._pack.add((word, self.step, indices), norms)

    @timed
    def _see_gradients(self, indices: list[int], gradients: list[torch.Tensor]) -> None:
        self._protocol.backward()
        if self._scaler:
            self._add_scale("scale")
            self._unscaling.saw(indices, gradients)
        if "gradient" not in self._due:
            self._add_norms("norms", indices, gradients)
            return
        self._current.recorded = True
        for indices, gradients in _by_device(indices, gradients):
            norms = None
            if self._periods["norm"]:
                norms = torch.empty(len(gradients), dtype=torch.float32,
                                    device=gradients[0].device)
                self._pack.add(("norms", self.step, indices), norms)
            self.observer.gradients(indices, gradients, self.autocast, norms)
            self._project(GRADIENT, indices, gradients)
            self._count_live(indices, gradients)

    @timed
    def _see_value(self, index: int, output) -> None:
        value, due = first_float(output), self._due
        if value is None:
            return
        observer = self.observer
        probe = observer.value_ids[index] if observer.record else -1
        if probe >= 0 and "output_gradient" in due and value.requires_grad:
            self._current.recorded = True
            value.register_hook(functools.partial(self._see_output_gradient, probe))
        recorded = probe if "value" in due else -1
        if recorded >= 0:
            self._current_sample.ran.append(index)
            self._project(VALUE, (index,), (value,))
        self._channels.see(self._pack, self.step, index, value, recorded, observer,
                           "channel" in due)

    @timed
    def _see_output_gradient(self, probe: int, gradient: torch.Tensor) -> None:
        if self._handles:
            self.observer.output_gradient(probe, gradient)

    @timed
    def _see_batch(self, _, arguments, named) -> None:
        if in_backward():
            return
        device = self._device_type
        on = torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)
        self.autocast = torch.get_autocast_dtype(device) if on else None
        if on and (kept := self._casts.look(self.step, device)):
            product, expected = kept
            self._pack.add(("kept_cast", self.step, expected), product)
        if self.keep_batch:
            self.keep_batch = False
            self.kept = {"step": self.step, "arguments": arguments, "keywords": named,
                         "random": random_state()}
            if self.use_kept and torch.is_grad_enabled():
                use, self.use_kept = self.use_kept, None
                use(self.kept)
        period = self._periods["input"]
        if not period or self.step % period:
            return
        for place, value in enumerate(arguments):
            name = self._arguments[place] if place < len(self._arguments) else f"input{place}"
            self._see_input(name, value)
        for name, value in named.items():
            self._see_input(name, value)

    def _see_input(self, name: str, value) -> None:
        if not isinstance(value, torch.Tensor) or not value.numel() or value.is_complex():
            return
        # PyTorch does not order numbers of 8 bits.
        if value.is_floating_point() and value.element_size() < 2:
            return
        # Extremes of indices tell nothing, unless something is assumed of them, or they are
        # labels, of which negative ones do not count.
        if not value.is_floating_point() and (value.dtype is torch.bool or
                                              name not in self._assumed and name not in LABELS):
            return
        ends = torch.stack(torch.aminmax(plain(value)))
        self._pack.add(("input", self.step, name), ends.float())

    @timed
    def _before_update(self, optimizer, *_) -> None:
        self._protocol.step(optimizer)
        if self._scaler and self._unscaling.has_gradients and \
                self._scaler.stage(optimizer) == "READY":
            self._misuse("scaled")
        if "update" in self._due:
            self._updates.before(optimizer)

    @timed
    def _after_update(self, *_) -> None:
        self._updates.after()

    def _see_update(self, parameter: torch.Tensor, shares: torch.Tensor, rate: float) -> None:
        index = self._names.index.get(id(parameter))
        if index is not None:
            self._pack.add(("kept", self.step, index, rate), shares)

    @timed
    def _see_changed(self, indices: list[int], gradients: list[torch.Tensor]) -> None:
        self._add_norms("changed", indices, gradients)

    # -- Samples -------------------------------------------------------------------------

    @timed
    def _see_buffers(self) -> None:
        """Their norms behind the last step: NaN and Inf in statistics that the training does not read."""
        named = [(name, plain(buffer)) for name, buffer in list_state(self._inner, self._averages)
                 if buffer.is_floating_point() and buffer.numel() and not buffer.is_meta]
        for places, tensors in _by_device(list(range(len(named))), [buffer for _, buffer in named]):
            if tensors:
                norms = torch.empty(len(tensors), dtype=torch.float32, device=tensors[0].device)
                torch.ops.mpopt.norms(tensors, norms)
                self._pack.add(("buffers", self.step - 1, [named[place][0] for place in places]), norms)

    def _project(self, kind: int, indices: Iterable[int], tensors: Iterable[torch.Tensor]) -> None:
        for index, tensor in zip(indices, tensors, strict=True):
            if tensor.numel():
                self._pack.add(("projections", self.step, kind, index), project(tensor))

    def _count_live(self, indices: list[int], gradients: list[torch.Tensor]) -> None:
        """Shares of rows and of columns that hold anything, of suspect gradients."""
        chosen = [(index, gradient) for index, gradient in zip(indices, gradients, strict=True)
                  if index in self._suspects and gradient.dim() > 1]
        if chosen:
            shares = []
            for _, gradient in chosen:
                filled = gradient.flatten(1) != 0
                shares += [filled.any(1).float().mean(), filled.any(0).float().mean()]
            self._pack.add(("live", self.step, [index for index, _ in chosen]), torch.stack(shares))

    def _sample_what_lies_still(self) -> None:
        if self._probe and self.step % PROBED == min(PROBED, WINDOW) - 1:
            self._look_at_probe()
        if "parameter" in self._due:
            self.observer.parameters()
            if not self._projected:
                # Runs that are compared begin with the same ones.
                self._projected = True
                self._project(PARAMETER, range(len(self._names.parameters)),
                              map(plain, self._names.parameters))
        if "optimizer" in self._due:
            self.observer.optimizer_state()
        if "ranks" in self._due and self._ranks and (gathered := self._ranks.gather()):
            self._pack.add(("ranks", self.step), *gathered)

    def _look_at_probe(self) -> None:
        # The hooks would take its pass for one of the training.
        for handle in self._handles:
            handle.remove()
        self._values.detach()
        try:
            count, numbers = self._probe.look(self._names.parameters, self._device_type, self.autocast)
            self._pack.add(("probe", self.step, 2 * count), numbers)
        finally:
            self._handles = [InputHook(self._model, self._see_batch)]

    def flush(self) -> None:
        """Leaves what is known in the file, should the process die."""
        if self.observer.record:
            self.observer.record.flush(wait=self._on_host)


def _number(given: torch.Tensor) -> torch.Tensor:
    """A copy of the first element of a tensor, FP32 [1]: a captured graph writes its loss to the
    same place in each step."""
    given = plain(given)
    given = given.reshape(1) if given.numel() == 1 else given.reshape(-1)[:1]
    return given.to(torch.float32, copy=True)


def _by_device(indices: list[int], tensors: list[torch.Tensor]
               ) -> Iterable[tuple[list[int], list[torch.Tensor]]]:
    """Tensors, and their indices, that lie on one device."""
    # All on the processor, which has no number.
    if tensors and max(map(torch.Tensor.get_device, tensors)) < 0:
        return [(indices, tensors)]
    devices: dict[torch.device, tuple[list[int], list[torch.Tensor]]] = {}
    for index, tensor in zip(indices, tensors, strict=True):
        own = devices.setdefault(tensor.device, ([], []))
        own[0].append(index)
        own[1].append(tensor)
    return devices.values()
