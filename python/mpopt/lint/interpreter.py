"""Follows the values of a script, without running it.

Every suite is gone through in the order of its text, both sides of a branch, loops once.
A call of a function of the file is followed into it; functions that nothing in the file
calls are gone through with arguments of which only the names are known. What comes of it
is a `Program`: every call with the values of its arguments and the autocast regions
around it, and blocks of events (events.py) for the rules that ask for an order."""

from __future__ import annotations

import dataclasses
import re

import libcst as cst

from mpopt.lint import events, library, values
from mpopt.lint.events import Block, Event
from mpopt.lint.expressions import Expressions
from mpopt.lint.methods import Methods
from mpopt.lint.scopes import Class, Function, Scope
from mpopt.lint.statements import Statements
from mpopt.lint.values import NOTHING, Value

# Steps of a file; past them calls are not followed into functions any more.
MOST_STEPS = 400_000
MOST_CALLS = 8  # Calls within calls.


@dataclasses.dataclass(eq=False)
class Program:
    """What the rules judge."""

    tree: cst.Module
    text: str
    calls: list[Event] = dataclasses.field(default_factory=list)
    # (node, operator, left, right, place) of each operation on two values.
    operations: list[tuple] = dataclasses.field(default_factory=list)
    # (path, path by what is imported, value, statement, place) of each assignment.
    assignments: list[tuple] = dataclasses.field(default_factory=list)
    events: list[Event] = dataclasses.field(default_factory=list)
    # Blocks from which others are called: the file's own, and functions nothing calls.
    entries: list[Block] = dataclasses.field(default_factory=list)
    mappings: list[Value] = dataclasses.field(default_factory=list)
    # Contexts that are made, and entered by nobody: (node, value).
    unentered: list[tuple[cst.CSTNode, Value]] = dataclasses.field(default_factory=list)
    # The paths through training steps, once a rule has asked for them.
    paths: list[tuple[Event, ...]] | None = None
    imports: list[cst.CSTNode] = dataclasses.field(default_factory=list)
    tries: list[tuple] = dataclasses.field(default_factory=list)
    try_bodies: dict[int, Block] = dataclasses.field(default_factory=dict)
    functions: list[Function] = dataclasses.field(default_factory=list)
    classes: list[Class] = dataclasses.field(default_factory=list)
    modules: frozenset[str] = frozenset()

    def is_module(self, path: str) -> bool:
        """Whether the script uses what has this path as a module."""
        return path in self.modules

    def of_kind(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event.kind in kinds]


@dataclasses.dataclass(eq=False)
class Frame:
    """A function that is being gone through."""

    function: Function | None
    depth: int  # of the regions around it
    returns: list[Value] = dataclasses.field(default_factory=list)
    yields: list[list] = dataclasses.field(default_factory=list)


MODULE_USE = re.compile(r"([A-Za-z_][\w.]*)\.(?:parameters|named_parameters|state_dict|load_state_dict|train|eval|modules)\(")
OTHER_USE = re.compile(r"([A-Za-z_][\w.]*)\.(?:step|zero_grad|unscale_|param_groups)\b")


class Interpreter(Expressions, Methods, Statements):
    """See the head of this file; its parts are in expressions.py (with calls.py),
    methods.py and statements.py."""

    def __init__(self, tree: cst.Module, text: str):
        self.program = Program(tree, text)
        self.program.modules = frozenset(MODULE_USE.findall(text)) - frozenset(OTHER_USE.findall(text))
        self.scope = Scope()
        self.block = Block()
        self.regions: list[values.Region] = []
        self.loops: list[cst.CSTNode] = []
        self.conditions: list[cst.CSTNode] = []
        self.statement: cst.CSTNode | None = None
        self.owner: Class | None = None
        self.owner_scope: Scope | None = None
        self.frame = Frame(None, 0)
        self.active: list[Function] = []
        self.steps = 0
        self.codes: dict[int, str] = {}

    # --- What the parts share ---

    def spend(self) -> None:
        self.steps += 1

    def code(self, node: cst.CSTNode) -> str:
        key = id(node)
        if key not in self.codes:
            self.codes[key] = self.program.tree.code_for_node(node).strip()
        return self.codes[key]

    def place(self, kind: str, node: cst.CSTNode, **about) -> Event:
        return Event(kind, node, self.statement, regions=tuple(self.regions), loops=tuple(self.loops),
                     function=self.frame.function.node if self.frame.function else None, **about)

    def record(self, kind: str, node: cst.CSTNode, **about) -> None:
        event = self.place(kind, node, **about)
        self.program.events.append(event)
        self.block.items.append(event)

    # --- Functions ---

    def invoke(self, function: Function, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
        """The value of a call of a function of the file, whose events join the block."""
        function.called = True
        if function in self.active or len(self.active) >= MOST_CALLS or self.steps > MOST_STEPS:
            return NOTHING
        if any(decorator.endswith("staticmethod") for decorator in function.decorators):
            arguments = [argument for argument in arguments
                         if argument.kind not in (values.INSTANCE, values.MODULE) or argument.parts is not function.owner]
        return self.enter(function, arguments, keywords)

    def enter(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        outer = (self.scope, self.block, self.frame, self.statement, self.owner, self.conditions)
        entered = len(self.regions)
        self.scope, self.block = Scope(function.scope), Block(is_call=True)
        self.frame, self.owner, self.conditions = Frame(function, entered), None, []
        self.regions += function.regions
        self.active.append(function)
        try:
            self.bind(function, arguments, keywords)
            if isinstance(function.node, cst.Lambda):
                self.frame.returns.append(self.evaluate(function.node.body))
            else:
                self.run_suite(function.node.body)
        finally:
            self.active.pop()
            del self.regions[entered:]
            block, frame = self.block, self.frame
            (self.scope, self.block, self.frame, self.statement, self.owner, self.conditions) = outer
        if block.items:
            self.block.items.append(block)
        if frame.yields and any("contextmanager" in decorator for decorator in function.decorators):
            regions = [Value(values.REGION, parts=region) for region in frame.yields[0]]
            return regions[0] if len(regions) == 1 else Value(values.SEQUENCE, name="contexts", parts=tuple(regions))
        return values.join(frame.returns) if frame.returns else NOTHING

    def bind(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> None:
        params = function.node.params
        positional = [*params.posonly_params, *params.params]
        for index, param in enumerate([*positional, *params.kwonly_params]):
            name = param.name.value
            value = keywords.get(name)
            if value is None and index < len(arguments) and index < len(positional):
                value = arguments[index]
            if value is None and param.default is not None and self.active.count(function) == 1:
                value = self.default(function, param)
            if value is None or value.kind == values.UNKNOWN and not value.facts and not value.path and not value.name:
                # Known by its name, and another object than what other functions call so.
                value = Value(path=name, origin=param)
            self.scope.variables[name] = value
        for star in (params.star_arg, params.star_kwarg):
            if isinstance(star, cst.Param):
                self.scope.variables[star.name.value] = NOTHING

    def default(self, function: Function, param: cst.Param) -> Value | None:
        """The default of a parameter that is not given. One that is only a constant is
        no answer: a caller outside the file may give another."""
        scope, self.scope = self.scope, function.scope
        try:
            value = self.evaluate(param.default)
        finally:
            self.scope = scope
        return value if value.kind in (values.DTYPE, values.NAME, values.FUNCTION, values.CLASS) else None

    # --- The whole file ---

    def interpret(self) -> Program:
        program = self.program
        self.run_suite(program.tree)
        program.entries.append(self.block)
        for made in program.classes:
            self.enter_class(made)
        # Functions inside of functions are defined anew by each call.
        met = {id(function.node) for function in program.functions if function.called}
        for function in program.functions:
            if not function.called and not function.owner and id(function.node) not in met:
                met.add(id(function.node))
                self.enter_alone(function, [])
        return program

    def enter_class(self, made: Class) -> None:
        bases = made.list_library_bases()
        kind = values.MODULE if any(library.is_module_base(base) for base in bases) else values.INSTANCE
        instance = Value(kind, name=made.node.name.value, parts=made, origin=made.node, path="self")
        # What the constructor and other methods store is known to all methods.
        order = sorted(made.methods.values(), key=lambda method: method.name not in ("__init__", "setup"))
        for method in order:
            if not method.called or method.name == "__init__" and not made.attributes:
                self.enter_alone(method, [instance])

    def enter_alone(self, function: Function, arguments: list[Value]) -> None:
        self.block = Block()
        self.regions, self.loops, self.statement = [], [], None
        if self.steps <= MOST_STEPS and function not in self.active:
            self.enter(function, arguments, {})
        self.program.entries.append(self.block)
