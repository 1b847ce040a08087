"""Notebooks: their cells of code as one script, and the places of its lines in the cells."""

from __future__ import annotations

import ast
import bisect
import dataclasses
import json
import re
import warnings

SUFFIX = ".ipynb"
# Magics that run the rest of their cell as Python; others hand it to something else.
PYTHON_MAGICS = re.compile(r"%%(time|timeit|capture|prun|memit)\b")
MAGIC = re.compile(r"^(\s*)([%!?].*|.*\?)$")
ASSIGNED = re.compile(r"^(\s*[\w., ]+=\s*)[%!].*$")
# A command of a shell that goes on in the next line.
CONTINUED = re.compile(r"^\s*([\w., ]+=\s*)?[%!].*\\\s*$")
# Magics that IPython takes without their sign.
AUTOMAGIC = re.compile(r"^(cd|ls|ll|pwd|mkdir|rmdir|cp|mv|rm|cat|less|more|man|pip|conda)(\s+[\w./~-].*)?$")

# The prompts of Python's and IPython's sessions before a line.
SESSION = re.compile(r"^\s*(?:>>>|In \[\d+\]:)(?: |$)", re.M)
PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.|In \[\d+\]:|   +\.\.\.+:)(?: |$)")
HEAD = re.compile(r"^(?:[ \t]*(?:#[^\n]*)?\n)+")


class NotebookError(Exception):
    """The text is one line."""


@dataclasses.dataclass(frozen=True)
class Notebook:
    """`starts`: the number of the line before the first one of each cell of code; `cells`: their numbers, from 1
    and with those of text."""

    text: str
    starts: tuple[int, ...]
    cells: tuple[int, ...]

    def place(self, line: int) -> tuple[int, int]:
        """The cell of a line of the text, and the line in it."""
        index = bisect.bisect_left(self.starts, line) - 1
        return self.cells[index], line - self.starts[index]


def read(text: str) -> Notebook:
    try:
        cells = json.loads(text)["cells"]
        codes = [(number, "".join(cell["source"])) for number, cell in enumerate(cells, 1) if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotebookError("is no notebook: it has no cells") from error
    parts, starts, line = [], [], 0
    for _, code in codes:
        starts.append(line)
        part = as_python(code.replace("\r\n", "\n").rstrip("\n")) + "\n"
        parts.append(part)
        line += part.count("\n")
    return Notebook("".join(parts), tuple(starts), tuple(number for number, _ in codes))


def as_python(code: str) -> str:
    """A cell with as many lines, in which what is IPython's own does nothing."""
    # Comments may stand before a magic of the cell.
    head = HEAD.sub("", code)
    if head.startswith("%%") and not PYTHON_MAGICS.match(head):
        return "\n".join(f"# {line}" for line in code.split("\n"))
    if is_python(code):
        return code
    lines: list[str] = []
    goes_on = False
    is_session = SESSION.search(code) is not None
    for line in code.split("\n"):
        if is_session:
            # A pasted session: its results are no program.
            line = PROMPT.sub("", line) if PROMPT.match(line) else "pass"
        is_rest, goes_on = goes_on, line.rstrip().endswith("\\") if goes_on else bool(CONTINUED.match(line))
        line = "" if is_rest else AUTOMAGIC.sub("pass", MAGIC.sub(r"\1pass", line))
        lines.append(ASSIGNED.sub(r"\1None", line))
    return "\n".join(lines)


def is_python(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True
