"""Gradients that are compressed for the sum over workers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mpopt.lint import values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.values import Value

HOOKS = "torch.distributed.algorithms.ddp_comm_hooks."
CASTS = {"fp16_compress_hook": "FP16", "bf16_compress_hook": "BF16"}
WRAPPERS = {"fp16_compress_wrapper": "FP16", "bf16_compress_wrapper": "BF16"}

SCALER = re.compile("grad_?scaler", re.I)


def last_name(value: Value, names: dict[str, str]) -> str:
    """The name of a hook of PyTorch's, by the module that it comes from; else empty."""
    prefix, _, last = value.name.rpartition(".")
    return last if last in names and (prefix + ".").startswith(HOOKS) else ""


def hook_of(event: Event) -> Value:
    given = event.arguments[1:2]
    return given[0] if given else event.keywords.get("hook", values.NOTHING)


@rule
def compressed_gradients(program: Program) -> Iterator[Report]:
    # A helper that prepares a model shows neither the backward pass nor the scaler of the script that calls it.
    is_unscaled = bool(program.list_unscaled_backwards()) and not program.mentions(SCALER)
    for event in program.calls_of("register_comm_hook"):
        name = last_name(hook_of(event), CASTS)
        if name == "fp16_compress_hook" and is_unscaled:
            yield Report(event.node, "gradients are cast to FP16 for the sum without a loss scale: values below 2^-25 become 0 "
                         "in each step, and nothing feeds the error back")
        elif name == "bf16_compress_hook":
            yield Report(event.node, "gradients are rounded to BF16 for the sum, by up to 0.4 % of each element, and nothing feeds "
                         "the error back", severity="note")
    for event in program.calls_of(*WRAPPERS):
        if event.callee.name.startswith(HOOKS):
            kind = WRAPPERS[event.callee.name.rpartition(".")[2]]
            yield Report(event.node, f"the wrapper casts to {kind} behind the hook: an error that the hook feeds back lacks that "
                         "of the cast", severity="note")
    for event in program.calls_of("PowerSGDState"):
        if event.callee.name.startswith(HOOKS) and event.keywords.get("use_error_feedback", values.NOTHING).constant is False:
            yield Report(event.node, "PowerSGD without error feedback: the residual of the low rank is lost in each step")
