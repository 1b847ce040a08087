"""Where the numbers of a script's own FP8 come from: assignments, arguments, results, attributes; and its casts to FP8."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from mpopt.lint.interpreter import Program
from mpopt.lint.scopes import list_parameters

FORMATS = {"float8_e4m3fn": 448.0, "float8_e4m3fnuz": 240.0, "float8_e5m2": 57344.0, "float8_e5m2fnuz": 57344.0}
LARGEST = re.compile(r"^(?:max|amax|aminmax|norm)$")
LIMITS = {"clamp", "clamp_", "clip", "clip_", "minimum", "hardtanh", "nan_to_num"}
LIBRARIES = {"torch", "tl", "np", "numpy", "jnp"}
FP8 = re.compile(r"float8|fp8|is_first_microbatch", re.I)
# Names are followed to what was assigned to them, this often.
DEEPEST = 8
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def is_own(node: ast.AST, name: str = "") -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self" and (not name or node.attr == name)


class Flow:
    """Where the numbers of an expression come from in the file: assignments, arguments of calls, results of functions, attributes."""

    def __init__(self, tree: ast.Module):
        self.around: dict[int, ast.AST] = {}
        self.owners: dict[int, ast.ClassDef] = {}
        self.assigned: dict[tuple[int, str], list[tuple[int, ast.expr]]] = {}
        self.functions: dict[str, list[ast.FunctionDef]] = {}
        self.calls: dict[str, list[ast.Call]] = {}
        pending: list[tuple[ast.AST, ast.AST, ast.ClassDef | None]] = [(tree, tree, None)]
        while pending:
            node, around, owner = pending.pop()
            self.around[id(node)] = around
            if owner is not None:
                self.owners[id(node)] = owner
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.note(node, target, around, owner)
            elif isinstance(node, ast.Call):
                self.calls.setdefault(name_of(node), []).append(node)
            elif isinstance(node, ast.FunctionDef):
                self.functions.setdefault(node.name, []).append(node)
            inner = node if isinstance(node, FUNCTIONS) else around
            held = node if isinstance(node, ast.ClassDef) else owner
            pending += [(child, inner, held) for child in ast.iter_child_nodes(node)]

    def note(self, node: ast.Assign, target: ast.expr, around: ast.AST, owner: ast.ClassDef | None) -> None:
        if isinstance(target, ast.Tuple):
            values_of = node.value.elts if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts) else [node.value] * len(target.elts)
            for part, value in zip(target.elts, values_of):
                if isinstance(part, ast.Name):
                    self.assigned.setdefault((id(around), part.id), []).append((node.lineno, value))
        elif isinstance(target, ast.Name):
            self.assigned.setdefault((id(around), target.id), []).append((node.lineno, node.value))
        else:
            target = target.value if isinstance(target, ast.Subscript) else target
            if owner is not None and is_own(target):
                self.assigned.setdefault((id(owner), target.attr), []).append((node.lineno, node.value))

    def sources(self, node: ast.AST) -> list[ast.expr]:
        """The value that a name, an attribute of `self` or a call of a function of the file stands for; nothing where the file does not show it."""
        if isinstance(node, ast.Name):
            return self.sources_of_name(node)
        if is_own(node) and (owner := self.owners.get(id(node))):
            return [value for _, value in self.assigned.get((id(owner), node.attr), ())]
        if isinstance(node, ast.Call) and (isinstance(node.func, ast.Name) or is_own(node.func)):
            made = self.functions.get(name_of(node), ())
            return [part.value for part in ast.walk(made[0]) if isinstance(part, ast.Return) and part.value is not None] if len(made) == 1 else []
        return []

    def sources_of_name(self, node: ast.Name) -> list[ast.expr]:
        around = self.around.get(id(node))
        before = [found for found in self.assigned.get((id(around), node.id), ()) if found[0] < node.lineno]
        if before:
            return [max(before, key=lambda found: found[0])[1]]
        if isinstance(around, FUNCTIONS):
            for at, (parameter, default) in enumerate(list_parameters(around.args)):
                if parameter.arg == node.id:
                    return [*([default] if default is not None else []), *self.arguments(around, at, node.id)]
            return [value for _, value in self.assigned.get((self.whole, node.id), ())[-1:]]
        return []

    @property
    def whole(self) -> int:
        return next(iter(self.around))

    def arguments(self, function: ast.AST, at: int, name: str) -> Iterator[ast.expr]:
        at -= id(function) in self.owners
        for call in self.calls.get(getattr(function, "name", ""), ()):
            given = next((keyword.value for keyword in call.keywords if keyword.arg == name), call.args[at] if 0 <= at < len(call.args) else None)
            if given is not None:
                yield given


FLOWS: WeakKeyDictionary[ast.Module, Flow] = WeakKeyDictionary()


def flow_of(program: Program) -> Flow:
    tree = program.script.tree
    if tree not in FLOWS:
        FLOWS[tree] = Flow(tree)
    return FLOWS[tree]


def walk(program: Program, node: ast.AST, depth: int = DEEPEST) -> Iterator[ast.AST]:
    """The parts of an expression, and of what they stand for."""
    flow, seen, pending = flow_of(program), set(), [(node, depth)]
    while pending:
        node, depth = pending.pop()
        for part in ast.walk(node):
            if id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            if depth:
                pending += [(made, depth - 1) for made in flow.sources(part)]


def find_made(program: Program, node: ast.expr) -> ast.expr:
    """The expression that a name stands for; any other node as it is."""
    for _ in range(DEEPEST):
        made = flow_of(program).sources(node) if isinstance(node, ast.Name) else []
        if len(made) != 1:
            break
        node = made[0]
    return node


def list_formats(program: Program, node: ast.AST) -> list[str]:
    return list(dict.fromkeys(name for part in walk(program, node) if (name := getattr(part, "attr", "")) in FORMATS))


def list_casts(program: Program) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """The casts to a format of FP8, each with what is cast and the expression of the format."""
    if FP8.search(program.script.text) is None:
        return
    calls = flow_of(program).calls
    for node in sorted([*calls.get("to", ()), *calls.get("type", ())], key=lambda call: (call.lineno, call.col_offset)):
        if not isinstance(node.func, ast.Attribute):
            continue
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "dtype")]
        for each in given:
            if list_formats(program, each) or getattr(each, "attr", "") == "element_ty":
                yield node, node.func.value, each
                break


def object_of(call: ast.Call) -> ast.expr | None:
    """The object of a method; None for a function, also for one of a library."""
    own = call.func.value if isinstance(call.func, ast.Attribute) else None
    return None if isinstance(own, ast.Name) and own.id in LIBRARIES else own


def find_guarded(call: ast.Call) -> ast.expr:
    """The operand of a guard: the object of a method, else the first argument."""
    own = object_of(call)
    return own if own is not None else call.args[0] if call.args else call.func


def find_scaled(program: Program, node: ast.expr) -> ast.BinOp | None:
    """The product or quotient by a scale that an expression is, if nothing limits it."""
    for _ in range(DEEPEST):
        node = find_made(program, node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            return node
        # Casts and views.
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or name_of(node) in LIMITS:
            return None
        node = find_guarded(node)
    return None


def find_quotient(program: Program, cast: ast.expr) -> ast.BinOp | None:
    """The product or quotient by a scale, past limits and casts."""
    made = find_made(program, cast)
    for _ in range(DEEPEST):  # a function that calls itself has no end
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
            break
        made = find_made(program, find_guarded(made))
    return find_scaled(program, made)
