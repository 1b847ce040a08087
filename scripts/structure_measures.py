"""Measures of the source's size and of how often it dispatches on ops, each with a limit.

A limit is the figure of the day on which it was last lowered, lines in hundreds: a change may lower
a measure, and then lowers its limit, but not raise one. `TARGETS` has where each is to end. Heuristics that
rest on the format of clang-format: a function begins in the first column and ends with a brace there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

CODE = (".cpp", ".h", ".td", ".inc")
#: Layers that judge what storage does to values.
JUDGING = ("lib/Propagate", "lib/Hazards", "lib/Effects", "lib/Repair")
OP_TEST = re.compile(r"\b(?:isa|dyn_cast|cast|isa_and_nonnull|isa_and_present|dyn_cast_or_null|dyn_cast_if_present)<([^<>]*)>"
                     r"|\.Case<([^<>]*)>|\.Case\(\[[^\]]*\]\((?:mp::)?(\w+Op) ")
OP_NAME = re.compile(r"\b(?:mp::)?(\w+Op)\b")
DISPATCH = re.compile(r"\b(?:isa|dyn_cast)\w*<mp::|\bhasRole\(")
CONSTANT = re.compile(r"\bconstexpr\b[^;=(]*\bk[A-Z]\w*(?:\[\w*\])? ?=")
COMMENT_REACH = 3  # lines in front of a constant, its own included
MOST_TESTS, MOST_FAMILIES = 8, 3


def _files(root: Path, folders: tuple[str, ...], suffixes: tuple[str, ...] = CODE) -> Iterator[tuple[str, list[str]]]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and (not suffixes or path.suffix in suffixes):
                yield str(path.relative_to(root)), path.read_text(encoding="utf-8").splitlines()


def _lines(root: Path, folders: tuple[str, ...]) -> int:
    """Lines of all files, without the two of title and licence."""
    return sum(len(lines) - 2 * (len(lines) > 1 and "SPDX" in lines[1]) for _, lines in _files(root, folders, ()))


def functions(lines: list[str]) -> Iterator[tuple[int, str, list[str]]]:
    """The number of the first line, the text in front of the body, and all lines of each function at namespace scope."""
    begin = None
    for number, line in enumerate(lines):
        if begin is None:
            if line[:1] not in ("", " ", "#", "/", "}", "{") and not re.match(
                    r"(namespace|struct|class|enum|using|template <.*>$|extern|static constexpr|constexpr|public|private|protected)\b", line):
                begin = number
        elif line.startswith("}"):
            text = "\n".join(lines[begin:number + 1])
            head = text.partition("{")[0]
            if "(" in head and "{" in text and line == "}":
                yield begin + 1, head, lines[begin:number + 1]
            begin = None
        elif line.endswith(";") and not any("{" in before for before in lines[begin:number + 1]):
            begin = None


def _long(root: Path, most: int) -> Iterator[tuple[str, int, str]]:
    for path, lines in _files(root, ("lib", "passes", "tools")):
        if path.endswith(".cpp"):
            for number, head, body in functions(lines):
                if len(body) > most:
                    yield path, number, f"{' '.join(head.split())[-60:]} has {len(body)} lines"


def _families(root: Path) -> dict[str, str]:
    found = {}
    for path, lines in _files(root, ("include/mpopt/Dialect/Ops",)):
        for line in lines:
            if match := re.match(r"def MP_(\w+Op)\b", line):
                found[match[1]] = Path(path).stem
    return found


def _walkers(root: Path) -> Iterator[tuple[str, int, str]]:
    """A class counts as one, and so does a function that is no member."""
    families = _families(root)
    tests: dict[tuple[str, str], list[str]] = defaultdict(list)
    places: dict[tuple[str, str], tuple[str, int]] = {}
    for path, lines in _files(root, ("lib", "passes"), (".cpp",)):
        if path.startswith(("lib/Import", "lib/Dialect", "lib/Evaluation")):
            continue
        for number, head, body in functions(lines):
            member = re.search(r"\b(\w+)::~?\w+\(", head)
            key = (str(Path(path).parent), member[1]) if member and member[1][0].isupper() else (path, head)
            places.setdefault(key, (path, number))
            tests[key] += [op for match in OP_TEST.finditer("\n".join(body)) for op in OP_NAME.findall(match[0]) if op in families]
    for key, ops in tests.items():
        if len(ops) > MOST_TESTS and len({families[op] for op in ops}) > MOST_FAMILIES:
            yield *places[key], f"{' '.join(key[1].split())[-60:]} tests {len(ops)} op classes"


def _constants(root: Path) -> Iterator[tuple[str, int, str]]:
    for path, lines in _files(root, ("lib", "include")):
        for number, line in enumerate(lines):
            if CONSTANT.search(line) and not any("//" in near for near in lines[max(0, number - COMMENT_REACH):number + 1]):
                yield path, number + 1, line.strip()


def _dispatch(root: Path) -> int:
    """Per 1,000 lines of effects, rounded up."""
    sites = sum(len(DISPATCH.findall(line)) for _, lines in _files(root, ("lib/Effects",)) for line in lines)
    return -(-1000 * sites // max(_lines(root, ("lib/Effects",)), 1))


Places = Callable[[Path], Iterator[tuple[str, int, str]]]
#: Each measure: what it counts, or the places that it counts.
MEASURES: dict[str, tuple[Callable[[Path], int] | None, Places | None]] = {
    "lines of lib and include": (lambda root: _lines(root, ("lib", "include")), None),
    "lines of domains, hazards, effects and repair": (lambda root: _lines(root, JUDGING), None),
    "dispatch sites in 1,000 lines of effects": (_dispatch, None),
    "op walkers": (None, _walkers),
    "functions over 100 lines": (None, lambda root: _long(root, 100)),
    "functions over 60 lines": (None, lambda root: _long(root, 60)),
    "constants without a comment": (None, _constants),
}
LIMITS = {
    "lines of lib and include": 193190,
    "lines of domains, hazards, effects and repair": 23690,
    "dispatch sites in 1,000 lines of effects": 8,
    "op walkers": 3,
    "functions over 100 lines": 0,
    "functions over 60 lines": 15,
    "constants without a comment": 0,
}
TARGETS = {
    "lines of lib and include": 134000,
    "lines of domains, hazards, effects and repair": 9000,
    "dispatch sites in 1,000 lines of effects": 8,
    "op walkers": 3,
    "functions over 100 lines": 0,
    "functions over 60 lines": 30,
    "constants without a comment": 0,
}


def measure(root: Path) -> dict[str, int]:
    return {name: count(root) if count else sum(1 for _ in places(root)) for name, (count, places) in MEASURES.items()}
