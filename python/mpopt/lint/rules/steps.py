"""The training step as a whole: gradients that are cleared, and added over passes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from mpopt.lint import events, values
from mpopt.lint.events import Block, Branch, Event, Loop
from mpopt.lint.interpreter import Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.scaler import judge_paths, text_of

STEPS = (events.STEP, events.SCALER_STEP)


@rule
def gradients_cleared_before_step(program: Program) -> Iterator[Report]:
    def judge(path):
        fresh, cleared = False, None
        for event in path:
            if event.kind in (events.BACKWARD, events.MANAGED_BACKWARD):
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
            elif event.kind in STEPS:
                # A closure computes the gradients anew.
                closure = event.kind == events.STEP and (event.arguments or event.keywords)
                if cleared is not None and event.subject.identity == cleared.subject.identity:
                    yield cleared, not closure, event
                fresh, cleared = False, None
    for event, _ in judge_paths(program, judge):
        yield Report(event.node, "the gradients are cleared between backward() and step(): the step sees none")


@rule
def gradients_never_cleared(program: Program) -> Iterator[Report]:
    if re.search(r"zero_grad|\.grad\s*=\s*None|grad\.(data\.)?zero_|grad\.fill_", program.text):
        return
    reported = set()
    for entry in program.entries:
        for loop in events.list_loops(entry):
            inside = list(events.walk(loop.body))
            backward = [event for event in inside if event.kind == events.BACKWARD]
            step = [event for event in inside if event.kind in STEPS and not event.arguments
                    or event.kind == events.SCALER_STEP]
            if backward and step and not any(event.kind in (events.OPAQUE, events.MANAGED_BACKWARD) for event in inside) \
                    and id(step[0].node) not in reported \
                    and any(event.subject.kind == values.OPTIMIZER for event in step):
                reported.add(id(step[0].node))
                yield Report(step[0].node, "no zero_grad() in the file: each step sees the sum of all gradients so far")


def find_accumulation(block: Block, loop: Loop | None = None) -> Iterator[tuple[Branch, Loop, list[Event]]]:
    """The branches of loops that step in every nth pass, with what the loop does outside
    of them."""
    for item in block.items:
        if isinstance(item, Loop):
            yield from find_accumulation(item.body, item)
        elif isinstance(item, Block):
            yield from find_accumulation(item, loop)
        elif isinstance(item, Branch):
            if loop is not None and item.test is not None and counts_passes(item.test) \
                    and any(event.kind in STEPS for event in events.walk(item.then)):
                inside = set(map(id, events.walk(item.then)))
                yield item, loop, [event for event in events.walk(loop.body) if id(event) not in inside]
            yield from find_accumulation(item.then, loop)
            yield from find_accumulation(item.other, loop)


def counts_passes(test: cst.CSTNode) -> bool:
    return find_modulo(test) is not None


def find_modulo(node: cst.CSTNode) -> cst.BinaryOperation | None:
    """`a % b` in a condition."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return node
    for child in node.children:
        if found := find_modulo(child):
            return found
    return None


@rule
def undivided_accumulation(program: Program) -> Iterator[Report]:
    if re.search(r"\.accumulate\(|deepspeed", program.text):
        return
    reported = set()
    for entry in program.entries:
        for branch, _, outside in find_accumulation(entry):
            passes = text_of(program, find_modulo(branch.test).right).strip("()")
            last = passes.rpartition(".")[2]
            if passes == "1" or re.search(rf"/=?\s*(float\()?\(?\s*([\w.]+\.)?{re.escape(last)}\b", program.text):
                continue
            if any(event.kind in STEPS or event.kind == events.OPAQUE for event in outside):
                continue
            for event in outside:
                if event.kind == events.BACKWARD and event.subject.has("mean") and not event.subject.has("divided") \
                        and id(event.node) not in reported:
                    reported.add(id(event.node))
                    yield Report(event.node, f"the gradients of {passes} passes are added, and the loss, a mean, is not "
                                 f"divided by {passes}: the step is that many times larger, and so are the gradients "
                                 "that FP16 has to hold")
