"""The cases of rules about scripts: cases/RULE.py, several scripts in one file.

A line `# case: TITLE` starts a script. `# finds SEVERITY` ends a line at which the rule
of the file's name reports, `# finds SEVERITY fix` one where it also has a fix; other
lines are clean of that rule."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"


@dataclasses.dataclass(frozen=True)
class Case:
    rule: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.title}"

    @property
    def expected(self) -> list[tuple[int, str, bool]]:
        """(line, severity, whether there is a fix) of each finding."""
        found = []
        for number, line in enumerate(self.text.splitlines(), 1):
            if match := re.search(r"# finds (error|warning|note)( fix)?$", line):
                found.append((number, match[1], bool(match[2])))
        return found


def read_cases() -> list[Case]:
    cases = []
    for path in sorted(CASES.glob("*.py")):
        head, *parts = re.split(r"^# case: (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
        assert not head.strip(), f"{path.name} starts with a case"
        cases += [Case(path.stem, title, text) for title, text in zip(parts[::2], parts[1::2])]
    return cases
