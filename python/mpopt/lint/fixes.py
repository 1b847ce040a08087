"""Changes that `--fix` makes: replacements of nodes of the tree, which LibCST writes back
with all the rest as it was."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable

import libcst as cst

# Of a node as it is after changes inside it: what stands in its place.
Replace = Callable[[cst.CSTNode], cst.CSTNode | cst.FlattenSentinel | cst.RemovalSentinel]


@dataclasses.dataclass(frozen=True)
class Change:
    """`text`: what it does, in words. `replacements` by the identity of their nodes."""

    text: str
    replacements: dict[int, Replace]


class _Rewriter(cst.CSTTransformer):
    def __init__(self, replacements: dict[int, list[Replace]]):
        super().__init__()
        self.replacements = replacements

    def on_leave(self, original_node, updated_node):
        for replace in self.replacements.get(id(original_node), ()):
            if not isinstance(updated_node, cst.CSTNode):
                break
            updated_node = replace(updated_node)
        return updated_node


def apply(tree: cst.Module, changes: list[Change]) -> str:
    """The text after the changes. Where two of them replace the same node, the second
    gives way."""
    taken: dict[int, list[Replace]] = {}
    for change in changes:
        if not any(key in taken for key in change.replacements):
            for key, replace in change.replacements.items():
                taken[key] = [replace]
    return tree.visit(_Rewriter(taken)).code


def make_diff(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True),
                                 f"a/{path}", f"b/{path}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def change(text: str, node: cst.CSTNode, replace: Replace) -> Change:
    return Change(text, {id(node): replace})


def replace_expression(node: cst.CSTNode, code: str) -> Change:
    new = cst.parse_expression(code)
    return change(code, node, lambda _: new)


def insert_before(statement: cst.CSTNode | None, code: str) -> Change | None:
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    new = cst.parse_statement(code + "\n")

    def replace(updated):
        first = new.with_changes(leading_lines=updated.leading_lines)
        return cst.FlattenSentinel([first, updated.with_changes(leading_lines=())])
    return change(f"insert {code}", statement, replace)


def insert_after(statement: cst.CSTNode | None, code: str) -> Change | None:
    if not isinstance(statement, cst.SimpleStatementLine):
        return None
    new = cst.parse_statement(code + "\n")
    return change(f"insert {code}", statement, lambda updated: cst.FlattenSentinel([updated, new]))


def rename_method(call: cst.Call, name: str) -> Change:
    """`x.half()` becomes `x.float()`."""
    return change(f".{name}()", call, lambda updated: updated.with_changes(
        func=updated.func.with_changes(attr=cst.Name(name))))


def assign(statement: cst.CSTNode, code: str) -> Change | None:
    if not isinstance(statement, cst.Assign):
        return None
    return change(f"= {code}", statement, lambda updated: updated.with_changes(value=cst.parse_expression(code)))


def scale_loss(program, backward, step) -> Change | None:
    """`loss.backward()` becomes `scaler.scale(loss).backward()`."""
    node = backward.node
    if not isinstance(node.func, cst.Attribute) or not isinstance(step.node.func, cst.Attribute) \
            or backward.function is not step.function:
        return None
    scaler = program.tree.code_for_node(step.node.func.value).strip()
    return change(f"{scaler}.scale(loss).backward()", node, lambda updated: updated.with_changes(
        func=updated.func.with_changes(value=cst.Call(
            cst.parse_expression(f"{scaler}.scale"), [cst.Arg(updated.func.value)]))))


# What may follow a backward pass without needing autocast.
AFTER_BACKWARD = re.compile(
    r"^[\w.\[\]]*(?:\.backward|optim\w*\.\w+|opt\.\w+|scaler\w*\.\w+|scheduler\w*\.step|zero_grad|clip_grad_\w+)\(")


def move_out_of_with(program, region, event) -> Change | None:
    """Moves backward(), and what follows it, behind the `with` of the region, where all
    of that is about gradients and the optimizer."""
    # A region may have been made before the `with` that enters it.
    entered = {id(entry.node) for entry in program.events
               if entry.kind == "context" and entry.subject.parts.node is region.node}
    found = _find_with(program.tree, entered, event.statement)
    if found is None:
        return None
    block, index = found
    tail = block.body.body[index:]
    for statement in tail:
        code = program.tree.code_for_node(statement).strip()
        if not isinstance(statement, cst.SimpleStatementLine) or not AFTER_BACKWARD.match(code):
            return None

    def replace(updated):
        body = updated.body.body
        kept, out = body[:index], body[index:]
        return cst.FlattenSentinel([updated.with_changes(body=updated.body.with_changes(body=kept)), *out])
    return change("move it behind the with block", block, replace)


def _find_with(tree: cst.Module, entered: set[int], statement) -> tuple[cst.With, int] | None:
    """The `with` statement of a region that has the statement, not as its first one."""
    if statement is None:
        return None
    pending: list[cst.CSTNode] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.With) and isinstance(node.body, cst.IndentedBlock):
            body = node.body.body
            index = next((index for index, part in enumerate(body) if part is statement), 0)
            if index and any(id(item.item) in entered for item in node.items):
                return node, index
        pending += node.children
    return None


def mask_of_finfo(tree: cst.Module, call: cst.CSTNode, number) -> Change | None:
    """`x.masked_fill(mask, -1e9)` takes the least number of x's type."""
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) \
            or call.func.attr.value not in ("masked_fill", "masked_fill_") \
            or not isinstance(call.func.value, (cst.Name, cst.Attribute)):
        return None
    tensor = tree.code_for_node(call.func.value).strip()
    if tensor == "torch" or not re.search(r"^\s*import torch\b", tree.code, re.M):
        return None
    limit = f"torch.finfo({tensor}.dtype).min"

    def replace(updated):
        arguments = list(updated.args)
        at = next((index for index, argument in enumerate(arguments)
                   if argument.keyword is not None and argument.keyword.value == "value"), len(arguments) - 1)
        arguments[at] = arguments[at].with_changes(value=cst.parse_expression(limit))
        return updated.with_changes(args=arguments)
    return change(limit, call, replace)


def _with_device(updated: cst.Call, device: str) -> cst.Call:
    first = cst.Arg(cst.SimpleString(f'"{device}"'))
    rest = list(updated.args)
    if rest:
        first = first.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    # The old autocast's first argument is `enabled`.
    if rest and rest[0].keyword is None and not rest[0].star:
        rest[0] = rest[0].with_changes(
            keyword=cst.Name("enabled" if "autocast" in _last_name(updated.func) else "init_scale"),
            equal=cst.AssignEqual(whitespace_before=cst.SimpleWhitespace(""), whitespace_after=cst.SimpleWhitespace("")))
    return updated.with_changes(args=[first, *rest])


def _last_name(node: cst.CSTNode) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")


def _can_take_device(call: cst.CSTNode, short: str) -> bool:
    """Whether arguments say the same behind a device: at most one is not named."""
    if short not in ("autocast", "GradScaler") or not isinstance(call, cst.Call):
        return False
    unnamed = [argument for argument in call.args if argument.keyword is None]
    return len(unnamed) <= 1 and not any(argument.star == "*" for argument in call.args)


def modern_call(call: cst.CSTNode, device: str, short: str, path: str) -> Change | None:
    """`torch.cuda.amp.autocast(...)` becomes `torch.amp.autocast("cuda", ...)`."""
    if not _can_take_device(call, short) or not re.fullmatch(r"torch\.(cuda|cpu)\.amp\.\w+", path):
        return None
    return change(f'torch.amp.{short}("{device}")', call, lambda updated: _with_device(
        updated.with_changes(func=cst.parse_expression(f"torch.amp.{short}")), device))


class _Uses(cst.CSTVisitor):
    """Where names are used: the calls, and how often each name stands at all."""

    def __init__(self, names: set[str]):
        super().__init__()
        self.names, self.calls = names, []
        self.count = dict.fromkeys(names, 0)

    def visit_ImportFrom(self, node) -> bool:
        return False

    def visit_Attribute(self, node) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node) -> bool:
        node.value.visit(self)
        return False

    def visit_Name(self, node) -> None:
        if node.value in self.names:
            self.count[node.value] += 1

    def visit_Call(self, node) -> None:
        if isinstance(node.func, cst.Name) and node.func.value in self.names:
            self.calls.append(node)


def modern_import(program, node: cst.CSTNode) -> Change | None:
    """`from torch.cuda.amp import autocast` becomes one from torch.amp, and all calls get
    the device, if calls are all that the file makes of the names."""
    if not isinstance(node, cst.ImportFrom) or isinstance(node.names, cst.ImportStar):
        return None
    module = program.tree.code_for_node(node.module).strip() if node.module is not None else ""
    match = re.fullmatch(r"torch\.(cuda|cpu)\.amp", module)
    if match is None or any(alias.name.value not in ("autocast", "GradScaler") for alias in node.names):
        return None
    bound = {(alias.asname.name.value if alias.asname is not None else alias.name.value): alias.name.value
             for alias in node.names}
    # Other statements that bind the same names would be called with a device, too.
    if len(re.findall(r"import[^\n]*\b(?:" + "|".join(map(re.escape, bound)) + r")\b", program.text)) > 1:
        return None
    uses = _Uses(set(bound))
    program.tree.visit(uses)
    if sum(uses.count.values()) != len(uses.calls) \
            or not all(_can_take_device(call, bound[call.func.value]) for call in uses.calls):
        return None
    device = match[1]
    replacements: dict[int, Replace] = {id(call): lambda updated: _with_device(updated, device) for call in uses.calls}
    replacements[id(node)] = lambda updated: updated.with_changes(module=cst.parse_expression("torch.amp"))
    return Change(f'import from torch.amp, with "{device}" as first argument', replacements)


def managed_backward(tree: cst.Module, call: cst.CSTNode, manager: str) -> Change | None:
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.args:
        return None
    return change(f"{manager}.backward(loss)", call, lambda updated: updated.with_changes(
        func=cst.parse_expression(f"{manager}.backward"), args=[cst.Arg(updated.func.value)]))


def managed_clip(call: cst.CSTNode, manager: str) -> Change | None:
    if not isinstance(call, cst.Call) or not _last_name(call.func).startswith("clip_grad_"):
        return None
    name = _last_name(call.func)
    return change(f"{manager}.{name}", call, lambda updated: updated.with_changes(
        func=cst.parse_expression(f"{manager}.{name}")))
