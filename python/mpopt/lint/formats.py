"""The forms of a report: text, JSON, SARIF and GitHub's annotations."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable

from mpopt._console import printable
from mpopt._version import __version__
from mpopt.lint import table
from mpopt.lint.findings import Finding

SCHEMA = "mpopt-lint/1"
SARIF_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
GITHUB_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


@dataclasses.dataclass(frozen=True)
class Report:
    """`files`: how many were judged; `errors`: those that could not be, with why; `unfollowed`: those whose calls were
    not followed into functions, with these."""

    findings: list[Finding]
    files: int
    errors: list[tuple[str, str]]
    unfollowed: list[tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=list)


# Files that a line of text names; JSON has all.
MOST_NAMED = 3


def count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def write_text(report: Report) -> str:
    findings, lines = report.findings, []
    for finding in findings:
        cell = f"cell {finding.cell}:" if finding.cell else ""
        lines.append(f"{printable(finding.file)}:{cell}{finding.line}:{finding.column}: {finding.severity}: "
                     f"{printable(finding.message)} [{finding.rule} {finding.name}]")
        if finding.fix:
            lines.append(f"    fix: {printable(finding.fix)}")
    fixable = sum(finding.fix is not None for finding in findings)
    if findings:
        kinds = [count(sum(finding.severity == kind for finding in findings), kind)
                 for kind in ("error", "warning", "note")]
        lines.append(f"\n{', '.join(kinds)} in {count(len({finding.file for finding in findings}), 'file')} of {report.files}"
                     + (f"; {fixable} fixable with --fix" if fixable else ""))
        lines.append("mpopt --explain RULE prints the reason and the fixes")
    elif report.files or not report.errors:
        lines.append(f"no findings in {count(report.files, 'file')}")
    if cut := report.unfollowed:
        named = ", ".join(printable(path) for path, _ in cut[:MOST_NAMED]) + (f" and {len(cut) - MOST_NAMED} more" if len(cut) > MOST_NAMED else "")
        lines.append(f"not followed to their end: calls of long or deep functions in {named}; each function is judged by itself")
    return "".join(f"{line}\n" for line in lines)


def write_json(report: Report) -> str:
    return json.dumps({"schema": SCHEMA, "findings": [finding.as_json() for finding in report.findings],
                       "errors": [{"file": path, "message": error} for path, error in report.errors],
                       "unfollowed": [{"file": path, "functions": list(functions)} for path, functions in report.unfollowed]},
                      indent=2, ensure_ascii=False) + "\n"


def write_sarif(report: Report) -> str:
    """SARIF 2.1.0 (OASIS). The rules are those that found something."""
    findings = report.findings
    found = {finding.name for finding in findings}
    rules = [rule for rule in table.load().values() if rule.name in found]
    index = {rule.id: number for number, rule in enumerate(rules)}
    return json.dumps({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "mpopt", "semanticVersion": __version__,
                "rules": [{
                    "id": rule.id, "name": rule.name,
                    "shortDescription": {"text": rule.summary},
                    "fullDescription": {"text": " ".join(rule.what.split())},
                    "help": {"text": f"{rule.why}\n\n{rule.instead}",
                             "markdown": f"{rule.why}\n\n{rule.example}\n\n{rule.instead}"},
                    "defaultConfiguration": {"level": SARIF_LEVELS[rule.severity]},
                } for rule in rules]}},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": not report.errors,
                "toolExecutionNotifications": [{
                    "level": "error", "message": {"text": error},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": as_uri(path)}}}],
                } for path, error in report.errors] + [{
                    "level": "note", "message": {"text": f"calls not followed: {', '.join(functions)}"},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": as_uri(path)}}}],
                } for path, functions in report.unfollowed]}],
            "results": [{
                "ruleId": finding.rule, "ruleIndex": index[finding.rule],
                "level": SARIF_LEVELS[finding.severity],
                "message": {"text": in_cell(finding)},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": as_uri(finding.file)},
                    "region": {"startLine": finding.line, "startColumn": finding.column}}}],
            } for finding in findings],
        }]}, indent=2, ensure_ascii=False) + "\n"


def in_cell(finding: Finding) -> str:
    """The message, with the cell of a notebook, which these forms have no place for."""
    return f"cell {finding.cell}: {finding.message}" if finding.cell else finding.message


def as_uri(path: str) -> str:
    """A relative path as a relative reference, an absolute one as a file URI."""
    from urllib.parse import quote

    text = quote(path.replace(os.sep, "/").encode("utf-8", "surrogateescape"))
    return f"file://{text}" if text.startswith("/") else text


def write_github(report: Report) -> str:
    lines = [f"::error file={escape(path, True)}::{escape(error)}\n" for path, error in report.errors]
    for finding in report.findings:
        place = f"file={escape(finding.file, True)},line={finding.line},col={finding.column}"
        title = escape(f"{finding.rule} {finding.name}", True)
        lines.append(f"::{GITHUB_LEVELS[finding.severity]} {place},title={title}::{escape(in_cell(finding))}\n")
    return "".join(lines)


def escape(text: str, is_property: bool = False) -> str:
    """Text of a workflow command."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


WRITERS: dict[str, Callable[[Report], str]] = {
    "text": write_text, "json": write_json, "sarif": write_sarif, "github": write_github}
