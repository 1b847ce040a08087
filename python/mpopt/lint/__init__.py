"""mpopt lint: reads PyTorch training scripts and finds what breaks in 16 bits.

    from mpopt import lint

    for finding in lint.lint_text(source, "train.py"):
        print(finding.line, finding.rule, finding.message)

Scripts are parsed and never executed. Imports and aliases are resolved, and values
followed through assignments and calls inside a file: docs/lint.md.
"""

from mpopt.lint.findings import Finding
from mpopt.lint.linter import lint_text
from mpopt.lint.source import SourceError

__all__ = ["Finding", "SourceError", "lint_text"]
