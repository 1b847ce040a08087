"""The paths through training steps, for rules about the scaler and about an order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from mpopt.lint import events, values
from mpopt.lint.events import Event
from mpopt.lint.interpreter import Program

STEP_EVENTS = {*events.BACKWARDS, *events.STEPS, events.UNSCALE, events.CLIP, events.GRAD_READ, events.UPDATE, events.ZERO_GRAD,
               events.OPAQUE}

# Without one of these no rule about an order has anything to say.
DECISIVE = {*events.BACKWARDS, events.UNSCALE}


def list_paths(program: Program) -> list[tuple[Event, ...]]:
    """The paths through the training steps that the file shows."""
    if program.paths is None:
        program.paths = gather_paths(program, STEP_EVENTS)
    return program.paths


def gather_paths(program: Program, kinds: set[str]) -> list[tuple[Event, ...]]:
    """The events of some kinds on each path through what the file shows of training steps."""
    found: list[tuple[Event, ...]] = []
    budget = events.Budget()
    for entry in program.entries:
        blocks = [entry]
        while blocks:
            block = blocks.pop()
            if not any(event.kind in DECISIVE for event in events.walk(block)):
                continue
            paths = events.list_paths(block, lambda event: event.kind in kinds, budget)
            found += [path for path in paths if path]
            if not paths:
                # Too many: each outermost loop by itself.
                blocks += [loop.body for loop in outermost(block)]
    return found


def outermost(block: events.Block) -> list[events.Loop]:
    loops = []
    for item in block.items:
        if isinstance(item, events.Loop):
            loops.append(item)
        elif isinstance(item, events.Block):
            loops += outermost(item)
        elif isinstance(item, events.Branch):
            loops += outermost(item.then) + outermost(item.other)
    return loops


def is_used(scaler: values.Value | None) -> bool:
    return scaler is not None and scaler.parts is not False


def takes_scaler(event: Event) -> bool:
    """True if a call of something outside the file may use the scaler."""
    # Each path through a step asks anew.
    if event.takes_scaler is None:
        told = [*event.arguments, *event.keywords.values()]
        event.takes_scaler = "unscale" in event.callee.name or any(
            value.kind == values.SCALER or "scaler" in value.path.lower() for value in told)
    return event.takes_scaler


def judge_paths(program: Program, judge: Callable[[tuple[Event, ...]], Iterator[tuple[Event, bool, Event | None]]]):
    """The events that are wrong on every path on which `judge` says anything of them,
    each with the event that `judge` gives along."""
    wrong: dict[int, tuple[Event, Event | None]] = {}
    right: set[int] = set()
    for path in list_paths(program):
        for event, is_wrong, other in judge(path):
            if is_wrong:
                wrong.setdefault(id(event.node), (event, other))
            else:
                right.add(id(event.node))
    return [found for key, found in wrong.items() if key not in right]


def find_next(path: tuple[Event, ...], kind: str) -> list[Event | None]:
    """For each event of a path the next one of a kind, which may be itself."""
    found, last = [], None
    for event in reversed(path):
        last = event if event.kind == kind else last
        found.append(last)
    return found[::-1]


def find_modulo(program: Program, node: ast.AST) -> ast.BinOp | None:
    """`a % b` in a condition, or in what a name got that is one."""
    pending = [program.find_assigned(node)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            return node
        pending += reversed(list(ast.iter_child_nodes(node)))
    return None


def is_rarer(program: Program, event: Event, other: Event) -> bool:
    """True if an event takes place in every nth pass of the loop in which another one does in each."""
    count = len(other.tests)
    return bool(other.loops) and event.loops == other.loops and event.tests[:count] == other.tests \
        and any(find_modulo(program, test) is not None for test, outcome in event.tests[count:] if outcome)


def find_rare_update(program: Program, event: Event) -> Event | None:
    """An update of an event's scaler in every nth pass only, if all its updates in the loop are such."""
    updates = [update for update in program.of_kind(events.UPDATE) if update.loops == event.loops
               and update.scaler.identity == event.scaler.identity]
    return updates[0] if updates and all(is_rarer(program, update, event) for update in updates) else None
