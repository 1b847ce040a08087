"""Follows the values of a script, without running it.

Every suite is gone through in the order of its text, both sides of a branch, loops once.
A call of a function of the file is followed into it; functions that nothing in the file
calls are gone through with arguments of which only the names are known. What comes of it
is a `Program`: every call with the values of its arguments and the autocast regions
around it, and blocks of events (events.py) for the rules that ask for an order."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Sequence

from mpopt.lint import events, library, names, values
from mpopt.lint.events import Block, Event
from mpopt.lint.expressions import Expressions
from mpopt.lint.methods import Methods
from mpopt.lint.options import Options
from mpopt.lint.project import Project, Reference
from mpopt.lint.scopes import Class, Frame, Function, Scope
from mpopt.lint.script import Script
from mpopt.lint.statements import Statements
from mpopt.lint.sums import Sum, Sums
from mpopt.lint.values import NOTHING, Value

# Steps of a file, and more for each of its lines; past them calls are not followed into functions any
# more. A step takes some 3 us: 20 a line are 0.6 of the second that 10,000 lines may take. On 22 public projects
# of a million lines the findings are those of 50,000 and 10.
MOST_STEPS, MOST_STEPS_A_LINE = 10_000, 20
# Steps a line that functions of other files leave: going once through a script takes some 4.
LEFT_A_LINE = 8
MOST_CALLS = 8  # Calls within calls.


@dataclasses.dataclass(eq=False)
class Operation:
    """`left operator right`, or `left operator= right`."""

    node: ast.BinOp | ast.AugAssign
    left: Value
    right: Value
    regions: tuple[values.Region, ...]
    loops: tuple[ast.AST, ...] = ()
    function: ast.AST | None = None
    tests: tuple[tuple[ast.AST, bool], ...] = ()

    @property
    def in_autocast(self) -> bool:
        return events.may_autocast(self.regions)

    def has(self, *operators: type) -> bool:
        return isinstance(self.node.op, operators)

    @property
    def assigns(self) -> bool:
        return isinstance(self.node, ast.AugAssign)

    @property
    def right_node(self) -> ast.expr:
        return self.node.value if isinstance(self.node, ast.AugAssign) else self.node.right


@dataclasses.dataclass(eq=False)
class Program:
    """The program that the rules judge."""

    script: Script
    calls: list[Event] = dataclasses.field(default_factory=list)
    operations: list[Operation] = dataclasses.field(default_factory=list)
    # (path, path by what is imported, value, statement) of each assignment.
    assignments: list[tuple] = dataclasses.field(default_factory=list)
    # By kind, in the order in which they were met.
    events: dict[str, list[Event]] = dataclasses.field(default_factory=dict)
    # Blocks from which others are called: the file's own, and functions nothing calls.
    entries: list[Block] = dataclasses.field(default_factory=list)
    # By the text and outcome of a test: the identities of the modules that are named or trained in the branch.
    chosen: dict[tuple[str, bool], set] = dataclasses.field(default_factory=dict)
    # The sums in 16 bits from which the losses of backward passes come.
    low_sums: list[Sum] = dataclasses.field(default_factory=list)
    # The origins of tensors in 16 bits that ops take which a region computes in FP32.
    widened: set[int] = dataclasses.field(default_factory=set)
    # Steps of optimizers inside of a region that was entered outside of their loop.
    enclosed: list[tuple[Event, values.Region]] = dataclasses.field(default_factory=list)
    # The names of the functions of the entries; empty for the file.
    entry_names: list[str] = dataclasses.field(default_factory=lambda: [""])
    # By identity: the modules whose parameters are frozen, and those that are trained again.
    frozen: dict[object, bool] = dataclasses.field(default_factory=dict)
    mappings: list[Value] = dataclasses.field(default_factory=list)
    # Contexts that are made, and entered by nobody: (node, value).
    unentered: list[tuple[ast.AST, Value]] = dataclasses.field(default_factory=list)
    # The paths through training steps, once a rule has asked for them.
    paths: list[tuple[Event, ...]] | None = None
    imports: list[ast.Import | ast.ImportFrom] = dataclasses.field(default_factory=list)
    # Every `if`, with its place.
    branches: list[tuple[ast.If, Event]] = dataclasses.field(default_factory=list)
    tries: list[tuple] = dataclasses.field(default_factory=list)
    try_bodies: dict[int, Block] = dataclasses.field(default_factory=dict)
    functions: list[Function] = dataclasses.field(default_factory=list)
    classes: list[Class] = dataclasses.field(default_factory=list)
    # Other files of the project that the script uses.
    others: list[Script] = dataclasses.field(default_factory=list)

    @property
    def scripts(self) -> list[Script]:
        return [self.script, *self.others]

    def mentions(self, pattern: re.Pattern) -> bool:
        """True if a file of the program has a match: what the others mention, the program does."""
        return any(script.mentions(pattern) for script in self.scripts)

    @functools.cached_property
    def targets(self) -> dict[int, str]:
        """The paths to which statements assign, by the expressions that they assign."""
        return {id(getattr(statement, "value", None)): path for path, _, _, statement in self.assignments}

    @functools.cached_property
    def _assigned(self) -> dict[str, list[ast.stmt]]:
        found: dict[str, list[ast.stmt]] = {}
        for path, _, _, statement in self.assignments:
            found.setdefault(path, []).append(statement)
        return found

    def find_assigned(self, node: ast.AST) -> ast.AST:
        """The expression that a name got last in the text above it; any other node as it is."""
        if not isinstance(node, ast.Name):
            return node
        before = [statement for statement in self._assigned.get(node.id, ()) if statement.lineno < node.lineno
                  and self.script.owner(statement) is self.script.owner(node) and isinstance(statement, ast.Assign)]
        return max(before, key=lambda statement: statement.lineno).value if before else node

    @functools.cached_property
    def casts(self) -> dict[object, list[Event]]:
        """The casts of each module, by its identity."""
        found: dict[object, list[Event]] = {}
        for event in self.of_kind(events.CAST):
            if event.subject.kind == values.MODULE:
                found.setdefault(event.subject.identity, []).append(event)
        return found

    @functools.cached_property
    def _calls_by_name(self) -> dict[str, list[Event]]:
        """By the last part of what is called."""
        found: dict[str, list[Event]] = {}
        for number, event in enumerate(self.calls):
            event.order = number
            found.setdefault((event.callee.name or event.callee.path).rpartition(".")[2], []).append(event)
        return found

    def calls_of(self, *names: str) -> list[Event]:
        """The calls of functions and methods of these names, whatever library has them."""
        return self._in_order(self._calls_by_name.get(name, ()) for name in names)

    def calls_like(self, name: re.Pattern) -> list[Event]:
        """The same by a pattern of names."""
        return self._in_order(calls for known, calls in self._calls_by_name.items() if name.search(known))

    def calls_that_make(self, kind: str) -> list[Event]:
        return self._calls_by_result.get(kind, [])

    @functools.cached_property
    def _calls_by_result(self) -> dict[str, list[Event]]:
        found: dict[str, list[Event]] = {}
        for event in self.calls:
            found.setdefault(event.result.kind, []).append(event)
        return found

    @staticmethod
    def _in_order(lists: Iterable[Sequence[Event]]) -> list[Event]:
        return sorted((event for each in lists for event in each), key=lambda event: event.order)

    def list_unscaled_backwards(self) -> list[Event]:
        """The backward passes of losses that no scaler of the script has scaled."""
        return [event for event in self.of_kind(events.BACKWARD) if event.scaler is None and not event.subject.has("scaled")]

    def of_kind(self, *kinds: str) -> list[Event]:
        if len(kinds) == 1:
            return self.events.get(kinds[0], [])
        return self._in_order(self.events.get(kind, ()) for kind in kinds)


# Kinds of values that settings and the objects of a library have.
SETTINGS = {values.UNKNOWN, values.CONSTANT, values.DTYPE, values.NAME, values.FUNCTION, values.CLASS, values.INSTANCE}


@dataclasses.dataclass(frozen=True, eq=False)
class Recalled:
    """The result of a call at a depth of calls, and the blocks of its events. `given`: its arguments, whose identities
    stay theirs as long as they are kept."""

    result: Value
    items: tuple
    depth: int
    given: tuple[list[Value], dict[str, Value]]


class Interpreter(Expressions, Methods, Options, Statements, Sums):
    """See the head of this file; its parts are in expressions.py (with calls.py),
    methods.py, options.py and statements.py."""

    def __init__(self, script: Script, project: Project | None = None, patience: int = 1):
        self.program = Program(script)
        self.script, self.project = script, project
        # By path: the variables of the files of the project that are used; None while one is gone through.
        self.imported: dict[str, Scope | None] = {}
        self.scope: Scope = Scope()
        self.block = Block()
        self.regions: tuple[values.Region, ...] = ()
        self.loops: tuple[ast.AST, ...] = ()
        self.tests: tuple[tuple[ast.AST, bool], ...] = ()
        self.entry = 0
        self.no_grad = False
        # By name: the dtypes that an option of the script names.
        self.options: dict[str, Value] = {}
        # By path: the configurations of the project that the script reads.
        self.configurations: dict[str, Value] = {}
        # By the identity of a region: the loops around the place where it was entered last.
        self.entered: dict[int, tuple[ast.AST, ...]] = {}
        # By the identity of a tensor: where it was summed in the 16 bits of a region, outside of it.
        self.sums: dict[int, Sum] = {}
        # The values that an object was made of, by the object's identity.
        self.holdings: dict[object, tuple[Value, ...]] = {}
        # By an object of which nothing is known and a key: the tensor that the script puts there.
        self.items: dict[tuple, Value] = {}
        self.statement: ast.AST | None = None
        self.owner: Class | None = None
        self.owner_scope: Scope | None = None
        self.frame = Frame(None, 0)
        self.active: list[Function] = []
        self.steps = self.recorded = self.effects = 0
        # The steps in functions of other files, and that at which the one being followed was called.
        self.spent = 0
        self.left_at: int | None = None
        # By function, arguments and surroundings: what a call of a function of another file gave. See `recall`.
        self.recalled: dict[tuple, Recalled] = {}
        # Functions that a call was not followed into, since the steps were used up.
        self.unfollowed: set[Function] = set()
        self.most_steps = patience * (MOST_STEPS + MOST_STEPS_A_LINE * len(script.starts))
        self.most_spent = self.most_steps - LEFT_A_LINE * len(script.starts)
        self.evaluators = self.list_handlers("evaluate_")
        self.runners = self.list_handlers("run_")
        # The branches in which a mapping was made, by its parts, which are kept along.
        self.made_under: dict[int, tuple[dict, tuple]] = {}
        # The value of a sequence's element, by the sequence's parts, which are kept along.
        self.elements: dict[int, tuple[tuple, Value]] = {}

    def list_handlers(self, prefix: str) -> dict[type, object]:
        """The methods for the classes of nodes that they are named after."""
        return {getattr(ast, name.removeprefix(prefix)): getattr(self, name) for name in dir(self)
                if name.startswith(prefix) and hasattr(ast, name.removeprefix(prefix))}

    # --- What the parts share ---

    def code(self, node: ast.AST) -> str:
        return self.program.script.code(node)

    def place(self, kind: str, node: ast.AST, **about) -> Event:
        return Event(kind, node, self.statement, regions=self.regions, loops=self.loops, tests=self.tests, entry=self.entry,
                     no_grad=self.no_grad,
                     function=self.frame.function.node if self.frame.function else None, **about)

    def note_operation(self, node: ast.BinOp | ast.AugAssign, left: Value, right: Value) -> Operation:
        operation = Operation(node, left, right, self.regions, self.loops,
                              self.frame.function.node if self.frame.function else None, self.tests)
        self.program.operations.append(operation)
        return operation

    def record(self, kind: str, node: ast.AST, **about) -> None:
        self.recorded += 1
        self.effects += kind != events.OPAQUE
        event = self.place(kind, node, order=self.recorded, **about)
        if kind in events.STEPS:
            outermost = [region for region in self.regions if not region.null][:1]
            self.program.enclosed += [(event, region) for region in outermost
                                      if len(self.entered.get(id(region), self.loops)) < len(self.loops)]
        self.program.events.setdefault(kind, []).append(event)
        self.block.items.append(event)

    # --- Other files of the project ---

    def resolve(self, value: Value) -> Value:
        """The value of an imported name, where the project has its file; else the name."""
        met = set()
        while value.kind == values.NAME and isinstance(value.parts, Reference) and value.parts.name:
            if value.parts in met:
                break
            met.add(value.parts)
            scope = self.load(value.parts.path)
            found = scope.get(value.parts.name) if scope is not None else None
            if found is None:
                break
            value = found
        return value

    def load(self, path: str) -> Scope | None:
        """The variables of a file of the project after its statements; nothing that happens in them is judged."""
        if path in self.imported:
            return self.imported[path]
        script = self.project.read(path) if self.steps <= self.most_steps else None
        self.imported[path] = None
        if script is None:
            return None
        self.program.others.append(script)
        outer = self.program, self.block, self.scope, self.script, self.recalled
        state = self.regions, self.loops, self.tests, self.no_grad, self.statement, self.owner, self.owner_scope, self.frame
        self.program, self.block, self.scope, self.script, self.recalled = Program(script), Block(), Scope(), script, {}
        self.regions, self.loops, self.tests, self.no_grad, self.owner, self.frame = (), (), (), False, None, Frame(None, 0)
        try:
            with self.elsewhere():
                self.run_suite([statement for statement in script.tree.body if not names.is_of_main(statement)])
            self.imported[path] = self.scope
        finally:
            self.program, self.block, self.scope, self.script, self.recalled = outer
            (self.regions, self.loops, self.tests, self.no_grad, self.statement, self.owner, self.owner_scope,
             self.frame) = state
        return self.imported[path]

    def in_autocast(self) -> bool:
        """True if autocast, or a context that may be it, chooses the types of ops."""
        return events.may_autocast(self.regions)

    # --- Functions ---

    def invoke(self, function: Function, arguments: list[Value], keywords: dict[str, Value], node) -> Value:
        """The value of a call of a function of the file, whose events join the block."""
        if function in self.active:
            return NOTHING
        if len(self.active) >= MOST_CALLS or self.steps - self.spent > self.most_steps:
            self.unfollowed.add(function)
            return NOTHING
        if function.script is self.program.script or self.left_at is not None:
            return self.follow(function, arguments, keywords)
        # The script's own functions, with its training, are followed when those of other files are not any more.
        if self.spent > self.most_spent:
            self.unfollowed.add(function)
            self.record(events.OPAQUE, node, callee=Value(name=function.name), arguments=tuple(arguments), keywords=keywords)
            return NOTHING
        with self.elsewhere():
            return self.follow(function, arguments, keywords)

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Counts the steps in another file."""
        left_at, self.left_at = self.left_at, self.steps if self.left_at is None else self.left_at
        try:
            yield
        finally:
            if left_at is None:
                self.spent += self.steps - self.left_at
            self.left_at = left_at

    def follow(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        if self.left_at is not None and self.spent + self.steps - self.left_at > self.most_spent:
            self.unfollowed.add(function)
            return NOTHING
        function.called = True
        if any(decorator.endswith("staticmethod") for decorator in function.decorators):
            arguments = [argument for argument in arguments
                         if argument.kind not in (values.INSTANCE, values.MODULE) or argument.parts is not function.owner]
        key = self.describe_call(function, arguments, keywords)
        if key is None:
            return self.enter(function, arguments, keywords, is_called=True)
        found = self.recalled.get(key)
        if found is None or found.depth > len(self.active):
            effects, place = self.effects, len(self.block.items)
            result = self.enter(function, arguments, keywords, is_called=True)
            if self.effects == effects and not any(result is argument for argument in (*arguments, *keywords.values())):
                self.recalled[key] = Recalled(result, tuple(self.block.items[place:]), len(self.active), (arguments, keywords))
            return result
        self.block.items += found.items
        return found.result

    def describe_call(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> tuple | None:
        """The dependences of the result of a function of another file; None where an argument may be a part of
        the training. Such a call is followed once, if it does nothing that a step consists of: a library asks for its
        settings some hundred times. A function of the script itself may read what the script has changed."""
        if function.script is self.program.script:
            return None
        described: list[tuple] = []
        for name, value in (*enumerate(arguments), *keywords.items()):
            if value.kind not in SETTINGS or value.facts or value.dtype and value.kind != values.DTYPE:
                return None
            if value.kind == values.INSTANCE:
                described.append((name, id(value.parts), len(value.parts.attributes)))
            elif value.kind == values.CONSTANT:
                described.append((name, type(value.parts), value.parts))
            else:
                described.append((name, value.kind, value.name, value.dtype, id(value.parts), value.identity))
        return function, self.regions, bool(self.loops), self.no_grad, tuple(described)

    def enter(self, function: Function, arguments: list[Value], keywords: dict[str, Value], is_called=False) -> Value:
        outer = (self.scope, self.block, self.frame, self.statement, self.owner, self.regions, self.no_grad, self.script)
        self.script = function.script
        self.scope, self.block = Scope(function.scope), Block(is_call=True)
        self.frame, self.owner = Frame(function, len(self.regions)), None
        self.regions += function.regions
        self.entered.update((id(region), self.loops) for region in function.regions)
        self.no_grad = self.no_grad or any(decorator in library.NO_GRAD for decorator in function.decorators)
        self.active.append(function)
        try:
            self.bind(function, arguments, keywords, is_called)
            if isinstance(function.node, ast.Lambda):
                self.frame.returns.append(self.evaluate(function.node.body))
            else:
                self.run_suite(function.node.body)
        finally:
            self.active.pop()
            block, frame = self.block, self.frame
            (self.scope, self.block, self.frame, self.statement, self.owner, self.regions, self.no_grad,
             self.script) = outer
        if block.items:
            self.block.items.append(block)
        if frame.yields and any("contextmanager" in decorator for decorator in function.decorators):
            # One that yields inside of a region on some path may be it.
            inside = next(filter(None, frame.yields), ())
            is_sure = len(frame.yields) == 1
            regions = [Value(values.REGION, parts=region if is_sure else values.maybe(region)) for region in inside]
            return regions[0] if len(regions) == 1 else Value(values.SEQUENCE, name="contexts", parts=tuple(regions))
        return values.join(frame.returns) if frame.returns else NOTHING

    def bind(self, function: Function, arguments: list[Value], keywords: dict[str, Value], is_called: bool) -> None:
        syntax = function.node.args
        count = len(syntax.posonlyargs) + len(syntax.args)
        if function.configuration is not None and not arguments:
            arguments = [function.configuration]
        self.steps += len(function.parameters)
        for index, (parameter, default) in enumerate(function.parameters):
            name = parameter.arg
            value = keywords.get(name)
            if value is None and index < len(arguments) and index < count:
                value = arguments[index]
            if value is None and default is not None and self.active.count(function) == 1:
                value = self.default(function, parameter, default, is_called and "**" not in keywords)
            if value is values.NUMBER:
                value = value.replaced(path=name, origin=parameter)
            elif value is None or value.kind == values.UNKNOWN and not value.facts and not value.path and not value.name:
                is_option = "click" in function.decorator_words and name in self.options
                # Known by its name, and another object than what other functions call so.
                value = self.options[name] if is_option else Value(path=name, origin=parameter)
            self.scope.put(name, value)
        if syntax.vararg is not None:
            self.scope.put(syntax.vararg.arg, NOTHING)
        if syntax.kwarg is not None:
            named = {parameter.arg for parameter, _ in function.parameters}
            rest = {name: value for name, value in keywords.items() if name not in named}
            self.scope.put(syntax.kwarg.arg, Value(values.MAPPING, parts=rest) if is_called and "**" not in rest else NOTHING)

    def default(self, function: Function, parameter: ast.arg, default: ast.expr, is_called: bool) -> Value | None:
        """The default of a parameter that is not given. A constant is no answer: a caller outside the file may
        give another; a number is one in a call that the file has, and no option of the script, and what is None in
        a call is known to be absent there."""
        scope, self.scope = self.scope, function.scope
        try:
            value = self.evaluate(default)
        finally:
            self.scope = scope
        if is_called and values.is_none(default) and library.KEEPING_DECORATORS.issuperset(function.decorators):
            return Value(path=parameter.arg, origin=parameter, facts=frozenset({values.ABSENT}))
        is_number = is_called and isinstance(value.constant, float)
        if not is_number and isinstance(value.constant, (int, float)) and not isinstance(value.constant, bool):
            return values.NUMBER  # Whatever is given is a number.
        return value if is_number or value.kind in (values.DTYPE, values.NAME, values.FUNCTION, values.CLASS) else None

    # --- The whole file ---

    def interpret(self) -> Program:
        program = self.program
        self.run_suite(program.script.tree.body)
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
        bases = made.library_bases
        kind = values.MODULE if any(library.is_module_base(base) for base in bases) else values.INSTANCE
        instance = Value(kind, name=made.node.name, parts=made, origin=made.node, path="self")
        # Values that the constructor and other methods store are known to all methods.
        order = sorted(made.methods.values(), key=lambda method: method.name not in ("__init__", "setup"))
        for method in order:
            if not method.called or method.name == "__init__" and not made.attributes:
                self.enter_alone(method, [instance])

    def enter_alone(self, function: Function, arguments: list[Value]) -> None:
        self.block = Block()
        self.entry += 1
        self.regions, self.loops, self.statement, self.tests, self.no_grad = (), (), None, (), False
        self.enter(function, arguments, {})
        self.program.entries.append(self.block)
        self.program.entry_names.append(function.name)
