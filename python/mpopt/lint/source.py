"""Reading a script: its text, its tree, the places of its nodes.

Bad input ends in a `SourceError` of one line: text that is no Python, that is not in
the encoding it claims, or that is larger or nested deeper than a person writes."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import threading
import tokenize
from collections.abc import Callable

LARGEST = 8 << 20
# Levels of nesting in one statement. LibCST's parser recurses on all of these.
DEEPEST = 1500
STACK = 512 << 20
FRAMES = 200_000


class SourceError(Exception):
    """The text is one line, without the file's name."""


def read(path: str) -> str:
    """The text of a script; `-` is standard input."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(LARGEST + 1)
        else:
            status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                raise SourceError("is a folder")
            if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
                raise SourceError("is no file")
            with open(path, "rb") as file:
                data = file.read(LARGEST + 1)
    except OSError as error:
        raise SourceError(f"cannot be read: {error.strerror}") from error
    return decode(data)


def decode(data: bytes) -> str:
    if len(data) > LARGEST:
        raise SourceError(f"is larger than {LARGEST >> 20} MB: no script that a person wrote")
    if b"\0" in data:
        raise SourceError("is no Python source: it has zero bytes")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        if isinstance(error, UnicodeDecodeError):
            line = data.count(b"\n", 0, error.start) + 1
            raise SourceError(f"line {line} is not {error.encoding.upper()}") from error
        raise SourceError(str(error).splitlines()[0]) from error


TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<long>[A-Za-z]{0,2}(?P<quotes>\"{3}|'{3})(?:[^\\]|\\.)*?(?P=quotes))
      | (?P<string>[A-Za-z]{0,2}(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
      | (?P<branch>^[ \t]*(?:el)?if\b)
      | (?P<open>[\(\[\{]) | (?P<close>[\)\]\}]) | (?P<comma>,) | (?P<line>\n)
      | (?P<number>\d[\w.]*)
      | (?P<chain>\b(?:not|and|or|if|else|lambda|await|in|is|for)\b|\*\*|//|->|:=|[-+*/%@&|^~<>=.!]=?)
    """, re.VERBOSE | re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"\{[^{}]*\}")


def find_depth(text: str) -> int:
    """An upper bound of how deep LibCST's tree nests, by the tokens: brackets, operators,
    strings in a row and `elif`s each nest one level deeper than what stands before them."""
    deepest, levels, branches = 0, [0], {}
    for match in TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "quotes":
            kind = "long"
        if kind in ("comma", "line"):
            if kind == "comma" or len(levels) == 1:
                levels[-1] = 0
        elif kind == "open":
            levels.append(0)
        elif kind == "close":
            if len(levels) > 1:
                levels.pop()
            levels[-1] += 1
        elif kind in ("chain", "string", "long"):
            levels[-1] += 1
            inside = match[0] if kind != "chain" and "f" in match[0][:2].lower() else ""
            fields = [len(re.findall(r"[-+*/%&|^~<>=.(\[]", field)) for field in FIELD.findall(inside)]
            deepest = max([deepest, *(sum(levels) + len(levels) + count for count in fields)])
        elif kind == "branch":
            indent = len(match[0]) - len(match[0].lstrip())
            branches[indent] = branches.get(indent, 0) + 1 if "elif" in match[0] else 0
            deepest = max(deepest, branches[indent])
        deepest = max(deepest, sum(levels) + len(levels))
    return deepest


def parse(text: str):
    """The tree of a script: a `libcst.Module`."""
    import libcst as cst

    if find_depth(text) > DEEPEST:
        raise SourceError(f"has a statement that nests deeper than {DEEPEST} levels")
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        line = text.count("\n") + 1 if error.raw_line > text.count("\n") + 1 else error.raw_line
        raise SourceError(f"line {line} is no Python: {_reason(error)}") from error
    except Exception as error:  # noqa: BLE001: a parser that fails is no reason to end.
        raise SourceError(f"cannot be parsed: {type(error).__name__}") from error


def _reason(error) -> str:
    text = " ".join(str(getattr(error, "message", error)).split())
    text = re.sub(r"^parser error: error at \d+:\d+: ", "", text)
    text = text.removeprefix("parser error: ").removeprefix("Syntax Error ")
    return text[:120] or "syntax error"


def in_deep_thread(function: Callable, *arguments):
    """Calls a function where trees of the deepest scripts can be walked recursively."""
    result: list = []
    failure: list[BaseException] = []

    def work():
        try:
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
