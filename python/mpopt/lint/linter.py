"""From the text of a script to its findings."""

from __future__ import annotations

import dataclasses

from mpopt.lint import fixes, rules, source, table
from mpopt.lint.findings import Finding, is_silenced

# Passes of `fix_text`: a fix may uncover what another rule finds.
MOST_PASSES = 4


@dataclasses.dataclass(frozen=True)
class Linted:
    """`tree`: the `libcst.Module` to which the changes of the findings apply."""

    findings: list[Finding]
    tree: object


def lint_text(text: str, path: str = "<text>", selected: set[str] | None = None) -> list[Finding]:
    """The findings in a script, by line; those of comments that silence them left out.

    `selected`: names of rules, None for all. `source.SourceError`: the text is no
    Python."""
    return source.in_deep_thread(lint_here, text, path, selected).findings


def lint_here(text: str, path: str, selected: set[str] | None) -> Linted:
    """The same in this thread, whose stack has to be deep enough."""
    from libcst.metadata import MetadataWrapper, PositionProvider

    from mpopt.lint.interpreter import Interpreter

    tree = source.parse(text)
    program = Interpreter(tree, text).interpret()
    records = table.load()
    reports = [(records[name], report) for name, check in rules.load().items()
               if selected is None or name in selected for report in check(program)]
    if not reports:
        return Linted([], tree)
    places = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    lines = text.splitlines()
    findings: dict[tuple, Finding] = {}
    for record, report in reports:
        place = places[report.node]
        finding = Finding(record.id, record.name, report.severity or record.severity, path, place.start.line,
                          place.start.column + 1, report.message, report.change.text if report.change else None,
                          place.end.line, report.change)
        if not is_silenced(finding, lines):
            findings.setdefault((finding.line, finding.column, finding.rule), finding)
    return Linted([findings[key] for key in sorted(findings)], tree)


def fix_text(text: str, path: str = "<text>", selected: set[str] | None = None) -> tuple[str, int]:
    """The script with all fixes made, and how many there were. Fixing it again changes
    nothing."""
    return source.in_deep_thread(_fix_here, text, path, selected)


def _fix_here(text: str, path: str, selected: set[str] | None) -> tuple[str, int]:
    made = 0
    for _ in range(MOST_PASSES):
        linted = lint_here(text, path, selected)
        changes = [finding.change for finding in linted.findings if finding.change is not None]
        fixed = fixes.apply(linted.tree, changes) if changes else text
        if fixed == text:
            break
        source.parse(fixed)
        left = sum(finding.change is not None for finding in lint_here(fixed, path, selected).findings)
        made += max(len(changes) - left, 0)
        text = fixed
    return text, made
