"""The files of the tree that scripts/new-op, new-rule, new-format and new-domain write."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def fail(text: str):
    sys.exit(f"{Path(sys.argv[0]).name}: {text}")


class Tree:
    """The files below `root`, as they are to be written."""

    def __init__(self, root: Path):
        self.root = root
        self.text: dict[str, str] = {}

    def has(self, path: str) -> bool:
        return path in self.text or (self.root / path).exists()

    def read(self, path: str) -> str:
        return self.text.get(path) or (self.root / path).read_text(encoding="utf-8")

    def create(self, path: str, text: str) -> None:
        if self.has(path):
            fail(f"{path} is there already")
        self.text[path] = text

    def insert(self, path: str, position: int, text: str) -> None:
        old = self.read(path)
        self.text[path] = old[:position] + text + old[position:]

    def append(self, path: str, text: str) -> None:
        self.text[path] = self.read(path).rstrip("\n") + "\n" + text

    def insert_before(self, path: str, anchor: str, text: str) -> None:
        """In front of the last place where the pattern `anchor` matches."""
        places = [match.start() for match in re.finditer(anchor, self.read(path), flags=re.M)]
        if not places:
            fail(f"{path} has no place for it: {anchor}")
        self.insert(path, places[-1], text)

    def insert_line_after(self, path: str, like: str, line: str) -> None:
        """A line after the last one that the pattern `like` matches whole."""
        places = [match.end() for match in re.finditer(rf"^{like}\n", self.read(path), flags=re.M)]
        if not places:
            fail(f"{path} has no line like {like}")
        self.insert(path, places[-1], line + "\n")

    def extend_function(self, path: str, name: str, statement: str, helper: str = "") -> None:
        """`statement` at the end of the function, `helper` in front of it and of the
        comment that it has."""
        text = self.read(path)
        start = re.search(rf"^(?:static )?void (?:\w+::)*{name}\([^)]*\) {{", text, flags=re.M)
        if not start:
            fail(f"{path} has no function {name}")
        self.insert(path, text.index("\n}", start.start()) + 1, f"  {statement}\n")
        at = start.start()
        while (above := text.rfind("\n", 0, at - 1) + 1) < at and text[above:at].startswith("//"):
            at = above
        self.insert(path, at, helper)

    def write(self) -> None:
        for path, text in self.text.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")
        sources = [self.root / path for path in self.text if path.endswith((".cpp", ".h"))]
        subprocess.run(["clang-format-22", "-i", *sources], check=True)
        print(*self.text, sep="\n")
