"""f-strings in the grammar of Python 3.12, in which replacement fields may hold the quotes of their string,
backslashes, comments and ends of lines, for parsers of an older one.

Such a string is taken for one of spaces: what it prints is none of the rules' business. The others stay."""

from __future__ import annotations

import re

# A comment, or the beginning of a string with its prefix.
BEGIN = re.compile(r'''#[^\r\n]*|(?P<prefix>(?<!\w)[A-Za-z]{1,2})?(?P<quote>"{3}|'{3}|"|')''')
# Replacement fields of f-strings are read to this depth of nesting.
DEEPEST = 20


class Unclosed(Exception):
    """A string or a field does not end."""


def blank(text: str) -> str:
    """The text with as many bytes in each line, in which no f-string needs the newer grammar."""
    parts, begin, place = [], 0, 0
    try:
        while (match := BEGIN.search(text, place)) is not None:
            place = match.end()
            if match["quote"] is None:
                continue
            string = _String(text, match, 0)
            place = string.end
            if string.is_new:
                parts += [text[begin:match.start()], _spaces(text[match.start():place])]
                begin = place
    except Unclosed:
        return text  # The parser's message says more.
    return "".join((*parts, text[begin:]))


def _spaces(literal: str) -> str:
    """An empty string with spaces that takes the place of another, with as many bytes in each line; the other itself
    where a line has no room for the sign that the next one goes on."""
    lines = [len(line.encode("utf-8", "surrogatepass")) for line in literal.split("\n")]
    last = len(lines) - 1
    if last and (lines[0] < 3 or 0 in lines[1:last]):
        return literal
    made = [('""' if not number else "") + " " * (size - (0 if number else 2)) for number, size in enumerate(lines)]
    return "\n".join(line if number == last else line[:-1] + "\\" for number, line in enumerate(made))


class _String:
    """A string of a text: its end, and whether it needs the newer grammar."""

    def __init__(self, text: str, match: re.Match, level: int):
        if level > DEEPEST:
            raise Unclosed
        self.text, self.quote, self.level = text, match["quote"], level
        self.is_new = False
        has_fields = "f" in (match["prefix"] or "").lower()
        self.end = self.skip_text(match.end(), self.quote, has_fields)

    def at(self, place: int) -> str:
        if place >= len(self.text):
            raise Unclosed
        return self.text[place]

    def skip_text(self, place: int, closing: str, has_fields: bool) -> int:
        """The place behind the text that ends with `closing`: a string's, or a field's form."""
        while not self.text.startswith(closing, place):
            char = self.at(place)
            if char == "\n" and len(self.quote) == 1:
                raise Unclosed
            if char == "\\":
                place += 2
            elif has_fields and char == "{":
                place = place + 2 if closing == self.quote and self.at(place + 1) == "{" else self.skip_field(place + 1)
            else:
                place += 1
        return place + len(closing)

    def skip_field(self, place: int) -> int:
        depth = 0
        while (char := self.at(place)) != "}" or depth:
            match = BEGIN.match(self.text, place)
            if char == ":" and not depth:
                return self.skip_text(place + 1, "}", True)
            if match is not None and match["quote"] is not None:
                inner = _String(self.text, match, self.level + 1)
                part = self.text[place:inner.end]
                self.is_new |= inner.is_new or match["quote"] == self.quote or any(char in part for char in "\\#") \
                    or "\n" in part and len(self.quote) == 1
                place = inner.end
                continue
            self.is_new |= char in "\\#" or char == "\n" and len(self.quote) == 1
            depth += (char in "([{") - (char in ")]}")
            place = match.end() if match is not None else place + 1
        return place + 1
