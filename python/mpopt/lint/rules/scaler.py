"""The loss scaler: what its methods need, and in which order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.lightning import list_hooks, may_scale
from mpopt.lint.rules.paths import find_next, find_rare_update, gather_paths, is_used, judge_paths, list_paths, takes_scaler

def scaled_reads(kind: str):
    """Judges events that read gradients: wrong while these are scaled."""
    def judge(path):
        scaled, steps = None, find_next(path, events.SCALER_STEP)
        for index, event in enumerate(path):
            if event.kind == events.BACKWARD:
                scaled = event.scaler if is_used(event.scaler) else None
            elif event.kind in (events.UNSCALE, events.SCALER_STEP, events.UPDATE):
                scaled = None if event.kind != events.UNSCALE else "unscaled"
            elif event.kind == events.OPAQUE and takes_scaler(event):
                scaled = None
            elif event.kind == kind and scaled is not None:
                yield event, scaled != "unscaled", steps[index]
    return judge


def unscale_first(program: Program, event: Event, step: Event | None):
    """The fix: `scaler.unscale_(optimizer)` before the statement of `event`."""
    if step is None or step.function is not event.function or not isinstance(step.node, ast.Call) or not step.node.args:
        return None
    scaler = program.script.code(step.node.func.value)
    optimizer = program.script.code(step.node.args[0])
    return fixes.insert_before(program.script, event.statement, f"{scaler}.unscale_({optimizer})")


@rule
def clip_without_unscale(program: Program) -> Iterator[Report]:
    for event, step in judge_paths(program, scaled_reads(events.CLIP)):
        yield Report(event.node, "the gradients that are clipped still carry the loss scale: call "
                     "scaler.unscale_(optimizer) first", unscale_first(program, event, step))


@rule
def gradient_read_without_unscale(program: Program) -> Iterator[Report]:
    for event, _ in judge_paths(program, scaled_reads(events.GRAD_READ)):
        yield Report(event.node, "the size of a gradient is read while it still carries the loss scale: call "
                     "scaler.unscale_(optimizer) first")


STATES = re.compile("_per_optimizer_states")


@rule
def unscale_twice(program: Program) -> Iterator[Report]:
    if program.mentions(STATES):
        # The script asks the scaler whether it has unscaled already.
        return
    for path in list_paths(program):
        done: dict = {}
        for event in path:
            if event.kind in (events.UPDATE, events.OPAQUE):
                done.clear()
            elif event.kind == events.UNSCALE and is_used(event.scaler):
                key = event.scaler.identity, event.subject.identity
                before = done.setdefault(key, event)
                if before.node is not event.node:
                    yield Report(event.node, "the second unscale_() of this optimizer since the last update(): "
                                 "it raises a RuntimeError")
    for event in program.of_kind(events.UNSCALE):
        if is_used(event.scaler) and find_rare_update(program, event):
            yield Report(event.node, "unscale_() runs in each pass, and update() in every nth: the second unscale_() "
                         "raises a RuntimeError, and passes are added at two scales")


@rule
def step_beside_scaler(program: Program) -> Iterator[Report]:
    def judge(path):
        scaled, stepped = None, {event.subject.identity for event in path if event.kind == events.SCALER_STEP}
        unscaled = None
        for event in path:
            if event.kind == events.BACKWARD:
                scaled, unscaled = event if is_used(event.scaler) else None, None
            elif event.kind == events.UNSCALE and is_used(event.scaler):
                scaled, unscaled = None, event
            elif event.kind in (events.UNSCALE, events.MANAGED_BACKWARD) \
                    or event.kind == events.OPAQUE and takes_scaler(event):
                scaled = None
            elif event.kind == events.STEP and scaled is not None:
                yield event, event.subject.identity not in stepped and not is_without_scaler(program, event), scaled
            elif event.kind == events.STEP and unscaled is not None and event.tests == unscaled.tests \
                    and event.subject.identity == unscaled.subject.identity:
                yield event, event.subject.identity not in stepped, unscaled
            elif event.kind == events.SCALER_STEP:
                scaled = None
    for event, scaled in judge_paths(program, judge):
        if scaled.kind == events.UNSCALE:
            yield Report(event.node, "the step is taken even if unscale_() found Inf or NaN: scaler.step(optimizer)",
                         step_by_scaler(program, event, scaled.node.func))
            continue
        change = None
        call = scaled.node.func.value if isinstance(scaled.node.func, ast.Attribute) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and program.of_kind(events.UPDATE) \
                and scaled.function is event.function:
            change = step_by_scaler(program, event, call.func)
        yield Report(event.node, "the step is taken with gradients that carry the loss scale, and taken even if they "
                     "are Inf: scaler.step(optimizer)", change)


def is_without_scaler(program: Program, event: Event) -> bool:
    """True if an event is in the branch of those that have no scaler, under whatever name."""
    for test, outcome in event.tests:
        text, outcome = events.normalize(program.script, test, outcome)
        is_none = re.fullmatch(r"[\w.]*scaler[\w.]* is (not )?None", text)
        if is_none and outcome != bool(is_none[1]) or not outcome and re.fullmatch(r"[\w.]*scaler[\w.]*", text):
            return True
    return False


def step_by_scaler(program: Program, event: Event, method: ast.expr) -> fixes.Change | None:
    """The fix: `scaler.step(optimizer)` for `optimizer.step()`; `method` is one of the scaler."""
    if not isinstance(method, ast.Attribute) or event.node.args or event.node.keywords:
        return None
    name, optimizer = map(program.script.code, (method.value, event.node.func.value))
    return fixes.replace_expression(program.script, event.node, f"{name}.step({optimizer})")


@rule
def scaler_never_updated(program: Program) -> Iterator[Report]:
    steps = [event for event in program.of_kind(events.SCALER_STEP) if is_used(event.scaler)]
    if not steps or program.of_kind(events.UPDATE) or any("scaler" in word for script in program.scripts for word in UPDATED.findall(script.running)):
        return
    if not program.of_kind(*events.BACKWARDS) and not program.calls_that_make(values.SCALER):
        return  # A helper that gets the scaler leaves the update to its caller.
    if any(takes_scaler(event) for event in program.calls if event.callee.kind not in (values.FUNCTION, values.CLASS)
           and not (event.callee.kind == values.METHOD and event.callee.parts.kind in (values.OPTIMIZER, values.SCALER))):
        return
    first = steps[0]
    change = None
    if isinstance(first.node, ast.Call) and isinstance(first.node.func, ast.Attribute):
        change = fixes.insert_after(program.script, first.statement,
                                    f"{program.script.code(first.node.func.value)}.update()")
    yield Report(first.node, "scaler.update() is never called: the scale does not follow, and the next step() raises "
                 "a RuntimeError", change)


@rule
def update_without_step(program: Program) -> Iterator[Report]:
    reported: dict = {}
    stepped = False
    for path in list_paths(program):
        ready, scaled = False, False
        for event in path:
            if event.kind == events.BACKWARD and is_used(event.scaler):
                scaled = True
            elif event.kind in (events.SCALER_STEP, events.UNSCALE) \
                    or event.kind == events.OPAQUE and takes_scaler(event):
                ready = True
                stepped = stepped or event.kind == events.SCALER_STEP
            elif event.kind == events.UPDATE:
                # With a new scale it sets that, and asks for no check.
                if scaled and not ready and is_used(event.scaler) and not event.arguments and not event.keywords:
                    reported.setdefault(id(event.node), event)
                ready = False
    for event in reported.values() if stepped else ():
        yield Report(event.node, "update() also runs in passes in which there is no step(): it raises an "
                     "AssertionError there, since no gradient was checked for Inf")


SCALED = re.compile(r"\.scale\(|\.scale_loss\(|\bscaler\s*\(")


@rule
def scaled_step_without_scale(program: Program) -> Iterator[Report]:
    if not program.of_kind(events.SCALER_STEP) or program.mentions(SCALED):
        return
    for path in list_paths(program):
        last = None
        for event in path:
            if event.kind == events.BACKWARD:
                last = event
            elif event.kind in (events.OPAQUE, events.MANAGED_BACKWARD):
                last = None
            elif event.kind == events.SCALER_STEP and last is not None and is_used(event.scaler):
                yield Report(last.node, "the loss is not scaled, and scaler.step() divides the gradients by the scale: "
                             "scaler.scale(loss).backward()", fixes.scale_loss(program.script, last, event))


@rule
def scaler_with_bf16(program: Program) -> Iterator[Report]:
    regions = [event.subject.parts for event in program.of_kind(events.CONTEXT)
               if not event.subject.parts.null and event.subject.parts.enabled is not False]
    if not regions or any(region.dtype != "bf16" for region in regions) or not program.of_kind(events.SCALER_STEP):
        return
    for event in program.calls_that_make(values.SCALER):
        if event.result.parts is True:
            yield Report(event.node, "a loss scaler beside autocast to BF16, which has the range of FP32: gradients "
                         "do not underflow, and the scaler only skips steps")


# Words of scripts in which something else scales the loss.
MANAGERS = ("scaler", "accelerat", "deepspeed", "apex", "fabric", "lightning")


def choose_fp16(region: values.Region | None) -> values.Choice | None:
    """That a region is in FP16, or may be by a condition of the script."""
    if region is None or not region.enabled and not region.choices:
        return None
    choices = region.choices or (values.Choice(region.dtype),)
    return next((choice for choice in choices if choice.dtype == "f16"), None)


@rule
def fp16_without_scaler(program: Program) -> Iterator[Report]:
    yield from judge_training_steps(program)
    files = {program.script, *(program.script.owner(event.node) for event in program.of_kind(events.BACKWARD))}
    words = [word for word in MANAGERS if word != "lightning" or may_scale(program) is not False]
    if not program.of_kind(events.BACKWARD) or any(word in file.lower for word in words for file in files):
        return
    if not any(choose_fp16(event.region) for event in program.of_kind(events.FORWARD, events.LOSS)):
        return
    for backward, region in list_backward_regions(program):
        choice = choose_fp16(region)
        # A gradient that is given is one of a test or a function: there is no loss to scale.
        if choice is not None and backward.scaler is None and not backward.arguments:
            when = f", {choice.when}" if choice.when else ""
            yield Report(region.node, f"autocast to FP16{when}, and no loss scaler in the file: gradients below "
                         "6e-8 become 0")


def judge_training_steps(program: Program) -> Iterator[Report]:
    """Regions in FP16 by hand, in steps of a Lightning module that a trainer without a scaler takes."""
    if may_scale(program) is not False or program.calls_that_make(values.SCALER):
        return
    steps = list_hooks(program, "training_step")
    for event in program.of_kind(events.CONTEXT):
        if event.function in steps and (choice := choose_fp16(event.subject.parts)) is not None:
            when = f", {choice.when}" if choice.when else ""
            yield Report(event.node, f"autocast to FP16{when} by hand, and the trainer's precision has no loss scaler: gradients "
                         "below 6e-8 become 0")


def list_backward_regions(program: Program) -> Iterator[tuple[Event, values.Region | None]]:
    """The backward passes, with the region of what ran before them on each path. Where there are too many paths,
    that in which all ran that trains."""
    judged = set()
    for path in gather_paths(program, {events.FORWARD, events.LOSS, events.BACKWARD}):
        region = None
        for event in path:
            if event.kind == events.BACKWARD:
                judged.add(event)
                yield event, region
            elif not event.no_grad and (event.kind == events.FORWARD or event.region is not None or region is None):
                region = event.region  # A loss outside of the region leaves the model's gradients in its type.
    regions: list[values.Region | None] = []
    order = sorted(program.of_kind(events.FORWARD, events.LOSS, events.BACKWARD), key=lambda event: (event.entry, event.order))
    for event, before in zip(order, [None, *order]):
        if before is None or before.entry != event.entry or before.kind == events.BACKWARD:
            regions = []
        if (event.kind == events.FORWARD or event.region is not None) and event.kind != events.BACKWARD and not event.no_grad:
            regions.append(event.region)
        elif event.kind == events.BACKWARD and event not in judged and len(set(regions)) == 1:
            yield event, regions[0]


# The words before a method's name. A run of word characters is gone through from its start alone.
UPDATED = re.compile(r"(?<!\w)(\w+)\.update\(")
SAVED = re.compile(r"(?<!\w)(\w+(?:\.\w+)?)(?:\[[^\]\n]{0,200}\])?\.state_dict\(")
SCALER_KEY = re.compile(r"[\"'](?:grad_|amp_|loss_)?scaler\w*[\"']\s*[:\]=]")


def saves_scaler(text: str) -> bool:
    return any("scaler" in word for word in SAVED.findall(text)) or bool(SCALER_KEY.search(text))


@rule
def scaler_state_not_saved(program: Program) -> Iterator[Report]:
    if not any(is_used(event.scaler) for event in program.of_kind(events.SCALER_STEP)) \
            or any(saves_scaler(script.running) for script in program.scripts):
        return
    reported = set()
    for event in program.calls_of("save"):
        if event.callee.name != "torch.save" or not event.arguments or id(event.arguments[0].origin) in reported:
            continue
        saved = event.arguments[0]
        if saved.kind == values.MAPPING and any(part.has("optimizer-state") for part in saved.parts.values()):
            reported.add(id(saved.origin))
            yield Report(event.node, "the checkpoint has the optimizer's state and not the scaler's: after a restart "
                         "the scale starts anew, and steps are skipped")
