"""From the text of a script to its findings."""

from __future__ import annotations

import dataclasses

from mpopt.lint import configuration, events, fixes, notebook, rules, source, table
from mpopt.lint.findings import Finding, is_silenced
from mpopt.lint.interpreter import Interpreter
from mpopt.lint.project import Project

# Passes of `fix_text`: a fix may uncover what another rule finds.
MOST_PASSES = 4
# Times as many steps that a file with a training has, where its calls use them up.
PATIENCE = 8


def lint_text(text: str, path: str = "<text>", selected: set[str] | None = None,
              project: Project | None = None, read: set[str] | None = None, unfollowed: set[str] | None = None) -> list[Finding]:
    """The findings in a script, by line; those of comments that silence them left out.

    `selected`: names of rules, None for all; `project`: the files that it may import, in which there may be
    findings, too; `read`: takes those that were read; `unfollowed`: takes the functions that calls were not followed into. `source.SourceError`: the text is no Python."""
    return source.in_deep_thread(lint_here, text, path, selected, project, read, unfollowed)


def lint_here(text: str, path: str, selected: set[str] | None, project: Project | None = None,
              read: set[str] | None = None, unfollowed: set[str] | None = None) -> list[Finding]:
    """The same in this thread, whose stack has to be deep enough."""
    book = source.read_notebook(text) if path.endswith(notebook.SUFFIX) else None
    script = project.find_script(text, path) if project is not None and book is None else None
    if script is None:
        if configuration.is_one(path):
            script = source.parse_configuration(text, path)
        else:
            script = source.parse(text) if book is None else source.parse_notebook(book)
        script.path = path
    interpreter = Interpreter(script, project)
    program = interpreter.interpret()
    if interpreter.unfollowed and program.of_kind(*events.BACKWARDS, *events.STEPS):
        # A training lies behind long libraries; most files of a project do not use their steps up.
        interpreter = Interpreter(script, project, PATIENCE)
        program = interpreter.interpret()
    if read is not None:
        read |= {*interpreter.imported, *interpreter.configurations}
    if unfollowed is not None:
        unfollowed |= {function.name for function in interpreter.unfollowed}
    records = table.load()
    reports = [(records[name], report) for name, check in rules.load().items()
               if selected is None or name in selected for report in check(program)]
    findings: dict[tuple, Finding] = {}
    for record, report in reports:
        place, owner = script.place(report.node), script.owner(report.node)
        if owner is not script and record.group == "settings":
            continue  # These depend on nothing but their file, which is judged by itself.
        finding = Finding(record.id, record.name, report.severity or record.severity, owner.path, place.line,
                          place.column, report.message, report.change.text if report.change else None,
                          place.end_line, report.change)
        if not is_silenced(finding, owner.lines):
            findings.setdefault((finding.file != path, finding.file, finding.line, finding.column, finding.rule), finding)
    found = [findings[key] for key in sorted(findings)]
    return found if book is None else [in_cell(book, finding) if finding.file == path else finding for finding in found]


def in_cell(book: notebook.Notebook, finding: Finding) -> Finding:
    """A finding at its place in a notebook, which nothing changes."""
    cell, line = book.place(finding.line)
    return dataclasses.replace(finding, cell=cell, line=line, fix=None, change=None)


def fix_text(text: str, path: str = "<text>", selected: set[str] | None = None) -> tuple[str, int]:
    """The script with all fixes made, and how many there were. Fixing it again changes
    nothing."""
    return source.in_deep_thread(_fix_here, text, path, selected)


def _list_changes(findings: list[Finding]) -> list[fixes.Change]:
    return [finding.change for finding in findings if finding.change is not None]


def _fix_here(text: str, path: str, selected: set[str] | None) -> tuple[str, int]:
    made = 0
    for _ in range(MOST_PASSES):
        changes = _list_changes(lint_here(text, path, selected))
        fixed = fixes.apply(text, changes) if changes else text
        if fixed == text:
            break
        left = len(_list_changes(lint_here(fixed, path, selected)))
        made += max(len(changes) - left, 0)
        text = fixed
    return text, made
