"""mpopt lint as a plugin of flake8: `flake8 --select MP7 train.py`.

flake8 counts columns from 0, and applies its own `# noqa`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpopt._version import __version__
from mpopt.lint import cli, linter, source


class Plugin:
    name = "mpopt"
    version = __version__

    def __init__(self, tree: ast.AST, lines: list[str]):
        del tree  # flake8 calls plugins once a file only if they take the tree.
        self.text = "".join(lines)

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        data = self.text.encode("utf-8", "surrogateescape")
        if not any(word in data for word in cli.WORDS):
            return
        try:
            findings = linter.lint_text(self.text)
        except source.SourceError:
            # flake8 itself says what is no Python.
            return
        for finding in findings:
            yield finding.line, finding.column - 1, f"{finding.rule} {finding.message}", type(self)
