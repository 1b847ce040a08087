"""Reading a script: its text and its tree.

Bad input ends in a `SourceError` of one line: text that is not valid Python, that is not in
the encoding it declares, or that exceeds the limits below."""

from __future__ import annotations

import ast
import contextlib
import gc
import io
import re
import sys
import threading
import tokenize
import warnings
from collections.abc import Callable

from mpopt import _input_files
from mpopt.lint import configuration, fstrings, notebook
from mpopt.lint.script import Script

LARGEST = 8 << 20
# Each of these begins a node of the tree, which takes 400 bytes or more: a million of them fit in 1 GB.
MARKS, MOST_MARKS = ",.([{+-*/%|&=:", 1_000_000
# Levels of nesting in one statement. What goes through the tree recurses on all of these.
DEEPEST = 1500
STACK = 512 << 20
FRAMES = 200_000
# Codecs that take a time quadratic in what they decode; no editor writes a script in them.
SLOW_CODECS = {"punycode", "idna"}
# The grammar that scripts are read by.
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


class SourceError(Exception):
    """The text is one line, without the file's name."""


# These may be valid Python, of which nothing would be found.
NO_SCRIPTS = (".ini", ".cfg", ".md", ".txt", ".sh")


def read(path: str) -> str:
    """The text of a script; `-` is standard input."""
    if path.lower().endswith(NO_SCRIPTS):
        raise SourceError("is no Python script, notebook or configuration, and not read")
    try:
        return decode(_input_files.read(path, LARGEST))
    except _input_files.Unreadable as error:
        raise SourceError(error.reason) from error


def decode(data: bytes) -> str:
    if b"\0" in data:
        raise SourceError("is no Python source: it has zero bytes")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding in SLOW_CODECS:
            raise LookupError(f"unknown encoding: {encoding}")
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"line {line} is not {error.encoding.upper()}") from error
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceError(str(error).splitlines()[0]) from error


# --- The tree ---


def parse(text: str) -> Script:
    if sum(map(text.count, MARKS)) > MOST_MARKS:
        raise SourceError(f"has more than {MOST_MARKS:,} operators, brackets and commas")
    script = Script(text, _parse_tree(text))
    if is_too_deep(script):
        raise SourceError(f"has a statement that nests deeper than {DEEPEST} levels")
    return script


def parse_configuration(text: str, path: str) -> Script:
    try:
        return Script(text, configuration.parse(text, path))
    except configuration.ConfigurationError as error:
        raise SourceError(str(error)) from error


def read_notebook(text: str) -> notebook.Notebook:
    try:
        return notebook.read(text)
    except notebook.NotebookError as error:
        raise SourceError(str(error)) from error


def parse_notebook(book: notebook.Notebook) -> Script:
    try:
        return parse(book.text)
    except SourceError as error:
        # The cell is what a reader sees.
        match = re.match(r"line (\d+) (.*)", str(error))
        if match is None:
            raise
        cell, line = book.place(int(match[1]))
        raise SourceError(f"cell {cell}, line {line} {match[2]}") from error


def _parse_tree(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            # Invalid escapes in strings are the script's business.
            warnings.simplefilter("ignore")
            return _parse(text)
    except (MemoryError, RecursionError) as error:
        raise SourceError("has a statement that nests deeper than Python's parser goes") from error
    except SyntaxError as error:
        # The parser places some errors behind the last line.
        last = text.count("\n") + 1
        line = min(max(error.lineno or last, 1), last)
        if "too many nested" in str(error.msg):
            raise SourceError(f"line {line} nests deeper than Python's parser goes") from error
        raise SourceError(f"line {line} is not valid {PYTHON}: {_first_line(error.msg)[:120]}") from error
    except ValueError as error:
        raise SourceError(f"cannot be parsed: {_first_line(str(error))}") from error


def _parse(text: str) -> ast.Module:
    """The tree of a text, also where its f-strings are of a newer grammar than this Python's."""
    try:
        return ast.parse(text)
    except SyntaxError:
        if sys.version_info >= (3, 12) or (older := fstrings.blank(text)) == text:
            raise
        return ast.parse(older)


def _first_line(text: str) -> str:
    return (text.splitlines() or ["syntax error"])[0]


def is_too_deep(script: Script) -> bool:
    """True if a statement nests deeper than DEEPEST levels. Each level takes a character, so
    that statements with fewer need no look."""
    pending: list[tuple[ast.AST, int]] = [(script.tree, 0)]
    starts, end = script.starts, len(script.text)
    while pending:
        node, depth = pending.pop()
        if depth > DEEPEST:
            return True
        is_simple = True
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            suite = getattr(node, name, None)
            if isinstance(suite, list) and suite:
                is_simple = False
                pending += [(part, depth + 1) for part in suite]
        if isinstance(node, (ast.Module, ast.match_case)):
            continue
        last = node.end_lineno if is_simple else next_line(node)
        length = (starts[last] if last < len(starts) else end) - starts[node.lineno - 1]
        if length > DEEPEST - depth and depth + measure_depth(node) > DEEPEST:
            return True
    return False


def next_line(node: ast.AST) -> int:
    """The line at which the suite of a compound statement begins, at the latest."""
    first = (getattr(node, "body", None) or getattr(node, "cases"))[0]
    return getattr(first, "end_lineno", None) or first.pattern.end_lineno


def measure_depth(statement: ast.AST) -> int:
    """The levels of expressions in a statement; suites in it count by themselves."""
    depth, level = 0, [statement]
    while level and depth <= DEEPEST:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)
                 if not isinstance(child, (ast.stmt, ast.ExceptHandler))]
    return depth


# --- Where trees are walked ---


@contextlib.contextmanager
def uncollected():
    """Without the garbage collector: trees and values are many, live until the file is done, and
    would be gone through again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def in_deep_thread(function: Callable, *arguments):
    """Calls a function where trees of the deepest scripts can be walked recursively."""
    result: list = []
    failure: list[BaseException] = []

    def work():
        try:
            with uncollected():
                result.append(function(*arguments))
        except BaseException as error:  # noqa: BLE001: handed on to the caller.
            failure.append(error)

    frames, stack = sys.getrecursionlimit(), threading.stack_size(STACK)
    sys.setrecursionlimit(max(frames, FRAMES))
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(frames)
    if failure:
        raise failure[0]
    return result[0]
