"""`Monitor`: what a training loop puts around itself."""

import dataclasses
import functools
import itertools
import logging
from collections.abc import Callable, Mapping, Sequence

import torch

from mpopt import _modules, _torch_ops
from mpopt._command import Error, PathLike
from mpopt.monitor import assumptions, history, overflows, replay, thresholds as limits
from mpopt.monitor.amax import OutgrownAmax
from mpopt.monitor.alerts import SEVERITIES, Alert, Log, Sink, StopTraining, check_actions, deliver, make_sink
from mpopt.monitor.collecting import PERIODS, Collector
from mpopt.monitor.flushed_rules import FlushedGradients
from mpopt.monitor.gradient_rules import GradientNorm, NoGradient, NonFinite
from mpopt.monitor.judging import Judge, Run, Sample, Step
from mpopt.monitor.loss_rules import LossCourse
from mpopt.monitor.naming import Names, is_compiled
from mpopt.monitor.optimizer_rules import LargeUpdate, LostUpdate, find_zero_epsilon, zero_epsilon
from mpopt.monitor.projections import encode
from mpopt.monitor.probing import Probe
from mpopt.monitor.ranks import Ranks, RanksAgree, name_rank, own_rank, splits_layers
from mpopt.monitor.record import DEFAULT, GRADIENT, VALUE, dtype_name
from mpopt.monitor.replay import FirstBad
from mpopt.monitor.scale_rules import (
    ClippedScaled,
    LossScale,
    SkippedSteps,
    misused_scaler,
)
from mpopt.monitor.scalers import Scaler
from mpopt.monitor.state_rules import Buffers, StandingState
from mpopt.monitor.value_rules import (
    ChannelImbalance,
    DeadLayer,
    InputRange,
    NearOverflow,
    WideRange,
)
from mpopt.monitor.windows import Window, fill

_JUDGES = (NonFinite, GradientNorm, NoGradient, LossScale, SkippedSteps, ClippedScaled,
           FlushedGradients, NearOverflow, DeadLayer, WideRange, ChannelImbalance, InputRange,
           LostUpdate, LargeUpdate, RanksAgree, Buffers, LossCourse, StandingState, OutgrownAmax)


class Monitor:
    """Watches a training loop, says early when it is unhealthy, and writes a record.

        with mpopt.monitor.Monitor(model, optimizer, scaler, record="run-%r.mprec") as monitor:
            for batch in loader:
                ...                        # the loop as it was
                monitor.step(loss=loss)    # after optimizer.step() and scaler.update()

    model      a `torch.nn.Module`, also compiled, or wrapped by DDP
    optimizer  one, or a sequence of several
    scaler     a `GradScaler`, or an object with `cur_scale` or `loss_scale`; None: losses are not
               scaled
    record     path of the `.mprec` file; `%r` is the rank, `%p` and `%h` as in `Recorder`; its
               ledger is written beside it. None writes none, and leaves distributions out.
               Default: `run-%r.mprec`, or `run-%r-2.mprec` and so on after an earlier run
    ledger     the ledger of an instrumented model (`--instrument --train`) whose predictions
               `--confirm` is to judge by the record; parameters are found by name
    inputs     what is assumed of inputs, by argument of `forward`: `"LO:HI"`, or a pair
    report     path of a report (`--check --format json`) that holds such assumptions
    periods    steps between two looks, by kind; overrides `PERIODS`
    values     regular expression on paths of modules whose outputs are recorded; None: of
               modules that hold no others; False: none
    sinks      where alerts go: paths of JSON lines, loggers, functions, `SummaryWriter`s, runs of
               W&B, the module `mlflow`; default: the logger `mpopt.monitor`
    actions    `stop`, `keep`, `replay` or `continue` by rule or severity. `keep` holds the next
               batch in `kept`, with the random generators' state at its beginning; `replay` also
               computes it at once with every op in view (`find_first_bad`), before the program
               does: `first_bad` has the op, and another alert tells of it
    thresholds numbers by which rules judge, by key (`mpopt --list-rules`); they go over those of the
               table `[thresholds]` of settings
    config     path of settings, `none` for none; default: the nearest `mpopt.toml` in the working
               directory or above it
    averages   averages of weights by name, which are watched as buffers are: modules (`AveragedModel`, a
               copy of the model), or objects whose `state_dict` holds the tensors
    probe      a batch, as a tensor, a tuple of arguments or a dictionary of keywords: the model is computed
               on it in every hundredth step, and weights that change while its outputs do not are reported
    ranks      the process group whose ranks must hold the same parameters, or True for all;
               None: that of DDP; False: none
    compiled   whether the model runs under `torch.compile`, which does not see hooks that come
               later; None: as far as the model shows
    enabled    False: no hook is there and `step` returns at once, until `enable()`

    Raises `mpopt.Error` where an argument is wrong."""

    def __init__(self, model: torch.nn.Module, optimizer=None, scaler=None, *,
                 record: PathLike | None = DEFAULT, ledger: PathLike | None = None,
                 inputs: Mapping | None = None, report: PathLike | None = None,
                 periods: Mapping[str, int] | None = None, values: str | bool | None = None,
                 sinks: Sequence | None = None, actions: Mapping[str, str] | None = None,
                 thresholds: Mapping[str, float] | None = None, config: PathLike | None = None,
                 averages: Mapping[str, object] | None = None, probe=None, ranks=None, compiled: bool | None = None, enabled: bool = True):
        _torch_ops.require()
        self._optimizers = [] if optimizer is None else \
            list(optimizer) if isinstance(optimizer, tuple | list) else [optimizer]
        try:
            self._scaler = None if scaler is None else Scaler(scaler)
            self._sinks: list[Sink] = [Log()] if sinks is None else list(map(make_sink, sinks))
            self._actions = check_actions(actions)
        except (TypeError, ValueError, OSError) as error:
            raise Error(str(error)) from error
        self._inner = _modules.unwrap(model)
        self._names = Names(self._inner, self._optimizers, values)
        self._ranks = Ranks.of(model, ranks, self._names.parameters)
        scales = self._scaler is not None and self._scaler.enabled
        checked = _check_periods(periods)
        self._run = Run(
            self._names.parameter_names, self._names.layers, self._names.module_names,
            elsewhere=self._names.find_elsewhere(),
            first_scale=self._scaler.first if scales else None,
            growth_interval=self._scaler.growth_interval if scales else 2000,
            sees_values=bool(self._names.modules and record is not None and ledger is None and
                             checked["value"]),
            inputs=assumptions.read(inputs, report), thresholds=limits.read(thresholds, config),
            narrow={name for parameter in self._names.parameters
                    if (name := dtype_name(parameter.dtype)) in overflows.LARGEST})
        self._judges: list[Judge] = [judge(self._run) for judge in _JUDGES]
        self._collector = Collector(
            model, self._inner, self._names, self._optimizers, self._scaler if scales else None,
            self._ranks, periods=checked, pattern=record, ledger=ledger,
            compiled=is_compiled(model) if compiled is None else compiled,
            assumed=set(self._run.inputs), suspects=self._run.suspects, averages=averages or {},
            probe=None if probe is None else Probe(self._inner, probe))
        self._windows: list[Window] = []
        self._found: list[Alert] = []
        self._skipped = 0
        self._last_scale = self._run.first_scale
        self._stop: Alert | None = None
        self._told: set[str] = set()
        self._history: history.Writer | None = None
        #: The result of the last replay that an alert asked for; None if every result was finite.
        self.first_bad: FirstBad | None = None
        self._enabled = self._closed = False
        if enabled:
            self.enable()

    # -- On and off ----------------------------------------------------------------------

    def enable(self) -> None:
        """Takes up the watch."""
        if not self._enabled and not self._closed:
            self._enabled = True
            self._collector.enable()

    def disable(self) -> None:
        """Takes all hooks off: the loop runs as without a monitor, and `step` only counts."""
        if self._enabled:
            self._drain()
            self._enabled = False
            self._collector.disable()

    def close(self) -> None:
        """Judges what is left, takes hooks off, and marks the record as ended in order."""
        if not self._closed:
            self._closed = True
            self.disable()
            self._collector.close()
            if self._history:
                self._history.close()

    def __enter__(self) -> "Monitor":
        return self

    def __exit__(self, kind, *_) -> None:
        watched = self._enabled
        self.close()
        if kind is None and watched and self._collector.step == self._collector.resumed:
            logging.getLogger("mpopt.monitor").warning("no step was judged: call monitor.step(loss=loss) behind optimizer.step()")

    # -- The step ------------------------------------------------------------------------

    def step(self, loss=None, metrics: Mapping | None = None) -> None:
        """A step of the training is over: called after `optimizer.step()`, and after
        `scaler.update()` where there is one. `loss` is a number or a tensor of one element, not
        scaled; `metrics`, in the same forms by name, go into the history, by which runs are judged
        (`judge_run`). Nothing is waited for; numbers are copied from a device when a window closes.

        Raises `StopTraining` where an alert's action is `stop`."""
        if not self._enabled:
            self._collector.step += 1
            return
        begin = self._collector.now()
        if window := self._collector.end_step(loss, metrics):
            self._windows.append(window)
        if self._windows:
            self._judge()
        self._check_use()
        self._collector.prepare()
        self._collector.spent(begin)
        if self._stop:
            alert, self._stop = self._stop, None
            raise StopTraining(alert)

    @property
    def alerts(self) -> list[Alert]:
        """All alerts up to the last `step`. Reading them closes the window and waits for the
        device."""
        self._drain()
        return list(self._found)

    def __repr__(self) -> str:
        # The steps judged so far: a representation does not wait for the device.
        found = len(self._found)
        return f"Monitor({self._collector.step} steps, {found} alert{'' if found == 1 else 's'})"

    def summary(self) -> str:
        """The summary at the end, in a few lines: steps, alerts by rule, and the record. Waits as
        `alerts` does."""
        worst = {alert.rule: alert for severity in reversed(SEVERITIES) for alert in reversed(self.alerts)
                 if alert.severity == severity}
        skipped = f", {self._skipped} of them skipped by the scaler" if self._skipped else ""
        lines = [f"{self._collector.step} steps{skipped}; "
                 + (f"{len(self._found)} alert{'s' * (len(self._found) > 1)}" if worst else "no alert")]
        lines += [f"  {alert}" for alert in sorted(worst.values(), key=lambda alert: SEVERITIES.index(alert.severity))]
        if self.first_bad is not None:
            lines.append(f"  first bad: {self.first_bad}")
        if self.record_path:
            lines.append(f"  record: {self.record_path} (python -m mpopt.view shows it)")
        return "\n".join(lines)

    @property
    def seconds(self) -> float:
        """Time spent in the monitor's own code so far, hooks included."""
        return self._collector.seconds

    @property
    def record_path(self) -> str:
        """Path of the record; empty before the first sample."""
        return self._collector.observer.record.path if self._collector.observer.record else ""

    @property
    def ledger_path(self) -> str:
        """Path of the record's ledger; empty before the first sample."""
        return str(self._collector.observer.record.ledger_path) if self._collector.observer.record else ""

    @property
    def kept(self) -> dict | None:
        """The batch that an alert with the action `keep` asked for: `arguments` and `keywords`
        of `forward`, `step`, and `random`, the state of the generators before it."""
        return self._collector.kept

    def sample(self) -> None:
        """Records all distributions in the next step, whatever the periods are."""
        self._collector.want_sample()
        if self._enabled:
            self._collector.prepare()

    # -- Judging -------------------------------------------------------------------------

    def _drain(self) -> None:
        begin = self._collector.now()
        if window := self._collector.close_window(is_last=self._closed and self._enabled):
            self._windows.append(window)
        self._judge(wait=True)
        self._collector.spent(begin)

    def _judge(self, wait: bool = False) -> None:
        """Judges the windows whose numbers have come, in order."""
        while self._windows and (wait or self._windows[0].pending.is_there()):
            window = self._windows.pop(0)
            self._last_scale = fill(window, self._last_scale, self._ranks)
            if window.sample is not None:
                self._collector.observer.take(window.sample)
            self._note_formats(window.sample)
            found: list[Alert] = []
            for step in window.steps:
                for judge in self._judges:
                    found += judge.see_step(step)
                self._tell_numbers(step)
            for behind, norms in window.buffers.items():
                is_last = self._closed and not self._windows and behind == max(window.buffers)
                for judge in self._judges:
                    found += judge.see_buffers(behind, norms, is_last)
            if window.sample is not None:
                self._tell_sample(window.sample)
                for judge in self._judges:
                    found += judge.see_sample(window.sample)
            for judge in self._judges:
                if judge.wants_sample:
                    self._collector.want_sample()
                    judge.wants_sample = False
            self._raise(found)
            self._collector.flush()
            if self._history:
                self._history.flush()

    def _note_formats(self, sample: Sample | None) -> None:
        """The dtypes below 32 bits of the steps so far."""
        if self._collector.autocast is not None:
            self._run.narrow.add(dtype_name(self._collector.autocast))
        if sample is not None:
            self._run.narrow.update(seen.dtype for seen in sample.seen.values()
                                    if seen.dtype in overflows.LARGEST)

    def _raise(self, found: list[Alert]) -> None:
        # Ranks have batches and shards of their own.
        found = [dataclasses.replace(alert, message=alert.message + name_rank()) for alert in found]
        self._found += found
        deliver(found, self._sinks)
        if self._history:
            for alert in found:
                self._history.alert(alert)
        for alert in found:
            action = self._actions.get(alert.rule, self._actions.get(alert.severity, "continue"))
            if action == "stop":
                self._stop = self._stop or alert
            elif action in ("keep", "replay"):
                self._collector.keep_batch = True
            if action == "replay":
                self._collector.use_kept = functools.partial(self._replay, alert.rule)

    def _tell_numbers(self, step: Step) -> None:
        self._skipped += step.skipped
        given = {"loss": step.loss, "loss_scale": step.scale, "gradient_norm": step.total,
                 "learning_rate": step.learning_rate}
        values = {name: value for name, value in given.items() if value is not None}
        if self._collector.observer.record:
            self._record_numbers(step, values)
            self._write_step(step, values)
        for sink in self._sinks:
            sink.numbers(step.step, {**values, **step.metrics})

    def _record_numbers(self, step: Step, values: dict[str, float]) -> None:
        # Rules that judge recorded gradients by their scale want those scales and no others.
        recorded = {name: value for name, value in values.items() if name != "loss_scale"}
        if step.recorded:
            recorded["loss_scale"] = step.scale or 1.0
        self._collector.observer.record.numbers(step.step, recorded)

    def _write_step(self, step: Step, values: dict[str, float]) -> None:
        """The step in the history, which begins with the record."""
        if self._history is None:
            self._history = history.Writer(
                self._collector.observer.record.path, own_rank(), self._run.first_scale, self._run.narrow,
                split=splits_layers(self._inner, self._names.parameters))
            for alert in self._found:
                self._history.alert(alert)
        bad = step.first_bad()
        self._history.numbers(step.step, values, skipped=step.skipped,
                              bad=None if bad is None else self._run.parameters[bad], metrics=step.metrics)

    def _tell_sample(self, sample) -> None:
        if self._history is None or not (sample.seen or sample.flowed):
            return
        modules = self._names.module_names
        names = {VALUE: modules}
        self._history.sample(sample.step, sample.scale, itertools.chain(
            ((kind, names.get(kind, self._names.parameter_names)[index], seen)
             for (kind, index), seen in sample.seen.items()),
            ((GRADIENT, modules[index], seen) for index, seen in sample.flowed.items())))
        if sample.projections:
            self._history.projections(sample.step, sample.scale, (
                (kind, names.get(kind, self._names.parameter_names)[index], encode(numbers))
                for (kind, index), numbers in sample.projections.items()))

    def _once(self, key: str) -> bool:
        if key in self._told:
            return False
        self._told.add(key)
        return True

    def _check_use(self) -> None:
        """Faults of the program that need no number: each is told once."""
        step = self._collector.step - 1
        for fault, at in self._collector.misused.items():
            if self._once(fault):
                self._raise([misused_scaler(fault, at)])
        scales = self._run.first_scale is not None and self._scaler.is_gradscaler
        if scales and self._collector.autocast is torch.bfloat16 and self._once("needless"):
            self._raise([misused_scaler("needless", step)])
        if "epsilon" in self._told or not any(optimizer.state for optimizer in self._optimizers):
            return
        self._told.add("epsilon")
        for optimizer in self._optimizers:
            if found := find_zero_epsilon(optimizer, self._names):
                self._raise([zero_epsilon(step, *found)])
                return

    # -- Replay --------------------------------------------------------------------------

    def _replay(self, rule: str, kept: dict) -> None:
        # Each rank would have to gather shards at the same time.
        if any(hasattr(parameter, "to_local") for parameter in self._names.parameters):
            return
        self.first_bad = bad = self.find_first_bad(
            kept, lambda model, batch: replay.find_loss(
                model(*batch["arguments"], **batch["keywords"])), random=kept["random"])
        found = bad or "every result is finite: the batch before may be to blame, or chance"
        # Not through the actions: what asked for a replay would do so for ever. What was spoilt before is no op.
        prefix = history.REPLAYED if bad and bad.phase != "stored" else "computed again: "
        alert = Alert(rule, "note", bad.layer if bad else "", kept["step"], f"step {kept['step']}: {prefix}{found}")
        self._found.append(alert)
        deliver([alert], self._sinks)
        if self._history:
            self._history.alert(alert)

    def find_first_bad(self, batch, compute: Callable | None = None,
                       random: dict | None = None) -> FirstBad | None:
        """Computes forward and backward pass of a step on `batch` again, every op in view, and
        gives the first one that makes NaN or Inf of finite operands, or else the parameter, buffer or
        input that held NaN before; None if all is finite.
        Parameters, gradients, buffers and random numbers of the training stay as they are.

        batch    a tensor, a tuple of arguments, or a dictionary of keywords
        compute  gives the loss of (model, batch); default: the model itself, which returns it,
                 under autocast as in the last step
        random   state of the random generators, as in `kept`; default: as they are

        The loss scale is the one in force, which is read from the device."""
        scale = self._scaler.read() if self._scaler and self._run.first_scale else 1.0
        enabled = self._enabled
        self.disable()
        try:
            return replay.find_first_bad(
                self._inner, self._names.parameters, batch, compute=compute, scale=float(scale or 1.0),
                autocast=self._collector.autocast, random=random)
        finally:
            if enabled:
                self.enable()

    # -- Checkpoints ---------------------------------------------------------------------

    def state_dict(self) -> dict:
        """All that the rules remember, as plain values: for `torch.save` beside the model's."""
        self._drain()
        return {"version": 1, "step": self._collector.step, "last_scale": self._last_scale,
                "told": sorted(self._told),
                "rules": {type(judge).__name__: judge.state() for judge in self._judges}}

    def load_state_dict(self, state: Mapping) -> None:
        """Goes on with the step and the memory of another monitor of the same model. The record
        of the steps before is left alone: this one's file gets the step into its name. Raises
        `mpopt.Error` for a state of another version."""
        if state.get("version") != 1:
            raise Error("the monitor's state is of another version of mpopt")
        self._drain()
        self._collector.resume(state["step"])
        self._last_scale = state["last_scale"]
        self._told = set(state["told"])
        for judge in self._judges:
            if type(judge).__name__ in state["rules"]:
                judge.load(state["rules"][type(judge).__name__])


def _check_periods(periods: Mapping[str, int] | None) -> dict[str, int]:
    unknown = set(periods or {}) - set(PERIODS)
    if unknown:
        raise Error(f"periods: no kind is called {', '.join(sorted(unknown))}: "
                    f"{', '.join(PERIODS)}")
    for kind, period in (periods or {}).items():
        if not isinstance(period, int) or isinstance(period, bool) or period < 0:
            raise Error(f"periods[{kind!r}]: a number of steps, 0 for never, not {period!r}")
    return {**PERIODS, **(periods or {})}
