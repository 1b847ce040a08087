"""Options of a training step from what a training script holds: its optimizer, its scaler,
its arguments."""

import dataclasses
import json
import os
import pathlib
from collections.abc import Mapping

from mpopt import _command, _live_configs, _precisions
from mpopt._command import Error

#: Settings of a group of parameters that the analysis uses.
_SETTINGS = ("lr", "eps", "betas", "momentum", "weight_decay")


@dataclasses.dataclass(frozen=True)
class Batch:
    """Samples of a pass, passes of a step, and workers."""

    micro: int | None = None
    accumulate: int = 1
    world: int = 1


def _join(head: str, pairs: Mapping) -> str:
    return ",".join([head, *(f"{key}={value}" for key, value in pairs.items())])


def plain_optimizer(optimizer):
    """The optimizer behind Accelerate's, Lightning's and DeepSpeed's wrappers."""
    while not hasattr(optimizer, "defaults") or hasattr(optimizer, "accelerator_state"):
        inner = getattr(optimizer, "optimizer", None)
        if inner is None:
            break
        optimizer = inner
    return optimizer


def optimizer_text(optimizer) -> str:
    """`adamw,lr=0.001,...` of a `torch.optim.Optimizer`: its class, and the settings of the
    group with the most parameters."""
    if isinstance(optimizer, str):
        return optimizer.replace(":", ",")
    optimizer = plain_optimizer(optimizer)
    if not hasattr(optimizer, "param_groups"):
        raise TypeError(f"a torch.optim.Optimizer or a text, not {type(optimizer).__name__}")
    group = max(optimizer.param_groups,
                key=lambda each: sum(one.numel() for one in each["params"]))
    pairs = {}
    for key in _SETTINGS:
        value = group.get(key)
        if key == "betas" and isinstance(value, tuple | list):
            pairs[key] = ",".join(_command.number(one) for one in value[:2])
        elif value is not None and not isinstance(value, tuple | list | bool):
            pairs[key] = _command.number(value)
    return _join(type(optimizer).__name__, pairs)


def scaler_text(scaler) -> str:
    """`dynamic,initial=...` of a `torch.amp.GradScaler` as it is now."""
    if scaler is False:
        return "none"
    if isinstance(scaler, int | float) and not isinstance(scaler, bool):
        return _command.number(scaler)
    if isinstance(scaler, str):
        return scaler.replace(":", ",")
    if not hasattr(scaler, "get_growth_factor"):
        raise TypeError(f"a torch.amp.GradScaler, a number or a text, not {type(scaler).__name__}")
    # Without a GPU one for CUDA is off, and is what the training will have.
    initial = scaler.get_scale() if scaler.is_enabled() else getattr(scaler, "_init_scale", None)
    if initial is None:
        return "dynamic" if getattr(scaler, "_device", "cuda") == "cuda" else "none"
    return _join("dynamic", {"initial": _command.number(initial),
                             "growth": _command.number(scaler.get_growth_factor()),
                             "backoff": _command.number(scaler.get_backoff_factor()),
                             "interval": int(scaler.get_growth_interval())})


def batch_text(batch) -> str:
    if isinstance(batch, Mapping):
        batch = Batch(**batch)
    if isinstance(batch, str):
        return batch.replace(":", ",")
    if isinstance(batch, Batch):
        shares = {"accumulate": int(batch.accumulate), "world": int(batch.world)}
        if batch.micro is None:
            return ",".join(f"{key}={value}" for key, value in shares.items())
        return _join(str(int(batch.micro)), shares)
    return str(int(batch))


def reduce_text(reduce) -> str:
    """`f16,after`, or a dtype of PyTorch."""
    text = str(reduce).removeprefix("torch.").replace(":", ",")
    names = {"float32": "f32", "fp32": "f32", "float16": "f16", "fp16": "f16", "bfloat16": "bf16"}
    first, *others = text.split(",")
    return ",".join([names.get(first, first), *others])


def config_file(config, folder: pathlib.Path) -> str:
    """A file of `--train-config`: a path, a mapping as the framework's file has it, or what was
    read of a live object."""
    if isinstance(config, str | os.PathLike):
        if pathlib.Path(config).suffix in (".bin", ".pt"):
            raise Error(f"config: '{os.fspath(config)}' is a pickle: pass the TrainingArguments in it "
                        "(torch.load(..., weights_only=False) of a file that you trust)")
        return os.fspath(config)
    if isinstance(config, _live_configs.Live):
        text = config.text
    elif isinstance(config, Mapping):
        text = json.dumps(dict(config), default=str)
    else:
        raise TypeError(f"a path, a mapping, TrainingArguments, an Accelerator or a trainer, not {type(config).__name__}")
    file = folder / _command.OBJECT_FILE
    file.write_text(text, encoding="utf-8")
    return str(file)


def options(folder: pathlib.Path, *, loss, optimizer, scaler, clip, batch_size, reduce, loss_value,
            config, memory: bool | str | float) -> list[str]:
    """The command line's. Values are those of `check_training`."""
    words = ["--train"]
    if live := _live_configs.read(config):
        config = live
        optimizer = live.optimizer if optimizer is None else optimizer
        scaler = live.scaler if scaler is None else scaler
    forms = {"optimizer": (optimizer, optimizer_text), "scaler": (scaler, scaler_text),
             "batch": (batch_size, batch_text), "reduce": (reduce, reduce_text),
             "clip": (clip, _command.number), "loss-value": (loss_value, _command.number),
             "train-config": (config, lambda value: config_file(value, folder))}
    for option, (value, form) in forms.items():
        if value is None:
            continue
        with _command.argument(_command.keyword_of(option)):
            words += [f"--{option}", form(value)]
    for term in [loss] if isinstance(loss, str) else loss or ():
        words += ["--loss", _command.text("loss", term)]
    if memory is True:
        return [*words, "--memory"]
    return [*words, f"--memory={memory}"] if memory else words


def precision_of(precision, config):
    """The precision to ask for; that of the configuration if there is one and nothing else."""
    is_open = config is not None and _precisions.find(precision) == "auto"
    return _command.DECIDED_BY_CONFIG if is_open else precision
