"""Which tests have the markers `torch`, by what their modules import, and `slow`, by what was
measured. `gpu` is set by hand: no import says it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TESTS = ROOT / "test" / "python"
# `scripts/run-tests.py BUILD --slow-list` writes it.
SLOW = TESTS / "slow.txt"
# Packages that need PyTorch, beside itself.
PYTORCH = {"torch", "transformers"}


@functools.cache
def helpers() -> dict[str, Path]:
    """The modules that tests share, by name."""
    return {file.stem: file for file in TESTS.rglob("*.py") if file.parent.name != "cases"}


def imported(tree: ast.AST) -> Iterable[str]:
    """Names of modules that some code imports, wherever in it; those that pytest.importorskip names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("importorskip"):
            yield from (argument.value.partition(".")[0] for argument in node.args[:1] if isinstance(argument, ast.Constant))


@functools.cache
def module_imports(file: Path) -> frozenset[str]:
    """What a module imports when it is loaded: not inside of functions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return frozenset(imported(tree))


@functools.cache
def needs_torch(file: Path) -> bool:
    """Whether loading a module loads PyTorch, by way of shared modules, too."""
    todo, seen = [file], {file}
    while todo:
        names = module_imports(todo.pop())
        if names & PYTORCH:
            return True
        found = {helpers()[name] for name in names if name in helpers()} - seen
        seen |= found
        todo += found
    return False


@functools.cache
def function_imports(file: Path) -> dict[str, frozenset[str]]:
    """What functions of a module import when they are called."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name: frozenset(imported(node)) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def is_torch_test(file: Path, function: str, fixtures: Iterable[str]) -> bool:
    """Whether a test needs PyTorch: its module or its folder's conftest.py does, or itself or a
    fixture of its module."""
    shared = file.with_name("conftest.py")
    if needs_torch(file) or shared.exists() and needs_torch(shared):
        return True
    names = frozenset().union(*(function_imports(file).get(name, frozenset()) for name in (function, *fixtures)))
    return bool(names & PYTORCH) or any(needs_torch(helpers()[name]) for name in names if name in helpers())


def read_slow(file: Path = SLOW) -> frozenset[str]:
    """`FOLDER/MODULE.py::TEST` of each slow test, comments left out."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return frozenset(line.partition("#")[0].strip() for line in lines) - {""}
