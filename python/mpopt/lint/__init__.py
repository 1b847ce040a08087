"""mpopt lint: reads PyTorch training scripts and finds what breaks in 16 bits.

    from mpopt import lint

    for finding in lint.lint_text(source, "train.py"):
        print(finding.line, finding.rule, finding.message)
    mpopt.lint("scripts/")      # the same as lint.lint_path

Scripts are parsed and never executed. Imports and aliases are resolved, and values
followed through assignments and calls inside a file: docs/lint.md.
"""

from mpopt import _callable_package
from mpopt.lint.findings import Finding
from mpopt.lint.linter import lint_text
from mpopt.lint.source import SourceError

__all__ = ["Finding", "SourceError", "lint_path", "lint_text"]


def lint_path(path, *, select=None, ignore=None) -> list[Finding]:
    """The findings in a script, a notebook, or those of a folder. `select`, `ignore`: rules by
    id, prefix or name, a text with commas or a sequence. Raises `mpopt.Error` if there is no
    such rule or file, and for a file that is no Python."""
    import argparse

    from mpopt import _command
    from mpopt.lint import cli

    def words(value) -> list[str]:
        return [] if value is None else [value] if isinstance(value, str) else list(value)

    text = _command.text("path", path)
    try:
        selected = cli.select(argparse.Namespace(select=words(select), ignore=words(ignore)))
    except cli.Usage as error:
        raise _command.Error(_command.speak_python(str(error))) from error
    files, errors = cli.list_files([text])
    judged = cli.lint_files(files, selected, "", 0, cli.list_roots([text]))
    report = cli.make_report(judged, [text], files, errors)
    if report.errors:
        raise _command.Error("; ".join(f"{file}: {why}" for file, why in report.errors))
    return report.findings


_callable_package.make(__name__, lint_path)
