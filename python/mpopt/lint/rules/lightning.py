"""Lightning: its trainer's precision, and the hooks in which gradients are scaled."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.names import PRECISION_WORDS
from mpopt.lint.rules import Report, rule
from mpopt.lint.scopes import Class
from mpopt.lint.values import Value

TRAINERS = {"lightning.pytorch.Trainer", "lightning.fabric.Fabric"}
FP16_MIXED, FP16_TRUE = {"16-mixed", "16"}, {"16-true"}
MIXED = FP16_MIXED | {"bf16-mixed", "bf16"}
HOOKED = re.compile(r"(^|\.)(LightningModule|Callback|LightningLite)$")


def list_precisions(program: Program) -> list[tuple[Event, str | None]]:
    """The trainers that are made with their precision, `32-true` if they have none; None if it is not known."""
    found: list[tuple[Event, str | None]] = []
    for event in program.calls_of("Trainer", "Fabric"):
        if event.callee.name in TRAINERS:
            given = event.keywords.get("precision")
            is_known = given is not None and isinstance(given.constant, (str, int)) or given is None and "**" not in event.keywords
            found.append((event, ("32-true" if given is None else str(given.constant)) if is_known else None))
    return found


def may_scale(program: Program) -> bool | None:
    """True if a trainer of the program scales losses: None if the program does not show one."""
    precisions = {precision for _, precision in list_precisions(program)}
    if precisions & FP16_MIXED:
        return True
    return None if not precisions or None in precisions else False


def list_low_trainers(program: Program) -> Iterator[tuple[Event, values.Choice]]:
    """The trainers that keep the weights in 16 bits and train them, with the type."""
    fitted = {event.callee.parts.identity for event in program.calls_of("fit") if event.callee.kind == values.METHOD}
    is_fabric = bool(program.of_kind(events.MANAGED_BACKWARD))
    for event, precision in list_precisions(program):
        trains = event.result.identity in fitted if event.callee.name.endswith("Trainer") else is_fabric
        given = event.keywords.get("precision", values.NOTHING)
        is_option = given.kind == values.UNKNOWN and isinstance(given.parts, tuple)
        for word, when in [(choice.dtype, choice.when) for choice in given.parts] if is_option else [(precision, "")]:
            if word in PRECISION_WORDS and trains:
                yield event, values.Choice(PRECISION_WORDS[word], when)


@rule
def lightning_conflict(program: Program) -> Iterator[Report]:
    mixed = False
    for event, precision in list_precisions(program):
        mixed = mixed or precision in MIXED
        if precision in FP16_MIXED and event.keywords.get("accelerator", values.NOTHING).constant == "cpu":
            yield Report(event.node, "precision 16-mixed is for GPUs: on the CPU it is bf16-mixed")
        plugins = event.keywords.get("plugins")
        if "precision" in event.keywords and precision is not None and plugins is not None and has_precision_plugin(plugins):
            yield Report(event.node, "both precision and a precision plugin are given: Lightning refuses that")
    for cast in list_cast_modules(program):
        yield Report(cast.node, "the weights become FP16, and the trainer's loss scaler refuses gradients in FP16: leave the cast "
                     "out, mixed precision casts each op's operands")
    for event in program.calls_of("GradScaler") if mixed else ():
        name = event.callee.name
        own = name.endswith("amp.GradScaler") and name.startswith("torch.") and event.result.parts is not False
        if own:
            yield Report(event.node, "the trainer's mixed precision has a loss scaler already, which does not know "
                         "of this one")


def list_cast_modules(program: Program) -> Iterator[Event]:
    """The casts of modules to FP16 in front of a training under FP16 mixed precision in the same function."""
    trainers = {event.result.identity for event, precision in list_precisions(program) if precision in FP16_MIXED}
    for fit in program.calls_of("fit"):
        module = fit.arguments[0] if fit.arguments else fit.keywords.get("model")
        if fit.callee.kind != values.METHOD or fit.callee.parts.identity not in trainers or module is None or not module.identity:
            continue
        casts = [cast for cast in program.casts.get(module.identity, ()) if cast.function is fit.function
                 and cast.node.lineno < fit.node.lineno]
        if casts and casts[-1].dtype == "f16":
            yield casts[-1]


def has_precision_plugin(value: Value) -> bool:
    told = value.parts if value.kind == values.SEQUENCE else [value]
    return any(re.search(r"(MixedPrecision|HalfPrecision|Precision)(Plugin)?$", part.name) for part in told)


# --- Hooks ---


def list_hooks(program: Program, *names: str) -> dict[ast.AST, Class]:
    """The hooks of these names, by their functions; all methods without a name."""
    return {method.node: made for made in program.classes if any(HOOKED.search(base) for base in made.library_bases)
            for name, method in made.methods.items() if not names or name in names}


def judge_hooks(program: Program) -> Iterator[Report]:
    """Steps that bypass Lightning's loss scaler; part of the rule engine_bypassed."""
    scales = may_scale(program)
    if scales is False:
        return
    severity, under = ("", "") if scales else ("note", ", under 16-mixed")
    early = list_hooks(program, "on_after_backward")
    for event in program.of_kind(events.CLIP, events.GRAD_READ):
        if event.function in early:
            what = "the gradients that are clipped here still carry" if event.kind == events.CLIP \
                else "the gradient that is read here still carries"
            yield Report(event.node, f"{what} the loss scale{under}: on_before_optimizer_step comes behind unscaling",
                         severity=severity)
    steps = list_hooks(program, "training_step")
    for event in program.list_unscaled_backwards():
        if event.function in steps and ".optimizers(" in program.script.code(event.function):
            yield Report(event.node, f"backward() passes by the trainer, whose step divides the gradients by its loss "
                         f"scale{under}: self.manual_backward(loss)", fixes.call_with_loss(
                             program.script, event.node, "self.manual_backward"), severity)
