"""A script with its syntax tree: the text of nodes, and their places.

Nodes are those of `ast`, which Python's own parser makes, at 15 times the speed of a tree that
keeps comments. Their columns count bytes of UTF-8; texts and places here count characters."""

from __future__ import annotations

import ast
import bisect
import dataclasses
import functools
import re

LINE_END = re.compile(r"\r\n|\r|\n")


# Comments, and texts that begin a line, which are documentation; other texts are matched as the first group.
REMARKS = re.compile(r'''^[ \t]*[rRuU]?(?:"""[\s\S]*?"""|\'{3}[\s\S]*?\'{3})'''
                     r'''|("""[\s\S]*?"""|\'{3}[\s\S]*?\'{3}|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|#[^\r\n]*''', re.M)

MODULE_USE = re.compile(r"\.(?:parameters|named_parameters|state_dict|load_state_dict|train|eval|modules)\(")
OTHER_USE = re.compile(r"\.(?:step|zero_grad|unscale_|param_groups)\b")
# The text before such a use, read backwards.
PATH = re.compile(r"[\w.]*[A-Za-z_]")
LONGEST_PATH = 300


def find_uses(use: re.Pattern, text: str) -> frozenset[str]:
    """The paths that stand before a use."""
    found = set()
    for match in use.finditer(text):
        end = match.start()
        if path := PATH.match(text[max(end - LONGEST_PATH, 0):end][::-1]):
            found.add(path[0][::-1])
    return frozenset(found)


@dataclasses.dataclass(frozen=True)
class Place:
    """Lines and columns from 1."""

    line: int
    column: int
    end_line: int


@dataclasses.dataclass(eq=False)
class Script:
    """Nodes of another file of a project have it as their `script`."""

    text: str
    tree: ast.Module
    path: str = ""

    def owner(self, node: ast.AST) -> Script:
        return getattr(node, "script", self)

    @functools.cached_property
    def starts(self) -> list[int]:
        """The offsets at which lines start."""
        return [0, *(match.end() for match in LINE_END.finditer(self.text))]

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return LINE_END.split(self.text)

    @functools.cached_property
    def lower(self) -> str:
        """The running code in small letters: a search that ignores case takes 30 times as long."""
        return self.running.lower()

    @functools.cached_property
    def running(self) -> str:
        """The text without comments and documentation: what these name, the script need not do."""
        return REMARKS.sub(lambda match: match[1] or "", self.text)

    @functools.cached_property
    def modules(self) -> frozenset[str]:
        """The paths that the script uses as modules."""
        return find_uses(MODULE_USE, self.text) - find_uses(OTHER_USE, self.text)

    @functools.cached_property
    def _is_ascii(self) -> bool:
        return self.text.isascii()

    @functools.cached_property
    def _mentioned(self) -> dict[re.Pattern, bool]:
        return {}

    def mentions(self, pattern: re.Pattern) -> bool:
        """True if what runs has a match. It is searched once, however many scripts use this one."""
        if pattern not in self._mentioned:
            self._mentioned[pattern] = pattern.search(self.running) is not None
        return self._mentioned[pattern]

    def offset(self, line: int, column: int) -> int:
        """The character of the text at a line, and a column as nodes have it."""
        start = self.starts[line - 1]
        if not self._is_ascii:
            column = len(self.lines[line - 1].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))
        return start + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node's text begins and ends; decorators belong to what they decorate."""
        if (owner := self.owner(node)) is not self:
            return owner.span(node)
        first = node
        if decorators := getattr(node, "decorator_list", None):
            first = decorators[0]
        start = self.offset(first.lineno, first.col_offset)
        if first is not node:
            start = self.text.rfind("@", 0, start)
        return start, self.offset(node.end_lineno, node.end_col_offset)

    def code(self, node: ast.AST) -> str:
        """The text of a node, without parentheses around it."""
        start, end = self.span(node)
        return self.owner(node).text[start:end]

    def is_same(self, one: ast.AST, other: ast.AST) -> bool:
        """True if two nodes have the same text."""
        if one.lineno == one.end_lineno == other.lineno == other.end_lineno \
                and one.end_col_offset - one.col_offset != other.end_col_offset - other.col_offset:
            return False
        return self.code(one) == self.code(other)

    def place(self, node: ast.AST) -> Place:
        if (owner := self.owner(node)) is not self:
            return owner.place(node)
        start = self.offset(node.lineno, node.col_offset)
        return Place(node.lineno, start - self.starts[node.lineno - 1] + 1, node.end_lineno)

    def line_of(self, offset: int) -> int:
        """The line, from 1, that has a character."""
        return bisect.bisect_right(self.starts, offset)
