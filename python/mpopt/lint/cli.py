"""The command line of `mpopt lint`."""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
from collections.abc import Iterable, Iterator

from mpopt import _command, _console, _input_files, _output_files, _settings
from mpopt._command import Error
from mpopt._version import __version__
from mpopt.lint import cache, configuration, fixes, formats, linter, notebook, project, source, table

SEVERITIES = ("note", "warning", "error")
# Files of a folder that name none of these are no training scripts, and not parsed.
WORDS = (b"torch", b"lightning", b"accelerate", b"deepspeed", b"transformers")
SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages", "build", "dist"}
# With fewer files than this, starting processes takes longer than it saves.
FEW_FILES = 6


class Usage(Error):
    """An option is wrong."""


def make_parser() -> argparse.ArgumentParser:
    parser = _console.Parser(prog="mpopt lint", description="What breaks in 16 bits in PyTorch training scripts. They are read, "
                             "never run.", epilog="exit status: 0 nothing at or above --fail-on; 1 findings; 2 an error. "
                             "A comment `# noqa: MP701` silences a line.")
    parser.add_argument("paths", nargs="*", metavar="FILE|FOLDER", help="scripts; - is standard input. Of a folder: "
                        "every .py and .ipynb file that names torch or a library on top of it, and configurations that are known")
    parser.add_argument("--select", action="append", default=[], metavar="LIST", help="only these rules: ids, prefixes "
                        "(MP72) or names")
    parser.add_argument("--ignore", action="append", default=[], metavar="LIST", help="skip these rules")
    parser.add_argument("--fail-on", choices=[*reversed(SEVERITIES), "never"], help="exit 1 from this severity on (default warning)")
    parser.add_argument("--format", choices=list(formats.WRITERS), default="text", help="the form of the report "
                        "(default text)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="write to FILE")
    parser.add_argument("--fix", action="store_true", help="make the fixes, and report the rest")
    parser.add_argument("--diff", action="store_true", help="print the changes of --fix, and change nothing")
    parser.add_argument("--config", metavar="FILE", help="an mpopt.toml or pyproject.toml (default: the nearest one), whose table lint "
                        "has select, ignore and fail-on; none: no settings")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--no-cache", action="store_true", help="judge files of folders anew that have not changed")
    parser.add_argument("--list-rules", action="store_true", help="all rules of mpopt lint")
    parser.add_argument("--explain", metavar="RULE", help="what a rule finds, why, what to do: mpopt --explain")
    parser.add_argument("--version", action="version", version=f"mpopt {__version__}")
    return parser


def select(options) -> set[str]:
    """The names of the rules that are asked for."""
    def expand(option, lists):
        names = set()
        for word in ",".join(lists).split(",") if lists else ():
            found = table.match(word.strip())
            if not found:
                raise Usage(f"{option}: no rule '{word.strip()}' (mpopt lint --list-rules shows all)")
            names |= found
        return names

    wanted = expand("--select", options.select) if options.select else set(table.load())
    return wanted - expand("--ignore", options.ignore)


def list_files(paths: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The scripts of files and folders, each once, and the folders that cannot be read, with why."""
    files: dict = {}
    errors: list = []
    for path in paths:
        if path != "-" and os.path.isdir(path):
            root = path

            def fail(error):
                errors.append((error.filename, f"cannot be read: {error.strerror}"))

            for folder, folders, names in os.walk(root, onerror=fail):
                folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and name[0] != ".")
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    if name.endswith((".py", notebook.SUFFIX)) and is_about_training(path) or is_configuration(path):
                        files[path] = None
        else:
            files[path] = None
    return list(files), errors


def is_about_training(path: str) -> bool:
    """True if a file names a library that trains. One that cannot be read is not passed
    over in silence."""
    if not os.path.isfile(path):
        return False
    try:
        data = _input_files.read(path, source.LARGEST)
    except Error:
        return True
    return any(word in data for word in WORDS)


def is_configuration(path: str) -> bool:
    """True if a file of a folder may be a configuration of a training that is known. Others are passed over."""
    if not configuration.is_one(path) or not os.path.isfile(path) or os.path.getsize(path) > configuration.LARGEST:
        return False
    try:
        return configuration.is_known(source.read(path))
    except source.SourceError:
        return False


# --- Linting ---


@dataclasses.dataclass(frozen=True)
class Linted:
    """The result for a file. `fixed`: its text after fixes; `error`: the reason why it could not be judged."""

    findings: list
    text: str = ""
    fixed: str = ""
    error: str = ""
    # True if the error is that of a configuration. Those of a folder need not be ones of a training.
    is_refused: bool = False
    # The other files that were read for it.
    read: tuple[str, ...] = ()
    # The functions that calls were not followed into.
    unfollowed: tuple[str, ...] = ()


def lint_file(path: str, selected: set[str], fix: str, roots: tuple[str, ...] = ()) -> Linted:
    """`fix`: `fix`, `diff` or nothing; `roots`: folders that are one program. Files that are changed are each
    judged by themselves."""
    try:
        text = source.read(path)
        fix = "" if path.endswith(notebook.SUFFIX) or configuration.is_one(path) else fix
        fixed = linter.fix_text(text, path, selected)[0] if fix else text
        read: set[str] = set()
        unfollowed: set[str] = set()
        found = linter.lint_text(fixed if fix == "fix" else text, path, selected, None if fix else project.load(roots), read,
                                 unfollowed)
    except source.SourceError as error:
        return Linted([], error=str(error), is_refused=configuration.is_one(path))
    except Exception as error:  # noqa: BLE001: the other files are judged all the same.
        return Linted([], error=f"cannot be judged ({type(error).__name__}): please report it")
    # Changes are made by now, and take long to go from one process to another.
    return Linted([dataclasses.replace(finding, change=None) for finding in found], text, fixed, read=tuple(read),
                  unfollowed=tuple(sorted(unfollowed)))


def lint_files(files: list[str], selected: set[str], fix: str, jobs: int, roots: tuple[str, ...]):
    """`lint_file` of each, in order. A process that dies takes one file with it."""
    jobs = min(jobs or os.cpu_count() or 1, len(files))
    if jobs <= 1 or len(files) < FEW_FILES:
        for path in files:
            yield path, lint_file(path, selected, fix, roots)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        futures = [(path, pool.submit(lint_file, path, selected, fix, roots)) for path in files]
        for path, future in futures:
            try:
                yield path, future.result()
            except concurrent.futures.process.BrokenProcessPool:
                yield path, lint_alone(path, selected, fix, roots)


def lint_cached(files: list[str], selected: set[str], fix: str, options, roots: tuple[str, ...]):
    """The same, with what an earlier run found in files of folders."""
    if fix or not roots or options.no_cache:
        yield from lint_files(files, selected, fix, options.jobs, roots)
        return
    kept = cache.Cache(roots, selected)
    known = {path: found for path in files if (found := kept.find(path)) is not None}
    judged = lint_files([path for path in files if path not in known], selected, fix, options.jobs, roots)
    for path in files:
        if path in known:
            findings, error, unfollowed = known[path]
            yield path, Linted(findings, error=error, is_refused=bool(error), unfollowed=unfollowed)
            continue
        path, linted = next(judged)
        if not linted.error or linted.is_refused:
            kept.keep(path, linted.findings, linted.read, linted.error, linted.unfollowed)
        yield path, linted
    kept.write()


def lint_alone(path: str, selected: set[str], fix: str, roots: tuple[str, ...]) -> Linted:
    try:
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            return pool.submit(lint_file, path, selected, fix, roots).result()
    except concurrent.futures.process.BrokenProcessPool:
        return Linted([], error="the parser cannot read it")


# --- The command ---


def list_rules() -> str:
    lines = []
    for rule in table.load().values():
        lines.append(f"{rule.id}  {rule.name:30} {rule.severity:8} {rule.summary}\n")
    return "".join(lines)


def apply_settings(options) -> None:
    """Takes settings that the command line leaves open from the project's table `lint`."""
    if options.config == "none":
        return
    first = next((path for path in options.paths if path != "-"), ".")
    path = pathlib.Path(options.config) if options.config else _settings.find(first if os.path.isdir(first) else os.path.dirname(first))
    if path is None:
        return
    for key, value in _settings.read(path, "lint").items():
        words = [value] if isinstance(value, str) else value
        if key not in ("select", "ignore", "fail-on"):
            raise Usage(f"{path}: [lint] has no '{key}': it has select, ignore and fail-on")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise Usage(f"{path}: '{key}' is neither a string nor a list of strings")
        if key == "fail-on":
            if value not in (*SEVERITIES, "never"):
                raise Usage(f"{path}: 'fail-on' is one of {', '.join(SEVERITIES)}, never")
            options.fail_on = options.fail_on or value
        elif not getattr(options, key):
            setattr(options, key, words)


def check_options(options) -> None:
    if not options.paths:
        raise Usage("no script given: mpopt lint FILE.py|FOLDER")
    if options.jobs < 0:
        raise Usage("--jobs: the number of processes is negative")
    if options.paths.count("-") > 1:
        raise Usage("standard input can be read only once")
    if "-" in options.paths and options.fix and not options.diff:
        raise Usage("--fix needs a file, not standard input")


def get_status(findings: list, fail_on: str) -> int:
    if fail_on == "never":
        return 0
    least = SEVERITIES.index(fail_on)
    return int(any(SEVERITIES.index(finding.severity) >= least for finding in findings))


def merge(findings: list, files: list[str]) -> list:
    """The findings by file and line, each once: that of a file may come from those that import it, too."""
    order = {path: number for number, path in enumerate(files)}
    unique: dict = {}
    for finding in findings:
        key = order.get(finding.file, len(order)), finding.file, finding.cell or 0, finding.line, finding.column, finding.rule
        if key not in unique or SEVERITIES.index(unique[key].severity) < SEVERITIES.index(finding.severity):
            unique[key] = finding
    return [unique[key] for key in sorted(unique)]


def list_roots(paths: list[str]) -> tuple[str, ...]:
    """The folders among the paths."""
    return tuple(path for path in paths if path != "-" and os.path.isdir(path))


def make_report(judged: Iterable[tuple[str, Linted]], paths: list[str], files: list[str], errors: list[tuple[str, str]]) -> formats.Report:
    """The report on the files of paths; `errors` are those of folders. Configurations that are refused are passed
    over where no path names them."""
    findings, read, unfollowed = [], 0, []
    for path, linted in judged:
        if not linted.error:
            read += 1
            findings += linted.findings
            unfollowed += [(path, linted.unfollowed)] if linted.unfollowed else []
        elif not linted.is_refused or path in paths:
            errors.append((path, linted.error))
    return formats.Report(merge(findings, files), read, errors, unfollowed)


def run(options) -> int:
    if options.list_rules:
        _output_files.write(options.output, list_rules())
        return 0
    if options.explain:
        if not table.match(options.explain):
            raise Usage(f"--explain: no rule '{options.explain}' (mpopt lint --list-rules shows all)")
        _output_files.write(options.output, _command.run(["--explain", options.explain]))
        return 0
    check_options(options)
    apply_settings(options)
    selected = select(options)
    files, errors = list_files(options.paths)
    _output_files.check([("-o", options.output)], [("the script", path) for path in files])
    diff: list[str] = []

    def judge() -> Iterator[tuple[str, Linted]]:
        fix = "diff" if options.diff else "fix" if options.fix else ""
        for path, linted in lint_cached(files, selected, fix, options, list_roots(options.paths)):
            if linted.fixed != linted.text and fix == "fix":
                _output_files.write(path, linted.fixed)
            elif linted.fixed != linted.text:
                diff.append(fixes.make_diff(path, linted.text, linted.fixed))
            yield path, linted

    report = make_report(judge(), options.paths, files, errors)
    _output_files.write(options.output, "".join(diff) if options.diff else formats.WRITERS[options.format](report))
    for path, error in report.errors:
        _console.print_error("mpopt", f"{path}: {error}")
    return 2 if report.errors else get_status(report.findings, options.fail_on or "warning")


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    try:
        return make_parser().parse_args(arguments)
    except Error as error:
        raise Usage(str(error)) from error


def main(arguments: list[str] | None = None) -> int:
    try:
        return run(parse_options(arguments))
    except Usage as error:
        _console.print_error("mpopt", f"lint: {error}")
    except Error as error:
        _console.print_error("mpopt", error)
    except KeyboardInterrupt:
        return 130
    return 2
