"""Codes of FP8 that a script makes itself and hands on: gradients, weights that are kept, and what ranks gather."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpopt.lint.interpreter import Program
from mpopt.lint.rules.fp8_flow import FORMATS, LARGEST, find_made, find_quotient, flow_of, is_own, list_casts, list_formats, name_of, walk


# --- Gradients ---


def is_gradient(program: Program, part: ast.AST) -> bool:
    """True for what `backward` of an autograd function is handed."""
    flow = flow_of(program)
    function, owner = flow.around.get(id(part)), flow.owners.get(id(part))
    if not isinstance(part, ast.Name) or not isinstance(function, ast.FunctionDef) or function.name != "backward" or owner is None:
        return False
    return any(getattr(base, "attr", getattr(base, "id", "")) == "Function" for base in owner.bases) \
        and part.id in [each.arg for each in function.args.args[1:]]


def is_of_tensor(program: Program, scale: ast.expr) -> bool:
    """True if a scale is the largest magnitude of a whole tensor."""
    largest = [part for part in walk(program, scale) if isinstance(part, ast.Call) and name_of(part) in ("max", "amax")]
    return bool(largest) and not any(call.args or call.keywords for call in largest)


def list_gradient_casts(program: Program) -> Iterator[ast.Call]:
    """The casts of gradients to E4M3 by one scale for the tensor."""
    for node, cast, dtype in list_casts(program):
        formats = list_formats(program, dtype)
        scaled = find_quotient(program, cast) if formats and all("e4m3" in name for name in formats) else None
        if scaled is not None and is_of_tensor(program, scaled.right) and any(is_gradient(program, part) for part in walk(program, scaled.left)):
            yield node


# --- Codes that are kept ---


def asks_whether_kept(test: ast.expr, name: str) -> bool:
    return any(is_own(part, name) or isinstance(part, ast.Constant) and part.value == name for part in ast.walk(test))


def list_kept_codes(program: Program) -> Iterator[tuple[ast.AST, str]]:
    """Products of codes that are made once and of a scale that is made anew in each pass, with the attribute that holds the codes."""
    casts = {id(node): cast for node, cast, _ in list_casts(program)}
    seen: set[int] = set()  # functions and branches lie in others
    for function in (each for made in flow_of(program).functions.values() for each in made):
        for choice in (part for part in ast.walk(function) if isinstance(part, ast.If)):
            inside = {id(part) for each in choice.body for part in ast.walk(each)}
            for kept in (part for each in choice.body for part in ast.walk(each) if isinstance(part, ast.Assign) and is_own(part.targets[0])):
                name = kept.targets[0].attr  # type: ignore[attr-defined]
                cast = next((casts[id(part)] for part in ast.walk(kept.value) if id(part) in casts), None)
                scaled = find_quotient(program, cast) if cast is not None and asks_whether_kept(choice.test, name) else None
                if scaled is not None and isinstance(scaled.right, ast.Name):
                    for node in list_products(program, function, name, scaled.right.id, inside):
                        if id(node) not in seen:
                            seen.add(id(node))
                            yield node, name


def list_products(program: Program, function: ast.FunctionDef, name: str, scale: str, inside: set[int]) -> Iterator[ast.AST]:
    """The products of what an object keeps and a scale that is made outside of the branch which makes the former."""
    made = [part for part in ast.walk(function) if isinstance(part, ast.Assign) and any(getattr(target, "id", "") == scale for target in part.targets)]
    is_anew = made and not any(id(part) in inside for part in made) and any(
        isinstance(part, ast.Call) and LARGEST.match(name_of(part)) for part in walk(program, made[-1].value))
    for node in ast.walk(function) if is_anew else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [list(ast.walk(node.left)), list(ast.walk(node.right))]
            if any(any(is_own(part, name) for part in one) and any(getattr(part, "id", "") == scale for part in other)
                   for one, other in (sides, sides[::-1])):
                yield node


# --- Codes that ranks gather ---


GATHERS = ("all_gather", "all_gather_into_tensor", "all_gather_single", "all_gather_tensor")
OF_DATA = re.compile(r"(?:^|_)(?:dp|data)(?:_|$)")
OF_TENSOR = re.compile(r"(?:^|_)(?:tp|tensor|sp|sequence|cp|context|ep|expert)(?:_|$)")


def words_of(program: Program, call: ast.Call) -> str:
    """The names in the expression of a call's group; a mesh that it is of has groups of other kinds, too."""
    group = next((keyword.value for keyword in call.keywords if keyword.arg == "group"), None)
    parts = [group, *ast.walk(find_made(program, group))] if group is not None else []
    return " ".join(str(word) for part in parts for word in (getattr(part, "attr", ""), getattr(part, "id", ""), getattr(part, "value", ""))
                    if isinstance(word, str) and word)


def is_of(pattern: re.Pattern[str], words: str) -> bool:
    return any(pattern.search(word) for word in words.split())


def list_gathers(program: Program) -> Iterator[ast.Call]:
    """Gathers of codes over ranks of a tensor whose largest magnitude is reduced over replicas alone."""
    flow = flow_of(program)
    reductions = [call for call in flow.calls.get("all_reduce", ()) if call.args and any(
        getattr(part, "attr", "") == "MAX" for keyword in call.keywords for part in ast.walk(keyword.value))]
    for call in (each for name in GATHERS for each in flow.calls.get(name, ()) if reductions):
        parts = [part for given in call.args for part in walk(program, given)]
        words = words_of(program, call)
        if not is_of(OF_TENSOR, words) or is_of(OF_DATA, words) or not any(getattr(part, "attr", "") in FORMATS for part in parts):
            continue
        held = {(id(flow.around.get(id(part))), part.id) for part in parts if isinstance(part, ast.Name)}
        groups = [words_of(program, each) for each in reductions
                  if (id(flow.around.get(id(each))), getattr(each.args[0], "id", "")) in held]
        if groups and all(is_of(OF_DATA, group) and not is_of(OF_TENSOR, group) for group in groups):
            yield call
