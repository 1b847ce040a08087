"""A finding, and the comments that silence it."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

# `# noqa`, `# noqa: MP701`, `# noqa: E501,MP7`.
NOQA = re.compile(r"#\s*noqa(?P<codes>\s*:\s*(?P<list>[A-Za-z][A-Za-z0-9]*(?:[\s,]+[A-Za-z][A-Za-z]*[0-9]+)*))?",
                  re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Finding:
    """`line` and `column` count from 1, columns in characters. `fix`: what `--fix` would
    do, in words, or None. `change`: a `fixes.Change` that does it."""

    rule: str
    name: str
    severity: str
    file: str
    line: int
    column: int
    message: str
    fix: str | None = None
    end_line: int = 0
    change: Any = dataclasses.field(default=None, compare=False, repr=False)
    # The cell of a notebook that has the line, from 1.
    cell: int | None = None

    def as_json(self) -> dict:
        return {key: getattr(self, key) for key in
                ("rule", "name", "severity", "file", "cell", "line", "column", "message", "fix")}


def is_silenced(finding: Finding, lines: list[str]) -> bool:
    """True if a comment on its line, or on the last one of its statement, says so."""
    for number in {finding.line, finding.end_line or finding.line}:
        text = lines[number - 1] if 0 < number <= len(lines) else ""
        if "noqa" not in text.lower():
            continue
        for match in NOQA.finditer(text):
            if not match["list"]:
                return True
            codes = re.split(r"[\s,]+", match["list"].upper())
            if any(code and finding.rule.startswith(code) for code in codes):
                return True
    return False
