"""The plan of `mpopt --convert` as a patch of the Python code that a file of PyTorch was made from.

A statement that has to stay in FP32 goes under `torch.autocast(..., enabled=False)`, and what it reads is cast: autocast
that is off leaves a tensor that came in FP16 as it is. Ops are found by the lines that the file has for them."""

import ast
import difflib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from mpopt import _modules
from mpopt._command import Error

_HELPER = "_float32"
_BODY = '''

def {name}(value):
    """A tensor in FP32, for code that autocast does not reach."""
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
'''
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)


class _Source:
    """A file, and the statements in it that go into regions."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, encoding="utf-8") as file:
                self.text = file.read()
            self.tree = ast.parse(self.text)
        except (OSError, ValueError, SyntaxError) as error:
            raise Error(f"its source '{path}' cannot be read ({_modules.reason(error)})") from error
        self.lines = self.text.encode().splitlines(keepends=True)
        #: The body that has each statement, and its place there; the function around it.
        self._homes: dict[ast.stmt, tuple[list, int]] = {}
        self._around: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):
            for child in ast.iter_child_nodes(node):
                self._around[child] = node
            for _, body in ast.iter_fields(node):
                if isinstance(body, list):
                    self._homes |= {each: (body, index) for index, each in enumerate(body) if isinstance(each, ast.stmt)}
        #: Why each statement is in a region.
        self.wide: dict[ast.stmt, str] = {}
        self.name = _HELPER
        while any(isinstance(node, ast.Name) and node.id == self.name for node in ast.walk(self.tree)):
            self.name += "_"

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        above = self._around.get(node)
        while above is not None:
            yield above
            above = self._around.get(above)

    def take(self, line: int, why: str) -> str:
        """Puts the statement of a line into a region. Why not, if it cannot be."""
        found = [each for each in self._homes if each.lineno <= line <= (each.end_lineno or each.lineno)]
        if not found:
            return "no statement is there"
        statement = min(found, key=lambda each: (each.end_lineno or 0) - each.lineno)
        if any(isinstance(each, ast.With) and _is_region(each) for each in self._above(statement)):
            return ""
        if not any(isinstance(each, ast.FunctionDef) for each in self._above(statement)):
            return "it is in no function"
        if not isinstance(statement, _SIMPLE):
            return "a statement of this kind is to be rewritten by hand"
        first = self.lines[statement.lineno - 1]
        alone = not first[:statement.col_offset].strip() and sum(
            each.lineno <= statement.lineno <= (each.end_lineno or 0) for each in self._homes if isinstance(each, _SIMPLE)) == 1
        has_text = any(isinstance(each, ast.Constant | ast.JoinedStr) and each.lineno != each.end_lineno
                       for each in ast.walk(statement))
        if not alone or has_text:
            return "its lines have more than this statement"
        self.wide.setdefault(statement, why)
        return ""

    def _groups(self) -> Iterator[list[ast.stmt]]:
        """Statements that follow one another."""
        group: list[ast.stmt] = []
        for statement in sorted(self.wide, key=lambda each: each.lineno):
            if group:
                body, index = self._homes[group[-1]]
                if index + 1 >= len(body) or body[index + 1] is not statement:
                    yield group
                    group = []
            group.append(statement)
        if group:
            yield group

    def rewrite(self) -> tuple[str, list[dict]]:
        """The new text, and the casts in it."""
        lines = list(self.lines)
        casts = []
        for group in self._groups():
            own: set[str] = set()
            for statement in group:
                reads = [each for each in self._reads(statement) if ast.unparse(each) not in own]
                for each in sorted(reads, key=lambda node: (node.end_lineno, node.end_col_offset), reverse=True):
                    _insert(lines, each.end_lineno, each.end_col_offset, ")")
                    _insert(lines, each.lineno, each.col_offset, f"{self.name}(")
                casts += [{"tensor": ast.unparse(each), "to": "f32", "why": f"read in {self.path}:{each.lineno}"} for each in reads]
                own |= {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
            start, end = group[0].lineno - 1, group[-1].end_lineno or group[-1].lineno
            indent = lines[start][:group[0].col_offset]
            for index in range(start, end):
                lines[index] = b"    " + lines[index] if lines[index].strip() else lines[index]
            why = " ".join(self.wide[group[0]].split())
            lines[start] = indent + f'with torch.autocast("cuda", enabled=False):  # {why}\n'.encode() + lines[start]
        self._add_helper(lines)
        text = b"".join(lines).decode()
        ast.parse(text)
        return text, casts

    def _reads(self, statement: ast.stmt) -> list[Any]:
        """Names that may be tensors from outside: variables of the function, and attributes of `self`."""
        function = next(each for each in self._above(statement) if isinstance(each, ast.FunctionDef))
        arguments = function.args
        given = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        known = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
        known |= set(given)
        found: list[Any] = []

        def visit(node: ast.AST, is_called: bool = False) -> None:
            if isinstance(node, ast.JoinedStr | ast.Lambda):
                return
            if isinstance(node, ast.Name):
                if isinstance(node.ctx, ast.Load) and node.id in known and node.id not in ("self", "cls") and not is_called:
                    found.append(node)
                return
            if isinstance(node, ast.Attribute) and _root(node) == "self":
                # A method of an attribute is called on the tensor.
                tensor = node.value if is_called else node
                if isinstance(node.ctx, ast.Load) and isinstance(tensor, ast.Attribute):
                    found.append(tensor)
                return
            for name, child in ast.iter_fields(node):
                for each in child if isinstance(child, list) else [child]:
                    if isinstance(each, ast.AST):
                        visit(each, isinstance(node, ast.Call) and name == "func")

        visit(statement)
        return found

    def _add_helper(self, lines: list[bytes]) -> None:
        imports = [each for each in self.tree.body if isinstance(each, ast.Import | ast.ImportFrom)]
        has_torch = any(isinstance(each, ast.Import) and any(alias.name == "torch" and not alias.asname for alias in each.names)
                        for each in imports)
        text = ("" if has_torch else "import torch\n") + _BODY.format(name=self.name)
        documented = self.tree.body and ast.get_docstring(self.tree) is not None
        place = imports[-1].end_lineno if imports else self.tree.body[0].end_lineno if documented else 0
        lines.insert(place or 0, text.encode())


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_region(node: ast.With) -> bool:
    """`with torch.autocast(..., enabled=False)`"""
    for item in node.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("autocast"):
            return any(each.arg == "enabled" and isinstance(each.value, ast.Constant) and each.value.value is False
                       for each in call.keywords)
    return False


def _insert(lines: list[bytes], line: int, column: int, text: str) -> None:
    had = lines[line - 1]
    lines[line - 1] = had[:column] + text.encode() + had[column:]


def _names(path: str) -> tuple[str, str]:
    """As `git apply` and `patch -p1` take them where the file is below the folder that the command runs in."""
    inside = os.path.relpath(path)
    return (path, path) if inside.startswith("..") else (f"a/{inside}", f"b/{inside}")


def make(entries: Sequence[dict]) -> tuple[str, list[dict], list[dict], list[str]]:
    """The patch for nodes that stay in FP32, those that it has, its casts, and warnings. Nodes are `node`, `type`, `why`, `file`
    and `line`."""
    sources: dict[str, _Source] = {}
    kept, casts = [], []
    warnings: list[str] = []
    parts: list[str] = []
    for entry in entries:
        if not entry["file"]:
            warnings.append(f"'{entry['node']}' has no line in the file: put its module under "
                            "torch.autocast(..., enabled=False) by hand")
            continue
        source = sources.get(entry["file"]) or sources.setdefault(entry["file"], _Source(entry["file"]))
        why_not = source.take(entry["line"], entry["why"])
        if why_not:
            warnings.append(f"{entry['file']}:{entry['line']}: '{entry['node']}' is not in the patch: {why_not}")
        else:
            kept.append({key: entry[key] for key in ("node", "type", "why")})
    for path in sorted(sources):
        if not sources[path].wide:
            continue
        text, its = sources[path].rewrite()
        casts += its
        before, after = _names(path)
        parts += difflib.unified_diff(sources[path].text.splitlines(keepends=True), text.splitlines(keepends=True), before, after)
    return "".join(parts), kept, casts, warnings
