"""The command line of `mpopt lint`."""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import os
import sys
import tempfile

from mpopt._version import __version__
from mpopt.lint import fixes, formats, source, table

SEVERITIES = ("note", "warning", "error")
# Files of a folder that name none of these are no training scripts, and not parsed.
WORDS = (b"torch", b"lightning", b"accelerate", b"deepspeed", b"transformers")
SKIPPED_FOLDERS = {"__pycache__", "node_modules", "site-packages", "build", "dist"}
# With fewer files than this, starting processes takes longer than it saves.
FEW_FILES = 6


class Usage(Exception):
    """The text is one line."""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Usage(message)


def make_parser() -> Parser:
    parser = Parser(prog="mpopt lint", description="What breaks in 16 bits in PyTorch training scripts. They are read, "
                    "never run.", epilog="exit status: 0 nothing at or above --fail-on; 1 findings; 2 an error. "
                    "A comment `# noqa: MP701` silences a line.")
    parser.add_argument("paths", nargs="*", metavar="FILE|FOLDER", help="scripts; - is standard input. Of a folder: "
                        "every .py file that names torch or a library on top of it")
    parser.add_argument("--select", action="append", default=[], metavar="LIST", help="only these rules: ids, prefixes "
                        "(MP72) or names")
    parser.add_argument("--ignore", action="append", default=[], metavar="LIST", help="not these rules")
    parser.add_argument("--fail-on", choices=[*reversed(SEVERITIES), "never"], default="warning",
                        help="exit 1 from this severity on (default warning)")
    parser.add_argument("--format", choices=list(formats.WRITERS), default="text", help="the form of the report "
                        "(default text)")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="there instead of standard output")
    parser.add_argument("--fix", action="store_true", help="make the fixes, and report what is left")
    parser.add_argument("--diff", action="store_true", help="print what --fix would change, and change nothing")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--list-rules", action="store_true", help="all rules of mpopt lint")
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


def list_files(paths: list[str]) -> tuple[list[str], list[str]]:
    """The scripts of files and folders, each once, and lines about folders that cannot be
    read."""
    files, errors = {}, []
    for path in paths:
        if path != "-" and os.path.isdir(path):
            def fail(error):
                errors.append(f"{error.filename}: cannot be read: {error.strerror}")

            for folder, folders, names in os.walk(path, onerror=fail):
                folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and name[0] != ".")
                for name in sorted(names):
                    if name.endswith(".py") and is_about_training(os.path.join(folder, name)):
                        files[os.path.join(folder, name)] = None
        else:
            files[path] = None
    return list(files), errors


def is_about_training(path: str) -> bool:
    """Whether a file names a library that trains. One that cannot be read is not passed
    over in silence."""
    try:
        if not os.path.isfile(path):
            return False
        if os.path.getsize(path) > source.LARGEST:
            return True
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return True
    return any(word in data for word in WORDS)


def lint_file(path: str, selected: set[str], fix: str) -> tuple[list, str, str, str]:
    """The findings of a file, its text, the text after fixes, and a line if it could not
    be read. `fix`: `fix`, `diff` or nothing."""
    from mpopt.lint import linter

    try:
        text = source.read(path)
        fixed = linter.fix_text(text, path, selected)[0] if fix else text
        shown = fixed if fix == "fix" else text
        findings = linter.lint_text(shown, path, selected)
    except source.SourceError as error:
        return [], "", "", f"{path}: {error}"
    # Trees do not go from one process to another.
    import dataclasses
    return [dataclasses.replace(finding, change=None) for finding in findings], text, fixed, ""


def lint_files(files: list[str], selected: set[str], fix: str, jobs: int):
    """`lint_file` of each, in order. A process that dies takes one file with it."""
    jobs = min(jobs or os.cpu_count() or 1, len(files))
    if jobs <= 1 or len(files) < FEW_FILES:
        for path in files:
            yield path, lint_file(path, selected, fix)
        return
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        futures = [(path, pool.submit(lint_file, path, selected, fix)) for path in files]
        for path, future in futures:
            try:
                yield path, future.result()
            except concurrent.futures.process.BrokenProcessPool:
                yield path, lint_alone(path, selected, fix)


def lint_alone(path: str, selected: set[str], fix: str):
    try:
        with concurrent.futures.ProcessPoolExecutor(1) as pool:
            return pool.submit(lint_file, path, selected, fix).result()
    except concurrent.futures.process.BrokenProcessPool:
        return [], "", "", f"{path}: the parser cannot read it"


def write_file(path: str, text: str) -> None:
    """Whole or not at all; what is no plain file is written to at once."""
    if path == "-" or os.path.exists(path) and not os.path.isfile(path):
        target = sys.stdout if path == "-" else None
        if target is not None:
            target.buffer.write(text.encode("utf-8", "surrogateescape"))
            target.buffer.flush()
            return
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        return
    folder = os.path.dirname(path) or "."
    descriptor, temporary = tempfile.mkstemp(prefix=os.path.basename(path)[:200] + ".", suffix=".tmp", dir=folder)
    try:
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        if os.path.exists(path):
            mode = os.stat(path).st_mode & 0o7777
        else:
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def list_rules() -> str:
    lines = []
    for rule in table.load().values():
        lines.append(f"{rule.id}  {rule.name:30} {rule.severity:8} {rule.summary}\n")
    return "".join(lines)


def print_error(text: str) -> None:
    print(f"mpopt: error: {formats.printable(text)}", file=sys.stderr)


def run(options) -> int:
    if options.list_rules:
        write_file(options.output, list_rules())
        return 0
    if not options.paths:
        raise Usage("no script given: mpopt lint FILE.py|FOLDER")
    if options.fix and options.diff:
        raise Usage("--fix and --diff do not go together")
    if options.jobs < 0:
        raise Usage("--jobs: the number of processes is negative")
    if options.paths.count("-") > 1:
        raise Usage("standard input can be read only once")
    if "-" in options.paths and options.fix:
        raise Usage("--fix needs a file, not standard input")
    selected = select(options)
    if importlib.util.find_spec("libcst") is None:
        raise Usage("this Python has no LibCST: pip install mpopt[lint]")
    files, errors = list_files(options.paths)
    findings, report, status = [], "", 0
    fix = "fix" if options.fix else "diff" if options.diff else ""
    for path, (found, text, fixed, error) in lint_files(files, selected, fix, options.jobs):
        if error:
            errors.append(error)
            continue
        findings += found
        if fixed != text and options.fix:
            write_file(path, fixed)
        elif fixed != text:
            report += fixes.make_diff(path, text, fixed)
    if not options.diff:
        report = formats.WRITERS[options.format](findings, len(files))
    write_file(options.output, report)
    for error in errors:
        print_error(error)
    if options.fail_on != "never":
        least = SEVERITIES.index(options.fail_on)
        status = int(any(SEVERITIES.index(finding.severity) >= least for finding in findings))
    return 2 if errors else status


def main(arguments: list[str] | None = None) -> int:
    try:
        return run(make_parser().parse_args(arguments))
    except Usage as error:
        print_error(f"lint: {error}")
    except BrokenPipeError:
        # Whoever read the report has read enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print_error(f"{error.filename or 'standard output'}: cannot be written: {error.strerror}")
    except KeyboardInterrupt:
        return 130
    return 2
