"""Findings of an earlier run over the same folders, for the files that have not changed since.

A file is judged anew if its text has changed, or that of a file that was read for it, if the folders have other
files, or if the rules that are asked for, Python or this package are others."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from mpopt import _output_files
from mpopt._command import Error
from mpopt.lint import configuration
from mpopt.lint.findings import Finding

# Folders that are remembered, and the bytes of one: some 300 a finding, and 200 a file.
MOST_FOLDERS, LARGEST = 64, 32 << 20
FIELDS = [field.name for field in dataclasses.fields(Finding) if field.name != "change"]


def digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogateescape")).hexdigest()


@functools.lru_cache(maxsize=1 << 16)
def digest_file(path: str) -> str:
    """The hash of its bytes; empty if it cannot be read. A run reads each file once."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


@functools.cache
def digest_package() -> str:
    folder = Path(__file__).parent
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".json"))
    return digest(sys.version, *(hashlib.sha256(path.read_bytes()).hexdigest() for path in files))


def find_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser(os.path.join("~", ".cache"))
    return Path(home) / "mpopt" / "lint"


def list_names(roots: tuple[str, ...]) -> list[str]:
    """All files that may be imported or read, by which an import may mean another one."""
    found = []
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name[0] != ".")
            found += [os.path.join(folder, name) for name in sorted(names)
                      if name.endswith((".py", ".ipynb")) or configuration.is_one(name)]
    return found


class Cache:
    """The findings of some roots, by file."""

    def __init__(self, roots: tuple[str, ...], selected: Iterable[str]):
        self.path = find_folder() / f"{digest(*map(os.path.abspath, roots), *roots)[:32]}.json"
        self.key = digest(digest_package(), *sorted(selected), *list_names(roots))
        self.known: dict = {}
        self.kept: dict = {}
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            if self.path.stat().st_size <= LARGEST:
                stored = json.loads(self.path.read_text(encoding="utf-8"))
                self.known = dict(stored["files"]) if stored["key"] == self.key else {}

    def find(self, path: str) -> tuple[list[Finding], str, tuple[str, ...]] | None:
        """The findings that are still those of a file, and why it is refused."""
        try:
            entry = self.known[path]
            if any(digest_file(each) != before for each, before in entry["read"].items()):
                return None
            found = [Finding(**dict(zip(FIELDS, row, strict=True))) for row in entry["findings"]], str(entry["error"]), \
                tuple(map(str, entry["unfollowed"]))
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
        self.kept[path] = entry
        return found

    def keep(self, path: str, findings: list[Finding], read: Iterable[str], error: str,
             unfollowed: tuple[str, ...]) -> None:
        digests = {each: digest_file(each) for each in (os.path.abspath(path), *read)}
        # Standard input is another text each time.
        if all(digests.values()):
            rows = [[getattr(finding, name) for name in FIELDS] for finding in findings]
            self.kept[path] = {"read": digests, "findings": rows, "error": error, "unfollowed": unfollowed}

    def write(self) -> None:
        """A result that cannot be written is computed anew the next time."""
        if self.kept == self.known:
            return
        text = json.dumps({"key": self.key, "files": self.kept}, separators=(",", ":"))
        with contextlib.suppress(OSError, Error):
            if not self.path.is_absolute():
                return  # There is no home.
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if len(text) <= LARGEST:
                _output_files.write(self.path, text)
            stored = sorted(self.path.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in stored[:-MOST_FOLDERS]:
                old.unlink()
