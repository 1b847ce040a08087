"""mpopt in loops that a library runs: Transformers, Lightning, Accelerate.

    trainer = transformers.Trainer(..., callbacks=[mpopt.integrations.MpoptCallback()])
    trainer = lightning.Trainer(..., callbacks=[mpopt.integrations.MpoptCallback()])
    with mpopt.integrations.accelerate_monitor(accelerator, model, optimizer) as monitor: ...

`MpoptCallback` derives from the callbacks of the libraries that are imported when it is asked for, or
of all that are installed where none is."""

import contextlib
import functools
import importlib
import importlib.util
import itertools
import logging
import os
import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mpopt import _training_options
from mpopt._command import Error, PathLike

if TYPE_CHECKING:
    from mpopt.monitor import Monitor
    from mpopt.report import TrainingReport

#: Libraries, and their classes of callbacks.
_LIBRARIES = {"transformers": "TrainerCallback", "lightning.pytorch": "Callback", "pytorch_lightning": "Callback"}

_log = logging.getLogger("mpopt")


def accelerate_monitor(accelerator, model, optimizer=None, **options) -> "Monitor":
    """A monitor of what `accelerator.prepare` gave, with the accelerator's own scaler. Its record is in
    `mpopt/run-N` of the accelerator's `project_dir`, if it has one. `options` are keywords of `Monitor`."""
    from mpopt.monitor import Monitor

    optimizers = optimizer if isinstance(optimizer, tuple | list) else \
        [] if optimizer is None else [optimizer]
    if "record" not in options and (root := getattr(accelerator, "project_dir", None)) is not None:
        options["record"] = _make_folder(root) / "run-%r.mprec"
    return Monitor(model, [_training_options.plain_optimizer(one) for one in optimizers],
                   getattr(accelerator, "scaler", None), **options)


class _Losses:
    """The loss that a model's output has, as the last forward pass gave it."""

    def __init__(self, model):
        self.last = None
        self.paused = False
        self._handle = model.register_forward_hook(self._see)

    def _see(self, module, arguments, output):
        import torch

        from mpopt.monitor.hooks import in_backward

        if self.paused or in_backward() or not module.training:
            return
        loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if isinstance(loss, torch.Tensor) and loss.numel() == 1:
            self.last = loss.detach()

    def take(self):
        loss, self.last = self.last, None
        return loss

    def remove(self) -> None:
        self._handle.remove()


class _Logger:
    """The numbers of each step, to a logger of Lightning."""

    def __init__(self, logger):
        self._logger = logger

    def alert(self, alert) -> None:
        pass

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        self._logger.log_metrics({f"mpopt/{name}": value for name, value in values.items()}, step)


class _Latest:
    """Those of the last step alone."""

    def __init__(self):
        self.values: dict[str, float] = {}

    def alert(self, alert) -> None:
        pass

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        self.values = {f"mpopt/{name}": value for name, value in values.items() if name not in ("loss", "learning_rate")}


def _is_first_rank() -> bool:
    from mpopt.monitor.ranks import own_rank

    return own_rank() == 0


def _make_folder(root: PathLike) -> pathlib.Path:
    """`ROOT/mpopt/run-N`, which was not there before; that of the first rank on all."""
    import torch.distributed as distributed

    made: list[Any] = [None]
    if _is_first_rank():
        base = pathlib.Path(root, "mpopt")
        base.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(1):
            with contextlib.suppress(FileExistsError):
                made[0] = base / f"run-{number}"
                made[0].mkdir()
                break
    if distributed.is_available() and distributed.is_initialized():
        distributed.broadcast_object_list(made)
    return made[0]


@contextlib.contextmanager
def _unchanged(model) -> Iterator[None]:
    """Buffers, and what random numbers come next, are as before: a module that cannot be exported is traced,
    which runs it."""
    import torch

    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    try:
        with torch.random.fork_rng():
            yield
    finally:
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)


class _Callback:
    """Judges the first batch (`check_training`), monitors the training, gives the trainer's loggers its numbers,
    and sums up at the end.

    folder   holds `mpopt/run-N` of each run: the check (`check.html`, `check.json`), the record and its history,
             `summary.txt`; default: the trainer's output folder. A Lightning trainer without a logger and
             without a `default_root_dir` has none: nothing is written then
    check    False: the first batch is not judged
    options  keywords of `Monitor`

    `monitor` and `report` are there once training began; `unchecked` says why there is no report, `summary` is the
    last word."""

    def __init__(self, folder: PathLike | None = None, *, check: bool = True, **options):
        self._root, self._wants_check, self._options = folder, check, options
        self.monitor: Monitor | None = None
        self.report: TrainingReport | None = None
        self.folder: pathlib.Path | None = None
        self.unchecked = self.summary = ""
        self._latest = _Latest()
        self._losses: _Losses | None = None
        self._first: Any = None
        self._restored: dict = {}

    # -- What both have in common --------------------------------------------------------------

    def _begin(self, model, optimizers, scaler, root: PathLike | None, sinks: list) -> None:
        from mpopt.monitor import Monitor
        from mpopt.monitor.alerts import Log

        root = root if self._root is None else self._root
        options = dict(self._options)
        if root is not None:
            self.folder = _make_folder(root)
        options.setdefault("record", self.folder and self.folder / "run-%r.mprec")
        options["sinks"] = [*(options.get("sinks") or [Log()]), *sinks]
        self.monitor = Monitor(model, [_training_options.plain_optimizer(one) for one in optimizers], scaler, **options)
        if self._restored:
            self.monitor.load_state_dict(self._restored)

    def _check(self, model, batch, **options) -> None:
        if not self._wants_check or not _is_first_rank():
            return
        self._wants_check = False
        from mpopt.training import check_training

        try:
            with _unchanged(model):
                self.report = check_training(model, batch, **options)
            if self.folder is not None:
                for form in ("html", "json"):
                    self.report.save(self.folder / f"check.{form}")
        except Exception as error:  # noqa: BLE001: whatever a model does, it is trained all the same
            self.unchecked = (str(error).splitlines() or [type(error).__name__])[0]
            _log.warning("the first batch was not judged: %s", self.unchecked)
            return
        _log.log(logging.INFO if self.report.ok else logging.WARNING, "%r", self.report)

    def _end(self) -> None:
        if self._losses is not None:
            self._losses.remove()
        if self.monitor is None or self.summary:
            return
        self.monitor.close()
        check = repr(self.report) if self.report is not None else self.unchecked and f"not judged: {self.unchecked}"
        self.summary = "\n".join(filter(None, [check, self.monitor.summary()]))
        if self.folder is not None and _is_first_rank():
            (self.folder / "summary.txt").write_text(f"{self.summary}\n", encoding="utf-8")
        _log.info("%s", self.summary)

    def on_train_end(self, *_, **__) -> None:
        self._end()

    # -- Transformers ---------------------------------------------------------------------------

    def attach(self, trainer) -> "_Callback":
        """In place of `callbacks=`: in front of the loggers of a `transformers.Trainer`, which then have the
        numbers, too."""
        trainer.callback_handler.callbacks.insert(0, self)
        return self

    def on_train_begin(self, args, state, control, model=None, optimizer=None, **_):
        from mpopt.monitor.hooks import InputHook

        self._losses = _Losses(model)
        self._begin(model, [optimizer], getattr(optimizer, "scaler", None), args.output_dir, [self._latest])
        self._first = InputHook(model, functools.partial(self._see_first, args, optimizer))

    def _see_first(self, args, optimizer, model, arguments, keywords) -> None:
        if not self._wants_check or self._losses is None or self._losses.paused:
            return
        self._losses.paused = True
        precision = "autocast-fp16" if args.fp16 else "autocast-bf16" if args.bf16 else "as-is"
        self._check(model, keywords or arguments, precision=precision, optimizer=optimizer, clip=args.max_grad_norm or None,
                    scaler=getattr(optimizer, "scaler", None) or "none",
                    batch_size=_training_options.Batch(args.per_device_train_batch_size, args.gradient_accumulation_steps,
                                                       args.world_size))
        self._losses.paused = False

    def on_step_end(self, args, state, control, **_):
        if self._first is not None:
            self._first.remove()
            self._first = None
        self.monitor.step(loss=self._losses.take())

    def on_log(self, args, state, control, logs=None, **_):
        if logs is None or self.monitor is None or "loss" not in logs:
            return
        logs |= self._latest.values
        if state.log_history:
            state.log_history[-1] |= self._latest.values

    # -- Lightning ------------------------------------------------------------------------------

    def on_train_start(self, trainer, pl_module):
        # Lightning's default is the working directory, which gets no files unasked.
        root = trainer.log_dir if trainer.loggers else trainer.default_root_dir
        if root is not None and not trainer.loggers and os.path.abspath(root) == os.getcwd():
            root = None
        self._begin(pl_module, trainer.optimizers, getattr(trainer.precision_plugin, "scaler", None), root,
                    [_Logger(logger) for logger in trainer.loggers])

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if not self._wants_check:
            return
        optimizers = trainer.optimizers
        # Logs of a step belong to the loop, not to its copy that is judged.
        pl_module.log = pl_module.log_dict = lambda *_, **__: None
        try:
            self._check(pl_module, batch, loss=lambda module, given: module.training_step(given, batch_idx),
                        optimizer=optimizers[0] if optimizers else None, clip=trainer.gradient_clip_val,
                        precision="as-is" if trainer.precision.startswith(("32", "64")) else trainer.precision)
        finally:
            del pl_module.log, pl_module.log_dict

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        import torch

        accumulates = trainer.accumulate_grad_batches
        if accumulates > 1 and (batch_idx + 1) % accumulates and not trainer.is_last_batch:
            return
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if isinstance(loss, torch.Tensor):
            # Lightning divides it for accumulation.
            loss = loss.detach() * accumulates
        self.monitor.step(loss=loss)

    def on_exception(self, trainer, pl_module, exception):
        self._end()

    def state_dict(self):
        return self.monitor.state_dict() if self.monitor is not None else {}

    def load_state_dict(self, state):
        # Comes before training starts.
        self._restored = state


@functools.cache
def _derive(names: tuple[str, ...]) -> type:
    bases = [getattr(importlib.import_module(name), _LIBRARIES[name]) for name in names]
    return type("MpoptCallback", (_Callback, *bases), {"__doc__": _Callback.__doc__, "__module__": __name__})


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name.partition(".")[0]) is not None


def __getattr__(name: str):
    if name != "MpoptCallback":
        raise AttributeError(f"module 'mpopt.integrations' has no attribute '{name}'")
    names = tuple(filter(sys.modules.__contains__, _LIBRARIES)) or tuple(filter(_is_installed, _LIBRARIES))
    if not names:
        raise Error("MpoptCallback: neither transformers nor lightning is installed")
    return _derive(names)
