"""Changes that `--fix` makes: edits of the text at the places of nodes, with all the rest as it was."""

from __future__ import annotations

import ast
import bisect
import dataclasses
import difflib
import functools
import re
from collections.abc import Callable

from mpopt.lint.script import Script

# Where a piece of text begins and ends, and what stands in its place.
Edit = tuple[int, int, str]
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Delete,
          ast.Import, ast.ImportFrom, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)


@dataclasses.dataclass(frozen=True)
class Change:
    """`text`: what it does, in words."""

    text: str
    edits: tuple[Edit, ...]


def apply(text: str, changes: list[Change]) -> str:
    """The text after the changes. Where two of them overlap, the second gives way."""
    taken: list[Edit] = []
    for change in changes:
        if not any(_overlaps(edit, taken) for edit in change.edits):
            for edit in change.edits:
                bisect.insort(taken, edit)
    parts, at = [], 0
    for start, end, new in taken:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _overlaps(edit: Edit, taken: list[Edit]) -> bool:
    start, end, _ = edit
    at = bisect.bisect_left(taken, (start, -1, ""))
    return at > 0 and taken[at - 1][1] > start \
        or at < len(taken) and (taken[at][0] < end or taken[at][:2] == (start, end) and start == end)


def make_diff(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True),
                                 f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def of_own_text(make: Callable) -> Callable:
    """A change is one of the file that is judged: there is none for a node of another file of the project."""
    @functools.wraps(make)
    def checked(judged, *about):
        script = getattr(judged, "script", judged)
        nodes = [part for each in about for part in (each, getattr(each, "node", None), getattr(each, "statement", None))
                 if isinstance(part, ast.AST)]
        return make(judged, *about) if all(script.owner(node) is script for node in nodes) else None
    return checked


def replace(script: Script, node: ast.AST, code: str) -> Edit:
    return *script.span(node), code


@of_own_text
def replace_expression(script: Script, node: ast.AST, code: str) -> Change:
    return Change(code, (replace(script, node, code),))


# --- Statements ---


def _indent(script: Script, statement: ast.AST | None) -> str | None:
    """The indentation of a simple statement that begins a line."""
    if not isinstance(statement, SIMPLE):
        return None
    start = script.starts[statement.lineno - 1]
    before = script.text[start:script.span(statement)[0]]
    return before if not before.strip() else None


def _newline(script: Script) -> str:
    first = script.starts[1] if len(script.starts) > 1 else 0
    return "\r\n" if script.text[:first].endswith("\r\n") else "\n"


@of_own_text
def insert_before(script: Script, statement: ast.AST | None, code: str) -> Change | None:
    indent = _indent(script, statement)
    if statement is None or indent is None:
        return None
    at = script.span(statement)[0]
    return Change(f"insert {code}", ((at, at, code + _newline(script) + indent),))


@of_own_text
def insert_after(script: Script, statement: ast.AST | None, code: str) -> Change | None:
    indent = _indent(script, statement)
    if statement is None or indent is None:
        return None
    end = script.span(statement)[1]
    rest = re.compile(r"[ \t]*(#[^\r\n]*)?(?=[\r\n]|$)").match(script.text, end)
    return Change(f"insert {code}", ((rest.end(), rest.end(), _newline(script) + indent + code),)) if rest else None


@of_own_text
def remove_statement(script: Script, statement: ast.AST | None, node: ast.AST) -> Change | None:
    """Takes away a statement that is a call and nothing else, with its line; a comment behind it stays."""
    if not isinstance(statement, ast.Expr) or statement.value is not node or _indent(script, statement) is None:
        return None
    start, end = script.span(statement)
    rest = re.compile(r"[ \t]*(#|\r\n|\r|\n)").match(script.text, end)
    if rest is None:
        return None
    edit = (start, rest.start(1), "") if rest[1] == "#" else (script.starts[statement.lineno - 1], rest.end(), "")
    return Change(f"remove {script.code(statement)}", (edit,))


@of_own_text
def assign(script: Script, statement: ast.AST, code: str) -> Change | None:
    if not isinstance(statement, ast.Assign):
        return None
    return Change(f"= {code}", (replace(script, statement.value, code),))


# --- The training step ---


@of_own_text
def rename_method(script: Script, call: ast.Call, name: str) -> Change | None:
    """`x.half()` becomes `x.float()`."""
    end = script.span(call.func)[1]
    start = end - len(call.func.attr)
    if script.text[start:end] != call.func.attr:
        return None
    return Change(f".{name}()", ((start, end, name),))


@of_own_text
def scale_loss(script: Script, backward, step) -> Change | None:
    """`loss.backward()` becomes `scaler.scale(loss).backward()`."""
    call = backward.node
    if not isinstance(call.func, ast.Attribute) or not isinstance(step.node.func, ast.Attribute) \
            or backward.function is not step.function:
        return None
    scaler = script.code(step.node.func.value)
    start, end = script.span(call.func.value)
    return Change(f"{scaler}.scale(loss).backward()", ((start, start, f"{scaler}.scale("), (end, end, ")")))


# Statements that may follow a backward pass without needing autocast, and how long one may be.
AFTER_BACKWARD = re.compile(
    r"^[\w.\[\]]*(?:\.backward|optim\w*\.\w+|opt\.\w+|scaler\w*\.\w+|scheduler\w*\.step|zero_grad|clip_grad_\w+)\(")
LONGEST_STATEMENT = 1000


def _may_move(script: Script, statement: ast.stmt) -> bool:
    code = script.code(statement)
    return isinstance(statement, SIMPLE) and len(code) <= LONGEST_STATEMENT and bool(AFTER_BACKWARD.match(code)) \
        and not any(isinstance(node, (ast.Constant, ast.JoinedStr)) and (node.end_lineno or node.lineno) > node.lineno
                    for node in ast.walk(statement))


@of_own_text
def move_out_of_with(program, region, event) -> Change | None:
    """Moves backward(), and what follows it, behind the `with` of the region, where all
    of that is about gradients and the optimizer."""
    # A region may have been made before the `with` that enters it.
    entered = {id(entry.node) for entry in program.of_kind("context") if entry.subject.parts.node is region.node}
    script = program.script
    found = _find_with(script.tree, entered, event.statement)
    if found is None:
        return None
    block, index = found
    tail = block.body[index:]
    inner = _indent(script, tail[0])
    outer = script.text[script.starts[block.lineno - 1]:script.span(block)[0]]
    if inner is None or outer.strip() or not all(_may_move(script, statement) for statement in tail):
        return None
    start = script.starts[tail[0].lineno - 1]
    below = block.end_lineno or block.lineno
    end = script.starts[below] if below < len(script.starts) else len(script.text)
    lines = [outer + line[len(inner):] if line.startswith(inner) else line
             for line in script.text[start:end].splitlines(keepends=True)]
    return Change("move it behind the with block", ((start, end, "".join(lines)),))


def _find_with(tree: ast.Module, entered: set[int], statement) -> tuple[ast.With | ast.AsyncWith, int] | None:
    """The `with` statement of a region that has the statement, not as its first one."""
    for node in ast.walk(tree) if statement is not None else ():
        if isinstance(node, (ast.With, ast.AsyncWith)) and any(id(item.context_expr) in entered for item in node.items):
            index = next((index for index, part in enumerate(node.body) if part is statement), 0)
            if index:
                return node, index
    return None


@of_own_text
def call_with_loss(script: Script, call: ast.AST, function: str) -> Change | None:
    """`loss.backward()` becomes a call of another function with the loss."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return None
    return Change(f"{function}(loss)", (replace(script, call, f"{function}({script.code(call.func.value)})"),))


@of_own_text
def managed_clip(script: Script, call: ast.AST, manager: str) -> Change | None:
    name = _last_name(call.func) if isinstance(call, ast.Call) else ""
    if not name.startswith("clip_grad_"):
        return None
    return Change(f"{manager}.{name}", (replace(script, call.func, f"{manager}.{name}"),))


@of_own_text
def mask_of_finfo(script: Script, call: ast.AST) -> Change | None:
    """`x.masked_fill(mask, -1e9)` takes the least number of x's type."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) \
            or call.func.attr not in ("masked_fill", "masked_fill_") \
            or not isinstance(call.func.value, (ast.Name, ast.Attribute)):
        return None
    tensor = script.code(call.func.value)
    if tensor == "torch" or not re.search(r"^[ \t]*import torch\b", script.text, re.M):
        return None
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    value = next((keyword.value for keyword in call.keywords if keyword.arg == "value"), given[-1])
    limit = f"torch.finfo({tensor}.dtype).min"
    return Change(limit, (replace(script, value, limit),))


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


# --- Old names of torch.amp ---


def _can_take_device(call: ast.AST, short: str) -> bool:
    """True if arguments say the same behind a device: at most one is not named."""
    if short not in ("autocast", "GradScaler") or not isinstance(call, ast.Call):
        return False
    unnamed = len(call.args) + sum(keyword.arg is None for keyword in call.keywords)
    return unnamed <= 1 and not any(isinstance(argument, ast.Starred) for argument in call.args)


def _insert_device(script: Script, call: ast.Call, device: str) -> Edit | None:
    """The device, as the first argument."""
    opening = re.compile(r"[ \t]*\(").match(script.text, script.span(call.func)[1])
    if opening is None:
        return None
    new = f'"{device}"' + (", " if call.args or call.keywords else "")
    # The old autocast's first argument is `enabled`.
    if call.args:
        new += "enabled=" if "autocast" in _last_name(call.func) else "init_scale="
    return opening.end(), opening.end(), new


@of_own_text
def modern_call(script: Script, call: ast.Call, device: str, short: str, path: str) -> Change | None:
    """`torch.cuda.amp.autocast(...)` becomes `torch.amp.autocast("cuda", ...)`."""
    if not _can_take_device(call, short) or not re.fullmatch(r"torch\.(cuda|cpu)\.amp\.\w+", path):
        return None
    insertion = _insert_device(script, call, device)
    if insertion is None:
        return None
    return Change(f'torch.amp.{short}("{device}")', (replace(script, call.func, f"torch.amp.{short}"), insertion))


def _list_names(node: ast.AST) -> list[str]:
    """The names that a node itself uses or binds, but for an import from a module."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.arg):
        return [node.arg]
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, ast.Import):
        return [alias.asname or alias.name for alias in node.names]
    name = getattr(node, "name", None)
    return [name] if isinstance(name, str) and not isinstance(node, ast.alias) else []


def _find_calls(tree: ast.Module, names: set[str]) -> list[ast.Call] | None:
    """The calls of names, if calls are all that is made of them."""
    calls, uses, imports = [], 0, 0
    for node in ast.walk(tree):
        uses += sum(name in names for name in _list_names(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            calls.append(node)
        if isinstance(node, ast.ImportFrom):
            imports += any((alias.asname or alias.name) in names for alias in node.names)
    # Other statements that bind the same names would be called with a device, too.
    return calls if uses == len(calls) and imports == 1 else None


@of_own_text
def modern_import(program, node: ast.AST) -> Change | None:
    """`from torch.cuda.amp import autocast` becomes one from torch.amp, and all calls get
    the device, if calls are all that the file makes of the names."""
    script = program.script
    if not isinstance(node, ast.ImportFrom) or node.level or node.names[0].name == "*":
        return None
    match = re.fullmatch(r"torch\.(cuda|cpu)\.amp", node.module or "")
    if match is None or any(alias.name not in ("autocast", "GradScaler") for alias in node.names):
        return None
    bound = {alias.asname or alias.name: alias.name for alias in node.names}
    calls = _find_calls(script.tree, set(bound))
    place = re.compile(r"from[ \t]+(torch\.(?:cuda|cpu)\.amp)\b").match(script.text, script.span(node)[0])
    if calls is None or place is None or not all(_can_take_device(call, bound[call.func.id]) for call in calls):
        return None
    insertions = [insertion for call in calls if (insertion := _insert_device(script, call, match[1]))]
    if len(insertions) < len(calls):
        return None
    return Change(f'import from torch.amp, with "{match[1]}" as first argument',
                  ((*place.span(1), "torch.amp"), *insertions))
