"""The events of a training step, in order: a tree of events, and the paths through it.

The interpreter writes events into blocks. A rule that asks for an order ("clipped before
it is unscaled") walks the paths through a block. Conditions with the same text are
taken to have the same outcome along one path."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator

from mpopt.lint.script import Script
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

BACKWARDS = (BACKWARD, MANAGED_BACKWARD)
STEPS = (STEP, SCALER_STEP)

# Paths through a block.
MOST_PATHS = 2000


@dataclasses.dataclass(eq=False, slots=True)
class Event:
    kind: str
    node: ast.AST
    statement: ast.AST | None
    subject: Value = NOTHING
    scaler: Value | None = None
    callee: Value = NOTHING
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = dataclasses.field(default_factory=dict)
    regions: tuple[Region, ...] = ()
    loops: tuple[ast.AST, ...] = ()
    function: ast.AST | None = None
    dtype: str = ""
    # The condition that chooses the dtype of a cast, in words.
    when: str = ""
    # The branches around it: their tests and outcomes.
    tests: tuple[tuple[ast.AST, bool], ...] = ()
    # The number of the entry (`Program.entries`) in which it happens.
    entry: int = 0
    # True if a context or decorator around it switches gradients off.
    no_grad: bool = False
    # Grows from one to the next.
    order: int = 0
    # The value that a call gives.
    result: Value = NOTHING
    # Facts that rules/scaler.py finds.
    takes_scaler: bool | None = None

    @property
    def region(self) -> Region | None:
        """The innermost autocast region; None outside. Contexts that are not known do
        not count."""
        return innermost(self.regions)

    @property
    def in_unknown_context(self) -> bool:
        """True if a context that is not known surrounds it, which may be autocast."""
        return is_in_unknown_context(self.regions)

    @property
    def in_autocast(self) -> bool:
        return may_autocast(self.regions)

    def argument(self, position: int, keyword: str = "") -> Value | None:
        if keyword and keyword in self.keywords:
            return self.keywords[keyword]
        return self.arguments[position] if 0 <= position < len(self.arguments) else None


LONGEST_TEST = 60


def normalize(script: Script, node: ast.AST, outcome: bool) -> tuple[str, bool]:
    """The text of a test without `not`, and its outcome."""
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node, outcome = node.operand, not outcome
    return " ".join(script.code(node).split()), outcome


def describe(script: Script, node: ast.AST, outcome: bool) -> str:
    """A branch in words: `if args.fp16`."""
    text, outcome = normalize(script, node, outcome)
    return f"{'if' if outcome else 'unless'} {text if len(text) <= LONGEST_TEST else text[:LONGEST_TEST] + '...'}"


def innermost(regions: tuple[Region, ...]) -> Region | None:
    return next((region for region in reversed(regions) if not region.null), None)


def is_in_unknown_context(regions: tuple[Region, ...]) -> bool:
    return any(region.null and region.enabled is None for region in regions)


def may_autocast(regions: tuple[Region, ...]) -> bool:
    """True if autocast, or a context that may be it, chooses the types of ops."""
    region = innermost(regions)
    return is_in_unknown_context(regions) or region is not None and region.enabled is not False


@dataclasses.dataclass(eq=False)
class Block:
    items: list = dataclasses.field(default_factory=list)
    # The block of a function that was called: a return ends this block alone.
    is_call: bool = False


@dataclasses.dataclass(eq=False)
class Branch:
    test: ast.AST | None
    then: Block
    other: Block


@dataclasses.dataclass(eq=False)
class Loop:
    node: ast.AST
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


# The events of a path from the last one back: (event, those before it), None at the start.
Chain = tuple | None
# Events, outcomes of conditions, exit.
Path = tuple[Chain, dict, str | None]


@dataclasses.dataclass
class Budget:
    """The budget of the paths of a file: each event and each part of a block costs one for each path,
    where there are several. Of the scripts of bench/lint_scripts.py none takes more than 110,000."""

    left: int = 300_000


class _Paths:
    """Paths, breadth first."""

    def __init__(self, wanted: Callable[[Event], bool], budget: Budget):
        self.wanted, self.budget = wanted, budget
        self.counts: dict[int, bool] = {}
        self.texts: dict[int, str] = {}
        self.questions: dict[tuple[int, bool], tuple[str, bool] | None] = {}

    def matters(self, block: Block) -> bool:
        """True if a block holds wanted events, or an exit."""
        key = id(block)
        if key not in self.counts:
            self.counts[key] = any(
                isinstance(item, Exit) or isinstance(item, Event) and self.wanted(item)
                or isinstance(item, Block) and self.matters(item)
                or isinstance(item, Loop) and self.matters(item.body)
                or isinstance(item, Branch) and (self.matters(item.then) or self.matters(item.other))
                for item in block.items)
        return self.counts[key]

    def run(self, block: Block, paths: list[Path]) -> list[Path]:
        ended: list[Path] = []
        for item in block.items:
            if isinstance(item, Event):
                if not self.wanted(item):
                    continue
                paths = [((item, chain), known, left) for chain, known, left in paths]
            elif isinstance(item, Exit):
                ended += [(chain, known, item.kind) for chain, known, _ in paths]
                paths = []
            else:
                paths = self.enter(item, paths, ended)
            self.limit(paths, ended)
            if not paths:
                break
        return paths + ended

    def limit(self, paths: list[Path], ended: list[Path]) -> None:
        if len(paths) > 1:
            self.budget.left -= len(paths)
        if len(paths) + len(ended) > MOST_PATHS or self.budget.left < 0 and len(paths) > 1:
            raise TooManyPaths

    def enter(self, item: Block | Loop | Branch, paths: list[Path], ended: list[Path]) -> list[Path]:
        """The paths that go on behind a part; those that leave the block go to `ended`."""
        if isinstance(item, Block):
            if not self.matters(item):
                return paths
            done = self.run(item, paths)
            if item.is_call:
                done = [(chain, known, None if left == "return" else left) for chain, known, left in done]
            return self.split(done, ended, ())
        if isinstance(item, Loop):
            return self.split(self.run(item.body, paths), ended, ("break", "continue")) \
                if self.matters(item.body) else paths
        if not (self.matters(item.then) or self.matters(item.other)):
            return paths
        taken = []
        for outcome, side in ((True, item.then), (False, item.other)):
            chosen = [(chain, after, left) for chain, known, left in paths
                      if (after := self.assume(item.test, outcome, known)) is not None]
            taken += self.run(side, chosen) if chosen else []
        return self.split(taken, ended, ())

    @staticmethod
    def split(done: list[Path], ended: list[Path], absorbed: tuple[str, ...]) -> list[Path]:
        """The paths that go on; those that left go to `ended`."""
        going: list[Path] = []
        for chain, known, left in done:
            if left is None or left in absorbed:
                going.append((chain, known, None))
            else:
                ended.append((chain, known, left))
        return going

    def text(self, node: ast.AST) -> str:
        key = id(node)
        if key not in self.texts:
            self.texts[key] = ast.unparse(node)
        return self.texts[key]

    def ask(self, test: ast.AST, outcome: bool) -> tuple[str, bool] | None:
        """The question that a condition is, by its text, and its answer; None of one that is made of several."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, outcome = test.operand, not outcome
        if isinstance(test, ast.BoolOp) or isinstance(test, ast.Constant) and isinstance(test.value, bool):
            return None
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            operator, right = test.ops[0], test.comparators[0]
            if isinstance(operator, (ast.IsNot, ast.Is)) and isinstance(right, ast.Constant) and right.value is None:
                # `x is not None` and `x` are the same question of a scaler.
                return self.text(test.left), outcome == isinstance(operator, ast.IsNot)
            if isinstance(operator, ast.NotEq):
                return f"{self.text(test.left)} == {self.text(right)}", not outcome
        return self.text(test), outcome

    def assume(self, test: ast.AST | None, outcome: bool, known: dict) -> dict | None:
        """`known` with the outcome of a condition; None if it contradicts it."""
        if test is None:
            return known
        key = id(test), outcome
        if key not in self.questions:
            self.questions[key] = self.ask(test, outcome)
        if (question := self.questions[key]) is not None:
            return self.note(*question, known)
        if isinstance(test, ast.UnaryOp):
            return self.assume(test.operand, not outcome, known)
        if isinstance(test, ast.Constant):
            return known if test.value == outcome else None
        if outcome == isinstance(test.op, ast.And):
            return self.assume_all(test.values, outcome, known)
        # One side decides: it cannot be none of them.
        others = self.assume_all(test.values, not outcome, known)
        return None if others is not None and others == known else self.note(self.text(test), outcome, known)

    def assume_all(self, tests: list[ast.expr], outcome: bool, known: dict | None) -> dict | None:
        for test in tests:
            known = None if known is None else self.assume(test, outcome, known)
        return known

    @staticmethod
    def note(text: str, outcome: bool, known: dict) -> dict | None:
        if known.get(text, outcome) != outcome:
            return None
        return known if text in known else {**known, text: outcome}


def list_rounds(loop: Loop, wanted: Callable[[Event], bool], budget: Budget) -> list[tuple[Event, ...]]:
    """The same for the passes through a loop that another pass may follow."""
    try:
        done = _Paths(wanted, budget).run(loop.body, [(None, {}, None)])
    except TooManyPaths:
        return []
    return [_unroll(chain) for chain, _, left in done if left in (None, "continue")]


def list_paths(block: Block, wanted: Callable[[Event], bool], budget: Budget) -> list[tuple[Event, ...]]:
    """The wanted events of a block, in order, for each path through it. Loops are passed
    through once. Paths that end in `raise` are left out. No path at all if there are
    too many of them, or the budget is spent."""
    try:
        done = _Paths(wanted, budget).run(block, [(None, {}, None)])
    except TooManyPaths:
        return []
    unique = {}
    for chain, _, left in done:
        if left != "raise":
            events = _unroll(chain)
            unique[tuple(map(id, events))] = events
    return list(unique.values())


def _unroll(chain: Chain) -> tuple[Event, ...]:
    events = []
    while chain is not None:
        event, chain = chain
        events.append(event)
    return tuple(reversed(events))
