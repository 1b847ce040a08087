"""What a training step does, in order: a tree of events, and the paths through it.

The interpreter writes events into blocks. A rule that asks for an order ("clipped before
it is unscaled") walks the paths through a block. Conditions with the same text are
taken to have the same outcome along one path."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import libcst as cst

from mpopt.lint.values import NOTHING, Region, Value

# Kinds of events.
CALL = "call"                      # any other call; not part of blocks
BACKWARD = "backward"              # `subject`: the loss; `scaler`: None if it is not scaled
MANAGED_BACKWARD = "managed-backward"  # by an engine, or by code that is not shown
UNSCALE = "unscale"                # `scaler`, `subject`: the optimizer
CLIP = "clip"
GRAD_READ = "grad-read"
STEP = "step"                      # `subject`: the optimizer
SCALER_STEP = "scaler-step"        # `scaler`, `subject`: the optimizer
UPDATE = "update"                  # `scaler`
ZERO_GRAD = "zero-grad"            # `subject`: an optimizer or module
LOSS = "loss"                      # `arguments`
FORWARD = "forward"
CAST = "cast"                      # `subject` to `dtype`
CONTEXT = "context"                # a `with` statement, or the like, enters a region
OPAQUE = "opaque"                  # a call of something outside the file that may do any of these

MOST_PATHS = 2000


@dataclasses.dataclass(eq=False)
class Event:
    kind: str
    node: cst.CSTNode
    statement: cst.CSTNode | None
    subject: Value = NOTHING
    scaler: Value | None = None
    callee: Value = NOTHING
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = dataclasses.field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    loops: tuple[cst.CSTNode, ...] = ()
    function: cst.CSTNode | None = None
    dtype: str = ""
    # Of calls: the value that they give.
    result: Value = NOTHING

    @property
    def region(self) -> Region | None:
        """The innermost autocast region; None outside. Contexts that are not known do
        not count."""
        real = [region for region in self.regions if not region.null]
        return real[-1] if real else None

    @property
    def in_unknown_context(self) -> bool:
        """Whether a context that is not known surrounds it, which may be autocast."""
        return any(region.null and region.enabled is None for region in self.regions)

    def argument(self, position: int, keyword: str = "") -> Value | None:
        if keyword and keyword in self.keywords:
            return self.keywords[keyword]
        return self.arguments[position] if 0 <= position < len(self.arguments) else None


@dataclasses.dataclass(eq=False)
class Block:
    items: list = dataclasses.field(default_factory=list)
    # Of a function that was called: a return ends this block alone.
    is_call: bool = False


@dataclasses.dataclass(eq=False)
class Branch:
    test: cst.CSTNode | None
    then: Block
    other: Block


@dataclasses.dataclass(eq=False)
class Loop:
    node: cst.CSTNode
    body: Block


@dataclasses.dataclass(eq=False)
class Exit:
    """`break`, `continue`, `return` or `raise`."""

    kind: str


def walk(block: Block) -> Iterator[Event]:
    """All events of a block, in the order of the text."""
    for item in block.items:
        if isinstance(item, Event):
            yield item
        elif isinstance(item, Block):
            yield from walk(item)
        elif isinstance(item, Loop):
            yield from walk(item.body)
        elif isinstance(item, Branch):
            yield from walk(item.then)
            yield from walk(item.other)


def list_loops(block: Block) -> Iterator[Loop]:
    """All loops of a block, the outer ones first."""
    for item in block.items:
        if isinstance(item, Loop):
            yield item
            yield from list_loops(item.body)
        elif isinstance(item, Block):
            yield from list_loops(item)
        elif isinstance(item, Branch):
            yield from list_loops(item.then)
            yield from list_loops(item.other)


class TooManyPaths(Exception):
    pass


_EMPTY = cst.Module([])


class _Paths:
    """Paths as tuples (events, outcomes of conditions, exit), breadth first."""

    def __init__(self, wanted: Callable[[Event], bool]):
        self.wanted = wanted
        self.counts: dict[int, bool] = {}
        self.texts: dict[int, str] = {}

    def matters(self, block: Block) -> bool:
        """Whether a block holds wanted events, or an exit."""
        key = id(block)
        if key not in self.counts:
            self.counts[key] = any(
                isinstance(item, Exit) or isinstance(item, Event) and self.wanted(item)
                or isinstance(item, Block) and self.matters(item)
                or isinstance(item, Loop) and self.matters(item.body)
                or isinstance(item, Branch) and (self.matters(item.then) or self.matters(item.other))
                for item in block.items)
        return self.counts[key]

    def run(self, block: Block, paths: list) -> list:
        ended = []
        for item in block.items:
            if isinstance(item, Event):
                if self.wanted(item):
                    paths = [((*events, item), known, left) for events, known, left in paths]
            elif isinstance(item, Exit):
                ended += [(events, known, item.kind) for events, known, _ in paths]
                paths = []
            elif isinstance(item, Block):
                if self.matters(item):
                    done = self.run(item, paths)
                    if item.is_call:
                        done = [(events, known, None if left == "return" else left)
                                for events, known, left in done]
                    paths = self.split(done, ended, ())
            elif isinstance(item, Loop):
                if self.matters(item.body):
                    done = self.run(item.body, paths)
                    paths = self.split(done, ended, ("break", "continue"))
            elif isinstance(item, Branch) and (self.matters(item.then) or self.matters(item.other)):
                taken = []
                for outcome, side in ((True, item.then), (False, item.other)):
                    chosen = [(events, after, left) for events, known, left in paths
                              if (after := self.assume(item.test, outcome, known)) is not None]
                    taken += self.run(side, chosen) if chosen else []
                paths = self.split(taken, ended, ())
            if len(paths) + len(ended) > MOST_PATHS:
                raise TooManyPaths
            if not paths:
                break
        return paths + ended

    @staticmethod
    def split(done: list, ended: list, absorbed: tuple[str, ...]) -> list:
        """The paths that go on; those that left go to `ended`."""
        going = []
        for events, known, left in done:
            if left is None or left in absorbed:
                going.append((events, known, None))
            else:
                ended.append((events, known, left))
        return going

    def text(self, node: cst.CSTNode) -> str:
        key = id(node)
        if key not in self.texts:
            self.texts[key] = " ".join(_EMPTY.code_for_node(node).split()).strip("() ")
        return self.texts[key]

    def assume(self, test: cst.CSTNode | None, outcome: bool, known: dict) -> dict | None:
        """`known` with the outcome of a condition; None if it contradicts it."""
        if test is None:
            return known
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.assume(test.expression, not outcome, known)
        if isinstance(test, cst.BooleanOperation):
            decisive = isinstance(test.operator, cst.And)
            if outcome == decisive:
                known = self.assume(test.left, outcome, known)
                return None if known is None else self.assume(test.right, outcome, known)
            # One side decides: it cannot be both of them.
            left = self.assume(test.left, not outcome, known)
            right = None if left is None else self.assume(test.right, not outcome, left)
            if right is not None and right == known:
                return None
        if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
            target = test.comparisons[0]
            if isinstance(target.operator, (cst.IsNot, cst.Is)) and self.text(target.comparator) == "None":
                # `x is not None` and `x` are the same question of a scaler.
                return self.note(self.text(test.left), outcome == isinstance(target.operator, cst.IsNot), known)
            if isinstance(target.operator, cst.NotEqual):
                return self.note(f"{self.text(test.left)} == {self.text(target.comparator)}", not outcome, known)
        if isinstance(test, cst.Name) and test.value in ("True", "False"):
            return known if (test.value == "True") == outcome else None
        return self.note(self.text(test), outcome, known)

    @staticmethod
    def note(text: str, outcome: bool, known: dict) -> dict | None:
        if known.get(text, outcome) != outcome:
            return None
        return known if text in known else {**known, text: outcome}


def list_paths(block: Block, wanted: Callable[[Event], bool]) -> list[tuple[Event, ...]]:
    """The wanted events of a block, in order, for each path through it. Loops are passed
    through once. Paths that end in `raise` are left out. No path at all if there are
    too many of them."""
    try:
        done = _Paths(wanted).run(block, [((), {}, None)])
    except TooManyPaths:
        return []
    unique = {tuple(map(id, events)): events for events, _, left in done if left != "raise"}
    return list(unique.values())
