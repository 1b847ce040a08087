"""The files of a project: what `from trainer.loss import Dice` brings, where a folder has it.

A module is read when the first of its names is used, and its functions are followed with the arguments
that they get, as those of one file are."""

from __future__ import annotations

import ast
import dataclasses
import functools
import os

from mpopt.lint import configuration, source
from mpopt.lint.script import Script

# Files that are kept parsed. One takes some 400 bytes a node, 20 MB for a script of 10,000 lines at the most.
MOST_KEPT = 256


@dataclasses.dataclass(frozen=True)
class Reference:
    """A name of a module of the project; the module itself if the name is empty."""

    path: str
    name: str = ""


class Project:
    """The folders that are linted as one program."""

    def __init__(self, roots: tuple[str, ...]):
        self.given = {os.path.abspath(root): root for root in roots}
        self.roots = list(self.given)
        self.find_from = functools.lru_cache(maxsize=1 << 14)(self._find_from)
        self.find_module = functools.lru_cache(maxsize=1 << 14)(self._find_module)
        self.read = functools.lru_cache(maxsize=MOST_KEPT)(self._read)

    def find(self, full: str, importer: str) -> Reference | None:
        """The meaning in a file of a full name, which begins with dots if it is relative."""
        return self.find_from(full, os.path.dirname(os.path.abspath(importer)))

    def _find_from(self, full: str, folder: str) -> Reference | None:
        level = len(full) - len(full.lstrip("."))
        words = tuple(word for word in full[level:].split(".") if word)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        folders = (folder,) if level else self.list_folders(folder)
        for where in folders:
            if (path := self.find_module(where, words)) is not None:
                return Reference(path)
            if words and (path := self.find_module(where, words[:-1])) is not None and (level or words[:-1]):
                return Reference(path, words[-1])
        return None

    def find_root(self, path: str) -> str | None:
        """The root that is a path or holds it."""
        return next((root for root in self.roots if path == root or path.startswith(root + os.sep)), None)

    def list_folders(self, folder: str) -> tuple[str, ...]:
        """The folders from which a file may import: its own, as a script's, those around it, and the roots."""
        root = self.find_root(folder)
        if root is None:
            return ()
        found = [folder]
        while found[-1] != root:
            found.append(os.path.dirname(found[-1]))
        return (*found, os.path.join(root, "src"))

    def _find_module(self, folder: str, words: tuple[str, ...]) -> str | None:
        base = os.path.join(folder, *words)
        if self.find_root(base) is None:
            return None
        for path in ((base + ".py",) if words else ()) + (os.path.join(base, "__init__.py"),):
            if os.path.isfile(path):
                return path
        return None

    def find_file(self, name: str, importer: str) -> str | None:
        """A file of the project that a script names, from its own folder, as a script's, and those around it."""
        for folder in self.list_folders(os.path.dirname(os.path.abspath(importer))):
            path = os.path.normpath(os.path.join(folder, name))
            if self.find_root(path) is not None and os.path.isfile(path):
                return path
        return None

    def find_member(self, module: Reference, name: str) -> Reference:
        """A submodule, or a name of the module."""
        if os.path.basename(module.path) == "__init__.py":
            inner = self.find_module(os.path.dirname(module.path), (name,))
            if inner is not None:
                return Reference(inner)
        return Reference(module.path, name)

    def show(self, path: str) -> str:
        """A path as the folder was given."""
        root = self.find_root(path)
        assert root is not None  # a file that is read lies in a folder that was given
        return os.path.join(self.given[root], os.path.relpath(path, root))

    def find_script(self, text: str, path: str) -> Script | None:
        """The script of a file that other files import, too; None if it is not that text, or has another name."""
        full = os.path.abspath(path)
        script = self.read(full) if self.find_root(full) is not None else None
        return script if script is not None and (script.text, script.path) == (text, path) else None

    def _read(self, path: str) -> Script | None:
        """A script or configuration whose nodes know it; None if it cannot be read."""
        try:
            text = source.read(path)
            script = source.parse_configuration(text, path) if configuration.is_one(path) else source.parse(text)
        except source.SourceError:
            return None
        script.path = self.show(path)
        for node in ast.walk(script.tree):
            node.script = script
        return script


@functools.lru_cache(maxsize=4)
def load(roots: tuple[str, ...]) -> Project | None:
    return Project(roots) if roots else None
