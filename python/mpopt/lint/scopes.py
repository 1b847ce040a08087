"""Functions and classes of the file, and the variables of a scope."""

from __future__ import annotations

import ast
import dataclasses
import functools

from mpopt.lint import values
from mpopt.lint.script import Script
from mpopt.lint.values import NOTHING, Region, Value

# Classes that a class derives from, and how far: one with more is not known whole.
MOST_BASES = 64
DEEPEST_BASE = 8


def list_parameters(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters that have names of their own, with their defaults."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    return [*zip(positional, defaults), *zip(arguments.kwonlyargs, arguments.kw_defaults)]


@dataclasses.dataclass(eq=False)
class Function:
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    script: Script
    owner: Class | None = None
    # Autocast contexts that decorate it.
    regions: tuple[Region, ...] = ()
    decorators: tuple[str, ...] = ()
    called: bool = False
    # The configuration that a decorator hands over.
    configuration: Value | None = None

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")

    def decorators_have(self, *words: str) -> bool:
        return any(word in decorator for decorator in self.decorators for word in words)

    @functools.cached_property
    def decorator_words(self) -> frozenset[str]:
        return frozenset(word for decorator in self.decorators for word in decorator.split("."))

    @functools.cached_property
    def parameters(self) -> list[tuple[ast.arg, ast.expr | None]]:
        return list_parameters(self.node.args)


@dataclasses.dataclass(eq=False)
class Class:
    node: ast.ClassDef
    bases: tuple[Value, ...] = ()
    methods: dict[str, Function] = dataclasses.field(default_factory=dict)
    # Values that methods store under `self`, by name.
    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)
    # The names of those that a cast of the module casts along.
    buffers: set[str] = dataclasses.field(default_factory=set)
    # How many objects the script makes.
    made: int = 0

    @functools.cached_property
    def lineage(self) -> tuple[list[Class], list[Value], bool]:
        """The class and the classes of the file that it derives from, in the order in which they are
        searched; its bases that are not of the file; and whether there are more than are followed."""
        found: dict[int, Class] = {}
        others: list[Value] = []
        pending: list[tuple[Class, int]] = [(self, 0)]
        cut = False
        while pending:
            made, depth = pending.pop()
            if id(made) in found:
                continue
            if len(found) >= MOST_BASES or depth > DEEPEST_BASE:
                cut = True
                continue
            found[id(made)] = made
            inner = [base for base in made.bases[:MOST_BASES] if base.kind == values.CLASS]
            others += [base for base in made.bases[:MOST_BASES] if base.kind != values.CLASS]
            cut = cut or len(made.bases) > MOST_BASES
            pending += [(base.parts, depth + 1) for base in reversed(inner)]
        return list(found.values()), others, cut

    def find_method(self, name: str) -> Function | None:
        for made in self.lineage[0]:
            if name in made.methods:
                return made.methods[name]
        return None

    def find_attribute(self, name: str) -> Value | None:
        for made in self.lineage[0]:
            if name in made.attributes:
                return made.attributes[name]
        return None

    @functools.cached_property
    def library_bases(self) -> list[str]:
        """The full names of the classes of libraries that it derives from."""
        return [base.name for base in self.lineage[1] if base.name]

    @functools.cached_property
    def has_hidden_base(self) -> bool:
        """True if it derives from what the file does not show."""
        _, others, cut = self.lineage
        return cut or any(base.name != "object" for base in others)


@dataclasses.dataclass(eq=False)
class Frame:
    """A function that is being gone through."""

    function: Function | None
    depth: int  # of the regions around it
    returns: list[Value] = dataclasses.field(default_factory=list)
    yields: list[list] = dataclasses.field(default_factory=list)


# In changes of a branch: the variable is not there.
MISSING = Value(name="missing")
Changes = dict[str, Value]


class Scope:
    """Variables by their dotted paths (`self.scaler`); unknown ones are looked up in the
    scopes around.

    What a branch does is noted, and undone at its end: the time that branches take follows what
    they change, not how many variables there are."""

    def __init__(self, parent: Scope | None = None):
        self.parent = parent
        self.variables: dict[str, Value] = {}
        self.shared: set[str] = set()  # `global` and `nonlocal` names
        self.inner: dict[str, set[str]] = {}  # The paths that begin with a path and a dot.
        self.notes: list[Changes] = []  # What variables were before each branch that is open.

    def get(self, path: str) -> Value | None:
        scope: Scope | None = self
        if "." in path:
            return self.get_member(path)
        while scope is not None:
            if (found := scope.variables.get(path)) is not None:
                return found
            scope = scope.parent
        return None

    def get_member(self, path: str) -> Value | None:
        scope: Scope | None = self
        first = path.partition(".")[0]
        while scope is not None:
            if (found := scope.variables.get(path)) is not None:
                return found
            # A name of its own hides the attributes that an outer one has.
            if first in scope.variables:
                return None
            scope = scope.parent
        return None

    def set(self, path: str, value: Value) -> None:
        if self.shared and self.parent is not None and path.partition(".")[0] in self.shared:
            self.parent.set(path, value)
            return
        for known in tuple(self.inner.get(path, ())):
            self.change(known, MISSING)
        self.change(path, value)

    def change(self, path: str, value: Value) -> None:
        """Sets one variable, or takes it away, and nothing else."""
        if self.notes:
            self.notes[-1].setdefault(path, self.variables.get(path, MISSING))
        self.put(path, value)

    def put(self, path: str, value: Value) -> None:
        is_new = path not in self.variables
        if value is MISSING:
            self.variables.pop(path, None)
        else:
            self.variables[path] = value
        if is_new != (value is MISSING) and "." in path:
            self.index(path, is_new)

    def index(self, path: str, is_there: bool) -> None:
        at = path.find(".")
        while at >= 0:
            paths = self.inner.setdefault(path[:at], set())
            (paths.add if is_there else paths.discard)(path)
            at = path.find(".", at + 1)

    def begin_branch(self) -> None:
        self.notes.append({})

    def end_branch(self) -> Changes:
        """Undoes what was changed since the last `begin_branch`, and gives it."""
        before = self.notes.pop()
        changes = {path: self.variables.get(path, MISSING) for path in before}
        for path, value in before.items():
            self.put(path, value)
        return changes

    def merge(self, ends: list[Changes]) -> None:
        """The variables after branches that changed these."""
        if len(ends) == 1:
            for path, value in ends[0].items():
                self.change(path, value)
            return
        for path in dict.fromkeys(path for changes in ends for path in changes):
            before = self.variables.get(path, MISSING)
            found = [value for changes in ends if (value := changes.get(path, before)) is not MISSING]
            if found:
                made = values.join(found)
                # A value is known by the name that it gets.
                self.change(path, made.replaced(path=path) if made.kind == values.UNKNOWN and not made.path else made)
            else:
                self.change(path, MISSING)


__all__ = ["NOTHING", "Class", "Function", "Scope"]
