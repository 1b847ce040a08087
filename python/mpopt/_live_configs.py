"""The training configuration that live objects of training libraries hold, as `--train-config` reads it
from the library's own files (docs/train-config.md)."""

import dataclasses
import json
from collections.abc import Mapping


@dataclasses.dataclass
class Live:
    """`text` of a configuration; the optimizer and the scaler that the object holds, if any."""

    text: str
    optimizer: object = None
    scaler: object = None


def read(config) -> Live | None:
    """None if `config` is no object of a library that is known here. By what it has, since no
    library is imported for it."""
    arguments = getattr(config, "args", config)
    if hasattr(arguments, "to_json_string"):  # transformers.TrainingArguments, or the Trainer
        return Live(arguments.to_json_string(), getattr(config, "optimizer", None))
    if _has(config, "mixed_precision", "gradient_accumulation_steps", "num_processes", "distributed_type"):
        return _read_accelerator(config)
    if _has(config, "accumulate_grad_batches", "precision", "strategy", "gradient_clip_val"):
        return _read_lightning(config)
    return None


def _has(config, *names: str) -> bool:
    return not isinstance(config, Mapping) and all(hasattr(config, name) for name in names)


def _read_accelerator(accelerator) -> Live:
    """`accelerate.Accelerator`. Under DeepSpeed its configuration says all."""
    plugin = getattr(accelerator.state, "deepspeed_plugin", None)
    if plugin is not None and getattr(plugin, "deepspeed_config", None):
        return Live(json.dumps(dict(plugin.deepspeed_config), default=str))
    kind = accelerator.distributed_type
    text = {"compute_environment": "LOCAL_MACHINE", "distributed_type": getattr(kind, "value", str(kind)),
            "mixed_precision": str(accelerator.mixed_precision), "num_processes": accelerator.num_processes,
            "gradient_accumulation_steps": accelerator.gradient_accumulation_steps}
    plugin = getattr(accelerator.state, "fsdp_plugin", None)
    if plugin is not None:
        strategy = getattr(plugin, "sharding_strategy", None)
        text["fsdp_config"] = {"fsdp_sharding_strategy": getattr(strategy, "name", str(strategy)),
                               "fsdp_activation_checkpointing": bool(getattr(plugin, "activation_checkpointing", False))}
    return Live(json.dumps(text), scaler=getattr(accelerator, "scaler", None))


def _read_lightning(trainer) -> Live:
    """`lightning.Trainer`, with the optimizers of a fit that has begun."""
    optimizers = getattr(trainer, "optimizers", None) or [None]
    scaler = getattr(getattr(trainer, "precision_plugin", None), "scaler", None)
    strategy = getattr(trainer.strategy, "strategy_name", "")
    config = getattr(trainer.strategy, "config", None)
    if strategy.startswith("deepspeed") and isinstance(config, Mapping):
        return Live(json.dumps(dict(config), default=str), optimizers[0])
    text = {"precision": str(trainer.precision), "accumulate_grad_batches": trainer.accumulate_grad_batches,
            "devices": getattr(trainer, "num_devices", 1), "num_nodes": getattr(trainer, "num_nodes", 1)}
    if trainer.gradient_clip_val is not None:
        text["gradient_clip_val"] = trainer.gradient_clip_val
    if strategy.startswith(("ddp", "fsdp")):
        text["strategy"] = strategy
    return Live(json.dumps({"trainer": text}), optimizers[0], scaler)
