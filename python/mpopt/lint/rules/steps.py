"""The training step as a whole: gradients that are cleared, and added over passes."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from mpopt.lint import events, library, values
from mpopt.lint.events import Block, Branch, Event, Loop
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.paths import find_modulo, judge_paths


@rule
def gradients_cleared_before_step(program: Program) -> Iterator[Report]:
    def judge(path):
        fresh, cleared = False, None
        for event in path:
            if event.kind in events.BACKWARDS:
                if cleared is not None:
                    yield cleared, False, None
                fresh, cleared = True, None
            elif event.kind == events.OPAQUE:
                if cleared is not None:
                    yield cleared, False, None
                fresh, cleared = False, None
            elif event.kind == events.ZERO_GRAD:
                if fresh:
                    cleared = event
                fresh = False
            elif event.kind in events.STEPS:
                # A closure computes the gradients anew.
                closure = event.kind == events.STEP and (event.arguments or event.keywords)
                if cleared is not None and event.subject.identity == cleared.subject.identity:
                    yield cleared, not closure, event
                fresh, cleared = False, None
    for event, _ in judge_paths(program, judge):
        yield Report(event.node, "the gradients are cleared between backward() and step(): the step sees none")


CLEARED = re.compile("zero_grad")
# A gradient that is assigned is not added to the last one.
CLEARED_BY_HAND = re.compile(r"\.grad\s*(?:,[^=\n]*)?=(?!=)|grad\.(data\.)?zero_|grad\.fill_")


@rule
def gradients_never_cleared(program: Program) -> Iterator[Report]:
    if not program.of_kind(*events.STEPS) or program.mentions(CLEARED_BY_HAND):
        return
    yield from judge_optimizers(program)
    if program.mentions(CLEARED):
        return
    for entry in program.entries:
        for loop in events.list_loops(entry):
            inside = list(events.walk(loop.body))
            backward = [event for event in inside if event.kind == events.BACKWARD]
            step = [event for event in inside if event.kind in events.STEPS and not event.arguments
                    or event.kind == events.SCALER_STEP]
            if backward and step and not any(event.kind == events.MANAGED_BACKWARD or event.kind == events.OPAQUE
                                             and may_clear(program, event) for event in inside) \
                    and any(event.subject.kind == values.OPTIMIZER for event in step):
                yield Report(step[0].node, "no zero_grad() in the file: each step sees the sum of all gradients so far")


def judge_optimizers(program: Program) -> Iterator[Report]:
    """Optimizers that step in a loop of a file whose every zero_grad() is that of another one."""
    cleared = program.of_kind(events.ZERO_GRAD)
    if not cleared or any(event.subject.kind != values.OPTIMIZER for event in cleared) \
            or any(may_clear(program, event) for event in program.of_kind(events.OPAQUE)):
        return
    for event in program.of_kind(*events.STEPS):
        backward = any(each.loops == event.loops for each in program.of_kind(events.BACKWARD))
        if event.loops and backward and event.subject.kind == values.OPTIMIZER \
                and not event.arguments[event.kind == events.SCALER_STEP:] \
                and not any(shares_parameters(event.subject, each.subject) for each in cleared):
            yield Report(event.node, "zero_grad() of other optimizers only: each step of this one sees the sum of all gradients "
                         "so far")


# Methods of a module that give no result of it.
ASIDE = {"parameters", "named_parameters", "zero_grad", "train", "eval", "state_dict", "load_state_dict", "requires_grad_", "to", "cuda",
         "cpu", "half", "float", "bfloat16", "modules", "named_modules", "children", "buffers", "apply"}


@rule
def step_without_gradients(program: Program) -> Iterator[Report]:
    for event in program.of_kind(*events.STEPS):
        optimizer = event.subject
        if not event.loops or optimizer.kind != values.OPTIMIZER or not any(
                event.loops[-1] in each.loops for each in program.of_kind(events.BACKWARD)):
            continue
        parameters = list(values.find_all(optimizer.parts.parameters, values.PARAMETERS))
        modules = [found.parts for found in parameters if found.parts is not None]
        if modules and len(modules) == len(parameters) and all(runs_without_gradients(program, module, event) for module in modules):
            yield Report(event.node, "what this optimizer trains runs under no_grad() only: its gradients are None, the step changes "
                         "nothing, and scaler.step() stops with \"No inf checks were recorded\"")


def runs_without_gradients(program: Program, module: values.Value, step: Event) -> bool:
    """True if every use of a module that the program shows is a call under no_grad, of which one is in the loop of a step."""
    calls = []
    for event in program.calls:
        owner = event.callee.parts if event.callee.kind == values.METHOD else event.callee
        if owner is not None and owner.identity == module.identity:
            if event.callee.kind != values.METHOD or event.callee.name not in ASIDE:
                calls.append(event)
        elif any(value.identity == module.identity and value.kind != values.PARAMETERS
                 for value in (*event.arguments, *event.keywords.values())):
            return False  # It is handed to what may run it.
        elif module.path and event.callee.path.startswith(f"{module.path}.") and event.callee.path.rpartition(".")[2] not in ASIDE:
            return False  # A part of it runs.
    return any(step.loops[-1] in event.loops for event in calls) and all(event.no_grad for event in calls)


def may_clear(program: Program, event: Event) -> bool:
    """True if a call of something outside of the file may step or clear gradients: by its name, or as it gets an
    optimizer, a module, a loss or its parameters. An object that got no optimizer, scaler or module reaches none."""
    base = event.callee.parts if event.callee.kind == values.METHOD else None
    if base is not None and base.kind == values.UNKNOWN and isinstance(base.origin, ast.Call) and library.is_class(base.name) \
            and not any(map(reaches_gradients, group_calls(program).get(base.identity, ()))):
        return False
    given = values.sequence([*event.arguments, *event.keywords.values()])
    return bool(CLEARS.search(event.callee.name or event.callee.path)) or any(
        values.find(given, kind) is not None for kind in (values.OPTIMIZER, values.MODULE, values.PARAMETERS, values.SCALER)) \
        or any(value.has("loss") or library.is_module_path(value.path) or library.is_optimizer_path(value.path)
               for value in given.parts or ())


@functools.lru_cache(maxsize=1)
def group_calls(program: Program) -> dict[object, list[Event]]:
    """By the identity of an object: the call that made it, and those of its methods."""
    found: dict[object, list[Event]] = {}
    for event in program.calls:
        found.setdefault(event.callee.parts.identity if event.callee.kind == values.METHOD else id(event.node), []).append(event)
    return found


TRAINED = (values.OPTIMIZER, values.MODULE, values.PARAMETERS, values.SCALER, values.MANAGER, values.INSTANCE)
TRAINER = re.compile(r"(^|[._])(self|trainer|engine|accelerator|fabric|state)([._]|$)", re.I)


def reaches_gradients(event: Event) -> bool:
    """True if a call gets what has gradients or steps, or something that may hold it."""
    given = values.sequence([*event.arguments, *event.keywords.values()])
    return "**" in event.keywords or any(values.find(given, kind) is not None for kind in TRAINED) or any(
        value.kind == values.UNKNOWN and (library.is_module_path(value.path) or library.is_optimizer_path(value.path)
                                          or library.is_scaler_path(value.path) or TRAINER.search(value.path))
        for value in given.parts or ())


CLEARS = re.compile(r"zero|clear|step|optim|train|backward|reset|update|fit|closure", re.I)


def shares_parameters(one: values.Value, other: values.Value) -> bool:
    """True if two optimizers may have parameters in common."""
    def modules(optimizer):
        return {found.parts.identity if found.parts is not None else None
                for found in values.find_all(optimizer.parts.parameters, values.PARAMETERS)} or {None}

    first, second = modules(one), modules(other)
    return one.identity == other.identity or None in first | second or bool(first & second)


def find_accumulation(program: Program, block: Block, loop: list[Event] | None = None) -> Iterator[tuple[Branch, list[Event], set[int]]]:
    """The branches of loops that step in every nth pass, with the events of the loop, and which of them
    the branch has."""
    for item in block.items:
        if isinstance(item, Loop):
            yield from find_accumulation(program, item.body, list(events.walk(item.body)))
        elif isinstance(item, Block):
            yield from find_accumulation(program, item, loop)
        elif isinstance(item, Branch):
            if loop is not None and item.test is not None and find_modulo(program, item.test) is not None:
                inside = list(events.walk(item.then))
                if any(event.kind in events.STEPS for event in inside):
                    yield item, loop, set(map(id, inside))
            yield from find_accumulation(program, item.then, loop)
            yield from find_accumulation(program, item.other, loop)


# A division by a number, or by an attribute of that name; an integer quotient is that of sizes.
DIVISION = r"(?<!/)/=?\s*(?:float\(\s*)?(?:\(\s*)?(?:[\w.]+\.)?%s\b"


# Engines divide by themselves.
DIVIDING = re.compile(r"\.accumulate\(|deepspeed")


@rule
def undivided_accumulation(program: Program) -> Iterator[Report]:
    if not program.of_kind(events.BACKWARD) or not program.of_kind(*events.STEPS) or program.mentions(DIVIDING):
        return
    for entry in program.entries:
        for branch, loop, inside in find_accumulation(program, entry):
            if any(event.kind in events.STEPS or event.kind == events.OPAQUE and may_clear(program, event)
                   for event in loop if id(event) not in inside):
                continue
            if branch.test is None or (modulo := find_modulo(program, branch.test)) is None:
                continue
            passes = program.script.code(modulo.right).strip("()")
            if passes == "1" or is_divided_by(program, passes):
                continue
            for event in loop:
                if event.kind == events.BACKWARD and id(event) not in inside and event.subject.has("mean") \
                        and not event.subject.has("divided"):
                    yield Report(event.node, f"the gradients of {passes} passes are added, and the loss, a mean, is not "
                                 f"divided by {passes}: the step is that many times larger, and so are the gradients "
                                 "that FP16 has to hold")


def is_divided_by(program: Program, passes: str) -> bool:
    return program.mentions(re.compile(DIVISION % re.escape(passes.rpartition(".")[2])))
