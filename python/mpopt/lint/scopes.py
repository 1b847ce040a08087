"""Functions and classes of the file, and the variables of a scope."""

from __future__ import annotations

import dataclasses

import libcst as cst

from mpopt.lint import values
from mpopt.lint.values import NOTHING, Region, Value


@dataclasses.dataclass(eq=False)
class Function:
    node: cst.FunctionDef | cst.Lambda
    scope: Scope
    owner: Class | None = None
    # Autocast contexts that decorate it.
    regions: tuple[Region, ...] = ()
    decorators: tuple[str, ...] = ()
    called: bool = False

    @property
    def name(self) -> str:
        return self.node.name.value if isinstance(self.node, cst.FunctionDef) else "<lambda>"


@dataclasses.dataclass(eq=False)
class Class:
    node: cst.ClassDef
    bases: tuple[Value, ...] = ()
    methods: dict[str, Function] = dataclasses.field(default_factory=dict)
    # What methods store under `self`, by name.
    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)

    def find_method(self, name: str, depth: int = 8) -> Function | None:
        if name in self.methods:
            return self.methods[name]
        for base in self.bases if depth else ():
            if base.kind == values.CLASS and (found := base.parts.find_method(name, depth - 1)):
                return found
        return None

    def find_attribute(self, name: str, depth: int = 8) -> Value | None:
        if name in self.attributes:
            return self.attributes[name]
        for base in self.bases if depth else ():
            if base.kind == values.CLASS and (found := base.parts.find_attribute(name, depth - 1)):
                return found
        return None

    def list_library_bases(self, depth: int = 8) -> list[str]:
        """The full names of the classes of libraries that it derives from."""
        names = [base.name for base in self.bases if base.kind != values.CLASS and base.name]
        for base in self.bases if depth else ():
            if base.kind == values.CLASS:
                names += base.parts.list_library_bases(depth - 1)
        return names

    @property
    def has_hidden_base(self) -> bool:
        """Whether it derives from what the file does not show."""
        return any(base.parts.has_hidden_base if base.kind == values.CLASS else base.name != "object"
                   for base in self.bases)


class Scope:
    """Variables by their dotted paths (`self.scaler`); unknown ones are looked up in the
    scopes around."""

    def __init__(self, parent: Scope | None = None):
        self.parent = parent
        self.variables: dict[str, Value] = {}
        self.shared: set[str] = set()  # `global` and `nonlocal` names

    def get(self, path: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if path in scope.variables:
                return scope.variables[path]
            # A name of its own hides the attributes that an outer one has.
            if path.partition(".")[0] in scope.variables and "." in path:
                return None
            scope = scope.parent
        return None

    def set(self, path: str, value: Value) -> None:
        name = path.partition(".")[0]
        if name in self.shared and self.parent is not None:
            self.parent.set(path, value)
            return
        prefix = path + "."
        for known in [known for known in self.variables if known.startswith(prefix)]:
            del self.variables[known]
        self.variables[path] = value

    def snapshot(self) -> dict[str, Value]:
        return dict(self.variables)

    def merge(self, snapshots: list[dict[str, Value]]) -> None:
        """The variables after branches that end with these."""
        if not snapshots:
            return
        if len(snapshots) == 1:
            self.variables = dict(snapshots[0])
            return
        merged = {}
        for path in {path for snapshot in snapshots for path in snapshot}:
            found = [snapshot[path] for snapshot in snapshots if path in snapshot]
            same = all(value is found[0] for value in found)
            merged[path] = found[0] if same else values.join(found)
        self.variables = merged


__all__ = ["NOTHING", "Class", "Function", "Scope"]
