"""Casts by hand: of models, of what goes into them, and of losses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.values import LOW, NAMES, Value

# Scripts that keep an FP32 copy of the weights by other means.
MASTER_WEIGHTS = re.compile(r"FP16_?Optimizer|master_(param|weight|copy)|MasterParams|deepspeed|network_to_half"
                            r"|convert_models_to_fp32|prepare_model_for_kbit_training|get_peft_model", re.I)


def list_trained(program: Program) -> Iterator[tuple[Value, Value, events.Event]]:
    """The optimizers with the modules whose parameters they train, and their calls."""
    seen = set()
    for event in program.calls_that_make(values.OPTIMIZER):
        if id(event.node) in seen:
            continue
        found = values.find(event.result.parts.parameters, values.PARAMETERS)
        if found is not None and found.parts is not None:
            seen.add(id(event.node))
            yield event.result, found.parts, event


def find_cast(program: Program, module: Value, dtypes=LOW) -> events.Event | None:
    """The cast that leaves a module in 16 bits, if none after it undoes that."""
    last = program.last_casts.get(module.identity) if module.identity else None
    return last if last is not None and last.dtype in dtypes else None


@rule
def trained_in_half(program: Program) -> Iterator[Report]:
    trained = list(list_trained(program))
    if not trained or MASTER_WEIGHTS.search(program.text):
        return
    for optimizer, module, _ in trained:
        cast = find_cast(program, module)
        name = optimizer.name.rpartition(".")[2] or "an optimizer"
        if cast is not None:
            yield Report(cast.node, f"the weights become {NAMES[cast.dtype]} here, and {name} trains them: "
                         "updates that are small beside a weight are lost", severity=severity_of(cast.dtype))
        elif module.dtype in LOW and module.origin is not None and module.has("loaded"):
            yield Report(module.origin, f"the weights are loaded in {NAMES[module.dtype]}, and {name} trains them: "
                         "updates that are small beside a weight are lost", severity=severity_of(module.dtype))


def severity_of(dtype: str) -> str:
    return "error" if dtype == "f16" else "warning"


@rule
def cast_in_autocast(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.CAST):
        region = event.region
        if event.subject.kind != values.TENSOR or event.dtype not in LOW or region is None \
                or region.enabled is False or event.subject.has("grad") or event.subject.has("loss"):
            continue
        # Inside a region that names another type, or none that is known, the cast may be meant.
        if region.dtype and region.dtype != event.dtype:
            yield Report(event.node, f"a cast to {NAMES[event.dtype]} in a region that autocasts to "
                         f"{NAMES[region.dtype]}")
        elif region.dtype:
            yield Report(event.node, f"a cast to {NAMES[event.dtype]} by hand in a region where autocast places the "
                         "casts: what it keeps in FP32 starts from a rounded value")


@rule
def loss_in_half(program: Program) -> Iterator[Report]:
    for event in program.of_kind(events.CAST, events.LOSS):
        if event.kind == events.CAST:
            if event.dtype in LOW and event.subject.has("loss"):
                method = event.node.func if isinstance(event.node, ast.Call) else None
                change = None
                if isinstance(method, ast.Attribute) and method.attr in ("half", "bfloat16"):
                    change = fixes.rename_method(program.script, event.node, "float")
                yield Report(event.node, f"the loss is rounded to {NAMES[event.dtype]}", change)
        elif event.region is None and not event.in_unknown_context and event.arguments:
            dtype = event.arguments[0].dtype
            if dtype in LOW and event.callee.kind in (values.NAME, values.MODULE):
                yield Report(event.node, f"the loss is computed of {NAMES[dtype]} values outside autocast, which "
                             "would have kept it in FP32")


@rule
def half_default_dtype(program: Program) -> Iterator[Report]:
    if not program.of_kind(events.BACKWARD, events.MANAGED_BACKWARD):
        return
    for event in program.calls_of("set_default_dtype", "set_default_tensor_type"):
        if event.callee.name in ("torch.set_default_dtype", "torch.set_default_tensor_type") and event.arguments:
            dtype = event.arguments[0].dtype
            if dtype in LOW:
                yield Report(event.node, f"all tensors and weights made from here on are {NAMES[dtype]}, those of "
                             "losses, norms and the optimizer's state too")
