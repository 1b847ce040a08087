"""The scaler as a state machine: one overflow check, one step of each optimizer, one update."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpopt.lint import events, fixes, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.configurations import find_key
from mpopt.lint.rules.numbers import NAN_TEST
from mpopt.lint.rules.paths import find_rare_update, is_used, judge_paths, takes_scaler
from mpopt.lint.rules.scaler import choose_fp16
from mpopt.lint.rules.settings import entry, is_true, list_deepspeed


@rule
def update_between_steps(program: Program) -> Iterator[Report]:
    def judge(path: tuple[Event, ...]):
        scaled, stepped, updated, healed = False, None, None, None
        for event in path:
            if event.kind in events.BACKWARDS or event.kind == events.OPAQUE:
                scaled = event.kind == events.BACKWARD and is_used(event.scaler)
                healed = updated or healed
                stepped = updated = None
            elif event.kind == events.UPDATE and stepped is not None and scaled:
                updated = event if event.scaler.identity == stepped.scaler.identity else updated
            elif event.kind == events.SCALER_STEP and is_used(event.scaler):
                if healed is not None:
                    yield healed, False, None
                if updated is not None and updated.scaler.identity == event.scaler.identity:
                    yield updated, True, event
                stepped = event

    for update, step in judge_paths(program, judge):
        yield Report(update.node, "update() between the steps of two optimizers whose gradients carry one scale: after "
                     "an overflow in the first, the gradients of the second are unscaled by another scale",
                     remove_first_update(program, update, step))


def remove_first_update(program: Program, update: Event, step: Event | None) -> fixes.Change | None:
    """The fix, where an update follows the second step in the same block."""
    updates = program.of_kind(events.UPDATE)
    # A statement that several calls of its function run is needed for the last of them.
    is_single = sum(event.node is update.node for event in updates) == 1
    later = [event for event in updates if step is not None and event.order > step.order
             and event.tests == update.tests and event.loops == update.loops and event.function is update.function]
    return fixes.remove_statement(program.script, update.statement, update.node) if later and is_single else None


@rule
def step_without_update(program: Program) -> Iterator[Report]:
    def judge(path: tuple[Event, ...]):
        done: dict = {}
        for event in path:
            if event.kind == events.UPDATE or event.kind == events.OPAQUE and takes_scaler(event):
                done.clear()
            elif event.kind == events.SCALER_STEP and is_used(event.scaler):
                before = done.setdefault((event.scaler.identity, event.subject.identity), event)
                yield event, before.node is not event.node, before

    message = "scaler.step() again before update(): it raises a RuntimeError"
    for event, _ in judge_paths(program, judge):
        yield Report(event.node, f"{message}, as an optimizer steps once a check for overflow")
    for event in program.of_kind(events.SCALER_STEP):
        if is_used(event.scaler) and find_rare_update(program, event):
            yield Report(event.node, f"{message}, since update() runs in every nth pass only")
        elif is_used(event.scaler) and (update := find_finite_update(program, event)) is not None:
            yield Report(event.node, f"{message}, since line {update.node.lineno} leaves update() out after an overflow, which "
                         "is when it has to lower the scale")


def find_finite_update(program: Program, step: Event) -> Event | None:
    """The update behind a step that a test for NaN or Inf guards, and not the step; None if another one is not guarded."""
    updates = [event for event in program.of_kind(events.UPDATE) if event.function is step.function and event.loops == step.loops
               and event.order > step.order and event.scaler.identity == step.scaler.identity]
    count = len(step.tests)
    guarded = [event for event in updates if event.tests[:count] == step.tests
               and any(NAN_TEST.search(program.script.code(test)) for test, _ in event.tests[count:])]
    return guarded[0] if step.loops and guarded and len(guarded) == len(updates) == 1 else None


@rule
def scaler_made_in_loop(program: Program) -> Iterator[Report]:
    steps = [event for event in program.of_kind(events.SCALER_STEP) if event.loops]
    optimizers = {event.result.identity: event.loops for event in program.calls_that_make(values.OPTIMIZER)}
    made: dict[object, tuple[Event, bool]] = {}
    for event in program.calls_that_make(values.SCALER) if steps else ():
        if not event.loops or event.loops in optimizers.values() or not is_used(event.result):
            continue
        for step in steps:
            outer = optimizers.get(step.subject.identity)
            is_around = outer is not None and len(outer) < len(event.loops) and step.loops[:len(event.loops)] == event.loops
            if step.scaler.identity == event.result.identity and (step.loops == event.loops or is_around):
                # The call of the function that makes it is in the loop.
                made.setdefault(event.result.identity, (event, step.loops == event.loops))
    for event, is_inner in made.values():
        yield Report(event.node, "a new scaler in each pass of the training loop: its scale never follows the "
                     "gradients, and each overflow is met anew" if is_inner else
                     f"a new scaler in each pass of the loop of line {event.loops[-1].lineno}, and not a new optimizer: the scale "
                     "begins anew, and steps are skipped until it fits")


# By function: the position of the interval, of which each ends in a skipped step.
INTERVALS = {"torch.amp.GradScaler": 4, "torch.cuda.amp.GradScaler": 3, "torch.cpu.amp.GradScaler": 3,
             "torch.distributed.fsdp.ShardedGradScaler": 4, "accelerate.utils.GradScalerKwargs": 3,
             "accelerate.GradScalerKwargs": 3}
# A scale that doubles after n good steps ends in an overflow after each n: one percent of all steps.
LEAST_INTERVAL = 100


@rule
def scale_grows_too_often(program: Program) -> Iterator[Report]:
    for event in program.calls_of("GradScaler", "ShardedGradScaler", "GradScalerKwargs"):
        if event.callee.name in INTERVALS:
            given = event.argument(INTERVALS[event.callee.name], "growth_interval")
            if event.result.parts is not False:
                yield from judge_interval(event.node, given)
    for mapping in list_deepspeed(program):
        if is_true(entry(mapping, "fp16", "enabled")):
            yield from judge_interval(find_key(mapping, "fp16", "loss_scale_window"), entry(mapping, "fp16", "loss_scale_window"))


def judge_interval(node: ast.AST, given: values.Value | None) -> Iterator[Report]:
    steps = given.constant if given is not None else None
    if isinstance(steps, int) and not isinstance(steps, bool) and 0 < steps < LEAST_INTERVAL:
        yield Report(node, f"the scale doubles after {steps} steps without Inf, until one has it: of {steps + 1} steps one is "
                     "skipped")


PATCHED = ("_unscale_grads_", "_check_inf_per_device", "_maybe_opt_step")


@rule
def scaler_patched(program: Program) -> Iterator[Report]:
    message = "a check of the scaler is replaced: it no longer refuses FP16 gradients, or no longer skips steps with Inf"
    for path, _, _, statement in program.assignments:
        if path.rpartition(".")[2] in PATCHED and "." in path:
            yield Report(statement, message)
    for event in program.calls_of("setattr"):
        if len(event.arguments) == 3 and event.arguments[1].constant in PATCHED:
            yield Report(event.node, message)


@rule
def unscaled_gradient_penalty(program: Program) -> Iterator[Report]:
    if not any(is_used(event.scaler) for event in program.of_kind(events.SCALER_STEP)):
        return
    for event in program.calls_of("grad"):
        outputs = event.argument(0, "outputs")
        graph = event.keywords.get("create_graph")
        if event.callee.name != "torch.autograd.grad" or outputs is None or graph is None or graph.constant is not True:
            continue
        region = outputs.parts if isinstance(outputs.parts, values.Region) else None
        choice = choose_fp16(region)
        if choice is not None and not choice.when and outputs.has("forward") and not outputs.has("scaled") \
                and isinstance(event.node, ast.Call):
            yield Report(event.node, "the gradient of an output of an FP16 region, which is not scaled: it underflows "
                         "on its way back. Take that of scaler.scale(output), and divide by scaler.get_scale()")
