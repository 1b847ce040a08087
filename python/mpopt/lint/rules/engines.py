"""Engines that own the loss scale: Accelerate and DeepSpeed, and what passes by them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.lightning import FP16_MIXED, judge_hooks, list_precisions
from mpopt.lint.rules.paths import is_used
from mpopt.lint.rules.settings import entry, is_true, list_deepspeed


PREPARED, UNSCALED, ACCUMULATED = map(re.compile, (r"\.prepare\(", r"\.unscale_gradients\(", r"\.accumulate\("))


@rule
def accelerate_bypassed(program: Program) -> Iterator[Report]:
    managed = program.of_kind(events.MANAGED_BACKWARD)
    made = [event for event in program.calls_that_make(values.MANAGER) if event.result.name == "accelerate.Accelerator"]
    if not made:
        return
    precision = made[0].keywords.get("mixed_precision")
    unscaled = precision is not None and precision.constant in ("no", "bf16")
    name = next((path for path, _, value, _ in program.assignments if value is made[0].result), "accelerator")
    for event in program.calls_of("step", "update"):
        if event.callee.kind == values.METHOD and event.callee.parts.path == f"{name}.scaler":
            yield Report(event.node, f"the prepared optimizer calls {name}'s scaler in its step(): a call by hand finds no gradients "
                         "that were tested for Inf, and stops: optimizer.step()")
    if not managed and program.mentions(PREPARED) and not (unscaled and "gradient_accumulation_steps" not in made[0].keywords):
        for event in filter(functools.partial(precedes_prepared, program), program.list_unscaled_backwards()):
            yield Report(event.node, f"backward() passes by {name}, which scales the loss and divides it by the "
                         f"passes of a step: {name}.backward(loss)",
                         fixes.call_with_loss(program.script, event.node, f"{name}.backward"))
    if managed and not unscaled and not program.mentions(UNSCALED):
        for event in program.of_kind(events.CLIP):
            if event.callee.kind == values.UNKNOWN:
                yield Report(event.node, f"the gradients that are clipped carry the loss scale under FP16: "
                             f"{name}.clip_grad_norm_", fixes.managed_clip(program.script, event.node, name))
    if managed and not unscaled:
        yield from judge_optimizers(program, name)
    for event in managed:
        if event.subject.has("scaled") and isinstance(event.subject.parts, values.Value) and is_used(event.subject.parts):
            yield Report(event.node, f"a scaled loss goes to {name}, which scales it again and divides by its own scale only")
    if program.mentions(ACCUMULATED) and (passes := made[0].keywords.get("gradient_accumulation_steps")) is not None:
        text = keyword_text(program, made[0].node, "gradient_accumulation_steps")
        if passes.constant != 1:
            yield from judge_division(program, managed, text, f"{name}.backward")


def precedes_prepared(program: Program, backward: Event) -> bool:
    """True if an optimizer that an Accelerator has prepared steps in the function of a backward pass. Another training
    of the file need not be the Accelerator's."""
    return any(step.function is backward.function and step.subject.has("managed") for step in program.of_kind(events.STEP))


def judge_optimizers(program: Program, name: str) -> Iterator[Report]:
    """Steps of optimizers that the Accelerator has not prepared."""
    prepared = [value for event in program.calls_of("prepare", "prepare_optimizer") for value in event.arguments]
    if not prepared or any(value.kind == values.UNKNOWN and not value.path for value in prepared):
        return
    known = {value.identity for whole in prepared for value in (whole, *values.find_all(whole, values.OPTIMIZER))}
    for event in program.of_kind(events.STEP):
        if event.subject.kind == values.OPTIMIZER and event.subject.identity not in known and not event.subject.has("managed"):
            yield Report(event.node, f"this optimizer is not prepared: under FP16 its step takes gradients that carry the "
                         f"loss scale, Inf too: {name}.prepare(optimizer)")


def keyword_text(program: Program, call: ast.AST, name: str) -> str:
    return next((program.script.code(keyword.value) for keyword in getattr(call, "keywords", ()) if keyword.arg == name), "")


def judge_division(program: Program, backwards: list[Event], passes: str, name: str) -> Iterator[Report]:
    """Losses that are divided by the passes of a step before an engine divides them again."""
    for event in backwards:
        if passes and isinstance(event.node, ast.Call) and event.node.args \
                and is_divided(program, event, event.node.args[0], passes):
            yield Report(event.node, f"the loss is divided by {passes}, and {name} divides it by the passes of a "
                         "step again: gradients that many times smaller, which FP16 flushes sooner")


# The names that engines give the passes of a step.
PASSES = re.compile(r"\.gradient_accumulation_steps(\(\))?$")


def last_name(text: str) -> str:
    """The attribute of an option: `grad_accum` of `self.cfg.grad_accum`."""
    return text.rpartition(".")[2] if re.match(r"[A-Za-z_][\w.]*$", text) else text


def is_divided(program: Program, event: Event, loss: ast.expr, passes: str) -> bool:
    """True if a loss, or the value that its name got last in the same function, is a quotient by the passes."""
    def divides(node) -> bool:
        right = getattr(node, "value", None) if isinstance(node, ast.AugAssign) else getattr(node, "right", None)
        if right is None or not isinstance(getattr(node, "op", None), ast.Div):
            return False
        divisor = program.script.code(right)
        return last_name(divisor) == last_name(passes) or bool(PASSES.search(divisor))

    if isinstance(loss, ast.BinOp):
        return divides(loss)
    if not isinstance(loss, ast.Name) or event.function is None:
        return False
    before = [statement for path, _, _, statement in program.assignments if path == loss.id
              and event.function.lineno <= statement.lineno < event.node.lineno
              and program.script.owner(statement) is program.script.owner(event.node)]
    if not before:
        return False
    last = max(before, key=lambda statement: statement.lineno)
    return divides(last) or divides(getattr(last, "value", None))


# --- DeepSpeed and Lightning ---


@rule
def engine_bypassed(program: Program) -> Iterator[Report]:
    yield from judge_hooks(program)
    yield from judge_fabric(program)
    made = [event for event in program.calls_of("initialize") if event.callee.name == "deepspeed.initialize"]
    if not made:
        return
    config = find_config(program, made[0])
    managed = [event for event in program.of_kind(events.MANAGED_BACKWARD) if event.callee.has("engine")]
    is_fp16 = is_true(entry(config, "fp16", "enabled"))
    is_low = is_fp16 or is_true(entry(config, "bf16", "enabled"))
    if not managed and is_fp16:
        for event in program.list_unscaled_backwards():
            yield Report(event.node, "backward() passes by the DeepSpeed engine, which scales the loss and adds the "
                         "gradients in its own buffers: engine.backward(loss)")
    engines = {event.result.parts[0].identity for event in made if event.result.kind == values.SEQUENCE}
    for event in program.of_kind(events.CLIP) if managed else ():
        clipped = event.subject.parts if event.subject.kind == values.PARAMETERS else None
        if event.callee.kind != values.MODULE and clipped is not None and clipped.identity in engines:
            yield Report(event.node, "DeepSpeed keeps the gradients that its step takes in buffers of its own, times the loss "
                         "scale: this clips none of them. gradient_clipping in its configuration",
                         severity="" if is_low else "note")
    passes = entry(config, "gradient_accumulation_steps")
    if passes is not None and passes.constant not in (None, 1):
        yield from judge_division(program, managed, str(passes.constant), "engine.backward")


def judge_fabric(program: Program) -> Iterator[Report]:
    """Clipping that passes by Fabric's loss scale."""
    scaling = [event for event, precision in list_precisions(program)
               if event.callee.name == "lightning.fabric.Fabric" and precision in FP16_MIXED]
    if not scaling or not any(event.callee.kind == values.MANAGER for event in program.of_kind(events.MANAGED_BACKWARD)):
        return
    for event in program.of_kind(events.CLIP):
        if event.callee.kind == values.UNKNOWN:
            yield Report(event.node, "the gradients that are clipped carry Fabric's loss scale: fabric.clip_gradients")


def find_config(program: Program, making: Event) -> values.Value:
    """The configuration that the script shows; nothing is known of a file."""
    given = next((making.keywords[key] for key in ("config", "config_params") if key in making.keywords), values.NOTHING)
    shown = list_deepspeed(program)
    return given if given.kind == values.MAPPING else shown[0] if len(shown) == 1 else values.NOTHING
