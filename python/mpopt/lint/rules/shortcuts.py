"""Shortcuts: steps that are skipped in silence, and scales and means by hand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint import events, library, values
from mpopt.lint.interpreter import Operation, Program
from mpopt.lint.rules import Report, rule
from mpopt.lint.rules.lightning import list_hooks
from mpopt.lint.rules.numbers import operation
from mpopt.lint.values import Value

NAN_TESTS = {"isnan", "isinf", "isfinite"}
# Calls that say nothing: of a step that is skipped, they leave no trace.
QUIET = re.compile(r"(^|\.)(zero_grad|empty_cache|update|collect|synchronize)$")


@rule
def step_skipped_on_nan(program: Program) -> Iterator[Report]:
    training = {id(event.loops[-1]) for event in program.of_kind(*events.BACKWARDS) if event.loops}
    stepping = {event.function for event in program.of_kind(*events.BACKWARDS) if event.function is not None}
    hooks = list_hooks(program, "training_step")
    for node, place in program.branches:
        is_loop = bool(place.loops) and id(place.loops[-1]) in training
        if not (is_loop or place.function in stepping or place.function in hooks):
            continue
        skipped = find_skipped(program, node)
        if skipped is not None and tests_loss(program, node.test) and is_silent(node.body if skipped else node.orelse):
            yield Report(node, "a step whose loss is NaN or Inf is left out, and no message or count says so: the cause "
                         "stays, and where several processes train together the others wait for this one")


def find_skipped(program: Program, node: ast.If) -> bool | None:
    """The outcome of the test with which the step is left out; None if there is none."""
    is_negated, test = False, node.test
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        is_negated, test = not is_negated, test.operand
    finds_finite = "isfinite" in program.script.code(test)
    if isinstance(test, ast.BoolOp) and finds_finite:
        return None
    is_bad = finds_finite == is_negated
    if is_bad and node.body and isinstance(node.body[-1], (ast.Continue, ast.Return)) \
            and gives_nothing(node.body[-1]) and not node.orelse:
        return True
    trains = any(isinstance(inner, ast.Attribute) and inner.attr == "backward"
                 for statement in node.body for inner in ast.walk(statement))
    return False if not is_bad and trains and not node.orelse else None


def gives_nothing(end: ast.Continue | ast.Return) -> bool:
    value = getattr(end, "value", None)
    return value is None or isinstance(value, ast.Constant) and value.value is None


def tests_loss(program: Program, test: ast.expr) -> bool:
    """True if a condition asks for NaN or Inf of a loss, and of nothing else than numbers."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.NotEq) \
                and program.script.is_same(node.left, node.comparators[0]) and is_loss(program, node.left):
            return True
        if isinstance(node, ast.Call) and (getattr(node.func, "attr", "") or getattr(node.func, "id", "")) in NAN_TESTS:
            asked = node.args[0] if node.args else getattr(node.func, "value", None)
            if asked is not None and is_loss(program, asked):
                return True
    return False


def is_loss(program: Program, node: ast.expr) -> bool:
    text = re.sub(r"\.(item|detach|mean|sum|cpu|data|any|all)\b(\(\))?", "", program.script.code(node))
    return bool(re.match(r"[\w.]+$", text)) and library.is_loss_path(text)


def is_silent(suite: list[ast.stmt]) -> bool:
    """True if nothing in a suite tells: no call but those that clear, no count, no error."""
    for node in (inner for statement in suite for inner in ast.walk(statement)):
        if isinstance(node, (ast.AugAssign, ast.Raise, ast.Assert, ast.Assign)):
            return False
        if isinstance(node, ast.Call) and not QUIET.search(ast.unparse(node.func)):
            return False
    return True


# --- Scales by hand ---

SCALE = re.compile(r"scal", re.I)
# The least divisor that is no mean over a few processes or passes.
LEAST_SCALE = 256


def is_scale(program: Program, value: Value, node: ast.AST) -> bool:
    number = value.constant
    return isinstance(number, (int, float)) and number >= LEAST_SCALE or bool(SCALE.search(program.script.code(node)))


@rule
def scale_divided_in_half(program: Program) -> Iterator[Report]:
    message = ("the loss scale is taken off in FP16: a gradient below 6e-8 that it had saved is 0 again. Of an FP32 copy of "
               "the gradient")
    for each in program.operations:
        if each.left.has("grad") and each.left.dtype == "f16" and each.has(ast.Div):
            if is_scale(program, each.right, each.right_node):
                yield Report(each.node, message)
    for event in program.calls_of("div_", "div"):
        name, tensor, arguments = operation(event)
        if name and tensor.has("grad") and tensor.dtype == "f16" and arguments and isinstance(event.node, ast.Call) \
                and event.node.args and is_scale(program, arguments[-1], event.node.args[-1]):
            yield Report(event.node, message)


# --- Means over masks ---

# Sizes of tensors, which count what a mask leaves out.
MASKS = re.compile(r"mask|valid|weight", re.I)
SIZES = re.compile(r"\.(numel|nelement|size)\(|\.shape\b|\blen\(")


@rule
def count_may_be_zero(program: Program) -> Iterator[Report]:
    for each in program.operations:
        if each.has(ast.Div) and each.left.kind == values.TENSOR and each.left.has("loss") and not each.right.has("guarded") \
                and (count := find_count(program, each.right_node)) is not None:
            tested = {program.script.code(each.right_node), program.script.code(count)}
            asked = " ".join(program.script.code(test) for test, _ in each.tests)
            if not any(text in asked for text in tested):
                yield Report(each.node, f"{program.script.code(count)} is 0 in a batch in which nothing counts: the loss is 0 / 0, and "
                             "all gradients are NaN: .clamp(min=1)")


def find_count(program: Program, node: ast.AST) -> ast.Call | None:
    """`(labels != -100).sum()`, or what a name got that is it."""
    node = program.find_assigned(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("item", "float"):
        node = node.func.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "sum":
        return None
    counted = node.func.value
    while isinstance(counted, ast.Call) and isinstance(counted.func, ast.Attribute) and counted.func.attr in ("float", "int", "long", "to"):
        counted = counted.func.value
    is_mask = isinstance(counted, (ast.Name, ast.Attribute)) and "mask" in program.script.code(counted).lower()
    is_comparison = isinstance(counted, ast.Compare) or isinstance(counted, ast.Call) and getattr(counted.func, "attr", "") in ("ne", "eq", "gt")
    return node if is_mask or is_comparison else None


@rule
def mask_missing_in_divisor(program: Program) -> Iterator[Report]:
    message = "the terms that the mask leaves out count in the divisor: the loss shrinks with the masked share"
    # A mean over another dimension than the mask's, before a sum that the mask's divides.
    divided = {id(node) for each in program.operations if each.has(ast.Div) and MASKS.search(program.script.code(each.right_node))
               for node in ast.walk(each.node)}
    for event in program.calls_of("mean"):
        name, tensor, _ = operation(event)
        if name and tensor.has("masked") and id(event.node) not in divided:
            yield Report(event.node, f"{message}: (loss * mask).sum() / mask.sum()")
    for each in program.operations:
        if each.has(ast.Div) and each.left.has("masked") and each.left.has("sum") \
                and counts_all(program, each):
            yield Report(each.node, f"{message}: mask.sum()")


def counts_all(program: Program, each: Operation) -> bool:
    # The size of a mask counts all of it.
    text = re.sub(r"\w+(?=\.(numel|nelement|size|shape)\b)", "", program.script.code(each.right_node))
    return bool(SIZES.search(text)) and not MASKS.search(text)
