"""Monitors for loops that a library runs: Transformers, Lightning, Accelerate.

    trainer = transformers.Trainer(..., callbacks=[integrations.transformers_callback()])
    trainer = lightning.Trainer(..., callbacks=[integrations.lightning_callback()])
    with integrations.accelerate_monitor(accelerator, model, optimizer) as monitor: ...

Each takes the keywords of `Monitor`. A library is imported by its own function alone."""

import torch

from mpopt.monitor.hooks import in_backward
from mpopt.monitor.monitor import Monitor


def _plain_optimizer(optimizer):
    """The optimizer behind Accelerate's and Lightning's wrappers."""
    while not isinstance(optimizer, torch.optim.Optimizer) or hasattr(optimizer, "accelerator_state"):
        inner = getattr(optimizer, "optimizer", None)
        if inner is None:
            break
        optimizer = inner
    return optimizer


def accelerate_monitor(accelerator, model, optimizer=None, **options) -> Monitor:
    """A monitor of what `accelerator.prepare` gave, with the accelerator's own scaler."""
    optimizers = optimizer if isinstance(optimizer, tuple | list) else \
        [] if optimizer is None else [optimizer]
    return Monitor(model, [_plain_optimizer(one) for one in optimizers],
                   getattr(accelerator, "scaler", None), **options)


class _Losses:
    """The loss that a model's output has, as the last forward pass gave it."""

    def __init__(self, model):
        self.last = None
        self._handle = model.register_forward_hook(self._see)

    def _see(self, module, arguments, output):
        if in_backward() or not module.training:
            return
        loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        if isinstance(loss, torch.Tensor) and loss.numel() == 1:
            self.last = loss.detach()

    def take(self):
        loss, self.last = self.last, None
        return loss

    def remove(self) -> None:
        self._handle.remove()


def transformers_callback(**options):
    """A `transformers.TrainerCallback`, with the monitor in `monitor` once training begins. The
    loss is the one that the model returns; the scaler is Accelerate's."""
    import transformers

    class MonitorCallback(transformers.TrainerCallback):
        def __init__(self):
            self.monitor: Monitor | None = None
            self._losses = None

        def on_train_begin(self, args, state, control, model=None, optimizer=None, **_):
            self._losses = _Losses(model)
            self.monitor = Monitor(model, _plain_optimizer(optimizer),
                                   getattr(optimizer, "scaler", None), **options)

        def on_step_end(self, args, state, control, **_):
            self.monitor.step(loss=self._losses.take())

        def on_train_end(self, args, state, control, **_):
            self.monitor.close()
            self._losses.remove()

    return MonitorCallback()


def lightning_callback(**options):
    """A Lightning `Callback`, with the monitor in `monitor` once fitting begins. A step is over
    when an optimizer stepped; the loss is what `training_step` returns."""
    try:
        import lightning.pytorch as lightning
    except ImportError:
        import pytorch_lightning as lightning

    class MonitorCallback(lightning.Callback):
        def __init__(self):
            self.monitor: Monitor | None = None
            self._restored: dict = {}

        def on_train_start(self, trainer, pl_module):
            scaler = getattr(trainer.precision_plugin, "scaler", None)
            self.monitor = Monitor(pl_module, [_plain_optimizer(one) for one in trainer.optimizers],
                                   scaler, **options)
            if self._restored:
                self.monitor.load_state_dict(self._restored)

        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            accumulates = trainer.accumulate_grad_batches
            if accumulates > 1 and (batch_idx + 1) % accumulates and not trainer.is_last_batch:
                return
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            if isinstance(loss, torch.Tensor):
                # Lightning divides it for accumulation.
                loss = loss.detach() * accumulates
            self.monitor.step(loss=loss)

        def on_train_end(self, trainer, pl_module):
            self.monitor.close()

        def on_exception(self, trainer, pl_module, exception):
            if self.monitor is not None:
                self.monitor.close()

        def state_dict(self):
            return self.monitor.state_dict() if self.monitor is not None else {}

        def load_state_dict(self, state):
            # Comes before training starts.
            self._restored = state

    return MonitorCallback()
